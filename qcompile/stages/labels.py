"""Labels: of variables in polynomials from other programs, and of the classes of rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qcompile.errors import FormatError, InputError

__all__ = [
    "Label",
    "RowLabel",
    "checked_label",
    "checked_labels",
    "checked_row_label",
    "first_repeated",
    "label_text",
    "row_labels",
    "shortest",
    "shown",
    "sorted_labels",
]


Label: TypeAlias = Hashable
RowLabel: TypeAlias = float | str  # of the class of a row
_LONGEST_LABEL = 200


def label_text(label: RowLabel | None) -> str:
    """Return the label of a class as a short text of one line; None stands for all other labels.

    >>> label_text(2.0), label_text("M"), label_text(None), label_text("two\\nlines")
    ('2', 'M', 'all others', "'two\\\\nlines'")
    """
    if label is None:
        return "all others"
    if not isinstance(label, str):
        return shortest(float(label))
    return label if label.isprintable() and label.strip() == label != "" else ascii(label)


def checked_row_label(label: Any) -> RowLabel:
    """Return the label of a class: a finite number or a text that is not too long."""
    if isinstance(label, str):
        if len(label) > _LONGEST_LABEL:
            raise InputError(
                f"a label of {len(label):,} characters, {shown(label)}; expected at most "
                f"{_LONGEST_LABEL}"
            )
        return label
    if not np.isfinite(float(label)):
        raise InputError("a label is NaN or infinite")
    return float(label)


def shortest(value: float) -> str:
    """Write a number in the shortest form that reads back as the same."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def sorted_labels(labels: Iterable[RowLabel]) -> list[RowLabel]:
    """Return labels in ascending order, numbers before texts."""

    def rank(label: RowLabel) -> tuple[bool, Any]:
        return isinstance(label, str), label

    return sorted(labels, key=rank)


def row_labels(labels: ArrayLike, name: str = "data") -> NDArray[Any]:
    """Return the labels of rows as numbers, or all of them as texts.

    >>> row_labels([True, False]), row_labels(["M", "B"]).tolist()
    (array([1., 0.]), ['M', 'B'])
    """
    values = np.asarray(labels)
    if values.dtype.kind in "OT" and any(isinstance(value, str) for value in values.flat):
        mixed = next((value for value in values.flat if not isinstance(value, str)), None)
        if mixed is not None:
            raise InputError(
                f"{name}: label {shown(mixed)} among texts; expected texts or numbers only"
            )
        return values.astype(str)
    if values.dtype.kind == "U":
        return values
    try:
        if values.dtype.kind == "c":
            raise TypeError
        return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{name}: labels of type {values.dtype}; expected numbers or texts, one for each row"
        ) from None


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
