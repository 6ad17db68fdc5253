"""Problems that a part has on the server more than once: one is kept, the others are cancelled.

A request of unknown outcome may have made a problem that the server lists only later, after the
part was sent again. All processes that look at the same list keep the same problem.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from qcompile.errors import LeapError, QcompileError
from qcompile.leap.client import Leap, Listed
from qcompile.leap.job import Job
from qcompile.leap.records import ANSWERED, CANCELLED, WAITING, Part, State

__all__ = ["Strays", "keep_one", "record_id"]


_log = logging.getLogger("qcompile")

_FURTHEST = ("COMPLETED", "IN_PROGRESS", "PENDING")
_WILL_NOT_RUN = ("FAILED", "CANCELLED")


class Strays:
    """The search for problems of one job that were sent twice, as long as there are doubts."""

    def __init__(self, job: Job, connection: Leap) -> None:
        self._job, self._connection = job, connection
        self._pauses = connection.patience.pauses()
        self._deadline = time.monotonic() + connection.patience.grace

    def __bool__(self) -> bool:
        """Whether a part may be on the server twice."""
        return bool(self._doubtful())

    def _doubtful(self) -> list[tuple[Part, State]]:
        states = zip(self._job.parts, self._job.states, strict=True)
        return [(part, state) for part, state in states if state.doubts and state.id is not None]

    def next_pause(self) -> float | None:
        """Return the seconds until the next look, which grow, or None if no look is needed."""
        return next(self._pauses) if self else None

    def look(self) -> bool:
        """Look up every doubtful part, and return whether every list could be read.

        No answer is given up because one cannot.
        """
        seen = True
        for part, _ in self._doubtful():
            try:
                keep_one(self._job, part, self._connection)
            except LeapError as error:
                _log.warning("warning: %s; the job may be on the server twice", error)
                seen = False
        return seen

    def finish(self) -> None:
        """Look until the grace period after sending is over.

        There are no doubts after that, unless the last look failed.
        """
        seen = self.look()
        while self and (left := self._deadline - time.monotonic()) > 0:
            _log.info(
                "the answer is on disk; looking for a second problem of the job for another %.0f s",
                left,
            )
            self._connection.deadline.pause(min(next(self._pauses), left))
            seen = self.look()
            if self._connection.deadline.over:
                return  # the doubts stay
        if not seen:
            return
        for part, _ in self._doubtful():
            self._job.record(part, doubts=0)


def keep_one(job: Job, part: Part, connection: Leap) -> bool:
    """Keep one problem of a part on the server, cancel the others, return whether there is one.

    The recorded problem is kept if its answer is on disk, if it was cancelled, if it has chains
    that no other one has, or if no other one can have an answer.
    """
    found = connection.listed(part.label)
    state = job.state(part)
    if found and state.id is not None and state.id not in [row.id for row in found]:
        own = connection.listed_as(state.id, part.label)  # the list lags behind
        found += [] if own is None else [own]
    fixed = state.id is not None and (
        state.stage in (ANSWERED, CANCELLED)
        or state.embedding != State().embedding
        or not any(row.status in _FURTHEST for row in found)
    )
    kept = state.id if fixed or not found else _furthest_on(found)
    others = [row for row in found if row.id != kept]
    doubts = state.doubts
    if kept != state.id:
        # the first id belongs to one of the requests of unknown outcome
        doubts = max(0, doubts - 1) if state.id is None else doubts
        record_id(job, part, str(kept), doubts)
    _cancel(others, kept, connection)
    if 0 < doubts <= len(others):  # every request is accounted for
        job.record(part, doubts=0)
    return kept is not None


def record_id(job: Job, part: Part, found: str, doubts: int) -> None:
    """Record the problem of a part on the server, and how many others there may be."""
    try:
        job.record(part, stage=WAITING, id=found, doubts=doubts)
    except QcompileError as error:
        raise LeapError(
            f"the problem is on the server as {found}, but its id could not be recorded: {error}"
        ) from None


def _furthest_on(found: Sequence[Listed]) -> str:
    """Return the id of the problem that is furthest on, of several the oldest."""

    def order(row: Listed) -> tuple[int, Listed]:
        known = row.status in _FURTHEST
        return (_FURTHEST.index(row.status) if known else len(_FURTHEST), row)

    return min(found, key=order).id


def _cancel(others: Sequence[Listed], kept: str | None, connection: Leap) -> None:
    waiting = [row.id for row in others if row.status not in ("COMPLETED", *_WILL_NOT_RUN)]
    run = [row.id for row in others if row.status == "COMPLETED"]
    if waiting:
        _log.warning(
            "warning: %d problems have the label of this job; keeping %s, cancelling %s",
            1 + len(others),
            kept,
            ", ".join(waiting),
        )
        connection.cancel(waiting)
    if run:
        _log.warning(
            "warning: %s has the label of this job, too, and has run: it is billed", ", ".join(run)
        )
