"""Summaries of stages, which commands print."""

from __future__ import annotations

import argparse
import functools
import logging
from collections.abc import Mapping
from typing import Any

from qcompile.cli.output import Worded
from qcompile.cli.wording import in_options
from qcompile.embedding.preflight import preflight
from qcompile.files.machines import load_machine
from qcompile.objective.judgement import Judgement
from qcompile.reduction.accounting import account
from qcompile.runtime.memory import human
from qcompile.stages.dataset import Dataset
from qcompile.stages.interval import ErrorInterval
from qcompile.stages.labels import label_text
from qcompile.stages.loss import Loss
from qcompile.stages.machine import Machine
from qcompile.stages.moments import Moments
from qcompile.stages.preparation import Preparation
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo

__all__ = [
    "brief_names",
    "describe_data",
    "describe_error",
    "describe_fit",
    "describe_judgement",
    "describe_loss",
    "describe_moments",
    "describe_pubo",
    "describe_qubo",
    "say_notes",
    "source_name",
]


_log = logging.getLogger("qcompile")

# What a summary of a compiled problem says without -v, and what it says then if it is not 0.
_BRIEF = {
    "data", "rows", "features", "labels", "label column", "order", "degree", "weights",
    "weights that may change", "radius", "width", "objective around the classifier", "variables",
    "product_ancillas", "qubits", "quadratic_terms", "fits", "exceeds_hybrid", "exceeds_nonlinear",
    "share_of_couplings_below_precision", "expected energy loss", "dimod ancillas",
    "solved by pruning, weights",
}  # fmt: skip
_BRIEF_UNLESS_0 = {
    "bits removed by pruning", "dropped terms change energies by at most", "l0_ancillas",
    "truncation_error",
}  # fmt: skip


def source_name(moments: Moments) -> str:
    """Return the name of the data."""
    return moments.source.name or "data"


def _label_map(preparation: Preparation) -> str:
    return f"+1 is {label_text(preparation.positive)}, -1 is {label_text(preparation.negative)}"


def _label_column(preparation: Preparation) -> dict[str, Any]:
    """Return which column of a table holds the labels."""
    table = preparation.table
    return {} if table is None or table.label is None else {"label column": table.label}


def describe_data(data: Dataset) -> dict[str, Any]:
    """Return the summary of a data set."""
    return {
        "data": data.source.name or "data",
        "rows": len(data),
        "features": data.features,
        "density": data.density,
        "labels": _label_map(data.preparation),
        **_label_column(data.preparation),
        "baseline error": data.baseline_error,
    }


def describe_moments(moments: Moments) -> dict[str, Any]:
    """Return the summary of moments."""
    described = {
        "data": source_name(moments),
        "rows": moments.row_count,
        "features": moments.features,
    }
    if moments.preparation is not None:
        described["labels"] = _label_map(moments.preparation)
        described |= _label_column(moments.preparation)
        described["scale"] = moments.preparation.scaling or "none"
        described["bias"] = moments.preparation.bias
    return described


def describe_loss(loss: Loss, options: argparse.Namespace) -> dict[str, Any]:
    """Return the summary of a loss, and warn of what its notes say."""
    described: dict[str, Any] = {"order": loss.order, "fit": loss.fit}
    described |= {f"a_{p}": a for p, a in enumerate(loss.coefficients)}
    if loss.omega is not None:
        described["omega"] = loss.omega
    described |= {"prior std": loss.prior_std, "range": loss.range_, "zeta": loss.zeta}
    described["l2"] = loss.l2
    for note in loss.notes:
        _log.warning("warning: %s", in_options(note, options))
    return described


def describe_judgement(judged: Judgement) -> dict[str, Any]:
    """Return the errors of a classifier on the rows it was trained on, if they are at hand."""
    if judged.error is None or judged.rows is None:
        return {}
    errors = describe_error("train error", judged.error, judged.rows)
    return errors | {"baseline error": judged.baseline}


def describe_error(name: str, error: float, rows: int) -> dict[str, Any]:
    """Return an error with its rows and its 95% interval: in a line, or as values of their own."""
    interval = ErrorInterval.of(error, rows)
    return {
        name: Worded(error, f"{error:.6g} {interval.text}"),
        f"{name} interval": Worded(interval.to_dict(), ""),
    }


def say_notes(judged: Judgement, options: argparse.Namespace) -> None:
    """Warn of what is wrong with a classifier."""
    for note in judged.notes:
        _log.warning("warning: %s", in_options(note, options))


def describe_pubo(pubo: Pubo) -> dict[str, Any]:
    """Return the summary of a polynomial."""
    described: dict[str, Any] = {"variables": pubo.variables}
    described |= {f"terms of degree {j}": count for j, count in enumerate(pubo.terms, 1)}
    described["memory"] = Worded(pubo.nbytes, human(pubo.nbytes), "bytes")
    if pubo.encoding is not None and pubo.encoding.bounds is not None:
        described["bits removed by pruning"] = pubo.encoding.pruned_bits
        if not pubo.variables:
            described["solved by pruning, weights"] = pubo.encoding.offsets.tolist()
    if pubo.dropped:
        described["dropped terms change energies by at most"] = pubo.dropped
    return described


def brief_names(summary: Mapping[str, Any]) -> set[str]:
    """Return the names of a summary of a compiled problem that are shown without -v."""
    return _BRIEF | {name for name in _BRIEF_UNLESS_0 if summary.get(name)}


@functools.cache
def _default_machine() -> Machine:
    return load_machine(None)


def describe_fit(qubo: Qubo, options: argparse.Namespace) -> dict[str, Any]:
    """Return whether a QUBO fits on the default machine, as far as that is known without a search.

    In JSON it is "yes" (there is room for a complete graph), "likely" or "unlikely" (by a formula
    for cubics), "no" (proved) or "unknown".
    """
    if options.quiet:
        return {}
    machine = _default_machine()
    found = preflight(qubo, machine, clique=True)
    of_all = f"of its {len(machine.nodes):,} qubits"
    advice = in_options(found.message, options)
    if found.impossible:
        fits = Worded("no", f"no, not on {machine.name}: {advice}")
    elif found.surely:
        fits = Worded(
            "yes", f"yes, on {machine.name}: its whole graph takes any {qubo.variables} variables"
        )
    elif found.message:
        fits = Worded("unlikely", f"hardly, on {machine.name}: {advice}")
    elif found.likely is not None:
        fits = Worded("likely", f"likely, on {machine.name}: about {found.likely:,} {of_all}")
    else:
        fits = Worded(
            "unknown",
            f"not known, on {machine.name}: at least {found.least:,} {of_all}; qcompile embed "
            "finds out",
        )
    exceeded = {"exceeds_hybrid": found.hybrid, "exceeds_nonlinear": found.nonlinear}
    return {"fits": fits} | {name: words for name, words in exceeded.items() if words}


def describe_qubo(qubo: Qubo) -> dict[str, Any]:
    """Return the summary of a QUBO."""
    counted = account(qubo).to_dict()
    return {name: value for name, value in counted.items() if value is not None}
