"""Every pass hands on what decoding needs, whole."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest

import qcompile
from qcompile import Dataset, Encoding, Loss, Preparation, Pubo, Qubo
from qcompile.stages.local_fit import Around
from qcompile.stages.origin import Origin, OriginFields
from qcompile.stages.source import Source
from qcompile.stages.spins import bits_to_spins, spins_to_bits


@pytest.fixture(scope="module")
def made() -> qcompile.Compiled:
    data = qcompile.DataOptions(rows=40, features=3, scale="standard", bias=True, noise=0.1, seed=2)
    loss = qcompile.LossOptions(order=4)
    return qcompile.compile("breast-cancer", data=data, loss=loss, bits=2, l0=0.01, threshold=0.01)


def _facts(origin: Origin) -> dict[str, Any]:
    prepared = None if origin.preparation is None else origin.preparation.to_dict()
    return {**vars(origin), "preparation": prepared, "source": origin.source.to_dict()}


@pytest.fixture(scope="module")
def step() -> Pubo:
    """A round of training, which has a centre in the place of a loss."""
    data = qcompile.prepare(qcompile.read("breast-cancer", rows=40), features=6, bias=True)
    fit = qcompile.fit_around(data, np.linspace(-1, 1, 7), 0.3, degree=3, l2=0.01, block=[1, 2, 6])
    return qcompile.discretize_step(fit, 0.2)


@pytest.fixture(params=["whole", "step"])
def pubo(request: pytest.FixtureRequest, made: qcompile.Compiled, step: Pubo) -> Pubo:
    return made.pubo if request.param == "whole" else step


def test_compiling_fills_every_field(made: qcompile.Compiled, step: Pubo) -> None:
    """Otherwise the tests below could not see a field that is lost."""
    empty, own = _facts(Origin()), _facts(step.origin)
    for name, value in _facts(made.pubo.origin).items():
        assert (own if name == "around" else {name: value})[name] != empty[name], name


def test_passes_hand_the_origin_on(made: qcompile.Compiled, step: Pubo) -> None:
    assert qcompile.quadratize(step).origin is step.origin
    pubo, origin = made.pubo, made.pubo.origin
    qubo = qcompile.quadratize(pubo)
    few = qcompile.quadratize(pubo, max_ancillas=2)
    assert few.truncated is not None
    for problem in (qubo, few, qcompile.restore(qubo), qcompile.restore(few)):
        assert problem.origin is origin
    assert spins_to_bits(bits_to_spins(pubo)).origin is origin
    assert replace(qubo, offset=1.0).origin is origin


@pytest.mark.parametrize("ending", [".json", ".npz"])
def test_files_keep_the_origin(pubo: Pubo, ending: str, tmp_path: Path) -> None:
    qcompile.save_pubo(pubo, tmp_path / f"pubo{ending}")
    qcompile.save_qubo(qcompile.quadratize(pubo), tmp_path / f"qubo{ending}")
    known = _facts(pubo.origin)
    assert _facts(qcompile.load_pubo(tmp_path / f"pubo{ending}").origin) == known
    assert _facts(qcompile.load_qubo(tmp_path / f"qubo{ending}")[0].origin) == known


def test_a_problem_over_margins_has_an_origin_too() -> None:
    data = qcompile.prepare(qcompile.read("breast-cancer", rows=30), features=5, scale="standard")
    found = qcompile.train(data, bits=2, l0=0.02, loss=qcompile.LossOptions(order=8))
    assert isinstance(found.problem, Pubo) and not found.problem.num_terms
    origin = found.problem.origin
    assert origin.encoding is not None and origin.loss == found.loss and origin.l0 == 0.02
    assert origin.preparation is data.preparation and origin.source == data.source


def test_pruning_changes_the_encoding_only() -> None:
    data = qcompile.DataOptions(rows=40, features=3, scale="standard", bias=False)
    whole = qcompile.compile("breast-cancer", data=data, bits=2).pubo.origin
    pruned = qcompile.compile("breast-cancer", data=data, bits=2, prune=True).pubo.origin
    assert pruned.encoding is not None and pruned.encoding.bounds is not None
    assert _facts(replace(pruned, encoding=whole.encoding)) == _facts(whole)


def test_the_constructors_take_each_field_by_its_name() -> None:
    encoding, loss = Encoding(1, 1, 1.0), Loss((0.5, -1.0))
    values: dict[str, Any] = {
        "encoding": encoding,
        "loss": loss,
        "l0": 0.5,
        "dropped": 0.25,
        "preparation": Preparation(1),
        "source": {"name": "here", "mine": 1},
        "around": Around(0.5, 1.0, 2, 0.01),
    }
    assert list(values) == [f.name for f in fields(Origin)]
    plain = Pubo.from_dict({(0,): 1.0})
    terms = (plain.variables, plain.constant, plain.indices, plain.coefficients)
    qubo = qcompile.quadratize(plain)
    parts = (qubo.logical, qubo.offset, qubo.linear, qubo.first, qubo.second, qubo.quadratic)
    problems: list[Any] = [
        Pubo(*terms, **values),
        replace(plain, **values),
        Qubo(*parts, qubo.ancillas, "none", **values),
        replace(qubo, **values),
    ]
    for problem in problems:
        for name, value in values.items():
            assert getattr(problem, name) == value, name
            assert getattr(problem.origin, name) == value, name
        assert isinstance(problem.source, Source)
        changed = replace(problem, l0=2.0)
        assert changed.l0 == 2.0 and changed.encoding is encoding
    with pytest.raises(TypeError, match="lo"):
        Pubo(*terms, lo=1.0)  # type: ignore[call-arg]


def test_the_typed_keywords_are_the_fields_of_the_record() -> None:
    hints = get_type_hints(OriginFields)
    assert hints == get_type_hints(Origin)
    assert list(hints) == [f.name for f in fields(Origin)]


def test_other_nouns_take_plain_dictionaries_as_sources() -> None:
    data = Dataset(np.eye(2), np.ones(2), Preparation(2), {"name": "x"})  # type: ignore[arg-type]
    assert isinstance(data.source, Source) and data.source.name == "x"
    assert qcompile.moments_of(data, 1).source is data.source
