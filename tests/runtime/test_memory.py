from __future__ import annotations

import os
import subprocess
import sys

import pytest

from qcompile.errors import MemoryLimitError
from qcompile.runtime import memory

_TRAINING = """
import resource
from qcompile import read, train
from qcompile.solvers.options import SolveOptions
train(read("synthetic:examples=300,features=100"), bits=4, options=SolveOptions(reads=1, sweeps=1))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
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


def test_what_is_in_use_counts_against_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "in_use", lambda: 300_000_000)
    monkeypatch.setenv("QCOMPILE_MEMORY", "500MB")
    memory.require(190e6, "this", "use less")
    with pytest.raises(MemoryLimitError, match=r"210.* beside the 300.* in use"):
        memory.require(210e6, "this", "use less")
