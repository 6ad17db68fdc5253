"""The rounds of a training on a QPU: each is a job in the training's folder, sent and paid once.

A round that was begun before is gone on with: its problem is read from its folder, it is sent only
if it is not on the server, and an answer that is on disk is not asked for again. So a training is
made again from its folder by making all of its rounds in order.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from datetime import UTC, datetime

from qcompile.embedding.complete import with_chains
from qcompile.embedding.copies import complete_copies
from qcompile.leap.client import Leap, described_by_server
from qcompile.leap.collecting import decode_copies, decode_job, fetch_lost_answers_again
from qcompile.leap.cost import qpu_cost
from qcompile.leap.job import Job
from qcompile.leap.job_store import create_job
from qcompile.leap.records import CANCELLED, OVER, READY, Part
from qcompile.leap.sending import cancel_parts
from qcompile.leap.submission import send_and_collect
from qcompile.reduction.quadratize import quadratize
from qcompile.stages.classifier import Classifier
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo
from qcompile.stages.samples import Samples
from qcompile.training.inner import Place
from qcompile.training.leap_cost import cost_of_round, size_on
from qcompile.training.leap_job import TrainingJob, TrainingProgress, is_answered
from qcompile.training.rounds import Found, machine_seconds

__all__ = ["BUDGET", "LeapSteps", "Link"]


_log = logging.getLogger("qcompile")

BUDGET = "budget"  # why a training ended
_ROUNDING = 1e-9  # seconds: sums of microseconds are not exact


class Link:
    """A connection to Leap that is opened when it is first used: a replay needs none."""

    def __init__(self, connect: Callable[[], AbstractContextManager[Leap]]) -> None:
        self._connect = connect
        self._stack = ExitStack()
        self._leap: Leap | None = None

    def __enter__(self) -> Link:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def leap(self) -> Leap:
        """The open connection."""
        if self._leap is None:
            self._leap = self._stack.enter_context(self._connect())
        return self._leap


class LeapSteps:
    """The solver of a training's rounds: a QPU, behind the folder of the training.

    `seconds` is the QPU access time that the server reported for all rounds so far.
    """

    def __init__(self, training: TrainingJob, features: int, link: Link) -> None:
        self.training, self.seconds = training, 0.0
        self._features, self._link = features, link
        self._progress = training.progress
        self._known: dict[Place, tuple[Job, tuple[Qubo, ...]] | None] = {}

    @property
    def name(self) -> str:
        """The name of the QPU."""
        return self._progress.solver or self.training.solver.name

    @property
    def size(self) -> int:
        """The most weights that a round may change on the QPU as it is now."""
        return size_on(self._link.leap, self._features, self.training.options)

    @property
    def ended(self) -> str:
        """Why the training had ended before it was resumed, or nothing."""
        return self._progress.ended

    def stored(self, place: Place) -> tuple[Qubo, ...]:
        """Return the problems of a round that was begun before, unless it has no answer."""
        if place not in self._known:
            self._known[place] = self._begun(place)
        known = self._known[place]
        return () if known is None else known[1]

    def _begun(self, place: Place) -> tuple[Job, tuple[Qubo, ...]] | None:
        for job in reversed(self.training.attempts(place)):
            over = all(state.stage in OVER for state in job.states)
            if not over or is_answered(job):
                return job, job.qubos()
        return None

    def refusal(self, place: Place) -> str:
        """Return "budget" if what was spent and the next round together exceed the budget."""
        budget = self._progress.budget
        if budget is None:
            return ""
        bits = self.size * (self.training.options.bits or 1)
        copies = self.training.options.copies
        each = cost_of_round(self._link.leap, bits, self.training.search, copies).seconds
        return BUDGET if each is None or self.seconds + each > budget + _ROUNDING else ""

    def sample(
        self, problems: Sequence[Pubo | Qubo], place: Place, *, seed: int, keep: int
    ) -> list[tuple[Samples, Pubo | Qubo]]:
        """Send the problems of a round unless they were sent, wait, and return the lowest samples.

        They are annealed together, so that several cost little more than one.
        """
        self.stored(place)
        known = self._known.pop(place)
        if known is None:
            qubos = tuple(quadratize(p) if isinstance(p, Pubo) else p for p in problems)
            job = self._new_round(qubos, place)
            with job.locked():
                samples = send_and_collect(job, self._link.leap, True, first=True).samples
        else:
            job, qubos = known
            with job.locked():
                samples = self._go_on(job)
        assert samples is not None  # they were waited for
        reported = machine_seconds(samples)
        # an answer that states no time counts as predicted
        self.seconds += (job.cost.seconds or 0.0) if reported is None else reported
        found = decode_copies(job) if job.different else (samples,)
        return list(zip(found, qubos, strict=False))

    def _go_on(self, job: Job) -> Samples | None:
        """Return the samples of a round that was begun before; without the network if possible."""
        fetch_lost_answers_again(job)
        states = job.states
        if all(own.stage in OVER for own in states) and not any(own.doubts for own in states):
            return decode_job(job)[0]
        return send_and_collect(job, self._link.leap, True, first=False).samples

    def _new_round(self, qubos: Sequence[Qubo], place: Place) -> Job:
        """Write the folder of a round, with chains on the QPU as it is now."""
        training, leap = self.training, self._link.leap
        chains = complete_copies(leap.machine, qubos[0].variables, copies=len(qubos))
        embedded = [
            with_chains(qubo, own, training.chain_strength)
            for qubo, own in zip(qubos, chains, strict=True)
        ]
        strengths = tuple(own.chain_strength for own in embedded)
        given = dict(training.search.parameters or {})
        with described_by_server():
            cost = qpu_cost(
                leap.solver,
                embedded[0],
                training.search.reads,
                given,
                copies=len(qubos),
                qubits=sum(own.qubits for own in chains),
            )
        folder, name = training.new_attempt(place)
        job = Job(
            folder=folder,
            id=name,
            label=training.label,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            solver_type="qpu",
            solver=leap.identity,
            endpoint=leap.endpoint,
            account=leap.fingerprint(name),
            repair="majority",
            chain_strength=strengths[0],
            digests={},
            source=training.source,
            profile=training.profile,
            region=training.region,
            cost=cost,
            parts=tuple(
                Part(
                    n,
                    f"{training.label} {name}.{n}",
                    reads,
                    {**given, "num_reads": reads},
                    chain_strengths=strengths if len(qubos) > 1 else (),
                )
                for n, reads in enumerate(cost.reads, 1)
            ),
            copies=len(qubos),
            different=len(qubos) > 1,
        )
        return create_job(job, qubos, chains)

    def change(self, solver: str | None, budget: float | None) -> None:
        """Go on with another solver or another budget, which are recorded first."""
        known = self._progress
        moved = solver is not None and solver != self.name
        if moved:
            _ = self._link.leap.solver  # raises if it is not online, before it is recorded
        if known.ended != CANCELLED and (moved or budget not in (None, known.budget)):
            self._progress = replace(
                known,
                solver=solver or known.solver,
                budget=known.budget if budget is None else budget,
                ended="" if known.ended == BUDGET else known.ended,
            )
            self.training.record(self._progress)
        current = self.training.open_round
        if current is not None and self.ended == CANCELLED:
            self._leave(current, "cancelled before it was sent")
        elif current is not None and current.solver.name != self.name:
            self._leave(current, "moved to another solver")

    def _leave(self, job: Job, reason: str) -> None:
        """Cancel a round that is not over; one that has run is kept."""
        with job.locked():
            for part in job.parts:
                if job.state(part).stage == READY:
                    job.record(part, stage=CANCELLED, message=reason)
            left = [part for part in job.parts if job.state(part).stage not in OVER]
            if left:
                cancel_parts(job, left, self._link.leap)

    def keep(self, classifier: Classifier, found: Found) -> None:
        """Write the best classifier so far, and how far the training has come."""
        if len(found.rounds) > self._progress.rounds:  # a replay knows less than the folder
            self._record(classifier, found.objective, len(found.rounds), self.ended)

    def finish(self, classifier: Classifier, objective: float, rounds: int, ended: str) -> None:
        """Write the result; a training that was interrupted has not ended."""
        self._record(classifier, objective, rounds, "" if ended == "interrupted" else ended)

    def _record(self, classifier: Classifier, objective: float, rounds: int, ended: str) -> None:
        known = self._progress
        self._progress = TrainingProgress(
            rounds, objective, self.seconds, ended, known.solver, known.budget
        )
        self.training.record(self._progress, classifier)
