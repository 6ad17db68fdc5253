"""The command that writes a page about a run."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from qcompile import Qubo, read
from qcompile._version import __version__
from qcompile.cli.app import main
from qcompile.leap.cost import Cost
from qcompile.leap.job import Job
from qcompile.leap.job_store import create_job, list_jobs
from qcompile.leap.records import Part, Solver
from qcompile.report.figures import TITLES
from qcompile.stages.embedded import Embedding
from tests.report.reading import DATA, parsed, section, table, words
from tests.sapi import TOKEN, Sapi


def test_other_data_get_a_matrix_but_no_false_account(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (tmp_path / "other.svm").as_posix()
    assert main(["data", DATA, "--shuffle", "--rows", "100", "-q", "-o", text]) == 0
    place = tmp_path / "p.html"
    assert main(["report", str(folder), "--data", text, "--test", text, "-o", str(place)]) == 0
    assert (
        "not shown  calibration of the probabilities, where accuracy is lost"
        in capsys.readouterr().out
    )
    words = parsed(place.read_text()).words
    assert "the very rows it was compiled from" in words
    assert words.count(" of 100 wrong") == 2


def test_the_same_run_gives_the_same_bytes(folder: Path, tmp_path: Path, whole: str) -> None:
    place = tmp_path / "again.html"
    assert main(["report", str(folder), "--data", DATA, "-q", "-o", str(place)]) == 0
    assert place.read_text() == whole


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.json", "-o", "x.html"], "nowhere.json: no such file"),
        (["no-such-job", "-o", "x.html"], "no-such-job"),
        (["empty", "-o", "x.html"], "empty: nothing of a run in it"),
        (["data.svm", "-o", "x.html"], "not a file of qcompile"),
        (["answers.json", "-o", "x.html"], "nothing to show"),
        (["clf.json", "-o", "x.pdf"], "expected a page ending in .html"),
        (["chains.json", "--data", DATA, "-o", "x.html"], "no record of how data were prepared"),
        (["clf.json"], "required: -o"),
    ],
)
def test_bad_input_is_said_in_one_line(
    arguments: list[str],
    words: str,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "empty").mkdir()
    (tmp_path / "data.svm").write_text("1 1:2\n-1 1:1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QCOMPILE_JOBS", str(tmp_path / "jobs"))
    try:
        code = main(["report", *arguments])
    except SystemExit as stop:
        code = int(stop.code or 0)
    told = capsys.readouterr().err
    assert code == 2 and words in told and told.count("\n") == 1
    assert not list(tmp_path.glob("x.*"))


def test_compile_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "c.html"
    raw = ["--scale", "none", "--no-bias"]
    assert main(["compile", "synthetic", "--bits", "2", *raw, "--report", str(place)]) == 0
    assert str(place) in capsys.readouterr().out
    words = parsed(place.read_text()).words
    assert "polynomial 18 bits 987 terms: 18 of degree 1 153 of degree 2 816 of degree 3" in words
    assert "QUBO 90 qubits 18 bits + 72 ancillas" in words
    assert main(["compile", "synthetic", "--bits", "2", "--report", str(tmp_path / "c.txt")]) == 2


def test_train_writes_a_page_with_its_parts(tmp_path: Path) -> None:
    places = [tmp_path / "a.html", tmp_path / "b.html"]
    for place in places:
        asked = ["--scale", "standard", "--features", "3", "--bits", "2", "-n", "5", "--bias"]
        asked += ["--test", "0.3", "--validation", "0.2", "-q", "--report", str(place)]
        assert main(["train", DATA, *asked]) == 0
    first, second = (place.read_text() for place in places)
    assert first == second, "no clock in it"
    words = parsed(first).words
    sizes = [int(n) for n in re.findall(r"(?:train|validation|test): \d+ of (\d+) wrong", words)]
    assert sum(sizes) == 569 and len(sizes) == 3
    assert "ancillas and penalties (needs a QUBO" in words and "bias" in words


def test_a_training_over_the_margins_says_so(tmp_path: Path) -> None:
    place = tmp_path / "m.html"
    asked = ["--order", "6", "--bits", "4", "--rows", "60", "-n", "5", "-q", "--report", str(place)]
    assert main(["train", "synthetic", *asked]) == 0
    words = parsed(place.read_text()).words
    assert "annealed over the margins" in words and "Beyond order 3" in words


def test_a_job_is_a_run(
    folder: Path, qubo: Qubo, embedding: Embedding, tmp_path: Path, whole: str
) -> None:
    name = "20260131-101500-1a2b3c4d"
    asked = Job(
        folder=tmp_path / "jobs" / name,
        id=name,
        label="<b>",
        created="2026-01-31T10:15:00+00:00",
        solver_type="qpu",
        solver=Solver("Mock"),
        endpoint="",
        account="x",
        repair="majority",
        chain_strength=0.004,
        digests={},
        cost=Cost.from_dict({}),
        parts=(Part(1, f"<b> {name}.1", 200, {}),),
    )
    job = create_job(asked, qubo, [embedding])
    place = str(tmp_path / "j.html")
    jobs = ["--jobs", str(tmp_path / "jobs"), "-q", "-o", place]
    assert main(["report", job.id[:12], *jobs]) == 0
    words = parsed(Path(place).read_text()).words
    assert "energies of the samples (needs the machine's answer)" in words
    shutil.copy(folder / "answers.json", job.folder / "samples.json")
    assert main(["report", str(job.folder), *jobs]) == 0
    words = parsed(Path(place).read_text()).words
    assert "<b> A classifier" in words and job.id in words and "200 samples" in words


def test_submit_and_resume_write_a_page(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("QCOMPILE_JOBS", str(tmp_path / "jobs"))
    problem, pages = str(folder / "problem-a.json"), [tmp_path / "a.html", tmp_path / "b.html"]
    with Sapi() as server:
        for name, value in server.environment(str(tmp_path)).items():
            monkeypatch.setenv(name, value)
        asked = ["submit", problem, "-n", "60", "--yes", "-q", "--report", str(pages[0])]
        assert main([*asked, "--no-wait"]) == 2
        assert "no answer to write yet" in capsys.readouterr().err
        assert main(asked) == 0
        (job,) = list_jobs(tmp_path / "jobs")
        assert main(["resume", job.id, "-q", "--report", str(pages[1])]) == 0
    text = pages[0].read_text()
    assert text == pages[1].read_text(), "a job that is done is shown as it was"
    words = parsed(text).words
    assert "samples 60 reads" in words and "stage done" in words and TOKEN not in text
    shown = {attrs["id"] for name, attrs in parsed(text).tags if name == "section"}
    assert shown == {"pipeline", *TITLES} - {
        "confusion", "calibration", "suspects", "risks", "rounds",
    }  # fmt: skip


@pytest.mark.parametrize("asked", [["--l0", "0.01"], ["--threshold", "0.002"]])
def test_own_data_are_known_for_every_kind_of_problem(
    asked: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    problem, samples = str(tmp_path / "qubo.json"), str(tmp_path / "samples.json")
    prepared = ["--scale", "standard", "--features", "3", "--bits", "2"]
    assert main(["compile", DATA, *prepared, *asked, "-q", "--emit", f"qubo={problem}"]) == 0
    assert main(["solve", problem, "--solver", "exact", "-q", "-o", samples]) == 0
    page_ = str(tmp_path / "x.html")
    capsys.readouterr()
    assert main(["report", str(tmp_path), "--data", DATA, "-o", page_]) == 0
    assert "where accuracy is lost" in capsys.readouterr().out.splitlines()[0]
    assert "lowest of all 2^" in Path(page_).read_text()


def test_a_page_says_how_it_was_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    pages = []
    for name in ("a.html", "b.html", "c.html"):
        if name == "c.html":
            monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
        path = tmp_path / name
        line = ["compile", "breast-cancer", "--features", "3", "--bits", "1", "--seed", "7"]
        assert main([*line, "-q", f"--report={path}"]) == 0
        pages.append(path.read_text())
    assert pages[0] == pages[1], "the names of outputs and the time of day are not on the page"
    command = "qcompile compile breast-cancer --features 3 --bits 1 --seed 7 -q"
    assert f"version: qcompile {__version__}; command: {command}; seed: 7</p>" in pages[0]
    assert "seed: 7; date: 1970-01-02T00:00:00+00:00</p>" in pages[2]


def test_an_empty_name_is_not_this_folder(
    made_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(made_folder)
    assert main(["report", "", "-o", str(tmp_path / "x.html")]) == 2
    assert "an empty name" in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_test_rows_are_those_of_their_own_file(
    made_folder: Path, made: SimpleNamespace, tmp_path: Path
) -> None:
    other, place = str(tmp_path / "other.svm"), tmp_path / "x.html"
    assert main(["data", DATA, "--shuffle", "--rows", "101", "-q", "-o", other]) == 0
    asked = ["--data", DATA, "--test", other, "-q", "-o", str(place)]
    assert main(["report", str(made_folder), *asked]) == 0
    shown = words(section(place.read_text(), "confusion"))
    found = re.findall(r"(training rows|test rows): (\d+) of (\d+) wrong", shown)
    assert [(name, rows) for name, _, rows in found] == [
        ("training rows", "569"),
        ("test rows", "101"),
    ]
    raw = read(other)
    decisions = made.classifier.decision_function(raw.x)
    wrong = int(np.count_nonzero((decisions > 0) != (raw.y > 0)))
    assert int(found[1][1]) == wrong


def test_the_page_goes_to_standard_output(
    made_folder: Path, text: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert main(["report", str(made_folder), "--data", DATA, "-q", "-o", "-"]) == 0
    assert capfdbinary.readouterr().out.decode() == text


def test_a_place_that_cannot_be_written_is_said_first(
    made_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    def no_work(*names: object, **more: object) -> None:
        raise AssertionError("work was done")

    monkeypatch.setattr("qcompile.report.gather.gather", no_work)
    assert main(["report", str(made_folder), "-o", str(tmp_path / "no" / "x.html")]) == 2
    assert "no/x.html" in capsys.readouterr().err


def test_training_writes_risks_and_its_parts_in_order(tmp_path: Path) -> None:
    place = tmp_path / "x.html"
    asked = ["--scale", "standard", "--features", "3", "--bits", "2", "-n", "5", "--test", "0.3"]
    asked += ["--validation", "0.2", "-q", "--report", str(place)]
    assert main(["train", DATA, *asked]) == 0
    text = place.read_text()
    parts = re.findall(r"(\w+): \d+ of \d+ wrong", words(section(text, "confusion")))
    assert parts == ["train", "validation", "test"]
    assert list(table(section(text, "risks"))) == [
        "classifier", "best continuous", "rounded to the grid", "lowest state found", "returned",
    ]  # fmt: skip
