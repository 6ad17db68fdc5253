"""Sections of the page about probabilities, and about rows that are likely mislabelled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qcompile.report import svg
from qcompile.report.elements import figure, key, lead, table
from qcompile.report.figures import Reliability, SuspectTable
from qcompile.report.markup import Markup, plain, tag
from qcompile.report.words import many

__all__ = ["reliability_section", "suspect_section"]


_OPEN = ((0.0, 0.0), (1.0, 1.0))


def reliability_section(found: Sequence[Reliability]) -> Iterable[Markup]:
    """Show the shares of positive labels by predicted probability."""
    positive = plain(found[0].positive)
    yield lead(
        f"Of rows whose probability of {positive} is near p, a share p should be {positive}: dots "
        "on the diagonal. Upright lines are exact 95% intervals. Rows that were trained on look "
        "better than others."
    )
    for own in found:
        yield figure(plain(own.part), _picture(own), _names(), _numbers(own))


def _picture(found: Reliability) -> Markup:
    dots = [(own.predicted, own.positive / own.count) for own in found.bins]
    bars = [([(own.predicted, own.low), (own.predicted, own.high)], "thin") for own in found.bins]
    return svg.curves(
        [(_OPEN, "step"), *bars],
        title=f"Calibration, {plain(found.part)}",
        says="; ".join(
            f"predicted {own.predicted:.2f}, observed {own.positive / own.count:.2f} of "
            f"{many(own.count, 'row')}"
            for own in found.bins
        ),
        axis="predicted probability; upright: share that is positive",
        across=(0.0, 1.0),
        up=(0.0, 1.0),
        dots=[(dots, "round h0")],
    )


def _names() -> Markup:
    return key(("disc", "rows of a tenth of the probabilities"), ("step", "perfect"))


def _numbers(found: Reliability) -> Markup:
    rows = [
        (
            f"{own.predicted:.3f}",
            f"{own.positive / own.count:.3f}",
            f"{own.low:.3f} to {own.high:.3f}",
            f"{own.count:,}",
        )
        for own in found.bins
    ]
    head = ("predicted", "observed", "95% interval", "rows")
    return tag("details", tag("summary", "The numbers"), table(rows, head))


def suspect_section(found: SuspectTable) -> Iterable[Markup]:
    """Show the rows whose labels the classifier contradicts most surely."""
    positive, negative = map(plain, found.labels)
    yield lead(
        "Rows whose label the classifier contradicts, the most surely contradicted first. A "
        "bounded loss gives up on rows far on the wrong side, so that wrong labels do not pull on "
        "the weights. The probability of a wrong label holds as far as labels are flipped at "
        "random and a hyperplane tells the classes apart."
    )
    yield table(
        [
            ("rows contradicted", f"{found.contradicted:,} of {found.rows:,}"),
            ("given up by the loss", f"{found.given_up:,}"),
            ("likely mislabelled", f"{found.likely:,}"),
            (f"wrong labels, estimated, of rows that are {positive}", f"{found.rates[0]:.1%}"),
            (f"of rows that are {negative}", f"{found.rates[1]:.1%}"),
        ]
    )
    if found.first:
        rows = [
            (f"row {row:,}", plain(label), f"{margin:.3g}", f"{chance:.2f}")
            for row, label, margin, chance in found.first
        ]
        shown = table(rows, ("row", "label", "margin", "wrong label"))
        yield tag("details", tag("summary", f"The first {len(rows)}"), shown, open="open")
