"""Run -> Report: everything that a page shows, as plain data; no drawing here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from qcompile.errors import InputError
from qcompile.report.figures import TITLES, Report, Stage
from qcompile.report.problem_figures import ancilla_numbers, budget_of, chip_of, loss_curve_of
from qcompile.report.result_figures import (
    confusions_of,
    energies_of,
    sampling_of,
    through_these,
    weights_of,
)
from qcompile.report.run import Run
from qcompile.report.words import many, number
from qcompile.stages.pubo import Pubo

__all__ = ["report_of"]


# What a run must hold for each section; shown for sections that are left out.
_NEEDS = {
    "loss": "a loss (a problem compiled from data, or loss.json)",
    "budget": "a problem (qubo.json or pubo.json)",
    "ancillas": "a QUBO (qubo.json)",
    "chip": "an embedding (qcompile embed QUBO -o embedding.json)",
    "energies": "samples (samples.json of solve or submit) and their problem",
    "weights": "a classifier (model.json), or samples and a problem compiled from data",
    "confusion": "data with known labels and a classifier",
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
        energies=energies_of(run),
        weights=weights_of(run),
        confusion=tuple(confusions_of(run)),
        risks=run.risks,
        notes=run.notes,
    )
    missing = tuple(
        (title, _why(run, name)) for name, title in TITLES.items() if not getattr(report, name)
    )
    if not report.shown:
        wanted = [why.removeprefix("needs ") for _, why in missing[:2]]
        raise InputError(f"{run.name}: nothing to show; needs {wanted[0]}, or {wanted[1]}")
    return replace(report, absent=missing)


def _why(run: Run, section: str) -> str:
    if section == "ancillas" and run.qubo is not None:
        return "nothing: this QUBO has no ancillas"
    return "needs " + run.reasons.get(section, _NEEDS[section])


def _facts(run: Run) -> Iterable[tuple[str, str]]:
    """Yield the most important numbers, with their names."""
    yield from run.told.items()
    problem = run.problem
    if run.qubo is not None:
        yield "logical qubits", f"{run.qubo.variables:,}"
    elif run.pubo is not None:
        yield "bits", f"{run.pubo.variables:,}"
    if run.embedding is not None:
        yield "physical qubits", f"{run.embedding.qubits:,}"
    if run.samples is not None and len(run.samples):
        yield "lowest energy", number(float(run.samples.energies.min()))
    if problem is not None and problem.encoding is not None:
        yield "bits a weight", f"{problem.encoding.bits}"
    for confusion in confusions_of(run):
        yield f"error, {confusion.part}", f"{confusion.wrong / confusion.rows:.2%}"


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
        yield _pubo_stage(run.pubo)
    if run.qubo is not None:
        details = (
            f"{many(run.qubo.logical, 'bit')} + {many(len(run.qubo.ancillas), 'ancilla')}",
            many(len(run.qubo.first), "pair"),
        )
        yield Stage("QUBO", many(run.qubo.variables, "qubit"), details, "quadratize")
    # chains that the samples did not use are shown last
    apart = run.samples is not None and not through_these(run)
    if not apart:
        yield from _chain_stage(run, "embed")
    if run.samples is not None:
        size, *details_ = sampling_of(run).stage
        solver = str(run.samples.info.get("solver", "solver not named"))
        yield Stage("samples", size, (*details_, solver), "sample")
    if run.classifier is not None:
        weights = run.classifier.weights
        used = f"{int(np.count_nonzero(weights)):,} not 0"
        yield Stage("classifier", many(len(weights), "weight"), (used,), "decode")
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
        return run.moments.count
    if training:
        return len(training[0])
    return run.source.rows or None


def _pubo_stage(pubo: Pubo) -> Stage:
    if not pubo.num_terms:  # annealed over the margins
        details: tuple[str, ...] = ("never written out:", "annealed over the margins")
    else:
        counts = [f"{count:,} of degree {j}" for j, count in enumerate(pubo.terms, 1) if count]
        details = (f"{many(pubo.num_terms, 'term')}:", *counts)
    return Stage("polynomial", many(pubo.variables, "bit"), details, "discretize")


def _chain_stage(run: Run, made_by: str) -> Iterable[Stage]:
    chip = run.embedding
    if chip is not None:
        details = [chip.machine.name, f"longest chain {chip.longest}"]
        details += [] if made_by else ["these samples did not use it"]
        size = many(chip.qubits, "physical qubit")
        yield Stage("embedding", size, tuple(details), made_by)
