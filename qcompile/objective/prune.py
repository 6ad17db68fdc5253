"""Moments x Loss -> Encoding with fewer levels: shrink the problem before it is expanded.

The lowest level v of a weight is removed if another level v' is better for all values of the other
weights, E(w_a = v) - E(w_a = v') > 0; likewise the highest. The difference is one degree lower than
E: for cubics a quadratic, bounded from below by intervals or, more closely, by roof duality on the
bits of the other weights. A removed level may allow the removal of others; this is repeated until
nothing changes. Every minimiser is kept. With a narrow range pruning may solve the whole problem.

The way back is the encoding itself: its levels are some of the levels of the full one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qcompile.errors import InputError
from qcompile.objective.cubic import Cubic
from qcompile.stages.arrays import Floats
from qcompile.stages.encoding import Encoding
from qcompile.stages.loss import Loss
from qcompile.stages.moments import Moments

__all__ = ["prune"]


_CAREFUL = 1e-9
_MOST_BITS = 400


def prune(moments: Moments, loss: Loss, bits: int, *, l0: float = 0.0) -> Encoding:
    """Narrow the levels of each weight as far as is proved to keep every minimiser.

    >>> from qcompile import fit_loss, moments_of, read
    >>> moments = moments_of(read("synthetic"), 3)
    >>> prune(moments, fit_loss(moments, weight_range=0.3), bits=2).variables
    0
    """
    if loss.order > 3:
        raise InputError(f"pruning is for orders up to 3, not {loss.order}; leave out prune=True")
    if l0:
        raise InputError("pruning and l0 do not go together; leave out one of them")
    encoding = Encoding(moments.features, bits, loss.zeta)
    lowest, highest = (bound.tolist() for bound in encoding.level_bounds)
    encoding = replace(encoding, bounds=tuple(zip(lowest, highest, strict=True)))
    differences = _Differences(Cubic.of(moments, replace(loss, prior_std=1.0, range_=loss.zeta)))
    changed = True
    while changed:
        changed = False
        for a in range(moments.features):
            narrowed = _narrow(differences, encoding, a)
            changed |= narrowed != encoding
            encoding = narrowed
    return encoding


def _narrow(differences: _Differences, encoding: Encoding, a: int) -> Encoding:
    """Drop levels of one weight from both ends as long as another one is always better."""
    assert encoding.bounds is not None
    low, high = encoding.bounds[a]
    while low < high:
        if differences.always_worse(encoding, a, low, (low + 1, (low + high) // 2 + 1, high)):
            low += 1
        elif differences.always_worse(encoding, a, high, (high - 1, (low + high) // 2, low)):
            high -= 1
        else:
            break
        bounds = (*encoding.bounds[:a], (low, high), *encoding.bounds[a + 1 :])
        encoding = replace(encoding, bounds=bounds)
        assert encoding.bounds is not None
    return encoding


@dataclass(frozen=True, eq=False)
class _Differences:
    """E(w_a = v) - E(w_a = v') as a quadratic of the other weights."""

    cubic: Cubic

    def always_worse(self, encoding: Encoding, a: int, level: int, others: tuple[int, ...]) -> bool:
        """Whether `level` is worse than one of `others` for all values of the other weights."""
        quadratics = [
            self._difference(encoding, a, level * encoding.step, other * encoding.step)
            for other in dict.fromkeys(others)
            if other != level
        ]
        if any(_interval_bound(q, encoding, a) > q.careful for q in quadratics):
            return True
        if encoding.variables > _MOST_BITS:
            return False
        return any(_roof_bound(q, encoding, a) > q.careful for q in quadratics)

    def _difference(self, encoding: Encoding, a: int, v: float, other: float) -> _Quadratic:
        one, two, three = v - other, (v**2 - other**2) / 2, (v**3 - other**3) / 6
        cubic = self.cubic
        constant = cubic.first[a] * one + cubic.second[a, a] * two + cubic.third[a, a, a] * three
        linear = cubic.second[a] * one + cubic.third[a, a] * two
        return _Quadratic(float(constant), linear, cubic.third[a] * one)


@dataclass(frozen=True, eq=False)
class _Quadratic:
    """constant + linear·u + u·pairs·u / 2."""

    constant: float
    linear: Floats
    pairs: Floats

    @property
    def careful(self) -> float:
        """Largest value that rounding can give to a difference that is 0."""
        size = abs(self.constant) + np.abs(self.linear).max() + np.abs(self.pairs).max()
        return float(_CAREFUL * size)


def _box(encoding: Encoding, a: int) -> tuple[Floats, Floats]:
    """Return the lowest and highest values of the other weights; weight a itself is 0."""
    low, high = (np.float64(encoding.step) * bound for bound in encoding.level_bounds)
    low[a] = high[a] = 0.0
    return low, high


def _interval_bound(q: _Quadratic, encoding: Encoding, a: int) -> float:
    """Add up the lowest value of each term, with the origin in the middle of the box."""
    low, high = _box(encoding, a)
    middle, reach = (low + high) / 2, (high - low) / 2
    constant = q.constant + q.linear @ middle + middle @ q.pairs @ middle / 2
    linear = q.linear + q.pairs @ middle
    off_diagonal = np.abs(q.pairs - np.diag(np.diag(q.pairs)))
    squares = np.minimum(np.diag(q.pairs), 0.0) * reach**2
    bound = constant - np.abs(linear) @ reach - reach @ off_diagonal @ reach / 2 + squares.sum() / 2
    return float(bound)


def _roof_bound(q: _Quadratic, encoding: Encoding, a: int) -> float:
    """Bound the quadratic over the bits of the other weights by roof duality."""
    import dimod
    from dwave.preprocessing.lower_bounds import roof_duality

    used = encoding.bit_features != a
    feature, weight = encoding.bit_features[used], encoding.bit_weights[used]
    offsets = encoding.offsets.copy()
    offsets[a] = 0.0
    slope = q.linear + q.pairs @ offsets
    matrix = q.pairs[np.ix_(feature, feature)] * np.outer(weight, weight)
    linear = slope[feature] * weight + np.diag(matrix) / 2
    constant = q.constant + q.linear @ offsets + offsets @ q.pairs @ offsets / 2
    if not len(feature):
        return float(constant)
    first, second = np.triu_indices(len(feature), 1)
    bqm = dimod.BinaryQuadraticModel.from_numpy_vectors(
        linear, (first, second, matrix[first, second]), float(constant), dimod.BINARY
    )
    bound, _ = roof_duality(bqm)
    return float(bound)
