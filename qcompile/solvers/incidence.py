"""The terms of a polynomial as flat arrays for kernels: members of terms, terms of variables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qcompile.runtime import memory
from qcompile.stages.arrays import Floats
from qcompile.stages.pubo import Pubo

__all__ = ["Incidence", "incidence_of"]


# Bytes that are there: asking the system takes longer than filling them.
_SMALL = 1 << 20


class Incidence(NamedTuple):
    """The members of term t are ``members[member_starts[t]:member_starts[t + 1]]``.

    In the same way `terms` lists the terms that each variable is in.
    """

    members: NDArray[np.int32]
    member_starts: NDArray[np.int64]
    values: Floats
    terms: NDArray[np.int32]
    term_starts: NDArray[np.int64]


def incidence_of(pubo: Pubo, what: str) -> Incidence:
    """Return the terms as flat arrays; `what` names the work if the memory is too small."""
    size = sum(len(c) * (36 * j + 20) for j, c in enumerate(pubo.coefficients, 1))
    if size > _SMALL:
        memory.require(size, what, "use fewer features or bits")
    members = np.concatenate([rows.reshape(-1) for rows in pubo.indices] or [np.zeros(0, np.int32)])
    sizes = np.concatenate(
        [np.full(len(rows), rows.shape[1]) for rows in pubo.indices] or [np.zeros(0, np.int64)]
    )
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    values = np.concatenate([*pubo.coefficients, np.zeros(0)])
    owner = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes.astype(np.int64))
    order = np.argsort(members, kind="stable")
    term_starts = np.searchsorted(members[order], np.arange(pubo.variables + 1)).astype(np.int64)
    return Incidence(members, starts, values, owner[order], term_starts)
