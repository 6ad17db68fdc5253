from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import dimod
import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import (
    InputError,
    Pubo,
    QcompileError,
    Qubo,
    compile,
    load_qubo,
    prepare,
    quadratize,
    read,
    save_qubo,
    verify,
)
from qcompile.cli.app import main
from qcompile.files.qubo import _record_mark
from tests.problems import complete


@pytest.fixture(scope="module")
def qubo() -> Qubo:
    return compile(
        "breast-cancer", bits=2, features=4, scale="standard", bias=False, l0=0.1
    ).quadratize()


def test_json_opens_with_dimod_and_tells_all(qubo: Qubo, tmp_path: Path) -> None:
    path = tmp_path / "qubo.json"
    save_qubo(qubo, path)
    with path.open() as stream:
        content = json.load(stream)
    assert dimod.BinaryQuadraticModel.from_serializable(content) == qubo.to_bqm()
    known = content["info"]["qcompile"]
    assert (known["features"], known["bits"], known["order"]) == (4, 2, 3)
    assert known["loss"] == list(qubo.loss.coefficients)  # type: ignore[union-attr]
    assert known["labels"] == {"positive": 1.0, "negative": 0.0}
    assert {"version", "zeta", "prior_std", "l2", "l0", "ancillas"} <= set(known)
    # whoever has only this file can decode: weights from bits, ancillas from factors
    bits = np.random.default_rng(0).integers(0, 2, qubo.logical)
    values = dict(enumerate(bits.tolist()))
    for index, factors in known["ancillas"]:
        values[index] = int(np.prod([values[f] for f in factors]))
    energy = dimod.BinaryQuadraticModel.from_serializable(content).energy(values)
    assert energy == pytest.approx(qubo.score(bits)[0])


@pytest.mark.parametrize("ending", ["json", "npz"])
def test_files_come_back_whole_and_the_same(qubo: Qubo, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    save_qubo(qubo, path)
    back, reference = load_qubo(path)
    assert reference is None
    for name in ("linear", "first", "second", "quadratic"):
        np.testing.assert_array_equal(getattr(back, name), getattr(qubo, name))
    for name in ("factors", "terms", "on", "off"):
        np.testing.assert_array_equal(getattr(back.ancillas, name), getattr(qubo.ancillas, name))
    assert (back.offset, back.encoding, back.loss) == (qubo.offset, qubo.encoding, qubo.loss)
    save_qubo(back, tmp_path / f"b.{ending}")
    assert back.seal is not None
    assert back.seal.record_intact
    assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()


def test_truncated_and_pruned_problems_come_back(tmp_path: Path) -> None:
    pubo = complete(6, 3)
    made = quadratize(pubo, max_ancillas=2)
    save_qubo(made, tmp_path / "q.json", pubo=pubo)
    back, _ = load_qubo(tmp_path / "q.json")
    bits = np.random.default_rng(0).integers(0, 2, (9, 6))
    np.testing.assert_allclose(back.score(bits), pubo.energies(bits))
    assert back.error == made.error
    pruned = compile(
        "breast-cancer", bits=2, features=4, scale="standard", bias=False, prune=True
    ).quadratize()
    save_qubo(pruned, tmp_path / "p.json")
    assert load_qubo(tmp_path / "p.json")[0].encoding == pruned.encoding


def test_dimods_binary_format(qubo: Qubo, tmp_path: Path) -> None:
    save_qubo(qubo, tmp_path / "q.bqm")
    with (tmp_path / "q.bqm").open("rb") as stream:
        assert dimod.BinaryQuadraticModel.from_file(stream) == qubo.to_bqm()


def test_lp_files_keep_every_energy(qubo: Qubo, tmp_path: Path) -> None:
    save_qubo(qubo, tmp_path / "q.lp")
    model = dimod.lp.load(str(tmp_path / "q.lp"))
    for bits in np.random.default_rng(0).integers(0, 2, (10, qubo.logical)):
        full = qubo.complete(bits)[0]
        sample = {f"x{i}": int(v) for i, v in enumerate(full)} | {"one": 1}
        assert model.objective.energy(sample) == pytest.approx(qubo.energies(full)[0], abs=1e-12)


@pytest.mark.parametrize("ending", ["coo", "qubo"])
def test_formats_without_an_offset_refuse_or_are_told_to_drop_it(
    qubo: Qubo, tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"q.{ending}"
    with pytest.raises(InputError, match="no place for the offset"):
        save_qubo(qubo, path)
    assert not path.exists()
    save_qubo(qubo, path, drop_offset=True)
    entries = [line.split() for line in path.read_text().splitlines() if line[0].isdigit()]
    bqm = qubo.to_bqm()
    bqm.offset = 0
    back = dimod.BinaryQuadraticModel(dimod.BINARY)
    for v in range(qubo.variables):
        back.add_linear(v, 0.0)
    for i, j, value in entries:
        if i == j:
            back.add_linear(int(i), float(value))
        else:
            back.add_quadratic(int(i), int(j), float(value))
    assert back == bqm
    if ending == "coo":
        from dimod.serialization import coo

        with path.open() as stream:
            assert coo.load(stream).num_interactions == bqm.num_interactions


def test_unknown_endings_are_refused(qubo: Qubo, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.json, \.npz"):
        save_qubo(qubo, tmp_path / "q.xyz")


@pytest.mark.parametrize("ending", ["json", "npz"])
@settings(deadline=None, max_examples=120)
@given(data=st.data())
def test_damaged_files_never_crash(
    ending: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    path = folder / f"q.{ending}"
    save_qubo(quadratize(complete(4, 3)), path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content)))]
    path.write_bytes(bytes(content))
    try:
        load_qubo(path)
    except QcompileError as error:
        assert "\n" not in str(error)


def test_other_bqm_files_are_told_apart(tmp_path: Path) -> None:
    plain = dimod.BinaryQuadraticModel({0: 1.0}, {}, 0.0, "BINARY")
    (tmp_path / "plain.json").write_bytes(orjson.dumps(plain.to_serializable()))
    with pytest.raises(QcompileError, match="not written by qcompile"):
        load_qubo(tmp_path / "plain.json")


@pytest.mark.slow
def test_the_bytes_do_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    found = set()
    for seed in ("1", "2"):
        path = tmp_path / "qubo.json"
        path.unlink(missing_ok=True)
        subprocess.run(
            [sys.executable, "-m", "qcompile", "compile", "breast-cancer", "--features=6",
             "--bits=1", "--order=4", "--emit", str(path)],
            check=True, capture_output=True, env={"PYTHONHASHSEED": seed, "PATH": ""},
        )  # fmt: skip
        found.add(path.read_bytes())
    assert len(found) == 1


def tampered(path: Path, change: Callable[[Any], None]) -> Path:
    content = orjson.loads(path.read_bytes())
    change(content)
    other = path.with_name("tampered.json")
    other.write_bytes(orjson.dumps(content))
    return other


def set_known(name: str, value: Any) -> Callable[[Any], None]:
    def change(content: Any) -> None:
        content["info"]["qcompile"][name] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        *(set_known(name, 7.5) for name in ("loss", "l2", "order", "prior_std", "zeta", "l0")),
        *(set_known(name, 2) for name in ("strength", "bound", "error", "dropped", "version")),
        set_known("labels", {"positive": 0.0, "negative": 1.0}),
        set_known("fingerprint", {"value": 0.0, "gradient": []}),
        set_known("features", 10**9),
        set_known("strength_on", [1.0]),
        lambda content: content["info"]["qcompile"]["ancillas"][0].__setitem__(1, [0, 1]),
        lambda content: content.update(offset=55.0),
        lambda content: content.update(num_variables=3),
        lambda content: content["linear_biases"].__setitem__(3, "0.5"),
        lambda content: content["quadratic_head"].__setitem__(3, 9.5),
        lambda content: content.update(linear_biases=[content["linear_biases"]]),
    ],
)
def test_whatever_is_changed_in_a_file_is_found(
    qubo: Qubo, tmp_path: Path, change: Callable[[Any], None]
) -> None:
    path = tmp_path / "q.json"
    save_qubo(qubo, path)
    assert main(["verify", str(path), "-q"]) == 0
    assert main(["verify", str(tampered(path, change)), "-q"]) in (1, 2)


@pytest.mark.parametrize("place", ["linear_biases", "quadratic_biases"])
def test_the_last_bit_of_any_coefficient_is_found_and_named(
    qubo: Qubo, tmp_path: Path, place: str
) -> None:
    path = tmp_path / "q.json"
    save_qubo(qubo, path)
    count = len(orjson.loads(path.read_bytes())[place])
    for k in range(0, count, 5):

        def change(content: Any, k: int = k) -> None:
            content[place][k] = float(np.nextafter(content[place][k], np.inf))

        back, _ = load_qubo(tampered(path, change))
        failed = [check for check in verify(back).checks if not check.holds]
        assert failed[0].name == "integrity"
        v = k if place == "linear_biases" else int(qubo.second[k])
        assert f"variable {v}" in failed[0].detail


def test_thresholds_and_budgets_stand_in_the_file(tmp_path: Path) -> None:
    data = prepare(read("breast-cancer"), features=4, scale="standard")
    rough = compile(data, bits=2, threshold=0.02)
    assert rough.quadratize().dropped > 0
    save_qubo(rough.quadratize(), tmp_path / "t.json", pubo=rough.pubo)
    back, reference = load_qubo(tmp_path / "t.json")
    assert verify(back, pubo=rough.pubo, reference=reference, data=data).holds
    small = compile(data, bits=2, max_ancillas=4)
    save_qubo(small.quadratize(), tmp_path / "m.json", pubo=small.pubo)
    back, reference = load_qubo(tmp_path / "m.json")
    assert verify(back, pubo=small.pubo, reference=reference, data=data).holds
    assert not verify(replace(back, error=back.error / 2, seal=None)).holds


def test_variables_that_no_term_uses_survive_every_format(tmp_path: Path) -> None:
    made = quadratize(Pubo.from_dict({(0, 1): 1.0}, variables=5))
    save_qubo(made, tmp_path / "q.coo")
    with (tmp_path / "q.coo").open() as stream:
        from dimod.serialization import coo

        assert coo.load(stream).num_variables == 5


@pytest.mark.parametrize("name", ["loss", "l2", "order", "prior_std", "labels"])
def test_copies_that_disagree_with_the_record_are_found_even_under_a_new_seal(
    qubo: Qubo, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "q.json"
    save_qubo(qubo, path)

    def change(content: Any) -> None:
        known = content["info"]["qcompile"]
        known[name] = None
        known["marks"]["record"] = _record_mark(known, qubo)

    back, _ = load_qubo(tampered(path, change))
    assert back.seal is not None
    assert not back.seal.record_intact


def test_pairs_in_another_order_are_the_same_problem(qubo: Qubo, tmp_path: Path) -> None:
    path = tmp_path / "qubo.json"
    save_qubo(qubo, path)
    content = json.loads(path.read_text())
    names = ("quadratic_head", "quadratic_tail", "quadratic_biases")
    order = np.random.default_rng(0).permutation(len(content[names[0]]))
    for name in names:
        content[name] = [content[name][i] for i in order]
    path.write_text(json.dumps(content))
    back, _ = load_qubo(path)
    assert back.to_bqm() == qubo.to_bqm()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [("variables", -1, "after the bits"), ("features", 99, "weights|bits of")],
)
def test_counts_that_cannot_be_are_refused(
    qubo: Qubo, tmp_path: Path, name: str, value: int, words: str
) -> None:
    path = tmp_path / "qubo.json"
    save_qubo(qubo, path)
    content = json.loads(path.read_text())
    content["info"]["qcompile"][name] = value
    path.write_text(json.dumps(content))
    with pytest.raises(QcompileError, match=words):
        load_qubo(path)
