"""Qubo x Machine -> Embedded: find chains of qubits for the variables.

The way back is `unembed`. There are four methods; the chains of each are trimmed and then improved
by replacing single chains:

biclique    strips of lines that cross, from the structure of the problem (see `biclique`): fast
clique      busclique's embedding of a complete graph: fast, long chains
minorminer  Ocean's general search, in processes of its own: slow, good for small problems
auto        the best of the methods that are worth their time
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from qcompile.embedding.chain_strength import strength_of
from qcompile.embedding.kernel_input import KernelInput, chains_of
from qcompile.embedding.preflight import preflight
from qcompile.embedding.search import EMBED_METHODS, PREFERENCES, Search, SearchOptions
from qcompile.errors import QcompileError
from qcompile.files.embedding import load_embedding
from qcompile.files.machines import MachineSource, load_machine
from qcompile.files.qubo import QuboSource, qubo_of
from qcompile.runtime.progress import news_to
from qcompile.stages.embedded import Embedded, Embedding, check_embedding, problem_id, to_embedded
from qcompile.stages.machine import Machine
from qcompile.stages.qubo import Qubo

__all__ = [
    "EMBED_METHODS",
    "PREFERENCES",
    "EmbeddingNotFound",
    "SearchNews",
    "embed",
    "find_embedding",
]


# Called with a line about the search, the number of tries that are done, and that of all tries.
SearchNews: TypeAlias = Callable[[str, int, int], None]


class EmbeddingNotFound(QcompileError):
    """No embedding was found; the message says what would help."""


def embed(
    qubo: QuboSource,
    machine: MachineSource,
    *,
    method: str = "auto",
    prefer: str = "balanced",
    seed: int = 0,
    tries: int = 4,
    time_limit: float = 60.0,
    effort: float = 1.0,
    chain_strength: float | str = "torque",
    embedding: Embedding | str | Path | None = None,
    progress: SearchNews | None = None,
) -> Embedded:
    """Put a QUBO on a machine.

    The QUBO may be a file; the machine may be its name or a TOML file.

    `method` is one of `EMBED_METHODS`. `prefer` compares embeddings by their number of "qubits", by
    the longest "chain", or "balanced": by the qubits, to which the square of those beyond 7 is
    added for each chain. `tries` searches run side by side from different seeds, for at most
    `time_limit` seconds; `effort` scales the number of improvements. A given `embedding`
    (or its file) is checked and used, without a search. `chain_strength` is "torque" (uniform
    torque compensation), "scaled" or a number. `progress(news, done, total)` counts the tries of
    each method; `news` is a line with the method's name and the fewest qubits so far.

    >>> from qcompile import Pubo, quadratize
    >>> qubo = quadratize(Pubo.from_dict({(0, 1, 2): 1.0, (0, 3): -2.0, (1,): 0.5}))
    >>> embed(qubo, "pegasus4").embedding.qubits
    5
    """
    qubo, machine = qubo_of(qubo), load_machine(machine)
    if embedding is None:
        options = SearchOptions(method, prefer, seed, tries, time_limit, effort)
        embedding = _search(qubo, machine, options, progress)
    else:
        if not isinstance(embedding, Embedding):
            embedding = load_embedding(embedding)
        check_embedding(embedding, qubo, machine)
        embedding = replace(embedding, machine=machine)
    return to_embedded(qubo, embedding, strength_of(qubo, chain_strength))


def find_embedding(
    qubo: QuboSource,
    machine: MachineSource,
    *,
    method: str = "auto",
    prefer: str = "balanced",
    seed: int = 0,
    tries: int = 4,
    time_limit: float = 60.0,
    effort: float = 1.0,
    progress: SearchNews | None = None,
) -> Embedding:
    """Search for chains; after Ctrl-C return the best so far, if there is one.

    The same seed gives the same chains on any number of cores as long as the time limit is not
    reached. Options are those of `embed`.
    """
    options = SearchOptions(method, prefer, seed, tries, time_limit, effort)
    return _search(qubo_of(qubo), load_machine(machine), options, progress)


def _search(
    qubo: Qubo, machine: Machine, options: SearchOptions, progress: SearchNews | None
) -> Embedding:
    """Return the best embedding that was found, checked."""
    began = time.monotonic()  # the machine's graph may take seconds
    report = preflight(qubo, machine)
    if report.impossible:
        raise EmbeddingNotFound(report.message)
    inputs = KernelInput(qubo, machine)
    search = Search(inputs, options, began + options.time_limit)
    with _news_first(progress):
        search.run()
    if search.best is None:
        taken = time.monotonic() - began
        raise EmbeddingNotFound(_not_found(report.message, machine, qubo, options, taken))
    owner, name = search.best
    found = Embedding(
        chains=chains_of(owner, inputs),
        machine=machine,
        problem=problem_id(qubo),
        method=name,
        seed=options.seed,
        options=options.to_dict(),
    )
    check_embedding(found, qubo)
    return found


@contextmanager
def _news_first(progress: SearchNews | None) -> Iterator[None]:
    """Report the search inside to `progress(news, done, total)`, if there is one."""
    if progress is None:
        yield
        return
    with news_to(lambda done, total, news: progress(news, done, total or 0)):
        yield


def _not_found(
    advice: str, machine: Machine, qubo: Qubo, options: SearchOptions, seconds: float
) -> str:
    """Return the message of a search that found nothing in so many seconds."""
    if seconds > options.time_limit:
        advice = f"the time limit cut the search, raise it; {advice}".removesuffix("; ")
    return (
        f"no embedding of {qubo.variables} variables and {len(qubo.first)} couplings found on "
        f"{machine.name} ({len(machine.nodes)} qubits) with method {options.method} in "
        f"{seconds:.1f} s: {advice or 'use fewer bits or features, or a larger machine'}"
    )
