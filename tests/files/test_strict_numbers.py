"""A number is a number: every reader refuses "0", true and null in its place."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import qcompile
from qcompile import Qubo
from qcompile.errors import QcompileError
from qcompile.files import guarded
from qcompile.files.interchange import read_pubo

Place = tuple[Any, ...]

# Records that are handed on as they are, and headers of dimod that are not read as numbers.
_NOT_READ = {
    "source", "options", "qcompile", "info", "bqm_schema", "sampleset_schema"
}  # fmt: skip


def _numbers_in(value: Any, place: Place = ()) -> Iterator[Place]:
    """Yield the place of the first number of every list, and of every single one."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in _NOT_READ or (key in ("info", "qcompile") and "ancillas" in str(item)):
                yield from _numbers_in(item, (*place, key))
    elif isinstance(value, list):
        for number, item in enumerate(value[:2]):
            yield from _numbers_in(item, (*place, number))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield place


def _at(content: Any, place: Place, value: Any) -> Any:
    changed = copy.deepcopy(content)
    inner = changed
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return changed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All files of one run."""
    place = tmp_path_factory.mktemp("files")
    data = qcompile.prepare(
        qcompile.read("synthetic:examples=40,features=3"), scale="standard", bias=True, features=2
    )
    compiled = qcompile.compile(data, order=3, bits=2)
    qubo = compiled.quadratize()
    qcompile.save_qubo(qubo, place / "qubo.json", pubo=compiled.pubo)
    qcompile.save_pubo(compiled.pubo, place / "pubo.json")
    assert qubo.loss is not None
    qcompile.save_loss(qubo.loss, place / "loss.json")
    samples = qcompile.solve(qubo, solver="exact")
    qcompile.save_samples(samples, place / "samples.json")
    qcompile.save_classifier(qcompile.decode(qubo, samples), place / "model.json")
    whole = qcompile.load_machine("pegasus4")
    machine = whole.without(map(int, sorted(whole.nodes)[:2]))
    found = qcompile.embed(qubo, machine).embedding
    qcompile.save_embedding(found, place / "embedding.json")
    return place


def _reader(kind: str, folder: Path) -> Callable[[Path], Any]:
    def samples(path: Path) -> Any:
        return qcompile.load_samples(path, qcompile.load_qubo(folder / "qubo.json")[0])

    readers: dict[str, Callable[[Path], Any]] = {
        "qubo": qcompile.load_qubo,
        "pubo": qcompile.load_pubo,
        "loss": qcompile.load_loss,
        "samples": samples,
        "model": qcompile.load_classifier,
        "embedding": qcompile.load_embedding,
    }
    return readers[kind]


@pytest.mark.parametrize("kind", ["qubo", "pubo", "loss", "samples", "model", "embedding"])
def test_every_number_of_every_file(folder: Path, tmp_path: Path, kind: str) -> None:
    read = _reader(kind, folder)
    read(folder / f"{kind}.json")
    content = json.loads((folder / f"{kind}.json").read_bytes())
    path = tmp_path / "changed.json"
    taken = []
    places = list(_numbers_in(content))
    assert len(places) > 5
    for place in places:
        inner = content
        for key in place:
            inner = inner[key]
        for wrong in (str(inner), bool(inner), [inner]):
            path.write_text(json.dumps(_at(content, place, wrong)))
            try:
                read(path)
            except QcompileError as error:
                assert "\n" not in str(error)
            else:
                taken.append((place, wrong))
    assert not taken


@pytest.mark.parametrize("wrong", ["0", True, None, [1.0]])
def test_polynomials_of_other_programs(wrong: Any, qubo: Qubo) -> None:
    bqm = qubo.to_bqm().to_serializable()
    bqm.pop("info", None)
    plain = json.loads(json.dumps(bqm, default=float))
    for changed in (
        {**plain, "offset": wrong},
        {**plain, "linear_biases": [wrong, *plain["linear_biases"][1:]]},
        {**plain, "quadratic_biases": [wrong, *plain["quadratic_biases"][1:]]},
        {"0,1": wrong},
        [[[0, 1], wrong]],
    ):
        with pytest.raises(QcompileError):
            read_pubo(changed)


def test_single_numbers() -> None:
    assert guarded.number(2) == 2.0 and guarded.whole_number(-3) == -3
    for wrong in ("0", True, None, [1], 1.5):
        with pytest.raises(QcompileError):
            guarded.whole_number(wrong)
    with pytest.raises(QcompileError, match=r"found 'x\\x1b'; expected a number"):
        guarded.number("x\x1b")
