"""What polynomials of bits and QUBOs have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from qcompile.errors import InputError
from qcompile.stages.arrays import Floats
from qcompile.stages.display import Displayed
from qcompile.stages.encoding import Encoding
from qcompile.stages.labels import Label, checked_labels
from qcompile.stages.local_fit import Around
from qcompile.stages.loss import Loss
from qcompile.stages.origin import Origin
from qcompile.stages.preparation import Preparation
from qcompile.stages.source import Source

__all__ = ["Problem"]


class Problem(Displayed, ABC):
    """A polynomial of 0/1 variables to be minimised, with its origin: a `Pubo` or a `Qubo`."""

    origin: Origin

    if TYPE_CHECKING:  # fields in one of the classes, properties in the other

        @property
        def variables(self) -> int:
            """Number of variables, ancillas included."""

        @property
        def logical(self) -> int:
            """Number of variables without the ancillas, which come last."""

    @property
    @abstractmethod
    def has_terms(self) -> bool:
        """Whether the polynomial was written out; one annealed over the margins was not."""

    @abstractmethod
    def energies(self, samples: ArrayLike) -> Floats:
        """Return the energy of each row of values of all variables."""

    @abstractmethod
    def score(self, bits: ArrayLike) -> Floats:
        """Return the energy of each row of logical bits on the polynomial that was compiled."""

    def _origin_facts(self) -> dict[str, object]:
        return {
            "encoding": self.encoding,
            "loss": self.loss,
            "l0": self.l0 or None,
            "dropped": self.dropped or None,
            "source": self.source.name,
        }

    @property
    def encoding(self) -> Encoding | None:
        """How bits make up weights; None if the problem was not compiled from data."""
        return self.origin.encoding

    @property
    def loss(self) -> Loss | None:
        """The loss that was compiled."""
        return self.origin.loss

    @property
    def around(self) -> Around | None:
        """How the polynomial of a step was fitted; None for a problem over all weights."""
        return self.origin.around

    @property
    def l0(self) -> float:
        """What each weight that is not 0 costs."""
        return self.origin.l0

    @property
    def dropped(self) -> float:
        """Bound on how far any energy was changed by dropping small terms."""
        return self.origin.dropped

    @property
    def preparation(self) -> Preparation | None:
        """What was done to the raw rows."""
        return self.origin.preparation

    @property
    def source(self) -> Source:
        """Where the data or the terms come from."""
        return self.origin.source

    @property
    def labels(self) -> list[Label]:
        """The label of each logical variable: as in the source, else its number."""
        known = self.source.get("labels")
        if known is None:
            return list(range(self.logical))
        labels = checked_labels(known)
        if len(labels) != self.logical:
            raise InputError(
                f"{len(labels)} labels for {self.logical} variables; expected one for each"
            )
        return labels

    @property
    def vartype(self) -> str:
        """What the variables were in the source: BINARY or SPIN."""
        return self.source.vartype or "BINARY"

    def decode(self, samples: ArrayLike) -> Floats:
        """Return the weights of samples; values after those of the encoding are ignored."""
        if self.encoding is None:
            raise InputError("this problem was not compiled from data: it encodes no weights")
        return self.encoding.decode(samples)
