"""Rehearse a run on a D-Wave Advantage without an account: breast cancer, ten features.

The data ship with scikit-learn. Training becomes a QUBO, which is laid out on the working graph of
an Advantage and sampled by a mock that takes the same calls as the machine (a simulated annealer
answers). Chains are read back, and the classifier is compared with the best one that qcompile's
annealer finds on the polynomial itself.
"""

import qcompile

FEATURES, BITS, READS, SEED = 10, 2, 100, 1


def main() -> None:
    """Compile, embed, sample the mock, decode."""
    rows, held = qcompile.split(qcompile.read("breast-cancer"), (0.7, 0.3), seed=SEED)
    train = qcompile.prepare(rows, scale="standard", features=FEATURES)
    test = qcompile.prepare(held, like=train)
    print(f"data      {len(train)} rows to train on, {len(test)} to test, {FEATURES} features")
    compiled = qcompile.compile(train, order=3, bits=BITS)
    pubo, qubo = compiled.pubo, compiled.quadratize()
    print(
        f"QUBO      {qubo.variables} qubits for {pubo.variables} bits, "
        f"{len(qubo.ancillas)} of them ancillas"
    )
    embedded = qcompile.embed(qubo, qcompile.load_machine("advantage"), tries=1, time_limit=20)
    embedding = embedded.embedding
    print(
        f"machine   {embedding.qubits} of {embedding.machine.qubits} qubits, "
        f"longest chain {embedding.longest}, method {embedding.method}"
    )
    mock = qcompile.solve(embedded, solver="mock", reads=READS, seed=SEED, repair="energy")
    reference = qcompile.solve(pubo, solver="anneal", reads=READS, seed=SEED)
    print(f"chains    {mock.chain_break_fraction:.1%} broken, repaired by energy")
    for name, found in (("mock", mock), ("anneal", reference)):
        weights = qcompile.decode(pubo, found).weights
        print(
            f"{name:<9} E = {found.energies[0]:.4f}, error {train.error(weights):.1%} training, "
            f"{test.error(weights):.1%} test"
        )


if __name__ == "__main__":
    main()
