"""Frozen records that can still be read like the dictionaries of earlier versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import Field, fields
from typing import Any, ClassVar

__all__ = ["Record"]


class Record(Mapping[str, Any]):
    """A mixin for frozen dataclasses: `to_dict`, and read access to it by key.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Size(Record):
    ...     rows: int
    >>> Size(3).rows, Size(3)["rows"], Size(3).get("columns", 0)
    (3, 3, 0)
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]  # of the dataclass it is mixed into

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by key: the fields in order."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __getitem__(self, key: str) -> Any:
        return self.to_dict()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_dict())

    def __len__(self) -> int:
        return len(self.to_dict())
