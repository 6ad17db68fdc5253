"""Embeddings to disk and back: the chains, their machine and how they were found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
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
from qcompile.stages.embedded import Embedded, Embedding
from qcompile.stages.machine import Machine

__all__ = [
    "TARGET_ENDINGS",
    "check_target_ending",
    "load_embedding",
    "save_embedding",
    "save_target",
]


TARGET_ENDINGS = (".json", ".bqm")
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
        stream.write(orjson.dumps(content)[:-1] + b',\n"chains":[\n')
        lines = (orjson.dumps([v, chain]) for v, chain in enumerate(embedding.chains))
        stream.write(b",\n".join(lines) + b"\n]}\n")


def load_embedding(path: str | Path) -> Embedding:
    """Read an embedding that `save_embedding` wrote; `check_embedding` compares it to a problem."""
    with explained(path):
        content = read_json(path)
        check_header(content, "embedding")
        machine = _machine_from_dict(content["machine"])
        for name in ("qubits", "longest_chain"):  # for people; counted anew where they are used
            whole_number(content[name])
        embedding = Embedding(
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
        return embedding


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


def check_target_ending(path: str | Path) -> str:
    """Return the ending of a file for the target problem, or raise InputError."""
    ending = Path(path).suffix.lower()
    if ending not in TARGET_ENDINGS:
        raise InputError(f"{path}: expected a file that ends in {' or '.join(TARGET_ENDINGS)}")
    return ending


def _pair(values: Any) -> tuple[float, float]:
    first, second = (number(v) for v in values)
    if not (0 < first < 1e12 and 0 < second < 1e12):
        raise FormatError("precision: expected two numbers above 0")
    return first, second


def save_target(embedded: Embedded, path: str | Path) -> None:
    """Write the problem on the qubits for other programs, as dimod's JSON or .bqm."""
    ending = check_target_ending(path)
    bqm = embedded.to_bqm()
    with write_atomically(path) as stream:
        if ending == ".bqm":
            with bqm.to_file() as packed:
                stream.writelines(iter(lambda: packed.read(1 << 20), b""))
        else:
            stream.write(orjson.dumps(_target_to_dict(embedded, bqm)) + b"\n")


def _target_to_dict(embedded: Embedded, bqm: Any) -> dict[str, Any]:
    content: dict[str, Any] = bqm.to_serializable()
    content["info"] = {
        "machine": embedded.embedding.machine.name,
        "graph_id": embedded.embedding.machine.graph_id,
        "problem_id": embedded.embedding.problem,
        "chain_strength": embedded.chain_strength,
        "chains": [[v, list(chain)] for v, chain in enumerate(embedded.embedding.chains)],
    }
    return content
