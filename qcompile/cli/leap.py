"""The commands `submit`, `resume`, `jobs` and `cancel`."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from qcompile.cli.options import add_report_option, chain_strength, page_of
from qcompile.cli.output import FORMATS, show, show_rows
from qcompile.cli.parsing import add_command
from qcompile.embedding.unembed import REPAIRS
from qcompile.errors import InputError
from qcompile.files import atomic
from qcompile.files import embedding as embedding_files
from qcompile.files.classifier import save_classifier
from qcompile.files.interchange import load_problem
from qcompile.files.samples import save_samples
from qcompile.leap.job import jobs_folder
from qcompile.leap.job_store import list_jobs, load_job
from qcompile.leap.retry import Patience
from qcompile.leap.submission import cancel, fate, resume, submit
from qcompile.report import page
from qcompile.runtime.progress import bar
from qcompile.runtime.timing import passing

if TYPE_CHECKING:
    from qcompile.leap.cost import Cost
    from qcompile.leap.job import Job
    from qcompile.leap.submission import Submission

__all__ = ["add_commands"]


_SOLVER_TYPES = ("qpu", "hybrid", "nl")


def add_commands(commands: Any) -> None:
    """Declare `submit`, `resume`, `jobs` and `cancel`."""
    _add_submit_command(commands)
    _add_resume_command(commands)
    _add_jobs_command(commands)
    _add_cancel_command(commands)


def _add_submit_command(commands: Any) -> None:
    command = add_command(
        commands,
        "submit",
        summary="send a problem to Leap so that it cannot be lost, wait, and decode the answer",
        example="""
            qcompile submit qubo.json --num-reads 500 --label heart -o model.json
            qcompile submit qubo.json --num-reads 500 --dry-run
            qcompile submit qubo.json --solver-type hybrid --yes --no-wait
        """,
        takes_data=False,
    )
    command.add_argument("problem", metavar="FILE", help="a qubo or pubo file (.json, .npz)")
    _add_line_options(command)
    ask = command.add_argument_group("what to ask for")
    ask.add_argument("-s", "--solver", metavar="NAME", help="a solver (Ocean's choice)")
    ask.add_argument(
        "--solver-type",
        choices=_SOLVER_TYPES,
        default="qpu",
        help="qpu; hybrid: the QUBO as it is; nl: the weights themselves, no ancillas (qpu)",
    )
    ask.add_argument(
        "-n", "--num-reads", type=int, default=1000, metavar="N", help="samples of a QPU (1000)"
    )
    ask.add_argument("-l", "--label", default="qcompile", help="to find it in Leap (qcompile)")
    ask.add_argument(
        "--time-limit", type=float, metavar="S", help="seconds of a hybrid solver (the least)"
    )
    ask.add_argument("--annealing-time", type=float, metavar="US", help="microseconds of a read")
    ask.add_argument(
        "--param",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="any other parameter of the solver, the value as JSON; may be repeated",
    )
    chains = command.add_argument_group("chains")
    chains.add_argument(
        "--embedding", metavar="FILE", help="use these chains if the working graph still has them"
    )
    chains.add_argument(
        "--chain-strength", default="torque", metavar="S", help="torque, scaled or a number"
    )
    chains.add_argument(
        "--repair", choices=REPAIRS, default="majority", help="of broken chains (majority)"
    )
    chains.add_argument("--seed", type=int, default=0, help="for the search for chains (0)")
    money = command.add_argument_group("before it costs anything")
    money.add_argument(
        "--dry-run", action="store_true", help="say what it would cost, send nothing"
    )
    money.add_argument("-y", "--yes", action="store_true", help="do not ask whether to go on")
    money.add_argument(
        "--again", action="store_true", help="even if the same job is not finished yet"
    )
    _add_waiting_options(command)
    command.set_defaults(run=_run_submit)


def _add_resume_command(commands: Any) -> None:
    command = add_command(
        commands,
        "resume",
        summary="go on with a job after a crash, Ctrl-C or a power cut; nothing is sent twice",
        example="""
            qcompile resume 20260131-101500-1a2b3c4d -o model.json
            qcompile resume 20260131-101500-1a2b3c4d --no-wait
        """,
        takes_data=False,
    )
    command.add_argument("job", metavar="JOB", help="its id, the beginning of it, or its folder")
    _add_line_options(command)
    _add_account_option(command)
    _add_waiting_options(command)
    command.set_defaults(run=_run_resume)


def _add_jobs_command(commands: Any) -> None:
    command = add_command(
        commands,
        "jobs",
        summary="list the jobs, or show one",
        example="""
            qcompile jobs
            qcompile jobs 20260131-101500-1a2b3c4d --json
        """,
        takes_data=False,
    )
    command.add_argument("job", metavar="JOB", nargs="?", help="its id or the beginning of it")
    command.add_argument("--jobs", metavar="FOLDER", help="where jobs are kept (QCOMPILE_JOBS)")
    command.add_argument(
        "--format", choices=FORMATS, default="text", help="text, markdown, csv or json"
    )
    command.set_defaults(run=_run_jobs)


def _add_cancel_command(commands: Any) -> None:
    command = add_command(
        commands,
        "cancel",
        summary="cancel what has not run yet of a job",
        example="""
            qcompile cancel 20260131-101500-1a2b3c4d
            qcompile cancel 20260131-101500-1a2b3c4d --grace 0 --json
        """,
        takes_data=False,
    )
    command.add_argument("job", metavar="JOB", help="its id, the beginning of it, or its folder")
    _add_line_options(command)
    _add_account_option(command)
    _add_grace_option(command)
    command.set_defaults(run=_run_cancel)


def _add_line_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("Leap, as Ocean's configuration says")
    group.add_argument("-p", "--profile", metavar="NAME", help="of dwave.conf")
    group.add_argument("--region", metavar="CODE", help="such as eu-central-1")
    group.add_argument("--jobs", metavar="FOLDER", help="where jobs are kept (QCOMPILE_JOBS)")


def _add_account_option(group: Any) -> None:
    group.add_argument(
        "--same-account",
        action="store_true",
        help="the token is new, but of the account that the job was submitted from",
    )


def _add_waiting_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("the answer")
    group.add_argument("-o", "--output", metavar="FILE", help="write the classifier there, too")
    group.add_argument("--samples", metavar="FILE", help="write the samples there, too")
    add_report_option(group)
    group.add_argument(
        "--no-wait", action="store_true", help="stop once it is on the server; resume fetches it"
    )
    group.add_argument(
        "--timeout", type=float, default=3600.0, metavar="S", help="seconds to wait (3600)"
    )
    _add_grace_option(group)


def _add_grace_option(group: Any) -> None:
    group.add_argument(
        "--grace",
        type=float,
        default=60.0,
        metavar="S",
        help="look for a job of unknown fate this long before it is sent again (60)",
    )


def _patience(options: argparse.Namespace) -> Patience:
    if not options.grace >= 0:
        raise InputError(f"--grace {options.grace:g}; expected seconds, 0 or more")
    return Patience(grace=options.grace)


def _run_submit(options: argparse.Namespace) -> None:
    outputs = _outputs(options)
    atomic.check_outputs(outputs, inputs=(options.problem, options.embedding))
    strength = chain_strength(options.chain_strength)
    if strength == "sweep":
        raise InputError("--chain-strength sweep costs a run for each; use qcompile embed for it")
    problem = load_problem(options.problem)
    if options.output and (problem.encoding is None or problem.preparation is None):
        raise InputError("-o: this problem was not compiled from data, there is no classifier")
    embedding = None
    if options.embedding is not None:
        embedding = embedding_files.load_embedding(options.embedding)
    asks = not (options.yes or options.dry_run)
    with bar("Leap", counted=asks) as progress, passing("submit"):
        found = submit(
            problem,
            solver=options.solver,
            solver_type=options.solver_type,
            profile=options.profile,
            region=options.region,
            reads=options.num_reads,
            label=options.label,
            embedding=embedding,
            chain_strength=strength,
            repair=options.repair,
            time_limit=options.time_limit,
            parameters=_parameters(options),
            seed=options.seed,
            jobs=options.jobs,
            again=options.again,
            dry_run=options.dry_run,
            confirm=None if options.dry_run else _Cashier(options),
            wait=not options.no_wait,
            timeout=options.timeout,
            patience=_patience(options),
            progress=progress,
        )
    if options.dry_run:
        show(_in_words(found.cost) if not options.json else dict(found.cost), options)
    elif found.job is None:
        raise InputError("nothing was sent: the cost was not agreed to")
    else:
        _show(found, options, outputs)


class _Cashier:
    """Announces the cost and asks whether to go on, unless that was said already."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options

    def __call__(self, cost: Cost) -> bool:
        if not self._options.quiet:
            for name, value in _in_words(cost.to_dict()).items():
                print(f"{name:<16}  {value}", file=sys.stderr)
        if self._options.yes:
            return True
        if not sys.stdin.isatty():
            raise InputError("nothing was sent: nobody is there to agree to the cost; add --yes")
        print("Submit? [y/N] ", end="", file=sys.stderr, flush=True)
        return sys.stdin.readline().strip().lower() in ("y", "yes")


def _in_words(cost: Any) -> dict[str, Any]:
    """Return a cost for people."""
    shown = {"solver": f"{cost['solver']} ({cost['solver_type']})", "variables": cost["variables"]}
    if cost["qubits"] is not None:
        shown["qubits"] = f"{cost['qubits']}, longest chain {cost['longest_chain']}"
        shown["reads"] = f"{cost['reads']} in {cost['problems']} problem(s)"
    seconds, limit = cost["seconds_billed"], cost["seconds_allowed_per_problem"]
    name = "QPU access time" if cost["solver_type"] == "qpu" else "time limit"
    shown[name] = "not known" if seconds is None else f"{seconds:.4g} s estimated"
    if cost["solver_type"] != "qpu":
        shown[name] = f"{seconds:.4g} s, billed"
    if limit is not None:
        shown[name] += f"; up to {limit:g} s a problem is allowed"
    if cost["load"] is not None:
        shown["load"] = f"{cost['load']:.0%} of the solver"
    for number, note in enumerate(cost["notes"], 1):
        shown[f"note {number}"] = note
    return shown


def _parameters(options: argparse.Namespace) -> dict[str, Any]:
    """Read NAME=VALUE of each --param."""
    given: dict[str, Any] = {}
    if options.annealing_time is not None:
        given["annealing_time"] = options.annealing_time
    for entry in options.param:
        name, found, text = entry.partition("=")
        if not found or not name:
            raise InputError(f"--param {entry}: expected NAME=VALUE")
        try:
            given[name] = json.loads(text)
        except ValueError:
            given[name] = text  # a plain word needs no quotes
    return given


def _run_resume(options: argparse.Namespace) -> None:
    outputs = _outputs(options)
    atomic.check_outputs(outputs)
    with bar("Leap") as progress, passing("resume"):
        found = resume(
            options.job,
            profile=options.profile,
            region=options.region,
            jobs=options.jobs,
            wait=not options.no_wait,
            timeout=options.timeout,
            same_account=options.same_account,
            patience=_patience(options),
            progress=progress,
        )
    _show(found, options, outputs)


def _outputs(options: argparse.Namespace) -> list[str]:
    asked = [options.output, options.samples, *page_of(options)]
    outputs = [path for path in asked if path]
    if options.no_wait and outputs:
        raise InputError("--no-wait: there is no answer to write yet; give -o to qcompile resume")
    return outputs


def _show(found: Submission, options: argparse.Namespace, outputs: list[str]) -> None:
    from qcompile.report.gather import job_run

    job, samples = found.job, found.samples
    assert job is not None
    if samples is None:
        ids = [state.id for state in job.states]
        show({"job": job.id, "problem ids": ids, "next": f"qcompile resume {job.name}"}, options)
        return
    if options.output and found.classifier is None:
        raise InputError("-o: this problem was not compiled from data, there is no classifier")
    with atomic.all_or_nothing():
        if options.output and found.classifier is not None:
            save_classifier(found.classifier, options.output)
        if options.samples:
            save_samples(samples, options.samples)
    if options.report:
        page.write_report(job_run(job, samples, found.classifier), options.report)
    timing = samples.info["timing"]
    billed = timing.get("charge_time", timing.get("qpu_access_time"))
    summary: dict[str, Any] = {
        "job": job.id,
        "solver": job.solver["name"],
        "problem ids": samples.info["problem_ids"],
        "samples": int(samples.occurrences.sum()),
        "distinct": len(samples),
        "lowest energy": float(samples.energies[0]),
        "times found": int(samples.occurrences[0]),
        "share of chains broken": samples.chain_break_fraction,
        "seconds billed": None if billed is None else billed / 1e6,
    }
    if found.classifier is not None:
        summary["weights"] = found.classifier.weights.tolist()
    kept = [str(job.folder / "samples.json")]
    if found.classifier is not None:
        kept.append(str(job.folder / "model.json"))
    show(summary, options, written=[*outputs, *kept])


def _run_jobs(options: argparse.Namespace) -> None:
    if options.job is not None:
        show_rows([_described(load_job(options.job, options.jobs))], options)
        return
    rows = [_row(job) for job in list_jobs(options.jobs)]
    if rows:
        show_rows(rows, options)
    elif options.json or options.format == "json":
        print("[]")
    elif options.format == "text":
        print(f"no jobs in {jobs_folder(options.jobs)}")


def _row(job: Job) -> dict[str, Any]:
    return {
        "job": job.id,
        "stage": job.stage,
        "solver": job.solver.get("name"),
        "reads": job.cost.get("reads"),
        "problems": len(job.parts),
        "label": job.label,
        "data": job.source,
    }


def _described(job: Job) -> dict[str, Any]:
    states = job.states
    return {
        **_row(job),
        "created": job.created,
        "solver_type": job.solver_type,
        "parts": [{"stage": s.stage, "id": s.id, "message": s.message} for s in states],
        "labels": [part.label for part in job.parts],
        "seconds_estimated": job.cost.get("seconds_billed"),
        "endpoint": job.endpoint,
        "folder": str(job.folder),
        "next": "nothing" if job.stage == "done" else fate(job),
    }


def _run_cancel(options: argparse.Namespace) -> None:
    job = load_job(options.job, options.jobs)
    with bar("Leap"), passing("cancel"):
        stages = cancel(
            job,
            profile=options.profile,
            region=options.region,
            same_account=options.same_account,
            patience=_patience(options),
        )
    over = all(stage in ("cancelled", "failed") for stage in stages)
    summary = {
        "job": job.id,
        "parts": list(stages),
        "next": "nothing: it will not run" if over else fate(job),
    }
    show(summary, options)
