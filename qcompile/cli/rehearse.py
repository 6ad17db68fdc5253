"""The command `rehearse`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from qcompile.cli.options import (
    add_machine_options,
    add_reads_option,
    add_report_option,
    chain_strength,
    machine_of,
    page_of,
)
from qcompile.cli.output import show
from qcompile.cli.parsing import UsageError, add_command
from qcompile.cli.provenance import with_provenance
from qcompile.files import atomic
from qcompile.files.embedding import load_embedding
from qcompile.files.interchange import load_problem
from qcompile.reduction.quadratize import quadratize
from qcompile.rehearsal.record import Figure, Rehearsal
from qcompile.rehearsal.rehearse import FACTORS, rehearse
from qcompile.rehearsal.training import TrainingRehearsal, rehearse_training
from qcompile.report.page import write_report
from qcompile.report.run import Run
from qcompile.runtime.progress import bar
from qcompile.runtime.timing import passing
from qcompile.solvers.noise import ENGINES
from qcompile.stages.qubo import Qubo

__all__ = ["add_commands"]


# Endings of problems; everything else is data.
_PROBLEMS = (".json", ".npz")
_DRAWS, _TRAININGS = 5, 3
_NO_STEPS = "none: no step is published as a number"
# Options of the other kind of rehearsal, and their defaults.
_OF_PROBLEMS: dict[str, Any] = {
    "data": None, "chain_strength": "torque", "factors": FACTORS, "embedding": None,
    "compare_bits": False, "tolerance": 0.01, "report": None,
}  # fmt: skip
_OF_TRAININGS: dict[str, Any] = {"rounds": None, "test": 0.0}


def add_commands(commands: Any) -> None:
    """Add `rehearse`."""
    command = add_command(commands, "rehearse")
    command.add_argument(
        "problem",
        metavar="FILE",
        help="a qubo or pubo file (.json, .npz), or data to train on in rounds",
    )
    _add_model_options(command)
    group = command.add_argument_group("problem")
    group.add_argument(
        "--data", metavar="DATA", help="count classification errors on these rows (training rows)"
    )
    group.add_argument(
        "--chain-strength",
        default="torque",
        metavar="S",
        help="torque, scaled or a number (torque)",
    )
    group.add_argument(
        "--factors",
        type=_numbers,
        default=FACTORS,
        metavar="F,...",
        help=f"multiples of the chain strength to try ({','.join(f'{f:g}' for f in FACTORS)})",
    )
    group.add_argument("--embedding", metavar="FILE", help="use these chains instead of a search")
    group.add_argument(
        "--tolerance",
        type=float,
        default=0.01,
        metavar="T",
        help="near the best is within this share of the span to random states (0.01)",
    )
    group.add_argument(
        "--compare-bits",
        action="store_true",
        help="also rehearse the data with one bit a weight less and one more",
    )
    add_report_option(group)
    training = command.add_argument_group("training")
    training.add_argument("--rounds", type=int, metavar="N", help="make at most N rounds (100)")
    training.add_argument(
        "--test", type=float, default=0.0, metavar="SHARE", help="share of rows to test on (0)"
    )
    add_machine_options(command, default=None)
    command.set_defaults(run=_run_rehearse)


def _add_model_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("model")
    group.add_argument(
        "--draws",
        type=int,
        metavar="N",
        help=f"draws of the errors ({_DRAWS}; trainings: {_TRAININGS})",
    )
    add_reads_option(group, default=100, help="reads of a draw, or of a round (100)")
    group.add_argument(
        "--engine",
        choices=ENGINES,
        default="anneal",
        help="simulated annealing, or simulated quantum annealing, which is slow (anneal)",
    )
    group.add_argument(
        "--errors",
        type=float,
        default=1.0,
        metavar="X",
        help="multiple of the published control errors (1)",
    )
    group.add_argument(
        "--beta",
        type=_numbers,
        metavar="B,...",
        help="inverse temperatures in the machine's units (those published, or a range)",
    )
    group.add_argument("--sweeps", type=int, metavar="N", help="sweeps of a read (auto)")
    group.add_argument("--seed", type=int, default=0, help="random seed (0)")


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected numbers like 0.5,1,2") from None


def _run_rehearse(options: argparse.Namespace) -> None:
    if Path(options.problem).suffix.lower() in _PROBLEMS:
        _check_kind(options, _OF_TRAININGS, "a training: give data instead of a problem")
        _run_problem(options)
    else:
        _check_kind(options, _OF_PROBLEMS, "a problem: give a qubo.json instead of data")
        _run_training(options)


def _check_kind(options: argparse.Namespace, others: dict[str, Any], what: str) -> None:
    """Raise UsageError if an option belongs to the other kind of rehearsal."""
    for name, default in others.items():
        if getattr(options, name) != default:
            raise UsageError(f"--{name.replace('_', '-')} is for the rehearsal of {what}")


def _run_problem(options: argparse.Namespace) -> None:
    strength = chain_strength(options.chain_strength)
    if strength == "sweep":
        raise UsageError("--chain-strength sweep: rehearse tries several; see --factors")
    pages = page_of(options)
    atomic.check_outputs(pages, inputs=[options.problem])
    with passing("read"):
        problem = load_problem(options.problem)
        qubo = problem if isinstance(problem, Qubo) else quadratize(problem)
        chains = None if options.embedding is None else load_embedding(options.embedding)
    with bar("rehearse"):
        found = rehearse(
            qubo,
            machine_of(options, None if chains is None else chains.machine),
            data=options.data,
            draws=_DRAWS if options.draws is None else options.draws,
            reads=options.reads,
            errors=options.errors,
            beta=options.beta,
            engine=options.engine,
            sweeps=options.sweeps,
            chain_strength=strength,
            factors=options.factors,
            tolerance=options.tolerance,
            embedding=chains,
            compare_bits=options.compare_bits,
            draw_dead=options.yield_ is None,
            seed=options.seed,
        )
    if pages:
        run = Run(Path(options.problem).stem, qubo=qubo, rehearsal=found)
        write_report(with_provenance(run, options), options.report)
    show(found.to_dict() if options.json else _in_words(found), options, written=pages)


def _run_training(options: argparse.Namespace) -> None:
    if options.beta is not None and len(options.beta) > 1:
        raise UsageError("--beta with several numbers: a training is rehearsed at one; give one")
    with bar("rehearse"):
        found = rehearse_training(
            options.problem,
            machine_of(options),
            draws=_TRAININGS if options.draws is None else options.draws,
            reads=options.reads,
            errors=options.errors,
            beta=None if options.beta is None else options.beta[0],
            engine=options.engine,
            sweeps=options.sweeps,
            rounds=options.rounds,
            test=options.test,
            draw_dead=options.yield_ is None,
            seed=options.seed,
        )
    show(found.to_dict() if options.json else _training_in_words(found), options)


def _in_words(found: Rehearsal) -> dict[str, Any]:
    """Return the record of a problem as text; figures of several temperatures stand in a line."""
    chosen, span = found.chosen, found.span
    sources = zip(found.betas, found.beta_sources, strict=True)
    shown: dict[str, Any] = {
        "machine": f"{found.machine}, {found.working_qubits:,} working qubits",
        "variables": found.variables,
        "qubits": f"{found.qubits:,}, longest chain {found.longest_chain}",
        "engine": f"{found.engine}, {found.sweeps} sweeps; {found.draws} draws of the errors, "
        f"{found.reads} reads each",
        "control errors": _errors(found.sigma_h, found.sigma_j, found.errors_source),
        "quantisation": _NO_STEPS,
        "inverse temperature": _beside(f"{beta:.4g} ({source})" for beta, source in sources),
        "best known energy": f"{found.best_energy:.6g}, by {found.best_by}",
        "chain strength": _beside(
            f"{one.chain_strength:.4g}, {one.factor:g} times the usual one" for one in chosen
        ),
        "share of reads in the best state": _beside(_spread(one.best) for one in chosen),
        "share of chains broken": _beside(_spread(one.broken) for one in chosen),
        "mean energy above the best": _beside(_of_span(one.mean_above, span) for one in chosen),
        "lowest energy above the best": _beside(_of_span(one.lowest_above, span) for one in chosen),
    }
    if found.best_error is not None:
        shown["cost in classification error"] = _beside(
            _cost(one.error_above, found.best_error) for one in chosen if one.error_above
        )
    shown["reads for the best state"] = _beside(_reads(one.reads_for_best) for one in chosen)
    shown["reads to come near it"] = _beside(_reads(one.reads_within) for one in chosen)
    shown["lowest energy above the best by reads"] = _beside(
        ", ".join(f"{count}: {above:.3g}" for count, above in one.lowest_by_reads) for one in chosen
    )
    return shown | _others_in_words(found)


def _others_in_words(found: Rehearsal) -> dict[str, Any]:
    """Return the chain strengths that were tried, and other numbers of bits."""
    shown = {}
    strengths = sorted({one.chain_strength for one in found.tried})
    for strength in strengths if len(strengths) > 1 else ():
        shown[f"at strength {strength:.4g}"] = _beside(
            f"lowest above {one.lowest_above.mean:.3g}, mean {one.mean_above.mean:.3g}, chains "
            f"broken {one.broken.mean:.1%}"
            for one in found.tried
            if one.chain_strength == strength
        )
    for other in found.bits:
        shown[f"with {other.bits} bits a weight"] = (
            f"error {_spread(other.error)}, of the best state {other.best_error:.4f}, "
            f"{other.qubits:,} qubits"
        )
    return shown


def _beside(texts: Iterable[str]) -> str:
    """Return the figures of several temperatures in one line, in their order."""
    return " | ".join(texts)


def _training_in_words(found: TrainingRehearsal) -> dict[str, Any]:
    model = found.model
    shown: dict[str, Any] = {
        "machine": f"{found.machine}, {found.working_qubits:,} working qubits",
        "weights in a round": found.weights,
        "engine": f"{model.engine}, {model.sweeps} sweeps, {len(found.draws)} draws, {found.reads} "
        "reads a round",
        "control errors": _errors(model.sigma_h, model.sigma_j, model.errors_source),
        "inverse temperature": f"{model.beta:.4g}, from: {model.beta_source}",
        "quantisation": _NO_STEPS,
        "rounds to expect": f"{found.rounds.mean:.1f} ± {found.rounds.spread:.1f}, without errors "
        f"{found.rounds_without}",
        "share of chains broken": _spread(found.broken),
        "objective without errors": found.objective_without,
        "objective above it": f"{found.objective_above.mean:+.3g} ± "
        f"{found.objective_above.spread:.2g}",
    }
    if found.descent_objective is not None:
        shown["descent (L-BFGS)"] = found.descent_objective
    for part, cost in found.errors_above.items():
        interval = found.intervals[part].text
        shown[f"cost in {part} error"] = f"{_cost(cost, found.errors_without[part])} {interval}"
    return shown


def _errors(sigma_h: float, sigma_j: float, source: str) -> str:
    return f"h ± {sigma_h:g}, J ± {sigma_j:g} in the machine's units, {source}"


def _cost(figure: Figure, base: float) -> str:
    return f"{figure.mean:+.4f} ± {figure.spread:.4f}, from {base:.4f}"


def _spread(figure: Figure) -> str:
    return f"{figure.mean:.4f} ± {figure.spread:.4f}"


def _of_span(figure: Figure, span: float) -> str:
    share = f", {figure.mean / span:.2%} of the span" if span else ""
    return f"{figure.mean:.3g} ± {figure.spread:.2g}{share}"


def _reads(count: int | None) -> str:
    return (
        "not known: too few of the reads did"
        if count is None
        else f"{count:,}, with a chance of 99%"
    )
