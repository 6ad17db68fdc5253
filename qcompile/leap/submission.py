"""Submit a problem to Leap so that it cannot be lost, and resume it after any interruption.

The order of the steps is what matters. A job folder is on disk before anything is sent. A part is
marked as sent before its request is made, and its id is written as soon as it is known. If the
outcome of a request is not known, the part is looked up by its unique label before anything is
sent again: one job is billed once.
"""

from __future__ import annotations

import logging
import math
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from qcompile.errors import InputError, LeapError, QcompileError
from qcompile.files.machines import MachineSource
from qcompile.leap import owners
from qcompile.leap.anneal_options import AnnealOptions
from qcompile.leap.annealing import Points
from qcompile.leap.client import Leap, connect
from qcompile.leap.collecting import (
    choose_strength,
    collect,
    decode_job,
    fetch_lost_answers_again,
)
from qcompile.leap.cost import Cost
from qcompile.leap.folder import JobFolder, jobs_folder
from qcompile.leap.job import Job
from qcompile.leap.job_store import alone_in, create_job, job_names, load_job, new_job_id
from qcompile.leap.plan import (
    Plan,
    Request,
    check_label,
    check_repair,
    make_plan,
    refuse_duplicate_job,
)
from qcompile.leap.published_cost import published
from qcompile.leap.records import ANSWERED, CANCELLED, OVER, READY, SENT, WAITING
from qcompile.leap.refinement import Known
from qcompile.leap.retry import Patience
from qcompile.leap.sending import cancel_parts, ensure_sent
from qcompile.leap.strays import Strays
from qcompile.runtime.progress import News, news_to
from qcompile.stages.classifier import Classifier
from qcompile.stages.display import Displayed, many, quoted
from qcompile.stages.embedded import Embedding
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo
from qcompile.stages.samples import Samples

__all__ = [
    "Submission",
    "cancel",
    "check_account",
    "normal_label",
    "resume",
    "run_request",
    "send_and_collect",
    "status_text",
    "submit",
]


_log = logging.getLogger("qcompile")


@dataclass(frozen=True, eq=False, repr=False)
class Submission(Displayed):
    """The result of a submission, as far as it went.

    `job` is None after a dry run; `samples` is None until the machine has answered; `classifier`
    is None for problems that were not compiled from data.
    """

    cost: Cost
    job: Job | None = None
    samples: Samples | None = None
    classifier: Classifier | None = None

    def _line(self) -> str:
        if self.job is None:
            return f"dry run for {quoted(self.cost.solver)}"
        done = "no answer yet" if self.samples is None else many(len(self.samples), "sample")
        return f"job {quoted(self.job.id)}, {done}"

    def _facts(self) -> Mapping[str, object]:
        return {
            "solver": self.cost.solver,
            "job": None if self.job is None else self.job.id,
            "seconds billed, estimated": self.cost.seconds,
            "samples": self.samples,
            "classifier": self.classifier,
        }


@dataclass(frozen=True)
class _Access:
    """How to connect to the solver of a job that exists; by default as when it was submitted."""

    profile: str | None
    region: str | None
    same_account: bool
    patience: Patience | None
    timeout: float | None = None


def submit(
    problem: Pubo | Qubo,
    *,
    solver: str | None = None,
    solver_type: str = "qpu",
    machine: MachineSource | None = None,
    profile: str | None = None,
    region: str | None = None,
    reads: int = 1000,
    label: str = "qcompile",
    embedding: Embedding | Sequence[Embedding] | None = None,
    chain_strength: float | str = "torque",
    repair: str = "majority",
    time_limit: float | None = None,
    parameters: Mapping[str, Any] | None = None,
    seed: int = 0,
    copies: int | str | None = None,
    gauges: int | None = None,
    refine: Known | None = None,
    reinitialize: bool = True,
    anneal_schedule: Points | None = None,
    fast_anneal: bool = False,
    h_gain: float | Points | None = None,
    post: str = "descent",
    jobs: str | Path | None = None,
    again: bool = False,
    dry_run: bool = False,
    confirm: Callable[[Cost], bool] | None = None,
    wait: bool = True,
    timeout: float = 3600.0,
    patience: Patience | None = None,
    progress: News | None = None,
) -> Submission:
    """Send a problem to Leap through a job folder, wait for the answer and decode it.

    `solver`, `profile` and `region` are as in Ocean's configuration. `solver_type` is "qpu",
    "hybrid" (the QUBO, for `time_limit` seconds) or "nl" (the nonlinear solver, on the weights).
    `parameters` are sent to the solver unchanged.

    A QPU anneals `copies` of the problem at once: a number, or "auto" for all that fit. An
    `embedding` may hold the chains of several copies, which are all used by default. The reads
    are shared by `gauges` problems, each with a spin-reversal transform. `chain_strength` "sweep"
    tries several strengths with a few of the reads, and gives the others to the best. `refine` is a
    known state (samples, a classifier or bits) to anneal from in reverse: every read starts from
    it, or without `reinitialize` from the read before. `anneal_schedule` has points of microseconds
    and s; `fast_anneal` takes fields through pinned qubits; `h_gain` multiplies all fields. `post`
    "descent" flips single bits of the samples as long as that lowers their energy.

    `confirm` is called with the cost; nothing is sent if it returns False. An unfinished job of the
    same problem is not submitted a second time unless `again` is True. All waiting for the server
    together takes at most `timeout` seconds. After any interruption ``resume(job.id)`` continues.
    With `machine`, a name of the catalogue, and `dry_run` the cost is that of the machine's
    published times: no account is needed.
    """
    request = Request(
        solver=solver,
        solver_type=solver_type,
        profile=profile,
        region=region,
        reads=reads,
        label=normal_label(label),
        embeddings=(embedding,) if isinstance(embedding, Embedding) else tuple(embedding or ()),
        chain_strength=chain_strength,
        repair=repair,
        time_limit=time_limit,
        parameters=dict(parameters or {}),
        seed=seed,
        anneal=AnnealOptions(
            copies=copies,
            gauges=gauges,
            refine=refine,
            reinitialize=reinitialize,
            anneal_schedule=anneal_schedule,
            fast_anneal=fast_anneal,
            h_gain=h_gain,
        ),
        post=post,
    )
    return run_request(
        problem,
        request,
        machine=machine,
        jobs=jobs,
        again=again,
        dry_run=dry_run,
        confirm=confirm,
        wait=wait,
        timeout=timeout,
        patience=patience,
        progress=progress,
    )


def run_request(
    problem: Pubo | Qubo,
    request: Request,
    *,
    machine: MachineSource | None = None,
    jobs: str | Path | None = None,
    again: bool = False,
    dry_run: bool = False,
    confirm: Callable[[Cost], bool] | None = None,
    wait: bool = True,
    timeout: float = 3600.0,
    patience: Patience | None = None,
    progress: News | None = None,
) -> Submission:
    """Plan what a request asks for, and send it through a job folder, as `submit` does."""
    _check_timeout(timeout)
    if machine is not None:
        offline = published(
            machine, solver=request.solver, solver_type=request.solver_type, dry_run=dry_run
        )
        plan = make_plan(offline, problem, request, jobs)
        return Submission(offline.with_notes(plan.cost, [p.parameters for p in plan.parts]))
    known = job_names(jobs)
    with connect(
        request.solver_type,
        solver=request.solver,
        profile=request.profile,
        region=request.region,
        patience=patience,
        timeout=timeout,
    ) as connection:
        plan = make_plan(connection, problem, request, jobs)
        if not (again or dry_run):
            refuse_duplicate_job(plan, jobs, known)
        if dry_run or (confirm is not None and not confirm(plan.cost)):
            return Submission(plan.cost)
        with alone_in(jobs_folder(jobs)):
            if not again:  # another process may have been faster
                refuse_duplicate_job(plan, jobs, known)
            job = _new_job(request, plan, connection, jobs_folder(jobs))
            job = create_job(job, plan.problem, plan.embeddings)
        _log.info("job %s", job.id)
        with job.locked(), _status_in_errors(job), news_to(progress):
            return send_and_collect(job, connection, wait, first=True)


def resume(
    job: Job | str | Path,
    *,
    profile: str | None = None,
    region: str | None = None,
    jobs: str | Path | None = None,
    wait: bool = True,
    timeout: float = 3600.0,
    same_account: bool = False,
    patience: Patience | None = None,
    progress: News | None = None,
) -> Submission:
    """Continue a job from where it stopped: send the parts that were not sent, fetch, decode.

    A part that may have been sent is looked up first. No answer is fetched twice: a job whose
    answers are on disk is decoded without the network, which is then used only to find out whether
    the job was sent twice, if that is not certain. `same_account` states that a new token
    belongs to the account that the job was submitted from.
    """
    job = job if isinstance(job, Job) else load_job(job, jobs)
    check_label(job.label)
    check_repair(job.repair)
    _check_timeout(timeout)
    with job.locked(), _status_in_errors(job):
        fetch_lost_answers_again(job)
        access = _Access(profile, region, same_account, patience, timeout)
        if all(state.stage in OVER for state in job.states):
            try:
                found = decode_job(job)
            finally:
                _finish_strays(job, access)
            return Submission(job.cost, job, *found)
        with _connected(job, access) as connection, news_to(progress):
            return send_and_collect(job, connection, wait, first=False)


def cancel(
    job: Job | str | Path,
    *,
    profile: str | None = None,
    region: str | None = None,
    jobs: str | Path | None = None,
    same_account: bool = False,
    patience: Patience | None = None,
) -> list[str]:
    """Cancel the parts that have not run yet, and return the stage of each part.

    A part that was not sent will not be sent. A part that may have been sent is looked up first. A
    part that has run is billed, and `resume` can still fetch its answer.
    """
    job = job if isinstance(job, Job) else load_job(job, jobs)
    with job.locked(), _status_in_errors(job):
        for part in job.parts:
            if job.state(part).stage == READY:
                job.record(part, stage=CANCELLED, message="cancelled before it was sent")
        left = [part for part in job.parts if job.state(part).stage not in OVER]
        if left:
            with _connected(job, _Access(profile, region, same_account, patience)) as connection:
                cancel_parts(job, left, connection)
        return [state.stage for state in job.states]


def normal_label(label: str) -> str:
    """Return a label in the form that a server is likely to keep: composed letters, one blank."""
    return " ".join(unicodedata.normalize("NFC", label).split())


def _check_timeout(timeout: float) -> None:
    if not 0 < timeout < math.inf:
        raise InputError(f"timeout {timeout:g}; expected a finite number of seconds above 0")


def _new_job(request: Request, plan: Plan, connection: Leap, place: Path) -> Job:
    """Return the job of a plan, which has no folder yet."""
    created = datetime.now(UTC)
    name = new_job_id(created)
    return Job(
        folder=place / name,
        id=name,
        label=request.label,
        created=created.isoformat(timespec="seconds"),
        solver_type=request.solver_type,
        solver=connection.identity,
        endpoint=connection.endpoint,
        account=connection.fingerprint(name),
        repair=request.repair,
        chain_strength=plan.chain_strength,
        digests={},
        source=str(plan.problem.source.get("name", "")),
        profile=request.profile or "",
        region=request.region or "",
        cost=plan.cost,
        parts=tuple(
            sent.as_part(n, f"{request.label} {name}.{n}") for n, sent in enumerate(plan.parts, 1)
        ),
        copies=max(1, len(plan.embeddings)),
        post=request.post,
    )


@contextmanager
def _connected(job: Job, access: _Access) -> Iterator[Leap]:
    """Connect to the solver of a job, with the account that the job was submitted from."""
    with connect(
        job.solver_type,
        solver=job.solver.name,
        profile=access.profile or job.profile or None,
        region=access.region or job.region or None,
        patience=access.patience,
        timeout=access.timeout,
    ) as connection:
        check_account(job, connection, access.same_account)
        yield connection


def check_account(job: JobFolder, connection: Leap, same_account: bool) -> None:
    """Raise InputError for another account or region.

    There the label of the job is not known, and the job would be sent a second time.
    """
    if not same_account and connection.fingerprint(job.id) != job.account:
        raise InputError(
            f"job {job.id} was submitted with another token: choose the same profile=, or, if the "
            "token of the same account was renewed, give same_account=True"
        )
    if connection.endpoint != job.endpoint:
        raise InputError(
            f"job {job.id} was submitted to {job.endpoint}, and the configuration now has "
            f"{connection.endpoint}: choose the same profile= or region="
        )


def send_and_collect(job: Job, connection: Leap, wait: bool, *, first: bool) -> Submission:
    """Send the parts that are not on the server, wait for the answers if wanted, and decode them.

    `first` states that the job has just been created. The job is locked by the caller.
    """
    last = max(part.phase for part in job.parts)
    for phase in range(1, last + 1):
        if phase > 1:
            choose_strength(job)
        # later phases may be on the server: another process may have got further
        strays = _send_phase(job, connection, phase, wait, first=first and phase == 1)
        if not wait:
            return Submission(job.cost, job)
    try:
        found = decode_job(job)
    finally:  # a second problem is billed even if the answer cannot be decoded
        strays.finish()
    return Submission(job.cost, job, *found)


def _send_phase(job: Job, connection: Leap, phase: int, wait: bool, *, first: bool) -> Strays:
    """Send the parts of one phase, and wait for their answers if asked to."""
    trouble = None
    try:
        _send(job, connection, phase, first=first)
    except LeapError as error:
        if not any(state.stage == WAITING for state in job.states):
            raise
        trouble = error  # parts that were sent are billed: fetch their answers first
    strays = Strays(job, connection)
    if wait:
        collect(job, connection, strays)
    else:
        strays.look()
    if trouble is not None:
        raise trouble
    return strays


def _finish_strays(job: Job, access: _Access) -> None:
    """Look for problems that were sent twice by an earlier process, if there may be any."""
    if not any(state.doubts and state.id is not None for state in job.states):
        return
    try:
        with _connected(job, access) as connection:
            Strays(job, connection).finish()
    except QcompileError as error:
        _log.warning("warning: %s; the job may be on the server twice", error)


def _send(job: Job, connection: Leap, phase: int, *, first: bool) -> None:
    """Send the parts of a phase that are not on the server."""
    left = [
        part
        for part, state in zip(job.parts, job.states, strict=True)
        if part.phase == phase and state.stage not in OVER and state.id is None
    ]
    if not left:
        return
    with owners.alone_with(job):
        if first:
            owners.claim(job)
        for part in left:
            ensure_sent(job, part, connection, first=first)


@contextmanager
def _status_in_errors(job: Job) -> Iterator[None]:
    """Add to every error where the job is, and the command that continues from there."""
    try:
        yield
    except KeyboardInterrupt:
        _log.warning("job %s: %s", job.id, status_text(job))
        raise
    except QcompileError as error:
        text = str(error)
        if text.startswith(f"job {job.id}"):
            raise
        code = getattr(error, "code", None)
    else:
        return
    raise LeapError(f"job {job.id}: {text}; {status_text(job)}", code)


def status_text(job: Job) -> str:
    """Return where a job is, and the command that continues it, for people."""
    states = job.states
    stages = [state.stage for state in states]
    if all(stage in OVER for stage in stages) and ANSWERED not in stages:
        return "it is over; a new one can be submitted"
    if SENT in stages:
        where = "it may be on the server, and is looked up by its label before anything is sent"
    elif WAITING in stages:
        ids = ", ".join(str(state.id) for state in states if state.stage == WAITING)
        where = f"it is on the server as {ids}"
    elif READY in stages and ANSWERED in stages:
        where = (
            f"{stages.count(ANSWERED)} of {len(stages)} parts are answered and the others were not "
            f"sent: end it with qcompile cancel {job.name}, or try again"
        )
    elif READY in stages:
        where = "it was not sent"
    else:
        where = "the answer is on disk"
    return f"{where}; continue with: qcompile resume {job.name}"
