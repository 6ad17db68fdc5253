"""Qubo x Machine -> Embedded: find chains of qubits for the variables; see `unembed` for the way
back.

Methods, all of them trimmed and then improved by laying single chains anew:

biclique    strips of lines that cross, from the structure of the problem (see `strips`): fast
clique      busclique's embedding of a complete graph: fast, long chains
minorminer  Ocean's general search, in processes of its own: slow, good for small problems
auto        the best of those that are worth their time
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeAlias

from qcompile.embedding.chain_strength import strength_of
from qcompile.embedding.kernel_input import KernelInput, chains_of
from qcompile.embedding.preflight import preflight
from qcompile.embedding.search import Search, SearchOptions
from qcompile.errors import InputError, QcompileError
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


EMBED_METHODS = ("auto", "biclique", "clique", "minorminer")
PREFERENCES = ("qubits", "chain")
# Called with a line about the search, the number of tries that are done, and that of all tries.
SearchNews: TypeAlias = Callable[[str, int, int], None]
_MOST_TRIES = 1000


class EmbeddingNotFound(QcompileError):
    """No method found an embedding; the message says what would help."""


def embed(
    qubo: Qubo,
    machine: Machine,
    *,
    method: str = "auto",
    prefer: str = "qubits",
    seed: int = 0,
    tries: int = 4,
    time_limit: float = 60.0,
    effort: float = 1.0,
    chain_strength: float | str = "torque",
    embedding: Embedding | None = None,
    progress: SearchNews | None = None,
) -> Embedded:
    """Put a QUBO on a machine.

    `prefer` chooses between embeddings by their total of "qubits" or by the longest "chain".
    `tries` searches run side by side from different seeds. An `embedding` found before is checked
    and used instead of searching. `chain_strength` is "torque" (uniform torque compensation),
    "scaled" or a number. `progress(news, done, total)` counts the tries of each method; `news` is a
    line with the method's name and the fewest qubits so far.

    >>> from qcompile import Pubo, load_machine, quadratize
    >>> qubo = quadratize(Pubo.from_dict({(0, 1, 2): 1.0, (0, 3): -2.0, (1,): 0.5}))
    >>> embed(qubo, load_machine("pegasus4")).embedding.qubits
    5
    """
    if embedding is None:
        embedding = find_embedding(
            qubo,
            machine,
            method=method,
            prefer=prefer,
            seed=seed,
            tries=tries,
            time_limit=time_limit,
            effort=effort,
            progress=progress,
        )
    else:
        check_embedding(embedding, qubo, machine)
        embedding = _on(embedding, machine)
    return to_embedded(qubo, embedding, strength_of(qubo, chain_strength))


def _on(embedding: Embedding, machine: Machine) -> Embedding:
    """Return an embedding that was checked against a machine as one on that machine."""
    return replace(embedding, machine=machine)


def find_embedding(
    qubo: Qubo,
    machine: Machine,
    *,
    method: str = "auto",
    prefer: str = "qubits",
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
    _check_options(method, prefer, tries, time_limit, effort, seed)
    report = preflight(qubo, machine)
    if report.impossible:
        raise EmbeddingNotFound(report.message)
    began = time.monotonic()
    options = SearchOptions(method, prefer, seed, tries, effort, began + time_limit)
    ground = KernelInput(qubo, machine)
    search = Search(ground, options)
    with _news_first(progress):
        search.run()
    if search.best is None:
        taken = time.monotonic() - began
        raise EmbeddingNotFound(
            _not_found(report.message, machine, qubo, options, taken, taken > time_limit)
        )
    owner, name = search.best
    found = Embedding(
        chains=chains_of(owner, ground),
        machine=machine,
        problem=problem_id(qubo),
        method=name,
        seed=seed,
        options={
            "method": method,
            "prefer": prefer,
            "tries": tries,
            "time_limit": time_limit,
            "effort": effort,
        },
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


def _check_options(
    method: str, prefer: str, tries: int, seconds: float, effort: float, seed: int
) -> None:
    if method not in EMBED_METHODS:
        raise InputError(f"method {method!r}; expected one of {', '.join(EMBED_METHODS)}")
    if prefer not in PREFERENCES:
        raise InputError(f"prefer {prefer!r}; expected one of {', '.join(PREFERENCES)}")
    if not 1 <= tries <= _MOST_TRIES or not 0 < seconds < 1e9 or not 0 <= effort < 1e6:
        raise InputError(
            f"{tries} tries, time limit {seconds:g}, effort {effort:g}; expected 1 to "
            f"{_MOST_TRIES} tries, a time above 0 and an effort of 0 or more"
        )
    if not 0 <= seed < 2**32:
        raise InputError(f"seed {seed}; expected 0 to {2**32 - 1}")


def _not_found(
    advice: str, machine: Machine, qubo: Qubo, options: SearchOptions, seconds: float, late: bool
) -> str:
    if late:
        advice = f"the time limit cut the search, raise it; {advice}".removesuffix("; ")
    return (
        f"no embedding of {qubo.variables} variables and {len(qubo.first)} couplings found on "
        f"{machine.name} ({len(machine.nodes)} qubits) with method {options.method} in "
        f"{seconds:.1f} s: {advice or 'use fewer bits or features, or a larger machine'}"
    )
