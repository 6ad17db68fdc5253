"""Where data and polynomials come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any

from qcompile.errors import QcompileError
from qcompile.stages.display import Displayed, quoted
from qcompile.stages.labels import Label, checked_labels
from qcompile.stages.record import Record

__all__ = ["ClassifierSource", "Source"]


def _entry(valid: Callable[[Any], bool], key: str | None = None) -> Any:
    """Return a field for the values that are valid; `key` is its name in files if it differs."""
    return field(default=None, metadata={"valid": valid, "key": key})


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_number, value))


def _are_labels(value: Any) -> bool:
    try:
        checked_labels(value)
    except QcompileError:
        return False
    return True


@dataclass(frozen=True, eq=False, repr=False)
class Source(Displayed, Record):
    """Where the rows of a data set, or the terms of a polynomial, come from.

    The same rows are found again by reading the file `name` (with its `index_base`) or drawing the
    named set (with its `seed`), shuffling, taking the first `rows` and adding noise. `sha256` is
    the digest of the file, or of the digests of its `parts`. `labels` are the names that the
    variables of a polynomial had; `vartype` is SPIN if they were spins. `extra` holds entries that
    this version does not know, or whose values are invalid; they are written again as they are.
    """

    name: str | None = _entry(_is_text)
    rows: int | None = _entry(_is_count)
    index_base: int | None = _entry(lambda value: _is_count(value) and value <= 1)
    sha256: str | None = _entry(_is_text)
    parts: int | None = _entry(_is_count)
    seed: int | None = _entry(_is_count)
    shuffle_seed: int | None = _entry(_is_count)
    noise: float | None = _entry(_is_number)
    noise_seed: int | None = _entry(_is_count)
    labels: tuple[Label, ...] | None = _entry(_are_labels)
    vartype: str | None = _entry(lambda value: value in ("BINARY", "SPIN"))
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Source:
        """Return the record of these names and values; a record is returned as it is."""
        if isinstance(values, Source):
            return values
        return Source(**_sorted_out(values, fields(Source)))

    def _line(self) -> str:
        plain = {k: v if isinstance(v, int | float) else quoted(v) for k, v in self.items()}
        return ", ".join(f"{quoted(key)[1:-1]}={value}" for key, value in plain.items())

    def _facts(self) -> Mapping[str, object]:
        return self.to_dict()

    def is_of(self, other: Source, rows: int) -> bool:
        """Whether this record may be of the same data as another, which has so many rows.

        Digests are compared if both are known, otherwise names.
        """
        if self.sha256 is not None and other.sha256 is not None:
            same = self.sha256 == other.sha256
        else:
            same = self.name == other.name
        return same and self.rows in (None, rows)

    @property
    def invalid(self) -> tuple[str, ...]:
        """Names of the entries that are known but have invalid values."""
        names = {entry.name for entry in fields(self)}
        return tuple(key for key, value in self.extra.items() if key in names and value is not None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return {**_plain(self, fields(Source)), **self.extra}


@dataclass(frozen=True, eq=False, repr=False)
class ClassifierSource(Source):
    """Which data a classifier was trained on, and how its weights were found.

    `rank` is the place of the chosen state among the samples in order of energy, from 0 on.
    `order` and `loss` (the coefficients) are those of the loss, `bits` and `zeta` those of the
    encoding. A training in rounds has an `objective`, which it reached after so many `rounds` with
    the price `l2` of the weights. A file has one entry ``seed``: that of the solver if there is
    one, else of the data.
    """

    energy: float | None = _entry(_is_number)
    rank: int | None = _entry(_is_count)
    solver: str | None = _entry(_is_text)
    solver_seed: int | None = _entry(_is_count, "seed")
    space: str | None = _entry(_is_text)
    validation_error: float | None = _entry(_is_number)
    order: int | None = _entry(_is_count)
    loss: tuple[float, ...] | None = _entry(_are_numbers)
    bits: int | None = _entry(_is_count)
    zeta: float | None = _entry(_is_number)
    method: str | None = _entry(_is_text)
    objective: float | None = _entry(_is_number)
    rounds: int | None = _entry(_is_count)
    l2: float | None = _entry(_is_number)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> ClassifierSource:
        """Return the record of these names and values; a record is returned as it is."""
        if isinstance(values, ClassifierSource):
            return values
        # `to_dict` writes the solver's seed after the energy, unless it replaces one of the data
        keys = list(values)
        late = "energy" in keys and "seed" in keys[keys.index("energy") :]
        entries = [e for e in fields(cls) if e.name != ("seed" if late else "solver_seed")]
        return cls(**_sorted_out(values, entries))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return super().to_dict() | _plain(self, fields(self)[len(fields(Source)) :])


def _sorted_out(values: Mapping[str, Any], entries: Iterable[Field[Any]]) -> dict[str, Any]:
    """Return the arguments of a record: an entry for each valid value, `extra` for all others."""
    known = {e.metadata["key"] or e.name: e for e in entries if e.metadata}
    made: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for key, value in values.items():
        if key not in known or not known[key].metadata["valid"](value):
            extra[key] = value
        else:
            plain = checked_labels(value) if key == "labels" else value
            made[known[key].name] = tuple(plain) if isinstance(plain, list) else plain
    return made | {"extra": extra}


def _plain(source: Source, entries: Iterable[Field[Any]]) -> dict[str, Any]:
    """Return the entries that are not None, lists for tuples."""
    values = ((e.metadata["key"] or e.name, getattr(source, e.name)) for e in entries if e.metadata)
    return {key: list(v) if isinstance(v, tuple) else v for key, v in values if v is not None}
