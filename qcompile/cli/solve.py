"""Commands from a problem to a classifier: solve, decode, predict, train."""

from __future__ import annotations

import argparse
import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from qcompile.cli import machines as cli_machine
from qcompile.cli import report as cli_report
from qcompile.cli.common import Worded, add_command, add_dask_option, client_of, grouped, show
from qcompile.cli.quadratize import load_problem
from qcompile.errors import InputError
from qcompile.files import embedding as embedding_files
from qcompile.files import storage as files
from qcompile.runtime.progress import bar
from qcompile.runtime.timing import passing
from qcompile.stages.artifacts import Dataset, Preparation, Pubo, Qubo, frozen

if TYPE_CHECKING:
    from qcompile.stages.classifier import Classifier
    from qcompile.training.train import Parts, Trained

__all__ = ["REPAIRS", "add_commands", "load_problem", "prepared"]

_SOLVERS = ("exact", "anneal", "neal", "tabu", "steepest", "mock")
REPAIRS = ("majority", "energy", "discard")

_log = logging.getLogger("qcompile")


def add_commands(commands: Any, add_data_options: Any, add_loss_options: Any) -> None:
    """Declare `solve`, `decode`, `predict` and `train`."""
    _add_solve_command(commands)
    _add_decode_command(commands)
    _add_predict_command(commands)
    _add_train_command(commands, add_data_options, add_loss_options)


def _add_solver_options(command: argparse.ArgumentParser, *, seed: bool) -> None:
    group = command.add_argument_group("solver")
    group.add_argument("--solver", choices=_SOLVERS, default="anneal", help="who searches (anneal)")
    group.add_argument(
        "-n", "--num-reads", type=int, default=100, metavar="N", help="reads or restarts (100)"
    )
    group.add_argument(
        "--keep", type=int, default=50, metavar="K", help="lowest distinct states to keep (50)"
    )
    group.add_argument("--sweeps", type=int, metavar="N", help="sweeps of a read (auto)")
    add_dask_option(
        command, "make restarts, and try settings of --cv," if not seed else "make restarts"
    )
    if seed:
        group.add_argument("--seed", type=int, default=0, help="for whatever is random (0)")


def _add_solve_command(commands: Any) -> None:
    command = add_command(
        commands,
        "solve",
        summary="look for the lowest states of a QUBO, a PUBO or an embedded problem",
        example="""
            qcompile solve qubo.json --solver anneal -n 100 -o samples.json
            qcompile solve pubo.json --solver exact --keep 10
            qcompile solve qubo.json --embedding embedding.json --solver neal
        """,
        takes_data=False,
    )
    command.add_argument("problem", metavar="FILE", help="a qubo or any pubo file (.json, .npz)")
    command.add_argument("-o", "--output", metavar="FILE", help="write a SampleSet (dimod's JSON)")
    command.add_argument("--embedding", metavar="FILE", help="solve on these chains (neal, mock)")
    command.add_argument(
        "--chain-strength",
        default="torque",
        metavar="S",
        help="for --embedding: torque, scaled or a number (torque)",
    )
    command.add_argument(
        "--repair", choices=REPAIRS, default="majority", help="of broken chains (majority)"
    )
    _add_solver_options(command, seed=True)
    cli_machine.add_machine_options(command, default=None)
    command.set_defaults(run=_run_solve)


def _add_decode_command(commands: Any) -> None:
    command = add_command(
        commands,
        "decode",
        summary="turn samples into a classifier",
        example="""
            qcompile decode samples.json --problem qubo.json -o model.json
            qcompile decode samples.json --problem qubo.json --validation data.svm
        """,
        takes_data=False,
    )
    command.add_argument("samples", metavar="SAMPLES", help="a SampleSet in dimod's JSON")
    command.add_argument("--problem", metavar="FILE", required=True, help="what was solved")
    command.add_argument("-o", "--output", metavar="FILE", help="write the classifier as JSON")
    command.add_argument(
        "--validation", metavar="DATA", help="choose the sample with the least error on these"
    )
    command.set_defaults(run=_run_decode)


def _add_predict_command(commands: Any) -> None:
    command = add_command(
        commands,
        "predict",
        summary="apply a classifier to data: one label a line",
        example="""
            qcompile predict model.json new.svm
            qcompile predict model.json new.svm --decision -o decisions.txt
        """,
    )
    command.add_argument("model", metavar="MODEL", help="a file of decode or train")
    command.add_argument("data", metavar="DATA")
    command.add_argument("-o", "--output", metavar="FILE", help="write the labels there")
    command.add_argument(
        "--decision", action="store_true", help="give w·x, not labels: above 0 is positive"
    )
    command.set_defaults(run=_run_predict)


def _add_train_command(commands: Any, add_data_options: Any, add_loss_options: Any) -> None:
    command = add_command(
        commands,
        "train",
        summary="go the whole way from data to a classifier",
        example="""
            qcompile train data.svm --order 3 --bits 4 --solver anneal -o model.json
            qcompile train data.svm --scale standard --features 5 --validation 0.2 --test 0.2
            qcompile train data.svm --scale standard --features 3 --cv 3 --grid bits=1,2
        """,
    )
    command.add_argument("data", metavar="DATA")
    command.add_argument("-o", "--output", metavar="FILE", help="write the classifier as JSON")
    cli_report.add_report_option(command)
    command.add_argument("--bits", type=int, default=4, metavar="D", help="bits of a weight (4)")
    command.add_argument("--l0", type=float, default=0.0, help="charge for each weight not 0")
    parts = command.add_argument_group("parts")
    parts.add_argument("--validation", type=float, default=0.0, metavar="SHARE", help="set aside")
    parts.add_argument("--test", type=float, default=0.0, metavar="SHARE", help="set aside")
    parts.add_argument(
        "--cv",
        type=int,
        metavar="K",
        help="choose among --grid settings by the error on K folds, then train on all rows",
    )
    parts.add_argument(
        "--grid",
        action="append",
        default=[],
        metavar="NAME=A,B,...",
        help="values for order, bits, omega, l2 or range; may be repeated (with --cv)",
    )
    _add_solver_options(command, seed=False)
    add_data_options(command)
    add_loss_options(command)
    command.set_defaults(run=_run_train)


def _run_solve(options: argparse.Namespace) -> None:
    from qcompile.embedding.chain_strength import strength_of
    from qcompile.solvers.solve import solve
    from qcompile.stages.embedded import check_embedding, to_embedded
    from qcompile.stages.samples import save_samples

    files.check_outputs(filter(None, [options.output]), inputs=(options.problem, options.embedding))
    with bar("read"), passing("read"):
        loaded = load_problem(options.problem)
    problem: Any = loaded
    if options.embedding is not None:
        if not isinstance(problem, Qubo):
            raise InputError(
                "--embedding needs a QUBO, a polynomial has no chains: qcompile compile DATA "
                "--emit qubo.json"
            )
        if options.solver in ("anneal", "exact"):
            raise InputError(
                f"--embedding with --solver {options.solver}, which works without chains; leave "
                "out --embedding, or add: --solver neal"
            )
        chains = embedding_files.load_embedding(options.embedding)
        check_embedding(chains, problem)
        strength = strength_of(problem, cli_machine.chain_strength(options.chain_strength))
        problem = to_embedded(problem, chains, strength)
    machine = cli_machine.machine_of(options) if cli_machine.names_machine(options) else None
    name = f"solve ({options.solver})"
    with client_of(options) as client, bar(name) as progress, passing(name):
        found = solve(
            problem,
            solver=options.solver,
            reads=options.num_reads,
            keep=options.keep,
            seed=options.seed,
            sweeps=options.sweeps,
            machine=machine,
            repair=options.repair,
            progress=progress,
            client=client,
        )
    if options.output:
        save_samples(found, options.output, problem=loaded)
    summary = {
        "solver": options.solver,
        **({"space": found.info["space"]} if "space" in found.info else {}),
        "samples": len(found),
        "lowest energy": float(found.energies[0]),
        "times found": int(found.occurrences[0]),
        "wrong ancillas of the lowest": int(found.violations[0]),
        "share of chains broken": found.chain_break_fraction,
        "seconds": float(found.info["seconds"]),
    }
    show(summary, options, written=[options.output] if options.output else [])


def _run_decode(options: argparse.Namespace) -> None:
    from qcompile.stages.classifier import decode, save_classifier
    from qcompile.stages.samples import load_samples

    files.check_outputs(
        filter(None, [options.output]),
        inputs=(options.samples, options.problem, options.validation),
    )
    with bar("read"), passing("read"):
        problem = load_problem(options.problem)
        samples = load_samples(options.samples, problem)
    validation = None
    if options.validation is not None:
        if problem.preparation is None:
            raise InputError("this problem does not say how its data were prepared")
        with bar("read"), passing("read validation data"):
            validation = prepared(options.validation, problem)
    with bar("decode"), passing("decode"):
        found = decode(problem, samples, validation=validation)
    if options.output:
        save_classifier(found, options.output)
    rank = found.source["rank"] + 1  # people count from one
    summary = {
        "samples": len(samples),
        "energy": found.source["energy"],
        "rank": Worded(rank, f"{rank} of {len(samples)}, 1 is the lowest energy"),
        "weights": found.weights.tolist(),
    }
    if validation is not None:
        summary["validation error"] = found.source["validation_error"]
    show(summary, options, written=[options.output] if options.output else [])


def prepared(source: str, problem: Pubo | Qubo | Classifier) -> Dataset:
    """Read data with known labels, prepared as in training."""
    preparation = problem.preparation
    assert preparation is not None
    rows, labels = _raw(source, preparation.raw_features, problem.source.get("index_base"))
    _check_labels(source, labels, preparation)
    return Dataset(preparation.apply(rows), frozen(preparation.signs(labels)), preparation)


def _raw(source: str, features: int, base: Any) -> tuple[Any, Any]:
    """Read rows as wide as those of training and counted from the same index."""
    from qcompile.data.named_sets import is_named
    from qcompile.data.rows import read_rows

    if is_named(source):
        rows, labels, _ = read_rows(source)
    else:
        first = base if base in (0, 1) else None
        rows, labels, _ = read_rows(source, num_features=features, index_base=first)
    return rows, labels


def _check_labels(source: str, labels: Any, preparation: Preparation) -> None:
    strange = sorted(set(labels.tolist()) - {preparation.positive, preparation.negative})
    if preparation.negative is not None and strange:
        raise InputError(
            f"{source}: label {strange[0]:g} was never seen in training; expected "
            f"{preparation.positive:g} or {preparation.negative:g}"
        )


def _run_predict(options: argparse.Namespace) -> None:
    from qcompile.data.svmlight import shortest
    from qcompile.stages.classifier import load_classifier

    files.check_outputs(filter(None, [options.output]), inputs=(options.model, options.data))
    model = load_classifier(options.model)
    base = model.source.get("index_base")
    with bar("read"):
        with passing("read"):
            rows, labels = _raw(options.data, model.preparation.raw_features, base)
        with passing("predict"):
            decisions = model.decision_function(rows)
    signs = np.where(decisions > 0, 1.0, -1.0)
    values = decisions if options.decision else model.preparation.labels(signs)
    text = "".join(f"{shortest(float(value))}\n" for value in values.tolist())
    if options.output:
        with files.write_atomically(options.output) as stream:
            stream.write(text.encode())
    summary: dict[str, Any] = {"rows": len(values)}
    known = {model.preparation.positive, model.preparation.negative}
    if model.preparation.negative is None or set(labels.tolist()) <= known:
        truth = model.preparation.signs(labels)
        summary["error, if the labels of the file are true"] = float(np.mean(signs != truth))
    if options.json and not options.output:
        summary["decisions" if options.decision else "labels"] = values.tolist()
    if options.json or options.output:
        show(summary, options, written=[options.output] if options.output else [])
    else:
        print(text, end="")


def _run_train(options: argparse.Namespace) -> None:
    from qcompile.pipeline import LossOptions
    from qcompile.report.run import trained_run
    from qcompile.stages.classifier import save_classifier
    from qcompile.training.train import SolveOptions, cross_validate, prepare_alike, train

    written = [*filter(None, [options.output]), *cli_report.page_of(options)]
    files.check_outputs(written, inputs=(options.data,))
    if options.grid and options.cv is None:
        raise InputError("--grid needs --cv K: settings are compared by cross-validation")
    solver = SolveOptions(
        options.solver, options.num_reads, options.keep, options.sweeps, options.seed
    )
    loss, bits = grouped(LossOptions, options), options.bits
    with bar("reading") as progress:
        raw, how = _raw_parts(options, progress)
    data, validation, test = prepare_alike(raw, how)
    table: list[dict[str, Any]] = []
    with client_of(options) as client:
        if options.cv is not None:
            grid = _grid(options.grid) or {"bits": [bits]}
            with bar("cross-validate") as progress, passing("cross-validate"):
                table = cross_validate(
                    raw[0], grid, count=options.cv, bits=bits, l0=options.l0, loss=loss,
                    options=solver, seed=options.seed, progress=progress, client=client,
                    preparation=how,
                )  # fmt: skip
            bits, loss = _chosen(table[0], bits, loss)
        with bar(options.solver) as progress:
            found = train(
                data,
                bits=bits,
                l0=options.l0,
                loss=loss,
                options=solver,
                validation=validation or 0.0,
                test=test or 0.0,
                seed=options.seed,
                progress=progress,
                client=client,
            )
    if options.output:
        save_classifier(found.classifier, options.output)
    if options.report:
        parts = {"train": data, "validation": validation, "test": test}
        cli_report.write_report(trained_run(found, parts), options.report)
    for note in found.notes:
        _log.warning("warning: %s", note)
    if options.json:
        summary = {
            "stages": list(found.stages),
            "where accuracy is lost": list(found.risks),
            "errors": dict(found.errors),
            "baseline error": found.baseline,
            "cross-validation": table,
        }
        show(summary, options, written=written)
    else:
        show(_in_words(found, table), options, written=written)


def _in_words(found: Trained, table: list[dict[str, Any]]) -> dict[str, Any]:
    """Give the stages, the risks and the errors of a training for people."""
    shown: dict[str, Any] = {}
    for row in table:
        setting = ", ".join(f"{k} {v}" for k, v in row.items() if "error" not in k)
        shown[f"cv: {setting}"] = (
            f"validation error {row['validation error']:.4f} ± {row['standard error']:.4f}"
        )
    for stage in found.stages:
        shown[f"stage {stage['stage']}"] = f"{stage['seconds']:.3f} s, {stage['size']}"
    for risk in found.risks:
        shown[str(risk["classifier"])] = (
            f"objective {risk['objective']:.6f}, 0-1 risk {risk['0-1 risk']:.4f}"
        )
    for part, error in found.errors.items():
        shown[f"{part} error"] = f"{error:.4f}"
    shown["baseline error"] = f"{found.baseline:.4f}, of always giving the commoner label"
    return shown


def _raw_parts(options: argparse.Namespace, progress: Any) -> tuple[Parts, dict[str, Any]]:
    """Read the data and set parts aside before anything is learnt from them.

    Gives the parts as they were read, and how to prepare them.
    """
    from dataclasses import replace

    from qcompile.pipeline import DataOptions, load_data
    from qcompile.training.train import set_aside

    wanted = grouped(DataOptions, options)
    plain = replace(wanted, scale="none", features=None, bias=False)
    how = {"scale": wanted.scale, "features": wanted.features, "bias": wanted.bias}
    raw = load_data(options.data, plain, progress=progress)
    return set_aside(raw, options.validation, options.test, seed=options.seed), how


def _grid(entries: list[str]) -> dict[str, list[Any]]:
    """Read NAME=A,B,... of each --grid."""
    grid: dict[str, list[Any]] = {}
    kinds: dict[str, Any] = {"order": int, "bits": int, "omega": float, "l2": float, "range": str}
    for entry in entries:
        name, found, values = entry.partition("=")
        if not found or name not in kinds:
            raise InputError(f"--grid {entry}: expected {', '.join(kinds)}, = and values")
        try:
            numbers = [kinds[name](value) for value in values.split(",")]
        except ValueError:
            raise InputError(f"--grid {entry}: expected numbers separated by commas") from None
        grid["range_" if name == "range" else name] = numbers
    return grid


def _chosen(row: dict[str, Any], bits: int, loss: Any) -> tuple[int, Any]:
    """Take the best setting of a cross-validation."""
    from dataclasses import replace

    own = {("range_" if k == "range" else k): v for k, v in row.items() if "error" not in k}
    bits = own.pop("bits", bits)
    return bits, replace(loss, **own)
