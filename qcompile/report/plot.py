"""Pictures: losses, after the paper's Figures 1 and 3, embeddings on a machine, and rounds."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.files.atomic import write_atomically
from qcompile.report.result_figures import trace_of_training
from qcompile.stages.embedded import Embedding
from qcompile.stages.loss import Loss
from qcompile.stages.machine import Machine
from qcompile.training.rounds import Round
from qcompile.training.trained import Trained

__all__ = ["ENDINGS", "check_ending", "layout", "plot_embedding", "plot_losses", "plot_rounds"]


ENDINGS = (".png", ".svg", ".pdf")
_IN_A_ROW = 14


def check_ending(path: str | Path) -> str:
    """Return the format of a picture; raise InputError if the ending is not known."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise InputError(f"{path}: expected a picture ending in {', '.join(ENDINGS)}")
    return ending[1:]


def check_library() -> None:
    """Raise InputError if Matplotlib is not installed, before any work is done."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise InputError(
            "Matplotlib is not installed; expected it for pictures: "
            "pip install 'qcompile-anneal[plot]'"
        ) from None


def plot_losses(losses: Mapping[str, Loss], path: str | Path) -> None:
    """Draw losses beside 0-1 loss, over the margins where they approximate it."""
    kind = check_ending(path)
    check_library()
    from matplotlib.figure import Figure

    reach = 1.6 * max(loss.scale for loss in losses.values())
    margins = np.linspace(-reach, reach, 801)
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    axes.step([-reach, 0, reach], [1, 1, 0], where="pre", color="0.6", label="0-1 loss")
    for name, loss in losses.items():
        axes.plot(margins, loss(margins), label=name)
    axes.axhline(0, color="0.85", linewidth=0.8, zorder=0)
    axes.set(xlabel="margin γ = y w·x", ylabel="loss L(γ)", xlim=(-reach, reach), ylim=(-0.6, 2.1))
    axes.legend(frameon=False)
    _save(figure, path, kind)


def _save(figure: Any, path: str | Path, kind: str) -> None:
    from matplotlib import rc_context

    picture = io.BytesIO()
    # a fixed salt and no date: the same content gives the same file
    with rc_context({"svg.hashsalt": "qcompile"}):
        when = {"CreationDate": None} if kind == "pdf" else {"Date": None}
        figure.savefig(picture, format=kind, dpi=150, metadata={} if kind == "png" else when)
    with write_atomically(path) as stream:
        stream.write(picture.getvalue())


def plot_embedding(
    embedding: Embedding, path: str | Path, *, copies: Sequence[Embedding] = ()
) -> None:
    """Draw the chains on the machine's graph, in Ocean's layout, with a key of their lengths.

    Free qubits are pale dots; the qubits and couplers of each chain have one colour. `copies` are
    the chains of every copy, if there is more than one: each lies on a grey ground of its own with
    its number, and the chains of a variable have the same colour in all of them.
    """
    kind = check_ending(path)
    check_library()
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

    machine, drawn = embedding.machine, tuple(copies) or (embedding,)
    place = layout(machine)
    # the chain and the variable of each qubit, -1 for none
    owner, variable = np.full((2, len(machine.nodes)), -1)
    chains = [(v, chain) for copy in drawn for v, chain in enumerate(copy.chains)]
    for number, (v, chain) in enumerate(chains):
        rows = np.searchsorted(machine.nodes, chain)
        owner[rows], variable[rows] = number, v
    first, second = machine.edges.T
    own = (owner[first] >= 0) & (owner[first] == owner[second])
    colours = _colours(max(len(copy.chains) for copy in drawn))
    figure = Figure(figsize=(14, 14), layout="constrained")
    axes = figure.add_subplot()
    axes.set_aspect("equal")
    axes.set_axis_off()
    dot = min(120.0, 80_000.0 / len(place))
    free = owner < 0
    if len(drawn) > 1:
        _ground(axes, drawn, place, dot)
    axes.scatter(place[free, 0], place[free, 1], s=dot / 3, color="0.8", linewidths=0)
    lines = np.stack([place[first[own]], place[second[own]]], axis=1)
    axes.add_collection(
        LineCollection(list(lines), colors=colours[variable[first[own]]], linewidths=dot**0.5 / 2)
    )
    used = place[~free]
    axes.scatter(used[:, 0], used[:, 1], s=dot, c=colours[variable[~free]], linewidths=0, zorder=3)
    _title(axes, drawn, len(place))
    _save(figure, path, kind)


def _ground(axes: Any, copies: Sequence[Embedding], place: Any, dot: float) -> None:
    """Draw a grey ground with a rim below the qubits of each copy, and its number on top."""
    for number, copy in enumerate(copies, 1):
        qubits = [q for chain in copy.chains for q in chain]
        own = place[np.searchsorted(copy.machine.nodes, qubits)]
        for size, colour in ((8.0, "0.55"), (5.5, "0.9" if number % 2 else "0.78")):
            axes.scatter(own[:, 0], own[:, 1], s=dot * size, color=colour, linewidths=0, zorder=0.5)
        middle = own[np.square(own - own.mean(axis=0)).sum(axis=1).argmin()]
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8, "alpha": 0.8}
        axes.text(*middle, str(number), ha="center", va="center", fontsize=8, bbox=box, zorder=4)


def _title(axes: Any, copies: Sequence[Embedding], qubits: int) -> None:
    """Write above the picture what it shows, with the number of chains of each length."""
    lengths = np.concatenate([copy.lengths for copy in copies])
    variables, used = len(copies[0].chains), int(lengths.sum())
    many = f"{len(copies):,} copies of " if len(copies) > 1 else ""
    by_length = zip(*np.unique(lengths, return_counts=True), strict=True)
    counts = [f"{length}: {count:,}" for length, count in by_length]
    rows = [", ".join(counts[i : i + _IN_A_ROW]) for i in range(0, len(counts), _IN_A_ROW)]
    axes.set_title(
        f"{many}{variables} variables on {used:,} of {qubits:,} qubits of "
        f"{copies[0].machine.name}; longest chain {lengths.max(initial=0)}\n"
        "chains by length: " + "\n".join(rows),
        fontsize=14,
    )


def plot_rounds(trained: Trained, path: str | Path) -> None:
    """Draw the objective, the radius and the width over the rounds of a training.

    Full dots are rounds whose step was taken. A dashed line is what descent (L-BFGS) reaches.
    """
    kind = check_ending(path)
    if not trained.rounds:
        raise InputError("no rounds to plot; expected a training in rounds with a solver of bits")
    check_library()
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    trace = trace_of_training(trained)
    figure = Figure(figsize=(6, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    for rounds, first in zip(trace.starts, trace.before, strict=True):
        start = rounds[0].start + 1
        numbers = [own.number + 1 for own in rounds]
        name = f"start {start}" if len(trace.starts) > 1 else "F after the round"
        values = [own.objective for own in rounds]
        (line,) = above.plot([0, *numbers], [first, *values], label=name)
        colour = line.get_color()
        _mark(above, rounds, values, colour)
        radii = [own.radius for own in rounds]
        only = len(trace.starts) == 1
        below.plot(numbers, radii, color=colour, label="radius" if only else f"radius, {name}")
        _mark(below, rounds, radii, colour)
        widths = [own.width for own in rounds]
        below.plot(numbers, widths, ":", color=colour, label="width" if only else f"width, {name}")
    if trace.descent is not None:
        above.axhline(trace.descent, color="0.4", linestyle="--", label="descent (L-BFGS)")
    above.set(ylabel="objective F")
    below.set(xlabel="round", ylabel="radius and width", yscale="log")
    below.xaxis.set_major_locator(MaxNLocator(integer=True))
    for axes in (above, below):
        axes.legend(frameon=False, fontsize=8)
    _save(figure, path, kind)


def _mark(axes: Any, rounds: Sequence[Round], values: Sequence[float], colour: str) -> None:
    """Draw full dots for steps that were taken, and rings for the others."""
    for taken, face in ((True, colour), (False, "white")):
        shown = [
            (own.number + 1, value)
            for own, value in zip(rounds, values, strict=True)
            if (own.rank is not None) == taken
        ]
        if shown:
            across, up = zip(*shown, strict=True)
            axes.plot(across, up, "o", color=colour, markerfacecolor=face, markersize=4)


def layout(machine: Machine) -> NDArray[np.float64]:
    """Return the places of the working qubits in Ocean's layout."""
    import dwave.graphs as dg

    place = {
        "chimera": dg.chimera_layout,
        "pegasus": dg.pegasus_layout,
        "zephyr": dg.zephyr_layout,
    }[machine.topology]
    places = place(machine.graph)
    return np.array([places[q] for q in machine.nodes.tolist()], dtype=np.float64)


def _colours(count: int) -> NDArray[np.float64]:
    """Return distinguishable colours: hues by the golden ratio, in two brightnesses."""
    from matplotlib.colors import hsv_to_rgb

    number = np.arange(count)
    hue = number * 0.6180339887498949 % 1.0
    return np.asarray(
        hsv_to_rgb(np.column_stack([hue, np.full(count, 0.85), 0.65 + 0.25 * (number % 2)]))
    )
