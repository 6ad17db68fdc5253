from __future__ import annotations

from typing import Any

import pytest

from qcompile import Dataset, InputError, prepare, read, rehearse_training, train
from qcompile.rehearsal import training as module


@pytest.fixture(scope="module")
def rows() -> Dataset:
    return prepare(read("breast-cancer"), scale="standard", features=5, bias=True)


def test_the_training_without_errors_is_that_of_train(rows: Dataset) -> None:
    found = rehearse_training(rows, "chimera4", beta=20.0, draws=2, reads=20, rounds=30)
    ideal = train(rows, method="rounds", rounds=30)
    assert found.objective_without == ideal.objective
    assert found.rounds_without == len(ideal.rounds)
    assert found.errors_without == dict(ideal.errors)
    assert found.descent_objective == ideal.risks[1].objective
    assert len(found.draws) == 2 and found.weights == 6
    # the published errors cost next to nothing here
    assert abs(found.objective_above.mean) < 2e-3
    assert found.errors_above["train"].mean == pytest.approx(
        sum(draw.errors["train"] for draw in found.draws) / 2 - ideal.errors["train"]
    )


def test_large_errors_cost_more_than_small_ones(rows: Dataset) -> None:
    how: dict[str, Any] = {"beta": 20.0, "draws": 1, "reads": 3, "rounds": 8}
    still = rehearse_training(rows, "chimera4", errors=0.0, **how)
    rough = rehearse_training(rows, "chimera4", errors=500.0, **how)
    assert rough.objective_above.mean > still.objective_above.mean
    assert rough.broken.mean > still.broken.mean
    assert rehearse_training(rows, "chimera4", errors=500.0, **how) == rough


def test_an_interrupted_training_is_no_draw(
    rows: Dataset, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from qcompile.solvers.mock_machine import MockMachine

    original, calls = MockMachine.sample, [0]

    def stopped(self: Any, *values: Any, **how: Any) -> Any:
        calls[0] += 1
        if calls[0] > 4:  # in the third round of the second training
            raise KeyboardInterrupt
        return original(self, *values, **how)

    monkeypatch.setattr(MockMachine, "sample", stopped)
    how: dict[str, Any] = {"beta": 5.0, "draws": 3, "reads": 5, "rounds": 2}
    found = rehearse_training(rows, "chimera4", **how)
    assert found.interrupted and len(found.draws) == 2
    assert "keeping 2 of 3 draws" in caplog.text
    calls[0] = 4
    with pytest.raises(KeyboardInterrupt):
        rehearse_training(rows, "chimera4", **how)


def test_a_training_needs_a_draw(rows: Dataset) -> None:
    with pytest.raises(InputError, match="0 draws; expected 1"):
        rehearse_training(rows, "chimera4", draws=0)
    assert module._MOST_DRAWS >= 100
