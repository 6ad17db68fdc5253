"""Report -> one HTML page that needs nothing else: no network, no script, no fonts of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from qcompile.errors import InputError
from qcompile.files.atomic import write_atomically
from qcompile.report import svg
from qcompile.report.build import report_of
from qcompile.report.figures import (
    TITLES,
    AncillaNumbers,
    Budget,
    Chip,
    Confusion,
    Energies,
    Histogram,
    LossCurve,
    MachineRow,
    Report,
    Stage,
    Weights,
)
from qcompile.report.markup import Markup, plain, tag
from qcompile.report.run import Run
from qcompile.report.words import between, many, number

__all__ = ["check_ending", "page", "save_report", "write_report"]


_ENDINGS = (".html", ".htm")
_STANDS = {
    -1: " stands in for 0-1 loss: 1 for a wrong answer, 0 for a right one.",
    0: " charges right answers as much as wrong ones: it cannot stand in for 0-1 loss.",
    1: " is upside down: around margin 0 right answers cost more than wrong ones. It cannot stand "
    "in for 0-1 loss.",
}
_LOG_FROM = 8  # times the largest machine: then bars of qubits are logarithmic

_STYLE = """
:root{color-scheme:light dark;--page:#f4f5f2;--card:#fff;--ink:#1c2430;--soft:#566070;
--rule:#d9dde2;--grid:#e6e9ed;--a:#2563a8;--b:#c2571a;--good:#2a7d4f;--bad:#b92c2c;--pale:#cfdcea;
--wash:#eaf1f8;--free:#b4bdc9;--h0:#2f74b5;--h1:#d0652a;--h2:#3a8f56;--h3:#b3388a;--h4:#8a6d1f;--h5:#6a55c2;
--h6:#17888c;--h7:#c23b3b;--h8:#5f7a1f;--h9:#8d4a2b}
@media (prefers-color-scheme:dark){:root{--page:#13161b;--card:#1c2027;--ink:#e9ebef;--soft:#a5aebb;
--rule:#353c47;--grid:#2b313b;--a:#6fb1f2;--b:#f0a35e;--good:#6cc793;--bad:#f58f8f;--pale:#3b4d63;
--wash:#222c39;--free:#4d5766;--h0:#72b4f5;--h1:#f2a066;--h2:#74cc93;--h3:#ea8bc8;--h4:#d8bd62;--h5:#b0a1f5;
--h6:#5fcdd1;--h7:#f58f8f;--h8:#b4d06a;--h9:#d9a184}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);line-height:1.45;
font:16px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
main{max-width:1120px;margin:0 auto;padding:20px 16px 40px}
h1{font-size:1.5rem;line-height:1.2;margin:0 0 4px;overflow-wrap:anywhere}
h2{font-size:1.08rem;margin:0 0 6px}
h3{font-size:.95rem;margin:18px 0 4px}
p{margin:0 0 10px}
.sub{color:var(--soft);margin:0 0 16px}
.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(130px,1fr));gap:10px;
margin:0 0 16px;padding:0}
.facts div,.card{background:var(--card);border:1px solid var(--rule);border-radius:10px}
.facts div{padding:8px 12px;min-width:0}
.facts dt{color:var(--soft);font-size:.8rem}
.facts dd{margin:0;font-size:1.15rem;font-weight:600;overflow-wrap:anywhere}
.cards{columns:2;column-gap:16px}
.card{padding:14px 16px;margin:0 0 16px;break-inside:avoid}
.wide-card{column-span:all;margin-top:16px}
.row{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(300px,100%),1fr));gap:0 24px}
.lead{color:var(--soft);font-size:.93rem}
svg{display:block;width:100%;max-width:520px;height:auto;margin:0 auto;overflow:visible}
svg text{font-size:10.5px;fill:var(--ink)}
svg .soft{fill:var(--soft)}
svg path{fill:none}
.axis{stroke:var(--soft);stroke-width:1}.grid{stroke:var(--grid);stroke-width:1}
.limit{stroke:var(--ink);stroke-width:2.5}.halo{stroke:var(--card);stroke-width:5.5}
.mark{stroke:var(--good);stroke-width:1.5;stroke-dasharray:4 3}
.turn{stroke:var(--soft);stroke-width:1;stroke-dasharray:2 3}
.curve{stroke-width:2.2;stroke-linejoin:round}.curve.a{stroke:var(--a)}.curve.step{stroke:var(--b);
stroke-width:1.8;stroke-dasharray:6 3}
rect.a{fill:var(--a)}rect.b{fill:var(--b)}rect.good{fill:var(--good)}rect.bad{fill:var(--bad)}
rect.pale{fill:var(--pale)}
.dots{stroke-linecap:round}.free{stroke:var(--free)}
.h0{stroke:var(--h0)}.h1{stroke:var(--h1)}.h2{stroke:var(--h2)}.h3{stroke:var(--h3)}
.h4{stroke:var(--h4)}.h5{stroke:var(--h5)}.h6{stroke:var(--h6)}.h7{stroke:var(--h7)}
.h8{stroke:var(--h8)}.h9{stroke:var(--h9)}
.flow{list-style:none;display:flex;flex-wrap:wrap;gap:12px 0;margin:10px 0 0;padding:0}
.flow li{display:flex;align-items:center}
.flow .pass{width:70px;text-align:center;color:var(--soft);font-size:.72rem;flex:none}
.flow .pass svg{width:40px;margin:0 auto}
.flow .pass path{stroke:var(--soft);stroke-width:1.5}
.flow .stage{background:var(--wash);border:1px solid var(--rule);border-radius:8px;padding:7px 11px;
min-width:96px;align-self:stretch}
.flow .tall{display:none}
.flow b{display:block;font-size:.8rem;color:var(--soft);font-weight:600}
.flow strong{display:block;font-size:1rem}
.flow span{display:block;font-size:.8rem;color:var(--soft);overflow-wrap:anywhere}
.key{display:flex;flex-wrap:wrap;gap:4px 16px;margin:4px 0 8px;font-size:.85rem;color:var(--soft)}
.key i{display:inline-block;width:14px;height:10px;border-radius:2px;margin-right:6px}
.key .a{background:var(--a)}.key .b{background:var(--b)}.key .pale{background:var(--pale)}
.key .good{background:var(--good)}.key .bad{background:var(--bad)}
.key .limit{background:var(--ink);width:3px;height:14px;vertical-align:-2px}
.key .step{background:none;border-top:2px dashed var(--b);height:0;width:20px;vertical-align:4px}
.key .mark{background:none;border-left:2px dashed var(--good);width:0;height:14px;
vertical-align:-2px;border-radius:0}
table{border-collapse:collapse;width:100%;table-layout:fixed;font-size:.88rem;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:10px 0 4px}
th,td{text-align:left;padding:4px 6px;border-top:1px solid var(--rule);vertical-align:top;
overflow-wrap:anywhere}
td.n,th.n{text-align:right}
th{font-weight:600}
.matrix td{text-align:center;font-size:1.15rem;font-weight:600;padding:10px 6px}
.matrix td.right{background:color-mix(in srgb,var(--good) 20%,transparent)}
.matrix td.wrong{background:color-mix(in srgb,var(--bad) 20%,transparent)}
.matrix td small{display:block;font-weight:400;font-size:.75rem;color:var(--soft)}
details{margin:8px 0;font-size:.88rem}
summary{cursor:pointer;color:var(--soft)}
.note{border-left:3px solid var(--b);padding-left:10px}
.absent,.note{margin-top:16px}.absent{color:var(--soft);font-size:.9rem}
@media screen and (max-width:820px){.cards{columns:1}svg text{font-size:12.5px}
.flow{display:block}.flow li{display:block}
.flow .pass{width:auto;display:flex;align-items:center;gap:8px;padding:3px 0 3px 18px}
.flow .pass svg{width:16px;height:24px;margin:0}
.flow .wide{display:none}.flow .tall{display:block}.flow .stage{padding:8px 12px}}
@media print{:root{color-scheme:light;--page:#fff;--card:#fff;--ink:#111;--soft:#444;--rule:#bbb;
--grid:#ddd;--a:#2563a8;--b:#c2571a;--good:#2a7d4f;--bad:#b92c2c;--pale:#cfdcea;--wash:#f2f5f8;--free:#b4bdc9;
--h0:#2f74b5;--h1:#d0652a;--h2:#3a8f56;--h3:#b3388a;--h4:#8a6d1f;--h5:#6a55c2;--h6:#17888c;
--h7:#c23b3b;--h8:#5f7a1f;--h9:#8d4a2b}
html{font-size:12px}svg text{font-size:12px}
/* cards fill the columns of a page and may go on in the next one, but no figure is torn */
.wide-card{column-span:none;margin-top:0}.row{grid-template-columns:1fr}
.card{break-inside:auto;box-decoration-break:clone;-webkit-box-decoration-break:clone}
.figure,tr,svg,.lead,#pipeline,#weights,#confusion,#risks,#budget{break-inside:avoid}h2,h3,.lead:not(:last-child){break-after:avoid}.key{break-before:avoid}
body{font-size:9pt;-webkit-print-color-adjust:exact;print-color-adjust:exact}main{padding:0}
h1{font-size:15pt}.card,.facts div{padding:8px 10px}.cards{column-gap:10px}.card{margin-bottom:10px}
details{display:none}}
"""


def check_ending(path: str) -> None:
    """Raise InputError unless a browser opens files of this name as a page."""
    if path != "-" and not path.lower().endswith(_ENDINGS):
        raise InputError(f"{path}: expected a page ending in .html")


def save_report(report: Report, path: str | Path) -> None:
    """Write the page."""
    with write_atomically(path) as stream:
        stream.write(page(report).encode())


def page(report: Report) -> str:
    """Return the page; the same report gives the same text."""
    name = plain(report.name)
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        # whatever a name in a file may try: nothing is fetched and nothing is run
        tag(
            "meta",
            http_equiv="Content-Security-Policy",
            content="default-src 'none'; style-src 'unsafe-inline'",
        ),
        tag("title", f"{name} - qcompile report"),
        tag("style", Markup(_STYLE)),
    )
    body = tag("body", tag("main", *_header(report, name), *_body(report)))
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _header(report: Report, name: str) -> Iterable[Markup]:
    yield tag("h1", name)
    yield tag("p", "A classifier, from its data to a quantum annealer and back.", class_="sub")
    facts = [
        tag("div", tag("dt", plain(key)), tag("dd", plain(value))) for key, value in report.facts
    ]
    if facts:
        yield tag("dl", *facts, class_="facts")


def _body(report: Report) -> Iterable[Markup]:
    if report.pipeline:
        yield _card("pipeline", "The pipeline", _pipeline(report.pipeline))
    sections = [
        _section("loss", _loss(report.loss) if report.loss else ()),
        _section("budget", _budget(report.budget) if report.budget else ()),
        _section("ancillas", _ancillas(report.ancillas) if report.ancillas else ()),
        _section("chip", _chip(report.chip) if report.chip else ()),
        _section("energies", _energies(report.energies) if report.energies else ()),
        _section("weights", _weights(report.weights) if report.weights else ()),
        _section("confusion", _confusions(report.confusion) if report.confusion else ()),
        _section("risks", _risks(report.risks) if report.risks else ()),
    ]
    yield tag("div", *sections, class_="cards")
    for note in report.notes:
        yield tag("p", f"Note: {note}", class_="note")
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
    kind = "card wide-card" if name == "chip" else "card"
    return tag("section", tag("h2", title), *content, class_=kind, id=name)


def _figure(name: str, *content: Markup) -> Markup:
    """Return a picture with its name and what belongs to it."""
    return tag("div", tag("h3", name), *content, class_="figure")


def _lead(*text: object) -> Markup:
    return tag("p", *text, class_="lead")


def _key(*entries: tuple[str, str]) -> Markup:
    shown = [
        tag("span", Markup(f'<i class="{kind}" aria-hidden="true"></i>'), words)
        for kind, words in entries
    ]
    return tag("p", *shown, class_="key")


def _table(rows: Iterable[Sequence[str]], head: Sequence[str] = (), caption: str = "") -> Markup:
    """Return a table: names to the left, numbers to the right."""

    def line(cells: Sequence[str], kind: str) -> Markup:
        first = tag("th", cells[0], scope="row" if kind == "td" else "col")
        return tag("tr", first, *(tag(kind, cell, class_="n") for cell in cells[1:]))

    parts = [tag("caption", caption)] if caption else []
    parts += [tag("thead", line(head, "th"))] if head else []
    return tag("table", *parts, tag("tbody", *(line(row, "td") for row in rows)))


def _bins(histogram: Histogram, names: Sequence[str]) -> Markup:
    """Return the numbers of a histogram, for those who want them."""
    rows = [
        (
            between(low, high, whole=histogram.whole),
            *(f"{series[i]:,}" for series in histogram.counts),
        )
        for i, (low, high) in enumerate(zip(histogram.edges[:-1], histogram.edges[1:], strict=True))
        if any(series[i] for series in histogram.counts)
    ]
    return tag("details", tag("summary", "The numbers"), _table(rows, ("value", *names)))


def _pipeline(stages: Sequence[Stage]) -> Iterable[Markup]:
    yield _lead("What came out of each pass and how large it is.")
    items = []
    for i, stage in enumerate(stages):
        box = tag(
            "div",
            tag("b", stage.name),
            tag("strong", plain(stage.size)),
            *(tag("span", plain(detail)) for detail in stage.details),
            class_="stage",
        )
        items.append(tag("li", *([_arrow(stage.made_by)] if i and stage.made_by else []), box))
    yield tag("ol", *items, class_="flow")


def _arrow(word: str) -> Markup:
    """Draw an arrow to the right for wide screens and one down for narrow ones."""
    wide = Markup(
        '<svg class="wide" viewBox="0 0 46 12" aria-hidden="true"><path d="M2 6H42M37 2L43 6L37 10"'
        "/></svg>"
    )
    tall = Markup(
        '<svg class="tall" viewBox="0 0 16 24" aria-hidden="true"><path d="M8 1V21M3 16L8 22L13 16"'
        "/></svg>"
    )
    return tag("div", tall, word, wide, class_="pass")


def _loss(curve: LossCurve) -> Iterable[Markup]:
    name = f"The polynomial of order {curve.order} (fit: {plain(curve.fit)})"
    yield _lead(name + _STANDS[curve.slope])
    values = [y for _, y in curve.points]
    low, high = max(min(values, default=0.0), -0.6), min(max(values, default=1.0), 2.1)
    low, high = min(low, 0.0), max(high, 1.1)
    behind: list[tuple[float, float, float]] = []
    if curve.margins is not None:
        counts = curve.margins.counts[0]
        most = max(*counts, 1)
        behind = [
            (curve.margins.edges[i], curve.margins.edges[i + 1], 0.45 * count / most)
            for i, count in enumerate(counts)
            if count
        ]
    marks = []
    if curve.turn is not None and curve.turn < curve.reach:
        marks.append(svg.Mark(-curve.turn, "turn", "turn"))
    step = ((-curve.reach, 1.0), (0.0, 1.0), (0.0, 0.0), (curve.reach, 0.0))
    yield svg.curves(
        [(step, "step"), (curve.points, "a")],
        title="The loss against 0-1 loss",
        says=f"Loss over margins from {number(-curve.reach)} to {number(curve.reach)}.",
        axis="margin: above 0 is a right answer",
        across=(-curve.reach, curve.reach),
        up=(low, high),
        behind=behind,
        marks=marks,
    )
    entries = [("a", "the loss"), ("step", "0-1 loss")]
    yield _key(*entries, *([("pale", "rows by margin")] if behind else []))
    rows = [(f"a{p}", number(a)) for p, a in enumerate(curve.coefficients)]
    if curve.turn is not None:
        beyond = "beyond" if curve.for_good else "just beyond"
        rows.append((f"turn: {beyond} -turn more wrong costs less", number(curve.turn)))
    if curve.outside:
        rows.append(("rows with a margin outside of the picture", f"{curve.outside:,}"))
    yield _table(rows)


def _budget(budget: Budget) -> Iterable[Markup]:
    yield _lead(f"{_before_embedding(budget)} The upright line is what a machine has.")
    parts = ((budget.bits, "a"), (budget.ancillas or 0, "b"))
    most = "at least " if budget.ancillas is None else "at most " * budget.assumed
    before = f"{most}{budget.logical:,} logical"
    rows = [svg.Bar("before embedding", parts, before)]
    for machine in budget.machines:
        kind = "pale" if machine.fits is None else "good" if machine.fits else "bad"
        takes, words = machine.takes or budget.logical, _takes(machine, budget)
        rows.append(svg.Bar(plain(machine.name), ((takes, kind),), words, machine.has))
    largest = max((m.has for m in budget.machines), default=1)
    needed = max((m.takes or 0 for m in budget.machines), default=0)
    log = max(needed, budget.logical) > _LOG_FROM * largest
    yield svg.bars(
        rows,
        title="Qubits against machines",
        says="; ".join(f"{row.name}: {row.words}" for row in rows),
        log=log,
    )
    kinds = {"good": "fits", "bad": "too large", "pale": "not known"}
    drawn = {kind for row in rows for _, kind in row.parts}
    entries = [("a", "bits"), *([("b", "ancillas")] if budget.ancillas else [])]
    entries += [(kind, words) for kind, words in kinds.items() if kind in drawn]
    yield _key(*entries, ("limit", "the machine's qubits"))
    remarks = [*_about_formula(budget), *(["The scale is logarithmic."] if log else [])]
    if remarks:
        yield _lead(" ".join(remarks))


def _before_embedding(budget: Budget) -> str:
    bits = many(budget.bits, "bit")
    if budget.ancillas is None:
        return f"{bits} and ancillas that nobody has counted: no estimate goes beyond order 8."
    most = "at most " if budget.assumed else ""
    words = f"{most}{many(budget.logical, 'logical qubit')}"
    words = f"{words[0].upper()}{words[1:]}: {bits} and {most}{many(budget.ancillas, 'ancilla')}."
    return words + " No QUBO was made: as many as a complete polynomial needs." * budget.assumed


def _takes(machine: MachineRow, budget: Budget) -> str:
    """Say what is needed of a machine, and how that is known."""
    of = f"of {machine.has:,}"
    verdict = "not known" if machine.fits is None else "fits" if machine.fits else "too large"
    if machine.measured:
        where = ", on the ideal graph" if machine.ideal else ""
        return f"{machine.takes:,} {of}, {verdict}{where}"
    if machine.takes is None:
        return f"at least {budget.surely:,} {of}, {verdict}"
    about = "about" if budget.complete else "at most about"
    return f"{about} {machine.takes:,} {of}, {verdict}"


def _about_formula(budget: Budget) -> Iterable[str]:
    """Say how far the formula for chains can be trusted here."""
    if any(m.ideal for m in budget.machines):
        yield "It was embedded on the ideal graph, where every qubit works."
    told = [m for m in budget.machines if m.takes is not None and not m.measured]
    inside = [m for m in told if m.takes is not None and m.takes <= m.has]
    if budget.order > 3:
        yield "Beyond order 3 there is no formula for chains."
    elif told and not budget.complete:
        yield (
            "Physical qubits are estimated by a formula for complete polynomials: fewer may do, "
            "as this one has fewer terms."
        )
    elif inside:
        yield "Physical qubits are estimated by a formula, within some 14% where it fits."
    elif told:
        yield "Physical qubits are estimated by a formula, far beyond what was ever measured."


def _ancillas(found: AncillaNumbers) -> Iterable[Markup]:
    yield _lead(
        f"{many(found.count, 'ancilla')}, each for a product of two variables. A gate's strength "
        "is what the gate alone charges for a wrong ancilla; the terms through it give a part of "
        "that back."
    )
    about = dict(found.about)
    terms = svg.histogram(
        found.terms.edges,
        [(found.terms.counts[0], "a")],
        title="Terms through an ancilla",
        says=about["terms through an ancilla"],
        axis="terms that pass through it",
        whole=True,
    )
    yield _figure("Terms through an ancilla", terms, _bins(found.terms, ("ancillas",)))
    if found.strengths is not None:
        on, off = found.strengths.counts
        strengths = svg.histogram(
            found.strengths.edges,
            [(on, "a"), (off, "b")],
            title="Strengths of the gates",
            says="; ".join(f"{k}: {v}" for k, v in found.about[1:3]),
            axis="gate strength" + (", logarithmic" if found.strengths.log else ""),
            log=found.strengths.log,
        )
        key = _key(("a", "ancilla 0, factors 1"), ("b", "ancilla 1, a factor 0"))
        bins = _bins(found.strengths, ("ancilla 0", "ancilla 1"))
        yield _figure("Gate strengths", strengths, key, bins)
    yield _table(found.about)


def _chip(chip: Chip) -> Iterable[Markup]:
    name = plain(chip.machine)
    yield _lead(
        f"{many(len(chip.chains), 'variable')} on {chip.used:,} of "
        f"{many(chip.qubits, 'qubit')} of {name}. The qubits of a chain have one colour; pale ones "
        "are free."
        + (f" One in {chip.every} of the chains' is drawn." if chip.every > 1 else "")
        + (f" One free one in {chip.every_free} is drawn." if chip.every_free > 1 else "")
    )
    dot = 0.42 * svg.WIDTH * chip.spacing
    says = f"Longest chain {chip.longest}, mean {chip.mean:.2f}."
    whole = svg.chip(chip.free, chip.chains, title=f"Chains on {name}", says=says, dot=dot)
    pictures = [_figure("The chip", whole)]
    if chip.closer is not None:
        free, chains = _cut(chip, chip.closer)
        closer = svg.chip(
            free,
            chains,
            title=f"Chains on {name}, closer",
            says="The part of the chip that is used.",
            dot=min(dot / chip.closer[2], 7.0),
        )
        pictures.append(_figure("Closer", closer))
    lengths = svg.histogram(
        chip.lengths.edges,
        [(chip.lengths.counts[0], "a")],
        title="Chain lengths",
        says=says,
        axis="qubits in a chain",
        whole=True,
    )
    numbers = _table([("longest chain", f"{chip.longest:,}"), ("mean", f"{chip.mean:.2f}")])
    bins = _bins(chip.lengths, ("chains",))
    pictures.append(_figure("Chain lengths", lengths, numbers, bins))
    yield tag("div", *pictures, class_="row")


def _cut(
    chip: Chip, square: tuple[float, float, float]
) -> tuple[list[svg.Point], list[tuple[list[svg.Point], list[tuple[svg.Point, svg.Point]]]]]:
    """Return what lies in a square, stretched to the whole picture."""
    left, bottom, side = square

    def moved(point: svg.Point) -> svg.Point:
        return (point[0] - left) / side, (point[1] - bottom) / side

    inside = [moved(p) for p in chip.free]
    free = [p for p in inside if 0 <= p[0] <= 1 and 0 <= p[1] <= 1]
    chains = [
        ([moved(p) for p in dots], [(moved(a), moved(b)) for a, b in links])
        for dots, links in chip.chains
    ]
    return free, chains


def _energies(found: Energies) -> Iterable[Markup]:
    yield _lead(f"{found.about}; lower is better.")
    marks = []
    if found.ground is not None:
        marks.append(svg.Mark(found.ground, "ground state"))
    if not found.ground_found:
        marks.append(svg.Mark(found.lowest, "lowest found", "turn"))
    whole, broken = found.histogram.counts
    yield svg.histogram(
        found.histogram.edges,
        [(whole, "a"), (broken, "b")],
        title="Energies of the samples",
        says=f"Lowest {number(found.lowest)}, of {many(found.at_lowest, found.unit)}; ground state "
        f"{'not known' if found.ground is None else number(found.ground)}.",
        axis="energy",
        marks=marks,
    )
    if found.chained:
        yield _key(("a", "all chains whole"), ("b", "a chain broken"))
        if not found.broken_exact:
            yield _lead(
                "A state that was read often counts as broken if chains broke in any of its reads."
            )
    yield _table(_energy_rows(found))
    if found.chained:
        yield _bins(found.histogram, ("whole", "broken"))
    else:
        yield _bins(replace(found.histogram, counts=(whole,)), (f"{found.unit}s",))
    if found.breaks is not None:
        breaks = svg.histogram(
            found.breaks.edges,
            [(found.breaks.counts[0], "b")],
            title=f"Share of broken chains of a {found.unit}",
            says=f"{found.break_fraction:.3%} of all chains are broken.",
            axis="share of broken chains, mean over equal states",
        )
        yield _figure("Broken chains", breaks, _bins(found.breaks, (f"{found.unit}s",)))


def _energy_rows(found: Energies) -> list[tuple[str, str]]:
    """Return the table below the picture; shares only of what is all that there was."""

    def counted(count: int) -> str:
        return f"{count:,} ({count / found.reads:.1%})" if found.shares else f"{count:,}"

    units = f"{found.unit}s"
    ground = found.ground_from
    if found.ground is not None:
        ground = f"{found.ground:.6g} ({found.ground_from})"
    about = "" if found.wrong_exact else ", about"
    rows = [
        ("lowest energy", f"{found.lowest:.6g}"),
        (f"{units} with it", counted(found.at_lowest)),
        ("ground state", ground),
        (f"{units} with a wrong ancilla, repaired{about}", counted(found.wrong_ancillas)),
    ]
    if not found.chained:
        return [*rows, ("chains", "none: not solved on a chip")]
    most = "" if found.broken_exact else ", at most"
    rows.append((f"{units} with a broken chain{most}", counted(found.broken_reads)))
    rows.append(("chains broken, of all", f"{found.break_fraction:.3%}"))
    if found.discarded is not None:
        rows.append(("reads discarded for a broken chain", f"{found.discarded:,}"))
    return rows


def _weights(found: Weights) -> Iterable[Markup]:
    shown = len(found.rows)
    largest = f" The {shown} largest of them." if shown < found.total else ""
    yield _lead(
        f"{many(found.total, 'weight')}, {found.zeros:,} of them 0.{largest} "
        f"x{found.first_column} is the first column of the data."
    )
    reach = max(map(abs, [*(w for _, w in found.rows), *(found.limits or ())]), default=1.0)
    rows = [svg.Bar(name, ((w, "a" if w >= 0 else "b"),), number(w)) for name, w in found.rows]
    yield svg.diverging(
        rows,
        title="Weights",
        says=", ".join(f"{row.name}: {row.words}" for row in rows),
        reach=reach or 1.0,
    )
    yield _key(("a", "speaks for the positive label"), ("b", "against it"))
    if found.limits is not None:
        low, high = map(number, found.limits)
        yield _table([("a weight can be", f"from {low} to {high}")])


def _confusions(found: Sequence[Confusion]) -> Iterable[Markup]:
    yield _lead("How often each label was taken for which.")
    for matrix in found:
        yield _matrix(matrix)


def _matrix(found: Confusion) -> Markup:
    def cell(count: int, kind: str, words: str) -> Markup:
        share = count / found.rows
        return tag("td", f"{count:,}", tag("small", f"{words}, {share:.1%}"), class_=kind)

    head = tag(
        "tr",
        tag("th", "truth", scope="col"),
        tag("th", f"answer {found.positive}", scope="col"),
        tag("th", f"answer {found.negative}", scope="col"),
    )
    positive = tag(
        "tr",
        tag("th", found.positive, scope="row"),
        cell(found.true_positive, "right", "right"),
        cell(found.false_negative, "wrong", "missed"),
    )
    negative = tag(
        "tr",
        tag("th", found.negative, scope="row"),
        cell(found.false_positive, "wrong", "false alarm"),
        cell(found.true_negative, "right", "right"),
    )
    error = f"{found.wrong:,} of {found.rows:,} wrong, {found.wrong / found.rows:.2%}"
    caption = tag("caption", f"{plain(found.part)}: {error}")
    return tag("table", caption, tag("thead", head), tag("tbody", positive, negative),
               class_="matrix")  # fmt: skip


def _risks(found: Sequence[tuple[str, float, float]]) -> Iterable[Markup]:
    yield _lead(
        "0-1 risk of each classifier on the way: the best with continuous weights, that one "
        "rounded to the levels of the bits, the lowest state that was found, and the returned one."
    )
    rows = [svg.Bar(plain(name), ((risk, "a"),), f"{risk:.2%}") for name, _, risk in found]
    yield svg.bars(
        rows,
        title="Where accuracy is lost",
        says="; ".join(f"{row.name}: {row.words}" for row in rows),
    )
    yield _table(
        [(plain(name), f"{objective:.6g}", f"{risk:.2%}") for name, objective, risk in found],
        ("classifier", "objective", "0-1 risk"),
    )


def write_report(run: Run, path: str) -> tuple[list[str], list[str]]:
    """Write the page; gives the titles of what is shown and of what is not."""
    report = report_of(run)
    save_report(report, path)
    return [TITLES[name] for name in report.shown], [title for title, _ in report.absent]
