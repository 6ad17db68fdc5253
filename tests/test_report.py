"""The page about a run: what it says against counts made by hand, and in a real browser."""

from __future__ import annotations

import itertools
import math
import os
import re
import shutil
import struct
import subprocess
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qcompile
from qcompile import Pubo, Qubo, load_machine, prepare, read
from qcompile.cli.app import main
from qcompile.errors import InputError
from qcompile.files.classifier import save_classifier
from qcompile.files.embedding import save_embedding
from qcompile.files.qubo import save_qubo
from qcompile.files.samples import save_samples
from qcompile.leap.job_store import create_job, list_jobs
from qcompile.objective.decode import decode
from qcompile.report.build import report_of
from qcompile.report.figures import TITLES, Report
from qcompile.report.gather import gather
from qcompile.report.markup import plain, tag
from qcompile.report.page import page
from qcompile.report.run import Run
from qcompile.report.svg import Scale
from qcompile.report.words import number
from qcompile.stages.arrays import frozen
from qcompile.stages.dataset import Dataset
from qcompile.stages.embedded import Embedding
from qcompile.stages.samples import Samples, samples_of
from tests.sapi import TOKEN, Sapi

HOSTILE = "</title><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u202e\x07"
DATA = "breast-cancer"
NUMBERS = st.integers(-(10**30), 10**30).map(float) | st.integers(-999, 999).map(lambda i: i / 1000)
VOID = {"meta", "br"}


class Reader(HTMLParser):
    """Reads a page and insists that every element is closed in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> in {self.open}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in ("style",):
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


def parsed(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert not reader.open
    return reader


@pytest.fixture(scope="module")
def qubo() -> Qubo:
    return qcompile.compile(DATA, bits=2, scale="standard", features=3).qubo


@pytest.fixture(scope="module")
def rows() -> Dataset:
    return prepare(read(DATA), scale="standard", features=3)


@pytest.fixture(scope="module")
def embedding(qubo: Qubo) -> Embedding:
    return qcompile.embed(qubo, load_machine("zephyr3")).embedding


@pytest.fixture(scope="module")
def samples(qubo: Qubo) -> Samples:
    """Random states, 200 reads of them, some with broken chains."""
    rng = np.random.default_rng(5)
    bits = np.unique(rng.integers(0, 2, (40, qubo.logical), dtype=np.int8), axis=0)
    times = 1 + rng.multinomial(200 - len(bits), np.full(len(bits), 1 / len(bits)))
    found = samples_of(qubo, bits, occurrences=times, info={"solver": "dice"})
    return replace(found, chain_breaks=frozen(rng.choice([0, 0.125, 0.5], len(bits))))


@pytest.fixture(scope="module")
def folder(
    tmp_path_factory: pytest.TempPathFactory, qubo: Qubo, embedding: Embedding, samples: Samples
) -> Path:
    """A run as it comes from compile, embed, solve and decode."""
    place = tmp_path_factory.mktemp("run")
    save_qubo(qubo, place / "problem-a.json")
    save_embedding(embedding, place / "chains.json")
    save_samples(samples, place / "answers.json")
    save_classifier(decode(qubo, samples), place / "clf.json")
    (place / "notes.json").write_text("{}")
    (place / "README.txt").write_text("not ours")
    return place


@pytest.fixture(scope="module")
def whole(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of that run with its data."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    assert main(["report", str(folder), "--data", DATA, "-q", "-o", str(path)]) == 0
    return path.read_text()


def test_a_whole_run_shows_every_section(whole: str) -> None:
    reader = parsed(whole)
    shown = {attrs["id"] for name, attrs in reader.tags if name == "section"}
    assert shown == {"pipeline", *TITLES}
    assert "Not shown" not in reader.words


def test_sizes_are_those_of_the_artifacts(
    whole: str, qubo: Qubo, embedding: Embedding, samples: Samples
) -> None:
    words = parsed(whole).words
    assert "569 rows × 30 columns" in words and "3 chosen" in words
    assert f"QUBO {qubo.variables} qubits 6 bits + {qubo.variables - 6} ancillas" in words
    used = {q for chain in embedding.chains for q in chain}
    assert f"embedding {len(used)} physical qubits" in words
    assert "samples 200 samples" in words
    assert f"{len(used)} of {len(load_machine('zephyr3').nodes)}, fits" in words


def test_the_confusion_matrix_is_counted_by_hand(folder: Path, whole: str) -> None:
    model = orjson.loads((folder / "clf.json").read_bytes())
    weights, how = model["weights"], model["preparation"]
    raw = read(DATA)
    counts = dict.fromkeys([(a, b) for a in (False, True) for b in (False, True)], 0)
    for row, label in zip(np.asarray(raw.x).tolist(), raw.y.tolist(), strict=True):
        decision = 0.0
        for w, column, mean, scale in zip(
            weights, how["columns"], how["center"], how["scale"], strict=True
        ):
            decision += w * (row[column] - mean) / scale
        counts[label > 0, decision > 0] += 1
    words = parsed(whole).words
    expected = (
        f"1 {counts[True, True]} right, .* {counts[True, False]} missed, .* "
        f"0 {counts[False, True]} false alarm, .* {counts[False, False]} right"
    )
    assert re.search(expected, words)
    wrong = counts[True, False] + counts[False, True]
    assert f"{wrong} of 569 wrong" in words
    assert f"error, training rows {wrong / 569:.2%}" in words


def test_where_accuracy_is_lost_is_that_of_the_weights(
    folder: Path, rows: Dataset, samples: Samples, qubo: Qubo
) -> None:
    report = _report([folder], rows)
    named = {name: (objective, risk) for name, objective, risk in report.risks}
    assert list(named) == [
        "best continuous",
        "rounded to the grid",
        "lowest state found",
        "returned",
    ]
    weights = decode(qubo, samples).weights
    # a decision of 0 is a negative answer, as `predict` gives it
    assert named["returned"][1] == np.mean((np.asarray(rows.x @ weights) > 0) != (rows.y > 0))
    # the energy of the state is the mean loss of the rows
    assert named["returned"][0] == pytest.approx(samples.energies.min())
    assert named["best continuous"][0] <= named["returned"][0] + 1e-12


def _report(paths: list[Path], rows: Dataset | None = None) -> Report:
    from qcompile.report.gather import with_data

    run = gather([str(path) for path in paths])
    return report_of(run if rows is None else with_data(run, rows, lambda: rows))


def test_histograms_count_every_read_once(folder: Path, qubo: Qubo, samples: Samples) -> None:
    report = _report([folder])
    found = report.energies
    assert found is not None and found.reads == samples.occurrences.sum() == 200
    broken = sum(
        int(n) for n, share in zip(samples.occurrences, samples.chain_breaks, strict=True) if share
    )
    assert 0 < broken < 200, "the case must have both"
    assert [sum(series) for series in found.histogram.counts] == [200 - broken, broken]
    assert found.broken_reads == broken
    assert found.breaks is not None and sum(found.breaks.counts[0]) == 200
    lowest = min(float(qubo.score(np.array([bits]))[0]) for bits in np.ndindex(*(2,) * 6))
    assert found.ground == pytest.approx(lowest, abs=1e-12)
    assert report.ancillas is not None and report.chip is not None
    assert sum(report.ancillas.terms.counts[0]) == len(qubo.ancillas)
    assert report.ancillas.strengths is not None
    assert [sum(s) for s in report.ancillas.strengths.counts] == [len(qubo.ancillas)] * 2
    assert sum(report.chip.lengths.counts[0]) == qubo.variables


def test_the_chip_shows_every_qubit_once(folder: Path, embedding: Embedding) -> None:
    chip = _report([folder]).chip
    assert chip is not None
    dots = [point for points, _ in chip.chains for point in points]
    assert len(dots) == sum(map(len, embedding.chains))
    assert len(set(dots) | set(chip.free)) == len(dots) + len(chip.free) == chip.qubits
    assert all(0 <= v <= 1 for point in (*dots, *chip.free) for v in point)
    machine = load_machine("zephyr3").graph
    links = sum(machine.subgraph(chain).number_of_edges() for chain in embedding.chains)
    assert sum(len(lines) for _, lines in chip.chains) == links


def test_the_budget_names_each_machine_and_its_qubits(folder: Path, qubo: Qubo) -> None:
    budget = _report([folder]).budget
    assert budget is not None and budget.logical == qubo.variables and not budget.assumed
    has = {row.name: row.has for row in budget.machines}
    assert has == {"2000q": 2041, "advantage": 5612, "advantage2": 4589, "zephyr3": 336}
    for row in budget.machines:
        assert row.measured == (row.name == "zephyr3") and row.fits


def test_what_is_too_large_does_not_fit() -> None:
    """A complete cubic of 60 bits is known not to; of few terms nobody knows."""
    terms = {t: 1.0 for j in (1, 2, 3) for t in itertools.combinations(range(60), j)}
    report = report_of(Run("large", pubo=Pubo.from_dict(terms)))
    budget = report.budget
    assert budget is not None and budget.assumed and budget.complete
    assert budget.ancillas == math.comb(30, 2) * 2  # pairs inside of two halves
    assert [row.fits for row in budget.machines] == [False] * 3
    words = parsed(page(report)).words
    assert len(re.findall(r"about [\d,]+ of [\d,]+, too large", words)) == 3
    assert "at most about" not in words and "14%" not in words
    chain = Pubo.from_dict({(i, i + 1, i + 2): 1.0 for i in range(198)})
    budget = report_of(Run("chain", pubo=chain)).budget
    assert budget is not None and not budget.complete
    assert [row.fits for row in budget.machines] == [None] * 3


@pytest.mark.parametrize(
    ("kept", "shown", "missing"),
    [
        (["problem-a.json"], {"loss", "budget", "ancillas"}, "an embedding"),
        (["chains.json"], {"chip"}, "a problem (qubo.json or pubo.json)"),
        (["clf.json"], {"weights"}, "data with known labels (--data DATA"),
        (["problem-a.json", "answers.json"], {"loss", "budget", "ancillas", "energies", "weights"},
         "--data DATA"),
    ],
)  # fmt: skip
def test_what_is_missing_is_named(
    folder: Path, kept: list[str], shown: set[str], missing: str
) -> None:
    report = _report([folder / name for name in kept])
    assert set(report.shown) == shown
    assert {title for title, _ in report.absent} == {TITLES[n] for n in set(TITLES) - shown}
    assert missing in parsed(page(report)).words.partition("Not shown:")[2]


def test_other_data_get_a_matrix_but_no_false_account(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (tmp_path / "other.svm").as_posix()
    assert main(["data", DATA, "--shuffle", "--rows", "100", "-q", "-o", text]) == 0
    place = tmp_path / "p.html"
    assert main(["report", str(folder), "--data", text, "--test", text, "-o", str(place)]) == 0
    assert "not shown  where accuracy is lost" in capsys.readouterr().out
    words = parsed(place.read_text()).words
    assert "the very rows it was compiled from" in words
    assert words.count(" of 100 wrong") == 2


def test_names_from_files_stay_text(folder: Path, tmp_path: Path) -> None:
    run = gather([str(folder)])
    assert run.qubo is not None and run.embedding is not None and run.samples is not None
    assert run.classifier is not None
    hostile = replace(
        run,
        name=HOSTILE,
        qubo=replace(run.qubo, source={"name": HOSTILE, "rows": HOSTILE}),
        embedding=replace(run.embedding, machine=replace(run.embedding.machine, name=HOSTILE)),
        samples=replace(run.samples, info={"solver": HOSTILE}),
        loss=replace(run.loss, fit=HOSTILE, notes=(HOSTILE,)) if run.loss else None,
        risks=({"classifier": HOSTILE, "objective": 1.0, "0-1 risk": 0.5},),
        told={HOSTILE: HOSTILE},
        notes=(HOSTILE,),
        reasons={"confusion": HOSTILE},
    )
    text = page(report_of(hostile))
    reader = parsed(text)
    assert not {name for name, _ in reader.tags} & {"script", "img", "a", "link", "iframe"}
    assert not [key for _, attrs in reader.tags for key in attrs if key.startswith("on")]
    assert "\u202e" not in text and "\x07" not in text
    assert "<script>alert(1)</script>" in reader.words


@given(st.text(), st.text())
def test_text_comes_back_as_it_was(content: str, value: str) -> None:
    reader = parsed(tag("p", content[:200], title=value[:200]))
    assert reader.tags == [("p", {"title": plain(value[:200])})]
    assert "".join(reader.text) == plain(content[:200])


def test_the_page_refers_to_nothing_outside(whole: str) -> None:
    reader = parsed(whole)
    kinds = {name for name, _ in reader.tags}
    assert not kinds & {"script", "link", "img", "iframe", "object", "embed", "base", "form", "use"}
    for _, attrs in reader.tags:
        assert not set(attrs) & {"src", "href", "xlink:href", "srcset", "action", "style"}
    style = whole.partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in style and "@import" not in style and "prefers-color-scheme:dark" in style
    assert "://" not in whole
    policy = [a["content"] for n, a in reader.tags if a.get("http-equiv")]
    assert policy == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_every_chart_has_a_name_and_says_what_is_seen(whole: str) -> None:
    pictures = [attrs for name, attrs in parsed(whole).tags if name == "svg"]
    charts = [attrs for attrs in pictures if attrs.get("aria-hidden") != "true"]
    assert len(charts) >= 9
    for attrs in charts:
        assert attrs["role"] == "img" and re.search(r"\w+\. \w+", attrs["aria-label"] or "")


def test_the_same_run_gives_the_same_bytes(folder: Path, tmp_path: Path, whole: str) -> None:
    place = tmp_path / "again.html"
    assert main(["report", str(folder), "--data", DATA, "-q", "-o", str(place)]) == 0
    assert place.read_text() == whole


def test_files_may_be_named_one_by_one(folder: Path, whole: str) -> None:
    names = ["chains.json", "clf.json", "answers.json", "problem-a.json"]
    report = _report([folder / name for name in names])
    assert set(report.shown) == set(TITLES) - {"confusion", "risks"}


def test_artifacts_of_different_runs_are_refused(folder: Path, tmp_path: Path) -> None:
    other = qcompile.compile("synthetic", bits=2).qubo
    save_qubo(other, tmp_path / "qubo.json")
    with pytest.raises(InputError, match="two files that hold a qubo"):
        gather([str(folder), str(tmp_path / "qubo.json")])
    for name, words in {
        "chains.json": "made for another problem",
        "answers.json": "without variable 6",
        "clf.json": "of another run",
    }.items():
        assert main(["report", str(tmp_path / "qubo.json"), str(folder / name), "-q",
                     "-o", str(tmp_path / "x.html")]) == 2  # fmt: skip
        with pytest.raises(ValueError, match=words):
            gather([str(tmp_path / "qubo.json"), str(folder / name)])


def test_chains_on_qubits_that_are_not_there_are_refused(folder: Path, tmp_path: Path) -> None:
    content = orjson.loads((folder / "chains.json").read_bytes())
    content["chains"][2][1] = [9999]
    (tmp_path / "chains.json").write_bytes(orjson.dumps(content))
    with pytest.raises(InputError, match="variable 2 uses qubit 9999"):
        gather([str(tmp_path / "chains.json")])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.json", "-o", "x.html"], "nowhere.json: no such file"),
        (["no-such-job", "-o", "x.html"], "no-such-job"),
        (["empty", "-o", "x.html"], "empty: nothing of a run in it"),
        (["data.svm", "-o", "x.html"], "not a file of qcompile"),
        (["answers.json", "-o", "x.html"], "nothing to show"),
        (["clf.json", "-o", "x.pdf"], "expected a page ending in .html"),
        (["chains.json", "--data", DATA, "-o", "x.html"], "how its data were prepared"),
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
    assert main(["compile", "synthetic", "--bits", "2", "--report", str(place)]) == 0
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
    job = create_job(
        tmp_path / "jobs",
        qubo,
        embedding=embedding,
        parts=[(200, {})],
        label="<b>",
        fingerprint=lambda name: "x",
        solver_type="qpu",
        solver={"name": "Mock"},
        endpoint="",
        repair="majority",
        chain_strength=0.004,
    )
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
    assert shown == {"pipeline", *TITLES} - {"confusion", "risks"}


@settings(deadline=None, max_examples=30)
@given(
    st.lists(NUMBERS, min_size=2, max_size=9),
    st.dictionaries(
        st.tuples(st.integers(0, 4)) | st.tuples(st.integers(0, 2), st.just(3), st.just(4)),
        NUMBERS,
        min_size=1,
    ),
)
def test_no_numbers_break_the_page(
    coefficients: list[float], terms: dict[tuple[int, ...], float]
) -> None:
    pubo = Pubo.from_dict(terms, variables=5)
    run = Run("x", loss=qcompile.Loss(tuple(coefficients)), qubo=qcompile.quadratize(pubo))
    words = parsed(page(report_of(run)))
    places = [attrs["d"] or "" for name, attrs in words.tags if name == "path"]
    assert not [d for d in places if "nan" in d or "inf" in d]


def test_a_crowded_chip_is_thinned_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = _report([folder / "chains.json"]).chip
    monkeypatch.setattr("qcompile.report.problem_figures._MOST_FREE", 100)
    thin = _report([folder / "chains.json"])
    assert whole is not None and thin.chip is not None
    assert whole.every == whole.every_free == thin.chip.every == 1
    assert thin.chip.every_free == -(-len(whole.free) // 100)
    assert thin.chip.chains == whole.chains, "chains do not vanish where many are free"
    assert len(thin.chip.free) <= 100 and set(thin.chip.free) < set(whole.free)
    assert thin.chip.lengths == whole.lengths and thin.chip.used == whole.used
    assert f"One free one in {thin.chip.every_free} is drawn" in parsed(page(thin)).words


@pytest.mark.parametrize("log", [False, True])
def test_ticks_are_round_and_inside(log: bool) -> None:
    for low, high in [(0.001, 0.0123), (1, 7), (3, 3e6), (0.2, 0.21)]:
        ticks = Scale(low, high, 0, 100, log).ticks()
        assert 2 <= len(ticks) <= 11 and ticks == sorted(ticks)
        assert all(low * (1 - 1e-9) <= t <= high * (1 + 1e-9) for t in ticks)
        assert all(len(number(t)) <= 9 for t in ticks)


# --- in a real browser ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> str:
    named = os.environ.get("QCOMPILE_BROWSER")
    known = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
    found = shutil.which(named) if named else next(filter(None, map(shutil.which, known)), None)
    if found is None:
        pytest.skip("no Chromium found (QCOMPILE_BROWSER names one): the page was not rendered")
    return found


def _browse(browser: str, place: Path, profile: Path, *options: str) -> tuple[str, str]:
    """Open a page; gives what was printed and what the browser logged."""
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += ["--no-first-run", "--disable-dev-shm-usage", f"--user-data-dir={profile}"]
    command += ["--enable-logging=stderr", *options, place.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout, done.stderr


def _pixels(path: Path) -> tuple[int, int, np.ndarray]:
    """Read a PNG of 8-bit colours: width, height and bytes, without a library of pictures."""
    content = path.read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, width, height, channels = 8, b"", 0, 0, 3
    while at < len(content):
        size, kind = struct.unpack(">I4s", content[at : at + 8])
        body = content[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
            assert depth == 8 and colour in (2, 6)
            channels = 3 if colour == 2 else 4
        packed += body if kind == b"IDAT" else b""
        at += size + 12
    raw = zlib.decompress(packed)
    lines = np.frombuffer(raw, dtype=np.uint8).reshape(height, width * channels + 1)
    picture = np.zeros((height, width * channels), dtype=np.uint8)
    for y, line in enumerate(lines):
        _unfilter(int(line[0]), line[1:], picture, y, channels)
    return width, height, picture.reshape(height, width, channels)[:, :, :3]


def _unfilter(kind: int, line: np.ndarray, picture: np.ndarray, y: int, step: int) -> None:
    """Undo the filter of one line (PNG, section 9)."""
    above = picture[y - 1] if y else np.zeros_like(line)
    if kind in (0, 2):
        picture[y] = line + (above if kind == 2 else 0)
        return
    if kind == 1:
        picture[y] = np.cumsum(line.reshape(-1, step), axis=0, dtype=np.uint8).reshape(-1)
        return
    up, now, out = above.tolist(), line.tolist(), [0] * len(line)
    for i, value in enumerate(now):
        a = out[i - step] if i >= step else 0
        b, c = up[i], up[i - step] if i >= step else 0
        if kind == 3:
            guess = (a + b) // 2
        else:
            p = a + b - c
            guess = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
        out[i] = (value + guess) & 255
    picture[y] = out


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("dark", [False, True])
def test_a_browser_shows_the_page(
    browser: str, whole: str, tmp_path: Path, width: int, dark: bool
) -> None:
    place, shot = tmp_path / "report.html", tmp_path / "shot.png"
    place.write_text(whole)
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    options = [scheme, f"--window-size={width},1500", f"--screenshot={shot}"]
    _, log = _browse(browser, place, tmp_path / "profile", *options)
    assert "CONSOLE" not in log, log
    wide, high, pixels = _pixels(shot)
    assert (wide, high) == (width, 1500)
    # the page's ground is at the rim, and much else is drawn inside
    ground = pixels[-1, 2].astype(int)
    assert (ground.max() < 60) if dark else (ground.min() > 200)
    drawn = np.abs(pixels.astype(int) - ground).sum(axis=2) > 120
    assert 0.01 < drawn.mean() < 0.5
    # nothing runs out to the right: the last columns are empty
    assert not drawn[:, -8:].any()


def test_a_browser_complains_where_there_is_reason_to(browser: str, tmp_path: Path) -> None:
    """The check above can fail: a script is refused by the page's own rule, and that is logged."""
    place = tmp_path / "bad.html"
    place.write_text(page(report_of(_small())).replace("<main>", "<main><script>1</script>"))
    _, log = _browse(browser, place, tmp_path / "profile", "--dump-dom")
    assert "CONSOLE" in log and "Content Security Policy" in log


def test_a_browser_reads_the_page_as_it_was_written(
    browser: str, whole: str, tmp_path: Path
) -> None:
    place = tmp_path / "report.html"
    place.write_text(whole)
    seen, log = _browse(browser, place, tmp_path / "profile", "--dump-dom")
    assert "CONSOLE" not in log
    count = {name: whole.count(f"<{name}") for name in ("section", "svg", "table", "path", "td")}
    assert {name: seen.count(f"<{name}") for name in count} == count


def _small() -> Run:
    return Run("small", pubo=Pubo.from_dict({(0, 1): 1.0}))
