from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from qcompile import InputError, RehearsedMachine, load_machine, solve
from qcompile.solvers.noise import (
    UNKNOWN_BETAS,
    Drawn,
    MachineModel,
    anneal_noisily,
    draw_errors,
    models_of,
)
from tests.by_brute_force import brute_force
from tests.judge import all_assignments
from tests.problems import polynomial

NONE = np.zeros((2, 0), dtype=np.int64)


def test_temperatures_are_the_published_ones_or_a_range() -> None:
    hot, single = models_of(load_machine("advantage2"))
    assert single.beta == pytest.approx(1 / 0.112) and "0.112" in single.beta_source
    # 2 k T / B with k / h = 20.837 GHz / K
    assert hot.beta == pytest.approx(2.308 / (2 * 20.836619e-3 * 20.0), rel=1e-4)
    assert "20 mK" in hot.beta_source and hot.beta < single.beta
    unknown = models_of(load_machine("chimera4"))
    assert tuple(model.beta for model in unknown) == UNKNOWN_BETAS
    assert "no temperature is published" in unknown[0].beta_source
    assert [m.beta for m in models_of(load_machine("advantage"), beta=(5, 2.0))] == [2.0, 5.0]


def test_errors_are_multiples_of_those_in_the_file_of_the_machine() -> None:
    machine = replace(load_machine("chimera4"), precision=(0.03, 0.02))
    (model,) = models_of(machine, errors=2.0, beta=3.0)
    assert (model.sigma_h, model.sigma_j) == (0.06, 0.04)
    assert "2 times the precision" in model.errors_source
    (usual,) = models_of(replace(machine, precision=None), beta=3.0)
    assert usual.sigma_h == 0.01 and "none is published" in usual.errors_source


@pytest.mark.parametrize(("engine", "sweeps"), [("anneal", 400), ("path-integral", 300)])
def test_single_qubits_end_at_the_temperature(engine: str, sweeps: int) -> None:
    """At the inverse temperature b a qubit with field h is up with 1 / (1 + exp(2 b h))."""
    fields = np.linspace(-1.0, 1.0, 9)
    model = MachineModel(0.0, 0.0, 1.5, engine, sweeps)
    still = Drawn(np.zeros(9), np.zeros(0))
    states = anneal_noisily(fields, NONE, np.zeros(0), still, model, reads=2000, seed=3)
    up = (states > 0).mean(axis=0)
    assert up == pytest.approx(1 / (1 + np.exp(2 * 1.5 * fields)), abs=0.05)


@pytest.mark.parametrize("engine", ["anneal", "path-integral"])
def test_the_errors_that_are_drawn_are_added(engine: str) -> None:
    # without a field of its own each spin follows the error
    model = MachineModel(0.5, 0.5, 50.0, engine)
    drawn = Drawn(np.array([2.0, -2.0]), np.zeros(0))
    states = anneal_noisily(np.zeros(2), NONE, np.zeros(0), drawn, model, reads=5, seed=1)
    assert (states == [-1, 1]).all()
    pair = np.array([[0], [1]])
    for sign in (1, -1):
        weak = Drawn(np.zeros(2), np.array([2.0 * sign]))
        states = anneal_noisily(np.zeros(2), pair, np.zeros(1), weak, model, reads=5, seed=1)
        assert (states[:, 0] * states[:, 1] == -sign).all()


def test_errors_have_the_deviation_one() -> None:
    drawn = draw_errors(np.random.default_rng(1), 4000, 4000)
    assert drawn.fields.std() == pytest.approx(1, rel=0.05)
    assert drawn.couplings.std() == pytest.approx(1, rel=0.05)
    assert abs(np.corrcoef(drawn.fields, drawn.couplings)[0, 1]) < 0.05


def test_what_is_out_of_range_is_refused() -> None:
    machine = load_machine("chimera4")
    for options in (
        {"errors": -1.0}, {"errors": float("nan")}, {"engine": "hot"}, {"sweeps": 0},
        {"beta": 0.0}, {"beta": ()}, {"beta": float("nan")}, {"beta": (1.0, -1.0)},
    ):  # fmt: skip
        with pytest.raises(InputError, match="expected"):
            models_of(machine, **options)


def test_solve_takes_one_draw_and_the_seed_chooses_it() -> None:
    pubo = polynomial(5, 2, seed=4)
    one, same, other = (
        solve(pubo, solver="rehearse", machine="chimera4", reads=30, seed=seed)
        for seed in (0, 0, 1)
    )
    assert one.bits.tobytes() == same.bits.tobytes() and one.info["solver"] == "rehearse"
    assert one.energies[0] == other.energies[0] == pytest.approx(brute_force(pubo).min())
    states = all_assignments(5)
    assert pubo.energies(states).min() == pytest.approx(one.energies[0])


def test_a_rehearsed_machine_has_the_graph_and_the_model_of_its_machine() -> None:
    machine = load_machine("chimera4").without([5])
    sampler = RehearsedMachine(machine, errors=3.0, beta=2.0, engine="path-integral", seed=4)
    assert 5 not in sampler.nodelist and len(sampler.nodelist) == 127
    assert (sampler.model,) == models_of(machine, errors=3.0, beta=2.0, engine="path-integral")
    assert sampler.properties["chip_id"] == "rehearsal of chimera4"
    assert RehearsedMachine("advantage").model.beta == pytest.approx(1 / 0.221)
    with pytest.raises(InputError, match="seed"):
        RehearsedMachine(machine, seed=-1)
