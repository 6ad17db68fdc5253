"""What a problem carries from the data to the decoded classifier."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypedDict

from qcompile.stages.display import Displayed, quoted
from qcompile.stages.encoding import Encoding
from qcompile.stages.local_fit import Around
from qcompile.stages.loss import Loss
from qcompile.stages.preparation import Preparation
from qcompile.stages.source import Source

__all__ = ["Origin", "OriginFields", "origin_of"]


@dataclass(frozen=True, eq=False, repr=False)
class Origin(Displayed):
    """How a problem came about, and what decoding its samples needs.

    Passes hand it on whole. `encoding` says how bits make up weights. `l0` is charged for each
    weight that is not 0. `dropped` bounds how far any energy may be from that of the polynomial
    before small terms were dropped. `preparation` is what was done to the raw rows of `source`.
    `around` says how the polynomial of a step was fitted; such a problem has no `loss`. All of it
    is empty for a polynomial that was not compiled from data.
    """

    encoding: Encoding | None = None
    loss: Loss | None = None
    l0: float = 0.0
    dropped: float = 0.0
    preparation: Preparation | None = None
    source: Source = field(default_factory=Source)
    around: Around | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", Source.of(self.source))

    def _line(self) -> str:
        return ", ".join(f"{name}: {fact}" for name, fact in self._facts().items() if fact)

    def _facts(self) -> Mapping[str, object]:
        return {
            "source": None if self.source.name is None else quoted(self.source.name),
            "encoding": self.encoding,
            "loss": self.loss,
            "l0": self.l0 or None,
            "dropped": self.dropped or None,
            "preparation": self.preparation,
            "fitted around a centre": self.around,
        }


class OriginFields(TypedDict, total=False):
    """The fields of `Origin` as keyword arguments, for the constructors of problems."""

    encoding: Encoding | None
    loss: Loss | None
    l0: float
    dropped: float
    preparation: Preparation | None
    source: Source
    around: Around | None


def origin_of(origin: Origin | None, known: OriginFields) -> Origin:
    """Return the origin with the fields that are known replaced."""
    if origin is not None and not known:
        return origin
    return replace(origin or Origin(), **known)
