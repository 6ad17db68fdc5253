from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qcompile import Dataset, Pubo, discretize, moments_of, prepare, read, solve, train
from qcompile.objective.fit import LossOptions
from qcompile.solvers.options import SolveOptions
from qcompile.training import risks, search
from qcompile.training.search import _effort


def test_fine_grids_are_searched_at_all_scales() -> None:
    data = prepare(read("breast-cancer"), scale="standard", features=2)
    found = train(data, bits=15)
    objective = {r["classifier"]: r["objective"] for r in found.risks}
    assert objective["lowest state found"] <= objective["rounded to the grid"] + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(("order", "bits"), [(4, 4), (6, 3), (8, 3)])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_search_over_the_margins_ends_at_the_lowest_state(
    order: int, bits: int, seed: int
) -> None:
    data = prepare(read("breast-cancer"), scale="standard", features=4, bias=True)
    loss = LossOptions(order=order)
    found = train(data, bits=bits, loss=loss, options=SolveOptions(seed=seed))
    assert found.loss is not None and found.samples is not None
    assert found.samples.info["space"] == "margins"
    pubo = discretize(moments_of(data, order), found.loss, bits)
    exact = solve(pubo, solver="exact")
    assert found.samples.energies.min() == pytest.approx(exact.energies.min(), abs=1e-9)
    objective = {r["classifier"]: r["objective"] for r in found.risks}
    assert objective["lowest state found"] <= objective["that rounded to the grid"] + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_a_short_search_is_no_worse_than_rounding(cancer: Dataset, seed: int) -> None:
    options = SolveOptions(reads=1, sweeps=1, seed=seed)
    found = train(cancer, bits=4, loss=LossOptions(order=6), options=options)
    objective = {r["classifier"]: r["objective"] for r in found.risks}
    assert objective["lowest state found"] <= objective["that rounded to the grid"] + 1e-12


def test_ctrl_c_near_the_end_keeps_what_was_found(
    cancer: Dataset, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    inner, calls = risks.descend, []

    def interrupted(*given: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return inner(*given)

    monkeypatch.setattr(search, "descend", interrupted)
    found = train(cancer, bits=3, loss=LossOptions(order=6), options=SolveOptions(reads=5))
    assert found.samples is not None and found.samples.info["space"] == "margins"
    assert "keeping the best states so far" in caplog.text
    assert found.errors["train"] < 0.2


def test_small_data_get_all_restarts_and_large_ones_a_fifth_at_least() -> None:
    small, options = read("synthetic").take(slice(50)), SolveOptions(reads=40)
    assert _effort(small, options) == (40, 1000)
    large = read("synthetic:examples=200000,features=100")
    assert _effort(large, options) == (8, 200)
    assert _effort(large, SolveOptions(reads=40, sweeps=7)) == (40, 7)
    assert _effort(large, SolveOptions(reads=1)) == (1, 200)


@pytest.mark.parametrize(("bits", "l0"), [(1, 0.0), (3, 0.0), (1, 0.02), (3, 0.02)])
def test_the_search_over_the_weights_ends_at_the_lowest_state(bits: int, l0: float) -> None:
    data = prepare(read("breast-cancer"), scale="standard", features=4, bias=True)
    found = train(data, bits=bits, l0=l0, options=SolveOptions(reads=40))
    assert found.loss is not None and found.samples is not None
    assert found.samples.info["space"] == "weights"
    exact = solve(discretize(moments_of(data, 3), found.loss, bits, l0=l0), solver="exact")
    assert found.samples.energies.min() == pytest.approx(exact.energies.min(), abs=1e-9)
    # bits, indicators of l0 included, and energies belong together
    assert isinstance(found.problem, Pubo) and found.problem.has_terms
    assert found.problem.energies(found.samples.bits) == pytest.approx(found.samples.energies)
    weights = found.problem.decode(found.samples.bits)
    assert len(np.unique(weights, axis=0)) == len(weights) >= min(50, 2 ** (5 * bits - 1))


def test_a_large_polynomial_of_bits_is_not_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    data = prepare(read("breast-cancer"), scale="standard", features=4, bias=True)
    options = SolveOptions(reads=10)
    written = train(data, bits=3, l0=0.02, options=options)
    monkeypatch.setattr(search, "_WRITTEN_OUT", 0)
    monkeypatch.setattr(search, "discretize", None)
    found = train(data, bits=3, l0=0.02, options=options)
    assert isinstance(found.problem, Pubo) and not found.problem.has_terms
    assert [stage.name for stage in found.stages] == ["moments", "loss", "anneal", "decode"]
    assert (found.classifier.weights == written.classifier.weights).all()
    assert written.samples is not None and found.samples is not None
    assert (found.samples.energies == written.samples.energies).all()


def test_more_weights_than_a_cubic_holds_are_annealed_over_the_margins(
    cancer: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MOST_FEATURES", 5)
    found = train(cancer, bits=2, options=SolveOptions(reads=20))
    assert found.samples is not None and found.samples.info["space"] == "margins"
    assert found.errors["train"] < 0.2


def test_fewer_restarts_than_asked_for_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qcompile.training.search._WORK", 1e4)
    rows = read("breast-cancer")

    def notes(options: SolveOptions) -> str:
        found = train(rows, bits=4, loss=LossOptions(order=6), options=options)
        return " ".join(found.notes)

    assert "10 of 50 reads were made" in notes(SolveOptions(reads=50))
    assert "reads were made" not in notes(SolveOptions(reads=20, sweeps=3))


def test_many_rows_are_searched_in_a_sample_and_judged_on_all(
    cancer: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    options, loss = SolveOptions(reads=20), LossOptions(order=6)
    monkeypatch.setattr(search, "_SAMPLED_ENTRIES", 200 * cancer.features)
    assert len(search._sample(cancer)) == 200
    found = train(cancer, bits=3, loss=loss, options=options)
    assert found.loss is not None and found.samples is not None
    weights = found.classifier.weights
    wanted = float(np.mean(found.loss(cancer.margins(weights))))
    wanted += found.loss.l2 / 2 * float(weights @ weights)
    assert found.samples.energies[0] == pytest.approx(wanted)
    monkeypatch.undo()
    whole = train(cancer, bits=3, loss=loss, options=options)
    assert whole.samples is not None
    assert found.samples.energies[0] <= whole.samples.energies[0] + 1e-3
