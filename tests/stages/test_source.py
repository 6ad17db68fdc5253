"""Where data come from, as a record: fields for code, keys for files and for older callers."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

import qcompile
from qcompile import InputError
from qcompile.data.replay import same_rows
from qcompile.stages.source import ClassifierSource, Source

KNOWN: dict[str, Any] = {
    "name": "rows.svm",
    "rows": 40,
    "index_base": 1,
    "sha256": "ab" * 32,
    "parts": 2,
    "seed": 3,
    "shuffle_seed": 4,
    "noise": 0.1,
    "noise_seed": 5,
    "labels": ["a", 7, ("b", 2)],
    "vartype": "SPIN",
}
FOUND: dict[str, Any] = {
    "energy": -1.5,
    "rank": 2,
    "solver": "exact",
    "seed": 9,
    "space": "bits",
    "validation_error": 0.25,
    "order": 3,
    "loss": [0.5, -1.0, 0.0, 0.1],
    "bits": 2,
    "zeta": 1.5,
}
INVALID = [
    ("name", 5),
    ("rows", "many"),
    ("rows", -1),
    ("rows", True),
    ("rows", 4.0),
    ("index_base", 2),
    ("sha256", ["x"]),
    ("parts", {}),
    ("seed", -1),
    ("shuffle_seed", "x"),
    ("noise", "a tenth"),
    ("noise_seed", 1.5),
    ("labels", "abc"),
    ("labels", ["a", "a"]),
    ("vartype", "QUBIT"),
]


def test_the_fields_are_what_files_say() -> None:
    source = Source.of(KNOWN)
    assert not source.extra and not source.invalid
    assert [f.name for f in fields(Source)] == [*KNOWN, "extra"]
    assert source.labels == ("a", 7, ("b", 2)) and source.rows == 40
    assert source.to_dict() == KNOWN and list(source.to_dict()) == list(KNOWN)


def test_a_record_is_read_like_the_dictionary_it_was() -> None:
    source = Source(name="x", rows=3)
    assert source["name"] == "x" and source.get("rows") == 3 and source.get("seed", 7) == 7
    assert "rows" in source and "seed" not in source
    assert list(source) == ["name", "rows"] and len(source) == 2 and {**source} == dict(source)
    assert source == {"name": "x", "rows": 3} and source != {"name": "y", "rows": 3}
    assert source and not Source()
    with pytest.raises(KeyError):
        source["seed"]


@pytest.mark.parametrize(("name", "value"), INVALID)
def test_invalid_values_stay_as_they_are_beside_the_fields(name: str, value: Any) -> None:
    source = Source.of({"author": "me", name: value})
    assert getattr(source, name) is None
    assert source.invalid == (name,)
    assert source.to_dict() == {"author": "me", name: value}


def test_what_is_null_in_a_file_stays_null_and_is_not_invalid() -> None:
    source = Source.of({"index_base": None})
    assert source.invalid == () and source.to_dict() == {"index_base": None}


def test_the_seed_of_the_solver_stands_where_it_always_stood() -> None:
    """After the energy; or, where the data have a seed too, in its place."""
    data = Source(name="synthetic", rows=10, seed=1)
    own = {name: value for name, value in FOUND.items() if name not in ("seed", "loss")}
    made = ClassifierSource(**vars(data), **own, solver_seed=9, loss=tuple(FOUND["loss"]))
    assert (made.seed, made.solver_seed) == (1, 9)
    assert list(made.to_dict().items()) == list(({**data} | FOUND).items())
    plain = replace(made, seed=None)
    assert list(plain.to_dict().items()) == list(
        ({"name": "synthetic", "rows": 10} | FOUND).items()
    )
    for record in (made, plain):
        again = ClassifierSource.of(orjson.loads(orjson.dumps(record.to_dict())))
        assert list(again.to_dict().items()) == list(record.to_dict().items())
    assert ClassifierSource.of(plain.to_dict()).solver_seed == 9


def _with_record(path: Path, place: list[str], record: dict[str, Any]) -> None:
    content = orjson.loads(path.read_bytes())
    inner = content
    for key in place:
        inner = inner[key]
    inner["source"] = record
    path.write_bytes(orjson.dumps(content))


def test_unknown_entries_of_files_survive_a_round_trip(tmp_path: Path) -> None:
    found = qcompile.train(qcompile.read("long-servedio", rows=60), bits=1)
    record = {"name": "theirs", "rows": "all", "author": {"of": ["x"]}, "energy": "low"}
    qcompile.save_classifier(found.classifier, tmp_path / "model.json")
    _with_record(tmp_path / "model.json", [], record)
    model = qcompile.load_classifier(tmp_path / "model.json")
    assert model.source == record and model.source.name == "theirs" and model.source.rows is None
    qcompile.save_classifier(model, tmp_path / "again.json")
    assert orjson.loads((tmp_path / "again.json").read_bytes())["source"] == record

    assert isinstance(found.problem, qcompile.Pubo)
    for ending in (".json", ".npz"):
        given = replace(
            found.problem, origin=replace(found.problem.origin, source=Source.of(record))
        )
        qcompile.save_pubo(given, tmp_path / f"pubo{ending}")
        read = qcompile.load_pubo(tmp_path / f"pubo{ending}")
        assert read.source == record
        qubo = qcompile.quadratize(read)
        qcompile.save_qubo(qubo, tmp_path / f"qubo{ending}", pubo=read)
        back, mark = qcompile.load_qubo(tmp_path / f"qubo{ending}")
        assert back.source == record
        assert back.seal is not None and back.seal.record_intact
        assert qcompile.verify(back, reference=mark).holds
    samples = qcompile.solve(qubo, solver="exact", keep=1)
    assert qcompile.decode(qubo, samples).source["author"] == record["author"]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"rows": "many"}, "invalid rows: 'many'"),
        ({"seed": -3}, "invalid seed: -3"),
        ({"noise": [], "noise_seed": 1}, "invalid noise: "),
        ({"noise": 0.1}, "noise_seed is missing"),
        ({"shuffle_seed": {}}, "invalid shuffle_seed: "),
    ],
)
def test_rows_are_not_read_again_by_an_invalid_record(record: Any, message: str) -> None:
    made = qcompile.compile("long-servedio", scale="none", bias=False, order=1, bits=1)
    problem = replace(made.pubo, origin=replace(made.pubo.origin, source=Source.of(record)))
    with pytest.raises(InputError, match=message):
        same_rows("long-servedio", problem)


def test_rows_are_read_again_as_the_record_says() -> None:
    options = {"rows": 50, "shuffle": True, "noise": 0.2, "seed": 6, "scale": "standard"}
    data = qcompile.DataOptions(**options)  # type: ignore[arg-type]
    name = "synthetic:examples=80,features=3"
    made = qcompile.compile(name, data=data, order=1, bits=1)
    expected = {"name": name, "rows": 50, "seed": 6}
    assert made.pubo.source == expected | {"shuffle_seed": 6, "noise": 0.2, "noise_seed": 6}
    rows = same_rows(name, made.pubo)
    again = qcompile.moments_of(rows, 1)
    assert all(np.array_equal(again.tensors[k], t) for k, t in made.moments.tensors.items())
    samples = qcompile.solve(made.pubo, solver="exact", seed=11)
    model = qcompile.decode(made.pubo, samples)
    # the seed of the solver must not be taken for that of the data
    assert (model.source.seed, model.source.solver_seed) == (6, 11)
    assert np.array_equal(same_rows(name, model).y, rows.y)


def test_a_record_is_compared_by_digest_or_by_name() -> None:
    known = Source(name="a.svm", rows=5, sha256="11")
    assert known.is_of(Source(name="b.svm", sha256="11"), 5)  # the same file, renamed
    assert not known.is_of(Source(name="a.svm", sha256="22"), 5)
    assert known.is_of(Source(name="a.svm"), 5)
    assert not known.is_of(Source(name="b.svm"), 5)
    assert not known.is_of(Source(name="a.svm"), 6)
    assert Source(name="a.svm").is_of(Source(name="a.svm"), 6)  # rows not recorded
