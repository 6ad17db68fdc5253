"""The tables `timing` and `temperature` of a machine's TOML file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from qcompile.errors import FormatError, InputError
from qcompile.stages.machine_facts import Temperature, Timing

__all__ = ["TEMPERATURE_KEYS", "TIMING_KEYS", "is_number", "read_temperature", "read_timing"]


_LARGEST_NUMBER = 1e12
_MOST_POINTS = 1000
_LONGEST_TEXT = 10_000
TIMING_KEYS = frozenset(field.name for field in fields(Timing))
TEMPERATURE_KEYS = frozenset(field.name for field in fields(Temperature))
_TEXTS = ("solver", "readout_model", "source", "date")
_LISTS = ("readout_time", "readout_qubits")
_MAY_BE_ZERO = ("delay", "thermalization", "uncertainty", "readout_qubits")


def is_number(value: Any) -> bool:
    """Whether a value is a number of reasonable size; integers may exceed any float."""
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return plain and abs(value) < _LARGEST_NUMBER


def read_timing(table: Mapping[str, Any], source: Mapping[str, Any]) -> Timing | None:
    """Return the published times, checked; without a source of their own they have the file's."""
    if not table:
        return None
    values = _values(table, "timing", ("solver", "programming", "delay", "readout_time"), source)
    try:
        return Timing(**values)
    except InputError as error:
        raise FormatError(f"timing: {error}") from None


def read_temperature(table: Mapping[str, Any], source: Mapping[str, Any]) -> Temperature | None:
    """Return the published temperatures, checked."""
    if not table:
        return None
    return Temperature(**_values(table, "temperature", ("millikelvin", "effective"), source))


def _values(
    table: Mapping[str, Any], name: str, needed: tuple[str, ...], source: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the values of a table under the names of its record, all of the right type."""
    strange = sorted(set(map(str, table)) - (TIMING_KEYS if name == "timing" else TEMPERATURE_KEYS))
    if strange:
        raise FormatError(f"invalid key {name}.{strange[0]}")
    for key in needed:
        if key not in table:
            raise FormatError(f"{name}.{key} is missing; expected {', '.join(needed)}")
    given = {"source": source.get("name", ""), "date": source.get("date", ""), **table}
    return {key: _value(f"{name}.{key}", key, value) for key, value in given.items()}


def _value(place: str, key: str, value: Any) -> Any:
    if key in _TEXTS:
        if key in ("solver", "readout_model") and not (isinstance(value, str) and value):
            raise FormatError(f"{place} is {value!r}; expected a text")
        return str(value)[:_LONGEST_TEXT]
    if key not in _LISTS:
        return _number(place, key, value)
    if not isinstance(value, list) or len(value) > _MOST_POINTS:
        raise FormatError(f"{place}: expected a list of up to {_MOST_POINTS} numbers")
    return tuple(_number(place, key, number) for number in value)


def _number(place: str, key: str, value: Any) -> float:
    zero = key in _MAY_BE_ZERO
    if not is_number(value) or value < 0 or (value == 0 and not zero):
        expected = "a number, 0 or more" if zero else "a number above 0"
        raise FormatError(f"{place} is {value!r}; expected {expected}")
    return float(value)
