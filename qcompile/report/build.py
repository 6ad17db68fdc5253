"""Run -> Report: everything that a page shows, as plain data; no drawing here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from qcompile._version import __version__
from qcompile.errors import InputError
from qcompile.report.chip_figures import chip_of
from qcompile.report.doubt_figures import reliability_of, suspects_of
from qcompile.report.figures import TITLES, Report, Stage, Trace
from qcompile.report.problem_figures import ancilla_numbers, budget_of, loss_curve_of
from qcompile.report.result_figures import (
    confusions_of,
    energies_of,
    sampling_of,
    through_these,
    trace_of,
    weights_of,
)
from qcompile.report.run import Run
from qcompile.report.words import many, number
from qcompile.stages.interval import exact_interval

__all__ = ["report_of"]


# What a run must hold for each section; shown for sections that are left out.
_NEEDS = {
    "loss": "a loss (a problem compiled from data, or loss.json)",
    "budget": "a problem (qubo.json or pubo.json)",
    "ancillas": "a QUBO (qubo.json)",
    "chip": "an embedding (qcompile embed QUBO -o embedding.json)",
    "rounds": "the records of a training in rounds: the page that train writes has them",
    "energies": "samples (samples.json of solve or submit) and their problem",
    "weights": "a classifier (model.json), or samples and a problem compiled from data",
    "confusion": "data with known labels and a classifier",
    "calibration": "a classifier with a calibration (of train), and data with known labels",
    "suspects": "data with known labels in the order of their file, and a classifier",
    "risks": "the data it was compiled from, with its problem and samples",
}


def report_of(run: Run) -> Report:
    """Return everything that a page about this run can show."""
    report = Report(
        name=run.name,
        facts=tuple(_facts(run)),
        pipeline=tuple(_pipeline(run)),
        loss=loss_curve_of(run),
        budget=budget_of(run),
        ancillas=ancilla_numbers(run),
        chip=chip_of(run),
        rounds=trace_of(run),
        energies=energies_of(run),
        weights=weights_of(run),
        confusion=tuple(confusions_of(run)),
        calibration=tuple(reliability_of(run)),
        suspects=suspects_of(run),
        risks=run.risks,
        rehearsal=run.rehearsal,
        in_rounds=run.in_rounds,
        notes=run.notes,
        made=tuple(_made(run)),
    )
    missing = tuple(
        (title, _why(run, name))
        for name, title in TITLES.items()
        if not getattr(report, name) and (name != "rounds" or _had_rounds(run))
    )
    if not report.shown:
        wanted = [why.removeprefix("needs ") for _, why in missing[:2]]
        raise InputError(f"{run.name}: nothing to show; needs {wanted[0]}, or {wanted[1]}")
    return replace(report, absent=missing)


def _had_rounds(run: Run) -> bool:
    """Whether a page of this run could show rounds: not for one problem, nor for a single step."""
    return run.in_rounds and (run.trace is not None or not run.of_step)


def _why(run: Run, section: str) -> str:
    """Return why a section is missing: what it needs, or that there is nothing to show."""
    if section == "ancillas" and run.qubo is not None:
        return "nothing: this QUBO has no ancillas"
    if section == "ancillas" and run.of_step and run.pubo is not None and run.pubo.degree <= 2:
        return "nothing: a polynomial of degree 2 needs none"
    if section == "loss" and run.in_rounds:
        return "nothing: rounds fit a polynomial around the weights each time, and no one loss"
    if run.trace is not None and section in ("budget", "energies", "rounds", "ancillas"):
        return f"nothing: {_why_no_step(run.trace)}"
    return "needs " + run.reasons.get(section, _NEEDS[section])


def _why_no_step(trace: Trace) -> str:
    if trace.by_descent:
        return "it was trained by descent, without rounds"
    return "no step was taken" if trace.rounds else "the training ended before its first round"


def _facts(run: Run) -> Iterable[tuple[str, str]]:
    """Yield the most important numbers, with their names."""
    yield from run.told.items()
    problem, trace = run.problem, run.trace
    if trace is not None:
        if trace.rounds:
            yield "rounds", f"{len(trace.rounds):,}"
        yield "objective F", number(trace.objective)
        if trace.l2 is not None:
            yield "price of the weights (l2)", number(trace.l2)
    if run.qubo is not None:
        yield "logical qubits", f"{run.qubo.variables:,}"
    elif run.pubo is not None:
        yield "bits", f"{run.pubo.variables:,}"
    if run.embedding is not None:
        if len(run.embeddings) > 1:
            yield "copies", f"{len(run.embeddings):,}"
        yield "physical qubits", f"{sum(copy.qubits for copy in run.embeddings):,}"
        yield "longest chain", f"{max(copy.longest for copy in run.embeddings):,}"
    if run.samples is not None and len(run.samples):
        name = "lowest energy" if trace is None else "lowest energy, last step"
        yield name, number(float(run.samples.energies.min()))
    if problem is not None and problem.encoding is not None:
        yield "bits a weight", f"{problem.encoding.bits}"
    for confusion in confusions_of(run):
        wrong, usual = (n / confusion.rows for n in (confusion.wrong, confusion.baseline))
        low, high = exact_interval(confusion.wrong, confusion.rows)
        yield (
            f"error, {confusion.part}",
            f"{wrong:.2%} of {confusion.rows:,} rows, 95% interval {low:.2%} to {high:.2%} "
            f"(baseline {usual:.2%})",
        )


def _made(run: Run) -> Iterable[tuple[str, str]]:
    """Yield with what, how and when the run was made, as far as that is known."""
    yield "version", f"qcompile {__version__}"
    seed = None if run.samples is None else run.samples.info.get("seed")
    known = {} if seed is None else {"seed": str(seed)}
    yield from {**known, **run.made}.items()


def _pipeline(run: Run) -> Iterable[Stage]:
    """Yield the stages of the run in order, with their sizes."""
    yield from _data_stage(run)
    if run.moments is not None:
        sums = sum(len(tensor) for tensor in run.moments.tensors.values())
        yield Stage("moments", many(sums, "sum"), (f"order {run.moments.order}",), "sum")
    if run.loss is not None:
        details = (f"fit: {run.loss.fit}", f"weights up to {number(run.loss.zeta)}")
        yield Stage("loss", f"order {run.loss.order}", details, "fit")
    if run.pubo is not None:
        yield _pubo_stage(run)
    if run.qubo is not None:
        sizes = (
            f"{many(run.qubo.logical, 'bit')} + {many(len(run.qubo.ancillas), 'ancilla')}",
            many(len(run.qubo.first), "pair"),
            *_which_step(run),
        )
        yield Stage("QUBO", many(run.qubo.variables, "qubit"), sizes, "quadratize")
    # chains that the samples did not use are shown last
    apart = run.samples is not None and not through_these(run)
    if not apart:
        yield from _chain_stage(run, "embed")
    if run.samples is not None:
        size, *details_ = sampling_of(run).stage
        solver = str(run.samples.info.get("solver", "solver not named"))
        yield Stage("samples", size, (*details_, solver), "sample")
    if run.trace is not None and run.trace.rounds:
        taken = many(sum(own.rank is not None for own in run.trace.rounds), "step")
        about = (f"{taken} taken", *_starts_stage(run.trace))
        yield Stage("rounds", many(len(run.trace.rounds), "round"), about, "repeat")
    if run.classifier is not None:
        weights = run.classifier.weights
        used = f"{int(np.count_nonzero(weights)):,} not 0"
        yield Stage("classifier", many(len(weights), "weight"), (used,), _made_classifier(run))
    if apart:
        yield from _chain_stage(run, "")


def _data_stage(run: Run) -> Iterable[Stage]:
    rows, prepared = _data_rows(run), run.preparation
    details = [run.source.name or "data"]
    sizes = [] if rows is None else [many(rows, "row")]
    if prepared is not None:
        sizes.append(many(prepared.raw_features, "column"))
        chosen = prepared.features - prepared.bias
        if prepared.columns is not None or prepared.bias:
            details.append(f"{chosen:,} chosen" + " + bias" * prepared.bias)
    if sizes:
        yield Stage("data", " × ".join(sizes), tuple(details), "")


def _data_rows(run: Run) -> int | None:
    training = [part for name, part in run.parts if name in ("train", "training rows")]
    if run.moments is not None:
        return run.moments.row_count
    if training:
        return len(training[0])
    return run.source.rows or None


def _starts_stage(trace: Trace) -> Iterable[str]:
    if len(trace.starts) > 1:
        yield many(len(trace.starts), "start")


def _made_classifier(run: Run) -> str:
    """Return the pass that made the classifier."""
    if run.trace is not None:
        return "descent" if run.trace.by_descent else "choose"
    # the file of a classifier alone: the record says whether it was decoded
    return "rounds" if run.in_rounds and run.problem is None else "decode"


def _pubo_stage(run: Run) -> Stage:
    pubo = run.pubo
    assert pubo is not None
    if not pubo.num_terms:
        space = "margins" if run.samples is None else run.samples.info.get("space", "margins")
        details: tuple[str, ...] = ("never written out:", f"annealed over the {space}")
    else:
        counts = [f"{count:,} of degree {j}" for j, count in enumerate(pubo.terms, 1) if count]
        details = (f"{many(pubo.num_terms, 'term')}:", *counts)
    return Stage(
        "polynomial", many(pubo.variables, "bit"), (*details, *_which_step(run)), "discretize"
    )


def _which_step(run: Run) -> Iterable[str]:
    if run.of_step:
        yield "of one step" if run.trace is None else "of the last step taken"


def _chain_stage(run: Run, made_by: str) -> Iterable[Stage]:
    copies = run.embeddings
    if copies:
        longest = max(copy.longest for copy in copies)
        details = [copies[0].machine.name, f"longest chain {longest}"]
        details += [f"{len(copies):,} copies"] if len(copies) > 1 else []
        details += [] if made_by else ["these samples did not use it"]
        size = many(sum(copy.qubits for copy in copies), "physical qubit")
        yield Stage("embedding", size, tuple(details), made_by)
