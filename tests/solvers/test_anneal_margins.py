from __future__ import annotations

import numpy as np
import pytest

from qcompile import anneal_examples, discretize, fit_loss, moments_of, prepare, read, solve


@pytest.mark.parametrize("order", [3, 4, 6])
def test_annealing_the_margins_reaches_the_optimum_of_the_polynomial(order: int) -> None:
    data = prepare(read("breast-cancer"), scale="standard", features=4, bias=True)
    moments = moments_of(data, order)
    loss = fit_loss(moments, order)
    pubo = discretize(moments, loss, bits=3)
    assert pubo.encoding is not None
    weights = anneal_examples(data, loss, pubo.encoding, reads=20, keep=10)
    energies = pubo.energies(pubo.encoding.encode(weights))
    assert energies[0] == pytest.approx(solve(pubo, solver="exact", keep=1).energies[0])
    assert (np.diff(energies) >= -1e-9).all()
    risk = float(np.mean(loss(data.margins(weights[0]))))
    assert risk + loss.l2 / 2 * weights[0] @ weights[0] == pytest.approx(energies[0])
