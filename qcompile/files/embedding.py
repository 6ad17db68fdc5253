"""Embeddings to disk and back: the chains, their machine and how they were found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import orjson

from qcompile.errors import FormatError, InputError
from qcompile.files.atomic import write_atomically
from qcompile.files.guarded import (
    as_record,
    check_header,
    explained,
    header_of,
    number,
    read_json,
    whole_number,
)
from qcompile.files.machine_facts import read_temperature, read_timing
from qcompile.files.machines import read_ranges
from qcompile.stages.embedded import Embedding
from qcompile.stages.machine import Machine

__all__ = ["load_embedding", "load_embeddings", "save_embedding", "save_embeddings"]


_MOST_VARIABLES = 1 << 20
_TEXTS = ("name", "topology", "title", "source", "date")
_LONGEST_TEXT = 1000
# What is published of some machines only; files of earlier versions do not have it.
_OPTIONAL = {
    "fast_anneal_time_range",
    "h_gain_schedule_range",
    "num_reads_range",
    "problem_run_duration_range",
    "timing",
    "temperature",
}


def save_embedding(embedding: Embedding, path: str | Path) -> None:
    """Write chains as pairs [variable, [qubits]] and everything needed to check and reuse them.

    The machine is recorded with its dead qubits and couplers, so that its graph can be rebuilt.
    """
    save_embeddings((embedding,), path)


def save_embeddings(embeddings: Sequence[Embedding], path: str | Path) -> None:
    """Write the chains of one or more copies of a problem, which share no qubit.

    `load_embeddings` reads all of them, `load_embedding` the first.
    """
    if not embeddings:
        raise InputError("no embeddings to write; expected at least one")
    embedding = embeddings[0]
    content = {
        **header_of("embedding"),
        "machine": _machine_to_dict(embedding.machine),
        "graph_id": embedding.machine.graph_id,
        "problem_id": embedding.problem,
        "method": embedding.method,
        "seed": embedding.seed,
        "options": dict(embedding.options),
        "qubits": embedding.qubits,
        "longest_chain": embedding.longest,
    }
    with write_atomically(path) as stream:
        stream.write(orjson.dumps(content)[:-1] + b',\n"chains":')
        stream.write(_pairs(embedding))
        if len(embeddings) > 1:  # files of earlier versions hold one
            stream.write(b',\n"copies":[\n' + b",\n".join(map(_pairs, embeddings[1:])) + b"\n]")
        stream.write(b"}\n")


def _pairs(embedding: Embedding) -> bytes:
    lines = (orjson.dumps([v, chain]) for v, chain in enumerate(embedding.chains))
    return b"[\n" + b",\n".join(lines) + b"\n]"


def load_embedding(path: str | Path) -> Embedding:
    """Read an embedding that `save_embedding` wrote; `check_embedding` compares it to a problem.

    Of a file with several copies this is the first.
    """
    return load_embeddings(path)[0]


def load_embeddings(path: str | Path) -> tuple[Embedding, ...]:
    """Read the chains of every copy that a file holds; they share no qubit."""
    with explained(path):
        content = read_json(path)
        check_header(content, "embedding")
        machine = _machine_from_dict(content["machine"])
        for name in ("qubits", "longest_chain"):  # for people; counted anew where they are used
            whole_number(content[name])
        first = Embedding(
            chains=_chains(content["chains"]),
            machine=machine,
            problem=str(content["problem_id"]),
            method=str(content["method"]),
            seed=None if content["seed"] is None else whole_number(content["seed"]),
            options=as_record(content["options"]),
        )
        if machine.graph_id != content["graph_id"]:
            raise FormatError(
                "the machine described differs from the graph that the embedding was made for"
            )
        return first, *_copies(content.get("copies", []), first)


def _copies(values: Any, first: Embedding) -> Iterator[Embedding]:
    """Yield the further copies of a file, or raise FormatError unless they are like the first."""
    if not isinstance(values, list) or (1 + len(values)) * len(first.chains) > _MOST_VARIABLES:
        raise FormatError("copies: expected a list of lists of chains")
    taken = {qubit for chain in first.chains for qubit in chain}
    for which, pairs in enumerate(values, 2):
        chains = _chains(pairs)
        if len(chains) != len(first.chains):
            raise FormatError(
                f"copy {which} has {len(chains)} chains; expected {len(first.chains)} as in the "
                "first"
            )
        own = {qubit for chain in chains for qubit in chain}
        if taken & own:
            raise FormatError(
                f"copy {which} uses qubit {min(taken & own)} of another copy; expected copies "
                "that share no qubit"
            )
        taken |= own
        yield replace(first, chains=chains)


def _chains(pairs: Any) -> tuple[tuple[int, ...], ...]:
    if not isinstance(pairs, list) or len(pairs) > _MOST_VARIABLES:
        raise FormatError("chains: expected a list of [variable, [qubits]]")
    for variable, pair in enumerate(pairs):
        own = isinstance(pair, list) and len(pair) == 2 and type(pair[0]) is int
        if not own or pair[0] != variable:
            raise FormatError(f"chain {variable}: expected [{variable}, [qubits]]")
        if not isinstance(pair[1], list) or not all(
            isinstance(q, int) and not isinstance(q, bool) and 0 <= q < 2**31 for q in pair[1]
        ):
            raise FormatError(f"chain {variable}: expected a list of qubit numbers")
    return tuple(tuple(qubits) for _, qubits in pairs)


def _machine_to_dict(machine: Machine) -> dict[str, Any]:
    values = asdict(machine)
    values["dead_qubits"] = sorted(machine.dead_qubits)
    values["dead_couplers"] = sorted(machine.dead_couplers)
    del values["default"]
    for name in _OPTIONAL:  # left out if they are not known, as in files of earlier versions
        found = values.pop(name)
        if found is not None:
            plain = isinstance(found, dict)
            values[name] = {k: v for k, v in found.items() if v is not None} if plain else found
    return values


def _machine_from_dict(values: Mapping[str, Any]) -> Machine:
    known = {f.name for f in fields(Machine)} - {"default"}
    if not isinstance(values, dict) or set(values) | _OPTIONAL != known:
        raise FormatError("the description of the machine is incomplete")
    named = {k.removesuffix("_range"): v for k, v in values.items() if k.endswith("_range")}
    plain: dict[str, Any] = {
        **values,
        **{f"{k}_range": None for k in named},
        **read_ranges({k: v for k, v in named.items() if v is not None}),
        "shape": tuple(whole_number(s) for s in values["shape"]),
        "precision": None if values["precision"] is None else _pair(values["precision"]),
        "timing": read_timing(_table(values, "timing"), {}),
        "temperature": read_temperature(_table(values, "temperature"), {}),
    }
    for name in _TEXTS:
        if not (isinstance(plain[name], str) and len(plain[name]) <= _LONGEST_TEXT):
            raise FormatError(f"the machine's {name}: expected a short text")
    if plain["h_range"] is None or plain["j_range"] is None:
        raise FormatError("the machine's range of h or J is missing")
    for name in ("qubits", "couplers"):
        plain[name] = _count(values[name], name)
    plain["dead_qubits"] = frozenset(whole_number(q) for q in values["dead_qubits"])
    plain["dead_couplers"] = frozenset(
        (whole_number(a), whole_number(b)) for a, b in values["dead_couplers"]
    )
    return Machine(**plain)


def _table(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return what is published of a machine, empty if there is nothing."""
    found = values.get(name, {})
    if not isinstance(found, dict):
        raise FormatError(f"the machine's {name}: expected an object")
    return found


def _count(value: Any, name: str) -> int | None:
    """Return a published number of the machine, or None if there is none."""
    if value is None:
        return None
    if whole_number(value) < 1:
        raise FormatError(f"the machine's {name} is {value}; expected a whole number above 0")
    return int(value)


def _pair(values: Any) -> tuple[float, float]:
    first, second = (number(v) for v in values)
    if not (0 < first < 1e12 and 0 < second < 1e12):
        raise FormatError("precision: expected two numbers above 0")
    return first, second
