"""Train and resume in processes that die just before their n-th request or write.

One process imports everything once and is forked for each training: to start Python for each of
them would take most of the time. It reads a line of JSON for each, and answers with a line of JSON.

python -m tests.training.victims
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import requests

import qcompile
from tests import no_network
from tests.leap.jobs import QUICK

_made: list[str] = []  # what happened so far: requests and writes


def _watched(function: Callable[..., Any], kind: str, dies_at: int | None) -> Any:
    """Return a function that counts its calls, and dies before one of them."""

    def replaced(*given: Any, **named: Any) -> Any:
        _made.append(kind)
        if len(_made) == dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*given, **named)

    return replaced


def _train(data: str, jobs: str, copies: int) -> None:
    machine = qcompile.LeapMachine(jobs=jobs, patience=QUICK)
    qcompile.train(data, machine=machine, rounds=2, reads=20, seed=1, copies=copies)


def _be_a_victim(order: dict[str, Any], answers: int) -> None:
    """Train or resume in this process, and tell what requests and writes were made."""
    dies_at = order["dies_at"]
    requests.Session.send = _watched(requests.Session.send, "request", dies_at)  # type: ignore[method-assign]
    for name in ("replace", "rename"):  # a file or a folder gets its name: the write is done
        setattr(Path, name, _watched(getattr(Path, name), "write", dies_at))
    errors = os.open(order["errors"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(errors, 2)
    try:
        if order["job"] is None:
            _train(order["data"], order["jobs"], order["copies"])
        else:
            qcompile.resume(order["job"], patience=QUICK)
    except qcompile.QcompileError as error:
        os.write(2, str(error).encode())
        os._exit(1)
    _watched(lambda: None, "end", dies_at)()
    os.write(answers, json.dumps(_made).encode())
    os._exit(0)


def _prepare() -> None:
    """Import and load what a training needs, so that the processes to come need not."""
    import sklearn.datasets  # noqa: F401

    qcompile.train("synthetic:examples=50,features=3", solver="mock", rounds=1, reads=2)
    no_network.guard()


if __name__ == "__main__":
    _prepare()
    for line in sys.stdin:
        wanted = json.loads(line)
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            _be_a_victim(wanted, writer)
        os.close(writer)
        _, status = os.waitpid(child, 0)
        told = os.read(reader, 10_000)
        os.close(reader)
        made = json.loads(told) if told else []
        print(json.dumps({"code": os.waitstatus_to_exitcode(status), "made": made}), flush=True)
