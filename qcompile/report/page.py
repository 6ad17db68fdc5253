"""Report -> one HTML page that needs nothing else: no network, no script, no fonts."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from qcompile.errors import InputError
from qcompile.files.atomic import write_atomically
from qcompile.report.build import report_of
from qcompile.report.chip_sections import chip_section
from qcompile.report.doubt_sections import reliability_section, suspect_section
from qcompile.report.figures import TITLES, Report
from qcompile.report.markup import Markup, plain, tag
from qcompile.report.problem_sections import (
    ancilla_section,
    budget_section,
    loss_section,
    pipeline_section,
)
from qcompile.report.rehearsal_section import rehearsal_section
from qcompile.report.result_sections import (
    confusion_section,
    energy_section,
    risk_section,
    weight_section,
)
from qcompile.report.round_sections import round_section
from qcompile.report.run import Run

__all__ = ["check_ending", "page", "save_report", "write_report"]


_ENDINGS = (".html", ".htm")
_LONG = 24  # letters of a fact that are too many for large type


def check_ending(path: str) -> None:
    """Raise InputError unless a browser opens files of this name as a page."""
    if path != "-" and not path.lower().endswith(_ENDINGS):
        raise InputError(f"{path}: expected a page ending in .html")


def save_report(report: Report, path: str | Path) -> None:
    """Write the page to a file."""
    with write_atomically(path) as stream:
        stream.write(page(report).encode())


def page(report: Report) -> str:
    """Return the page; the same report gives the same text."""
    name = plain(report.name)
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        # A name in a file may hold anything: the browser fetches nothing and runs nothing.
        tag(
            "meta",
            http_equiv="Content-Security-Policy",
            content="default-src 'none'; style-src 'unsafe-inline'",
        ),
        tag("title", f"{name} - qcompile report"),
        tag("style", Markup(f"\n{_style()}")),
    )
    body = tag("body", tag("main", *_header(report, name), *_body(report)))
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _style() -> str:
    return (files("qcompile.report") / "style.css").read_text("utf-8")


def _header(report: Report, name: str) -> Iterable[Markup]:
    yield tag("h1", name)
    yield tag("p", "A classifier, from its data to a quantum annealer and back.", class_="sub")
    facts = [tag("div", tag("dt", plain(key)), _fact(plain(value))) for key, value in report.facts]
    if facts:
        yield tag("dl", *facts, class_="facts")
    made = [f"{plain(key)}: {plain(value)}" for key, value in report.made]
    yield tag("p", "; ".join(made), class_="made", id="made")
    for note in report.notes:
        yield tag("p", f"Warning: {note}", class_="note")


def _fact(value: str) -> Markup:
    return tag("dd", value, class_="long" if len(value) > _LONG else None)


def _body(report: Report) -> Iterable[Markup]:
    if report.pipeline:
        yield _card("pipeline", "The pipeline", pipeline_section(report.pipeline))
    if report.rehearsal is not None:
        content = rehearsal_section(report.rehearsal)
        yield _card("rehearsal", "Rehearsed on a simulated machine", content)
    sections = [
        _section("rounds", round_section(report.rounds) if report.rounds else ()),
        _section("loss", loss_section(report.loss) if report.loss else ()),
        _section("budget", budget_section(report.budget) if report.budget else ()),
        _section("ancillas", ancilla_section(report.ancillas) if report.ancillas else ()),
        _section("chip", chip_section(report.chip) if report.chip else ()),
        _section("energies", energy_section(report.energies) if report.energies else ()),
        _section("weights", weight_section(report.weights) if report.weights else ()),
        _section("confusion", confusion_section(report.confusion) if report.confusion else ()),
        _section(
            "calibration", reliability_section(report.calibration) if report.calibration else ()
        ),
        _section("suspects", suspect_section(report.suspects) if report.suspects else ()),
        _section(
            "risks", risk_section(report.risks, in_rounds=report.in_rounds) if report.risks else ()
        ),
    ]
    yield tag("div", *sections, class_="cards")
    if report.absent:
        words = "; ".join(f"{title} ({why})" for title, why in report.absent)
        yield tag("p", f"Not shown: {words}.", class_="absent", id="not-shown")


def _section(name: str, content: Iterable[Markup]) -> Markup:
    pieces = tuple(content)
    if not pieces:
        return Markup("")
    title = TITLES[name]
    return _card(name, title[0].upper() + title[1:], pieces)


def _card(name: str, title: str, content: Iterable[Markup]) -> Markup:
    kind = "card wide-card" if name in ("chip", "rounds", "rehearsal") else "card"
    return tag("section", tag("h2", title), *content, class_=kind, id=name)


def write_report(run: Run, path: str) -> tuple[list[str], list[str]]:
    """Write the page; return the titles of the sections on it and of the missing ones."""
    report = report_of(run)
    save_report(report, path)
    return [TITLES[name] for name in report.shown], [title for title, _ in report.absent]
