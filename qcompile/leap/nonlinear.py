"""Pubo -> a dwave-optimization model for Leap's nonlinear solver: no ancillas, no chains.

If the polynomial is a cubic of the weights, the model is over the weights themselves. Each is a
whole number of steps, and the objective is constant + g·d + dᵀHd/2 + T(d,d,d)/6 with d the distance
from the offsets. Every other polynomial (higher orders, ℓ0 indicators, no data at all) is modelled
over its bits, term by term. The model is evaluated by another library, so it is compared with the
polynomial before it is sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import factorial, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import FormatError, InputError
from qcompile.objective.weight_space import WeightCubic, weight_cubic
from qcompile.reduction.restore import restore
from qcompile.runtime import memory
from qcompile.stages.arrays import Floats
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo

__all__ = ["NonlinearProblem", "check_nonlinear", "nonlinear", "to_nonlinear"]


_SAME = 1e-9  # relative tolerance
_CHECKED = 32  # assignments


@dataclass(frozen=True, eq=False)
class NonlinearProblem:
    """A dwave-optimization model, and the polynomial that it stands for.

    `space` is what the decision variable holds: "weights" (whole numbers of steps) or "bits".
    """

    model: Any
    space: str
    pubo: Pubo

    def to_file(self) -> bytes:
        """Return the bytes that the solver takes."""
        with self.model.to_file() as stream:
            return bytes(stream.read())

    def read_states(self, stream: Any) -> NDArray[np.int8]:
        """Read the states of an answer as bits of the polynomial."""
        self.model.states.clear()
        self.model.states.from_file(stream, check_header=False)
        (decision,) = self.model.iter_decisions()
        count = self.model.states.size()
        if not count:
            raise FormatError("the answer has no states")
        values = np.array([decision.state(i) for i in range(count)], dtype=np.float64)
        bits = self._bits(values)
        if not np.array_equal(self.decision_of(bits), values):
            raise FormatError("the answer has values that the problem does not allow")
        return bits

    def _bits(self, values: Floats) -> NDArray[np.int8]:
        if not np.isfinite(values).all():
            raise FormatError("the answer has a value that is NaN or infinite")
        if self.space == "bits":
            return np.clip(values, 0, 1).astype(np.int8)
        assert self.pubo.encoding is not None
        return self.pubo.encoding.encode(values * self.pubo.encoding.step)

    def decision_of(self, bits: NDArray[np.int8]) -> Floats:
        """Return the value of the decision variable for rows of bits."""
        if self.space == "bits":
            return bits.astype(np.float64)
        assert self.pubo.encoding is not None
        return np.rint(self.pubo.encoding.decode(bits) / self.pubo.encoding.step)


def to_nonlinear(pubo: Pubo) -> NonlinearProblem:
    """Return the model: over the weights if the polynomial is a cubic of them, else over the bits.

    >>> pubo = Pubo.from_dict({(0, 1, 2): 2.0, (0,): -1.0, (): 0.5})
    >>> to_nonlinear(pubo).space
    'bits'
    """
    if not pubo.variables:
        raise InputError("the problem has no variables")
    cubic = weight_cubic(pubo)
    if cubic is None:
        problem = NonlinearProblem(_over_bits(pubo), "bits", pubo)
    else:
        problem = NonlinearProblem(_over_weights(cubic), "weights", pubo)
    check_nonlinear(problem)
    return problem


def _over_weights(cubic: WeightCubic) -> Any:
    from dwave.optimization import Model

    encoding = cubic.encoding
    n = encoding.features
    entries = n * (n + 1) * (n + 2) // 6
    memory.require(
        8 * 8 * entries, f"a nonlinear model of {entries} cubic terms", "use fewer features"
    )
    low, high = (bound.astype(np.float64) for bound in encoding.level_bounds)
    model = Model()
    level = model.integer(n, lower_bound=low, upper_bound=high)
    d = level * model.constant(encoding.step) - model.constant(encoding.offsets)
    total = model.constant(cubic.constant) + (model.constant(cubic.first) * d).sum()
    for tensor, degree in ((cubic.second, 2), (cubic.third, 3)):
        rows = np.array(list(combinations_with_replacement(range(n), degree)))
        values = tensor[tuple(rows.T)] * _ways(rows) / factorial(degree)
        used = values != 0
        if used.any():
            total = total + _sum_of_products(model, d, rows[used], values[used])
    model.minimize(total)
    return model


def _ways(rows: NDArray[np.int64]) -> Floats:
    """Return the number of distinct permutations of each row."""
    counts = [
        factorial(len(row)) / prod(factorial(int(c)) for c in np.unique(row, return_counts=True)[1])
        for row in rows
    ]
    return np.array(counts)


def _over_bits(pubo: Pubo) -> Any:
    from dwave.optimization import Model

    memory.require(
        8 * (pubo.degree + 2) * pubo.num_terms,
        f"a nonlinear model of {pubo.num_terms} terms",
        "use a lower order, fewer features or fewer bits",
    )
    model = Model()
    bits = model.binary(pubo.variables)
    total = model.constant(pubo.constant)
    for rows, values in zip(pubo.indices, pubo.coefficients, strict=True):
        if len(values):
            total = total + _sum_of_products(model, bits, rows.astype(np.int64), values)
    model.minimize(total)
    return model


def _sum_of_products(model: Any, x: Any, rows: NDArray[np.int64], values: Floats) -> Any:
    """Return Σ value · x_i x_j ..., with one product for each row."""
    product = model.constant(np.ascontiguousarray(values))
    for column in rows.T:
        product = product * x[model.constant(np.ascontiguousarray(column))]
    return product.sum()


def check_nonlinear(problem: NonlinearProblem) -> None:
    """Raise InputError unless model and polynomial agree at random assignments."""
    model, pubo = problem.model, problem.pubo
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (_CHECKED, pubo.variables), dtype=np.int8)
    bits[0], bits[1] = 0, 1
    (decision,) = model.iter_decisions()
    # a model can be evaluated only while it is locked; the solver gets it without states
    with model.lock():
        model.states.resize(_CHECKED)
        for i, value in enumerate(problem.decision_of(bits)):
            decision.set_state(i, value)
        found = np.array([float(model.objective.state(i)) for i in range(_CHECKED)])
        model.states.clear()
    true = pubo.energies(bits)
    wrong = float(np.abs(found - true).max())
    if not wrong <= _SAME * max(1e-300, float(np.abs(true).max())):
        raise InputError(
            f"the nonlinear model differs from the polynomial by {wrong:.3g}, so it is not sent; "
            "this is a bug in qcompile or in dwave-optimization"
        )


def nonlinear(problem: Pubo | Qubo) -> NonlinearProblem:
    """Return the model of the nonlinear solver for a problem in either form."""
    return to_nonlinear(problem if isinstance(problem, Pubo) else restore(problem))
