"""Figure 1: cubic losses fitted to the 0-1 risk of each data set."""

from __future__ import annotations

from typing import Any

import numpy as np

from qcompile import fit_loss, moments_of, prepare

from . import common
from .sets import SETS, raw

__all__ = ["run"]


def run(options: Any) -> None:
    """Fit and draw; columns reach ±1, and the prior makes the root mean square margin 1.

    Where all rows are equally long, all fits are the same: it is their lengths that differ.
    """
    plt = common.pyplot()
    figure, axis = plt.subplots(figsize=(7, 5))
    margins = np.linspace(-3, 3, 601)
    axis.plot(margins, margins < 0, "k", label="0-1 loss")
    rows = []
    for name in SETS[:2] if options.quick else SETS:
        data = raw(name)
        if data is None:
            continue
        moments = moments_of(prepare(data, scale="max-abs"), order=3)
        deviation = float(np.sqrt(moments.count / moments.sum_of_squares))
        loss = fit_loss(moments, prior_std=deviation, weight_range=1.0)
        rows.append(
            {
                "dataset": name,
                "a0": loss.coefficients[0],
                "a1": loss.coefficients[1],
                "a3": loss.coefficients[3],
                "turns_at_margin": loss.turn,
            }
        )
        print(rows[-1], flush=True)
        axis.plot(margins, loss(margins), label=name)
    axis.set(xlabel="margin, in units of its root mean square", ylabel="loss", ylim=(-0.6, 1.6))
    axis.set_title("cubic loss fits")
    axis.legend(fontsize=8)
    common.write_csv("figure1", rows, options)
    common.save_figure(figure, "figure1", options)
