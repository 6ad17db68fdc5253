"""Pictures of losses, after the paper's Figures 1 and 3."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from qcompile.artifacts import Loss
from qcompile.errors import InputError
from qcompile.files import write_atomically

__all__ = ["ENDINGS", "plot_losses"]

ENDINGS = (".png", ".svg", ".pdf")


def check_ending(path: str | Path) -> str:
    """Give the picture's format, or refuse."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise InputError(f"{path}: expected a picture ending in {', '.join(ENDINGS)}")
    return ending[1:]


def plot_losses(losses: Mapping[str, Loss], path: str | Path) -> None:
    """Draw losses against 0-1 loss, over the margins where they stand in for it."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    kind = check_ending(path)
    reach = 1.6 * max(_scale(loss) for loss in losses.values())
    margins = np.linspace(-reach, reach, 801)
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.add_subplot()
    axes.step([-reach, 0, reach], [1, 1, 0], where="pre", color="0.6", label="0-1 loss")
    for name, loss in losses.items():
        axes.plot(margins, loss(margins), label=name)
    axes.axhline(0, color="0.85", linewidth=0.8, zorder=0)
    axes.set(xlabel="margin γ = y w·x", ylabel="loss L(γ)", xlim=(-reach, reach), ylim=(-0.6, 2.1))
    axes.legend(frameon=False)
    picture = io.BytesIO()
    # a fixed salt and no date: the same loss gives the same file
    with rc_context({"svg.hashsalt": "qcompile"}):
        when = {"CreationDate": None} if kind == "pdf" else {"Date": None}
        figure.savefig(picture, format=kind, dpi=150, metadata={} if kind == "png" else when)
    with write_atomically(path) as stream:
        stream.write(picture.getvalue())


def _scale(loss: Loss) -> float:
    """Give a margin up to which the loss is worth looking at."""
    if math.isfinite(loss.turn):
        return loss.turn
    if loss.omega is not None:
        return float(loss.omega ** (-1 / loss.order))
    return 1.0
