"""The command `embed`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from qcompile.cli.anneal_options import copies_in
from qcompile.cli.expected import describe_expected
from qcompile.cli.options import add_machine_options, chain_strength, machine_of
from qcompile.cli.output import show
from qcompile.cli.parsing import NOT_PROVED, UsageError, add_command
from qcompile.cli.wording import in_options
from qcompile.data.replay import recorded_rows
from qcompile.embedding.chain_strength import StrengthTrial, strength_of, sweep
from qcompile.embedding.copies import check_copies, find_copies
from qcompile.embedding.embed import EMBED_METHODS, PREFERENCES, find_embedding
from qcompile.embedding.preflight import least_qubits, preflight
from qcompile.embedding.programming import make_program
from qcompile.embedding.quality import quality
from qcompile.files import atomic, target
from qcompile.files.embedding import load_embeddings, save_embeddings
from qcompile.files.interchange import load_problem
from qcompile.reduction.quadratize import quadratize
from qcompile.report import plot
from qcompile.runtime.progress import bar
from qcompile.runtime.timing import passing
from qcompile.stages.embedded import Embedded, Embedding, check_embedding, to_embedded
from qcompile.stages.machine import Machine
from qcompile.stages.qubo import Qubo

__all__ = ["add_commands"]


# Options of the search for a single embedding, and their defaults.
_SEARCH = {"method": "auto", "prefer": "balanced", "tries": 4, "effort": 1.0}


def add_commands(commands: Any) -> None:
    """Add `embed`."""
    command = add_command(commands, "embed")
    command.add_argument(
        "qubo", metavar="QUBO", help="a qubo file, or a pubo file, which is quadratized first"
    )
    command.add_argument("-o", "--output", metavar="FILE", help="write the embedding as JSON")
    command.add_argument(
        "--target", metavar="FILE", help="write the problem on the qubits (dimod .json or .bqm)"
    )
    command.add_argument("--plot", metavar="FILE", help="plot the chains (.png .svg .pdf)")
    command.add_argument(
        "--reuse", metavar="FILE", help="check and use this embedding instead of searching"
    )
    command.add_argument(
        "--preflight",
        action="store_true",
        help="only check whether it can fit and what would; exit 1 if it cannot",
    )
    search = command.add_argument_group("search")
    search.add_argument(
        "--method", choices=EMBED_METHODS, default="auto", help="search method (auto)"
    )
    search.add_argument(
        "--prefer",
        choices=PREFERENCES,
        default="balanced",
        help="few qubits, short chains, or few qubits without long chains (balanced)",
    )
    search.add_argument("--tries", type=int, default=4, metavar="N", help="number of searches (4)")
    search.add_argument(
        "--time-limit", type=float, default=60.0, metavar="S", help="time limit in seconds (60)"
    )
    search.add_argument(
        "--effort",
        type=float,
        default=1.0,
        metavar="X",
        help="factor for the work of improving chains (1)",
    )
    search.add_argument("--seed", type=int, default=0, help="random seed (0)")
    search.add_argument(
        "--copies",
        metavar="N",
        help="chains for N disjoint copies, or auto for all that fit (those of --reuse, else 1)",
    )
    chains = command.add_argument_group("chains")
    chains.add_argument(
        "--chain-strength",
        default="torque",
        metavar="S",
        help="torque (uniform torque compensation), scaled, a number, or sweep to try several on a "
        "simulated annealer (torque)",
    )
    chains.add_argument(
        "--reads",
        type=int,
        default=50,
        metavar="N",
        help="reads per chain strength of a sweep (50)",
    )
    add_machine_options(command, default=None)
    command.set_defaults(run=_run_embed)


def _run_embed(options: argparse.Namespace) -> int:
    written = [path for path in (options.output, options.target, options.plot) if path]
    atomic.check_outputs(written, inputs=(options.qubo, options.reuse, options.machine))
    _check_options(options, written)
    strength = chain_strength(options.chain_strength)
    with passing("read"):
        problem = load_problem(options.qubo)
        qubo = problem if isinstance(problem, Qubo) else quadratize(problem)
    reused = () if options.reuse is None else load_embeddings(options.reuse)
    machine = machine_of(options, reused[0].machine if reused else None)
    if options.preflight:
        return _run_preflight(options, qubo, machine)
    with bar("embed"), passing("embed"):
        copies = _copies(options, qubo, machine, reused)
    first = to_embedded(
        qubo, copies[0], strength_of(qubo, "torque" if strength == "sweep" else strength)
    )
    trials: list[StrengthTrial] = []
    if strength == "sweep":
        with bar("sweep"), passing("sweep chain strengths"):
            first, trials = sweep(first, reads=options.reads, seed=options.seed)
    with bar("write"), passing("write"), atomic.all_or_nothing():
        _write(options, first, copies)
    found = quality(first)
    figures = {
        **found.to_dict(),
        **({} if options.copies is None and len(copies) == 1 else _of_all(copies)),
        "qubits_at_least": least_qubits(qubo, machine),
    }
    with bar("expected loss"):
        figures |= describe_expected(first, options, partial(recorded_rows, qubo))
    if not options.json:
        figures["chain_lengths"] = ", ".join(f"{n}: {c}" for n, c in found.chains_by_length)
        figures |= {_strength_name(trial): _in_words(trial) for trial in trials}
        figures = {name: value for name, value in figures.items() if value is not None}
    elif trials:
        figures["sweep"] = [trial.to_dict() for trial in trials]
    show(figures, options, written=written)
    return 0


def _check_options(options: argparse.Namespace, written: Sequence[str]) -> None:
    """Raise UsageError for options that do not go together, before any work is done."""
    if options.preflight and written:
        raise UsageError(
            "--preflight: there is nothing to write; leave out -o, --target and --plot"
        )
    if options.plot:
        plot.check_ending(options.plot)
        plot.check_library()
    if options.target:
        target.check_target_ending(options.target)
    if options.copies not in (None, "1"):
        copies_in(options.copies)
        given = [name for name, value in _SEARCH.items() if getattr(options, name) != value]
        if given:
            raise UsageError(
                f"--{given[0]} with --copies, which have a search of their own; leave out one of "
                "them"
            )


def _run_preflight(options: argparse.Namespace, qubo: Qubo, machine: Machine) -> int:
    with bar("preflight"), passing("preflight"):
        report = preflight(qubo, machine, clique=True)
    figures = report.to_dict() | {"advice": in_options(report.message, options)}
    for name in ("exceeds_hybrid", "exceeds_nonlinear"):
        if not figures[name] and not options.json:
            del figures[name]
    show({"machine": machine.name, **figures}, options)
    return NOT_PROVED if report.impossible else 0


def _copies(
    options: argparse.Namespace, qubo: Qubo, machine: Machine, reused: Sequence[Embedding]
) -> tuple[Embedding, ...]:
    """Return the chains of each copy: those of --reuse, checked, or new ones."""
    wanted = None if options.copies is None else copies_in(options.copies)
    check_copies(1 if wanted is None else wanted)
    if len(reused) > 1 or (reused and wanted in (None, 1)):
        if isinstance(wanted, int) and wanted > len(reused):
            raise UsageError(
                f"--copies {wanted}: {options.reuse} holds {len(reused)} copies: use at most "
                f"--copies {len(reused)}, or leave out --reuse"
            )
        kept = reused[: wanted if isinstance(wanted, int) else None]
        for one in kept:
            check_embedding(one, qubo, machine)
        return tuple(replace(one, machine=machine) for one in kept)
    if wanted not in (None, 1):
        return find_copies(
            qubo,
            machine,
            copies=wanted,
            seed=options.seed,
            time_limit=options.time_limit,
            embedding=reused[0] if reused else None,
        )
    found = find_embedding(
        qubo,
        machine,
        method=options.method,
        prefer=options.prefer,
        seed=options.seed,
        tries=options.tries,
        time_limit=options.time_limit,
        effort=options.effort,
    )
    return (found,)


def _write(options: argparse.Namespace, first: Embedded, copies: Sequence[Embedding]) -> None:
    if options.output:
        save_embeddings(copies, options.output)
    if options.target:
        placed = [to_embedded(first.qubo, one, first.chain_strength) for one in copies]
        target.save_target(make_program(placed) if len(placed) > 1 else first, options.target)
    if options.plot:
        plot.plot_embedding(copies[0], options.plot, copies=copies if len(copies) > 1 else ())


def _of_all(copies: Sequence[Embedding]) -> dict[str, Any]:
    """Return the figures of all copies together; the other figures are of the first."""
    sizes = [one.qubits for one in copies]
    return {
        "copies": len(copies),
        "qubits_of_all_copies": sum(sizes),
        "share_of_qubits_of_all_copies": sum(sizes) / len(copies[0].machine.nodes),
        "qubits_of_largest_copy": max(sizes),
        "longest_chain_of_all_copies": max(one.longest for one in copies),
    }


def _strength_name(trial: StrengthTrial) -> str:
    return f"sweep at strength {trial.chain_strength:.4g}"


def _in_words(trial: StrengthTrial) -> str:
    return (
        f"mean energy {trial.mean_energy:.6g}, lowest {trial.lowest_energy:.6g}, "
        f"chains broken {trial.chain_break_fraction:.1%}"
    )
