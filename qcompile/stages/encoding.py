"""Fixed-point weights: how bits make up a weight."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qcompile.errors import InputError
from qcompile.stages.arrays import Floats
from qcompile.stages.display import Displayed, many

__all__ = ["Encoding"]


@dataclass(frozen=True, repr=False)
class Encoding(Displayed):
    """Fixed-point weights w_a = zeta (q_{a,0} - Σ_{t>=1} 2^-t q_{a,t}); bit a·bits + t.

    The levels are zeta/2^(bits-1) times the whole numbers from 1 - 2^(bits-1) to 2^(bits-1). With
    `bounds` each weight keeps a range of these numbers only, coded by as few bits as it needs: the
    lowest number plus 1, 2, 4, ... and a rest, so that no code leaves the range.

    >>> Encoding(features=1, bits=2, zeta=1.0).decode([[0, 0], [0, 1], [1, 0], [1, 1]]).ravel()
    array([ 0. , -0.5,  1. ,  0.5])
    >>> Encoding(features=1, bits=2, zeta=1.0, bounds=((0, 2),)).decode([[0, 0], [1, 1]]).ravel()
    array([0., 1.])
    """

    features: int
    bits: int
    zeta: float
    bounds: tuple[tuple[int, int], ...] | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.bits <= 16:
            raise InputError(f"{self.bits} bits for each weight; expected 1 to 16")
        if self.features < 1:
            raise InputError(f"{self.features} features; expected at least one")
        if not (math.isfinite(self.zeta) and self.zeta > 0):
            raise InputError(f"weight scale zeta {self.zeta}; expected a number above 0")
        if self.bounds is not None:
            low, high = self._limits
            inside = all(low <= a <= b <= high for a, b in self.bounds)
            if len(self.bounds) != self.features or not inside:
                raise InputError(f"bounds of the levels do not fit {self.bits} bits a weight")

    def _line(self) -> str:
        bounded = "" if self.bounds is None else f", {many(self.variables, 'bit')} within bounds"
        weights = f"{many(self.features, 'weight')} of {many(self.bits, 'bit')}"
        return f"{weights}{bounded}, zeta {self.zeta:.4g}"

    def _facts(self) -> Mapping[str, object]:
        return {
            "weights": self.features,
            "bits a weight": self.bits,
            "bits": self.variables,
            "zeta": self.zeta,
            "step": self.step,
            "bounded levels": self.bounds is not None,
        }

    @property
    def _limits(self) -> tuple[int, int]:
        half = 1 << (self.bits - 1)
        return 1 - half, half

    @property
    def step(self) -> float:
        """The distance between neighbouring levels."""
        return self.zeta / (1 << (self.bits - 1))

    @property
    def variables(self) -> int:
        """Number of bits N."""
        # no array is made: a file may claim any number of weights
        return self.features * self.bits if self.bounds is None else len(self.bit_features)

    @property
    def pruned_bits(self) -> int:
        """Number of bits that `bounds` make unnecessary."""
        return self.features * self.bits - self.variables

    @cached_property
    def bit_features(self) -> NDArray[np.int64]:
        """The feature that each bit belongs to."""
        return np.repeat(np.arange(self.features), [len(code) for code in self._codes])

    @cached_property
    def bit_weights(self) -> Floats:
        """What each bit adds to its weight: zeta (1, -1/2, -1/4, ...) for each feature."""
        return np.array([c for code in self._codes for c in code], dtype=np.float64) * self.step

    @cached_property
    def offsets(self) -> Floats:
        """The weights when all bits are 0."""
        if self.bounds is None:
            return np.zeros(self.features)
        return np.array([low for low, _ in self.bounds], dtype=np.float64) * self.step

    @cached_property
    def _codes(self) -> tuple[tuple[int, ...], ...]:
        """The value of each bit of each weight, in steps."""
        if self.bounds is None:
            half = 1 << (self.bits - 1)
            code = (half, *(-(half >> t) for t in range(1, self.bits)))
            return (code,) * self.features
        return tuple(_bounded_code(high - low) for low, high in self.bounds)

    @property
    def level_bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The lowest and the highest level of each weight, in steps."""
        bounds = (self._limits,) * self.features if self.bounds is None else self.bounds
        low, high = np.array(bounds, dtype=np.int64).T.copy()  # contiguous, as kernels want them
        return low, high

    @property
    def levels(self) -> Floats:
        """All values that a weight can take before any bounds, ascending."""
        low, high = self._limits
        return np.arange(low, high + 1, dtype=np.float64) * self.step

    def decode(self, bits: ArrayLike) -> Floats:
        """Return the weights of bits; bits past N (indicators, ancillas) are ignored."""
        array = np.asarray(bits)
        if array.shape[-1] < self.variables:
            raise InputError(f"{array.shape[-1]} bits; expected at least {self.variables}")
        spread = np.zeros((self.variables, self.features))
        spread[np.arange(self.variables), self.bit_features] = self.bit_weights
        return np.asarray(array[..., : self.variables] @ spread + self.offsets, dtype=np.float64)

    def encode(self, weights: ArrayLike) -> NDArray[np.int8]:
        """Return the bits of the level nearest to each weight."""
        array = np.asarray(weights, dtype=np.float64)
        if array.shape[-1] != self.features:
            raise InputError(f"{array.shape[-1]} weights; expected {self.features}")
        if not np.isfinite(array).all():
            raise InputError("a weight is NaN or infinite")
        low, high = self.level_bounds
        level = np.clip(np.rint(array / self.step).astype(np.int64), low, high)
        left = level if self.bounds is None else level - low
        columns = []
        for a, code in enumerate(self._codes):
            columns += _code_bits(left[..., a], code)
        shape = (*array.shape[:-1], self.variables)
        return np.stack(columns, axis=-1).astype(np.int8) if columns else np.zeros(shape, np.int8)


def _bounded_code(largest: int) -> tuple[int, ...]:
    """Return bit values whose sums are exactly 0..largest: 1, 2, 4, ... and a rest.

    >>> _bounded_code(5)
    (1, 2, 2)
    """
    values: list[int] = []
    left = largest
    while left:
        values.append(min(left, 1 << len(values)))
        left -= values[-1]
    return tuple(values)


def _code_bits(level: NDArray[np.int64], code: tuple[int, ...]) -> list[NDArray[np.int64]]:
    """Write levels in a code: the sign bit first if there is one, then the largest values."""
    bits: dict[int, NDArray[np.int64]] = {}
    left = level
    if len(code) == 1 or (code and min(code) < 0):
        bits[0] = (left > 0).astype(np.int64)
        left = bits[0] * code[0] - left  # what the other bits must take away
        if len(code) == 1:
            return [bits[0]]
    for t in sorted(range(len(code)), key=lambda t: -abs(code[t])):
        if t not in bits:
            bits[t] = (left >= abs(code[t])).astype(np.int64)
            left = left - bits[t] * abs(code[t])
    return [bits[t] for t in range(len(code))]
