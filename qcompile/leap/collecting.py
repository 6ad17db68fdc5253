"""Fetch the answers of a job as they come, check them, and decode them to a classifier."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import Any

import orjson

from qcompile.embedding.unembed import merged_copies
from qcompile.errors import FormatError, InputError, LeapError, MemoryLimitError
from qcompile.files import atomic, guarded
from qcompile.files.classifier import save_classifier
from qcompile.files.samples import save_samples
from qcompile.leap import answers
from qcompile.leap.client import Leap
from qcompile.leap.job import Job
from qcompile.leap.nonlinear import nonlinear
from qcompile.leap.programs import program_of
from qcompile.leap.records import ANSWERED, CANCELLED, FAILED, READY, WAITING, Part
from qcompile.leap.redaction import scrub
from qcompile.leap.strays import Strays
from qcompile.leap.strength import chosen_strength, has_choice, record_choice
from qcompile.objective.decode import decode
from qcompile.runtime.progress import report
from qcompile.runtime.text import one_line
from qcompile.solvers.descent import descend
from qcompile.stages.classifier import Classifier
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo
from qcompile.stages.samples import Samples, merged

__all__ = [
    "choose_strength",
    "collect",
    "decode_copies",
    "decode_job",
    "fetch_lost_answers_again",
    "read_copies",
]


_log = logging.getLogger("qcompile")

_RUNNING = ("PENDING", "IN_PROGRESS")
_ENDS = ("FAILED", "CANCELLED")


def collect(job: Job, connection: Leap, strays: Strays) -> None:
    """Wait until every part is over, write each answer as it comes, and report their number.

    If a part may be on the server twice, polls are short, with a look at the list before each.
    """
    deadline, news = connection.deadline, "not asked"
    while True:
        strays.look()
        waiting = {
            str(state.id): part
            for part, state in zip(job.parts, job.states, strict=True)
            if state.stage == WAITING
        }
        if not waiting:
            return
        connection.await_poll()
        if deadline.over:
            raise LeapError(f"no answer after {deadline.spent:.0f} s ({news})")
        try:
            found = connection.statuses(list(waiting), strays.next_pause())
        except LeapError as error:
            if error.code is not None:
                raise
            raise LeapError(f"no answer after {deadline.spent:.0f} s ({news}): {error}") from None
        for name, part in waiting.items():
            # a problem that is missing from the reply is fetched by its id
            if found.get(name) not in _RUNNING:
                _fetch(job, part, name, connection, found.get(name))
        news = one_line(", ".join(sorted(set(found.values()))).lower() or "no status known")
        done = len(job.parts) - len(waiting)
        report(done, len(job.parts), f"{job.solver.name}: {news}, {deadline.spent:.0f} s")


def _fetch(job: Job, part: Part, name: str, connection: Leap, reported: str | None) -> None:
    """Fetch the outcome of a part and record it; fetch what is damaged or contradictory again.

    `reported` is the status before. A part ends without an answer only if two statuses in a row
    say so, and none says that it is complete: then it is paid for, and its answer may still come.
    """
    told: list[Any] = [reported]
    for _ in range(connection.patience.answers):
        content = connection.answer(name)
        told.append(content.get("status"))
        if told[-1] in _RUNNING:
            return
        if told[-1] in _ENDS and told[-2] == told[-1] and "COMPLETED" not in told:
            _record_end(job, part, content)
            return
        try:
            _keep_answer(job, part, content, connection)
            _read_answer(job, part)
        except FormatError as error:
            trouble = str(error)
            _log.warning("warning: invalid answer: %s; fetching it again", trouble)
            _set_aside(job, part)
            connection.deadline.pause(connection.patience.first)
            continue
        job.record(part, stage=ANSWERED)
        return
    raise LeapError(f"invalid answer: {trouble} (what came is kept in the job's folder)")


def _record_end(job: Job, part: Part, content: Mapping[str, Any]) -> None:
    """Record the end of a part without an answer."""
    if content["status"] == "CANCELLED":
        job.record(part, stage=CANCELLED, message="cancelled on the server")
    else:
        reason = one_line(content.get("error_message") or "the solver gave no reason")
        job.record(part, stage=FAILED, message=reason)


def fetch_lost_answers_again(job: Job) -> None:
    """Mark parts as waiting whose answer is no longer on disk, or damaged; the server has it."""
    for part, state in zip(job.parts, job.states, strict=True):
        if state.stage != ANSWERED or state.id is None:
            continue
        job.problem()  # raises: if the problem or the chains are damaged, the answer is not
        if job.solver_type == "qpu":
            job.embeddings(part)
        try:
            _read_answer(job, part)
        except (FormatError, InputError) as error:
            _log.warning("warning: the answer is lost (%s); fetching it again", error)
            _set_aside(job, part)
            job.record(part, stage=WAITING)


def _keep_answer(job: Job, part: Part, content: Mapping[str, Any], connection: Leap) -> None:
    status, answer = content.get("status"), content.get("answer")
    if status != "COMPLETED":
        raise FormatError(f"its status is {one_line(scrub(repr(status)))}")
    if not isinstance(answer, dict):
        raise FormatError("the answer has no content")
    if answer.get("format") == "binary-ref":
        states = connection.download(answer)
        with atomic.replacing(), atomic.write_atomically(job.answer_path(part, ".bin")) as stream:
            stream.write(states)
    with atomic.replacing(), atomic.write_atomically(job.answer_path(part)) as stream:
        stream.write(orjson.dumps({**guarded.header_of("job-answer"), **answer}) + b"\n")


def _set_aside(job: Job, part: Part) -> None:
    """Keep an invalid answer, which may have cost money, under a name that is never read."""
    for ending in (".json", ".bin"):
        path = job.answer_path(part, ending)
        with suppress(OSError):  # it is missing; or a folder, which the next answer refuses
            path.replace(path.with_suffix(f"{ending}.damaged"))


def _read_answer(job: Job, part: Part) -> Samples:
    """Read the samples of a part; those of a QPU are those of all copies, one after another."""
    if job.solver_type == "qpu":
        return merged_copies(read_copies(job, part, job.repair))
    path = job.file(job.answer_path(part).name)
    with guarded.explained(path):
        answer = _answer_in(path)
        problem = job.problem()
        if job.solver_type == "nl":
            states = job.file(job.answer_path(part, ".bin").name).read_bytes()
            return answers.read_nonlinear_answer(answer, states, nonlinear(problem), problem)
        assert isinstance(problem, Qubo)
        return answers.read_bqm_answer(answer, problem)


def read_copies(job: Job, part: Part, repair: str) -> tuple[Samples, ...]:
    """Read the samples of each copy of a part of a QPU's job."""
    path = job.file(job.answer_path(part).name)
    with guarded.explained(path):
        assert part.reads is not None
        return answers.read_qpu_answer(
            _answer_in(path),
            program_of(job, part, job.qubos()),
            part.reads,
            repair=repair,
            complete="max_answers" not in part.parameters,
        )


def _answer_in(path: Path) -> dict[str, Any]:
    answer: dict[str, Any] = guarded.read_json(path)
    guarded.check_header(answer, "job-answer")
    return answer


def choose_strength(job: Job) -> None:
    """Choose the chain strength by the answers of the sweep, once; the choice is kept on disk.

    If no trial was answered, the parts that wait for the choice end.
    """
    later = [part for part in job.parts if part.phase > 1 and job.state(part).stage == READY]
    if not later or has_choice(job):
        return
    trials = [part for part in job.parts if part.phase == 1]
    found = [
        (part.chain_strengths[number % len(part.chain_strengths)], samples)
        for part in trials
        if job.state(part).stage == ANSWERED and part.chain_strengths
        for number, samples in enumerate(read_copies(job, part, "majority"))
    ]
    if found:
        _log.info("the best chain strength is %.6g", record_choice(job, found))
        return
    for part in later:
        job.record(part, stage=CANCELLED, message="not sent: no trial of the sweep was answered")


def decode_job(job: Job) -> tuple[Samples, Classifier | None]:
    """Decode the answers, and write the samples and the classifier to the job's folder.

    There is no classifier if the problem was not compiled from data. The samples are those of the
    first problem if copies are different.
    """
    if job.different:
        return decode_copies(job)[0], None
    answered = _answered(job)
    parts = [_read_answer(job, part) for part in answered]
    if not sum(map(len, parts)):
        raise LeapError('every sample has a broken chain, and repair="discard" removes them all')
    found = merged(parts, _info(job, answered, parts))
    found = found.lowest(len(found))
    problem = job.problem()
    if job.post == "descent":
        found = _descended(problem, found)
    classifier = None
    with atomic.replacing(), atomic.all_or_nothing():
        if problem.encoding is not None and problem.preparation is not None:
            classifier = decode(problem, found)
            save_classifier(classifier, job.folder / "model.json")
        save_samples(found, job.folder / "samples.json")
    return found, classifier


def decode_copies(job: Job) -> tuple[Samples, ...]:
    """Decode the answers to different problems, and write the samples of each to the folder.

    There are fewer than problems if the solver's working graph had no room for all of them.
    """
    answered = _answered(job)
    parts = [read_copies(job, part, job.repair) for part in answered]
    found = []
    for copies in zip(*parts, strict=False):
        own = merged(copies, _info(job, answered, list(copies)))
        found.append(own.lowest(len(own)))
    with atomic.replacing(), atomic.all_or_nothing():
        for number, samples in enumerate(found[1:], 2):
            save_samples(samples, job.folder / f"samples-{number}.json")
        save_samples(found[0], job.folder / "samples.json")
    return tuple(found)


def _answered(job: Job) -> list[Part]:
    """Return the parts with an answer, or raise LeapError if there are none."""
    answered = [part for part in job.parts if job.state(part).stage == ANSWERED]
    lost = [(part, job.state(part)) for part in job.parts if part not in answered]
    if not answered:
        reasons = "; ".join(dict.fromkeys(f"{state.stage}: {state.message}" for _, state in lost))
        raise LeapError(f"no part was answered ({reasons})")
    for part, state in lost:
        _log.warning("warning: part %d %s: %s", part.number, state.stage, state.message)
    return answered


def _descended(problem: Pubo | Qubo, found: Samples) -> Samples:
    """Return the samples after a descent; what was paid for is kept even if there is none."""
    try:
        return descend(problem, found)
    except (InputError, MemoryLimitError) as error:
        _log.warning("warning: no descent from the samples: %s", error)
        return found


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
    if any(part.info.get("copies", 1) > 1 for part in parts):
        info["copies"] = max(part.info.get("copies", 1) for part in parts)
        kept = zip_longest(*(_copy_reads(part) for part in parts), fillvalue=0)
        info["copy_reads"] = [sum(reads) for reads in kept]
    if job.solver_type == "qpu" and any(part.phase > 1 for part in job.parts) and has_choice(job):
        info["chain_strength"] = chosen_strength(job)
    if all("repair" in part.info for part in parts):
        info["repair"] = job.repair
        info["discarded"] = sum(int(part.info["discarded"]) for part in parts)
        chains = {str(part.info["chains"]) for part in parts}
        info |= {"chains": chains.pop()} if len(chains) == 1 else {}
    return info


def _copy_reads(part: Samples) -> list[int]:
    """Return the reads that each copy of a part kept."""
    return list(part.info.get("copy_reads", [int(part.occurrences.sum())]))
