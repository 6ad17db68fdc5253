"""Summaries of stages, which commands print."""

from __future__ import annotations

import logging
from typing import Any

from qcompile.cli.output import Worded
from qcompile.data.svmlight import shortest
from qcompile.reduction.accounting import account
from qcompile.runtime.memory import human
from qcompile.stages.dataset import Dataset
from qcompile.stages.loss import Loss
from qcompile.stages.moments import Moments
from qcompile.stages.preparation import Preparation
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo

__all__ = [
    "describe_data",
    "describe_loss",
    "describe_moments",
    "describe_pubo",
    "describe_qubo",
    "source_name",
]


_log = logging.getLogger("qcompile")


def source_name(moments: Moments) -> str:
    """Return the name of the data."""
    return moments.source.name or "data"


def _label_map(preparation: Preparation) -> str:
    negative = preparation.negative
    rest = "all others" if negative is None else shortest(negative)
    return f"+1 is {shortest(preparation.positive)}, -1 is {rest}"


def describe_data(data: Dataset) -> dict[str, Any]:
    """Return the summary of a data set."""
    return {
        "data": data.source.name or "data",
        "rows": len(data),
        "features": data.features,
        "density": data.density,
        "labels": _label_map(data.preparation),
        "baseline error": data.baseline_error,
    }


def describe_moments(moments: Moments) -> dict[str, Any]:
    """Return the summary of moments."""
    described = {"data": source_name(moments), "rows": moments.count, "features": moments.features}
    if moments.preparation is not None:
        described["labels"] = _label_map(moments.preparation)
        described["scale"] = moments.preparation.scaling or "none"
        described["bias"] = moments.preparation.bias
    return described


def describe_loss(loss: Loss) -> dict[str, Any]:
    """Return the summary of a loss."""
    described: dict[str, Any] = {"order": loss.order, "fit": loss.fit}
    described |= {f"a_{p}": a for p, a in enumerate(loss.coefficients)}
    if loss.omega is not None:
        described["omega"] = loss.omega
    described |= {"prior std": loss.prior_std, "range": loss.range_, "zeta": loss.zeta}
    described["l2"] = loss.l2
    for note in loss.notes:
        _log.warning("warning: %s", note)
    return described


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


def describe_qubo(qubo: Qubo) -> dict[str, Any]:
    """Return the summary of a QUBO."""
    counted = account(qubo).to_dict()
    return {name: value for name, value in counted.items() if value is not None}
