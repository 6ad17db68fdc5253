"""Machines: the catalogue in hardware/, TOML files, and live solvers."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeAlias

from qcompile.errors import FormatError, InputError
from qcompile.files import machine_facts as facts
from qcompile.runtime.text import one_line
from qcompile.stages.machine import LARGEST, Machine

__all__ = [
    "MachineSource",
    "catalogue",
    "hardware_folder",
    "load_machine",
    "machine_from_sampler",
    "machine_sampler",
    "read_ranges",
    "read_toml",
]


# What every function with a machine takes: the machine, its name, or the path of a TOML file.
MachineSource: TypeAlias = Machine | str | Path

_LARGEST_FILE = 1 << 19
# A part of a key between two dots. Parsing time grows with the square of their number.
_KEY_PART = re.compile(rb"\.[ \t]*+(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')[ \t]*+(?=\.)")
_MOST_KEY_PARTS = 500
# Ranges around 0, and ranges of times and counts.
_SIGNED = ("h", "j", "extended_j", "per_qubit_coupling", "per_group_coupling")
_TIMES = ("annealing_time", "fast_anneal_time")
_OTHERS = ("h_gain_schedule", "num_reads", "problem_run_duration")
_RANGES = (*_SIGNED, *_TIMES, *_OTHERS)
# What is taken from a live solver; the rest is asked of it when a problem is sent.
_LIVE = (*_SIGNED, *_TIMES)
# Files of the catalogue that describe no machine.
_NOT_MACHINES = ("hybrid",)
_TABLES: dict[str, frozenset[str]] = {
    "working": frozenset({"qubits", "couplers", "dead_qubits", "dead_couplers"}),
    "ranges": frozenset(_RANGES),
    "precision": frozenset({"h", "j"}),
    "timing": facts.TIMING_KEYS,
    "temperature": facts.TEMPERATURE_KEYS,
    "source": frozenset({"name", "date"}),
}
_PLAIN = frozenset({"title", "topology", "shape", "default"})


def catalogue() -> dict[str, Machine]:
    """Return the machines in hardware/ by name.

    >>> sorted(catalogue())[:3]
    ['2000q', 'advantage', 'advantage2']
    """
    found = [entry.name for entry in hardware_folder().iterdir() if entry.name.endswith(".toml")]
    names = sorted({name.removesuffix(".toml") for name in found} - set(_NOT_MACHINES))
    return {name: _read(hardware_folder() / f"{name}.toml", name) for name in names}


def load_machine(name: MachineSource | None = None) -> Machine:
    """Return a machine by its name in the catalogue, in any case, or by the path of a TOML file.

    Without a name, return the default machine; return a `Machine` as it is. For a live Leap
    solver, use `machine_from_sampler`.

    >>> load_machine("Advantage2").name
    'advantage2'
    """
    if isinstance(name, Machine):
        return name
    if name is None:
        return next(machine for machine in catalogue().values() if machine.default)
    if not isinstance(name, str | Path):
        raise InputError(
            f"machine {type(name).__name__}; expected a Machine, a name, or the path of a TOML "
            "file (a sampler: machine_from_sampler)"
        )
    text = str(name)
    if text.lower().endswith(".toml"):
        path = Path(text)
        if not path.is_file():
            raise InputError(f"{text}: no such file; expected a machine as TOML")
        return _read(path, path.stem)
    own = text.lower()
    known = hardware_folder() / f"{own}.toml"
    if "/" in text or own in _NOT_MACHINES or not known.is_file():
        names = ", ".join(sorted(catalogue()))
        raise InputError(
            f"machine {text!r} not found; expected one of {names}, or the path of a TOML file "
            "(see catalogue())"
        )
    return _read(known, own)


def machine_sampler(sampler: Any) -> Any:
    """Return the machine's sampler that a sampler is, or that composites stand around; else None.

    A composite that embeds by itself takes any problem: there is no machine to see.
    """
    if hasattr(sampler, "nodelist"):
        return sampler if "topology" in getattr(sampler, "properties", {}) else None
    if "chain_strength" in (getattr(sampler, "parameters", None) or {}):
        return None
    within = (machine_sampler(child) for child in getattr(sampler, "children", None) or ())
    return next((found for found in within if found is not None), None)


def machine_from_sampler(sampler: Any) -> Machine:
    """Return the machine of a structured sampler such as DWaveSampler or MockDWaveSampler.

    A composite around such a sampler, like those of Ocean, has the same machine.
    """
    sampler = machine_sampler(sampler) or sampler
    own = getattr(sampler, "machine", None)
    if isinstance(own, Machine):  # a simulated machine, which knows its graph
        return own
    properties = getattr(sampler, "properties", {})
    if "topology" not in properties or not hasattr(sampler, "nodelist"):
        raise InputError(
            f"{type(sampler).__name__} has no working graph; expected a sampler of a machine"
        )
    topology = properties["topology"]
    whole = Machine(
        name=str(properties.get("chip_id", "solver")),
        title="live working graph",
        topology=str(topology["type"]),
        shape=_sizes(topology["type"], topology["shape"]),
        qubits=len(sampler.nodelist),
        couplers=len(sampler.edgelist),
        **read_ranges({n: properties[f"{n}_range"] for n in _LIVE if f"{n}_range" in properties}),
    )
    couplers = {(min(a, b), max(a, b)) for a, b in sampler.edgelist}
    dead = set(whole.whole_graph.nodes) - set(sampler.nodelist)
    missing = {
        (min(a, b), max(a, b))
        for a, b in whole.whole_graph.edges
        if a not in dead and b not in dead
    } - couplers
    return whole.without(dead, missing)


def _sizes(topology: str, shape: Sequence[int]) -> tuple[int, ...]:
    """Return the sizes that the graph generator takes; solvers may state more of them."""
    return tuple(int(s) for s in shape)[: len(LARGEST.get(topology, shape))]


def hardware_folder() -> Traversable:
    """Return the catalogue: inside the installed package, or beside it in a checkout."""
    installed = files("qcompile") / "hardware"
    if installed.is_dir():
        return installed
    return Path(__file__).resolve().parent.parent.parent / "hardware"


def read_toml(path: Traversable) -> dict[str, Any]:
    """Return the content of a TOML file, which may be hostile; raise FormatError if it is none."""
    try:
        with path.open("rb") as stream:
            text = stream.read(_LARGEST_FILE + 1)
        if len(text) > _LARGEST_FILE:
            raise FormatError(f"the file exceeds {_LARGEST_FILE >> 10} kB")
        parts = itertools.islice(_KEY_PART.finditer(text), _MOST_KEY_PARTS)
        if sum(1 for _ in parts) == _MOST_KEY_PARTS:
            raise FormatError("dotted keys have too many parts")
        return tomllib.loads(text.decode())
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        raise FormatError(f"{path}: invalid TOML: {one_line(error)}") from None


def _read(path: Traversable, name: str) -> Machine:
    content = read_toml(path)
    try:
        return _machine_from(content, name)
    except ValueError as error:  # also raised by Python where a number has too many digits
        raise FormatError(f"{path}: {one_line(error)}") from None


def _machine_from(content: Mapping[str, Any], name: str) -> Machine:
    tables = {key: content.get(key, {}) for key in _TABLES}
    for key, table in tables.items():
        if not isinstance(table, dict):
            raise FormatError(f"{key} is not a table")
        _check_names(table, _TABLES[key], f"{key}.")
    _check_names(content, _PLAIN | set(_TABLES), "")
    for needed in ("topology", "shape"):
        if needed not in content:
            raise FormatError(f"{needed} is missing; expected topology and shape")
    working, precision = tables["working"], tables["precision"]
    shape = content["shape"]
    if not isinstance(shape, list) or not all(_whole(s) for s in shape):
        raise FormatError(f"shape is {shape!r}; expected a list of whole numbers")
    for needed in ("h", "j"):
        if needed not in tables["ranges"]:
            raise FormatError(f"ranges.{needed} is missing")
    return Machine(
        name=name,
        topology=str(content["topology"]),
        shape=tuple(shape),
        title=str(content.get("title", name)),
        qubits=_count(working, "qubits"),
        couplers=_count(working, "couplers"),
        dead_qubits=frozenset(_dead_qubits(working)),
        dead_couplers=frozenset(_dead_couplers(working)),
        **read_ranges(tables["ranges"]),
        precision=None if not precision else (_size(precision, "h"), _size(precision, "j")),
        timing=facts.read_timing(tables["timing"], tables["source"]),
        temperature=facts.read_temperature(tables["temperature"], tables["source"]),
        source=str(tables["source"].get("name", "")),
        date=str(tables["source"].get("date", "")),
        default=content.get("default") is True,
    )


def _check_names(table: Mapping[str, Any], known: Iterable[str], prefix: str) -> None:
    strange = sorted(set(table) - set(known))
    if strange:
        raise FormatError(f"invalid key {prefix}{strange[0]}; expected {', '.join(sorted(known))}")


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _count(table: Mapping[str, Any], key: str) -> int | None:
    value = table.get(key)
    if value is not None and (not _whole(value) or value < 1):
        raise FormatError(f"working.{key} is {value!r}; expected a whole number above 0")
    return value


def _dead_qubits(table: Mapping[str, Any]) -> list[int]:
    dead = table.get("dead_qubits", [])
    if not isinstance(dead, list) or not all(_whole(q) for q in dead):
        raise FormatError("working.dead_qubits: expected a list of qubit numbers")
    return dead


def _dead_couplers(table: Mapping[str, Any]) -> list[tuple[int, int]]:
    dead = table.get("dead_couplers", [])
    if not isinstance(dead, list) or not all(
        isinstance(pair, list) and len(pair) == 2 and all(_whole(q) for q in pair) for pair in dead
    ):
        raise FormatError("working.dead_couplers: expected a list of [qubit, qubit]")
    return [(min(pair), max(pair)) for pair in dead]


def _size(table: Mapping[str, Any], key: str) -> float:
    value: Any = table.get(key)
    if not facts.is_number(value) or not value > 0:
        raise FormatError(f"precision.{key} is {value!r}; expected a number above 0")
    return float(value)


def read_ranges(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ranges of a machine, checked, under the names of `Machine`."""
    given: dict[str, Any] = {}
    for key, value in table.items():
        numbers = isinstance(value, list | tuple) and all(map(facts.is_number, value))
        if not numbers or len(value) != 2 or not value[0] < value[1]:
            raise FormatError(f"ranges.{key} is {value!r}; expected [low, high]")
        if key in _SIGNED and not value[0] < 0 < value[1]:
            raise FormatError(f"ranges.{key} is {value!r}; expected a range around 0")
        given[f"{key}_range"] = (float(value[0]), float(value[1]))
    return given
