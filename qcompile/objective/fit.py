"""Moments -> Loss: the polynomial that stands in for 0-1 loss.

Odd orders minimise E_w[(f01(w) - f(w))²] over classifiers w ~ N(0, s² I) ("risk"), or fit the loss
itself under one normal prior of the margins ("loss"). Even orders fit the loss under a prior
P(γ) ∝ exp(-ω γ^k), with the leading coefficient ω given ("omega"). After the moments every fit is
a linear system of a few unknowns for any number of examples.

References:
    Babbush et al., "Construction of non-convex polynomial loss functions for training a binary
    classifier with quantum annealing", sections 2 and 3. Its β1 is printed with the wrong sign.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import factorial, gamma

import numpy as np

from qcompile.errors import InputError
from qcompile.objective.judgement import upside_down
from qcompile.objective.weight_range import choose_range
from qcompile.runtime.renamed import renamed, renamed_fields
from qcompile.stages import multisets
from qcompile.stages.arrays import Floats
from qcompile.stages.expected import check_kind
from qcompile.stages.loss import Loss
from qcompile.stages.moments import Moments

__all__ = ["EVEN_ORDERS", "ODD_ORDERS", "LossOptions", "fit_loss", "fit_loss_with", "needs_fit"]


ODD_ORDERS = (1, 3, 5, 7)
EVEN_ORDERS = (4, 6, 8)
FITS = ("risk", "loss")
_SINGULAR = 1e-10
_SMALL = 1e-30
_NO_MORE_THAN_ROUNDING = 1e-13


@renamed(fit="fit_to", range_="weight_range")
def fit_loss(
    moments: Moments,
    order: int | None = None,
    *,
    fit_to: str = "risk",
    omega: float | None = None,
    coefficients: Sequence[float] | None = None,
    prior_std: float | None = None,
    l2: float | None = None,
    weight_range: float | str = "auto",
) -> Loss:
    """Fit a polynomial loss of the moments' order, or take the given coefficients.

    The prior's standard deviation s and the regulariser belong together, s = 1/√(l2 · m): give one
    and the other follows, give both to set them apart. Without either, s = 1 for odd orders, and
    even orders have their own scale, s = ω^(-1/k) / rms|x|. Then l2 is
    |a_1| max_j |mean_i y_i x_ij| / zeta: with it the lowest point of the linear part of the
    objective just reaches the range of weights; with a much smaller one all weights end at its
    ends. Own coefficients and even orders with a prior_std have no regulariser unless you give it.

    Weights reach up to zeta = weight_range · s. A range of "auto" is 2, or less where the lowest
    state would be no classifier: an odd loss rewards large wrong margins, an even one is narrow.

    >>> from qcompile import moments_of, read
    >>> loss = fit_loss(moments_of(read("mease-wyner"), 3))
    >>> [round(a, 6) for a in loss.coefficients]
    [0.5, ..., 0.0, ...]
    """
    check_kind(moments, Moments, "moments_of() makes one of a Dataset")
    order = moments.order if order is None else order
    values: tuple[float, ...] = () if coefficients is None else tuple(map(float, coefficients))
    order, kind = (len(values) - 1, "custom") if values else (order, _kind(order, fit_to, omega))
    if len(values) > 9:
        raise InputError(
            f"{len(values)} coefficients make a loss of order {order}; expected order 1 to 8"
        )
    if order > moments.order and kind != "omega":  # even orders take only the rows' lengths
        raise InputError(
            f"a loss of order {order} needs moments up to degree {order}; "
            f"these go up to {moments.order}"
        )
    _check_information(moments, order, fitted=kind != "custom")
    if kind == "custom" and omega is not None:
        raise InputError("omega is for fitted losses of even order, not for own coefficients")
    for name, scale in (("prior_std", prior_std), ("omega", omega)):
        if scale is not None and not _SMALL <= scale <= 1 / _SMALL:
            raise InputError(
                f"{name}={scale:g}; expected a number from {_SMALL:g} to {1 / _SMALL:g}"
            )
    notes: list[str] = []
    if kind == "omega":
        omega = 1.0 if omega is None else omega
        std = _even_std(moments, order, omega) if prior_std is None else prior_std
        penalty = 0.0 if l2 is None else l2
        values = even_coefficients(order, omega)
    else:
        omega = None
        std, penalty = _prior(moments, prior_std, l2, tied=kind != "custom")
        if kind == "risk":
            values = risk_coefficients(moments, order, std, notes)
        elif kind == "loss":
            values = loss_coefficients(order, std * moments.rms_norm)
        if kind != "custom" and values[1] >= 0:
            notes.append(upside_down(values[1]))
    draft = Loss(values, kind, std, 1.0, penalty, omega, tuple(notes))
    reaching = kind != "custom" and prior_std is None and l2 is None

    def priced(loss: Loss) -> Loss:
        return replace(loss, l2=_reaching_l2(moments, loss)) if reaching else loss

    return priced(choose_range(moments, draft, weight_range, priced))


def _check_information(moments: Moments, order: int, *, fitted: bool) -> None:
    """Raise InputError if no classifier of these rows is better than another."""
    constant = moments.preparation is not None and moments.preparation.bias
    if moments.count <= 0 or (fitted and moments.sum_of_squares <= 0):
        raise InputError("all features are zero: every classifier has margin 0 on these data")
    if fitted and constant and moments.sum_of_squares == moments.count:
        raise InputError(
            "all features are zero, or constant columns that were centred: only the column of ones "
            "is left, and every row gets the same answer"
        )
    if fitted and order <= moments.order and not any(_odd_sums(moments, order)):
        raise InputError(
            "the labels do not depend on the rows: for every row there is one in the same "
            "direction with the other label, or one in the opposite direction with the same "
            "label; expected other labels or features, or a constant one (bias=True)"
        )


def _odd_sums(moments: Moments, order: int) -> Iterator[bool]:
    """Yield for each odd degree whether Σ z ⊗ ... ⊗ z is more than rounding."""
    for degree in range(1, order + 1, 2):
        unit = (degree, -degree) in moments.tensors
        tensor = moments.tensors[degree, -degree if unit else 0]
        size = moments.count * (1.0 if unit else moments.rms_norm**degree)
        yield bool(np.abs(tensor).max(initial=0.0) > _NO_MORE_THAN_ROUNDING * size)


def _reaching_l2(moments: Moments, loss: Loss) -> float:
    """Return the l2 at which a_1 mean(z)·w + l2/2 |w|² has its minimum at the end of the range."""
    steepest = float(np.abs(moments.tensors[1, 0]).max(initial=0.0)) / moments.count
    l2 = abs(loss.coefficients[1]) * steepest / loss.zeta
    return l2 if _SMALL <= l2 <= 1 / _SMALL else loss.l2


def _kind(order: int, fit: str, omega: float | None) -> str:
    if fit not in FITS:
        raise InputError(f"fit {fit!r}; expected {' or '.join(FITS)}")
    if order in EVEN_ORDERS:
        return "omega"
    if order not in ODD_ORDERS:
        raise InputError(
            f"order {order}; expected {', '.join(map(str, sorted(ODD_ORDERS + EVEN_ORDERS)))}, "
            "or coefficients of your own"
        )
    if omega is not None:
        raise InputError(f"omega is for even orders; order {order} is fitted to the data")
    return fit


def _prior(
    moments: Moments, prior_std: float | None, l2: float | None, *, tied: bool
) -> tuple[float, float]:
    """Return the prior's deviation s and the regulariser; s² · l2 · m = 1 unless both are given."""
    if l2 is not None and not (l2 == 0 or _SMALL <= l2 <= 1 / _SMALL):
        raise InputError(f"l2 {l2:g}; expected 0 or a number from {_SMALL:g} to {1 / _SMALL:g}")
    if prior_std is None:
        prior_std = 1.0 / math.sqrt(l2 * moments.count) if l2 and tied else 1.0
    if l2 is None:
        l2 = 1.0 / (prior_std**2 * moments.count) if tied else 0.0
    return prior_std, l2


def _even_std(moments: Moments, order: int, omega: float) -> float:
    """Weights at which a typical margin is as wide as the loss, ω^(-1/k)."""
    return float(omega ** (-1 / order)) / (moments.rms_norm or 1.0)


def risk_coefficients(
    moments: Moments, order: int, prior_std: float, notes: list[str]
) -> tuple[float, ...]:
    """Fit the 0-1 risk under the weight prior by its normal equations A a = -b."""
    if not moments.can_fit_risk:
        raise InputError(
            "these moments lack the sums for the risk fit: "
            "take them with an odd order, or use the loss fit"
        )
    odd = range(1, order + 1, 2)
    matrix, right = np.zeros((len(odd), len(odd))), np.zeros(len(odd))
    with np.errstate(over="ignore", invalid="ignore"):  # looked at below
        for i, p in enumerate(odd):
            for a in range(1, p + 1, 2):
                share = _hermite(p, a) * factorial(a)
                right[i] += share * _sign_in_hermite(a) / 2 * _overlap(moments, a, -a, p - a)
                for j, q in enumerate(odd):
                    if a <= q and q >= p:
                        matrix[i, j] += share * _hermite(q, a) * _overlap(moments, a, p - a, q - a)
    matrix = np.triu(matrix) + np.triu(matrix, 1).T
    if not (np.isfinite(matrix).all() and np.isfinite(right).all()):
        raise InputError(
            f"the sums of a fit of order {order} overflow: features of typical size "
            f'{moments.rms_norm:.3g} are too large; use scale="robust", or a lower order='
        )
    solution = _solve(matrix, -right, notes)
    values = [0.5] + [0.0] * order
    for p, value in zip(odd, solution, strict=True):
        values[p] = float(value) / prior_std**p
    return tuple(values)


def _overlap(moments: Moments, degree: int, power: int, other: int) -> float:
    a, b = moments.tensors[degree, power], moments.tensors[degree, other]
    return multisets.inner(a, b, features=moments.features, degree=degree)


def _hermite(power: int, degree: int) -> float:
    """Share of He_degree in z^power (probabilists' Hermite polynomials)."""
    half = (power - degree) // 2
    return float(factorial(power) / (2**half * factorial(half) * factorial(degree)))


def _sign_in_hermite(degree: int) -> float:
    """Share of He_degree in sign(z): 2 φ(0) He_{degree-1}(0) / degree!."""
    half = (degree - 1) // 2
    at_zero = (-1) ** half * factorial(degree - 1) / (2**half * factorial(half))
    return float(math.sqrt(2 / math.pi) * at_zero / factorial(degree))


def _solve(matrix: Floats, right: Floats, notes: list[str]) -> Floats:
    """Solve the normal equations; where they are nearly singular take the smallest solution."""
    scale = np.sqrt(np.maximum(np.diag(matrix), 0.0))
    scale[scale == 0] = 1.0
    scaled = matrix / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(scaled)
    keep = values > _SINGULAR * max(values[-1], 1e-300)
    if not keep.all():
        notes.append(
            f"the fit is nearly singular (smallest over largest eigenvalue "
            f"{max(values[0], 0.0) / max(values[-1], 1e-300):.1e}): "
            "took the smallest of the solutions that fit equally well"
        )
    inverse = np.where(keep, 1.0 / np.where(keep, values, 1.0), 0.0)
    if keep.all():
        return np.asarray(np.linalg.solve(scaled, right / scale) / scale)
    return np.asarray(vectors @ (inverse * (vectors.T @ (right / scale))) / scale)


def loss_coefficients(order: int, margin_std: float) -> tuple[float, ...]:
    """Fit 0-1 loss under margins ~ N(0, margin_std²); for order 3 the paper's α⋆."""
    if margin_std <= 0:
        raise InputError("all features are zero: there is no margin to fit a loss to")
    odd = np.arange(1, order + 1, 2)
    moment = [[_double_factorial(int(p + q) - 1) for q in odd] for p in odd]
    # E[z^p sign(z)] / 2 = E|z|^p / 2
    right = [2 ** (p / 2) * gamma((p + 1) / 2) / math.sqrt(math.pi) / 2 for p in odd.tolist()]
    solution = np.linalg.solve(np.array(moment, dtype=np.float64), -np.array(right))
    values = [0.5] + [0.0] * order
    for p, value in zip(odd.tolist(), solution.tolist(), strict=True):
        values[p] = value / margin_std**p
    return tuple(values)


def _double_factorial(number: int) -> int:
    return math.prod(range(number, 0, -2))


def even_coefficients(order: int, omega: float) -> tuple[float, ...]:
    """Fit 0-1 loss under P(γ) ∝ exp(-ω γ^k), the leading coefficient being ω.

    With γ = ω^(-1/k) u nothing depends on ω: a_p = b_p ω^(p/k).

    >>> [round(b, 8) for b in even_coefficients(6, 1.0)[:3]]
    [0.44844866, -1.77700378, 0.817896]
    """
    absolute = [gamma((j + 1) / order) / gamma(1 / order) for j in range(2 * order)]
    matrix = np.array(
        [[0.0 if (p + q) % 2 else absolute[p + q] for q in range(order)] for p in range(order)]
    )
    right = [
        -absolute[p] / 2 if p % 2 else absolute[p] / 2 - absolute[p + order] for p in range(order)
    ]
    unit = [*np.linalg.solve(matrix, np.array(right)).tolist(), 1.0]
    return tuple(b * omega ** (p / order) for p, b in enumerate(unit))


@renamed_fields(fit="fit_to", range_="weight_range")
@dataclass(frozen=True)
class LossOptions:
    """Options of the loss; see `fit_loss`."""

    order: int | None = None
    fit_to: str = "risk"
    omega: float | None = None
    coefficients: Sequence[float] | None = None
    prior_std: float | None = None
    l2: float | None = None
    weight_range: float | str = "auto"

    @property
    def degree(self) -> int:
        """Degree of the moments that the loss needs; 3 by default."""
        if self.coefficients is None:
            return 3 if self.order is None else self.order
        return len(self.coefficients) - 1

    def __post_init__(self) -> None:
        if self.coefficients is not None and self.order not in (None, self.degree):
            raise InputError(
                f"order {self.order} with {len(self.coefficients)} coefficients, which make a loss "
                f"of order {self.degree}: leave out one of them"
            )


def fit_loss_with(moments: Moments, options: LossOptions) -> Loss:
    """Return the loss that the options describe."""
    return fit_loss(
        moments,
        options.degree,
        fit_to=options.fit_to,
        omega=options.omega,
        coefficients=options.coefficients,
        prior_std=options.prior_std,
        l2=options.l2,
        weight_range=options.weight_range,
    )


def needs_fit(loss: LossOptions) -> bool:
    """Whether the fit needs moments besides those of the polynomial."""
    return loss.coefficients is None and loss.fit_to == "risk" and loss.degree % 2 == 1
