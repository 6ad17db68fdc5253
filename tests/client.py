"""Run qcompile in a process of its own, on loopback only, that may die at a given moment.

python -m tests.client MOMENT ARGUMENTS...
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from qcompile.cli.app import main
from qcompile.leap import client, collecting, job, job_store, submission
from tests import no_network


def _die(*_: object, **__: object) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def _die_when(function: Callable[..., Any], wanted: Callable[[dict[str, Any]], bool]) -> Any:
    def replaced(*given: Any, **named: Any) -> Any:
        if wanted(named):
            _die()
        return function(*given, **named)

    return replaced


def _arm(moment: str) -> None:
    record = job.Job.record
    if moment == "while the folder is written":
        vars(job_store)["save_embedding"] = _die
    elif moment == "before it is marked as sent":
        job.Job.record = _die_when(record, lambda n: n.get("stage") == "sent")  # type: ignore[method-assign]
    elif moment == "before POST":
        client.Leap.post = _die  # type: ignore[method-assign]
    elif moment == "after POST, before the id is written":
        job.Job.record = _die_when(record, lambda n: "id" in n)  # type: ignore[method-assign]
    elif moment == "before the answer is noted":
        job.Job.record = _die_when(record, lambda n: n.get("stage") == "answered")  # type: ignore[method-assign]
    elif moment == "between answer and decoded result":
        vars(submission)["decode_job"] = _die
    elif moment == "while the result is written":
        vars(collecting)["save_samples"] = _die
    elif moment != "-":
        raise SystemExit(f"no such moment: {moment}")


if __name__ == "__main__":
    no_network.guard()
    _arm(sys.argv[1])
    sys.exit(main(sys.argv[2:]))
