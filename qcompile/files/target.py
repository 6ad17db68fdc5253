"""Problems on the qubits of a machine to disk, for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from qcompile.errors import InputError
from qcompile.files.atomic import write_atomically
from qcompile.stages.embedded import Embedded, Embedding
from qcompile.stages.program import Program

__all__ = ["TARGET_ENDINGS", "check_target_ending", "save_target"]


TARGET_ENDINGS = (".json", ".bqm")


def check_target_ending(path: str | Path) -> str:
    """Return the ending of a file for the target problem, or raise InputError."""
    ending = Path(path).suffix.lower()
    if ending not in TARGET_ENDINGS:
        raise InputError(f"{path}: expected a file that ends in {' or '.join(TARGET_ENDINGS)}")
    return ending


def save_target(problem: Embedded | Program, path: str | Path) -> None:
    """Write the problem on the qubits for other programs, as dimod's JSON or .bqm."""
    ending = check_target_ending(path)
    bqm = problem.to_bqm()
    with write_atomically(path) as stream:
        if ending == ".bqm":
            with bqm.to_file() as packed:
                stream.writelines(iter(lambda: packed.read(1 << 20), b""))
        else:
            stream.write(orjson.dumps(_target_to_dict(problem, bqm)) + b"\n")


def _target_to_dict(problem: Embedded | Program, bqm: Any) -> dict[str, Any]:
    copies = problem.copies if isinstance(problem, Program) else (problem,)
    first = copies[0]
    content: dict[str, Any] = bqm.to_serializable()
    content["info"] = {
        "machine": first.embedding.machine.name,
        "graph_id": first.embedding.machine.graph_id,
        "problem_id": first.embedding.problem,
        "chain_strength": first.chain_strength,
        "chains": _chains(first.embedding),
    }
    if len(copies) > 1:
        content["info"]["copies"] = [_chains(copy.embedding) for copy in copies[1:]]
    return content


def _chains(embedding: Embedding) -> list[Any]:
    return [[v, list(chain)] for v, chain in enumerate(embedding.chains)]
