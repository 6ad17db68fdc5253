"""The page about a run: what it says against counts made by hand, and in a real browser."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qcompile
from qcompile import Pubo, Qubo, load_machine
from qcompile.report.build import report_of
from qcompile.report.figures import TITLES
from qcompile.report.gather import gather
from qcompile.report.page import page
from qcompile.report.run import Run
from qcompile.stages.embedded import Embedding
from qcompile.stages.samples import Samples
from qcompile.stages.source import Source
from qcompile.training.risks import Risk
from tests.report.reading import parsed, report_on, small_run

HOSTILE = "</title><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\u202e\x07"

OF_ONE_PROBLEM = set(TITLES) - {"rounds"}  # what a run without rounds can show

NUMBERS = st.integers(-(10**30), 10**30).map(float) | st.integers(-999, 999).map(lambda i: i / 1000)


def test_a_whole_run_shows_every_section(whole: str) -> None:
    reader = parsed(whole)
    shown = {attrs["id"] for name, attrs in reader.tags if name == "section"}
    assert shown == {"pipeline", *OF_ONE_PROBLEM} - {"calibration"}
    missing = reader.words.partition("Not shown: ")[2]
    assert missing.startswith("calibration of the probabilities (needs a classifier with a cal")
    assert ";" not in missing


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


@pytest.mark.parametrize(
    ("kept", "shown", "missing"),
    [
        (["problem-a.json"], {"loss", "budget", "ancillas"}, "an embedding"),
        (["chains.json"], {"chip"}, "a problem (qubo.json or pubo.json)"),
        (["clf.json"], {"weights"}, "data with known labels and a classifier"),
        (["problem-a.json", "answers.json"], {"loss", "budget", "ancillas", "energies", "weights"},
         "the data it was compiled from"),
    ],
)  # fmt: skip
def test_what_is_missing_is_named(
    folder: Path, kept: list[str], shown: set[str], missing: str
) -> None:
    report = report_on([folder / name for name in kept])
    assert set(report.shown) == shown
    assert {title for title, _ in report.absent} == {TITLES[n] for n in OF_ONE_PROBLEM - shown}
    assert missing in parsed(page(report)).words.partition("Not shown:")[2]


def test_names_from_files_stay_text(folder: Path, tmp_path: Path) -> None:
    run = gather([str(folder)])
    assert run.qubo is not None and run.embedding is not None and run.samples is not None
    assert run.classifier is not None
    source = Source.of({"name": HOSTILE, "rows": HOSTILE})
    hostile = replace(
        run,
        name=HOSTILE,
        qubo=replace(run.qubo, origin=replace(run.qubo.origin, source=source)),
        embedding=replace(run.embedding, machine=replace(run.embedding.machine, name=HOSTILE)),
        samples=replace(run.samples, info={"solver": HOSTILE}),
        loss=replace(run.loss, fit=HOSTILE, notes=(HOSTILE,)) if run.loss else None,
        risks=(Risk(HOSTILE, objective=1.0, error=0.5),),
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


def test_the_stylesheet_names_every_class_of_the_page(whole: str) -> None:
    style = whole.partition("<style>")[2].partition("</style>")[0]
    assert style.startswith("\n:root{") and style.endswith("}\n")
    used = {
        name
        for _, attrs in parsed(whole).tags
        for name in (attrs.get("class") or "").split()
        if name not in ("stage", "links", "figure")  # they need no style of their own
    }
    assert used and not {name for name in used if not re.search(rf"\.{name}\b", style)}


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


def test_files_may_be_named_one_by_one(folder: Path, whole: str) -> None:
    names = ["chains.json", "clf.json", "answers.json", "problem-a.json"]
    report = report_on([folder / name for name in names])
    assert set(report.shown) == OF_ONE_PROBLEM - {"confusion", "calibration", "suspects", "risks"}


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
    place.write_text(page(report_of(small_run())).replace("<main>", "<main><script>1</script>"))
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
