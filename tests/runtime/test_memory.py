from __future__ import annotations

import os
import subprocess
import sys

import pytest

from qcompile.errors import MemoryLimitError
from qcompile.runtime import memory

_TRAINING = """
from pathlib import Path
from qcompile import read, train
from qcompile.solvers.options import SolveOptions
train(read("synthetic:examples=300,features=100"), bits=4, options=SolveOptions(reads=1, sweeps=1))
lines = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
print(lines["VmHWM"].split()[0])  # not ru_maxrss, which counts the process that forked this one
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count the peak in other units")
def test_a_training_stays_within_the_memory_of_the_weights() -> None:
    # the 101 weights take 8 MB, the interpreter and its libraries about 250, their bits 1.2 GB
    found = subprocess.run(
        [sys.executable, "-c", _TRAINING],
        env={**os.environ, "QCOMPILE_MEMORY": "450MB"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(found.stdout) * 1024 < 450e6


_STEPS = """
from itertools import combinations
from pathlib import Path
import numpy as np
from qcompile import Pubo, quadratize, verify
from qcompile.reduction import restore
from qcompile.runtime import memory

def cubic(bits):
    terms = {t: 1.0 + sum(t) for size in (2, 3) for t in combinations(range(bits), size)}
    return quadratize(Pubo.from_dict(terms), cover="halves")

def held(key):
    lines = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines[key].split()[0]) * 1024

small, qubo = cubic(5), cubic(120)
for step in (restore.restore, verify):
    step(small)  # what it imports is no memory of the step
    said = []
    memory.require = lambda size, *rest, **named: said.append(size)
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here on
    before = held("VmRSS")
    step(qubo)
    print(held("VmHWM") - before, max(said))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from Linux's files")
def test_steps_over_the_pairs_of_a_qubo_take_what_they_say() -> None:
    run = [sys.executable, "-c", _STEPS]
    lines = subprocess.run(run, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(lines) == 2
    for taken, said in (map(int, line.split()) for line in lines):
        assert 0.5 * said < taken < 1.1 * said


def test_what_is_in_use_counts_against_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "in_use", lambda: 300_000_000)
    monkeypatch.setenv("QCOMPILE_MEMORY", "500MB")
    memory.require(190e6, "this", "use less")
    with pytest.raises(MemoryLimitError, match=r"210.* beside the 300.* in use"):
        memory.require(210e6, "this", "use less")
