"""`compile --around`: the problem of one round of training."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from qcompile.cli.describe import brief_names, describe_fit, describe_pubo, describe_qubo
from qcompile.cli.expected import describe_expected
from qcompile.cli.options import grouped
from qcompile.cli.output import show
from qcompile.cli.parsing import UsageError
from qcompile.data.options import DataOptions, load_data
from qcompile.errors import InputError
from qcompile.files import atomic
from qcompile.files.classifier import load_classifier
from qcompile.files.pubo import save_pubo
from qcompile.files.qubo import save_qubo
from qcompile.moments.local import fit_around, slope_at
from qcompile.moments.unit_rows import UnitRows
from qcompile.objective.step import discretize_step
from qcompile.reduction.quadratize import QuboOptions, quadratize
from qcompile.runtime.progress import bar
from qcompile.runtime.timing import passing
from qcompile.stages.classifier import Classifier
from qcompile.stages.dataset import Dataset
from qcompile.stages.labels import label_text
from qcompile.stages.local_fit import Around
from qcompile.training.start import default_l2, least_squares

__all__ = ["run_step"]


_WIDTH = 0.5
_FIRST_LENGTH = 4.0  # of a step from weights of 0
_SHARE = 0.25  # of the length of other weights
# Options that say how to train from nothing; the classifier has decided them.
_DECIDED = {
    "order": None, "fit_to": "risk", "omega": None, "coefficients": None, "prior_std": None,
    "weight_range": "auto", "l0": 0.0, "threshold": 0.0, "prune": False, "features": None,
}  # fmt: skip


def run_step(options: argparse.Namespace, emits: Sequence[tuple[str, str]]) -> None:
    """Compile the best step from a classifier, and write it."""
    _check(options, emits)
    atomic.check_outputs([path for _, path in emits], inputs=(options.data, options.around))
    model = load_classifier(options.around)
    with bar("reading"):
        data = _rows_for(model, options)
        l2 = _price(model, data, options.l2)
        width = _WIDTH if options.width is None else options.width
        degree = options.order or 2
        block = _block(data, model, options.block, Around(width, 1.0, degree, l2))
        with passing("fit around the classifier"):
            fit = fit_around(data, model.weights, width, degree=degree, l2=l2, block=block)
        radius = _radius(model) if options.radius is None else options.radius
        with passing("discretize"):
            pubo = discretize_step(fit, radius, options.bits)
        with passing("quadratize"):
            wanted = grouped(QuboOptions, options)
            qubo = quadratize(pubo, seed=options.seed, **vars(wanted))
        with passing("write"), atomic.all_or_nothing():
            for kind, path in emits:
                if kind == "pubo":
                    save_pubo(pubo, path)
                else:
                    save_qubo(qubo, path, pubo=pubo, drop_offset=options.drop_offset)
    summary = {
        "rows": len(data),
        "weights": len(model.weights),
        "weights that may change": len(fit.block),
        "radius": radius,
        "width": width,
        "l2": l2,
        "objective around the classifier": fit.constant,
        **describe_pubo(pubo),
        **describe_qubo(qubo),
        **describe_expected(qubo, options, lambda: data),
        **describe_fit(qubo, options),
    }
    written = [path for _, path in emits]
    show(summary, options, written=written, brief=brief_names(summary))


def _check(options: argparse.Namespace, emits: Sequence[tuple[str, str]]) -> None:
    """Raise UsageError for what a step does not have."""
    for kind, path in emits:
        if kind not in ("pubo", "qubo"):
            raise UsageError(f"--emit {path}: a step has no {kind}; expected a pubo or a qubo")
    if options.report:
        raise UsageError("--report with --around: solve the step and report its model instead")
    if options.dask is not None:
        raise UsageError("--dask with --around: one step is compiled on this machine")
    for name, default in _DECIDED.items():
        allowed = name == "order" and options.order in (2, 3)
        if getattr(options, name) != default and not allowed:
            shown = "--" + name.replace("_", "-")
            raise UsageError(
                f"{shown} with --around: the classifier decides it"
                if name != "order"
                else f"--order {options.order} with --around: expected 2 (no ancillas) or 3"
            )


def _rows_for(model: Classifier, options: argparse.Namespace) -> Dataset:
    """Read the rows, prepared as for the classifier."""
    made = model.preparation
    wanted = replace(
        grouped(DataOptions, options), scale="none", bias=False, features=None,
        num_features=options.num_features or made.raw_features,
    )  # fmt: skip
    if wanted.positive is None and made.negative is None:
        wanted = replace(wanted, positive=made.positive)
    raw = load_data(options.data, wanted)
    known = raw.preparation
    if (known.positive, known.negative) != (made.positive, made.negative):
        raise InputError(
            f"{options.data}: labels {label_text(known.positive)} and others; expected those "
            f"of the classifier, {label_text(made.positive)} against {label_text(made.negative)}"
        )
    return Dataset(made.apply(raw.x), raw.y, made, raw.source)


def _price(model: Classifier, data: Dataset, wanted: float | None) -> float:
    """Return the price of the weights: as asked for, as in the training, or the default."""
    if wanted is not None:
        return float(wanted)
    if model.source.l2 is not None:
        return model.source.l2
    return default_l2(data, least_squares(UnitRows.of(data)))


def _radius(model: Classifier) -> float:
    """Return a radius for weights of this size."""
    length = float(np.linalg.norm(model.weights))
    return (_SHARE * length or _FIRST_LENGTH) / math.sqrt(len(model.weights))


def _block(
    data: Dataset, model: Classifier, number: int | None, around: Around
) -> NDArray[np.int64] | None:
    """Return the features of largest slope."""
    if number is None:
        return None
    if not 1 <= number <= data.features:
        raise InputError(f"block= {number}; expected 1 to {data.features}, the number of weights")
    slope = np.abs(slope_at(UnitRows.of(data), model.weights, around))
    return np.sort(np.argsort(-slope, kind="stable")[:number])
