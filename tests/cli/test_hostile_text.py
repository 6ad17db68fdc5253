"""Files and servers are not trusted with the terminal: nothing but printable text reaches it."""

from __future__ import annotations

import contextlib
import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import qcompile
from qcompile import Qubo
from qcompile.cli.app import main
from tests.leap.jobs import machine_of
from tests.sapi import TOKEN, Sapi

# Clear the screen, retitle the window, forge a line, turn the writing round, colour, HTML, markup.
EVIL = "\x1b[2J\x1b]0;t\x07\r\nqcompile: forged\u202e\x9b31m\x7f\x00[red]<script>alert(1)</script>"


def _check(text: str) -> None:
    """No character that is not printable, and no line of the enemy's."""
    strange = {c for c in text if not c.isprintable() and c != "\n"}
    assert not strange, sorted(map(ascii, strange))
    assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs") for c in text if c != "\n")
    assert not any(line.startswith("qcompile: forged") for line in text.splitlines())


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def command(*arguments: str) -> str:
        with contextlib.suppress(SystemExit):
            main([*map(str, arguments)])
        caught = capsys.readouterr()
        _check(caught.out)
        _check(caught.err)
        assert "Traceback" not in caught.err
        return caught.out + caught.err

    return command


def _hostile(value: Any, *, keys: bool = False) -> Any:
    """Return plain values in which every text is hostile; with `keys`, a hostile key as well."""
    if isinstance(value, dict):
        changed = {k: v if k in _KEPT else _hostile(v, keys=keys) for k, v in value.items()}
        return changed | ({f"new {EVIL}": EVIL} if keys else {})
    if isinstance(value, list):
        return [_hostile(item, keys=keys) for item in value]
    return value + EVIL if isinstance(value, str) else value


# What decides whether a file is read at all.
_KEPT = {
    "type", "version", "qcompile_version", "variable_type", "vartype", "data_type", "sample_type",
    "bias_type", "index_type", "topology", "graph_id", "problem_id", "marks", "scaling", "format",
}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, qubo: Qubo) -> Path:
    """Files whose texts are hostile, as far as they can still be read."""
    folder = tmp_path_factory.mktemp("hostile")
    samples = qcompile.solve(qubo, solver="exact")
    qcompile.save_qubo(qubo, folder / "good.json")
    qcompile.save_samples(samples, folder / "samples.json")
    qcompile.save_classifier(qcompile.decode(qubo, samples), folder / "model.json")
    chains = qcompile.embed(qubo, qcompile.load_machine("pegasus4")).embedding
    qcompile.save_embedding(chains, folder / "embedding.json")
    for name in ("good", "samples", "model", "embedding"):
        content = json.loads((folder / f"{name}.json").read_bytes())
        for keys in (False, True):
            kind = f"{name}{'-keys' if keys else ''}-evil.json"
            (folder / kind).write_text(json.dumps(_hostile(content, keys=keys)))
    return folder


@pytest.fixture
def files(made: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(made)
    return made


@pytest.mark.parametrize("extra", [["-v"], ["--json"]], ids=["text", "json"])
def test_files(files: Path, run: Callable[..., str], extra: list[str]) -> None:
    said = ""
    for problem in ("good-evil.json", "good-keys-evil.json", "good.json"):
        said += run("verify", problem, *extra)
        said += run("solve", problem, "--solver", "exact", "-o", "s.json", *extra)
        for samples in ("samples-evil.json", "samples-keys-evil.json"):
            said += run("decode", samples, "--problem", problem, "-o", "m.json", *extra)
        for chains in ("embedding-evil.json", "embedding-keys-evil.json"):
            said += run("embed", problem, "--reuse", chains, *extra)
    for model in ("model-evil.json", "model-keys-evil.json"):
        said += run("predict", model, "breast-cancer", "-o", "p.txt", *extra)
        said += run("report", "good-evil.json", model, "-o", "page.html", *extra)
    assert "forged" in said  # some of it was shown


def test_the_page(files: Path, run: Callable[..., str]) -> None:
    run("report", "good-evil.json", "embedding-evil.json", "samples.json", "model-evil.json",
        "-o", "page.html")  # fmt: skip
    run("report", "good-evil.json", "samples.json", "model-evil.json", "-o", "page.html")
    page = Path("page.html").read_text()
    assert "<script>alert" not in page and "alert(1)" in page
    _check(page)


_TABLES = """
title = {evil}
topology = "pegasus"
shape = [3]
[ranges]
h = [-4, 4]
j = [-1, 1]
[source]
name = {evil}
date = {evil}
"""


@pytest.mark.parametrize("extra", [[], ["--json"], ["--format", "csv"], ["--format", "markdown"]])
def test_machines(here: Path, run: Callable[..., str], extra: list[str]) -> None:
    evil = json.dumps(EVIL).replace("\\u009b", "\\u009b")
    good = _TABLES.format(evil=evil)
    cases = {
        "texts": good,
        "key": good.replace("[ranges]", f"[ranges]\n{evil} = 1"),
        "table": good + f"[{evil}]\na = 1\n",
        "topology": good.replace('"pegasus"', evil),
        "shape": good.replace("[3]", evil),
        "range": good.replace("[-4, 4]", evil),
        f"name{EVIL}".replace("/", "").replace("\0", ""): good,
    }
    said = ""
    for name, text in cases.items():
        Path(f"{name}.toml").write_text(text)
        said += run("machines", f"{name}.toml", *extra)
    assert "forged" in said


# --- the server ----------------------------------------------------------------------------


def _says(value: str) -> str:
    return f"{value}{EVIL}{TOKEN}"


@pytest.mark.parametrize("extra", [["--yes", "--json"], ["--yes", "-v"]], ids=["json", "text"])
def test_a_server_whose_every_text_is_hostile(
    server: Sapi, here: Path, qubo: Qubo, run: Callable[..., str], extra: list[str]
) -> None:
    qcompile.save_qubo(qubo, "qubo.json")
    qcompile.save_embedding(qcompile.embed(qubo, machine_of(server)).embedding, "chains.json")
    good = server.solvers["Mock_Advantage"]
    name = _says("Mock")
    solver = json.loads(json.dumps(good))
    solver["identity"]["name"] = name
    solver["description"] = _says("d")
    solver["properties"]["chip_id"] = name
    solver["properties"]["problem_timing_data"] = {_says("version"): _says("1")}
    server.solvers = {name: solver}
    _make_hostile(server)
    submit = ("submit", "qubo.json", "--embedding", "chains.json", "-n", "60", "--timeout", "20")
    said = run(*submit, *extra, "--grace", "0.1")
    said += run(*submit, *extra, "--solver", "other", "--grace", "0.1")
    said += run(*submit, *extra, "--param", "no_such=1", "--grace", "0.1")
    said += run("jobs")
    for form in ("text", "json", "csv", "markdown"):
        said += run("jobs", "--format", form)
    for job in Path(here / "jobs").glob("2*"):
        said += run("jobs", job.name)
        said += run("resume", job.name, "--grace", "0.1", "--timeout", "20")
        said += run("cancel", job.name, "--grace", "0.1")
    assert TOKEN not in said and "forged" in said
    kept = b"".join(p.read_bytes() for p in here.rglob("*") if p.is_file())
    assert TOKEN.encode() not in kept


def _make_hostile(server: Sapi) -> None:
    """Let every reply say more, in fields that are known and in others."""
    status, solve, submit = server.status, server._anneal, server.submit

    def said(content: dict[str, Any]) -> dict[str, Any]:
        more = {"error_message": _says("m"), _says("k"): _says("v"), "submitted_on": _says("2026")}
        return {**content, **more}

    def hostile_status(number: str, **named: Any) -> dict[str, Any]:
        return said(status(number, **named))

    def hostile_submit(body: dict[str, Any]) -> dict[str, Any]:
        # the name of the solver comes back without the token, as it was scrubbed
        (body["solver"]["name"],) = server.solvers
        return submit(body)

    def hostile_answer(problem: dict[str, Any]) -> dict[str, Any]:
        return {**solve(problem), _says("k"): _says("v"), "timing": {f"{EVIL}_time": 5}}

    server.status = hostile_status  # type: ignore[method-assign]
    server.submit = hostile_submit  # type: ignore[method-assign]
    server._anneal = hostile_answer  # type: ignore[method-assign]


def test_a_job_of_a_stranger(server: Sapi, here: Path, qubo: Qubo, run: Callable[..., str]) -> None:
    qcompile.save_qubo(qubo, "qubo.json")
    run("submit", "qubo.json", "--yes", "-n", "60", "--no-wait", "--grace", "0.1")
    (folder,) = Path(here / "jobs").glob("2*")
    record = json.loads((folder / "job.json").read_bytes())
    for key in ("label", "created", "endpoint", "source", "profile", "region"):
        record[key] += EVIL
    record["solver"]["name"] += EVIL
    record["cost"]["notes"] = [EVIL]
    (folder / "job.json").write_text(json.dumps(record))
    part = json.loads((folder / "part-1.json").read_bytes())
    (folder / "part-1.json").write_text(json.dumps(part | {"message": EVIL}))
    said = run("jobs", folder.name)
    for form in ("text", "json", "csv", "markdown"):
        said += run("jobs", "--format", form)
    said += run("resume", folder.name, "--grace", "0.1") + run("cancel", folder.name)
    assert "forged" in said


def test_arguments_that_cannot_be_read(
    server: Sapi, here: Path, qubo: Qubo, run: Callable[..., str]
) -> None:
    qcompile.save_qubo(qubo, "qubo.json")
    bad = "\udcff\x1b[2J"
    for option in ("--profile", "--region", "--solver", "--label", "--jobs"):
        run("submit", "qubo.json", option, bad, "--dry-run")
    run("submit", f"{bad}.json", "--dry-run")
    run("verify", f"{bad}.json")
    run("solve", "qubo.json", "--solver", "exact", "-o", f"{bad}.json")
    run(f"{bad}")
    deep = "[" * 100_000
    assert "nested" in run("submit", "qubo.json", "--param", f"x={deep}", "--dry-run")
    deep = "[" * 100 + "]" * 100
    assert "nested" in run("submit", "qubo.json", "--param", f"x={deep}", "--dry-run")
    for value in ("inf", "nan", "-1", "0"):
        assert "timeout" in run("submit", "qubo.json", "--timeout", value, "--dry-run")
    assert "grace" in run("submit", "qubo.json", "--grace", "inf", "--dry-run")
