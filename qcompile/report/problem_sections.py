"""Sections of the page about the problem: pipeline, loss, qubits, ancillas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qcompile.report import svg
from qcompile.report.elements import bins, figure, key, lead, table
from qcompile.report.figures import AncillaNumbers, Budget, LossCurve, MachineRow, Stage
from qcompile.report.markup import Markup, plain, tag
from qcompile.report.words import many, number

__all__ = [
    "ancilla_section",
    "budget_section",
    "loss_section",
    "pipeline_section",
]


_STANDS = {
    -1: " stands in for 0-1 loss: 1 for a wrong answer, 0 for a right one.",
    0: " charges right answers as much as wrong ones: it cannot stand in for 0-1 loss.",
    1: " is upside down: around margin 0 right answers cost more than wrong ones. It cannot stand "
    "in for 0-1 loss.",
}
_LOG_FROM = 8  # bars of qubits are logarithmic if one exceeds the largest machine so many times


def pipeline_section(stages: Sequence[Stage]) -> Iterable[Markup]:
    """Show the stages of the pipeline with their sizes."""
    yield lead("What came out of each pass and how large it is.")
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
    """Draw an arrow to the right for wide screens and one down for narrow screens."""
    wide = Markup(
        '<svg class="wide" viewBox="0 0 46 12" aria-hidden="true"><path d="M2 6H42M37 2L43 6L37 10"'
        "/></svg>"
    )
    tall = Markup(
        '<svg class="tall" viewBox="0 0 16 24" aria-hidden="true"><path d="M8 1V21M3 16L8 22L13 16"'
        "/></svg>"
    )
    return tag("div", tall, word, wide, class_="pass")


def loss_section(curve: LossCurve) -> Iterable[Markup]:
    """Show the loss beside 0-1 loss, over the margins of the rows."""
    name = f"The polynomial of order {curve.order} (fit: {plain(curve.fit)})"
    yield lead(name + _STANDS[curve.slope])
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
    yield key(*entries, *([("pale", "rows by margin")] if behind else []))
    rows = [(f"a{p}", number(a)) for p, a in enumerate(curve.coefficients)]
    if curve.turn is not None:
        beyond = "beyond" if curve.for_good else "just beyond"
        rows.append((f"turn: {beyond} -turn more wrong costs less", number(curve.turn)))
    if curve.outside:
        rows.append(("rows with a margin outside of the picture", f"{curve.outside:,}"))
    yield table(rows)


def budget_section(budget: Budget) -> Iterable[Markup]:
    """Show the qubits that are needed beside those of each machine."""
    yield lead(f"{_before_embedding(budget)} The upright line is what a machine has.")
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
    yield key(*entries, ("limit", "the machine's qubits"))
    remarks = [*_about_formula(budget), *(["The scale is logarithmic."] if log else [])]
    if remarks:
        yield lead(" ".join(remarks))
    if budget.precision:
        yield table(budget.precision)


def _before_embedding(budget: Budget) -> str:
    bits = many(budget.bits, "bit")
    if budget.ancillas is None:
        return f"{bits} and ancillas that nobody has counted: no estimate goes beyond order 8."
    most = "at most " if budget.assumed else ""
    words = f"{most}{many(budget.logical, 'logical qubit')}"
    words = f"{words[0].upper()}{words[1:]}: {bits} and {most}{many(budget.ancillas, 'ancilla')}."
    return words + " No QUBO was made: as many as a complete polynomial needs." * budget.assumed


def _takes(machine: MachineRow, budget: Budget) -> str:
    """Return what is needed of a machine, in words that say how it is known."""
    of = f"of {machine.has:,}"
    verdict = "not known" if machine.fits is None else "fits" if machine.fits else "too large"
    if machine.impossible:
        verdict = "impossible"
    if machine.measured:
        where = ", on the ideal graph" if machine.ideal else ""
        return f"{machine.takes:,} {of}, {verdict}{where}"
    if machine.takes is None:
        return f"at least {budget.surely:,} {of}, {verdict}"
    if machine.whole:
        return f"{machine.takes:,} {of}, {verdict}"
    about = "about" if budget.complete else "at most about"
    return f"{about} {machine.takes:,} {of}, {verdict}"


def _about_formula(budget: Budget) -> Iterable[str]:
    """Return sentences on how far the formula for chains can be trusted here."""
    if any(m.impossible for m in budget.machines):
        yield "Impossible: the counts of qubits and couplers prove that no embedding exists."
    if any(m.ideal for m in budget.machines):
        yield "It was embedded on the ideal graph, where every qubit works."
    if any(m.whole for m in budget.machines):
        yield (
            "A step couples every bit to every other: these are the chains of a complete graph, on "
            "graphs without dead qubits."
        )
    told = [m for m in budget.machines if m.takes is not None and not (m.measured or m.whole)]
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


def ancilla_section(found: AncillaNumbers) -> Iterable[Markup]:
    """Show how many terms pass through the ancillas, and how strong the gates are."""
    yield lead(
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
    yield figure("Terms through an ancilla", terms, bins(found.terms, ("ancillas",)))
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
        colours = key(("a", "ancilla 0, factors 1"), ("b", "ancilla 1, a factor 0"))
        numbers = bins(found.strengths, ("ancilla 0", "ancilla 1"))
        yield figure("Gate strengths", strengths, colours, numbers)
    yield table(found.about)
