"""The options of `train` that are given by name, in the groups that they belong to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from qcompile.data.options import DataOptions
from qcompile.data.prepare import PrepareOptions
from qcompile.errors import InputError
from qcompile.objective.fit import LossOptions
from qcompile.pipeline import DataAndLossOptions
from qcompile.solvers.options import SolveOptions
from qcompile.training.rounds import RoundOptions

__all__ = ["OptionsByName", "TrainOptions"]


class TrainOptions(DataAndLossOptions, total=False):
    """Options for reading, the loss, the rounds and the search, as keywords of `train`."""

    starts: int
    block: int | None
    step_bits: int | None
    radius: float | None
    width: float
    copies: int
    solver: Any
    reads: int
    keep: int
    sweeps: int | None


_READING = (
    "positive",
    "rows",
    "index_base",
    "num_features",
    "shuffle",
    "noise",
    "label",
    "missing",
    "one_hot",
    "ignore",
)
_PREPARING = ("features", "scale", "bias")
_LOSS = ("order", "fit_to", "omega", "coefficients", "prior_std", "weight_range")
_ROUNDS = ("starts", "block", "step_bits", "radius", "width", "copies")
_SEARCH = ("solver", "reads", "keep", "sweeps")


class OptionsByName:
    """The options that were given by name; each group replaces fields of an options record."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        known = (*_READING, *_PREPARING, *_LOSS, *_ROUNDS, *_SEARCH)
        for name in given:
            if name not in known:
                raise InputError(f"unknown option {name!r}; expected one of {', '.join(known)}")
        self._given = given

    def _of(self, names: Sequence[str]) -> dict[str, Any]:
        return {name: self._given[name] for name in names if name in self._given}

    @property
    def solver(self) -> Any:
        """The solver, "anneal" unless it was given."""
        return self._given.get("solver", "anneal")

    def reading(self, seed: int) -> DataOptions:
        """Return how to read a file or a named set; rows are prepared later."""
        own = self._of(_READING)
        return DataOptions(**own, scale="none", bias=False, seed=seed)

    def check_read(self) -> None:
        """Raise InputError for options that rows in memory do not have."""
        for name in self._of(_READING):
            raise InputError(
                f"{name}= with a data set that is already read: use read(), shuffle() or "
                "add_noise() for it"
            )

    def preparation(self, usual: PrepareOptions | None) -> PrepareOptions | None:
        """Return how to prepare the rows; `usual` applies where nothing else is given."""
        own = self._of(_PREPARING)
        return replace(usual or PrepareOptions(), **own) if own else usual

    def loss(self, usual: LossOptions | None) -> LossOptions | None:
        """Return the options of the loss."""
        own = self._of(_LOSS)
        return replace(usual or LossOptions(), **own) if own else usual

    def rounds(self, usual: RoundOptions | int | None) -> RoundOptions | None:
        """Return the options of the rounds; `usual` may be their number."""
        own = self._of(_ROUNDS)
        if "step_bits" in own:
            own["bits"] = own.pop("step_bits")
        if isinstance(usual, int):
            usual = RoundOptions(rounds=usual)
        return replace(usual or RoundOptions(), **own) if own else usual

    def search(self, usual: SolveOptions) -> SolveOptions:
        """Return how to search."""
        return replace(usual, **self._of(_SEARCH))
