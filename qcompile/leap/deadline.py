"""The time that a command may spend waiting for the server, all requests and pauses together."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Deadline"]


class Deadline:
    """The seconds of waiting that are left.

    The clock runs only inside `waiting`: the search for chains, and a user who is asked whether to
    submit, cost nothing.
    """

    def __init__(self, seconds: float = math.inf) -> None:
        self.seconds = seconds
        self._spent = 0.0
        self._began: float | None = None

    @property
    def spent(self) -> float:
        """The seconds of waiting so far."""
        running = 0.0 if self._began is None else time.monotonic() - self._began
        return self._spent + running

    @property
    def left(self) -> float:
        """The seconds that are left; 0 when they are over."""
        return max(0.0, self.seconds - self.spent)

    @property
    def over(self) -> bool:
        """Whether no time is left."""
        return self.left <= 0

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Let the clock run."""
        if self._began is not None:  # it runs already
            yield
            return
        self._began = time.monotonic()
        try:
            yield
        finally:
            self._spent, self._began = self.spent, None

    def pause(self, seconds: float) -> None:
        """Sleep, but no longer than the time that is left."""
        with self.waiting():
            time.sleep(min(max(0.0, seconds), self.left))
