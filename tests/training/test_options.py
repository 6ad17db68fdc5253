"""Options of `train` by name: they are the fields of the records, and nothing else."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qcompile.data.options import DataOptions
from qcompile.data.read import read
from qcompile.data.svmlight import save_svmlight
from qcompile.errors import InputError
from qcompile.objective.fit import LossOptions
from qcompile.solvers.options import SolveOptions
from qcompile.training.options import TrainOptions
from qcompile.training.rounds import RoundOptions
from qcompile.training.train import train

SMALL = "synthetic:examples=60,features=3"


def test_a_path_a_name_and_rows_are_trained_alike(tmp_path: Path) -> None:
    rows = read("breast-cancer").take(slice(100))
    save_svmlight(rows, tmp_path / "rows.svm")
    sources: tuple[Any, ...] = (rows, tmp_path / "rows.svm", str(tmp_path / "rows.svm"))
    found = [train(source, rounds=2).classifier.weights for source in sources]
    found.append(train("breast-cancer", rows=100, rounds=2).classifier.weights)
    for weights in found[1:]:
        np.testing.assert_array_equal(weights, found[0])


def test_options_by_name_are_those_of_the_records() -> None:
    rows = read("breast-cancer")
    by_name = train(rows, order=3, weight_range=0.5, bits=2, solver="exact", features=3)
    by_record = train(
        rows,
        loss=LossOptions(order=3, weight_range=0.5),
        bits=2,
        options=SolveOptions("exact"),
        preparation={"features": 3, "scale": "robust", "bias": True},
    )
    assert by_name.method == "paper" and by_name.loss == by_record.loss
    np.testing.assert_array_equal(by_name.classifier.weights, by_record.classifier.weights)
    by_name = train(SMALL, rounds=2, starts=2, radius=0.3, step_bits=2, reads=4)
    by_record = train(
        SMALL, rounds=RoundOptions(rounds=2, starts=2, radius=0.3, bits=2), options=SolveOptions(
            reads=4
        )
    )  # fmt: skip
    assert by_name.method == "rounds" and len(by_name.rounds) == len(by_record.rounds)
    np.testing.assert_array_equal(by_name.classifier.weights, by_record.classifier.weights)


def test_every_option_of_the_records_has_a_name() -> None:
    records = (DataOptions, LossOptions, RoundOptions, SolveOptions)
    names = {field.name for record in records for field in fields(record)}
    own = {"l2", "seed", "rounds", "time_limit", "bits"}  # parameters of `train` itself
    rare = {"degree", "candidates", "parameters"}  # only in `RoundOptions` and `SolveOptions`
    assert set(TrainOptions.__annotations__) == (names - own - rare) | {"step_bits"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"oder": 3}, "unknown option 'oder'; expected one of positive, rows"),
        ({"noise": 0.1}, "noise= with a data set that is already read"),
        ({"order": 3, "starts": 2}, 'rounds= belongs to method="rounds"'),
        ({"order": 3, "method": "rounds"}, 'belong to method="paper"'),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        train(read(SMALL), **options)
