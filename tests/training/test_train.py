from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qcompile import (
    Dataset,
    InputError,
    fit_loss,
    from_arrays,
    load_machine,
    moments_of,
    prepare,
    read,
    split,
    train,
)
from qcompile.data.prepare import PrepareOptions
from qcompile.objective.fit import LossOptions
from qcompile.solvers.options import SolveOptions


def test_training_accounts_for_every_stage(cancer: Dataset) -> None:
    found = train(cancer, bits=3, validation=0.2, test=0.3, seed=2)
    assert found.method == "paper" and found.samples is not None
    assert [s["stage"] for s in found.stages] == ["moments", "loss", "pubo", "anneal", "decode"]
    names = [r["classifier"] for r in found.risks]
    assert names == ["best continuous", "rounded to the grid", "lowest state found", "returned"]
    objective = {r["classifier"]: r["objective"] for r in found.risks}
    assert objective["best continuous"] <= objective["lowest state found"] + 1e-9
    assert objective["lowest state found"] <= objective["rounded to the grid"] + 1e-9
    assert objective["lowest state found"] == pytest.approx(found.samples.energies[0])
    assert set(found.errors) == {"train", "validation", "test"}
    assert all(error < 0.2 for error in found.errors.values())


def test_stages_and_risks_answer_by_name_and_by_key(cancer: Dataset) -> None:
    found = train(cancer, bits=1, options=SolveOptions(solver="exact"))
    for stage in found.stages:
        assert list(stage) == ["stage", "seconds", "size"]
        assert (stage.name, stage.seconds) == (stage["stage"], stage["seconds"])
    for risk in found.risks:
        assert list(risk) == ["classifier", "objective", "0-1 risk"]
        assert (risk.objective, risk.error) == (risk["objective"], risk["0-1 risk"])
    assert found.risks[-1].error == found.errors["train"]


def test_preparation_is_a_record_or_a_dictionary() -> None:
    raw = read("breast-cancer")
    options = SolveOptions(solver="exact")
    by_record = PrepareOptions("standard", features=3, bias=True)
    by_key = {"scale": "standard", "features": 3, "bias": True}
    one = train(raw, preparation=by_record, bits=1, test=0.3, options=options)
    two = train(raw, preparation=by_key, bits=1, test=0.3, options=options)
    assert one.errors == two.errors
    assert (one.classifier.weights == two.classifier.weights).all()
    with pytest.raises(InputError, match="'scaling'; expected scale, features, bias"):
        train(raw, preparation={"scaling": "standard"})


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["exact", "neal", "mock"])
def test_training_takes_any_solver(cancer: Dataset, solver: str) -> None:
    small = prepare(read("breast-cancer"), scale="standard", features=4)
    options = SolveOptions(solver=solver, reads=20)
    found = train(small, bits=1, options=options, machine=load_machine("pegasus4"))
    exact = train(small, bits=1, options=SolveOptions(solver="exact"))
    assert found.samples is not None and exact.samples is not None
    assert found.samples.energies[0] == pytest.approx(exact.samples.energies[0])
    stages = [s["stage"] for s in found.stages]
    assert ("qubo" in stages) == (solver != "exact")


def test_high_orders_are_annealed_over_the_margins(cancer: Dataset) -> None:
    found = train(cancer, bits=4, loss=LossOptions(order=6), options=SolveOptions(reads=30))
    assert found.loss is not None and found.samples is not None
    assert found.samples.info["space"] == "margins"
    weights = found.classifier.weights
    objective = float(np.mean(found.loss(cancer.margins(weights))))
    objective += found.loss.l2 / 2 * float(weights @ weights)
    assert found.classifier.source["energy"] == pytest.approx(objective)
    assert found.errors["train"] < 0.1


def test_parts_may_be_given_or_set_aside(cancer: Dataset) -> None:
    half = cancer.take(slice(0, 300))
    rest = cancer.take(slice(300, None))
    found = train(half, bits=2, test=rest)
    assert found.errors["test"] == pytest.approx(rest.error(found.classifier.weights))
    with pytest.raises(InputError, match="leave rows for training"):
        train(cancer, validation=0.6, test=0.5)
    with pytest.raises(InputError, match="leave rows for training"):
        train(cancer, validation=-0.1)


def test_sixteen_bits_reach_the_largest_weight() -> None:
    x = np.ones((6, 2)) * np.array([1, -1, 1, -1, 1, -1])[:, None]
    data = from_arrays(x, np.array([1, -1, 1, -1, 1, -1]))
    for bits in (15, 16):
        loss = LossOptions(order=1, weight_range=1.0)
        found = train(data, bits=bits, loss=loss, preparation={})
        assert found.classifier.weights == pytest.approx([1.0, 1.0])


def test_parts_are_set_aside_before_they_are_prepared() -> None:
    raw = read("breast-cancer")
    wanted: dict[str, Any] = {"scale": "standard", "features": 4, "bias": True}
    found = train(raw, bits=2, test=0.4, validation=0.1, seed=3, preparation=wanted)
    rows, _, held = split(raw, (0.5, 0.1, 0.4), seed=3)
    made = prepare(rows, **wanted).preparation
    assert found.classifier.preparation.to_dict() == made.to_dict()
    labels = held.preparation.labels(held.y)
    assert found.errors["test"] == found.classifier.error(held.x, labels)
    assert found.baseline == pytest.approx(min(np.mean(rows.y > 0), np.mean(rows.y < 0)))


@pytest.mark.slow
def test_a_loss_that_pays_for_wrong_answers_gets_a_narrower_range(cancer: Dataset) -> None:
    found = train(cancer, loss=LossOptions(order=8))
    assert found.errors["train"] < 0.2
    first = fit_loss(moments_of(cancer, 1), 8).range_
    assert found.loss is not None and found.loss.range_ < first
    assert sum("narrowed to" in note for note in found.notes) == 1
    own = train(
        cancer, loss=LossOptions(order=8, weight_range=first), options=SolveOptions(reads=20)
    )
    assert own.loss is not None and own.loss.range_ == first and own.errors["train"] > 0.5
    assert any("wrong margins are rewarded" in note for note in own.notes)


def test_high_orders_tell_where_accuracy_is_lost(cancer: Dataset) -> None:
    found = train(cancer, bits=2, loss=LossOptions(order=6), options=SolveOptions(reads=30))
    objective = {r["classifier"]: r["objective"] for r in found.risks}
    assert objective["best continuous near it"] <= objective["lowest state found"] + 1e-9
