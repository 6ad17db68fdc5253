"""Read the rows of an earlier run again, as its record says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qcompile.data import named_sets
from qcompile.data.named_sets import is_named
from qcompile.data.read import read, read_rows
from qcompile.data.split import add_noise, shuffle
from qcompile.errors import InputError
from qcompile.stages.arrays import frozen
from qcompile.stages.dataset import Dataset
from qcompile.stages.preparation import Preparation
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo

if TYPE_CHECKING:
    from qcompile.stages.classifier import Classifier

__all__ = ["prepared", "raw_rows", "same_rows"]


def same_rows(source: str, qubo: Pubo | Qubo | Classifier) -> Dataset:
    """Read the rows that a problem was compiled from, prepared as then."""
    prepared, about = qubo.preparation, qubo.source
    if prepared is None:
        raise InputError("this QUBO does not say how its data were prepared")
    try:
        rows = None if about.get("rows") is None else int(about["rows"])
        data = read(
            source,
            positive=prepared.positive if prepared.negative is None else None,
            rows=None if "shuffle_seed" in about else rows,
            index_base=about.get("index_base"),
            num_features=None if named_sets.is_named(source) else prepared.raw_features,
            seed=int(about.get("seed", 0)),
        )
        if "shuffle_seed" in about:
            data = shuffle(data, seed=int(about["shuffle_seed"])).take(slice(rows))
        if "noise" in about:
            data = add_noise(data, float(about["noise"]), seed=int(about["noise_seed"]))
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"the QUBO's record of its data makes no sense ({error})") from None
    return Dataset(prepared.apply(data.x), data.y, prepared, data.source)


def prepared(source: str, problem: Pubo | Qubo | Classifier) -> Dataset:
    """Read data with known labels, prepared as in training."""
    preparation = problem.preparation
    assert preparation is not None
    rows, labels = raw_rows(source, preparation.raw_features, problem.source.get("index_base"))
    _check_labels(source, labels, preparation)
    return Dataset(preparation.apply(rows), frozen(preparation.signs(labels)), preparation)


def raw_rows(source: str, features: int, base: Any) -> tuple[Any, Any]:
    """Read rows as wide as those of training and counted from the same index."""
    if is_named(source):
        rows, labels, _ = read_rows(source)
    else:
        first = base if base in (0, 1) else None
        rows, labels, _ = read_rows(source, num_features=features, index_base=first)
    return rows, labels


def _check_labels(source: str, labels: Any, preparation: Preparation) -> None:
    strange = sorted(set(labels.tolist()) - {preparation.positive, preparation.negative})
    if preparation.negative is not None and strange:
        raise InputError(
            f"{source}: label {strange[0]:g} was never seen in training; expected "
            f"{preparation.positive:g} or {preparation.negative:g}"
        )
