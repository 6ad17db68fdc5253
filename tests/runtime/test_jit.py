from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_COMMAND = """
import logging
logging.basicConfig(format="%(message)s", level=logging.INFO)
from qcompile.runtime.random import uniform, generator
uniform(generator(1))
uniform(generator(2))
"""
_WORD = "compiling kernels, which takes some seconds; they are kept for later runs"


def _run(cache: Path) -> str:
    found = subprocess.run(
        [sys.executable, "-c", _COMMAND],
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == ""
    return found.stderr


def test_the_first_run_says_once_that_kernels_are_compiled(tmp_path: Path) -> None:
    assert _run(tmp_path).splitlines() == [_WORD]
    assert _run(tmp_path) == ""
