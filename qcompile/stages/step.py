"""A step from given weights: how bits make up the new weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qcompile.errors import InputError
from qcompile.stages.arrays import Floats
from qcompile.stages.display import many
from qcompile.stages.encoding import Encoding

__all__ = ["Step"]


@dataclass(frozen=True, repr=False)
class Step(Encoding):
    """Weights w = centre + step, where bits make up the step of each feature in `block`.

    `zeta` is the radius, the longest step of a weight. With `directions` a weight has one bit: stay
    where it is, or go by the radius in its direction (-1 or +1). Without, `bits` bits choose one of
    2^bits levels from -radius to +radius, symmetric about the centre. Weights outside of the block
    stay where they are.

    >>> Step(2, 1, 0.5, centre=(1.0, 1.0), directions=(1, -1)).decode([[0, 1], [1, 1]])
    array([[1. , 0.5],
           [1.5, 0.5]])
    >>> Step(1, 2, 0.3, centre=(0.0,)).decode([[0, 0], [0, 1], [1, 0], [1, 1]]).ravel().round(2)
    array([-0.3, -0.1,  0.1,  0.3])
    """

    centre: tuple[float, ...] = ()
    block: tuple[int, ...] | None = None
    directions: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.zeta) and self.zeta > 0):
            raise InputError(f"radius {self.zeta} of a step; expected a number above 0")
        super().__post_init__()
        if self.bounds is not None:
            raise InputError("a step has a radius, and no bounds of levels")
        if len(self.centre) != self.features or not all(map(math.isfinite, self.centre)):
            raise InputError(
                f"a centre of {len(self.centre)} weights; expected {self.features} finite numbers"
            )
        self._check_block()

    def _check_block(self) -> None:
        inside = self.members.tolist()
        if self.block is not None and (
            sorted(set(inside)) != inside
            or not inside
            or not 0 <= inside[0] <= inside[-1] < self.features
        ):
            raise InputError(
                f"a block of {len(inside)} features; expected ascending numbers from 0 to "
                f"{self.features - 1}"
            )
        known = self.directions
        if known is not None and (
            self.bits != 1 or len(known) != len(inside) or not set(known) <= {-1, 1}
        ):
            raise InputError(
                f"{len(known)} directions of {self.bits} bits; expected -1 or 1 and one bit for "
                f"each of {len(inside)} features"
            )

    @cached_property
    def members(self) -> NDArray[np.int64]:
        """The features whose weights may change."""
        chosen = range(self.features) if self.block is None else self.block
        return np.array(chosen, dtype=np.int64)

    @property
    def radius(self) -> float:
        """The longest step of a weight."""
        return self.zeta

    @property
    def kind(self) -> str:
        """What a weight may do: "stay or step" or "levels"."""
        return "levels" if self.directions is None else "stay or step"

    def _line(self) -> str:
        free = many(len(self.members), "weight")
        return f"step of {free} of {self.features}, {self.kind}, radius {self.radius:.4g}"

    def _facts(self) -> Mapping[str, object]:
        return {
            "weights": self.features,
            "weights that may change": len(self.members),
            "bits": self.variables,
            "a weight may": self.kind,
            "radius": self.radius,
        }

    @property
    def variables(self) -> int:
        """Number of bits N."""
        return len(self.members) * self.bits

    @property
    def pruned_bits(self) -> int:
        """Number of bits that bounds make unnecessary: none."""
        return 0

    @cached_property
    def bit_features(self) -> NDArray[np.int64]:
        """The feature that each bit belongs to."""
        return np.repeat(self.members, self.bits)

    @cached_property
    def bit_weights(self) -> Floats:
        """What each bit adds to its weight."""
        if self.directions is not None:
            return np.array(self.directions, dtype=np.float64) * self.radius
        return np.tile(self._bit_values, len(self.members))

    @cached_property
    def _bit_values(self) -> Floats:
        """What the bits of a weight add to it, the largest first: levels of equal distance."""
        powers = 2.0 ** np.arange(self.bits - 1, -1, -1)
        return np.asarray(2 * self.radius / (2**self.bits - 1) * powers)

    @cached_property
    def starts(self) -> Floats:
        """The step of each member of the block when all bits are 0."""
        return np.full(len(self.members), 0.0 if self.directions else -self.radius)

    @cached_property
    def offsets(self) -> Floats:
        """The weights when all bits are 0."""
        weights = np.array(self.centre, dtype=np.float64)
        weights[self.members] += self.starts
        return weights

    @property
    def step(self) -> float:
        """The distance between neighbouring levels."""
        return self.radius if self.directions is not None else float(self._bit_values[-1])

    @property
    def level_bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Raise InputError: weights that start from a centre are not multiples of a step."""
        raise InputError("the weights of a step are not multiples of one number")

    @property
    def levels(self) -> Floats:
        """All steps that a weight can take, ascending."""
        if self.directions is not None:
            return np.array([-self.radius, 0.0, self.radius])
        return np.linspace(-self.radius, self.radius, 2**self.bits)

    def encode(self, weights: ArrayLike) -> NDArray[np.int8]:
        """Return the bits of the level nearest to each weight."""
        array = np.asarray(weights, dtype=np.float64)
        if array.shape[-1] != self.features:
            raise InputError(f"{array.shape[-1]} weights; expected {self.features}")
        if not np.isfinite(array).all():
            raise InputError("a weight is NaN or infinite")
        moved = array[..., self.members] - self.offsets[self.members]
        if self.directions is not None:
            return np.asarray(moved * np.array(self.directions) > self.radius / 2, dtype=np.int8)
        level = np.clip(np.rint(moved / self.step).astype(np.int64), 0, 2**self.bits - 1)
        shifts = np.arange(self.bits - 1, -1, -1)
        bits = (level[..., None] >> shifts) & 1
        return bits.reshape(*array.shape[:-1], self.variables).astype(np.int8)
