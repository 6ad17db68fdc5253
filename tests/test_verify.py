"""The proof must fail for every change of every number."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given, settings

from qcompile import Pubo, compile, load_qubo, quadratize, save_qubo, verify
from qcompile.cli.app import main
from qcompile.data.prepare import prepare
from qcompile.data.read import read
from qcompile.stages.arrays import frozen
from qcompile.stages.qubo import fingerprint
from tests.test_quadratize import complete, polynomials


@settings(deadline=None, max_examples=40)
@given(pubo=polynomials(degree=5, variables=6))
def test_what_the_compiler_makes_is_proved(pubo: Pubo) -> None:
    found = verify(quadratize(pubo), pubo=pubo, reference=fingerprint(pubo))
    assert found.holds, found.checks


@pytest.mark.parametrize(("variables", "degree"), [(7, 3), (6, 4), (6, 6)])
def test_any_changed_coefficient_is_found_and_named(variables: int, degree: int) -> None:
    pubo = complete(variables, degree)
    qubo, reference = quadratize(pubo), fingerprint(pubo)
    step = 1 if degree == 3 else 5  # nested gates take longer
    for k in range(0, len(qubo.quadratic), step):
        values = qubo.quadratic.copy()
        values[k] *= 1 + 1e-6
        found = verify(replace(qubo, quadratic=frozen(values)), reference=reference)
        assert not found.holds
        assert "bits" in next(check.detail for check in found.checks if not check.holds)
        assert not verify(replace(qubo, quadratic=frozen(values)), pubo=pubo).holds
    for k in range(qubo.variables):
        values = qubo.linear.copy()
        values[k] += 1e-6
        assert not verify(replace(qubo, linear=frozen(values)), reference=reference).holds
        assert not verify(replace(qubo, linear=frozen(values)), pubo=pubo).holds
    assert not verify(replace(qubo, offset=qubo.offset + 1e-6), reference=reference).holds
    assert not verify(replace(qubo, offset=qubo.offset + 1e-6), pubo=pubo).holds


def test_the_term_that_was_changed_is_named() -> None:
    pubo = complete(9, 3)
    qubo = quadratize(pubo)
    at = int(np.flatnonzero((qubo.first == 2) & (qubo.second == 5))[0])
    values = qubo.quadratic.copy()
    values[at] += 0.5
    changed = replace(qubo, quadratic=frozen(values))
    details = [c.detail for c in verify(changed, reference=fingerprint(pubo)).checks if not c.holds]
    assert "the bits 2, 5 " in details[0]
    details = [c.detail for c in verify(changed, pubo=pubo).checks if not c.holds]
    assert "(2, 5)" in details[0]


@pytest.mark.parametrize(("variables", "degree"), [(6, 3), (6, 4), (7, 5)])
@pytest.mark.parametrize("strength", [0.3, 0.9])
def test_weak_gates_fail_though_the_algebra_holds(
    variables: int, degree: int, strength: float
) -> None:
    pubo = complete(variables, degree)
    found = verify(quadratize(pubo, strength=strength), pubo=pubo)
    by_name = {check.name: check for check in found.checks}
    assert by_name["algebra, term by term"].holds
    assert not by_name["gates"].holds
    assert "too weak" in by_name["gates"].detail


def test_all_assignments_find_a_weak_gate_too() -> None:
    pubo = complete(6, 3)
    by_name = {c.name: c for c in verify(quadratize(pubo, strength=0.5), pubo=pubo).checks}
    assert not by_name["all assignments"].holds
    nested = complete(5, 4)
    by_name = {c.name: c for c in verify(quadratize(nested, strength=0.2), pubo=nested).checks}
    assert not by_name["all assignments"].holds


@pytest.mark.parametrize("options", [{}, {"l0": 0.3}, {"shrink": True}, {"max_ancillas": 3}])
@pytest.mark.parametrize("order", [1, 3])
def test_the_data_agree(order: int, options: dict[str, object]) -> None:
    data = prepare(read("breast-cancer"), features=4, scale="standard")
    made = compile(data, order=order, bits=2, **options)  # type: ignore[arg-type]
    assert verify(made.qubo, data=data).holds
    other = replace(data, y=frozen(-data.y))
    if made.qubo.logical:
        assert not verify(made.qubo, data=other).holds


def test_structure_is_checked_first() -> None:
    qubo = quadratize(complete(5, 3))
    broken = replace(qubo, ancillas=replace(qubo.ancillas, factors=qubo.ancillas.factors + 99))
    found = verify(broken)
    assert [check.name for check in found.checks if not check.holds] == ["structure"]


def test_the_command_proves_and_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    options = [
        "--features",
        "4",
        "--scale",
        "standard",
        "--noise",
        "0.1",
        "--shuffle",
        "--seed",
        "3",
    ]
    emits = ["--emit", "qubo.json", "--emit", "pubo.json", "--emit", "qubo=q.npz"]
    assert main(["compile", "breast-cancer", "--bits", "2", "--rows", "300", *options, *emits]) == 0
    for path in ("qubo.json", "q.npz"):
        assert main(["verify", path, "--data", "breast-cancer", "--pubo", "pubo.json"]) == 0
    assert "proved" in capsys.readouterr().out
    content = orjson.loads(Path("qubo.json").read_bytes())
    content["linear_biases"][1] += 1e-7
    Path("changed.json").write_bytes(orjson.dumps(content))
    assert main(["verify", "changed.json"]) == 1
    assert "NOT proved" in capsys.readouterr().out
    assert main(["verify", "qubo.json", "--data", "long-servedio"]) == 2


def test_other_rows_are_told_from_a_wrong_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    parts = ["--split", "0.5", "0.5", "-o", "one.svm", "-o", "two.svm", "-q"]
    assert main(["data", "synthetic:examples=100,features=4", *parts]) == 0
    assert main(["compile", "one.svm", "--bits", "2", "--emit", "qubo.json", "-q"]) == 0
    lines = ["# the same rows under another name\n", *Path("one.svm").read_text().splitlines(True)]
    Path("copy.svm").write_text("".join(lines))
    assert main(["verify", "qubo.json", "--data", "copy.svm"]) == 0
    capsys.readouterr()
    assert main(["verify", "qubo.json", "--data", "two.svm"]) == 1
    shown = capsys.readouterr().out
    assert "these are not the rows it was compiled from (one.svm, 50 rows)" in shown
    assert "do not use this file" not in shown
    content = orjson.loads(Path("qubo.json").read_bytes())
    content["linear_biases"][1] += 1e-3
    Path("changed.json").write_bytes(orjson.dumps(content))
    for rows in ("one.svm", "two.svm"):
        assert main(["verify", "changed.json", "--data", rows]) == 1
        assert "NOT proved: do not use this file" in capsys.readouterr().out


def test_a_large_qubo_is_proved(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = np.array(list(combinations(range(60), 3)), dtype=np.int32)
    terms = {
        tuple(r): float(v) for r, v in zip(rows.tolist(), rng.normal(size=len(rows)), strict=True)
    }
    pubo = Pubo.from_dict(terms)
    qubo = quadratize(pubo)
    save_qubo(qubo, tmp_path / "q.npz", pubo=pubo)
    back, reference = load_qubo(tmp_path / "q.npz")
    assert verify(back, pubo=pubo, reference=reference).holds


@pytest.mark.parametrize(("variables", "degree"), [(6, 3), (7, 4), (7, 6)])
@pytest.mark.parametrize("side", [0, 1])
def test_a_gate_that_leans_to_one_factor_fails(variables: int, degree: int, side: int) -> None:
    """Moving strength from one factor to the other keeps the algebra, but not the gate."""
    pubo = complete(variables, degree)
    qubo = quadratize(pubo)
    for k, pair in enumerate(qubo.ancillas.factors.tolist(), qubo.logical):
        values = qubo.quadratic.copy()
        for factor, sign in ((pair[side], 1), (pair[1 - side], -1)):
            at = np.flatnonzero((qubo.first == min(factor, k)) & (qubo.second == max(factor, k)))
            values[at[0]] += sign * 1.01 * (qubo.ancillas.on[k - qubo.logical] + 1e-3)
        found = verify(replace(qubo, quadratic=frozen(values)), pubo=pubo)
        by_name = {check.name: check for check in found.checks}
        assert by_name["algebra, term by term"].holds
        assert not by_name["gates"].holds


@pytest.mark.parametrize(("variables", "degree"), [(6, 3), (6, 4), (6, 6)])
@pytest.mark.parametrize("side", ["on", "off"])
def test_strength_moved_from_an_ancilla_to_its_factors_fails(
    variables: int, degree: int, side: str
) -> None:
    """A charge on the ancilla and the same on its factors' pair are equal only if it is right."""
    pubo = complete(variables, degree)
    qubo = quadratize(pubo)
    for k, (a, b) in enumerate(qubo.ancillas.factors.tolist(), qubo.logical):
        # gates are tight: a fiftieth is more than they can spare
        strength = (qubo.ancillas.on + qubo.ancillas.off)[k - qubo.logical]
        move = strength / 50 * (1 if side == "on" else -1)
        linear, quadratic = qubo.linear.copy(), qubo.quadratic.copy()
        linear[k] += move
        pair = (qubo.first == min(a, b)) & (qubo.second == max(a, b))
        quadratic[np.flatnonzero(pair)[0]] -= move
        changed = replace(qubo, linear=frozen(linear), quadratic=frozen(quadratic))
        by_name = {check.name: check for check in verify(changed, pubo=pubo).checks}
        assert by_name["algebra, term by term"].holds
        assert not by_name["gates"].holds
