"""The polynomial nearest to the 0-1 risk around given weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from qcompile.stages.arrays import Floats
from qcompile.stages.display import Displayed, many
from qcompile.stages.preparation import Preparation
from qcompile.stages.record import Record
from qcompile.stages.source import Source

__all__ = ["Around", "LocalFit"]


@dataclass(frozen=True)
class Around(Record):
    """What a polynomial was fitted to: the smoothed 0-1 risk of weights drawn around a centre.

    The risk is that of weights drawn from N(w, smoothing² I); 0 is the 0-1 risk itself. The
    polynomial of degree `degree` in the step is nearest to it for w drawn from N(centre, width² I).
    `l2` is the price of the weights: l2/2 |w|² is added.
    """

    width: float
    smoothing: float = 1.0
    degree: int = 2
    l2: float = 0.0


@dataclass(frozen=True, eq=False, repr=False)
class LocalFit(Displayed):
    """A polynomial of the step d = w - centre: constant + first·d + d·second·d/2 + third(d,d,d)/6.

    Steps change the weights of the features in `block` only; the derivatives are over these.
    """

    around: Around
    centre: Floats
    block: NDArray[np.int64]
    constant: float
    first: Floats
    second: Floats
    third: Floats | None = None
    count: int = 0
    preparation: Preparation | None = None
    source: Source = field(default_factory=Source)

    def __call__(self, steps: Floats) -> Floats:
        """Return the value at each row of steps; a row has one number for each member of `block`.

        >>> fit = LocalFit(Around(1.0), np.zeros(1), np.zeros(1, np.int64), 0.5, -np.ones(1),
        ...                np.ones((1, 1)))
        >>> fit(np.array([[1.0], [2.0]]))
        array([0. , 0.5])
        """
        d = np.atleast_2d(np.asarray(steps, dtype=np.float64))
        values = self.constant + d @ self.first + ((d @ self.second) * d).sum(axis=1) / 2
        if self.third is not None:
            values = values + np.einsum("ra,rb,rc,abc->r", d, d, d, self.third, optimize=True) / 6
        return np.asarray(values)

    def _line(self) -> str:
        place = many(len(self.centre), "weight")
        part = "" if len(self.block) == len(self.centre) else f", {len(self.block)} of them free"
        return f"degree {self.around.degree}, width {self.around.width:.3g}, {place}{part}"

    def _facts(self) -> Mapping[str, object]:
        return {
            **self.around.to_dict(),
            "weights": len(self.centre),
            "weights in the block": len(self.block),
            "value at the centre": self.constant,
            "rows": self.count,
            "source": self.source.name,
        }
