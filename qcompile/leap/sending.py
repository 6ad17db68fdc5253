"""Bring the parts of a job to the server, each once, whatever happens on the way."""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from qcompile.errors import LeapError, QcompileError
from qcompile.leap.chains import find_chains, move_chains
from qcompile.leap.job import CANCELLED, OVER, READY, SENT, WAITING, Job, Part
from qcompile.leap.nonlinear import nonlinear
from qcompile.leap.retry import BUSY, REJECTED, UNREACHABLE, Failure, Patience
from qcompile.stages.embedded import Embedded, to_embedded
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo

if TYPE_CHECKING:
    from qcompile.leap.client import Leap

__all__ = ["cancel_parts", "cancel_strays", "ensure_sent"]


_log = logging.getLogger("qcompile")

_NO_ACCESS = (401, 403)
_MOST_CHANGES = 3  # of the working graph while a job is being sent


def ensure_sent(job: Job, part: Part, line: Leap, *, first: bool) -> None:
    """Send a part unless it is on the server, or may be.

    `first` says that the job was made just now: nothing of it can be there yet.
    """
    state = job.state(part)
    if state.stage in OVER or state.id is not None:
        return
    if not first and _adopted(job, part, line):
        return
    data = _data(job, part, line)
    began, changes = time.monotonic(), 0
    for pause in line.patience.pauses():
        job.record(part, stage=SENT, sent=_now(), message="")
        found, failure = line.post(data, part.parameters, part.label)
        if found is not None:
            _record_id(job, part, found if failure is None else _doubtful(part, found, line))
            return
        assert failure is not None
        if failure.kind in (BUSY, UNREACHABLE, REJECTED):  # this one is certainly not there
            _take_back(job, part, failure)
        else:
            # from now on, not from when it was sent: the request itself may have taken a minute
            doubts = job.state(part).doubts + 1
            job.record(part, sent=_now(), doubts=doubts, message=failure.text)
            _log.warning("warning: sending: %s; looking the job up by its label", failure.text)
            if _adopted(job, part, line, just_now=True):
                return
            if failure.replied:
                raise LeapError(f"{failure.text}, and the job is not listed", failure.code)
        if failure.kind == REJECTED:
            changes += 1
            hopeless = failure.code in _NO_ACCESS or changes > _MOST_CHANGES
            if hopeless or not _changed(job, part, line, first):
                raise LeapError(f"the server refused the problem: {failure.text}", failure.code)
            data = _data(job, part, line)
            began = time.monotonic()  # finding new chains is no waiting
        _pause_or_give_up(failure, pause, time.monotonic() - began, line.patience)


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _take_back(job: Job, part: Part, failure: Failure) -> None:
    """Note that a request was not carried out; an earlier one may have been all the same."""
    if job.state(part).doubts:
        job.record(part, message=failure.text)
    else:
        job.record(part, stage=READY, sent=None, message=failure.text)


def _doubtful(part: Part, found: str, line: Leap) -> str:
    """Settle which id is ours where the server answered for another label."""
    listed = line.find(part.label)
    name = listed[0] if listed else found
    _log.warning("warning: the server answered for another label; taking problem %s", name)
    return name


def _pause_or_give_up(failure: Failure, pause: float, waited: float, patience: Patience) -> None:
    pause = max(pause, failure.retry_after or 0.0)
    # looking a job up takes its own time, which does not count as patience with sending
    if waited + pause > patience.give_up + patience.grace:
        raise LeapError(f"sending: {failure.text}; gave up after {waited:.0f} s")
    _log.info("sending: %s; again in %.0f s", failure.text, pause)
    time.sleep(pause)


def _adopted(job: Job, part: Part, line: Leap, *, just_now: bool = False) -> bool:
    """Look for a part by its label; one that was just sent may take a while to be listed.

    `just_now` says that its request has ended; else it may still have been under way when the
    process that made it died.
    """
    pauses = line.patience.pauses()
    under_way = 0.0 if just_now else min(line.patience.request, line.patience.grace)
    # by the clock on the wall it may never end: that can be set back, or the note be unreadable
    since = _seconds_since(job.state(part).sent)
    deadline = time.monotonic() + line.patience.grace + under_way - since
    while True:
        found = line.find(part.label)
        if found:
            _record_id(job, part, found[0])
            cancel_strays(job, part, line)
            return True
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        _log.info("the job is not listed yet; looking for it for another %.0f s", left)
        time.sleep(min(next(pauses), left))


def cancel_strays(job: Job, part: Part, line: Leap) -> None:
    """Where a part may be on the server more than once, keep the one that is known."""
    state = job.state(part)
    others = [name for name in line.find(part.label) if name != state.id]
    if others:
        _log.warning(
            "warning: %d problems carry the label of this job; keeping %s, cancelling %s",
            1 + len(others),
            state.id,
            ", ".join(others),
        )
        line.cancel(others)


def _seconds_since(moment: str | None) -> float:
    """Return the seconds since something was sent; never was long ago, some day is just now."""
    if moment is None:
        return float("inf")
    try:
        passed = (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
    except (TypeError, ValueError):
        return 0.0
    return max(0.0, passed)


def _record_id(job: Job, part: Part, found: str) -> None:
    try:
        job.record(part, stage=WAITING, id=found)
    except QcompileError as error:
        raise LeapError(
            f"the problem is on the server as {found}, but that could not be noted: {error}"
        ) from None


def _changed(job: Job, part: Part, line: Leap, first: bool) -> bool:
    """After a refusal: see whether the world is no longer what the problem was written for."""
    if job.solver_type != "qpu":
        # uploaded data are not kept for ever
        stale = not first and job.state(part).data_id is not None
        job.record(part, data_id=None)
        return stale
    known = line.identity
    line.look_again()
    if line.identity == known:
        return False
    _log.warning(
        "warning: %s changed its working graph since the job was prepared; the problem is put on "
        "the new one",
        line.solver.name,
    )
    return True


def _data(job: Job, part: Part, line: Leap) -> dict[str, Any]:
    """Write the problem as the solver wants it, from what is in the job folder."""
    problem = job.problem()
    if job.solver_type == "qpu":
        assert isinstance(problem, Qubo)
        return _qpu_data(_on_live_graph(job, part, problem, line), line)
    state = job.state(part)
    if state.data_id is None:
        is_nonlinear = job.solver_type == "nl"
        content = nonlinear(problem).to_file() if is_nonlinear else _bqm_file(problem)
        state = job.record(part, data_id=line.upload(content))
    return {"format": "ref", "data": state.data_id}


def _bqm_file(problem: Pubo | Qubo) -> bytes:
    assert isinstance(problem, Qubo)
    with problem.to_bqm().to_file(version=2) as stream:
        return bytes(stream.read())


def _qpu_data(embedded: Embedded, line: Leap) -> dict[str, Any]:
    qubits = embedded.qubits.tolist()
    fields = dict(zip(qubits, embedded.fields.tolist(), strict=True))
    pairs = zip(embedded.first.tolist(), embedded.second.tolist(), strict=True)
    couplings = {
        (qubits[a], qubits[b]): value
        for (a, b), value in zip(pairs, embedded.couplings.tolist(), strict=True)
    }
    return line.encode(fields, couplings)


def _on_live_graph(job: Job, part: Part, qubo: Qubo, line: Leap) -> Embedded:
    """Return the problem on the working graph as it is now, with new chains where it changed."""
    assert job.chain_strength is not None
    chains = job.embedding(part)
    if chains.machine.graph_id != line.machine.graph_id:
        live = move_chains(chains, qubo, line.machine) or find_chains(qubo, line.machine)
        job.reembed(part, live)
        chains = live
    return to_embedded(qubo, chains, job.chain_strength)


def cancel_parts(job: Job, parts: list[Part], line: Leap) -> None:
    """Cancel parts that may be on the server; those that have run already stay as they are."""
    for part in parts:
        if job.state(part).id is None and not _adopted(job, part, line):
            job.record(part, stage=CANCELLED, message="cancelled; it had not reached the server")
    for part in parts:
        name = job.state(part).id
        if name is None:
            continue
        try:
            line.cancel([name])
            status = line.statuses([name]).get(name)
        except LeapError as error:
            if error.code != 404:
                raise
            # the account is the one it was sent from: it is too old to be kept
            job.record(part, stage=CANCELLED, message=f"the server no longer knows {name}")
            continue
        if status == "CANCELLED":
            job.record(part, stage=CANCELLED, message="cancelled on the server")
