"""Run a function in a process of its own, with a time limit, and see how much memory it took."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Outcome", "run_apart"]


@dataclass(frozen=True)
class Outcome:
    """What came back: a value, or why there is none."""

    value: Any = None
    seconds: float = float("nan")
    megabytes: float = float("nan")
    trouble: str = ""


def run_apart(
    function: Callable[..., Any], *arguments: Any, limit: float, repeat: int = 1
) -> Outcome:
    """Give the value, the best time of several calls, and memory above what was there before."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(there, function, arguments, repeat))
    process.start()
    there.close()
    try:
        if here.poll(limit):
            return Outcome(**here.recv())
        return Outcome(trouble=f"more than {limit:.0f} s")
    except EOFError:
        return Outcome(trouble="died")
    finally:
        process.kill()
        process.join()


def _work(pipe: Any, function: Callable[..., Any], arguments: tuple[Any, ...], repeat: int) -> None:
    try:
        prepared = function(*arguments)  # gives what is to be timed, its library imported
        times, value = [], None
        watch = _Watch()
        for _ in range(repeat):
            start = time.perf_counter()
            value = prepared()
            times.append(time.perf_counter() - start)
        memory = watch.stop()
        finish = getattr(prepared, "finish", None)
        pipe.send(
            {
                "value": finish(value) if finish else value,
                "seconds": min(times),
                "megabytes": memory / 1e6,
            }
        )
    except Exception as error:  # whatever a peer does must not stop the others
        pipe.send({"trouble": f"{type(error).__name__}: {error}"[:120]})


class _Watch:
    """Largest resident memory from now on, above that of now; looked at every millisecond."""

    def __init__(self) -> None:
        self._before = self._most = _resident()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._done.wait(0.001):
            self._most = max(self._most, _resident())

    def stop(self) -> int:
        self._done.set()
        self._thread.join()
        return max(self._most, _resident()) - self._before


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096
