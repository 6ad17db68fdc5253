"""The commands `solve`, `decode` and `predict`."""

from __future__ import annotations

import argparse
import logging
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.cli.describe import describe_error, describe_judgement, say_notes
from qcompile.cli.options import (
    add_machine_options,
    add_solver_options,
    chain_strength,
    dask_cluster,
    machine_of,
    names_machine,
)
from qcompile.cli.output import Worded, show
from qcompile.cli.parsing import UsageError, add_command
from qcompile.data.replay import prepared, raw_rows, recorded_rows
from qcompile.embedding.chain_strength import strength_of
from qcompile.embedding.programming import make_program
from qcompile.embedding.unembed import REPAIRS
from qcompile.errors import InputError
from qcompile.files import atomic, embedding
from qcompile.files.classifier import load_classifier, save_classifier
from qcompile.files.interchange import load_problem
from qcompile.files.samples import load_samples, save_samples
from qcompile.objective.decode import decode
from qcompile.objective.judgement import judge
from qcompile.runtime.progress import bar
from qcompile.runtime.timing import passing
from qcompile.solvers.options import RESTARTED
from qcompile.solvers.solve import solve
from qcompile.stages.arrays import Floats
from qcompile.stages.classifier import Classifier
from qcompile.stages.dataset import answers
from qcompile.stages.embedded import Embedded, check_embedding, to_embedded
from qcompile.stages.labels import label_text
from qcompile.stages.program import Program
from qcompile.stages.qubo import Qubo

__all__ = ["add_commands"]


_log = logging.getLogger("qcompile")


def add_commands(commands: Any) -> None:
    """Add `solve`, `decode` and `predict`."""
    _add_solve_command(commands)
    _add_decode_command(commands)
    _add_predict_command(commands)


def _add_solve_command(commands: Any) -> None:
    command = add_command(commands, "solve")
    command.add_argument("problem", metavar="FILE", help="a qubo or pubo file (.json, .npz)")
    command.add_argument(
        "-o", "--output", metavar="FILE", help="write the samples as dimod's SampleSet JSON"
    )
    command.add_argument(
        "--embedding",
        metavar="FILE",
        help="solve the problem on these chains, of all copies in the file (for samplers of QUBOs)",
    )
    command.add_argument(
        "--chain-strength",
        default="torque",
        metavar="S",
        help="for --embedding: torque, scaled or a number (torque)",
    )
    command.add_argument(
        "--repair",
        choices=REPAIRS,
        default="majority",
        help="how to repair broken chains (majority)",
    )
    add_solver_options(command, seed=True)
    command.add_argument(
        "--time-limit",
        type=float,
        metavar="SECONDS",
        help="auto, anneal, memetic: end after so many seconds, and keep the lowest states",
    )
    command.add_argument(
        "--target",
        type=float,
        metavar="ENERGY",
        help="auto, anneal, memetic: end when an energy as low as this is found",
    )
    add_machine_options(command, default=None)
    command.set_defaults(run=_run_solve)


def _add_decode_command(commands: Any) -> None:
    command = add_command(commands, "decode")
    command.add_argument(
        "samples", metavar="SAMPLES", help="a file of solve: dimod's SampleSet JSON"
    )
    command.add_argument(
        "--problem", metavar="FILE", required=True, help="the problem that was solved"
    )
    command.add_argument("-o", "--output", metavar="FILE", help="write the classifier as JSON")
    command.add_argument(
        "--validation",
        metavar="DATA",
        help="choose the sample with the smallest error on these data",
    )
    command.set_defaults(run=_run_decode)


def _add_predict_command(commands: Any) -> None:
    command = add_command(commands, "predict")
    command.add_argument("model", metavar="MODEL", help="a file of decode or train")
    command.add_argument("data", metavar="DATA")
    command.add_argument("-o", "--output", metavar="FILE", help="write the labels to a file")
    instead = command.add_mutually_exclusive_group()
    instead.add_argument(
        "--decision", action="store_true", help="print w·x instead of labels: above 0 is positive"
    )
    instead.add_argument(
        "--probabilities",
        action="store_true",
        help="print the probability of the positive label instead of labels",
    )
    command.set_defaults(run=_run_predict)


def _run_solve(options: argparse.Namespace) -> None:
    atomic.check_outputs(
        filter(None, [options.output]), inputs=(options.problem, options.embedding)
    )
    with bar("read"), passing("read"):
        loaded = load_problem(options.problem)
    problem: Any = loaded
    if options.embedding is not None:
        if not isinstance(problem, Qubo):
            raise UsageError(
                "--embedding needs a QUBO, as a polynomial has no chains: qcompile compile DATA "
                "--emit qubo.json"
            )
        if options.solver in ("exact", *RESTARTED):
            raise UsageError(
                f"--embedding with --solver {options.solver}, which does not use chains; leave "
                "out --embedding, or add: --solver neal"
            )
        problem = _on_chains(problem, options)
    machine = machine_of(options) if names_machine(options) else None
    name = f"solve ({options.solver})"
    with dask_cluster(options), bar(name), passing(name):
        found = solve(
            problem,
            solver=options.solver,
            reads=options.reads,
            keep=options.keep,
            seed=options.seed,
            sweeps=options.sweeps,
            machine=machine,
            repair=options.repair,
            time_limit=options.time_limit,
            target=options.target,
        )
    if options.output:
        save_samples(found, options.output, problem=loaded)
    if loaded.loss is not None:
        lowest = loaded.decode(found.best)
        with bar("read"), passing("read training data"):
            rows = recorded_rows(loaded)
        say_notes(judge(loaded, lowest, float(found.energies[0]), rows), options)
    summary = {
        "solver": options.solver,
        **({"space": found.info["space"]} if "space" in found.info else {}),
        **({"copies": found.info["copies"]} if "copies" in found.info else {}),
        "samples": len(found),
        "lowest energy": float(found.energies[0]),
        "times found": int(found.occurrences[0]),
        "wrong ancillas of the lowest": int(found.violations[0]),
        "share of chains broken": found.chain_break_fraction,
        "seconds": float(found.info["seconds"]),
    }
    show(summary, options, written=[options.output] if options.output else [])


def _on_chains(qubo: Qubo, options: argparse.Namespace) -> Embedded | Program:
    """Return a problem on the chains of --embedding, once or as many times as it holds copies."""
    strength = strength_of(qubo, chain_strength(options.chain_strength))
    copies = []
    for chains in embedding.load_embeddings(options.embedding):
        check_embedding(chains, qubo)
        copies.append(to_embedded(qubo, chains, strength))
    return copies[0] if len(copies) == 1 else make_program(copies)


def _run_decode(options: argparse.Namespace) -> None:
    atomic.check_outputs(
        filter(None, [options.output]),
        inputs=(options.samples, options.problem, options.validation),
    )
    with bar("read"), passing("read"):
        problem = load_problem(options.problem)
        samples = load_samples(options.samples, problem)
    validation = None
    if options.validation is not None:
        if problem.preparation is None:
            raise UsageError("the problem has no record of how its data were prepared")
        with bar("read"), passing("read validation data"):
            validation = prepared(options.validation, problem)
    with bar("decode"), passing("decode"):
        found = decode(problem, samples, validation=validation)
    if options.output:
        save_classifier(found, options.output)
    source = found.source
    assert source.rank is not None and source.energy is not None  # `decode` knows them
    with bar("read"), passing("read training data"):
        rows = recorded_rows(problem)
    judged = judge(problem, found.weights, source.energy, rows)
    say_notes(judged, options)
    rank = source.rank + 1  # people count from one
    summary: dict[str, Any] = {
        "samples": len(samples),
        "energy": source.energy,
        "rank": Worded(rank, f"{rank} of {len(samples)}, 1 is the lowest energy"),
        "weights": found.weights.tolist(),
    }
    summary |= describe_judgement(judged)
    if validation is not None:
        assert source.validation_error is not None  # these rows have chosen
        summary |= describe_error("validation error", source.validation_error, len(validation))
    show(summary, options, written=[options.output] if options.output else [])


def _say_what_is_missing(options: argparse.Namespace, model: Classifier, rows: Any) -> None:
    """Warn of columns that the file lacks, and of an answer that is no label of the file."""
    missing = model.missing_columns(rows)
    if len(missing):
        base = 1 if model.source.index_base is None else model.source.index_base
        _log.warning(
            "warning: %s: no row has a value in %d of the %d columns that the model uses (the "
            "first is %d); they count as 0",
            options.data, len(missing), len(model.used_columns), missing[0] + base,
        )  # fmt: skip
    preparation = model.preparation
    if preparation.negative is None and not (options.decision or options.probabilities):
        _log.warning(
            "warning: %s stands for every label but %s: the model was trained with one label "
            "against the rest",
            label_text(preparation.negative_or_rest), label_text(preparation.positive),
        )  # fmt: skip


def _predicted(
    model: Classifier, decisions: Floats, options: argparse.Namespace
) -> tuple[str, NDArray[Any]]:
    """Return what is printed for each row, and its name."""
    if options.decision:
        return "decisions", decisions
    if options.probabilities and model.calibration is not None:
        return "probabilities", model.calibration.probabilities(decisions)
    return "labels", model.preparation.labels(answers(decisions))


def _run_predict(options: argparse.Namespace) -> None:
    atomic.check_outputs(filter(None, [options.output]), inputs=(options.model, options.data))
    model = load_classifier(options.model)
    if options.probabilities and model.calibration is None:
        raise InputError(
            f"{options.model}: this model has no calibration, which --probabilities needs: train "
            "it in rounds, or with --validation"
        )
    with bar("read"):
        with passing("read"):
            rows, labels = raw_rows(
                options.data,
                model.preparation.raw_features,
                model.source.index_base,
                labelled=False,
                table=model.preparation.table,
            )
        with passing("predict"):
            decisions = model.decision_function(rows)
    _say_what_is_missing(options, model, rows)
    kind, values = _predicted(model, decisions, options)
    text = "".join(f"{label_text(value)}\n" for value in values.tolist())
    if options.output:
        with atomic.write_atomically(options.output) as stream:
            stream.write(text.encode())
    summary: dict[str, Any] = {"rows": len(values)}
    if not (
        (labels.dtype.kind == "f" and np.isnan(labels).any())
        or model.preparation.unknown_labels(labels)
    ):
        error = model.error_of(decisions, labels)
        summary |= describe_error("error, if the labels of the file are true", error, len(values))
    if options.json and not options.output:
        summary[kind] = values.tolist()
    if options.json or options.output:
        show(summary, options, written=[options.output] if options.output else [])
    else:
        print(text, end="")
