"""Send the parts of a job, each exactly once, through every failure on the way."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from qcompile.embedding.complete import complete_qubo
from qcompile.errors import LeapError
from qcompile.leap import owners
from qcompile.leap.chains import move_copies
from qcompile.leap.client import Leap, described_by_server
from qcompile.leap.job import Job
from qcompile.leap.nonlinear import nonlinear
from qcompile.leap.programs import program_of, with_state
from qcompile.leap.records import CANCELLED, OVER, READY, SENT, Part, State
from qcompile.leap.retry import REJECTED, UNREACHABLE, Failure
from qcompile.leap.strays import Strays, keep_one, record_id
from qcompile.stages.program import Program
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo

__all__ = ["cancel_parts", "ensure_sent"]


_log = logging.getLogger("qcompile")

_NO_ACCESS = (401, 403)
# What a server answers instead of doing what was asked. Others may come from a gateway afterwards.
_REFUSALS = (400, *_NO_ACCESS, 402, 404, 405, 406, 410, 411, 413, 414, 415, 422, 431)
_MOST_CHANGES = 3  # of the working graph while a job is being sent


def ensure_sent(job: Job, part: Part, connection: Leap, *, first: bool) -> None:
    """Send a part unless it is on the server.

    `first` states that the job has just been created, so that no part can be on the server. Else a
    part that may be there is looked up before it is sent.
    """
    state = job.state(part)
    if state.stage in OVER or state.id is not None:
        return
    if not first:
        if _found_by_label(job, part, connection, _time_to_look(job, state, connection)):
            return
        _refuse_copy(job)
        owners.claim(job)
    data, parameters = _content(job, part, connection)
    began, changes = time.monotonic(), 0
    for pause in connection.patience.pauses():
        connection.refuse_late("sending")
        # this request counts as one of unknown outcome until its reply proves the opposite
        doubts = _doubts(job.state(part))
        job.record(part, stage=SENT, sent=_now(), doubts=doubts + 1, message="")
        found, failure = connection.post(data, parameters, part.label)
        ended = time.monotonic()
        if failure is None:
            record_id(job, part, str(found), doubts)
            return
        if _was_not_carried_out(failure):
            _record_not_sent(job, part, failure, doubts)
        else:
            job.record(part, message=failure.text)
            _log.warning("warning: sending: %s; looking up the job by its label", failure.text)
            if _found_by_label(job, part, connection, connection.patience.grace):
                return
            if found is not None:
                _log.warning("warning: using problem %s, which has another label", found)
                record_id(job, part, found, doubts)
                return
            if failure.replied:
                raise LeapError(f"{failure.text}, and the job is not listed", failure.code)
        if failure.kind == REJECTED:
            changes += 1
            hopeless = failure.code in _NO_ACCESS or changes > _MOST_CHANGES
            if hopeless or not _outdated(job, part, connection, first):
                raise LeapError(f"the server refused the problem: {failure.text}", failure.code)
            data, parameters = _content(job, part, connection)
            began = time.monotonic()  # the search for new chains does not count as waiting
        waits = max(pause, failure.retry_after or 0.0) - (time.monotonic() - ended)
        _pause_or_give_up(failure, max(0.0, waits), began, connection)


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _doubts(state: State) -> int:
    """Return how many requests have an unknown outcome; 0.1.0 did not count the last one."""
    return max(state.doubts, int(state.stage == SENT))


def _was_not_carried_out(failure: Failure) -> bool:
    """Whether a failure proves that the request did nothing."""
    if failure.kind == REJECTED:
        return failure.code is None or failure.code in _REFUSALS
    return failure.kind == UNREACHABLE


def _record_not_sent(job: Job, part: Part, failure: Failure, doubts: int) -> None:
    """Record that a request was not carried out; an earlier one may still have been."""
    if doubts:
        job.record(part, doubts=doubts, message=failure.text)
    else:
        job.record(part, stage=READY, sent=None, doubts=0, message=failure.text)


def _pause_or_give_up(failure: Failure, pause: float, began: float, connection: Leap) -> None:
    patience = connection.patience
    waited = time.monotonic() - began
    # the time to look up a job does not count as waiting for the request
    if pause > min(patience.give_up + patience.grace - waited, connection.deadline.left):
        raise LeapError(f"sending: {failure.text}; gave up after {waited:.0f} s")
    _log.info("sending: %s; again in %.0f s", failure.text, pause)
    connection.deadline.pause(pause)


def _refuse_copy(job: Job) -> None:
    """Raise LeapError if the job belongs to another folder, from which it may be sent any time."""
    original = owners.original_of(job)
    if original is not None:
        raise LeapError(
            f"job {job.id}: {job.folder} is a copy of {original}, and the job is not on the "
            "server: resume it there, or delete that folder and resume it here"
        )


def _time_to_look(job: Job, state: State, connection: Leap) -> float:
    """Return the seconds to look for a part that an earlier process may have sent.

    They are counted in this process, as the clock may have been set meanwhile. The process that
    made the request may have died while the request was under way. If the folder may be a copy, a
    part may have been sent from another one.
    """
    if state.stage == READY and owners.belongs_here(job):
        return 0.0
    patience = connection.patience
    return patience.grace + min(patience.request, patience.grace)


def _found_by_label(job: Job, part: Part, connection: Leap, seconds: float) -> bool:
    """Look up a part by its label, record its id, and return whether it was found.

    A problem may be listed some time after it was sent.
    """
    deadline = time.monotonic() + seconds
    for pause in connection.patience.pauses():
        if keep_one(job, part, connection):
            return True
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        _log.info("the job is not listed yet; looking for it for another %.0f s", left)
        connection.deadline.pause(min(pause, left))
    raise AssertionError("pauses never end")


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


def _content(job: Job, part: Part, connection: Leap) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Return the problem in the job folder in the form that the solver takes, and parameters."""
    if job.solver_type == "qpu":
        program = _on_present_graph(job, part, job.qubos(), connection)
        properties = connection.solver.properties
        with described_by_server():
            parameters = with_state(part.parameters, program, part.state, properties)
        return _qpu_data(program, connection), parameters
    problem, state = job.problem(), job.state(part)
    if state.data_id is None:
        is_nonlinear = job.solver_type == "nl"
        content = nonlinear(problem).to_file() if is_nonlinear else _bqm_file(problem)
        state = job.record(part, data_id=connection.upload(content))
    return {"format": "ref", "data": state.data_id}, part.parameters


def _bqm_file(problem: Pubo | Qubo) -> bytes:
    assert isinstance(problem, Qubo)
    with problem.to_bqm().to_file(version=2) as stream:
        return bytes(stream.read())


def _qpu_data(program: Program, connection: Leap) -> dict[str, Any]:
    qubits = program.qubits.tolist()
    fields = dict(zip(qubits, program.fields.tolist(), strict=True))
    pairs = zip(program.first.tolist(), program.second.tolist(), strict=True)
    couplings = {
        (qubits[a], qubits[b]): value
        for (a, b), value in zip(pairs, program.couplings.tolist(), strict=True)
    }
    return connection.encode(fields, couplings)


def _on_present_graph(job: Job, part: Part, qubos: Sequence[Qubo], connection: Leap) -> Program:
    """Return the problem on the present working graph, with new chains if the old ones fail."""
    embeddings = job.embeddings(part)
    if embeddings[0].machine.graph_id != connection.machine.graph_id:
        # the chains of different copies hold any problem of their size
        structure = qubos[0] if len(qubos) == 1 else complete_qubo(qubos[0].variables)
        embeddings = move_copies(embeddings, structure, connection.machine)
        job.reembed(part, embeddings)
    return program_of(job, part, qubos, embeddings)


def cancel_parts(job: Job, parts: list[Part], connection: Leap) -> None:
    """Cancel parts that may be on the server; a part that has run keeps its stage."""
    for part in parts:
        state = job.state(part)
        if state.id is not None:
            if state.doubts:
                keep_one(job, part, connection)
        elif not _found_by_label(job, part, connection, _time_to_look(job, state, connection)):
            job.record(part, stage=CANCELLED, message="cancelled; it had not reached the server")
    for part in parts:
        _cancel_part(job, part, connection)
    known = [state.id for state in job.states]
    Strays(job, connection).finish()  # a problem may be listed only now
    for part, name in zip(job.parts, known, strict=True):
        if job.state(part).id != name:
            _cancel_part(job, part, connection)


def _cancel_part(job: Job, part: Part, connection: Leap) -> None:
    name = job.state(part).id
    if name is None:
        return
    try:
        connection.cancel([name])
        status = connection.statuses([name]).get(name)
    except LeapError as error:
        if error.code != 404:
            raise
        # the account is that of the job, so the server has deleted an old problem
        job.record(part, stage=CANCELLED, message=f"the server no longer knows {name}")
        return
    if status == "CANCELLED":
        job.record(part, stage=CANCELLED, message="cancelled on the server")
