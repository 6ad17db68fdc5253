"""Submit a problem to Leap so that it cannot be lost, and go on after any interruption.

The order of steps is the whole point. A job folder is on disk before anything is sent. A part is
marked as sent before its request is made, and its id is written as soon as it is known. Where the
outcome of a request is not known, the part is looked up by its label, which is unique, before
anything is sent again: one job, one bill.
"""

from __future__ import annotations

import logging
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qcompile.embedding.unembed import REPAIRS
from qcompile.errors import FormatError, InputError, LeapError
from qcompile.leap.collecting import collect, decode_job
from qcompile.leap.job import ANSWERED, CANCELLED, OVER, READY, SENT, WAITING, Job, jobs_folder
from qcompile.leap.job_store import create_job, load_job
from qcompile.leap.plan import Request, make_plan, refuse_twins
from qcompile.leap.retry import Patience
from qcompile.leap.sending import cancel_parts, cancel_strays, ensure_sent
from qcompile.runtime.progress import Bar
from qcompile.stages.classifier import Classifier
from qcompile.stages.embedded import Embedding
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo
from qcompile.stages.samples import Samples

if TYPE_CHECKING:
    from qcompile.leap.client import Leap
    from qcompile.leap.cost import Cost

__all__ = ["Submission", "cancel", "fate", "resume", "submit"]


_log = logging.getLogger("qcompile")

_LONGEST_LABEL = 200


@dataclass(frozen=True, eq=False)
class Submission:
    """What came of a submission: `cost` always, the rest as far as it went.

    `job` is None after a dry run; `samples` is None as long as the machine has not answered;
    `classifier` is None for problems that were not compiled from data.
    """

    cost: Mapping[str, Any]
    job: Job | None = None
    samples: Samples | None = None
    classifier: Classifier | None = None


def submit(
    problem: Pubo | Qubo,
    *,
    solver: str | None = None,
    solver_type: str = "qpu",
    profile: str | None = None,
    region: str | None = None,
    reads: int = 1000,
    label: str = "qcompile",
    embedding: Embedding | None = None,
    chain_strength: float | str = "torque",
    repair: str = "majority",
    time_limit: float | None = None,
    parameters: Mapping[str, Any] | None = None,
    seed: int = 0,
    jobs: str | Path | None = None,
    again: bool = False,
    dry_run: bool = False,
    confirm: Callable[[Cost], bool] | None = None,
    wait: bool = True,
    timeout: float = 3600.0,
    patience: Patience | None = None,
    progress: Bar | None = None,
) -> Submission:
    """Send a problem to Leap through a job folder, wait for the answer and decode it.

    `solver`, `profile` and `region` are as in Ocean's configuration. `solver_type` is "qpu",
    "hybrid" (the QUBO, `time_limit` seconds) or "nl" (the nonlinear solver, on the weights).
    `confirm` is told the cost and may say no. A job of the same problem that is not finished yet
    is not submitted a second time unless `again`. Whatever happens, ``resume(job.id)`` goes on.
    """
    from qcompile.leap.client import connect

    label = _plain_label(label)
    _check(label, timeout, repair)
    wishes = Request(reads, embedding, chain_strength, time_limit, dict(parameters or {}), seed)
    with connect(
        solver_type, solver=solver, profile=profile, region=region, patience=patience
    ) as line:
        order = make_plan(line, problem, wishes, jobs)
        if not (again or dry_run):
            refuse_twins(order, jobs)
        cost = order.cost.to_dict()
        if dry_run or (confirm is not None and not confirm(order.cost)):
            return Submission(cost)
        embedded = order.embedded
        job = create_job(
            jobs_folder(jobs),
            order.problem,
            embedding=None if embedded is None else embedded.embedding,
            parts=order.parts,
            label=label,
            fingerprint=line.fingerprint,
            solver_type=solver_type,
            solver=line.identity,
            endpoint=line.endpoint,
            repair=repair,
            chain_strength=None if embedded is None else embedded.chain_strength,
            source=str(problem.source.get("name", "")),
            profile=profile or "",
            region=region or "",
            cost=cost,
        )
        _log.info("job %s", job.id)
        with job.locked(), _telling_fate_of(job):
            return _go_on(job, line, wait, timeout, progress, first=True)


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
    progress: Bar | None = None,
) -> Submission:
    """Go on with a job wherever it stopped: send what was not sent, fetch, decode.

    A part that may have been sent is looked up first. Nothing is fetched twice: a job whose
    answers are on disk is decoded without the network. `same_account` says that a new token
    belongs to the account that the job was submitted from.
    """
    job = job if isinstance(job, Job) else load_job(job, jobs)
    _check(job.label, timeout, job.repair)
    with job.locked(), _telling_fate_of(job):
        if all(state.stage in OVER for state in job.states):
            return Submission(job.cost, job, *decode_job(job))
        with _line_of(job, profile, region, patience) as line:
            _check_place(job, line, same_account)
            return _go_on(job, line, wait, timeout, progress, first=False)


def cancel(
    job: Job | str | Path,
    *,
    profile: str | None = None,
    region: str | None = None,
    jobs: str | Path | None = None,
    same_account: bool = False,
    patience: Patience | None = None,
) -> list[str]:
    """Cancel what has not run yet; gives how far each part has come then.

    What was never sent will never be sent; what may have been sent is looked up first. A part that
    has run already is billed: its answer can still be fetched with `resume`.
    """
    job = job if isinstance(job, Job) else load_job(job, jobs)
    with job.locked(), _telling_fate_of(job):
        for part in job.parts:
            if job.state(part).stage == READY:
                job.record(part, stage=CANCELLED, message="cancelled before it was sent")
        left = [part for part in job.parts if job.state(part).stage not in OVER]
        if left:
            with _line_of(job, profile, region, patience) as line:
                _check_place(job, line, same_account)
                cancel_parts(job, left, line)
        return [state.stage for state in job.states]


def _plain_label(label: str) -> str:
    """Return a label as a server is likely to keep it: composed letters, single blanks."""
    return " ".join(unicodedata.normalize("NFC", label).split())


def _check(label: str, timeout: float, repair: str) -> None:
    if not label.strip() or len(label) > _LONGEST_LABEL or not label.isprintable():
        raise InputError(f"label {label!r}; expected 1 to {_LONGEST_LABEL} printable characters")
    if not timeout > 0:
        raise InputError(f"timeout {timeout:g}; expected seconds above 0")
    if repair not in REPAIRS:
        raise InputError(f"repair {repair!r}; expected one of {', '.join(REPAIRS)}")


def _line_of(
    job: Job, profile: str | None, region: str | None, patience: Patience | None
) -> AbstractContextManager[Leap]:
    """Open a line to the solver of a job."""
    from qcompile.leap.client import connect

    return connect(
        job.solver_type,
        solver=str(job.solver.get("name")),
        profile=profile or job.profile or None,
        region=region or job.region or None,
        patience=patience,
    )


def _check_place(job: Job, line: Leap, same_account: bool) -> None:
    """Ask nobody else about a job: elsewhere its label is not known, and it would be sent again."""
    if not same_account and line.fingerprint(job.id) != job.account:
        raise InputError(
            f"job {job.id} was submitted with another token: choose profile= as then, or, if the "
            "token of the same account was renewed, say same_account=True"
        )
    if line.endpoint != job.endpoint:
        raise InputError(
            f"job {job.id} was made for {job.endpoint}, and the configuration now points to "
            f"{line.endpoint}: choose profile= or region= as when it was submitted"
        )


def _go_on(
    job: Job, line: Leap, wait: bool, timeout: float, progress: Bar | None, *, first: bool
) -> Submission:
    trouble = None
    try:
        for part in job.parts:
            ensure_sent(job, part, line, first=first)
    except LeapError as error:
        if not any(state.stage == WAITING for state in job.states):
            raise
        trouble = error  # what was sent is paid for: its answer comes first
    if wait:
        collect(job, line, timeout, progress)
        for part, state in zip(job.parts, job.states, strict=True):
            if state.doubts and state.id is not None:
                cancel_strays(job, part, line)
    if trouble is not None:
        raise trouble
    return Submission(job.cost, job, *(decode_job(job) if wait else ()))


@contextmanager
def _telling_fate_of(job: Job) -> Iterator[None]:
    """Let every error say what became of the job, and the command that goes on from there."""
    try:
        yield
    except KeyboardInterrupt:
        _log.warning("job %s: %s", job.id, fate(job))
        raise
    except (LeapError, InputError, FormatError) as error:
        told = str(error)
        if told.startswith(f"job {job.id}"):
            raise
        code = getattr(error, "code", None)
    else:
        return
    raise LeapError(f"job {job.id}: {told}; {fate(job)}", code)


def fate(job: Job) -> str:
    """Say in a few words where a job is, and how to go on."""
    states = job.states
    stages = [state.stage for state in states]
    if all(stage in OVER for stage in stages) and ANSWERED not in stages:
        return "it is over, a new one can be submitted"
    if SENT in stages:
        where = "it may be on the server, and is looked up by its label before anything is sent"
    elif WAITING in stages:
        ids = ", ".join(str(state.id) for state in states if state.stage == WAITING)
        where = f"it is on the server as {ids}"
    elif READY in stages and ANSWERED in stages:
        where = (
            f"{stages.count(ANSWERED)} of {len(stages)} parts are answered and the rest was not "
            f"sent: give it up with qcompile cancel {job.name}, or try again"
        )
    elif READY in stages:
        where = "it was not sent"
    else:
        where = "the answer is on disk"
    return f"{where}; go on with: qcompile resume {job.name}"
