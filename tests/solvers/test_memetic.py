from __future__ import annotations

import contextlib
import io
import itertools
import os
import signal
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import InputError, Pubo, compile, read_pubo, solve
from qcompile.solvers.restarts import DEFAULT_SWEEPS, Search, run_restarts
from tests.by_brute_force import brute_force, energy
from tests.problems import polynomial

Terms = dict[tuple[int, ...], float]


def random_terms(variables: int, degree: int, seed: int, *, whole: bool) -> Terms:
    rng = np.random.default_rng(seed)
    every = [t for j in range(degree + 1) for t in itertools.combinations(range(variables), j)]
    chosen = [every[k] for k in rng.choice(len(every), min(len(every), 40), replace=False)]
    values = rng.integers(-3, 4, len(chosen)) if whole else rng.normal(size=len(chosen))
    return {(): 1.5, **dict(zip(chosen, map(float, values), strict=True)), (variables - 1,): 0.25}


def lowest(terms: Terms, values: tuple[int, int], variables: int) -> float:
    states = itertools.product(values, repeat=variables)
    return min(energy(terms, dict(enumerate(state))) for state in states)


@settings(max_examples=25, deadline=None)
@given(
    variables=st.integers(1, 8),
    degree=st.integers(2, 6),
    seed=st.integers(0, 99),
    kind=st.sampled_from(("SPIN", "BINARY")),
    whole=st.booleans(),
    solver=st.sampled_from(("memetic", "auto")),
)
def test_small_problems_are_solved_in_bits_and_in_spins(
    variables: int, degree: int, seed: int, kind: str, whole: bool, solver: str
) -> None:
    terms = random_terms(variables, min(degree, variables), seed, whole=whole)
    pubo = read_pubo(terms, vartype=kind)
    found = solve(pubo, solver=solver, reads=10, keep=5, seed=seed)
    values = (-1, 1) if kind == "SPIN" else (0, 1)
    assert found.energies[0] == pytest.approx(lowest(terms, values, variables))
    states = found.bits if kind == "BINARY" else 2 * found.bits - 1
    for state, known in zip(states, found.energies, strict=True):
        assert known == pytest.approx(energy(terms, dict(enumerate(state.tolist()))))
    assert len(np.unique(found.bits, axis=0)) == len(found)
    assert (np.diff(found.energies) >= 0).all()


def test_the_lowest_states_are_kept() -> None:
    pubo = polynomial(9, 4, seed=3)
    found = solve(pubo, solver="memetic", reads=20, keep=8)
    assert found.energies == pytest.approx(np.sort(brute_force(pubo))[:8])


def test_a_search_is_the_same_on_any_number_of_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    problems = [polynomial(30, 4, share=0.02), read_pubo(low_autocorrelation(14), vartype="SPIN")]
    for pubo, solver in itertools.product(problems, ("memetic", "auto")):
        found = []
        for cores in (1, 2):
            monkeypatch.setattr("qcompile.runtime.threads.cores", lambda cores=cores: cores)
            options: dict[str, Any] = {"reads": 9, "sweeps": 20, "seed": 5}
            samples = solve(pubo, solver=solver, **options)
            until = solve(pubo, solver=solver, target=float(samples.energies[2]), **options)
            found.append((samples.bits.tobytes(), until.bits.tobytes(), until.info["reads"]))
        assert found[0] == found[1]


def test_a_search_does_not_depend_on_the_hash_seed() -> None:
    program = (
        "from qcompile import read_pubo, solve; "
        "pubo = read_pubo({('a', 'b', 'c'): 1, ('b', 'd'): -1, ('c', 'e', 'a', 'd'): 1}, "
        "vartype='SPIN'); "
        "print(solve(pubo, reads=4, seed=1, solver='auto').bits.tolist())"
    )
    here = io.StringIO()
    with contextlib.redirect_stdout(here):
        exec(program)
    other = "1" if os.environ.get("PYTHONHASHSEED") == "2" else "2"
    there = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": other},
        check=True,
        capture_output=True,
        text=True,
    )
    assert there.stdout == here.getvalue()


def low_autocorrelation(spins: int) -> Terms:
    """The sum of the squares of all autocorrelations, multiplied out naively."""
    terms: Terms = {}
    for lag in range(1, spins):
        pairs = [(i, i + lag) for i in range(spins - lag)]
        for one, other in itertools.product(pairs, pairs):
            members = tuple(sorted(set(one) ^ set(other)))
            terms[members] = terms.get(members, 0.0) + 1.0
    return terms


def test_low_autocorrelation_is_searched_in_spins() -> None:
    pubo = read_pubo(low_autocorrelation(20), vartype="SPIN")
    for solver in ("memetic", "auto", "anneal"):
        found = solve(pubo, solver=solver, reads=40, seed=1)
        assert found.info["space"] == "spins"
        assert found.energies[0] == 26
    bits = Pubo(pubo.variables, pubo.constant, pubo.indices, pubo.coefficients)
    assert solve(bits, solver="memetic", reads=4).info["space"] == "bits"


def test_a_target_ends_the_search() -> None:
    pubo = read_pubo(low_autocorrelation(20), vartype="SPIN")
    for solver in ("memetic", "auto", "anneal"):
        found = solve(pubo, solver=solver, reads=1000, target=26)
        assert found.energies[0] == 26
        assert found.info["reads"] < 1000
    with pytest.raises(InputError, match="target with solver exact"):
        solve(pubo, solver="exact", target=26)


def test_a_time_limit_ends_the_search() -> None:
    pubo = polynomial(60, 4, share=0.01)
    solve(pubo, solver="memetic", reads=1, sweeps=1)  # compiles
    found = solve(pubo, solver="memetic", reads=100, sweeps=10_000_000, time_limit=0.2)
    assert len(found) == 50
    assert 1 <= found.info["reads"] < 100
    for limit in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(InputError, match="seconds above 0"):
            solve(pubo, time_limit=limit, solver="memetic")


@pytest.mark.parametrize("cores", [1, 2])
def test_ctrl_c_keeps_the_best_of_a_long_restart(
    cores: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("qcompile.runtime.threads.cores", lambda: cores)
    pubo = polynomial(60, 4, share=0.01)
    solve(pubo, solver="memetic", reads=1, sweeps=1)  # compiles
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    found = solve(pubo, solver="memetic", reads=100, sweeps=10_000_000)
    timer.join()
    assert "keeping the best states so far" in caplog.text
    assert len(found) == 50
    assert 1 <= found.info["reads"] < 100


def test_auto_anneals_weights_of_several_bits() -> None:
    pubo = compile("breast-cancer", bits=3, features=5).pubo
    auto, anneal = (solve(pubo, solver=solver, reads=20) for solver in ("auto", "anneal"))
    assert auto.info["space"] == "weights"
    np.testing.assert_array_equal(auto.bits, anneal.bits)


def test_restarts_are_those_of_a_search_alone() -> None:
    """The lowest state of each restart, counted as its occurrences are."""
    from qcompile.solvers.memetic import _over_flips
    from qcompile.solvers.pool_kernel import pool_of

    pubo = polynomial(14, 4, seed=2)
    problem = (pubo, None, True, DEFAULT_SWEEPS, 7, -np.inf)
    found = run_restarts(Search(_over_flips, problem, 6, 50))
    one, size = _over_flips(*problem)
    ends = []
    for number in range(6):
        pool = pool_of(1, size)
        one(number, pool, lambda: False)
        ends.append(tuple(pool.states[0].tolist()))
    known = dict(zip(map(tuple, found.states.tolist()), found.reads.tolist(), strict=True))
    assert sum(known.values()) == 6
    for state in ends:
        assert known[state] == ends.count(state)
