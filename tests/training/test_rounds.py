"""Training in rounds against L-BFGS on an objective written here, with scipy alone."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import ndtr

from qcompile import (
    Dataset,
    InputError,
    MockMachine,
    RoundOptions,
    SolveOptions,
    add_noise,
    from_arrays,
    load_classifier,
    load_machine,
    prepare,
    read,
    save_classifier,
    train,
)
from qcompile.training import rounds as rounds_module

Floats = NDArray[np.float64]


def breast(noise: float = 0.0) -> Dataset:
    data = prepare(read("breast-cancer"), scale="robust", bias=True)
    return add_noise(data, noise, seed=1) if noise else data


def best_objective(data: Dataset, l2: float, starts: int = 10) -> float:
    x = data.x.toarray() if sp.issparse(data.x) else data.x
    u = data.y[:, None] * x / np.linalg.norm(x, axis=1)[:, None]

    def objective(w: Floats) -> tuple[float, Floats]:
        z = u @ w
        density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        return float(ndtr(-z).mean() + l2 / 2 * w @ w), -u.T @ density / len(u) + l2 * w

    rng = np.random.default_rng(0)
    begins = [np.zeros(x.shape[1]), *(rng.normal(size=x.shape[1]) for _ in range(starts - 1))]
    return min(float(minimize(objective, w, jac=True, method="L-BFGS-B").fun) for w in begins)


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_rounds_reach_what_descent_reaches(noise: float) -> None:
    data = breast(noise)
    found = train(data, seed=1)
    assert found.method == "rounds" and found.l2 is not None
    assert found.objective - best_objective(data, found.l2) < 1e-4
    assert len(found.rounds) <= 60


@pytest.mark.parametrize("bits", [1, 2])
def test_levels_reach_it_too(bits: int) -> None:
    data = breast(0.3)
    found = train(data, rounds=RoundOptions(bits=bits), seed=2)
    assert found.l2 is not None
    assert found.objective - best_objective(data, found.l2) < 3e-4


def test_the_third_degree_reaches_it_too() -> None:
    data = prepare(read("breast-cancer"), scale="robust", bias=True, features=6)
    found = train(data, rounds=RoundOptions(degree=3), seed=2)
    assert found.l2 is not None
    assert found.objective - best_objective(data, found.l2) < 3e-4


def test_a_machine_with_control_errors_and_broken_chains() -> None:
    data = breast(0.3)
    options = SolveOptions(MockMachine("pegasus4", errors=0.02), 20)
    found = train(data, options=options, seed=3)
    assert found.l2 is not None
    assert found.objective - best_objective(data, found.l2) < 1e-3
    assert len(found.rounds) <= 60
    assert max(own.broken for own in found.rounds) > 0


def test_blocks_train_more_weights_than_a_machine_takes() -> None:
    data = breast()
    options = SolveOptions(MockMachine("chimera4", errors=0.02), 20)
    found = train(data, options=options, rounds=RoundOptions(rounds=150), seed=3)
    assert found.l2 is not None
    assert {own.weights for own in found.rounds} == {16}
    assert found.objective - best_objective(data, found.l2) < 2e-3


def test_rounds_record_what_happened() -> None:
    found = train(breast(), seed=1)
    objectives = [own.objective for own in found.rounds]
    assert objectives == sorted(objectives, reverse=True)
    first = objectives[0] - (found.rounds[0].reached if found.rounds[0].rank is not None else 0.0)
    for before, own in zip([first, *objectives], found.rounds, strict=False):
        taken = own.rank is not None
        assert taken == (own.reached < 0) == (own.objective < before)
        assert own.objective == pytest.approx(before + (own.reached if taken else 0.0))
        assert own.expected <= 1e-12
    assert found.classifier.source.objective == pytest.approx(objectives[-1])
    assert found.risks[0].objective == pytest.approx(objectives[-1])
    json.dumps([own.to_dict() for own in found.rounds])


def test_the_same_seed_gives_the_same_weights() -> None:
    # so weak a search that its random numbers matter
    searches = (SolveOptions("anneal", 1, 8, 1, seed) for seed in (5, 5, 6))
    one, two, other = (train(breast(0.3), options=search) for search in searches)
    assert one.classifier.weights.tobytes() == two.classifier.weights.tobytes()
    assert one.classifier.weights.tobytes() != other.classifier.weights.tobytes()


def test_dense_and_sparse_raw_rows() -> None:
    data = read("breast-cancer")
    x = data.x.toarray() if sp.issparse(data.x) else data.x
    dense, sparse = (train(from_arrays(rows, data.y), seed=1) for rows in (x, sp.csr_array(x)))
    assert dense.errors["train"] == pytest.approx(sparse.errors["train"], abs=0.005)
    assert dense.objective == pytest.approx(sparse.objective, abs=1e-4)


def test_several_starts_keep_the_best() -> None:
    found = train(breast(0.3), rounds=RoundOptions(starts=3), seed=1)
    last = {own.start: own.objective for own in found.rounds}
    assert sorted(last) == [0, 1, 2]
    assert found.objective == pytest.approx(min(last.values()))


def test_validation_rows_choose_among_the_lowest() -> None:
    data = add_noise(read("breast-cancer"), 0.3, seed=2)
    found = train(data, validation=0.3, seed=1, options=SolveOptions("anneal", 8, 50, 50))
    source = found.classifier.source
    assert source.validation_error == pytest.approx(found.errors["validation"])
    assert source.rank is not None and 0 <= source.rank < 50


def test_cross_validation_chooses_the_price() -> None:
    found = train(add_noise(read("breast-cancer"), 0.2, seed=1), l2=[0.03, 1e-3], folds=3, seed=1)
    assert sorted(trial.l2 for trial in found.trials) == [1e-3, 0.03]
    assert found.trials[0].error <= found.trials[1].error
    assert found.l2 == found.trials[0].l2
    # a fifth of the labels of the folds are wrong, too
    assert 0.2 < found.trials[0].error < 0.25


def test_rare_classes_are_not_given_up() -> None:
    """A fixed price of 0.001 would give the commoner label everywhere."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 10))
    y = np.where(x @ np.r_[2.0, -1.5, 1, np.zeros(7)] > 5.2, 1, -1)
    found = train(from_arrays(x, y), test=0.3, seed=1)
    assert found.baseline < 0.05
    assert found.errors["test"] < 0.6 * found.baseline


def test_gross_outliers_do_not_spoil_it() -> None:
    rng = np.random.default_rng(1)
    data = read("breast-cancer")
    x = np.array(data.x.toarray() if sp.issparse(data.x) else data.x)
    wild = rng.choice(len(x), len(x) // 20, replace=False)
    x[wild] *= rng.uniform(-100, 100, size=(len(wild), 1))
    found = train(from_arrays(x, data.y), seed=1)
    clean = np.setdiff1d(np.arange(len(x)), wild)
    assert found.classifier.error(x[clean], data.y[clean]) < 0.06


def test_interruption_keeps_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    true, calls = rounds_module._round, []

    def interrupted(*arguments: Any) -> None:
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        true(*arguments)

    monkeypatch.setattr(rounds_module, "_round", interrupted)
    found = train(breast(), seed=1)
    assert len(found.rounds) == 5
    assert found.errors["train"] < found.baseline


def test_interruption_of_cross_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in a fold ends the choice of l2, not only the training at one price."""
    true, calls = rounds_module._round, []

    def interrupted(*arguments: Any) -> None:
        calls.append(1)
        if len(calls) == 20:
            raise KeyboardInterrupt
        true(*arguments)

    monkeypatch.setattr(rounds_module, "_round", interrupted)
    with pytest.raises(KeyboardInterrupt):  # no fold was through
        train(read("breast-cancer"), l2=[0.01, 0.001], folds=3, seed=1)
    assert len(calls) == 20


def test_limits_of_rounds_and_time() -> None:
    own = train(breast(), rounds=RoundOptions(time_limit=1e-9), seed=1)
    assert not own.rounds
    shared = train(breast(), l2=[0.01, 0.001], time_limit=1e-9, folds=2, seed=1)
    assert not shared.rounds and len(shared.trials) == 2
    few = train(breast(), rounds=RoundOptions(rounds=3), seed=1)
    assert len(few.rounds) == 3
    assert any("rounds=" in note for note in few.notes)
    none = train(breast(), time_limit=1e-9, seed=1)
    assert not none.rounds and any("time_limit=" in note for note in none.notes)


def test_progress_counts_rounds() -> None:
    seen: list[tuple[int, int | None]] = []
    found = train(breast(), seed=1, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(n + 1, 100) for n in range(len(found.rounds))]


def test_files_keep_how_it_was_trained(tmp_path: Any) -> None:
    found = train(breast(), seed=1)
    save_classifier(found.classifier, tmp_path / "model.json")
    again = load_classifier(tmp_path / "model.json")
    assert again.source.method == "rounds"
    assert again.source.rounds == len(found.rounds)
    assert again.source.l2 == found.l2
    assert again.weights.tobytes() == found.classifier.weights.tobytes()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "magic"}, "expected one of auto, rounds, paper"),
        ({"method": "rounds", "bits": 3}, "belong to method"),
        ({"method": "paper", "l2": "cv"}, "is a number"),
        ({"l2": "best"}, "expected a number, numbers to choose from, or 'cv'"),
        ({"l2": -1.0}, "l2 -1; expected a number of 0 or more"),
        ({"l2": [0.0]}, "expected numbers above 0"),
        ({"rounds": {"radius": 0.0}}, "radius 0; expected a number above 0"),
        ({"rounds": {"width": -1.0}}, "width -1; expected a number above 0"),
        ({"rounds": {"rounds": 0}}, "rounds 0; expected at least 1"),
        ({"time_limit": 0.0}, "time limit 0; expected seconds above 0"),
    ],
)
def test_bad_input_is_told_in_one_line(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as error:
        own = options.pop("rounds", None)
        settings = None if own is None else RoundOptions(**own)
        train(breast(), rounds=settings, **options)
    assert "\n" not in str(error.value)


def test_nothing_to_learn_from() -> None:
    x = np.random.default_rng(0).normal(size=(20, 2))
    one_class = Dataset(x, np.ones(20), from_arrays(x, np.arange(20) % 2).preparation)
    with pytest.raises(InputError, match="all of one class"):
        train(one_class)
    with pytest.raises(InputError, match="all features are zero"):
        train(from_arrays(np.zeros((20, 2)), np.arange(20) % 2))


def test_a_block_larger_than_the_machine() -> None:
    machine = load_machine("chimera4")
    options = SolveOptions("mock", 10)
    with pytest.raises(InputError, match="chimera4 takes up to 16"):
        train(breast(), options=options, machine=machine, rounds=RoundOptions(block=20))


def test_several_step_sizes_take_fewer_rounds() -> None:
    data = breast(0.3)
    one, three = train(data, seed=1), train(data, seed=1, copies=3)
    assert three.l2 is not None
    assert len(three.rounds) < len(one.rounds) / 2
    assert three.objective - best_objective(data, three.l2) < 1e-4
    with pytest.raises(InputError, match="expected 1 to 16 step sizes"):
        train(data, copies=0)
