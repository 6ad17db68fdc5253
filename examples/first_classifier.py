"""Train a classifier from end to end on data that ship with scikit-learn.

The compiled polynomial is small enough here to look at every assignment of its bits, so that the
classifier shown is the exact optimum. The QUBO that an annealer would be given is proved to be the
same problem and handed to a simulated annealer, which stands in for the machine.
"""

import numpy as np
from dwave.samplers import SimulatedAnnealingSampler

import qcompile

FEATURES, BITS, NOISE, READS = 5, 3, 0.3, 100


def main() -> None:
    """Compile, enumerate, decode, and compare clean with noisy labels."""
    data = qcompile.prepare(
        qcompile.read("breast-cancer"), scale="standard", features=FEATURES, bias=True
    )
    train, test = qcompile.split(data, (0.7, 0.3), seed=1)
    print(f"breast cancer: {len(train)} rows to train on, {len(test)} to test, {FEATURES} features")
    for noise in (0.0, NOISE):
        print(f"\nlabel noise {noise:.0%}")
        show(qcompile.add_noise(train, noise, seed=1), test)
    print("\nNext: qcompile compile breast-cancer --scale standard --bits 2 --emit qubo.json")


def show(train: qcompile.Dataset, test: qcompile.Dataset) -> None:
    """Train on one data set and print what came out of each stage."""
    compiled = qcompile.compile(train, order=3, bits=BITS)
    loss, pubo, qubo = compiled.loss, compiled.pubo, compiled.qubo
    print(
        "  loss      L(γ) =", " ".join(f"{a:+.4g} γ^{p}" for p, a in enumerate(loss.coefficients))
    )
    print(f"  PUBO      {pubo.variables} bits, terms by degree {pubo.terms}")
    states = np.arange(1 << pubo.variables)[:, None] >> np.arange(pubo.variables) & 1
    energies = pubo.energies(states)
    best = int(np.argmin(energies))
    weights = pubo.decode(states[best])
    print(f"  optimum   E = {energies[best]:.4f} of {len(states):,} assignments, all looked at")
    proved = qcompile.verify(qubo, pubo=pubo, data=train).holds
    print(
        f"  QUBO      {qubo.variables} qubits, {len(qubo.ancillas)} of them ancillas, "
        f"{'proved to be the same problem' if proved else 'NOT the same problem'}"
    )
    sampled = SimulatedAnnealingSampler().sample(qubo.to_bqm(), num_reads=READS, seed=1)
    bits, _ = qubo.restrict(sampled.record.sample)
    found = qubo.score(bits).min()
    print(f"  annealer  E = {found:.4f}, the best of {READS} reads of a simulated one")
    print("  weights  ", " ".join(f"{w:+.2f}" for w in weights))
    print(f"  error     {train.error(weights):.1%} training, {test.error(weights):.1%} test")
    for warning in qcompile.warnings_for(loss, train, weights, float(energies[best])):
        print(f"  warning   {warning}")


if __name__ == "__main__":
    main()
