from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from qcompile import (
    Embedded,
    InputError,
    Machine,
    Qubo,
    compile,
    complete_chains,
    embed,
    expected_loss,
    load_machine,
    quadratize,
    read,
    with_chains,
)
from qcompile.data.prepare import prepare
from qcompile.rehearsal import expected_loss as module
from tests.judge import all_assignments
from tests.problems import cubic, polynomial

DRAWS = 3000


def spins_of(bits: np.ndarray) -> np.ndarray:
    return np.asarray(2.0 * bits - 1.0)


def factor_before_embedding(qubo: Qubo, machine: Machine) -> float:
    """Scale dimod's own spins to the ranges."""
    h, j, _ = qubo.to_bqm().to_ising()
    most_h = max(map(abs, h.values()), default=0.0) / machine.h_range[1]
    most_j = max(map(abs, j.values()), default=0.0) / machine.j_range[1]
    return 1.0 / max(most_h, most_j)


def tried_by_hand(qubo: Qubo, machine: Machine, errors: float) -> np.ndarray:
    """Draw errors, look at every state of bits and ancillas, and note what the lowest one loses."""
    assert machine.precision is not None
    states = all_assignments(qubo.variables)
    energies = np.asarray(qubo.to_bqm().energies((states, list(range(qubo.variables)))))
    spins = spins_of(states)
    pairs = list(qubo.to_bqm().quadratic)
    moves = np.hstack(
        [
            spins * machine.precision[0],
            np.stack([spins[:, a] * spins[:, b] for a, b in pairs], axis=1) * machine.precision[1],
        ]
    )
    moves *= errors / factor_before_embedding(qubo, machine)
    true = qubo.score(states[:, : qubo.logical])
    rng = np.random.default_rng(99)
    lost = [
        true[np.argmin(energies[:, None] + moves @ rng.standard_normal((moves.shape[1], 100)), 0)]
        for _ in range(DRAWS // 100)
    ]
    return np.asarray(np.concatenate(lost) - true.min())


@pytest.mark.parametrize(
    ("qubo", "errors"),
    [
        (quadratize(polynomial(8, 2)), 20.0),
        (quadratize(polynomial(8, 2)), 50.0),
        (cubic(6, seed=2), 5.0),
        (cubic(6, seed=2), 20.0),
    ],
)
def test_it_is_what_all_states_lose_under_many_draws(qubo: Qubo, errors: float) -> None:
    machine = load_machine("advantage2")
    lost = tried_by_hand(qubo, machine, errors)
    found = expected_loss(qubo, machine=machine, errors=errors)
    # both are means over draws: 1,000 of one and 3,000 of the other
    unsure = float(lost.std()) * np.sqrt(1 / 1000 + 1 / DRAWS)
    assert found.energy == pytest.approx(lost.mean(), abs=4 * unsure + 0.05 * lost.mean())
    assert found.changed == pytest.approx((lost > 1e-9).mean(), abs=0.07)
    assert found.energy > 0 and not found.at_least


def test_small_errors_cost_nothing_and_none_at_all_too() -> None:
    qubo = cubic(5, seed=3)
    for errors in (0.0, 0.1):
        found = expected_loss(qubo, machine="advantage", errors=errors)
        assert found.energy == found.changed == 0 and found.error is None


def drawn_on_qubits(embedded: Embedded, errors: float) -> float:
    """Draw errors of every qubit and coupler; all states with whole chains, by dimod."""
    machine = embedded.embedding.machine
    assert machine.precision is not None
    states = all_assignments(embedded.qubo.variables)
    labels = embedded.qubits.tolist()
    rows = spins_of(states)[:, embedded.variable]
    h, j, _ = embedded.to_bqm().to_ising()
    most = max(
        max(map(abs, h.values())) / machine.h_range[1],
        max(j.values()) / machine.j_range[1],
        -min(j.values()) / 2.0,
        *(abs(sum(v for pair, v in j.items() if q in pair)) / 15.0 for q in labels),
    )
    true = np.asarray(embedded.qubo.score(states[:, : embedded.qubo.logical]))
    rng, lost = np.random.default_rng(7), []
    place = {label: i for i, label in enumerate(labels)}
    first, second = np.array([[place[a], place[b]] for a, b in j]).T
    for _ in range(DRAWS):
        moved = rows @ rng.normal(0, errors * machine.precision[0] * most, len(labels))
        products = rows[:, first] * rows[:, second]
        moved += products @ rng.normal(0, errors * machine.precision[1] * most, len(first))
        lost.append(true[np.argmin(true + moved)] - true.min())
    return float(np.mean(lost))


@pytest.mark.parametrize("precision", [(0.04, 0.0), (0.0, 0.015), (0.01, 0.01)])
def test_errors_of_a_chain_add_up_and_those_inside_it_cancel(
    precision: tuple[float, float],
) -> None:
    qubo = quadratize(polynomial(7, 2, seed=1))
    machine = replace(load_machine("pegasus4"), precision=precision)
    embedded = with_chains(qubo, complete_chains(machine, 7))
    assert embedded.embedding.longest > 1
    found = expected_loss(embedded, errors=15.0)
    assert found.energy == pytest.approx(drawn_on_qubits(embedded, 15.0), rel=0.12)
    assert found.machine == "pegasus4"


def test_the_classification_error_is_that_of_the_states_that_win() -> None:
    rows = prepare(read("breast-cancer"), scale="standard", features=3, bias=True)
    made = compile(rows, bits=3, order=3)
    qubo = made.quadratize()
    found = expected_loss(qubo, machine="advantage", rows=rows, errors=3.0)
    states = all_assignments(qubo.logical)
    energies = qubo.score(states)
    best = rows.error(qubo.decode(states[int(np.argmin(energies))]))
    assert found.best_error == best and found.error is not None and found.changed > 0.1
    low = states[np.argsort(energies)[:300]]
    errors = rows.errors(qubo.decode(low))
    assert errors.min() - best <= found.error <= errors.max() - best
    still = expected_loss(qubo, machine="advantage", rows=rows, errors=0.0)
    assert still.error == 0 and still.best_error == best


def test_the_same_seed_gives_the_same_loss_and_another_one_a_similar() -> None:
    qubo = cubic(6, seed=2)
    one, again, other = (
        expected_loss(qubo, machine="advantage", errors=10.0, seed=seed) for seed in (0, 0, 1)
    )
    assert one == again != other
    assert other.energy == pytest.approx(one.energy, rel=0.3)


def test_a_list_that_is_too_short_gives_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    qubo = cubic(8, seed=1)
    whole = expected_loss(qubo, machine="advantage", errors=30.0)
    monkeypatch.setattr(module, "_STATES", 10)
    monkeypatch.setattr(module, "_FEWEST_STATES", 10)
    short = expected_loss(qubo, machine="advantage", errors=30.0)
    assert short.at_least and short.states == 10 and short.energy < whole.energy


def test_what_cannot_be_computed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    qubo = cubic(5)
    silent = replace(load_machine("pegasus4"), precision=None)
    with pytest.raises(InputError, match="no control errors are published"):
        expected_loss(qubo, machine=silent)
    with pytest.raises(InputError, match="no control errors"):
        expected_loss(embed(qubo, silent))
    monkeypatch.setattr(module, "MOST_COUPLINGS", 3)
    with pytest.raises(InputError, match="couplings; the expected loss is computed up to 3"):
        expected_loss(qubo)


def test_states_that_classify_alike_lose_no_accuracy_by_rounding() -> None:
    rows = prepare(read("breast-cancer"), scale="standard", features=3, bias=True)
    qubo = compile(rows, bits=1, order=3).quadratize()
    bits = np.ones((12, qubo.logical), dtype=np.int8)
    pool = module._Pool(bits, bits, np.zeros(12), np.zeros(12), 12, cut=False)
    for seed in range(20):
        share = np.random.default_rng(seed).dirichlet(np.ones(12))
        change, own = module._classification(qubo, pool, share, rows)
        assert change == 0 and own == rows.errors(qubo.decode(bits[:1]))[0]
