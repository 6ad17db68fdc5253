"""Labels of variables in polynomials from other programs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, TypeAlias

import numpy as np

from qcompile.errors import FormatError, InputError

__all__ = [
    "Label",
    "checked_label",
    "checked_labels",
    "first_repeated",
    "shown",
]


Label: TypeAlias = Hashable


def first_repeated(values: Iterable[Label]) -> list[Label]:
    """Return a list with the first value that is repeated, or an empty list."""
    seen: set[Label] = set()
    for value in values:
        if value in seen:
            return [value]
        seen.add(value)
    return []


def checked_labels(given: Any) -> list[Label]:
    """Return the labels of a record; raise FormatError if they are not a list of labels."""
    if not isinstance(given, list):
        raise FormatError(f"its variables are {shown(given)}; expected a list of labels")
    labels = [checked_label(value) for value in given]
    twice = first_repeated(labels)
    if twice:
        raise FormatError(f"variable {shown(twice[0])} is listed twice; expected each once")
    return labels


def checked_label(value: Any) -> Label:
    """Return a label that files can hold: a whole number, a text, or a tuple of these.

    Raise InputError for any other value.
    """
    if isinstance(value, list | tuple) and value:
        return tuple(_simple_label(part) for part in value)
    return _simple_label(value)


def _simple_label(value: Any) -> Label:
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        if -(2**63) <= value < 2**63:
            return int(value)
    elif isinstance(value, str) and value.isprintable():
        return value
    raise InputError(
        f"variable {shown(value)}; expected a whole number, a printable text, or a row of these"
    )


def shown(value: Any) -> str:
    """Return any value as a short text of one line."""
    if isinstance(value, list | tuple | dict):
        inner = list(value.values()) if isinstance(value, dict) else value
        if len(value) > 20 or any(isinstance(v, list | tuple | dict) for v in inner):
            return f"a {type(value).__name__} of {len(value):,} entries"
    text = repr(value) if not isinstance(value, str) else ascii(value[:60])
    return text if len(text) <= 60 else f"{text[:57]}..."
