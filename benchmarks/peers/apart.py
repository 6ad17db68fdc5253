"""Run a function in a process of its own, with a time limit, and see how much memory it took."""

from __future__ import annotations

import multiprocessing
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
    """Return the value, the best time of several calls, and memory above what was there before."""
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
    """Largest resident memory from now on, above that of now.

    The system keeps the largest size; a thread that looks would not run while C code holds Python's
    lock.
    """

    def __init__(self) -> None:
        self._before = _memory("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # forget the largest size so far

    def stop(self) -> int:
        return _memory("VmHWM") - self._before


def _memory(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no {name} in /proc/self/status")
