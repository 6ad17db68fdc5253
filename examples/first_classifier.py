"""Train a classifier from end to end on data that ship with scikit-learn.

The compiled polynomial is small enough here to look at every assignment of its bits, so that the
classifier shown is the exact optimum of the problem that an annealer would be given.
"""

import numpy as np

import qcompile
from qcompile.weight_range import warnings_for

FEATURES, BITS, NOISE = 5, 3, 0.3


def main() -> None:
    """Compile, enumerate, decode, and compare clean with noisy labels."""
    data = qcompile.prepare(
        qcompile.read("breast-cancer"), scale="standard", features=FEATURES, bias=True
    )
    train, test = qcompile.split(data, (0.7, 0.3), seed=1)
    print(f"breast cancer: {len(train)} rows to train on, {len(test)} to test, {FEATURES} features")
    for noise in (0.0, NOISE):
        noisy = qcompile.add_noise(train, noise, seed=1)
        compiled = qcompile.compile(noisy, order=3, bits=BITS)
        pubo, loss = compiled.pubo, compiled.loss
        states = np.arange(1 << pubo.variables)[:, None] >> np.arange(pubo.variables) & 1
        energies = pubo.energies(states)
        best = int(np.argmin(energies))
        weights = pubo.decode(states[best])
        print(f"\nlabel noise {noise:.0%}")
        print(
            "  loss      L(γ) =",
            " ".join(f"{a:+.4g} γ^{p}" for p, a in enumerate(loss.coefficients)),
        )
        print(f"  PUBO      {pubo.variables} bits, terms by degree {pubo.terms}")
        print(f"  optimum   E = {energies[best]:.4f} of {len(states):,} assignments, all looked at")
        print("  weights  ", " ".join(f"{w:+.2f}" for w in weights))
        print(f"  error     {noisy.error(weights):.1%} training, {test.error(weights):.1%} test")
        for warning in warnings_for(loss, noisy, weights, float(energies[best])):
            print(f"  warning   {warning}")
    print("\nNext: qcompile compile breast-cancer --scale standard --bits 4 --emit pubo.json")


if __name__ == "__main__":
    main()
