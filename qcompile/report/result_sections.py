"""Sections of the page about the result: energies, weights, confusion matrices, risks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from qcompile.report import svg
from qcompile.report.elements import bins, figure, key, lead, table
from qcompile.report.figures import Confusion, Energies, Weights
from qcompile.report.markup import Markup, plain, tag
from qcompile.report.words import many, number
from qcompile.stages.interval import exact_interval
from qcompile.training.risks import Risk

__all__ = ["confusion_section", "energy_section", "risk_section", "weight_section"]


def energy_section(found: Energies) -> Iterable[Markup]:
    """Show the energies of the samples, and the broken chains among them."""
    yield lead(f"{found.about}; lower is better.")
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
        yield key(("a", "all chains whole"), ("b", "a chain broken"))
        if not found.broken_exact:
            yield lead(
                "A state that was read often counts as broken if chains broke in any of its reads."
            )
    yield table(_energy_rows(found))
    if found.chained:
        yield bins(found.histogram, ("whole", "broken"))
    else:
        yield bins(replace(found.histogram, counts=(whole,)), (f"{found.unit}s",))
    if found.breaks is not None:
        breaks = svg.histogram(
            found.breaks.edges,
            [(found.breaks.counts[0], "b")],
            title=f"Share of broken chains of a {found.unit}",
            says=f"{found.break_fraction:.3%} of all chains are broken.",
            axis="share of broken chains, mean over equal states",
        )
        yield figure("Broken chains", breaks, bins(found.breaks, (f"{found.unit}s",)))


def _energy_rows(found: Energies) -> list[tuple[str, str]]:
    """Return the rows of the table, with shares only if all reads are among the samples."""

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


def weight_section(found: Weights) -> Iterable[Markup]:
    """Show the largest weights."""
    shown = len(found.rows)
    largest = f" The {shown} largest of them." if shown < found.total else ""
    first = "" if found.named else f" x{found.first_column} is the first column of the data."
    yield lead(f"{many(found.total, 'weight')}, {found.zeros:,} of them 0.{largest}{first}")
    reach = max(map(abs, [*(w for _, w in found.rows), *(found.limits or ())]), default=1.0)
    shades = [("a" if weight >= 0 else "b") for _, weight in found.rows]
    bars = [
        svg.Bar(plain(name), ((weight, shade),), number(weight))
        for (name, weight), shade in zip(found.rows, shades, strict=True)
    ]
    yield svg.diverging(
        bars,
        title="Weights",
        says=", ".join(f"{row.name}: {row.words}" for row in bars),
        reach=reach or 1.0,
    )
    yield key(("a", "speaks for the positive label"), ("b", "against it"))
    if found.limits is not None:
        low, high = map(number, found.limits)
        yield table([("a weight can be", f"from {low} to {high}")])
    if found.in_units:
        rows = [(plain(name), f"{weight:.6g}") for name, weight in found.in_units]
        units = table(rows, ("column", "weight of one unit"))
        yield tag("details", tag("summary", "In units of the data"), units)


def confusion_section(found: Sequence[Confusion]) -> Iterable[Markup]:
    """Show a confusion matrix for each part of the data."""
    yield lead("How often each label was taken for which.")
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
    low, high = exact_interval(found.wrong, found.rows)
    error = (
        f"{found.wrong:,} of {found.rows:,} wrong, {found.wrong / found.rows:.2%} (95% interval "
        f"{low:.2%} to {high:.2%}); baseline, "
        f"always the more common label: {found.baseline / found.rows:.2%}"
    )
    caption = tag("caption", f"{plain(found.part)}: {error}")
    return tag("table", caption, tag("thead", head), tag("tbody", positive, negative),
               class_="matrix")  # fmt: skip


_OF_ONE_POLYNOMIAL = (
    "0-1 risk of each classifier on the way: the best with continuous weights, that one rounded to "
    "the levels of the bits, the lowest state that was found, and the returned one."
)
_OF_ROUNDS = "0-1 risk on the training rows, and the objective F that rounds minimise."
_DESCENT = " Descent (L-BFGS) minimises the same F without bits."


def risk_section(found: Sequence[Risk], *, in_rounds: bool = False) -> Iterable[Markup]:
    """Show the risk of each classifier on the way."""
    beside = _DESCENT * any("descent" in risk.classifier for risk in found)
    yield lead(_OF_ROUNDS + beside if in_rounds else _OF_ONE_POLYNOMIAL)
    rows = [
        svg.Bar(plain(risk.classifier), ((risk.error, "a"),), f"{risk.error:.2%}") for risk in found
    ]
    yield svg.bars(
        rows,
        title="Where accuracy is lost",
        says="; ".join(f"{row.name}: {row.words}" for row in rows),
    )
    yield table(
        [(plain(r.classifier), f"{r.objective:.6g}", f"{r.error:.2%}") for r in found],
        ("classifier", "objective", "0-1 risk"),
    )
