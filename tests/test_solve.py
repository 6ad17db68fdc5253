from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import dimod
import numpy as np
import pytest
from dwave.samplers import SimulatedAnnealingSampler
from dwave.system.testing import MockDWaveSampler
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import (
    SOLVERS,
    Encoding,
    InputError,
    Pubo,
    QcompileError,
    anneal,
    anneal_examples,
    compile,
    discretize,
    embed,
    fit_loss,
    load_machine,
    load_samples,
    moments_of,
    prepare,
    quadratize,
    read,
    restore,
    save_samples,
    solve,
)
from qcompile.cli.app import main
from qcompile.embedding.unembed import unembed
from qcompile.objective.weight_space import weight_cubic
from qcompile.solvers.exact import enumerate_lowest
from qcompile.stages.arrays import frozen
from qcompile.stages.samples import Samples, merged, samples_of
from tests.judge import all_assignments


def polynomial(bits: int, degree: int, *, share: float = 1.0, seed: int = 0) -> Pubo:
    rng = np.random.default_rng(seed)
    terms: dict[tuple[int, ...], float] = {(): float(rng.normal())}
    for size in range(1, degree + 1):
        for term in itertools.combinations(range(bits), size):
            if rng.random() < share:
                terms[term] = float(rng.normal())
    return Pubo.from_dict(terms, variables=bits)


def brute_force(pubo: Pubo) -> np.ndarray:
    """All energies, straight from the dictionary of terms."""
    states = all_assignments(pubo.variables)
    energies = np.zeros(len(states))
    for term, value in pubo.to_dict().items():
        energies += value * states[:, list(term)].prod(axis=1)
    return energies


# Exact


@settings(max_examples=30, deadline=None)
@given(
    bits=st.integers(0, 11),
    degree=st.integers(1, 5),
    share=st.floats(0, 1),
    seed=st.integers(0, 99),
    keep=st.integers(1, 40),
)
def test_enumeration_finds_the_lowest_of_all(
    bits: int, degree: int, share: float, seed: int, keep: int
) -> None:
    pubo = polynomial(bits, degree, share=share, seed=seed)
    expected = np.sort(brute_force(pubo))[:keep]
    found = solve(pubo, solver="exact", keep=keep)
    assert found.energies == pytest.approx(expected)
    assert len(np.unique(found.bits, axis=0)) == len(found)


def test_enumeration_goes_beyond_one_block() -> None:
    pubo = polynomial(17, 3, seed=4)  # high bits follow a Gray code
    found = enumerate_lowest(pubo, 20)
    assert pubo.energies(found) == pytest.approx(np.sort(brute_force(pubo))[:20])


def test_enumeration_refuses_what_would_take_for_ever() -> None:
    with pytest.raises(InputError, match=r"40 bits .* --solver anneal"):
        solve(Pubo.from_dict({(39,): 1.0}), solver="exact")


# The annealer


@settings(max_examples=20, deadline=None)
@given(bits=st.integers(1, 9), degree=st.integers(1, 5), seed=st.integers(0, 99))
def test_annealing_finds_the_optimum_of_small_problems(bits: int, degree: int, seed: int) -> None:
    pubo = polynomial(bits, degree, seed=seed)
    found = solve(pubo, solver="anneal", reads=30, keep=5)
    energies = np.sort(brute_force(pubo))
    assert found.energies[0] == pytest.approx(energies[0])
    assert found.energies == pytest.approx(pubo.energies(found.bits))
    assert (np.diff(found.energies) >= 0).all()
    assert len(np.unique(found.bits, axis=0)) == len(found)


def test_both_kernels_for_bits_agree_with_the_polynomial() -> None:
    dense, sparse = polynomial(26, 3), polynomial(26, 3, share=0.03, seed=1)
    for pubo in (dense, sparse, polynomial(12, 4)):
        bits, space = anneal(pubo, reads=40, keep=50)
        assert space == "bits"
        energies = pubo.energies(bits)
        assert (np.diff(energies) >= -1e-9).all()  # the kernel's own energies are in order
    assert pubo.energies(bits)[0] == pytest.approx(brute_force(pubo).min())


@pytest.mark.parametrize("bits", [2, 3, 4])
@pytest.mark.parametrize("shrink", [False, True])
def test_weight_space_is_the_polynomial(bits: int, shrink: bool) -> None:
    pubo = compile("mease-wyner", bits=bits, features=5, shrink=shrink).pubo
    cubic = weight_cubic(pubo)
    assert cubic is not None and pubo.encoding is not None
    states = np.random.default_rng(0).integers(0, 2, (200, pubo.variables))
    assert cubic.energies(pubo.encoding.decode(states)) == pytest.approx(pubo.energies(states))
    assert np.allclose(cubic.third, cubic.third.transpose(1, 0, 2))
    assert np.allclose(cubic.third, cubic.third.transpose(0, 2, 1))


def test_weights_and_bits_reach_the_same_optimum() -> None:
    pubo = compile("breast-cancer", bits=3, features=5, scale="standard", bias=True).pubo
    exact = solve(pubo, solver="exact", keep=10)
    for space in ("weights", "bits"):
        bits, used = anneal(pubo, space=space, reads=60, keep=10)
        assert used == space
        assert pubo.energies(bits)[0] == pytest.approx(exact.energies[0])
        assert (np.diff(pubo.energies(bits)) >= -1e-9).all()


def test_weight_space_is_refused_where_there_is_none() -> None:
    data = compile("breast-cancer", bits=2, features=4, scale="standard", l0=0.1).pubo
    dropped = compile("breast-cancer", bits=2, features=4, scale="standard", threshold=1e-3).pubo
    for pubo in (polynomial(6, 3), data, dropped, polynomial(6, 4)):
        assert weight_cubic(pubo) is None
        with pytest.raises(InputError, match="no cubic of weights"):
            anneal(pubo, space="weights")
        assert anneal(pubo, reads=5)[1] == "bits"


@pytest.mark.parametrize("order", [3, 4, 6])
def test_annealing_the_margins_reaches_the_optimum_of_the_polynomial(order: int) -> None:
    data = prepare(read("breast-cancer"), scale="standard", features=4, bias=True)
    moments = moments_of(data, order)
    loss = fit_loss(moments, order)
    pubo = discretize(moments, loss, bits=3)
    assert pubo.encoding is not None
    weights = anneal_examples(data, loss, pubo.encoding, reads=20, keep=10)
    energies = pubo.energies(pubo.encoding.encode(weights))
    assert energies[0] == pytest.approx(solve(pubo, solver="exact", keep=1).energies[0])
    assert (np.diff(energies) >= -1e-9).all()
    risk = float(np.mean(loss(data.margins(weights[0]))))
    assert risk + loss.l2 / 2 * weights[0] @ weights[0] == pytest.approx(energies[0])


def test_the_number_of_threads_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    pubo = polynomial(14, 3)
    one = solve(pubo, reads=70, seed=3)
    for workers in (1, 3):
        monkeypatch.setattr("qcompile.runtime.threads.cores", lambda workers=workers: workers)
        other = solve(pubo, reads=70, seed=3)
        assert (other.bits == one.bits).all()
    assert len(solve(pubo, reads=2, seed=4)) > 0


def test_ctrl_c_keeps_the_best_states() -> None:
    def interrupt(done: int, total: int | None) -> None:
        raise KeyboardInterrupt

    bits, _ = anneal(polynomial(12, 3), reads=1000, progress=interrupt)
    assert len(bits)


# Back to the polynomial


@settings(max_examples=25, deadline=None)
@given(
    bits=st.integers(1, 8),
    degree=st.integers(1, 6),
    share=st.floats(0.1, 1),
    seed=st.integers(0, 99),
)
def test_restoring_undoes_the_reduction(bits: int, degree: int, share: float, seed: int) -> None:
    pubo = polynomial(bits, degree, share=share, seed=seed)
    back = restore(quadratize(pubo))
    assert back.energies(all_assignments(bits)) == pytest.approx(brute_force(pubo), abs=1e-9)
    assert back.num_terms <= pubo.num_terms


def test_restoring_brings_back_what_a_budget_left_out() -> None:
    pubo = polynomial(9, 3)
    reduced = quadratize(pubo, max_ancillas=5)
    assert reduced.truncated is not None
    states = all_assignments(9)
    assert restore(reduced).energies(states) == pytest.approx(brute_force(pubo))
    assert restore(reduced).energies(states) == pytest.approx(reduced.score(states))


# All solvers


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_finds_the_optimum_with_true_energies(solver: str) -> None:
    compiled = compile("breast-cancer", bits=2, features=3, scale="standard")
    found = solve(compiled.qubo, solver=solver, reads=100, seed=1)
    exact = brute_force(compiled.pubo)
    assert found.energies[0] == pytest.approx(exact.min())
    assert found.energies == pytest.approx(compiled.pubo.energies(found.bits))
    assert found.info["solver"] == solver and found.info["seconds"] > 0
    again = solve(compiled.qubo, solver=solver, reads=100, seed=1)
    assert (again.bits == found.bits).all()


def test_samplers_of_others_may_be_given() -> None:
    compiled = compile("breast-cancer", bits=1, features=4, scale="standard")
    best = brute_force(compiled.pubo).min()
    machine = MockDWaveSampler(topology_type="zephyr", topology_shape=[2, 4])
    for sampler in (dimod.ExactSolver(), SimulatedAnnealingSampler(), machine):
        found = solve(compiled.pubo, solver=sampler, reads=30)
        assert found.energies[0] == pytest.approx(best)
        assert found.info["solver"] == type(sampler).__name__
    with pytest.raises(InputError, match="no dimod sampler"):
        solve(compiled.pubo, solver=3)


def test_embedded_problems_are_solved_on_their_chains() -> None:
    compiled = compile("breast-cancer", bits=1, features=4, scale="standard")
    embedded = embed(compiled.qubo, load_machine("chimera4").without([3]), method="biclique")
    for solver in SOLVERS:
        found = solve(embedded, solver=solver, reads=50)
        assert found.energies[0] == pytest.approx(brute_force(compiled.pubo).min())


def test_nonsense_is_refused() -> None:
    pubo = polynomial(3, 2)
    options: tuple[dict[str, Any], ...] = (
        {"solver": "magic"},
        {"reads": 0},
        {"keep": 0},
        {"sweeps": 0},
    )
    for option in options:
        with pytest.raises(InputError, match="expected"):
            solve(pubo, **option)
    with pytest.raises(InputError, match="space"):
        anneal(pubo, space="time")
    nothing = Pubo.from_dict({(): 2.0})
    for solver in ("exact", "anneal", "neal"):
        assert solve(nothing, solver=solver).energies.tolist() == [2.0]


# Samples on disk


def test_samples_come_back_and_open_with_dimod(tmp_path: Path) -> None:
    compiled = compile("breast-cancer", bits=2, features=3, scale="standard")
    found = solve(compiled.qubo, solver="neal", reads=20)
    path = tmp_path / "samples.json"
    save_samples(found, path)
    theirs = dimod.SampleSet.from_serializable(json.loads(path.read_text()))
    assert theirs.record.energy == pytest.approx(found.energies)
    assert "seconds" not in theirs.info and theirs.info["solver"] == "neal"
    for problem in (compiled.qubo, compiled.pubo):
        back = load_samples(path, problem)
        assert (back.bits == found.bits).all()
        assert (back.violations == found.violations).all()
        assert (back.occurrences == found.occurrences).all()
    first = path.read_bytes()
    save_samples(solve(compiled.qubo, solver="neal", reads=20), path)
    assert path.read_bytes() == first


def test_answers_with_ancillas_are_checked_and_read(tmp_path: Path) -> None:
    qubo = compile("breast-cancer", bits=2, features=3, scale="standard").qubo
    answer = SimulatedAnnealingSampler().sample(qubo.to_bqm(), num_reads=5, seed=1)
    path = tmp_path / "answer.json"
    path.write_text(json.dumps(answer.to_serializable()))
    back = load_samples(path, qubo)
    assert back.bits.shape[1] == qubo.logical
    assert back.energies == pytest.approx(qubo.score(back.bits))
    spins = answer.change_vartype("SPIN", inplace=False)
    path.write_text(json.dumps(spins.to_serializable()))
    assert (load_samples(path, qubo).bits == back.bits).all()


def test_samples_of_another_problem_are_refused(tmp_path: Path) -> None:
    one = compile("breast-cancer", bits=2, features=3, scale="standard").pubo
    path = tmp_path / "samples.json"
    save_samples(solve(one, reads=3), path)
    others = {
        "energy": compile("breast-cancer", bits=2, features=3, scale="max-abs").pubo,
        "without variable": compile("breast-cancer", bits=2, features=4, scale="standard").pubo,
        "another": compile("breast-cancer", bits=2, features=2, scale="standard").pubo,
    }
    for message, other in others.items():
        with pytest.raises(QcompileError, match=rf"samples\.json.*{message}"):
            load_samples(path, other)


def test_a_file_cut_or_turned_hostile_is_refused(tmp_path: Path) -> None:
    pubo = compile("breast-cancer", bits=2, features=3, scale="standard").pubo
    path = tmp_path / "samples.json"
    save_samples(solve(pubo, reads=3), path)
    whole = path.read_text()
    for size in range(0, len(whole) - 2, 41):
        path.write_text(whole[:size])
        with pytest.raises(QcompileError, match=r"samples\.json"):
            load_samples(path, pubo)
    content = json.loads(whole)
    changes: dict[str, Any] = {
        "type": "BinaryQuadraticModel",
        "num_rows": 10**12,
        "num_variables": -1,
        "sample_data": {},
        "sample_type": "int8",
        "vectors": {},
        "variable_labels": [0],
        "use_bytes": True,
        "variable_type": "NONE",
    }
    for name, value in changes.items():
        path.write_text(json.dumps({**content, name: value}))
        if name == "sample_type":
            continue
        with pytest.raises(QcompileError, match=r"samples\.json"):
            load_samples(path, pubo)


def test_the_lowest_count_what_is_equal() -> None:
    pubo = polynomial(4, 2)
    rows = np.array([[0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 0, 1]], dtype=np.int8)
    energies = pubo.energies(rows)
    broken = np.array([0.2, 0.5, 0.0])
    one = Samples(rows, energies, np.zeros(3, int), np.array([1, 2, 3]), broken, np.arange(3))
    low = one.lowest(10)
    times = {tuple(bits): count for bits, count in zip(low.bits, low.occurrences, strict=True)}
    assert times == {(0, 0, 0, 1): 4, (1, 0, 0, 0): 2}
    breaks = {tuple(bits): share for bits, share in zip(low.bits, low.chain_breaks, strict=True)}
    assert breaks == {(0, 0, 0, 1): 0.05, (1, 0, 0, 0): 0.5}
    assert low.chain_break_fraction == pytest.approx(one.chain_break_fraction)
    assert (np.diff(low.energies) >= 0).all()
    assert one.lowest(1).energies.tolist() == [energies.min()]


def test_reads_with_broken_chains_and_wrong_ancillas_are_counted(tmp_path: Path) -> None:
    """Equal states of different reads: each read counts for itself, in a file as well."""
    qubo = compile("breast-cancer", bits=2, features=3, scale="standard").qubo
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 2, (60, qubo.variables), dtype=np.int8)
    rows[:, : qubo.logical] = rows[np.arange(60) % 4, : qubo.logical]
    bits, violations = qubo.restrict(rows)
    times = rng.integers(1, 4, 60)
    found = samples_of(qubo, bits, occurrences=times, violations=violations)
    breaks = rng.choice([0.0, 0.25], 60)
    broken = frozen(np.where(breaks > 0, times, 0), np.int64)
    found = replace(found, chain_breaks=frozen(breaks), broken=broken)
    both = merged([found, found], {}).lowest(100)
    assert both.wrong is not None and both.broken is not None
    for state, wrong, torn in zip(both.bits, both.wrong, both.broken, strict=True):
        mine = (bits == state).all(axis=1)
        assert wrong == 2 * times[mine & (violations > 0)].sum()
        assert torn == 2 * times[mine & (breaks > 0)].sum()
    save_samples(both, tmp_path / "samples.json")
    back = load_samples(tmp_path / "samples.json", qubo)
    assert back.wrong is not None and back.wrong.tolist() == both.wrong.tolist()
    assert back.broken is not None and back.broken.tolist() == both.broken.tolist()
    # what nobody counted is not made up, unless every row is one read
    assert replace(both, broken=None, wrong=None).reads_with_broken_chain is None
    assert merged([both, replace(both, wrong=None)], {}).lowest(9).wrong is None
    single = replace(found, occurrences=frozen(np.ones(60), np.int64), broken=None, wrong=None)
    counted = single.lowest(100)
    assert counted.broken is not None and counted.broken.sum() == np.count_nonzero(breaks)
    assert counted.wrong is not None and counted.wrong.sum() == np.count_nonzero(violations)


def test_what_is_discarded_is_counted_in_reads(tmp_path: Path) -> None:
    """A row of a machine's answer may stand for several reads."""
    qubo = compile("breast-cancer", bits=2, features=3, scale="standard").qubo
    embedded = embed(qubo, load_machine("zephyr3"))
    assert embedded.embedding.longest > 1
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 2, (3, qubo.variables))
    spins = 2 * bits[:, embedded.variable] - 1
    long = int(np.argmax(embedded.embedding.lengths))
    spins[1, np.flatnonzero(embedded.variable == long)[0]] *= -1  # a broken chain
    answer = dimod.SampleSet.from_samples(
        (spins, embedded.qubits.tolist()), "SPIN", energy=[0, 0, 0], num_occurrences=[2, 5, 4],
        sort_labels=False,
    )  # fmt: skip
    kept = unembed(embedded, answer, repair="discard")
    assert kept.info["discarded"] == 5 and kept.occurrences.sum() == 6
    voted = unembed(embedded, answer)
    assert voted.info["discarded"] == 0
    assert voted.broken is not None and voted.broken.tolist() == [0, 5, 0]
    wrong = qubo.restrict(bits)[1] > 0
    assert wrong[0] and kept.wrong is not None
    assert kept.wrong.tolist() == [2 * int(wrong[0]), 4 * int(wrong[2])]


@pytest.mark.parametrize(
    ("vector", "value"),
    [
        ("chain_break_fraction", -0.1),
        ("chain_break_fraction", 1.5),
        ("chain_break_fraction", float("nan")),
        ("ancilla_violations", -1),
        ("reads_with_wrong_ancilla", 3),
        ("reads_with_broken_chain", -1),
        ("reads_with_broken_chain", 1),
    ],
)
def test_counts_and_shares_that_cannot_be_are_refused(
    tmp_path: Path, vector: str, value: float
) -> None:
    pubo = polynomial(4, 2)
    zeros = frozen(np.zeros(2), np.int64)
    one = samples_of(pubo, np.eye(4, dtype=np.int8)[:2], occurrences=np.array([2, 2]))
    path = tmp_path / "samples.json"
    save_samples(replace(one, broken=zeros, wrong=zeros), path)
    assert len(load_samples(path, pubo)) == 2
    content = json.loads(path.read_text())
    content["vectors"][vector]["data"] = [0, value]
    if isinstance(value, float):
        content["vectors"][vector]["data_type"] = "float64"
    path.write_text(json.dumps(content))
    with pytest.raises(QcompileError, match=vector if value == value else "samples"):
        load_samples(path, pubo)


def test_whole_energies_of_any_size_are_written(tmp_path: Path) -> None:
    pubo = Pubo.from_dict({(0,): 3e19, (1,): -5e25, (0, 1): 1.0})
    found = solve(pubo, solver="exact")
    save_samples(found, tmp_path / "samples.json")
    back = load_samples(tmp_path / "samples.json", pubo)
    assert back.energies.tolist() == found.energies.tolist()


def test_the_command_solves_decodes_and_predicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    qubo, pubo = str(tmp_path / "qubo.json"), str(tmp_path / "pubo.npz")
    samples, model = str(tmp_path / "samples.json"), str(tmp_path / "model.json")
    run = ["compile", "breast-cancer", "--scale", "standard", "--features", "4", "--bits", "2"]
    assert main([*run, "--emit", qubo, "--emit", pubo, "-q"]) == 0
    lowest = []
    for problem, solver in ((qubo, "anneal"), (pubo, "exact"), (qubo, "neal"), (qubo, "mock")):
        assert main(["solve", problem, "--solver", solver, "-o", samples, "--json"]) == 0
        lowest.append(json.loads(capsys.readouterr().out)["lowest_energy"])
        assert main(["decode", samples, "--problem", qubo, "-o", model]) == 0
        capsys.readouterr()
    assert lowest == pytest.approx([lowest[0]] * 4)
    assert main(["predict", model, "breast-cancer"]) == 0
    labels = capsys.readouterr().out.split()
    assert len(labels) == 569 and set(labels) == {"0", "1"}
    assert main(["decode", samples, "--problem", qubo, "--validation", "breast-cancer"]) == 0
    assert "validation error" in capsys.readouterr().out
    chains = str(tmp_path / "embedding.json")
    assert main(["embed", qubo, "--machine", "pegasus4", "-o", chains, "-q"]) == 0
    run = ["solve", qubo, "--solver", "neal", "--embedding", chains]
    assert main([*run, "--chain-strength", "scaled"]) == 0
    assert main([*run, "--chain-strength", "sweep"]) == 2
    assert "lowest energy" in capsys.readouterr().out


def test_bad_arguments_of_solve_fit_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pubo = str(tmp_path / "pubo.json")
    run = ["compile", "breast-cancer", "--scale", "standard", "--features", "3", "--bits", "1"]
    assert main([*run, "--emit", pubo, "-q"]) == 0
    (tmp_path / "loss.json").write_text('{"type": "qcompile.loss"}')
    for arguments, message in (
        (["solve", pubo, "-n", "0"], "at least one"),
        (["solve", pubo, "-o", pubo], "is read as input"),
        (["solve", pubo, "--embedding", pubo], "needs a QUBO"),
        (["solve", str(tmp_path / "no.json")], "no.json"),
        (["solve", str(tmp_path / "loss.json")], "loss.json"),
        (["solve", str(tmp_path / "x.txt")], "no such file"),
        (["decode", pubo, "--problem", pubo], "SampleSet"),
        (["predict", pubo, "breast-cancer"], "expected a qcompile model"),
    ):
        assert main(arguments) == 2, arguments
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1, error


# What a first try-out found


def test_answers_with_ancillas_of_another_problem_are_refused(tmp_path: Path) -> None:
    one = compile("breast-cancer", bits=2, features=3, scale="standard").qubo
    other = compile("breast-cancer", bits=2, features=3, scale="standard", positive=0.0).qubo
    answer = SimulatedAnnealingSampler().sample(one.to_bqm(), num_reads=3, seed=1)
    path = tmp_path / "answer.json"
    path.write_text(json.dumps(answer.to_serializable()))
    load_samples(path, one)
    with pytest.raises(QcompileError, match="another problem"):
        load_samples(path, other)
    content = answer.to_serializable()
    content["vectors"]["num_occurrences"]["data"] = [0, 1, 1]
    path.write_text(json.dumps(content))
    with pytest.raises(QcompileError, match="less than once"):
        load_samples(path, one)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", [-1, 2**32])
def test_impossible_seeds_are_refused(solver: str, seed: int) -> None:
    with pytest.raises(InputError, match="seed"):
        solve(polynomial(3, 2), solver=solver, seed=seed)


def test_absurd_numbers_are_refused_or_cut_down() -> None:
    pubo = polynomial(4, 2)
    assert len(solve(pubo, keep=100_000)) <= 16
    with pytest.raises(InputError, match="up to"):
        solve(pubo, keep=10**9)
    with pytest.raises(InputError, match="up to"):
        solve(pubo, sweeps=10**9)
    for temperatures in ((0.0, 0.0), (1.0, 2.0), (1.0, float("nan"))):
        with pytest.raises(InputError, match="temperatures"):
            anneal(pubo, temperatures=temperatures)
    data = prepare(read("breast-cancer"), features=3)
    loss = fit_loss(moments_of(data, 3))
    with pytest.raises(InputError, match="4 weights for 3 features"):
        anneal_examples(data, loss, Encoding(4, 2, 1.0))


def test_the_pool_holds_distinct_states() -> None:
    pubo = polynomial(6, 3)
    found = solve(pubo, reads=50, keep=20)
    assert len(found) == 20
    assert found.energies == pytest.approx(np.sort(brute_force(pubo))[:20])


def test_weights_with_bounds_are_annealed_from_their_own_origin() -> None:
    data = prepare(read("breast-cancer"), scale="standard", features=4)
    moments = moments_of(data, 3)
    loss = fit_loss(moments)
    bounds = ((-3, 1), (1, 4), (-2, 0), (2, 4))
    encoding = Encoding(4, 3, loss.zeta, bounds)
    pubo = discretize(moments, loss, 3, encoding=encoding)
    bits, space = anneal(pubo, space="weights", reads=40, keep=30)
    assert space == "weights"
    energies = pubo.energies(bits)
    assert energies == pytest.approx(np.sort(np.unique(brute_force(pubo).round(12)))[:30])
