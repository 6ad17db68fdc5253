"""A QUBO as plain text for other solvers: .coo, .qubo (qbsolv) and .lp."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal

import numpy as np

from qcompile.stages.qubo import Qubo

__all__ = ["LINES", "TEXTS"]


LINES = 1 << 14


def _coo_lines(qubo: Qubo) -> Iterator[bytes]:
    """Yield lines of row, column and value; diagonal entries are the linear terms."""
    yield b"# vartype=BINARY\n"
    yield from _entries(qubo)


def _qbsolv_lines(qubo: Qubo) -> Iterator[bytes]:
    """Yield lines for qbsolv: first the diagonal, then pairs, the smaller variable first."""
    yield f"p qubo 0 {qubo.variables} {qubo.variables} {len(qubo.first)}\n".encode()
    yield from _entries(qubo)


def _entries(qubo: Qubo) -> Iterator[bytes]:
    everything = np.arange(qubo.variables)  # zeros too, so that no variable is lost
    for rows, columns, values in (
        (everything, everything, qubo.linear),
        (qubo.first, qubo.second, qubo.quadratic),
    ):
        for start in range(0, len(rows), LINES):
            part = slice(start, start + LINES)
            triples = zip(
                rows[part].tolist(), columns[part].tolist(), values[part].tolist(), strict=True
            )
            yield "".join(f"{i} {j} {_plain(v)}\n" for i, j, v in triples).encode()


def _plain(value: float) -> str:
    """Return all digits of a number without an exponent: dimod skips lines of .coo that have one.

    >>> _plain(-1.5e-05)
    '-0.000015'
    """
    text = repr(value)
    return format(Decimal(text), "f") if "e" in text else text


def _lp_lines(qubo: Qubo) -> Iterator[bytes]:
    """Yield lines of CPLEX LP; a variable fixed at 1 carries the offset, [ ] is halved."""
    yield b"Minimize\n obj:"
    yield f" {qubo.offset:+.17g} one\n".encode()
    for start in range(0, qubo.variables, LINES):
        values = qubo.linear[start : start + LINES].tolist()
        yield "".join(f" {v:+.17g} x{i}\n" for i, v in enumerate(values, start)).encode()
    if len(qubo.first):
        yield b" + [\n"
        for start in range(0, len(qubo.first), LINES):
            part = slice(start, start + LINES)
            triples = zip(
                qubo.first[part].tolist(),
                qubo.second[part].tolist(),
                (2 * qubo.quadratic[part]).tolist(),
                strict=True,
            )
            yield "".join(f" {v:+.17g} x{i} * x{j}\n" for i, j, v in triples).encode()
        yield b" ] / 2\n"
    yield b"Subject To\n fixed: one = 1\nBinary\n one\n"
    for start in range(0, qubo.variables, LINES):
        stop = min(start + LINES, qubo.variables)
        yield "".join(f" x{i}\n" for i in range(start, stop)).encode()
    yield b"End\n"


TEXTS: dict[str, Callable[[Qubo], Iterator[bytes]]] = {
    ".coo": _coo_lines,
    ".qubo": _qbsolv_lines,
    ".lp": _lp_lines,
}
