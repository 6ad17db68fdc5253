"""Figure 3: the sixth-order loss for several values of its leading coefficient."""

from __future__ import annotations

from typing import Any

import numpy as np

from qcompile import fit_loss, moments_of, read

from . import common

__all__ = ["run"]

_OMEGAS = (0.001, 0.01, 0.1, 1.0)


def run(options: Any) -> None:
    """Draw, and check that all of them are one curve at different scales."""
    plt = common.pyplot()
    figure, axis = plt.subplots(figsize=(7, 5))
    margins = np.linspace(-4, 4, 801)
    axis.plot(margins, margins < 0, "k", label="0-1 loss")
    moments = moments_of(read("synthetic:examples=100"), order=6)
    rows = []
    unit = fit_loss(moments, order=6, omega=1.0)
    for omega in _OMEGAS:
        loss = fit_loss(moments, order=6, omega=omega)
        scaled = unit(margins * omega ** (1 / 6))
        row: dict[str, Any] = {"omega": omega}
        row |= {f"b{p}": a for p, a in enumerate(loss.coefficients)}
        row["difference_from_the_scaled_curve"] = float(np.abs(loss(margins) - scaled).max())
        rows.append(row)
        axis.plot(margins, loss(margins), label=f"ω = {omega:g}")
    print(f"largest difference {max(r['difference_from_the_scaled_curve'] for r in rows):.2g}")
    axis.set(xlabel="margin", ylabel="loss", ylim=(-0.6, 2.2), title="sixth-order loss")
    axis.legend(fontsize=8)
    common.write_csv("figure3", rows, options)
    common.save_figure(figure, "figure3", options)
