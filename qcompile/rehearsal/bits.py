"""The same data with other numbers of bits a weight: what is rehearsed beside a problem."""

from __future__ import annotations

from qcompile.errors import InputError
from qcompile.moments.accumulate import moments_of
from qcompile.objective.discretize import discretize
from qcompile.reduction.quadratize import quadratize
from qcompile.runtime.progress import muted
from qcompile.stages.dataset import Dataset
from qcompile.stages.qubo import Qubo

__all__ = ["with_other_bits"]


# Logical bits and training rows times features up to which a comparison takes seconds.
_MOST_BITS, _MOST_ENTRIES = 40, 5_000_000


def with_other_bits(qubo: Qubo, rows: Dataset | None) -> dict[int, Qubo]:
    """Return the problem of the same rows and loss with one bit a weight less, and one more.

    Raise InputError if the problem does not say how it was made, or if it is large.
    """
    encoding, loss = qubo.encoding, qubo.loss
    if rows is None or encoding is None or loss is None or qubo.around is not None:
        raise InputError(
            "compare_bits for a problem without its training rows; expected one that was compiled "
            "from data, and its rows at hand"
        )
    if encoding.bounds is not None:
        raise InputError("compare_bits for a pruned problem: its weights differ in their bits")
    most = encoding.features * (encoding.bits + 1)
    if most > _MOST_BITS or len(rows) * rows.features > _MOST_ENTRIES:
        raise InputError(
            f"compare_bits for {most} bits and {len(rows):,} rows of {rows.features} features; "
            f"expected at most {_MOST_BITS} bits and {_MOST_ENTRIES:,} values: use fewer features="
        )
    with muted():
        moments = moments_of(rows, loss.order, fit=False)
        return {
            bits: quadratize(discretize(moments, loss, bits, l0=qubo.l0))
            for bits in (encoding.bits - 1, encoding.bits + 1)
            if bits > 0
        }
