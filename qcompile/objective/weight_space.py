"""The cubic of the weights: from Moments and a Loss, or from the Pubo that was expanded from it.

With weights w_a = o_a + Σ c_i q_i over the bits i of feature a, the expansion of a cubic with slope
g, curvature H and third derivative T at the offsets o has the coefficients

    T_abc c_i c_j c_k                          for bits of three features, or three bits of fewer,
    H_ab c_i c_k + T_aab c_i² c_k / 2 + T_abb c_i c_k² / 2   for bits of two features,
    H_aa c_i c_j + T_aaa c_i c_j (c_i + c_j) / 2              for two bits of one feature,
    g_a c_i + H_aa c_i² / 2 + T_aaa c_i³ / 6                  for one bit,

which `weight_cubic` solves for g, H and T. Where a feature has too few bits to tell, the missing
derivative is free and taken as 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.objective.cubic import full_tensor, memory_needed
from qcompile.runtime import memory
from qcompile.stages.arrays import Floats, extent
from qcompile.stages.encoding import Encoding
from qcompile.stages.loss import Loss
from qcompile.stages.moments import Moments
from qcompile.stages.pubo import Pubo
from qcompile.stages.step import Step

__all__ = ["MOST_FEATURES", "WeightCubic", "cubic_of_moments", "weight_cubic"]


# A polynomial that is no expansion of a cubic (terms were dropped, say) is told by its energies.
_SAME = 1e-9
_CHECKED = 64
# The third derivative of so many weights takes 512 MB.
MOST_FEATURES = 400
# Rows of weights, and terms, that are looked at together: their temporary arrays stay small.
_ROWS, _TERMS = 64, 1 << 18


@dataclass(frozen=True, eq=False)
class WeightCubic:
    """A cubic of the distances d = w - offsets: constant, slope, curvature, third derivative."""

    constant: float
    first: Floats
    second: Floats
    third: Floats
    encoding: Encoding

    def energies(self, weights: Floats) -> Floats:
        """Evaluate at rows of weights."""
        rows = np.atleast_2d(weights)
        return np.concatenate(
            [np.empty(0)]
            + [self._energies(rows[at : at + _ROWS]) for at in range(0, len(rows), _ROWS)]
        )

    def _energies(self, weights: Floats) -> Floats:
        d = weights - self.encoding.offsets
        quadratic = np.einsum("ra,ab,rb->r", d, self.second, d, optimize=True)
        cubic = np.einsum("ra,rb,rc,abc->r", d, d, d, self.third, optimize=True)
        return np.asarray(self.constant + d @ self.first + quadratic / 2 + cubic / 6)


def cubic_of_moments(moments: Moments, loss: Loss, bits: int) -> WeightCubic:
    """Return the regularised risk as a cubic of fixed-point weights, without a term of bits.

    It holds the same energies as ``discretize(moments, loss, bits)``.
    """
    if loss.order > min(3, moments.order):
        raise InputError(
            f"a loss of order {loss.order}, moments up to {moments.order}; expected 3 at most, and "
            "moments up to the order of the loss"
        )
    n = moments.features
    memory.require(
        memory_needed(n) + 8 * _ROWS * n * n,
        f"the cubic of {n:,} weights",
        "choose the most useful ones with features=K",
    )
    encoding = Encoding(n, bits, loss.zeta)
    a = [*loss.coefficients, 0.0, 0.0, 0.0]
    with np.errstate(all="ignore"):  # looked at below
        first = a[1] * full_tensor(moments, 1)
        second = 2 * a[2] * full_tensor(moments, 2) + loss.l2 * np.eye(n)
        third = full_tensor(moments, 3)
        third *= 6 * a[3]
        found = WeightCubic(loss.coefficients[0], first, second, third, encoding)
        # no energy within the range is larger in size
        parts = enumerate((first, second, third), 1)
        largest = sum(extent(part)[1] * np.float64(n * loss.zeta) ** j for j, part in parts)
        if not np.isfinite(largest):
            raise InputError(
                f"coefficients overflow with weights up to {loss.zeta:g}: use a smaller "
                "weight_range= or prior_std=, or scale the features"
            )
    return found


def weight_cubic(pubo: Pubo) -> WeightCubic | None:
    """Return the cubic of the weights, or None if the polynomial is not one.

    Not: of a step, of higher degree, with indicators (ℓ0), without an encoding, or with dropped
    terms.
    """
    encoding = pubo.encoding
    if (
        encoding is None
        or isinstance(encoding, Step)  # its weights are no multiples of one number
        or pubo.degree > 3
        or pubo.variables != encoding.variables
        or encoding.features > MOST_FEATURES
        or pubo.dropped
    ):
        return None
    found = _solve(pubo, encoding)
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (_CHECKED, pubo.variables), dtype=np.int8)
    true = pubo.energies(bits)
    wrong = np.abs(found.energies(encoding.decode(bits)) - true).max(initial=0.0)
    return found if wrong <= _SAME * max(1e-300, float(np.abs(true).max(initial=0.0))) else None


def _solve(pubo: Pubo, encoding: Encoding) -> WeightCubic:
    n = encoding.features
    feature, value = encoding.bit_features, encoding.bit_weights
    rank = np.arange(len(feature)) - np.searchsorted(feature, feature)  # place within the feature
    bits_of = np.bincount(feature, minlength=n)
    first, second, third = np.zeros(n), np.zeros((n, n)), np.zeros((n, n, n))
    one, two, three = (pubo.of_degree(j) for j in (1, 2, 3))

    for at in range(0, len(three[1]), _TERMS):  # there may be a thousand times as many as needed
        rows, values = three[0][at : at + _TERMS], three[1][at : at + _TERMS]
        usable = _first_choice(feature[rows], rank[rows])
        rows, values = rows[usable], values[usable]
        t = values / value[rows].prod(axis=1)
        for order in permutations(feature[rows].T):
            third[order] = t
    _third_of_two_bits(third, one, two, feature, value, rank, bits_of)

    rows, values = two
    f = feature[rows]
    usable = _first_choice(f, rank[rows])
    rows, values, f = rows[usable], values[usable], f[usable]
    c, k = value[rows[:, 0]], value[rows[:, 1]]
    a, b = f[:, 0], f[:, 1]
    bend = (third[a, a, b] * c + third[a, b, b] * k) / 2
    h = values / (c * k) - bend
    second[a, b] = second[b, a] = h
    # pairs that no term names may still be bent
    known = np.zeros((n, n), dtype=bool)
    known[a, b] = known[b, a] = True
    x, y = np.nonzero(~known)
    head = _nth(value, feature, rank, n, 0)
    other = np.where(x == y, _nth(value, feature, rank, n, 1)[x], head[y])
    second[x, y] = -(third[x, x, y] * head[x] + third[x, y, y] * other) / 2
    alone = np.flatnonzero((bits_of < 2) & ~known.diagonal())
    second[alone, alone] = 0.0

    single = np.zeros(len(feature))
    single[one[0][:, 0]] = one[1]
    heads = np.flatnonzero(rank == 0)
    g = feature[heads]
    c = value[heads]
    first[g] = single[heads] / c - second[g, g] * c / 2 - third[g, g, g] * c * c / 6
    return WeightCubic(pubo.constant, first, second, third, encoding)


def _third_of_two_bits(
    third: Floats,
    one: tuple[NDArray[np.int32], Floats],
    two: tuple[NDArray[np.int32], Floats],
    feature: NDArray[np.int64],
    value: Floats,
    rank: NDArray[np.int64],
    bits_of: NDArray[np.int64],
) -> None:
    """Find the third derivatives of features with two bits: four levels determine a cubic."""
    single = np.zeros(len(feature))
    single[one[0][:, 0]] = one[1]
    pair = np.zeros(len(bits_of))
    own = (feature[two[0][:, 0]] == feature[two[0][:, 1]]) & (bits_of[feature[two[0][:, 0]]] == 2)
    pair[feature[two[0][own, 0]]] = two[1][own]
    for a in np.flatnonzero(bits_of == 2):
        i = int(np.searchsorted(feature, a))
        c, d = value[i], value[i + 1]
        if c == d or c + d == 0:  # three levels: a quadratic is enough
            continue
        slope = (single[i] / c - single[i + 1] / d) / (c - d)
        third[a, a, a] = 12 * (pair[a] / (2 * c * d) - slope) / (c + d)


def _first_choice(features: NDArray[np.int64], rank: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark terms that use the first bits of their features: one of each, or the first few."""
    expected = np.zeros_like(rank)
    for column in range(1, features.shape[1]):
        same = features[:, column] == features[:, column - 1]
        expected[:, column] = np.where(same, expected[:, column - 1] + 1, 0)
    return np.asarray((rank == expected).all(axis=1))


def _nth(
    value: Floats, feature: NDArray[np.int64], rank: NDArray[np.int64], n: int, place: int
) -> Floats:
    """Return the value of a certain bit of each feature (1 if there is none)."""
    found = np.ones(n)
    chosen = rank == place
    found[feature[chosen]] = value[chosen]
    return found
