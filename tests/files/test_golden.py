"""Files that version 0.1.0 wrote still load and hold the same; compiling gives the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qcompile
from qcompile.cli import main
from qcompile.reduction.restore import restore

# A number of JSON, but not the digits of a hexadecimal text.
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.])")
GOLDEN = Path(__file__).parents[1] / "golden" / "0.1.0"

# What 0.1.0 gave for the rows of `default_rng(0).integers(0, 2, (5, logical))`.
SCORES = {
    "qubo.json": [0.701874321264421, 0.8280201602009514, 0.9980728954241537, 1.070832761232432],
    "qubo.npz": [0.701874321264421, 0.8280201602009514, 0.9980728954241537, 1.070832761232432],
    "qubo6.json": [71.80954557832592, 73.30885815149293, 85.45862648958337, 0.4784486642837382],
    "named.json": [0.8894261452536325, 0.6286220981684513, 0.5858970749807912, 0.6906749051269544],
    "pruned.json": [0.42439386926632505, 0.525132759206496, 0.42423908720056386, 0.52993153368498],
    "own.json": [-1.0, 0.0, 0.0, -1.0],
}


@pytest.mark.parametrize("name", SCORES)
def test_qubos_have_the_energies_they_had(name: str) -> None:
    qubo, _ = qcompile.load_qubo(GOLDEN / name)
    bits = np.random.default_rng(0).integers(0, 2, (5, qubo.logical))
    assert qubo.score(bits)[:4].tolist() == pytest.approx(SCORES[name], rel=1e-13)


COPIES: dict[str, Callable[[Path, Path], Any]] = {
    "pubo.json": lambda path, made: qcompile.save_pubo(qcompile.load_pubo(path), made),
    "moments.npz": lambda path, made: qcompile.save_moments(qcompile.load_moments(path), made),
    "model.json": lambda path, made: qcompile.save_classifier(qcompile.load_classifier(path), made),
    "trained.json": lambda path, made: qcompile.save_classifier(
        qcompile.load_classifier(path), made
    ),
    "embedding.json": lambda path, made: qcompile.save_embedding(
        qcompile.load_embedding(path), made
    ),
}


@pytest.mark.parametrize("name", COPIES)
def test_what_is_read_is_written_the_same(name: str, tmp_path: Path) -> None:
    COPIES[name](GOLDEN / name, tmp_path / name)
    assert (tmp_path / name).read_bytes() == (GOLDEN / name).read_bytes()


def test_the_loss_is_the_one_that_was_fitted() -> None:
    loss = qcompile.load_loss(GOLDEN / "loss.json")
    assert loss.coefficients == (0.5, -0.3014528280061866, 0.0, 0.00562214021695667)
    assert (loss.range_, loss.l2, loss.fit) == (1.777504557376324, 0.025, "risk")


@pytest.mark.parametrize("name", ["samples.json", "chained.json"])
def test_samples_have_the_energies_of_their_problem(name: str) -> None:
    qubo, _ = qcompile.load_qubo(GOLDEN / "qubo.json")
    samples = qcompile.load_samples(GOLDEN / name, qubo)
    np.testing.assert_allclose(samples.energies, qubo.score(samples.bits), rtol=1e-12)
    assert samples.energies[0] == pytest.approx(0.17811635515914584)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("verify qubo.json --data rows.svm --pubo pubo.json", 0),
        ("verify qubo.npz --data rows.svm", 0),
        ("verify qubo6.json --data rows.svm", 0),
        ("verify pruned.json --data rows.svm", 0),
        ("verify named.json --data breast-cancer", 0),
        ("verify own.json --pubo terms.json", 0),
        ("decode samples.json --problem qubo.json", 0),
        ("predict model.json rows.svm", 0),
        ("report qubo.json samples.json embedding.json model.json --data rows.svm -o {page}", 0),
    ],
)
def test_commands_take_the_files(
    line: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(GOLDEN)
    assert main(line.format(page=tmp_path / "page.html").split()) == code


def numbers(text: str) -> list[float]:
    return [float(number) for number in _NUMBER.findall(text)]


def test_compiling_the_same_rows_gives_the_same_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(GOLDEN)
    names = ("qubo.json", "pubo.json", "loss.json", "moments.npz")
    emitted = [part for name in names for part in ("--emit", str(tmp_path / name))]
    as_then = ["--scale", "none", "--no-bias", "--l2", "0.025"]
    assert main(["compile", "rows.svm", "--order", "3", "--bits", "2", *as_then, *emitted]) == 0
    # the kernels of BLAS, and with them the last bits of moments, differ between processors
    for name in names[1:3]:
        now, then = ((at / name).read_text() for at in (tmp_path, GOLDEN))
        assert _NUMBER.sub("", now) == _NUMBER.sub("", then)
        assert numbers(now) == pytest.approx(numbers(then), rel=1e-9, abs=1e-12)
    # gates have other strengths since; the products and the polynomial are the same
    qubo, qubo_then = (qcompile.load_qubo(at / "qubo.json")[0] for at in (tmp_path, GOLDEN))
    assert qubo.ancillas.factors.tolist() == qubo_then.ancillas.factors.tolist()
    terms, terms_then = restore(qubo).to_dict(), restore(qubo_then).to_dict()
    assert terms == pytest.approx({key: terms_then.get(key, 0.0) for key in terms}, abs=1e-12)
    assert all(abs(terms_then[key]) < 1e-12 for key in terms_then.keys() - terms.keys())
