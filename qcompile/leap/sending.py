"""Send the parts of a job, each exactly once, through every failure on the way."""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime
from typing import Any

from qcompile.errors import LeapError, QcompileError
from qcompile.leap.chains import find_chains, move_chains
from qcompile.leap.client import Leap
from qcompile.leap.job import Job
from qcompile.leap.nonlinear import nonlinear
from qcompile.leap.records import CANCELLED, OVER, READY, SENT, WAITING, Part
from qcompile.leap.retry import BUSY, REJECTED, UNREACHABLE, Failure, Patience
from qcompile.stages.embedded import Embedded, to_embedded
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo

__all__ = ["cancel_duplicates", "cancel_parts", "ensure_sent"]


_log = logging.getLogger("qcompile")

_NO_ACCESS = (401, 403)
_MOST_CHANGES = 3  # of the working graph while a job is being sent


def ensure_sent(job: Job, part: Part, connection: Leap, *, first: bool) -> None:
    """Send a part unless it is on the server.

    `first` states that the job has just been created, so that no part can be on the server. Else a
    part that may be there is looked up before it is sent.
    """
    state = job.state(part)
    if state.stage in OVER or state.id is not None:
        return
    if not first and _found_by_label(job, part, connection):
        return
    data = _data(job, part, connection)
    began, changes = time.monotonic(), 0
    for pause in connection.patience.pauses():
        job.record(part, stage=SENT, sent=_now(), message="")
        found, failure = connection.post(data, part.parameters, part.label)
        if found is not None:
            if failure is not None:
                found = _id_by_label(part, found, connection)
            _record_id(job, part, found)
            return
        assert failure is not None
        if failure.kind in (BUSY, UNREACHABLE, REJECTED):  # this request was not carried out
            _record_not_sent(job, part, failure)
        else:
            # the grace period begins now: the request itself may have taken a minute
            doubts = job.state(part).doubts + 1
            job.record(part, sent=_now(), doubts=doubts, message=failure.text)
            _log.warning("warning: sending: %s; looking up the job by its label", failure.text)
            if _found_by_label(job, part, connection, just_sent=True):
                return
            if failure.replied:
                raise LeapError(f"{failure.text}, and the job is not listed", failure.code)
        if failure.kind == REJECTED:
            changes += 1
            hopeless = failure.code in _NO_ACCESS or changes > _MOST_CHANGES
            if hopeless or not _outdated(job, part, connection, first):
                raise LeapError(f"the server refused the problem: {failure.text}", failure.code)
            data = _data(job, part, connection)
            began = time.monotonic()  # the search for new chains does not count as waiting
        _pause_or_give_up(failure, pause, time.monotonic() - began, connection.patience)


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _record_not_sent(job: Job, part: Part, failure: Failure) -> None:
    """Record that a request was not carried out; an earlier one may still have been."""
    if job.state(part).doubts:
        job.record(part, message=failure.text)
    else:
        job.record(part, stage=READY, sent=None, message=failure.text)


def _id_by_label(part: Part, found: str, connection: Leap) -> str:
    """Return the id of a part after the server replied for another label."""
    listed = connection.find(part.label)
    name = listed[0] if listed else found
    _log.warning("warning: the server replied for another label; using problem %s", name)
    return name


def _pause_or_give_up(failure: Failure, pause: float, waited: float, patience: Patience) -> None:
    pause = max(pause, failure.retry_after or 0.0)
    # the time to look up a job does not count as waiting for the request
    if waited + pause > patience.give_up + patience.grace:
        raise LeapError(f"sending: {failure.text}; gave up after {waited:.0f} s")
    _log.info("sending: %s; again in %.0f s", failure.text, pause)
    time.sleep(pause)


def _found_by_label(job: Job, part: Part, connection: Leap, *, just_sent: bool = False) -> bool:
    """Look up a part by its label, record its id, and return whether it was found.

    A problem may be listed some time after it was sent. `just_sent` states that its request has
    ended. Else the process that made the request may have died while it was under way.
    """
    patience = connection.patience
    pauses = patience.pauses()
    under_way = 0.0 if just_sent else min(patience.request, patience.grace)
    # a deadline on the monotonic clock: the wall clock can be set back, or the record unreadable
    since = _seconds_since(job.state(part).sent)
    deadline = time.monotonic() + patience.grace + under_way - since
    while True:
        found = connection.find(part.label)
        if found:
            _record_id(job, part, found[0])
            cancel_duplicates(job, part, connection)
            return True
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        _log.info("the job is not listed yet; looking for it for another %.0f s", left)
        time.sleep(min(next(pauses), left))


def cancel_duplicates(job: Job, part: Part, connection: Leap) -> None:
    """Cancel all problems with the label of a part except the one whose id is recorded."""
    state = job.state(part)
    others = [name for name in connection.find(part.label) if name != state.id]
    if others:
        _log.warning(
            "warning: %d problems have the label of this job; keeping %s, cancelling %s",
            1 + len(others),
            state.id,
            ", ".join(others),
        )
        connection.cancel(others)


def _seconds_since(moment: str | None) -> float:
    """Return the seconds since `moment`: infinity if None, 0 if it cannot be parsed."""
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
            f"the problem is on the server as {found}, but its id could not be recorded: {error}"
        ) from None


def _outdated(job: Job, part: Part, connection: Leap, first: bool) -> bool:
    """Whether a problem was refused because the solver, or its uploaded data, changed meanwhile."""
    if job.solver_type != "qpu":
        # the server deletes uploaded data after some time
        stale = not first and job.state(part).data_id is not None
        job.record(part, data_id=None)
        return stale
    known = connection.identity
    connection.refresh()
    if connection.identity == known:
        return False
    _log.warning(
        "warning: %s changed its working graph after the job was prepared; the problem is embedded "
        "in the new one",
        connection.solver.name,
    )
    return True


def _data(job: Job, part: Part, connection: Leap) -> dict[str, Any]:
    """Return the problem in the job folder in the form that the solver takes."""
    problem = job.problem()
    if job.solver_type == "qpu":
        assert isinstance(problem, Qubo)
        return _qpu_data(_on_present_graph(job, part, problem, connection), connection)
    state = job.state(part)
    if state.data_id is None:
        is_nonlinear = job.solver_type == "nl"
        content = nonlinear(problem).to_file() if is_nonlinear else _bqm_file(problem)
        state = job.record(part, data_id=connection.upload(content))
    return {"format": "ref", "data": state.data_id}


def _bqm_file(problem: Pubo | Qubo) -> bytes:
    assert isinstance(problem, Qubo)
    with problem.to_bqm().to_file(version=2) as stream:
        return bytes(stream.read())


def _qpu_data(embedded: Embedded, connection: Leap) -> dict[str, Any]:
    qubits = embedded.qubits.tolist()
    fields = dict(zip(qubits, embedded.fields.tolist(), strict=True))
    pairs = zip(embedded.first.tolist(), embedded.second.tolist(), strict=True)
    couplings = {
        (qubits[a], qubits[b]): value
        for (a, b), value in zip(pairs, embedded.couplings.tolist(), strict=True)
    }
    return connection.encode(fields, couplings)


def _on_present_graph(job: Job, part: Part, qubo: Qubo, connection: Leap) -> Embedded:
    """Return the problem on the present working graph, with new chains if the old ones fail."""
    assert job.chain_strength is not None
    chains = job.embedding(part)
    if chains.machine.graph_id != connection.machine.graph_id:
        machine = connection.machine
        chains = move_chains(chains, qubo, machine) or find_chains(qubo, machine)
        job.reembed(part, chains)
    return to_embedded(qubo, chains, job.chain_strength)


def cancel_parts(job: Job, parts: list[Part], connection: Leap) -> None:
    """Cancel parts that may be on the server; a part that has run keeps its stage."""
    for part in parts:
        if job.state(part).id is None and not _found_by_label(job, part, connection):
            job.record(part, stage=CANCELLED, message="cancelled; it had not reached the server")
    for part in parts:
        name = job.state(part).id
        if name is None:
            continue
        try:
            connection.cancel([name])
            status = connection.statuses([name]).get(name)
        except LeapError as error:
            if error.code != 404:
                raise
            # the account is that of the job, so the server has deleted an old problem
            job.record(part, stage=CANCELLED, message=f"the server no longer knows {name}")
            continue
        if status == "CANCELLED":
            job.record(part, stage=CANCELLED, message="cancelled on the server")
