"""Errors for arguments of another kind than a pass takes."""

from __future__ import annotations

from typing import Any

from qcompile.errors import InputError

__all__ = ["READ_IT", "check_kind", "kind_name"]


# How to get a data set, where a pass takes nothing else.
READ_IT = "read() makes one of a file, a table or arrays"


def kind_name(value: Any) -> str:
    """Return the kind of a value with its article.

    >>> kind_name(3), kind_name("text"), kind_name(None)
    ('an int', 'a str', 'None')
    """
    if value is None:
        return "None"
    kind = type(value).__name__
    return f"an {kind}" if kind[:1].lower() in "aeiou" or kind == "ndarray" else f"a {kind}"


def check_kind(value: Any, kind: type | tuple[type, ...], way: str) -> None:
    """Raise InputError unless a value is of the kind; `way` says how to get one."""
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        names = " or ".join(kind.__name__ for kind in kinds)
        raise InputError(f"{kind_name(value)} in the place of a {names}: {way}")
