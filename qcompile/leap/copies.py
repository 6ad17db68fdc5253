"""The file in a job folder with the chains of all copies of a problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from qcompile.errors import FormatError
from qcompile.files import atomic, guarded
from qcompile.stages.embedded import Embedding

__all__ = ["copies_file", "load_copies", "save_copies"]


def copies_file(embedding: str) -> str:
    """Return the name of the file with all copies beside the file with the chains of the first.

    >>> copies_file("embedding-2-1a2b3c4d.json")
    'copies-2-1a2b3c4d.json'
    """
    return embedding.replace("embedding", "copies", 1)


def save_copies(embeddings: Sequence[Embedding], path: Path) -> None:
    """Write the chains of every copy."""
    chains = [[list(chain) for chain in embedding.chains] for embedding in embeddings]
    content = {**guarded.header_of("job-copies"), "chains": chains}
    with atomic.write_atomically(path) as stream:
        stream.write(orjson.dumps(content) + b"\n")


def load_copies(path: Path, first: Embedding, count: int) -> tuple[Embedding, ...]:
    """Read the chains of every copy; all but the chains are those of the first."""
    with guarded.explained(path):
        content = guarded.read_json(path)
        guarded.check_header(content, "job-copies")
        copies = tuple(_chains(copy) for copy in content["chains"])
        if len(copies) != count or copies[0] != first.chains:
            raise FormatError(f"expected the chains of {count} copies, as in the first")
        return tuple(replace(first, chains=chains) for chains in copies)


def _chains(values: Any) -> tuple[tuple[int, ...], ...]:
    chains = tuple(tuple(chain) for chain in values)
    if any(type(qubit) is not int for chain in chains for qubit in chain):
        raise FormatError("expected numbers of qubits")
    return chains
