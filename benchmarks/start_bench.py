"""A newcomer's first run beside the second one: CPU seconds with an empty cache of kernels.

Each command runs in a process of its own, with a cache folder of its own that is empty at first.
CPU seconds of the process and its children count, so that other work hardly matters.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.common import options, row

_MADE = [
    ["data", "breast-cancer", "-o", "data.svm"],
    ["compile", "data.svm", "--features", "5", "--bits", "2", "--emit", "qubo=small.json"],
]
_MEASURED = {
    "help": ["--help"],
    "compile": ["compile", "data.svm", "--order", "3", "--bits", "4", "--emit", "qubo=qubo.json"],
    "train": ["train", "data.svm", "--test", "0.2", "-o", "model.json"],
    "solve": ["solve", "small.json", "--solver", "anneal", "-n", "20", "-o", "samples.json"],
    "embed": ["embed", "small.json", "--machine", "pegasus4", "-o", "embedding.json"],
}
_TINY = ("help", "solve")
# The README begins with these; a first run should take at most so many times the second one.
_GOAL, _MAIN = 3.0, ("compile", "train")


def seconds(command: list[str], folder: Path, cache: Path) -> float:
    """Return the CPU seconds of a command of qcompile."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "qcompile", *command],
        cwd=folder,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(name: str, folder: Path, repeat: int) -> None:
    """Print the least CPU seconds of first and of later runs."""
    first, later = [], []
    for turn in range(repeat):
        cache = folder / f"cache-{name}-{turn}"
        first.append(seconds(_MEASURED[name], folder, cache))
        later.append(seconds(_MEASURED[name], folder, cache))
    goal = {"goal": _GOAL} if name in _MAIN else {}
    row(name, first=min(first), later=min(later), ratio=min(first) / min(later), **goal)


def main() -> None:
    """Print a line for each command."""
    given = options(__doc__)
    # from a folder with no package in it the command must find the package of this checkout
    here = str(Path(__file__).parents[1])
    os.environ["PYTHONPATH"] = os.pathsep.join([here, *filter(None, [os.getenv("PYTHONPATH")])])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for command in _MADE:
            seconds(command, folder, folder / "cache")
        for measured in _TINY if given.tiny else _MEASURED:
            measure(measured, folder, 1 if given.tiny else given.repeat)


if __name__ == "__main__":
    main()
