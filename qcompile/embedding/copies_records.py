"""Arrays that the kernels of copies take: what a chip holds, and shapes to put on it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ground", "Variants"]

Ints = NDArray[np.int32]


class Variants(NamedTuple):
    """Shapes in every orientation: kind, x, y and number of qubits of each of their places."""

    kind: Ints
    x: Ints
    y: Ints
    qubits: Ints
    places: Ints
    near: Ints


class Ground(NamedTuple):
    """Where shapes lie: the number of each site (-1: outside) and what each place holds.

    `where` covers more than the `width` and `height`: a lattice repeats, a chip ends. Place
    ``kind * sites + where[x, y]`` holds ``room`` qubits.
    """

    where: Ints
    width: int
    height: int
    sites: int
    room: Ints
