"""Fetch the answers of a job as they come, check them, and decode them to a classifier."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any

import orjson

from qcompile.errors import FormatError, LeapError
from qcompile.files import atomic, guarded
from qcompile.files.classifier import save_classifier
from qcompile.files.samples import save_samples
from qcompile.leap import answers
from qcompile.leap.client import Leap
from qcompile.leap.job import Job
from qcompile.leap.nonlinear import nonlinear
from qcompile.leap.records import ANSWERED, CANCELLED, FAILED, WAITING, Part
from qcompile.objective.decode import decode
from qcompile.runtime.progress import report
from qcompile.stages.classifier import Classifier
from qcompile.stages.embedded import to_embedded
from qcompile.stages.qubo import Qubo
from qcompile.stages.samples import Samples, merged

__all__ = ["collect", "decode_job"]


_log = logging.getLogger("qcompile")

_RUNNING = ("PENDING", "IN_PROGRESS")


def collect(job: Job, connection: Leap, timeout: float) -> None:
    """Wait until every part is over, write each answer as it comes, and report their number."""
    began = time.monotonic()
    while True:
        waiting = {
            str(state.id): part
            for part, state in zip(job.parts, job.states, strict=True)
            if state.stage == WAITING
        }
        if not waiting:
            return
        left = max(1.0, timeout - (time.monotonic() - began))
        found = connection.statuses(list(waiting), left)
        for name, part in waiting.items():
            # a problem that is missing from the reply is fetched by its id
            if found.get(name) not in _RUNNING:
                _fetch(job, part, name, connection)
        waited = time.monotonic() - began
        news = ", ".join(sorted(set(found.values()))).lower() or "no status from the server"
        done = len(job.parts) - len(waiting)
        report(done, len(job.parts), f"{job.solver.name}: {news}, {waited:.0f} s")
        if waited > timeout and any(state.stage == WAITING for state in job.states):
            raise LeapError(f"no answer after {waited:.0f} s ({news})")


def _fetch(job: Job, part: Part, name: str, connection: Leap) -> None:
    """Fetch the outcome of a part and record it; fetch a damaged answer again."""
    trouble = ""
    for _ in range(connection.patience.answers):
        content = connection.answer(name)
        status = content.get("status")
        if status in _RUNNING:
            return
        if status == "CANCELLED":
            job.record(part, stage=CANCELLED, message="cancelled on the server")
            return
        if status != "COMPLETED":
            reason = str(content.get("error_message") or "the solver gave no reason")
            job.record(part, stage=FAILED, message=reason)
            return
        try:
            _keep_answer(job, part, content, connection)
            _read_answer(job, part)
        except FormatError as error:
            trouble = str(error)
            _log.warning("warning: invalid answer: %s; fetching it again", trouble)
            _set_aside(job, part)
            time.sleep(connection.patience.first)
            continue
        job.record(part, stage=ANSWERED)
        return
    raise LeapError(f"invalid answer: {trouble} (it is kept in the job's folder)")


def _keep_answer(job: Job, part: Part, content: Mapping[str, Any], connection: Leap) -> None:
    answer = content.get("answer")
    if not isinstance(answer, dict):
        raise FormatError("the answer has no content")
    if answer.get("format") == "binary-ref":
        states = connection.download(answer)
        with atomic.write_atomically(job.answer_path(part, ".bin")) as stream:
            stream.write(states)
    with atomic.write_atomically(job.answer_path(part)) as stream:
        stream.write(orjson.dumps({**guarded.header_of("job-answer"), **answer}) + b"\n")


def _set_aside(job: Job, part: Part) -> None:
    """Keep an invalid answer, which may have cost money, under a name that is never read."""
    for ending in (".json", ".bin"):
        path = job.answer_path(part, ending)
        if path.exists():
            path.replace(path.with_suffix(f"{ending}.damaged"))


def _read_answer(job: Job, part: Part) -> Samples:
    path = job.answer_path(part)
    with guarded.explained(path):
        answer = guarded.read_json(path)
        guarded.check_header(answer, "job-answer")
        problem = job.problem()
        if job.solver_type == "nl":
            states = job.answer_path(part, ".bin").read_bytes()
            return answers.read_nonlinear_answer(answer, states, nonlinear(problem), problem)
        assert isinstance(problem, Qubo)
        if job.solver_type == "hybrid":
            return answers.read_bqm_answer(answer, problem)
        assert job.chain_strength is not None and part.reads is not None
        embedded = to_embedded(problem, job.embedding(part), job.chain_strength)
        return answers.read_qpu_answer(
            answer,
            embedded,
            part.reads,
            repair=job.repair,
            complete="max_answers" not in part.parameters,
        )


def decode_job(job: Job) -> tuple[Samples, Classifier | None]:
    """Decode the answers, and write the samples and the classifier to the job's folder.

    There is no classifier if the problem was not compiled from data.
    """
    answered = [part for part in job.parts if job.state(part).stage == ANSWERED]
    lost = [(part, job.state(part)) for part in job.parts if part not in answered]
    if not answered:
        reasons = "; ".join(dict.fromkeys(f"{state.stage}: {state.message}" for _, state in lost))
        raise LeapError(f"no part was answered ({reasons})")
    for part, state in lost:
        _log.warning("warning: part %d %s: %s", part.number, state.stage, state.message)
    parts = [_read_answer(job, part) for part in answered]
    if not sum(map(len, parts)):
        raise LeapError('every sample has a broken chain, and repair="discard" removes them all')
    found = merged(parts, _info(job, answered, parts))
    found = found.lowest(len(found))
    problem = job.problem()
    classifier = None
    with atomic.all_or_nothing():
        if problem.encoding is not None and problem.preparation is not None:
            classifier = decode(problem, found)
            save_classifier(classifier, job.folder / "model.json")
        save_samples(found, job.folder / "samples.json")
    return found, classifier


def _info(job: Job, answered: list[Part], parts: list[Samples]) -> dict[str, Any]:
    """Return the info of the samples of all parts together."""
    timings = [dict(part.info.get("timing", {})) for part in parts]
    names = sorted(set().union(*timings))
    spaces = {str(part.info["space"]) for part in parts if "space" in part.info}
    return {
        "solver": job.solver.name,
        "job": job.id,
        "problem_ids": [job.state(part).id for part in answered],
        "timing": {name: sum(timing.get(name, 0) for timing in timings) for name in names},
        **({"space": spaces.pop()} if len(spaces) == 1 else {}),
        **_reads(job, answered, parts),
    }


def _reads(job: Job, answered: list[Part], parts: list[Samples]) -> dict[str, Any]:
    """Return the number of reads, and how those with broken chains were treated."""
    info: dict[str, Any] = {}
    counts = [part.reads for part in answered if part.reads is not None]
    if len(counts) == len(answered):
        info["reads"] = sum(counts)
    if all("repair" in part.info for part in parts):
        info["repair"] = job.repair
        info["discarded"] = sum(int(part.info["discarded"]) for part in parts)
        chains = {str(part.info["chains"]) for part in parts}
        info |= {"chains": chains.pop()} if len(chains) == 1 else {}
    return info
