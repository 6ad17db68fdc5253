"""Train on a data file of your own, such as heart_scale: python examples/own_data.py FILE

FILE is svmlight (LIBSVM) text, plain or .gz, .bz2, .xz, with two classes. A quarter of the rows is
set aside. Some of the training labels are then flipped: a robust loss should not mind. Logistic
regression of scikit-learn on the same features stands beside.
"""

import sys

from sklearn.linear_model import LogisticRegression

import qcompile

FEATURES, BITS, NOISE, READS, SEED = 8, 3, 0.2, 50, 1


def main(path: str) -> None:
    """Train with clean and with noisy labels, and test on clean ones."""
    raw = qcompile.read(path)
    count = min(FEATURES, raw.features)
    rows, held = qcompile.split(raw, (0.75, 0.25), seed=SEED)
    train = qcompile.prepare(rows, scale="standard", features=count, bias=True)
    test = qcompile.prepare(held, like=train)
    print(f"{len(train)} rows to train on, {len(test)} to test, {count} features and a bias")
    print(f"always the larger class: error {test.baseline_error:.1%}")
    for noise in (0.0, NOISE):
        noisy = qcompile.add_noise(train, noise, seed=SEED)
        compiled = qcompile.compile(noisy, order=3, bits=BITS)
        found = qcompile.solve(compiled.pubo, solver="anneal", reads=READS, seed=SEED)
        weights = qcompile.decode(compiled.pubo, found).weights
        logistic = LogisticRegression(fit_intercept=False).fit(noisy.x, noisy.y)
        print(
            f"label noise {noise:.0%}: test error {test.error(weights):.1%} for a cubic loss "
            f"({compiled.quadratize().variables} qubits), "
            f"{test.error(logistic.coef_[0]):.1%} logistic"
        )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python examples/own_data.py FILE (svmlight text with two classes)")
    try:
        main(sys.argv[1])
    except qcompile.QcompileError as error:
        sys.exit(f"own_data: {error}")
