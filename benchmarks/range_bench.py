"""What `--compress` does: couplings below precision, ancillas, and answers under control errors.

Usage: python benchmarks/range_bench.py [--features 9] [--draws 20] [SET ...]

For each set a cubic of two bits a weight is reduced with and without compression. Both are scaled
into |h| <= 4, |J| <= 1, and get Gaussian errors of 1% and 2% on every field and coupling. `right`
is the share of draws whose lowest state, by all assignments with the best ancillas, is the
polynomial's minimum. There are no chains and no temperature: it judges the problem, not a machine.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from qcompile import Qubo, account, compile, quadratize

SETS = ("breast-cancer", "synthetic:features=12")
ERRORS = (0.01, 0.02)


def _right(qubo: Qubo, best: int, error: float, draws: int) -> float:
    """Return the share of draws of the errors that leave the minimum where it was."""
    size, scale = qubo.logical, account(qubo).machine_scale or 1.0
    states = (np.arange(1 << size)[:, None] >> np.arange(size) & 1).astype(np.float32)
    rng, found = np.random.default_rng(0), 0
    for _ in range(draws):
        # errors of fields and couplings, written as coefficients of bits
        pairs = 4 * error / scale * rng.normal(size=len(qubo.first))
        linear = qubo.linear + 2 * error / scale * rng.normal(size=qubo.variables)
        np.add.at(linear, qubo.first, -pairs / 2)
        np.add.at(linear, qubo.second, -pairs / 2)
        table = np.zeros((size, qubo.variables), dtype=np.float32)
        table[qubo.first, qubo.second] = qubo.quadratic + pairs
        energies = states @ linear[:size].astype(np.float32)
        energies += ((states @ table[:, :size]) * states).sum(axis=1)
        fields = states @ table[:, size:] + linear[size:].astype(np.float32)
        energies += np.minimum(fields, 0.0).sum(axis=1)
        found += int(energies.argmin()) == best
    return found / draws


def main() -> None:
    """Print one line for each set and QUBO."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--features", type=int, default=9)
    parser.add_argument("--draws", type=int, default=20)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.sets:
        made = compile(name, features=options.features, bits=2, order=3, bias=False, anyway=True)
        less = quadratize(made.pubo, compress=True)
        kept = () if less.compression is None else less.compression.minimiser
        best = sum(bit << i for i, bit in enumerate(kept))
        for label, qubo in (("plain", quadratize(made.pubo)), ("compressed", less)):
            figures = account(qubo)
            rates = [_right(qubo, best, e, options.draws) for e in ERRORS] if options.draws else []
            print(
                f"{name:24} {label:10} bits {qubo.logical} ancillas {len(qubo.ancillas):3} "
                f"couplings {len(qubo.first):4} "
                f"below {figures.share_of_couplings_below_precision:6.1%} "
                f"scale {figures.machine_scale:8.4g} right {rates}",
                flush=True,
            )


if __name__ == "__main__":
    main()
