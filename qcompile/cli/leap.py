"""The commands `submit`, `resume`, `jobs` and `cancel`."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from typing import Any

from qcompile.cli.anneal_options import add_anneal_options, anneal_arguments
from qcompile.cli.connection import (
    add_connection_options,
    add_grace_option,
    add_timeout_option,
    agreed,
    patience_of,
)
from qcompile.cli.describe import describe_judgement, say_notes
from qcompile.cli.options import add_reads_option, add_report_option, chain_strength, page_of
from qcompile.cli.output import FORMATS, show, show_rows
from qcompile.cli.parsing import UsageError, add_command
from qcompile.cli.trained import write_trained
from qcompile.cli.wording import in_options
from qcompile.data.replay import recorded_rows
from qcompile.embedding.unembed import REPAIRS
from qcompile.files import atomic
from qcompile.files import embedding as embedding_files
from qcompile.files.classifier import save_classifier
from qcompile.files.interchange import load_problem
from qcompile.files.samples import save_samples
from qcompile.jobs import all_jobs, cancel, load_job, resume
from qcompile.leap.client import SOLVER_TYPES
from qcompile.leap.cost import Cost
from qcompile.leap.job import Job, jobs_folder
from qcompile.leap.job_store import Damaged
from qcompile.leap.records import CANCELLED, DONE, FAILED
from qcompile.leap.submission import Submission, status_text, submit
from qcompile.objective.judgement import Judgement, judge
from qcompile.report import page
from qcompile.report.gather import job_run
from qcompile.runtime.progress import bar
from qcompile.runtime.text import printable
from qcompile.runtime.timing import passing
from qcompile.stages.samples import Samples
from qcompile.training.leap_job import TrainingJob
from qcompile.training.on_leap import status_of
from qcompile.training.trained import Trained

__all__ = ["add_commands"]


_OF_TRAININGS = ("rounds", "objective", "seconds billed")


def add_commands(commands: Any) -> None:
    """Declare `submit`, `resume`, `jobs` and `cancel`."""
    _add_submit_command(commands)
    _add_resume_command(commands)
    _add_jobs_command(commands)
    _add_cancel_command(commands)


def _add_submit_command(commands: Any) -> None:
    command = add_command(commands, "submit")
    command.add_argument("problem", metavar="FILE", help="a qubo or pubo file (.json, .npz)")
    add_connection_options(command)
    solver = command.add_argument_group("solver and its parameters")
    solver.add_argument(
        "-s", "--solver", metavar="NAME", help="name of the solver (default: Ocean's choice)"
    )
    solver.add_argument(
        "--solver-type",
        choices=SOLVER_TYPES,
        default="qpu",
        help="qpu; hybrid: the QUBO without chains; nl: the weights without ancillas (qpu)",
    )
    add_reads_option(solver, default=1000, help="samples from a QPU (1000)")
    solver.add_argument(
        "-l", "--label", default="qcompile", help="name of the job in Leap (qcompile)"
    )
    solver.add_argument(
        "--time-limit",
        type=float,
        metavar="S",
        help="seconds of a hybrid solver (default: its minimum)",
    )
    solver.add_argument("--annealing-time", type=float, metavar="US", help="microseconds per read")
    solver.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="another parameter of the solver, its value in JSON; may be repeated",
    )
    chains = command.add_argument_group("chains")
    chains.add_argument(
        "--embedding",
        metavar="FILE",
        help="use these chains, of all copies in the file, if the working graph has them",
    )
    chains.add_argument(
        "--chain-strength",
        default="torque",
        metavar="S",
        help="torque, scaled, a number, or sweep: try several with a few reads, then use the best",
    )
    chains.add_argument(
        "--repair", choices=REPAIRS, default="majority", help="repair of broken chains (majority)"
    )
    chains.add_argument(
        "--seed", type=int, default=0, help="seed of the search for chains and of gauges (0)"
    )
    add_anneal_options(command)
    cost = command.add_argument_group("cost")
    cost.add_argument("--dry-run", action="store_true", help="show the cost and send nothing")
    cost.add_argument(
        "--machine",
        metavar="NAME",
        help="with --dry-run: the cost by the published times of this machine, without an account",
    )
    cost.add_argument("-y", "--yes", action="store_true", help="do not ask before sending")
    cost.add_argument(
        "--again", action="store_true", help="submit even if the same job is not finished"
    )
    _add_waiting_options(command)
    command.set_defaults(run=_run_submit)


def _add_resume_command(commands: Any) -> None:
    command = add_command(commands, "resume")
    command.add_argument("job", metavar="JOB", help="its id, the start of its id, or its folder")
    training = command.add_argument_group("training")
    training.add_argument(
        "-s", "--solver", metavar="NAME", help="go on with another QPU, with new chains"
    )
    training.add_argument(
        "--budget",
        metavar="TIME",
        help="most QPU access time of all rounds, those before included: 2s, 500ms or 1.5",
    )
    add_connection_options(command)
    _add_account_option(command)
    _add_waiting_options(command)
    command.set_defaults(run=_run_resume)


def _add_jobs_command(commands: Any) -> None:
    command = add_command(commands, "jobs")
    command.add_argument("job", metavar="JOB", nargs="?", help="its id or the start of its id")
    command.add_argument("--jobs", metavar="FOLDER", help="folder of all jobs (QCOMPILE_JOBS)")
    command.add_argument(
        "--format", choices=FORMATS, default="text", help="text, markdown, csv or json"
    )
    command.set_defaults(run=_run_jobs)


def _add_cancel_command(commands: Any) -> None:
    command = add_command(commands, "cancel")
    command.add_argument("job", metavar="JOB", help="its id, the start of its id, or its folder")
    add_connection_options(command)
    _add_account_option(command)
    add_grace_option(command)
    command.set_defaults(run=_run_cancel)


def _add_account_option(group: Any) -> None:
    group.add_argument(
        "--same-account",
        action="store_true",
        help="the token is new, but belongs to the account that submitted the job",
    )


def _add_waiting_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("answer")
    group.add_argument("-o", "--output", metavar="FILE", help="also write the classifier here")
    group.add_argument("--samples", metavar="FILE", help="also write the samples here")
    add_report_option(group)
    group.add_argument(
        "--no-wait", action="store_true", help="stop when it is on the server; resume fetches it"
    )
    add_timeout_option(group)
    add_grace_option(group)


def _run_submit(options: argparse.Namespace) -> None:
    outputs = _outputs(options)
    inputs = (options.problem, options.embedding, options.refine)
    atomic.check_outputs(outputs, inputs=inputs)
    problem = load_problem(options.problem)
    if options.output and (problem.encoding is None or problem.preparation is None):
        raise UsageError("-o: there is no classifier: the problem was not compiled from data")
    embedding = None
    if options.embedding is not None:
        embedding = embedding_files.load_embeddings(options.embedding)
    asks = not (options.yes or options.dry_run)
    with bar("Leap", counted=asks), passing("submit"):
        found = submit(
            problem,
            solver=options.solver,
            solver_type=options.solver_type,
            machine=options.machine,
            profile=options.profile,
            region=options.region,
            reads=options.reads,
            label=options.label,
            embedding=embedding,
            chain_strength=chain_strength(options.chain_strength),
            repair=options.repair,
            time_limit=options.time_limit,
            parameters=_parameters(options),
            seed=options.seed,
            **anneal_arguments(options, problem),
            jobs=options.jobs,
            again=options.again,
            dry_run=options.dry_run,
            confirm=None if options.dry_run else lambda cost: agreed(_in_words(cost), options),
            wait=not options.no_wait,
            timeout=options.timeout,
            patience=patience_of(options),
        )
    if options.dry_run:
        show(found.cost.to_dict() if options.json else _in_words(found.cost), options)
    elif found.job is None:
        raise UsageError("nothing was sent: the cost was not confirmed")
    else:
        _show(found, options, outputs)


def _in_words(cost: Cost) -> dict[str, Any]:
    """Return a cost as it is shown to people."""
    shown = {"solver": f"{cost.solver} ({cost.solver_type})", "variables": cost.variables}
    if cost.qubits is not None:
        shown["qubits"] = f"{cost.qubits}, longest chain {cost.longest_chain}"
        shown["reads"] = f"{sum(cost.reads)} in {cost.problems} problem(s)"
        if cost.copies > 1:
            shown["copies"] = f"{cost.copies} in each problem: {cost.samples:,} samples"
    if cost.solver_type == "qpu":
        name = "QPU access time"
        time = "not known" if cost.seconds is None else f"{cost.seconds:.4g} s estimated"
    else:
        name, time = "time limit", f"{cost.seconds:.4g} s, billed"
    allowed = "" if cost.limit is None else f"; up to {cost.limit:g} s a problem is allowed"
    shown[name] = time + allowed
    if cost.load is not None:
        shown["load"] = f"{cost.load:.0%} of the solver"
    return shown | {f"note {number}": note for number, note in enumerate(cost.notes, 1)}


def _parameters(options: argparse.Namespace) -> dict[str, Any]:
    """Return the solver's parameters: --annealing-time, and NAME=VALUE of each --param."""
    given: dict[str, Any] = {}
    if options.annealing_time is not None:
        given["annealing_time"] = options.annealing_time
    for entry in options.param:
        name, found, text = entry.partition("=")
        if not found or not name:
            raise UsageError(f"--param {entry}: expected NAME=VALUE")
        try:
            given[name] = json.loads(text)
        except ValueError:
            given[name] = text  # a plain word needs no quotes
        except RecursionError:
            raise UsageError(f"--param {name}: its value is nested too deep") from None
    return given


def _run_resume(options: argparse.Namespace) -> None:
    outputs = _outputs(options)
    atomic.check_outputs(outputs)
    if options.samples and isinstance(load_job(options.job, options.jobs), TrainingJob):
        raise UsageError("--samples: a training has those of each round in its job folder")
    with bar("Leap"), passing("resume"):
        found = resume(
            options.job,
            profile=options.profile,
            region=options.region,
            jobs=options.jobs,
            solver=options.solver,
            budget=options.budget,
            wait=not options.no_wait,
            timeout=options.timeout,
            same_account=options.same_account,
            patience=patience_of(options),
        )
    if isinstance(found, Trained):
        assert found.job is not None
        write_trained(found, options, found.job.rows() if options.report else {}, outputs)
    else:
        _show(found, options, outputs)


def _outputs(options: argparse.Namespace) -> list[str]:
    asked = [options.output, options.samples, *page_of(options)]
    outputs = [path for path in asked if path]
    if options.no_wait and outputs:
        raise UsageError("--no-wait: there is no answer to write yet; use -o of qcompile resume")
    return outputs


def _judged(job: Job, found: Submission) -> Judgement | None:
    """Return what is to be said about the classifier of a job, if it has one."""
    if found.classifier is None:
        return None
    problem, energy = job.problem(), found.classifier.source.energy
    assert energy is not None  # `decode` knows it
    return judge(problem, found.classifier.weights, energy, recorded_rows(problem))


def _show(found: Submission, options: argparse.Namespace, outputs: list[str]) -> None:
    job, samples = found.job, found.samples
    assert job is not None
    if samples is None:
        ids = [state.id for state in job.states]
        show({"job": job.id, "problem ids": ids, "next": f"qcompile resume {job.name}"}, options)
        return
    if options.output and found.classifier is None:
        raise UsageError("-o: there is no classifier: the problem was not compiled from data")
    judged = _judged(job, found)
    with atomic.all_or_nothing():
        if options.output and found.classifier is not None:
            save_classifier(found.classifier, options.output)
        if options.samples:
            save_samples(samples, options.samples)
        if options.report:
            run = job_run(job, samples, found.classifier)
            if judged is not None:
                told = (in_options(note, options) for note in judged.notes)
                run = replace(run, notes=(*run.notes, *told))
            page.write_report(run, options.report)
    timing = samples.info["timing"]
    billed = timing.get("charge_time", timing.get("qpu_access_time"))
    summary: dict[str, Any] = {
        "job": job.id,
        "solver": job.solver.name,
        "problem ids": samples.info["problem_ids"],
        "samples": int(samples.occurrences.sum()),
        "distinct": len(samples),
        **_copies_of(samples),
        "lowest energy": float(samples.energies[0]),
        **_before(samples),
        "times found": int(samples.occurrences[0]),
        "share of chains broken": samples.chain_break_fraction,
        "seconds billed": None if billed is None else billed / 1e6,
    }
    if found.classifier is not None and judged is not None:
        say_notes(judged, options)
        summary["weights"] = found.classifier.weights.tolist()
        summary |= describe_judgement(judged)
    kept = [str(job.folder / "samples.json")]
    if found.classifier is not None:
        kept.append(str(job.folder / "model.json"))
    show(summary, options, written=[*outputs, *kept])


def _copies_of(samples: Samples) -> dict[str, Any]:
    """Return the number of copies, and the chain strength that a sweep chose, if there are any."""
    names = {"copies": "copies", "chain_strength": "chain strength"}
    return {names[key]: samples.info[key] for key in names if key in samples.info}


def _before(samples: Samples) -> dict[str, Any]:
    """Return the energies before the descent and the reads that it lowered, if there was one."""
    if samples.before is None:
        return {}
    return {
        "lowest energy before": samples.info["lowest_energy_before"],
        "mean energy": samples.info["mean_energy"],
        "mean energy before": samples.info["mean_energy_before"],
        "reads lowered": samples.info["reads_lowered"],
    }


def _run_jobs(options: argparse.Namespace) -> None:
    if options.job is not None:
        show_rows([_described(load_job(options.job, options.jobs), options)], options)
        return
    found = all_jobs(options.jobs)
    trainings = any(isinstance(job, TrainingJob) for job in found)
    rows = [_row(job, trainings) for job in found]
    if rows:
        show_rows(rows, options)
    elif options.json or options.format == "json":
        print("[]")
    elif options.format == "text":
        print(f"no jobs in {printable(jobs_folder(options.jobs))}")


def _row(job: Job | TrainingJob | Damaged, trainings: bool) -> dict[str, Any]:
    """Return the line of a job; if there are `trainings`, with what only they have."""
    if isinstance(job, Damaged):
        names = ("solver", "reads", "problems", *(_OF_TRAININGS if trainings else ()))
        row = {"job": job.folder.name, "stage": "damaged", **dict.fromkeys(names)}
        return row | {"label": None, "data": None}
    known = job.progress if isinstance(job, TrainingJob) else None
    reads = job.search.reads if isinstance(job, TrainingJob) else sum(job.cost.reads) or None
    row = {
        "job": job.id,
        "stage": job.stage,
        "solver": job.solver.name if known is None else known.solver,
        "reads": reads,
        "problems": len(job.parts) if isinstance(job, Job) else job.progress.rounds,
    }
    if trainings:
        found = (None,) * 3 if known is None else (known.rounds, known.objective, known.seconds)
        row |= dict(zip(_OF_TRAININGS, found, strict=True))
    return row | {"label": job.label, "data": job.source}


def _described(job: Job | TrainingJob, options: argparse.Namespace) -> dict[str, Any]:
    if isinstance(job, TrainingJob):
        return {
            **_row(job, True),
            "created": job.created,
            "ended": job.progress.ended or None,
            "budget": job.progress.budget,
            "rounds at most": job.cost.rounds,
            "seconds_estimated": job.cost.seconds,
            "endpoint": job.endpoint,
            "folder": str(job.folder),
            "next": in_options(status_of(job), options),
        }
    states = job.states
    return {
        **_row(job, False),
        **({"copies": job.copies, "samples": job.cost.samples} if job.copies > 1 else {}),
        "created": job.created,
        "solver_type": job.solver_type,
        "parts": [{"stage": s.stage, "id": s.id, "message": s.message} for s in states],
        "labels": [part.label for part in job.parts],
        "seconds_estimated": job.cost.seconds,
        "endpoint": job.endpoint,
        "folder": str(job.folder),
        "next": "nothing" if job.stage == DONE else status_text(job),
    }


def _run_cancel(options: argparse.Namespace) -> None:
    job = load_job(options.job, options.jobs)
    with bar("Leap"), passing("cancel"):
        stages = cancel(
            job,
            profile=options.profile,
            region=options.region,
            same_account=options.same_account,
            patience=patience_of(options),
        )
    if isinstance(job, TrainingJob):
        show(
            {"job": job.id, "stage": stages[0], "next": in_options(status_of(job), options)},
            options,
        )
        return
    over = all(stage in (CANCELLED, FAILED) for stage in stages)
    summary = {
        "job": job.id,
        "parts": list(stages),
        "next": "nothing: it will not run" if over else status_text(job),
    }
    show(summary, options)
