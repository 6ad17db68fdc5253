"""Beyond the paper: what each stage of the compiler costs in accuracy, bits, and ℓ0 against ℓ2."""

from __future__ import annotations

from typing import Any

import numpy as np

from qcompile import (
    Dataset,
    Encoding,
    add_noise,
    decode,
    discretize,
    embed,
    fit_loss,
    load_machine,
    moments_of,
    prepare,
    quadratize,
    read,
    solve,
    split,
)
from qcompile.stages.loss import ZeroOneLoss

from . import common

__all__ = ["run"]


def run(options: Any) -> None:
    """Run the three studies."""
    common.write_csv("stages", _stages(options), options)
    common.write_csv("bits", _bits(options), options)
    common.write_csv("regularisers", _regularisers(options), options)


def _parts(noise: float, features: int, seed: int) -> tuple[Dataset, Dataset]:
    rows = read("breast-cancer")
    train, test = split(rows, (0.6, 0.4), seed=seed)
    ready = prepare(train, scale="standard", features=features, bias=True)
    clean = Dataset(ready.preparation.apply(test.x), test.y, ready.preparation)
    return add_noise(ready, noise, seed=seed), clean


def _stages(options: Any) -> list[dict[str, Any]]:
    """Follow breast-cancer (9 columns and a constant, 2 bits) through every stage.

    Each line is the test error of the best classifier that the stage still allows to find.
    """
    seeds = range(options.seed, options.seed + (2 if options.quick else 10))
    rows = []
    for noise in (0.0, 0.2, 0.4):
        found: dict[str, list[float]] = {}
        for seed in seeds:
            train, test = _parts(noise, 4 if options.quick else 9, seed)
            for name, weights in _chain(train, seed).items():
                found.setdefault(name, []).append(100 * float(test.error(weights)))
        for name, errors in found.items():
            row = {
                "label_noise_percent": round(100 * noise),
                "stage": name,
                "test_error_percent": round(float(np.mean(errors)), 3),
                "deviation": round(float(np.std(errors)), 3),
            }
            rows.append(row)
            print(row, flush=True)
    return rows


def _chain(train: Dataset, seed: int) -> dict[str, Any]:
    moments = moments_of(train, order=3)
    loss = fit_loss(moments, prior_std=1.0)
    pubo = discretize(moments, loss, bits=2)
    qubo = quadratize(pubo)
    embedded = embed(qubo, load_machine("pegasus4" if qubo.variables < 60 else "advantage"))
    encoding = pubo.encoding
    assert encoding is not None
    found = {"0-1 risk, the same grid": _zero_one(train, encoding)}
    exact = solve(pubo, solver="exact")
    found["cubic, exact minimum"] = decode(pubo, exact).weights
    found["QUBO with ancillas, neal"] = decode(qubo, solve(qubo, solver="neal", seed=seed)).weights
    mock = solve(embedded, solver="mock", reads=200, seed=seed)
    found["chains on a mock machine"] = decode(qubo, mock).weights
    return found


def _zero_one(train: Dataset, encoding: Encoding) -> Any:
    """Return the classifier of least 0-1 risk on the grid, by annealing the margins."""
    from qcompile import anneal_examples

    return anneal_examples(train, ZeroOneLoss(), encoding, reads=20, keep=1)[0]


def _bits(options: Any) -> list[dict[str, Any]]:
    """Vary the bits of a weight, d = 1..8."""
    rows = []
    for noise in (0.0, 0.3):
        train, test = _parts(noise, 4 if options.quick else 10, options.seed)
        moments = moments_of(train, order=3)
        loss = fit_loss(moments, prior_std=1.0)
        for bits in range(1, 4 if options.quick else 9):
            pubo = discretize(moments, loss, bits=bits)
            found = solve(pubo, solver="anneal", reads=50)
            weights = decode(pubo, found).weights
            row = {
                "label_noise_percent": round(100 * noise),
                "bits": bits,
                "variables": pubo.variables,
                "objective": float(found.energies[0]),
                "test_error_percent": round(100 * float(test.error(weights)), 3),
            }
            rows.append(row)
            print(row, flush=True)
    return rows


def _regularisers(options: Any) -> list[dict[str, Any]]:
    """Compare ℓ0, a charge for every weight that is not 0, with ℓ2."""
    rows = []
    train, test = _parts(0.2, 4 if options.quick else 12, options.seed)
    moments = moments_of(train, order=3)
    base = fit_loss(moments, prior_std=1.0)
    cases = [("l2", 1.0, 0.0), ("l2", 10.0, 0.0), ("l2", 100.0, 0.0)]
    cases += [("l0", 1.0, charge) for charge in (0.001, 0.003, 0.01, 0.03)]
    for kind, factor, charge in cases:
        from dataclasses import replace

        loss = replace(base, l2=base.l2 * factor)
        pubo = discretize(moments, loss, bits=2, l0=charge)
        weights = decode(pubo, solve(pubo, solver="anneal", reads=50)).weights
        row = {
            "regulariser": kind,
            "l2": loss.l2,
            "l0": charge,
            "weights_not_zero": int(np.count_nonzero(weights)),
            "of": len(weights),
            "test_error_percent": round(100 * float(test.error(weights)), 3),
        }
        rows.append(row)
        print(row, flush=True)
    return rows
