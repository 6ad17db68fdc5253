"""Train a classifier on data that ship with scikit-learn: in rounds, then as in the paper.

Training in rounds is what `train` does by default. It is shown with all 30 features, on clean and
on flipped labels, beside L-BFGS on the same objective and on the chains of a simulated machine.

The paper's method compiles one cubic. It is small enough here to look at every assignment of its
bits, so that the classifier shown is its exact optimum. The QUBO that a quantum annealer would be
given is proved to be the same problem and laid out on the qubits of a machine.
"""

import shlex
import shutil
import sys
from pathlib import Path

import qcompile

FEATURES, BITS, NOISE, READS = 5, 3, 0.3, 100


def main() -> None:
    """Train both ways, on clean and on noisy labels."""
    rows, held = qcompile.split(qcompile.read("breast-cancer"), (0.7, 0.3), seed=1)
    print(f"breast cancer: {len(rows)} rows to train on, {len(held)} to test")
    for noise in (0.0, NOISE):
        print(f"\nlabel noise {noise:.0%}")
        noisy = qcompile.add_noise(rows, noise, seed=1)
        show_rounds(noisy, held)
        show_cubic(noisy, held)
    print(f"\nNext: {command()} train breast-cancer --test 0.3 -o model.json")


def command() -> str:
    """Return how to call qcompile from here: its environment may not be active."""
    own = Path(sys.executable).parent / "qcompile"
    if not own.is_file():
        return shlex.join([sys.executable, "-m", "qcompile"])
    if shutil.which("qcompile") == str(own):
        return "qcompile"
    here = Path.cwd()
    return shlex.quote(str(own.relative_to(here) if own.is_relative_to(here) else own))


def show_rounds(rows: qcompile.Dataset, held: qcompile.Dataset) -> None:
    """Train in rounds on raw rows and print how it went."""
    found = qcompile.train(rows, seed=1)
    weights = len(found.classifier.weights)
    print(f"  rounds    {weights} weights, one bit each, no ancillas, {len(found.rounds)} rounds")
    for risk in found.risks:
        print(f"  objective {risk.objective:.4f}, {risk.classifier}")
    machine = qcompile.MockMachine("pegasus4", errors=0.02, beta=3.0, seed=1)
    there = qcompile.train(rows, seed=1, options=qcompile.SolveOptions(machine, reads=50))
    print(f"  objective {there.objective:.4f}, on the chains of a machine with control errors")
    print_errors(found.classifier, rows, held)


def show_cubic(rows: qcompile.Dataset, held: qcompile.Dataset) -> None:
    """Train as in the paper and print what came out of each stage."""
    train = qcompile.prepare(rows, scale="robust", features=FEATURES, bias=True)
    compiled = qcompile.compile(train, order=3, bits=BITS)
    loss, pubo, qubo = compiled.loss, compiled.pubo, compiled.quadratize()
    print(
        "  loss      L(γ) =", " ".join(f"{a:+.4g} γ^{p}" for p, a in enumerate(loss.coefficients))
    )
    print(f"  PUBO      {pubo.variables} bits, terms by degree {pubo.terms}")
    exact = qcompile.solve(pubo, solver="exact", keep=50)
    model, energy = qcompile.decode(pubo, exact), float(exact.energies[0])
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
    print_errors(model, rows, held)
    for warning in qcompile.warnings_for(loss, train, model.weights, energy):
        print(f"  warning   {warning}")


def print_errors(
    model: qcompile.Classifier, rows: qcompile.Dataset, held: qcompile.Dataset
) -> None:
    """Print the shares of wrong rows; the classifier takes raw rows."""
    shares = []
    for part in (rows, held):
        wrong = (model.decision_function(part.x) > 0) != (part.y > 0)
        shares.append(f"{wrong.mean():.1%}")
    print(f"  error     {shares[0]} training, {shares[1]} test")


if __name__ == "__main__":
    main()
