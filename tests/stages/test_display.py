"""Every stage prints as one short line, and as a small table in notebooks."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qcompile
from qcompile import Pubo
from qcompile.leap.cost import Cost
from qcompile.leap.job import Job
from qcompile.leap.records import Part, Solver
from qcompile.stages.display import Displayed, quoted
from qcompile.stages.origin import Origin
from qcompile.stages.qubo import Fingerprint
from qcompile.stages.samples import samples_of
from qcompile.stages.source import Source

PUBLIC = [
    *("Dataset", "Moments", "Loss", "Encoding", "Preparation", "Pubo", "Qubo", "Ancillas"),
    *("Embedding", "Embedded", "Machine", "Samples", "Classifier", "Compiled", "Trained"),
    *("Job", "Submission"),
]
# Markup, quotes, line breaks, a byte that is no text, a mark that turns text round, and length.
HOSTILE = "<script>alert('x')</script>\"&\r\n\x00\ud800\u202e" + "<b>" * 500


def _job(name: str) -> Job:
    part = Part(0, "label", 10, {})
    return Job(
        folder=Path("jobs") / "a",
        id=name,
        label=name,
        created="2026-01-01",
        solver_type="qpu",
        solver=Solver(name),
        endpoint="https://example.org",
        account="0123",
        repair="majority",
        chain_strength=None,
        digests={},
        source=name,
        cost=_cost(name),
        parts=(part,),
    )


def _cost(name: str) -> Cost:
    return Cost(name, "qpu", 5, 8, 2, (10,), 0.5, 1.0, None)


def _stages(name: str) -> dict[str, Any]:
    """Make one of each kind; all names that come from outside are `name`."""
    data = qcompile.prepare(qcompile.read("breast-cancer", rows=60), features=6, scale="standard")
    data = replace(data, source=Source(name=name, rows=60, extra={name: name}))
    made = qcompile.compile(data, bits=2, threshold=1e-9, l0=0.01)
    qubo = made.quadratize()
    machine = qcompile.load_machine("pegasus4").without([40])
    machine = replace(machine, name=name, title=name, source=name)
    embedded = qcompile.embed(qubo, machine, method="biclique")
    found = qcompile.train(data, bits=1, test=0.2)
    samples = samples_of(qubo, np.zeros((2, qubo.logical), np.int8), info={"solver": name})
    assert data.preparation is not None and made.pubo.encoding is not None
    marked = replace(qubo, seal=qcompile.stages.qubo.Seal((name,) * 99, True), method=name)
    loss = replace(made.loss, fit=name, notes=(name,))
    stages = [
        data,
        made.moments,
        loss,
        made.pubo.encoding,
        replace(made.pubo.encoding, bounds=((0, 1),) * 6),
        data.preparation,
        made.pubo,
        marked,
        marked.seal,
        qubo.ancillas,
        embedded.embedding,
        embedded,
        machine,
        samples,
        samples.lowest(0),
        found.classifier,
        made,
        replace(found, notes=(name,)),
        _job(name),
        qcompile.Submission(_cost(name)),
        qcompile.Submission(_cost(name), _job(name), samples, found.classifier),
        made.pubo.origin,
        replace(made.pubo.origin, loss=loss),
        Origin(),
        data.source,
        found.classifier.source,
        Source(),
        Fingerprint(0.5, np.zeros(300)),
        Pubo.from_dict({}),
        qcompile.quadratize(Pubo.from_dict({})),
    ]
    return {f"{type(stage).__name__} {number}": stage for number, stage in enumerate(stages)}


@pytest.fixture(scope="module")
def stages() -> dict[str, Any]:
    return _stages("rows.svm")


@pytest.fixture(scope="module")
def hostile() -> dict[str, Any]:
    return _stages(HOSTILE)


def test_every_public_stage_is_among_them(stages: dict[str, Any]) -> None:
    kinds = {type(stage).__name__ for stage in stages.values()}
    assert kinds >= set(PUBLIC)
    for name in PUBLIC:
        assert issubclass(getattr(qcompile, name), Displayed)


@pytest.mark.parametrize("case", ["stages", "hostile"])
def test_a_stage_prints_as_one_short_line(case: str, request: pytest.FixtureRequest) -> None:
    for stage in request.getfixturevalue(case).values():
        text = repr(stage)
        assert len(text) < 120 and text.isprintable(), text
        assert text.startswith(f"{type(stage).__name__}(") and text.endswith(")"), text
        assert str(stage) == text


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= set(attrs)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.mark.parametrize("case", ["stages", "hostile"])
def test_a_notebook_shows_a_table_and_nothing_else(
    case: str, request: pytest.FixtureRequest
) -> None:
    for stage in request.getfixturevalue(case).values():
        text = stage._repr_html_()
        reader = _Reader()
        reader.feed(text)
        reader.close()
        assert reader.tags <= {"table", "caption", "b", "tr", "th", "td"}, text
        assert reader.attributes <= {("style", "text-align:left")}
        assert reader.words[0] == type(stage).__name__
        assert len(text) < 10_000 and text.isprintable(), text
        text.encode()


def test_names_from_outside_are_shown_escaped(hostile: dict[str, Any]) -> None:
    """Otherwise the tests above might pass because nothing of a name is shown."""
    for name, stage in hostile.items():
        if name.split()[0] in ("Dataset", "Loss", "Machine", "Samples", "Classifier", "Job"):
            if len(stage) if hasattr(stage, "__len__") else True:
                assert "<script>" in repr(stage), name
            assert "&lt;script&gt;" in stage._repr_html_(), name


def test_the_lines_say_what_one_asks_first() -> None:
    pubo = Pubo.from_dict({(0, 1, 2): 1.0, (0, 3): 2.0, (4,): 1.0})
    assert repr(pubo) == "Pubo(5 variables, 3 terms, degree 3)"
    line = "Qubo(6 variables: 5 logical + 1 ancilla, 5 interactions)"
    assert repr(qcompile.quadratize(pubo)) == line
    assert repr(qcompile.Encoding(3, 2, 0.5)) == "Encoding(3 weights of 2 bits, zeta 0.5)"
    data = qcompile.read("long-servedio", rows=10)
    assert repr(data) == "Dataset(10 rows of 'long-servedio', 21 features)"
    assert repr(data.source) == "Source(name='long-servedio', rows=2000, seed=0)"
    assert (
        len(repr(qcompile.compile("synthetic", scale="none", bias=False, bits=2).quadratize()))
        < 120
    )


def test_a_line_does_no_work() -> None:
    """Neither the QUBO nor the graph of a machine is made to be printed."""
    made = qcompile.compile("synthetic", scale="none", bias=False, bits=2)
    machine = qcompile.load_machine("advantage")
    for thing in (made, machine):
        repr(thing), thing._repr_html_()
    assert "_quadratized" not in vars(made)
    assert not {"graph", "whole_graph", "nodes", "edges"} & set(vars(machine))


def test_quoted_names_stay_within_their_room() -> None:
    for name in (
        "",
        "a",
        "'",
        "\"'",
        "x" * 39,
        "x" * 400,
        "\x00" * 40,
        "\U0001f600" * 50,
        "\u202e" * 9,
    ):
        text = quoted(name)
        assert 2 <= len(text) <= 40 and text.isprintable() and text[0] == text[-1]
