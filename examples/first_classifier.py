"""Train a classifier from end to end on data that ship with scikit-learn.

The compiled polynomial is small enough here to look at every assignment of its bits, so that the
classifier shown is the exact optimum. The QUBO that a quantum annealer would be given is proved to
be the same problem, laid out on the qubits of a machine, and solved by two simulated annealers:
ours on the polynomial and Ocean's on the QUBO.
"""

import qcompile

FEATURES, BITS, NOISE, READS = 5, 3, 0.3, 100


def main() -> None:
    """Compile, enumerate, decode, and compare clean with noisy labels."""
    rows, held = qcompile.split(qcompile.read("breast-cancer"), (0.7, 0.3), seed=1)
    train = qcompile.prepare(rows, scale="standard", features=FEATURES, bias=True)
    test = qcompile.prepare(held, like=train)
    print(f"breast cancer: {len(train)} rows to train on, {len(test)} to test, {FEATURES} features")
    for noise in (0.0, NOISE):
        print(f"\nlabel noise {noise:.0%}")
        show(qcompile.add_noise(train, noise, seed=1), test)
    print("\nNext: qcompile train breast-cancer --scale standard --test 0.3 -o model.json")


def show(train: qcompile.Dataset, test: qcompile.Dataset) -> None:
    """Train on one data set and print what came out of each stage."""
    compiled = qcompile.compile(train, order=3, bits=BITS)
    loss, pubo, qubo = compiled.loss, compiled.pubo, compiled.quadratize()
    print(
        "  loss      L(γ) =", " ".join(f"{a:+.4g} γ^{p}" for p, a in enumerate(loss.coefficients))
    )
    print(f"  PUBO      {pubo.variables} bits, terms by degree {pubo.terms}")
    exact = qcompile.solve(pubo, solver="exact", keep=50)
    model = qcompile.decode(pubo, exact)
    weights, energy = model.weights, float(exact.energies[0])
    print(f"  optimum   E = {energy:.4f} of {2**pubo.variables:,} assignments, all looked at")
    proved = qcompile.verify(qubo, pubo=pubo, data=train).holds
    print(
        f"  QUBO      {qubo.variables} qubits, {len(qubo.ancillas)} of them ancillas, "
        f"{'proved to be the same problem' if proved else 'NOT the same problem'}"
    )
    embedding = qcompile.embed(qubo, qcompile.load_machine("advantage")).embedding
    print(
        f"  machine   {embedding.qubits} qubits of a D-Wave Advantage, "
        f"longest chain {embedding.longest}"
    )
    for solver in ("anneal", "neal"):
        found = qcompile.solve(qubo, solver=solver, reads=READS, seed=1)
        seconds = found.info["seconds"]
        print(f"  {solver:<9} E = {found.energies[0]:.4f}, {READS} reads in {seconds:.2f} s")
    print("  weights  ", " ".join(f"{w:+.2f}" for w in weights))
    print(f"  error     {train.error(weights):.1%} training, {test.error(weights):.1%} test")
    for warning in qcompile.warnings_for(loss, train, weights, energy):
        print(f"  warning   {warning}")


if __name__ == "__main__":
    main()
