"""Moments x Loss -> Pubo: fixed-point weights, expanded into a polynomial of their bits.

A term is a set B of bits. It collects, for every degree j and every way to give its bits exponents
r_b >= 1 that add up to j, multinomial(j; r) · (a_j / m) · T_j[features of the bits, repeated] ·
Π κ_b^r_b, since q² = q; κ_b is what bit b adds to its weight. The number of examples does not
matter. A complete polynomial of degree k over N = n·d bits has C(N,1) + ... + C(N,k) terms.

The way back is `Pubo.decode` (bits to weights).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import comb, factorial

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.runtime import memory
from qcompile.runtime.threads import ordered
from qcompile.stages import multisets
from qcompile.stages.arrays import Floats, frozen
from qcompile.stages.encoding import Encoding
from qcompile.stages.expected import check_kind
from qcompile.stages.loss import Loss
from qcompile.stages.moments import Moments
from qcompile.stages.origin import Origin
from qcompile.stages.pubo import Pubo
from qcompile.stages.terms import most_terms

__all__ = ["Code", "discretize", "expand_tensors", "memory_needed"]


# With v = 0 a bit that is on costs this many times what the indicator would.
_INDICATOR_STRENGTH = 2.0
_TASKS = 32


def discretize(
    moments: Moments,
    loss: Loss,
    bits: int = 4,
    *,
    l0: float = 0.0,
    threshold: float = 0.0,
    encoding: Encoding | None = None,
) -> Pubo:
    """Write the regularised risk as a polynomial E(q) of weight bits, with its constant.

    `l0` charges every weight that is not zero: one indicator variable a feature, after the bits,
    or none for `bits` = 1, where the bit is its own indicator. Terms that are exactly zero are left
    out; a `threshold` leaves out small ones too and bounds the change in ``Pubo.dropped``. An
    `encoding` with fewer levels comes from `prune`.

    >>> from qcompile import fit_loss, moments_of, read
    >>> moments = moments_of(read("mease-wyner"), 3)
    >>> discretize(moments, fit_loss(moments), bits=2).terms
    (42, 861, 11480)
    """
    check_kind(moments, Moments, "moments_of() makes one of a Dataset")
    check_kind(loss, Loss, "fit_loss() makes one of moments")
    encoding = Encoding(moments.features, bits, loss.zeta) if encoding is None else encoding
    if l0 and encoding.bounds is not None:
        raise InputError("l0 needs weights that are 0 when all their bits are: do not prune")
    _check_options(moments, loss, l0, threshold)
    degree = max(loss.order, 2 if loss.l2 else 1)
    _require_memory(encoding.variables, degree)
    joined, tensors = _weighted_tensors(moments, loss, degree)
    code = Code(encoding.features, encoding.bit_features, encoding.bit_weights, encoding.offsets)
    origin = Origin(
        encoding=encoding,
        loss=loss,
        l0=l0,
        preparation=moments.preparation,
        source=replace(moments.source, rows=moments.row_count),
    )
    pubo = expand_tensors(
        float(loss.coefficients[0]), joined, tensors, code, origin, threshold=threshold
    )
    return _with_indicators(pubo, encoding, l0) if l0 else pubo


@dataclass(frozen=True, eq=False)
class Code:
    """Numbers made up of bits: the feature of each bit, what it adds, and where all begin."""

    features: int
    bit_features: NDArray[np.int64]
    bit_weights: Floats
    offsets: Floats

    @property
    def variables(self) -> int:
        """Number of bits."""
        return len(self.bit_features)


def expand_tensors(
    constant: float,
    joined: Floats,
    tensors: list[Floats],
    code: Code,
    origin: Origin,
    *,
    threshold: float = 0.0,
) -> Pubo:
    """Write Σ_j T_j(x, ..., x) over coded numbers x as a polynomial of their bits.

    `joined` holds the tensors one after the other; the tensors are views of it.
    """
    degree = len(tensors)
    with np.errstate(over="ignore", invalid="ignore"):  # looked at below
        if code.offsets.any():
            constant += _shift(tensors, code.offsets)
        terms = [_terms(code, j, joined, tensors, threshold) for j in range(1, degree + 1)]
    if not all(np.isfinite(coefficients.sum()) for _, coefficients, _ in terms):
        zeta = 0.0 if origin.encoding is None else origin.encoding.zeta
        raise InputError(
            f"coefficients overflow with weights up to {zeta:g}: use a smaller weight_range= or "
            "prior_std=, or scale the features"
        )
    # nobody knows which sign a dropped term has in a sample: the worse of the two sums bounds it
    negative, positive = (sum(dropped[side] for _, _, dropped in terms) for side in (0, 1))
    return Pubo(
        variables=code.variables,
        constant=constant,
        indices=tuple(indices for indices, _, _ in terms),
        coefficients=tuple(coefficients for _, coefficients, _ in terms),
        origin=replace(origin, dropped=max(0.0 - negative, positive)),
    )


def memory_needed(variables: int, degree: int) -> int:
    """Bytes of the arrays of a complete polynomial."""
    terms = most_terms(variables, degree)
    return sum(count * (8 + 4 * j) for j, count in enumerate(terms, 1))


def _check_options(moments: Moments, loss: Loss, l0: float, threshold: float) -> None:
    if loss.order > moments.order:
        raise InputError(f"a loss of order {loss.order}, but moments up to {moments.order} only")
    if not (math.isfinite(l0) and l0 >= 0):
        raise InputError(f"l0 {l0:g}; expected a number of 0 or more")
    if not (math.isfinite(threshold) and threshold >= 0):
        raise InputError(f"threshold {threshold:g}; expected a number of 0 or more")
    if moments.count <= 0:
        raise InputError("moments of no examples")


def _require_memory(variables: int, degree: int) -> None:
    count = sum(most_terms(variables, degree))
    memory.require(
        memory_needed(variables, degree),
        f"a polynomial of degree {degree} in {variables:,} bits, up to {count:,} terms,",
        "use fewer bits= or features=, or a lower order=",
    )


def _weighted_tensors(moments: Moments, loss: Loss, degree: int) -> tuple[Floats, list[Floats]]:
    """Return (a_j / m) T_j for all degrees, with the regulariser, as one array and its views."""
    bases = np.cumsum([0] + [multisets.count(moments.features, j) for j in range(1, degree + 1)])
    joined = np.zeros(bases[-1])
    views = [joined[a:b] for a, b in pairwise(bases.tolist())]
    for j, view in enumerate(views[: loss.order], 1):
        if loss.coefficients[j]:
            np.multiply(moments.tensors[j, 0], loss.coefficients[j] / moments.count, out=view)
    if loss.l2:
        squares = np.repeat(np.arange(moments.features)[:, None], 2, axis=1)
        views[1][multisets.rank(squares, moments.features)] += loss.l2 / 2
    return joined, views


def _shift(tensors: list[Floats], offsets: Floats) -> float:
    """Move the origin of the weights to `offsets`, in place; return the change of the constant.

    (o + u)^j is the sum over i of C(j, i) times u^i contracted j - i times with o.
    """
    gained = 0.0
    degree = len(tensors)
    originals = [tensor.copy() for tensor in tensors]
    for j in range(1, degree + 1):
        contracted = originals[j - 1]
        for i in range(j - 1, -1, -1):
            contracted = _contract(contracted, i + 1, offsets)
            if i == 0:
                gained += float(contracted[0])
            else:
                tensors[i - 1] += comb(j, i) * contracted
    return gained


def _contract(tensor: Floats, degree: int, vector: Floats) -> Floats:
    """Contract a symmetric tensor once: Σ_a vector_a T[..., a]."""
    features = len(vector)
    members = multisets.enumerate_multisets(features, degree - 1)
    total = np.zeros(len(members))
    for a in np.flatnonzero(vector).tolist():
        with_a = np.sort(np.column_stack([members, np.full(len(members), a)]), axis=1)
        total += vector[a] * tensor[multisets.rank(with_a, features)]
    return total


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Return all ways to write `total` as an ordered sum of `parts` positive numbers."""
    if parts == 1:
        yield (total,)
        return
    for first in range(1, total - parts + 2):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)


def _tables(encoding: Code, degree: int, tensors: list[Floats]) -> tuple[NDArray[np.int64], Floats]:
    """Tabulate what each bit adds to the position and to the factor, for each composition."""
    features, kappa = encoding.bit_features, encoding.bit_weights
    bases = np.cumsum([0] + [len(t) for t in tensors])
    parts = multisets.rank_parts(encoding.features, len(tensors))
    places, values = [], []
    for j in range(degree, len(tensors) + 1):
        if not tensors[j - 1].any():
            continue
        for exponents in _compositions(j, degree):
            ends = np.cumsum((0, *exponents))
            place = [parts[a + 1 : b + 1, features].sum(axis=0) for a, b in pairwise(ends.tolist())]
            value = [kappa**r for r in exponents]
            place[0] = place[0] + bases[j - 1]
            value[0] = value[0] * (factorial(j) / math.prod(map(factorial, exponents)))
            places.append(place)
            values.append(value)
    shape = (len(places), degree, encoding.variables)
    return (
        np.array(places, dtype=np.int64).reshape(shape),
        np.array(values, dtype=np.float64).reshape(shape),
    )


def _terms(
    encoding: Code, degree: int, joined: Floats, tensors: list[Floats], threshold: float
) -> tuple[NDArray[np.int32], Floats, tuple[float, float]]:
    """Return the terms of one degree, and the sums of those that were dropped."""
    places, values = _tables(encoding, degree, tensors)
    variables = encoding.variables
    if degree > variables or not len(places):
        return frozen(np.empty((0, degree)), np.int32), frozen(np.empty(0)), (0.0, 0.0)
    ranges = list(pairwise(_first_bits(variables, degree)))
    task = _Expansion(variables, degree, joined, places, values, threshold)
    sizes = [task.most(bounds) for bounds in ranges]
    if threshold or not all(map(np.all, tensors[degree - 1 :])):  # perhaps not all terms are there
        sizes = list(ordered(task.count, ranges))
    indices, coefficients, dropped = _fill(task, ranges, sizes)
    return frozen(indices, np.int32), frozen(coefficients), dropped


def _fill(
    task: _Expansion, ranges: list[tuple[int, int]], sizes: list[int]
) -> tuple[NDArray[np.int32], Floats, tuple[float, float]]:
    """Fill arrays of the exact size, each range of first bits at its place."""
    ends = np.cumsum([0, *sizes]).tolist()
    indices = np.empty((ends[-1], task.degree), dtype=np.int32)
    coefficients = np.empty(ends[-1])

    def work(job: tuple[tuple[int, int], tuple[int, int]]) -> tuple[int, Floats]:
        bounds, (start, stop) = job
        return task.fill(bounds, indices[start:stop], coefficients[start:stop])

    filled = list(ordered(work, zip(ranges, pairwise(ends), strict=True)))
    kept = [number for number, _ in filled]
    if kept != sizes:  # terms cancelled that were counted on
        return _fill(task, ranges, kept)
    negative, positive = (sum(float(dropped[side]) for _, dropped in filled) for side in (0, 1))
    return indices, coefficients, (negative, positive)


@dataclass(frozen=True, eq=False)
class _Expansion:
    """One degree of the polynomial, ready for the compiled kernel."""

    variables: int
    degree: int
    tensors: Floats
    places: NDArray[np.int64]
    values: Floats
    threshold: float

    def most(self, bounds: tuple[int, int]) -> int:
        """Terms with their first bit within bounds, if all are there."""
        first, last = (comb(self.variables - b, self.degree) for b in bounds)
        return first - last

    def count(self, bounds: tuple[int, int]) -> int:
        none, nothing = np.empty((0, self.degree), dtype=np.int32), np.empty(0)
        return self._run(bounds, none, nothing, fill=False)[0]

    def fill(
        self, bounds: tuple[int, int], indices: NDArray[np.int32], coefficients: Floats
    ) -> tuple[int, Floats]:
        return self._run(bounds, indices, coefficients, fill=True)

    def _run(
        self,
        bounds: tuple[int, int],
        indices: NDArray[np.int32],
        coefficients: Floats,
        *,
        fill: bool,
    ) -> tuple[int, Floats]:
        from qcompile.objective.expand_kernel import expand, expand_all_triples

        dropped = np.zeros(2)
        top = self.degree == 3 and len(self.places) == 1 and not self.threshold
        if fill and top and len(coefficients) == self.most(bounds):
            kept = expand_all_triples(
                *bounds, self.variables, self.tensors, self.places[0], self.values[0],
                indices, coefficients,
            )  # fmt: skip
            return kept, dropped
        kept = expand(
            *bounds, self.variables, self.degree, self.tensors, self.places, self.values,
            self.threshold, fill, indices, coefficients, dropped,
        )  # fmt: skip
        return kept, dropped


def _first_bits(variables: int, degree: int) -> list[int]:
    """Cut the first bits into ranges with about as many terms each."""
    starts = np.array([comb(variables - first, degree) for first in range(variables + 1)], float)
    wanted = starts[0] * (1 - np.arange(_TASKS + 1) / _TASKS)
    cuts = np.searchsorted(-starts, -wanted)
    return sorted({0, *cuts.tolist(), variables - degree + 1} & set(range(variables - degree + 2)))


def _with_indicators(pubo: Pubo, encoding: Encoding, l0: float) -> Pubo:
    """Charge l0 for each weight that is not zero.

    Ω0 = Σ_a ( λ0 v_a + φ (1 - v_a) Σ_t q_{a,t} ), φ = 2 λ0: a weight with a bit on costs λ0 with
    v_a = 1 and at least φ without. With one bit a weight, λ0 Σ q says the same without v.
    """
    extra: dict[tuple[int, ...], float] = {}
    if encoding.bits == 1:
        extra = {(q,): l0 for q in range(encoding.variables)}
        added = Pubo.from_dict(extra, variables=encoding.variables)
        return pubo.with_terms(pubo + added)
    strength = _INDICATOR_STRENGTH * l0
    for a in range(encoding.features):
        indicator = encoding.variables + a
        extra[indicator,] = l0
        for t in range(encoding.bits):
            extra[a * encoding.bits + t,] = strength
            extra[a * encoding.bits + t, indicator] = -strength
    return pubo.with_terms(pubo + Pubo.from_dict(extra))
