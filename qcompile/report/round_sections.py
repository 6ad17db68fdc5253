"""The section of the page about the rounds of a training."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from qcompile.report import svg
from qcompile.report.elements import figure, key, lead, table
from qcompile.report.figures import HUES, Trace
from qcompile.report.markup import Markup, tag
from qcompile.report.words import many, number
from qcompile.training.l2_path import L2Trial
from qcompile.training.rounds import Round

__all__ = ["round_section"]


_MOST_OPEN = 12  # a longer table of rounds opens on a click
_ROOM = 0.05  # of the height, above and below the curves

_Line: TypeAlias = tuple[list[svg.Point], str]


def round_section(found: Trace) -> Iterable[Markup]:
    """Show how the objective and the trust region went from round to round."""
    yield lead(_lead(found))
    pictures = []
    if found.rounds:
        pictures += [_objectives(found), _regions(found)]
    if found.trials:
        pictures.append(_trials(found.trials, found.l2))
    yield tag("div", *pictures, class_="row")
    yield table(_facts(found))
    if found.rounds:
        rounds = tag("div", _rounds(found), class_="scroll")
        if len(found.rounds) <= _MOST_OPEN:
            yield rounds
        else:
            yield tag("details", tag("summary", f"All {len(found.rounds)} rounds"), rounds)


def _lead(found: Trace) -> str:
    if found.by_descent:
        return "Trained by descent (L-BFGS), without rounds."
    if not found.rounds:
        return "The training ended before its first round."
    return (
        "Each round fits a polynomial around the weights, lets the solver look for a step within "
        "the radius, and takes the best of the lowest samples if it lowers the objective F. Then "
        "the radius grows, or stays if that was not the lowest sample; otherwise it shrinks."
    )


def _facts(found: Trace) -> list[tuple[str, str]]:
    rows = [("objective F of the classifier", f"{found.objective:.6g}")]
    if found.descent is not None:
        rows.append(("F that descent (L-BFGS) reaches", f"{found.descent:.6g}"))
    if found.l2 is not None:
        chosen = f", the best of {len(found.trials)} by cross-validation" if found.trials else ""
        rows.append(("price of the weights (l2)", f"{found.l2:.6g}{chosen}"))
    if found.rounds:
        taken = sum(own.rank is not None for own in found.rounds)
        rows.append(("steps taken", f"{taken:,} of {many(len(found.rounds), 'round')}"))
        rows.append(("seconds of the rounds", f"{sum(own.seconds for own in found.rounds):.3f}"))
    told = [own.machine_seconds for own in found.rounds if own.machine_seconds is not None]
    if told:
        rows.append(("seconds of the machine", f"{sum(told):.3f}"))
    return rows


def _hue(rounds: Sequence[Round]) -> str:
    return f"h{rounds[0].start % HUES}"


def _objectives(found: Trace) -> Markup:
    """Draw F after each round, and what descent reaches."""
    lines: list[_Line] = []
    dots: list[_Line] = []
    for rounds, first in zip(found.starts, found.before, strict=True):
        path = [(0.0, first), *((own.number + 1.0, own.objective) for own in rounds)]
        lines.append((path, _hue(rounds)))
        dots += _dots(rounds, lambda own: own.objective)
    if found.descent is not None:
        lines.append(([(0.0, found.descent), (float(found.last), found.descent)], "step"))
    values = [value for path, _ in lines for _, value in path]
    picture = svg.curves(
        lines,
        title="Objective F after each round",
        says=_says(found),
        axis="round",
        across=(0.0, float(found.last)),
        up=_wider(min(values), max(values)),
        dots=dots,
        whole=True,
    )
    entries = [*_of_starts(found), *_of_dots(found)]
    if found.descent is not None:
        entries.append(("step", "descent (L-BFGS)"))
    return figure("Objective", picture, key(*entries))


def _says(found: Trace) -> str:
    """Return where each start began and ended, in words."""
    ends = [
        f"from {first:.5f} to {rounds[-1].objective:.5f} in {many(len(rounds), 'round')}"
        for rounds, first in zip(found.starts, found.before, strict=True)
    ]
    if len(ends) > 1:
        ends = [
            f"start {rounds[0].start + 1} {words}"
            for rounds, words in zip(found.starts, ends, strict=True)
        ]
    told = "; ".join(ends)
    if found.descent is not None:
        told += f"; descent reaches {found.descent:.5f}"
    return f"{told[0].upper()}{told[1:]}."


def _dots(
    rounds: Sequence[Round], value: Callable[[Round], float]
) -> Iterable[tuple[list[svg.Point], str]]:
    """Yield filled dots for steps that were taken, and rings for the others."""
    hue = _hue(rounds)
    yield [(own.number + 1.0, value(own)) for own in rounds], f"round {hue}"
    rings = [(own.number + 1.0, value(own)) for own in rounds if own.rank is None]
    if rings:
        yield rings, "round hole"


def _of_starts(found: Trace) -> Iterable[tuple[str, str]]:
    """Yield the key of the starts; hues repeat after ten of them."""
    numbers: dict[str, list[str]] = {}
    for rounds in found.starts:
        numbers.setdefault(_hue(rounds), []).append(str(rounds[0].start + 1))
    for hue, names in numbers.items():
        yield hue, f"start {', '.join(names)}" if len(found.starts) > 1 else "F after the round"


def _of_dots(found: Trace) -> Iterable[tuple[str, str]]:
    if any(own.rank is not None for own in found.rounds):
        yield "disc", "step taken"
    if any(own.rank is None for own in found.rounds):
        yield "ring", "no better sample"


def _regions(found: Trace) -> Markup:
    """Draw the radius and the width of each round."""
    lines: list[_Line] = []
    dots: list[_Line] = []
    for rounds in found.starts:
        radii = [(own.number + 1.0, own.radius) for own in rounds]
        widths = [(own.number + 1.0, own.width) for own in rounds]
        lines += [(radii, _hue(rounds)), (widths, f"dash {_hue(rounds)}")]
        dots += _dots(rounds, lambda own: own.radius)
    values = [value for path, _ in lines for _, value in path]
    low, high = min(values), max(values)
    one, two = found.rounds[0], found.starts[0][-1]
    picture = svg.curves(
        lines,
        title="Radius and width of each round",
        says=f"The radius goes from {number(one.radius)} to {number(two.radius)}, the width from "
        f"{number(one.width)} to {number(two.width)}.",
        axis="round; the upright axis is logarithmic",
        across=(0.0, float(found.last)),
        up=(low / 1.1, high * 1.1),
        dots=dots,
        log=(False, True),
        whole=True,
    )
    names = key(("line", "radius: longest step of a weight"), ("dash", "width of the fit"))
    return figure("Trust region", picture, names)


def _wider(low: float, high: float) -> tuple[float, float]:
    room = _ROOM * (high - low) or _ROOM * abs(high) or 1.0
    return low - room, high + room


def _trials(trials: Sequence[L2Trial], chosen: float | None) -> Markup:
    """Draw the validation error of each price of the weights."""
    ordered = sorted(trials, key=lambda trial: trial.l2)
    points = [(trial.l2, trial.error) for trial in ordered]
    bars = [
        [(trial.l2, trial.error - trial.spread), (trial.l2, trial.error + trial.spread)]
        for trial in ordered
    ]
    values = [value for bar in bars for _, value in bar]
    low, high = ordered[0].l2, ordered[-1].l2
    marks = [] if chosen is None else [svg.Mark(chosen, "chosen")]
    best = trials[0]
    picture = svg.curves(
        [(points, "a"), *((bar, "thin") for bar in bars)],
        title="Validation error for each price of the weights",
        says=f"Least at l2 {number(best.l2)}: {best.error:.2%}, of {many(len(trials), 'value')}.",
        axis="price of the weights (l2), logarithmic",
        across=(low / 1.2, high * 1.2),
        up=_wider(min(values), max(values)),
        marks=marks,
        dots=[(points, "round h0")],
        log=(True, False),
    )
    rows = [
        (f"{trial.l2:.4g}", f"{trial.error:.2%}", f"{trial.spread:.2%}", f"{trial.deviation:.2%}")
        for trial in reversed(ordered)
    ]
    head = ("l2", "validation error", "standard error", f"deviation of {best.folds} folds")
    numbers = tag("details", tag("summary", "The numbers"), table(rows, head))
    names = key(("a", "mean over the folds, with its standard error"))
    return figure("Choice of the price of the weights", picture, names, numbers)


def _rounds(found: Trace) -> Markup:
    """Return the table of all rounds."""
    several = len(found.starts) > 1
    timed = any(own.machine_seconds is not None for own in found.rounds)
    head = ["start, round" if several else "round", "F after it", "radius", "width"]
    head += ["weights that could change", "change of F expected", "change of F reached"]
    head += ["rank of the sample taken", *(["broken chains"] if found.chained else []), "seconds"]
    head += ["machine seconds"] if timed else []
    rows = []
    for own in found.rounds:
        row = [f"{own.start + 1}, {own.number + 1}" if several else f"{own.number + 1}"]
        row += [f"{own.objective:.6f}", f"{own.radius:.4g}", f"{own.width:.4g}"]
        row += [f"{own.weights:,}", f"{own.expected:+.3g}", f"{own.reached:+.3g}"]
        row.append("none was better" if own.rank is None else f"{own.rank + 1}")
        row += [f"{own.broken:.2%}"] if found.chained else []
        row.append(f"{own.seconds:.3f}")
        if timed:
            told = own.machine_seconds
            row.append("not known" if told is None else f"{told:.4f}")
        rows.append(row)
    return table(rows, head)
