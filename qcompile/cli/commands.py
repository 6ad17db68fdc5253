"""What the commands are: a line about each, and examples that work.

It is apart from the modules of the commands, so that `qcompile --help` imports none of them.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["COMMANDS", "About"]


@dataclass(frozen=True)
class About:
    """A command: its module in `cli`, a line about it, and command lines that work.

    `qcompile --help` shows the first example. `takes_data` adds what DATA may be to its help.
    """

    module: str
    summary: str
    examples: tuple[str, ...]
    takes_data: bool = True


# In the order of the help.
COMMANDS = {
    "data": About(
        "data",
        "show a data set, or write it as a table or svmlight text",
        (
            "qcompile data synthetic:features=3 --noise 0.1 --split 0.7 0.3 -o data.svm -o new.svm",
            "qcompile data breast-cancer -o table.csv",
            "qcompile data --list",
        ),
    ),
    "loss": About(
        "data",
        "fit a polynomial loss to a data set",
        (
            "qcompile loss data.svm --order 3 --plot loss.png",
            "qcompile loss data.svm --scale standard --order 6 --omega 0.1 -o loss.json",
        ),
    ),
    "compile": About(
        "compile",
        "compile a data set into a polynomial of weight bits and a QUBO",
        (
            "qcompile compile data.svm --order 3 --bits 4 --emit qubo.json --emit pubo.json",
            "qcompile compile data.svm --features 4 --bits 2 --emit qubo.json --emit moments.npz",
            "qcompile compile breast-cancer --features 4 --bits 1 --emit qubo=problem.lp -v",
            "qcompile compile data.svm --around model.json --radius 0.1 --emit qubo.json",
        ),
    ),
    "quadratize": About(
        "quadratize",
        "reduce a polynomial of any degree to a QUBO",
        (
            "qcompile quadratize pubo.json -o qubo.json",
            "qcompile quadratize pubo.json --compress -o small-range-qubo.json",
            "qcompile quadratize pubo.json --cover greedy --max-ancillas 3 -o small-qubo.json",
        ),
        takes_data=False,
    ),
    "verify": About(
        "verify",
        "prove that a QUBO file holds the problem that it claims to hold",
        (
            "qcompile verify qubo.json --data data.svm",
            "qcompile verify qubo.json --pubo pubo.json",
            "qcompile verify qubo.json --embedding embedding.json",
        ),
        takes_data=False,
    ),
    "estimate": About(
        "estimate",
        "estimate the size of a problem from numbers, or count it from data",
        (
            "qcompile estimate --order 3 --features 100 --bits 4",
            "qcompile estimate --machine advantage --features 12 --bits 2",
            "qcompile estimate --machine advantage --rounds --features 123",
            "qcompile estimate --table paper --format csv",
        ),
    ),
    "machines": About(
        "machines",
        "list the known annealers, or show one",
        (
            "qcompile machines advantage",
            "qcompile machines --format markdown",
        ),
        takes_data=False,
    ),
    "embed": About(
        "embed",
        "embed a QUBO on the qubits of a machine",
        (
            "qcompile embed qubo.json --machine advantage -o embedding.json",
            "qcompile embed qubo.json --machine pegasus4 --chain-strength sweep --reads 20",
            "qcompile embed qubo.json --machine advantage2 --copies auto -o copies.json",
            "qcompile embed qubo.json --machine chimera4 --preflight",
        ),
        takes_data=False,
    ),
    "solve": About(
        "solve",
        "search for the lowest states of a QUBO, a PUBO or an embedded problem",
        (
            "qcompile solve qubo.json --solver anneal -n 100 -o samples.json",
            "qcompile solve pubo.json --solver exact --keep 10",
            "qcompile solve qubo.json --embedding embedding.json --solver neal",
        ),
        takes_data=False,
    ),
    "decode": About(
        "solve",
        "turn samples into a classifier",
        (
            "qcompile decode samples.json --problem qubo.json -o model.json",
            "qcompile decode samples.json --problem qubo.json --validation data.svm",
        ),
        takes_data=False,
    ),
    "predict": About(
        "solve",
        "apply a classifier to data and print one label per line",
        (
            "qcompile predict model.json new.svm",
            "qcompile predict model.json new.svm --decision -o decisions.txt",
            "qcompile predict rounds.json new.svm --probabilities",
        ),
    ),
    "train": About(
        "train",
        "train a classifier: in rounds, or by one polynomial as in the paper",
        (
            "qcompile train data.svm --test 0.2 -o model.json",
            "qcompile train data.svm --l2 cv --validation 0.2 --test 0.2",
            "qcompile train data.svm --order 3 --bits 4 --features 5 -o model.json",
            "qcompile train data.svm --on leap --budget 2s --dry-run",
        ),
    ),
    "explain": About(
        "explain",
        "show the weights of a classifier by name, and rows that are likely mislabelled",
        (
            "qcompile explain model.json",
            "qcompile explain model.json --data data.svm --suspects suspects.csv",
        ),
        takes_data=False,
    ),
    "export": About(
        "export",
        "write a classifier for scikit-learn, ONNX or as plain JSON with names",
        (
            "qcompile export model.json -o model.joblib",
            "qcompile export rounds.json --to json -o weights.json",
        ),
        takes_data=False,
    ),
    "rehearse": About(
        "rehearse",
        "sample a QUBO, or train, on a simulated machine with its published errors",
        (
            "qcompile rehearse qubo.json --machine advantage2 --draws 2 -n 20",
            "qcompile rehearse qubo.json --machine zephyr3 --engine path-integral --draws 2 -n 20",
            "qcompile rehearse data.svm --machine zephyr3 --draws 1 -n 20 --rounds 10",
        ),
        takes_data=False,
    ),
    "submit": About(
        "leap",
        "send a problem to Leap so that it cannot be lost, wait, and decode the answer",
        (
            "qcompile submit qubo.json --reads 500 --label heart -o model.json",
            "qcompile submit qubo.json --reads 500 --dry-run",
            "qcompile submit qubo.json --dry-run --machine advantage2",
            "qcompile submit qubo.json --copies auto --gauges 5 --chain-strength sweep",
            "qcompile submit qubo.json --refine samples.json --reinitialize no",
            "qcompile submit qubo.json --solver-type hybrid --yes --no-wait",
        ),
        takes_data=False,
    ),
    "resume": About(
        "leap",
        "continue a job after a crash, Ctrl-C or a power cut; nothing is sent twice",
        (
            "qcompile resume 20260131-101500-1a2b3c4d -o model.json",
            "qcompile resume 20260131-101500-1a2b3c4d --no-wait",
        ),
        takes_data=False,
    ),
    "jobs": About(
        "leap",
        "list the jobs, or show one",
        (
            "qcompile jobs",
            "qcompile jobs 20260131-101500-1a2b3c4d --json",
        ),
        takes_data=False,
    ),
    "cancel": About(
        "leap",
        "cancel the parts of a job that have not run yet",
        (
            "qcompile cancel 20260131-101500-1a2b3c4d",
            "qcompile cancel 20260131-101500-1a2b3c4d --grace 0 --json",
        ),
        takes_data=False,
    ),
    "report": About(
        "report",
        "show a run as one HTML page: pipeline, qubits, chip, energies, accuracy",
        (
            "qcompile report qubo.json embedding.json samples.json model.json -o report.html",
            "qcompile report model.json --data data.svm -o report.html",
        ),
    ),
    "completion": About(
        "completion",
        "print a completion script for a shell",
        (
            "qcompile completion bash > ~/.local/share/bash-completion/completions/qcompile",
            "qcompile completion zsh > ~/.zfunc/_qcompile",
            "qcompile completion fish > ~/.config/fish/completions/qcompile.fish",
        ),
        takes_data=False,
    ),
}
