"""Fuzzing of every reader: broken files are refused in one line, or read, and nothing else.

The files are made by `benchmarks.fuzz_cases`. Each worker is a process with a limit on its memory
and an alarm for each case. Whatever is neither success nor an error of qcompile is a failure: its
file is kept and named, and the program exits with 1. A case follows from the seed, its reader and
its number.

    python -m benchmarks.fuzz_bench                       # a million cases
    python -m benchmarks.fuzz_bench --tiny
    python -m benchmarks.fuzz_bench --atheris "pubo npz"  # guided by coverage, needs atheris
"""

from __future__ import annotations

import argparse
import ctypes
import logging
import multiprocessing
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.sharedctypes import RawArray
from pathlib import Path
from types import FrameType
from typing import Any

from benchmarks import fuzz_cases
from benchmarks.fuzz_cases import Reader

# What a reader may plan with, and what its process gets above what it has at the start.
MEMORY, ROOM = "200MB", 1 << 30
SECONDS = 20.0
_STUCK = 120.0
_BOMBS = "bombs"
_ROUND = 2000
# Share of the cases for each reader, by how fast it is and how much can go wrong in it.
_SHARES = {"svmlight plain": 3.0, "samples json": 0.5, "embedding json": 0.7, "qubo npz": 0.7}
# Kernels must not be instrumented: their bytes are compiled.
_WATCHED = (
    "files", "qubo_files", "embedding_files", "samples", "classifier", "machines", "job_folders",
    "svmlight", "data", "artifacts",
)  # fmt: skip


class HangError(BaseException):
    """A case that took too long; no reader may catch it."""


@dataclass
class Tally:
    """What came of the cases of one reader."""

    cases: int = 0
    accepted: int = 0
    refused: int = 0
    slowest: float = 0.0
    failures: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add what another worker found."""
        self.cases += other.cases
        self.accepted += other.accepted
        self.refused += other.refused
        self.slowest = max(self.slowest, other.slowest)
        self.failures += other.failures


Tallies = dict[str, Tally]


def main() -> int:
    """Run the cases on all cores and print what came of them."""
    chosen = _options()
    if chosen.atheris:
        return _guided(chosen)
    start = time.perf_counter()
    kept = chosen.failures or Path(tempfile.gettempdir()) / f"fuzz-failures-{os.getpid()}"
    found, peak = _run_workers(chosen, kept)
    _show(found)
    total = sum(tally.cases for tally in found.values())
    failures = [line for tally in found.values() for line in tally.failures]
    seconds = time.perf_counter() - start
    print(
        f"{total:,} cases in {seconds:.0f} s with {chosen.workers} processes, seed {chosen.seed}; "
        f"at most {peak / 1e6:.0f} MB resident; {len(failures)} failures"
    )
    for line in failures[:50]:
        print(f"FAILED {line}")
    return 1 if failures else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tiny", action="store_true", help="a few thousand cases")
    parser.add_argument("--cases", type=int, help="number of cases (1,000,000; tiny: 4,000)")
    parser.add_argument("--seconds", type=float, help="begin no more cases after this time")
    parser.add_argument("--seed", type=int, default=0, help="of all random numbers (0)")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--reader", action="append", help="only this one; may be repeated")
    parser.add_argument("--failures", type=Path, help="folder for files that made a reader fail")
    parser.add_argument("--atheris", metavar="READER", help="guide one reader by coverage")
    chosen = parser.parse_args()
    if chosen.cases is None:
        chosen.cases = 4_000 if chosen.tiny else 1_000_000
    return chosen


def _show(found: Tallies) -> None:
    head = ("reader", "cases", "accepted", "refused", "failures", "slowest")
    print("{:<16} {:>9} {:>9} {:>9} {:>9} {:>10}".format(*head))
    for name, tally in found.items():
        print(
            f"{name:<16} {tally.cases:>9,} {tally.accepted:>9,} {tally.refused:>9,} "
            f"{len(tally.failures):>9,} {1000 * tally.slowest:>7,.0f} ms"
        )


def _run_workers(chosen: argparse.Namespace, kept: Path) -> tuple[Tallies, int]:
    """Return the tallies of all workers and the most memory that one of them had."""
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    places = [RawArray(ctypes.c_int64, 3) for _ in range(chosen.workers)]
    workers = [
        context.Process(target=_work, args=(number, chosen, kept, place, queue), daemon=True)
        for number, place in enumerate(places)
    ]
    for worker in workers:
        worker.start()
    found: Tallies = {}
    peak, waiting = 0, dict(enumerate(workers))
    while waiting:
        while not queue.empty():
            number, tallies, memory = queue.get()
            waiting.pop(number, None)
            peak = max(peak, memory)
            for name, tally in tallies.items():
                found.setdefault(name, Tally()).add(tally)
        for number, reason in list(_lost(waiting, places)):
            worker = waiting.pop(number)
            worker.kill()
            name = (*_names(chosen), _BOMBS)[places[number][0]]
            lost = found.setdefault(name, Tally())
            lost.failures.append(f"{name}, case {places[number][1]}: worker {reason}; {_again()}")
        time.sleep(0.1)
    return found, peak


def _again() -> str:
    return "the rest of its cases was not run"


def _lost(waiting: dict[int, Any], places: list[Any]) -> Iterator[tuple[int, str]]:
    """Return workers that died, or that have been at one case for so long that no alarm helps."""
    for number, worker in waiting.items():
        if not worker.is_alive() and worker.exitcode != 0:
            yield number, f"ended with {worker.exitcode}"
        since = places[number][2]
        if since and time.monotonic() - since > _STUCK:
            yield number, "hangs"


def _names(chosen: argparse.Namespace) -> list[str]:
    names = [reader.name for reader in fuzz_cases.readers()]
    if chosen.reader:
        unknown = sorted(set(chosen.reader) - {*names, _BOMBS})
        if unknown:
            sys.exit(f"no reader {unknown[0]!r}; expected {', '.join([*names, _BOMBS])}")
        names = [name for name in names if name in chosen.reader]
    return names


def _work(number: int, chosen: argparse.Namespace, kept: Path, place: Any, queue: Any) -> None:
    """Run every `workers`-th case of each reader."""
    os.environ["QCOMPILE_MEMORY"] = MEMORY
    logging.disable(logging.CRITICAL)
    found: Tallies = {}
    # in memory where that is possible: a file a case is much for a disk
    shared = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=shared) as folder:
        place_of = Path(folder)
        _warm_up(place_of)
        warnings.simplefilter("error")
        _limit_memory()
        names = _names(chosen)
        by_name = {reader.name: reader for reader in fuzz_cases.readers()}
        if not chosen.reader or _BOMBS in chosen.reader:
            _drop_bombs(number, chosen.workers, by_name, place_of, found, kept, place, len(names))
        end = time.monotonic() + (chosen.seconds or float("inf"))
        for at, name, cases in _rounds(names, chosen.cases):
            if time.monotonic() > end:
                break
            reader, tally = by_name[name], found.setdefault(name, Tally())
            for case in cases:
                if case % chosen.workers != number:
                    continue
                place[0], place[1], place[2] = at, case, int(time.monotonic())
                content = fuzz_cases.mutate(random.Random(f"{chosen.seed} {name} {case}"), reader)
                _run_case(reader, content, place_of, tally, f"{name}, case {case}", kept)
        place[2] = 0
    queue.put((number, found, _peak()))


def _drop_bombs(
    number: int,
    workers: int,
    by_name: dict[str, Reader],
    folder: Path,
    found: Tallies,
    kept: Path,
    place: Any,
    at: int,
) -> None:
    tally = found.setdefault(_BOMBS, Tally())
    for case, (name, (reader, make)) in enumerate(fuzz_cases.bombs().items()):
        if case % workers == number:
            with _unlimited():
                content = make()
            place[0], place[1], place[2] = at, case, int(time.monotonic())
            _run_case(by_name[reader], content, folder, tally, f"bomb: {name}", kept)


def _rounds(names: list[str], cases: int) -> Iterator[tuple[int, str, range]]:
    """Deal the cases out to the readers, some to each in turn, so that all get theirs."""
    whole = sum(_SHARES.get(name, 1.0) for name in names)
    shares = [-int(-cases * _SHARES.get(name, 1.0) // whole) for name in names]
    for start in range(0, max(shares, default=0), _ROUND):
        for at, (name, share) in enumerate(zip(names, shares, strict=True)):
            yield at, name, range(min(start, share), min(start + _ROUND, share))


def _run_case(
    reader: Reader, content: bytes, folder: Path, tally: Tally, name: str, kept: Path
) -> None:
    start = time.perf_counter()
    tally.cases += 1
    try:
        with _alarm(SECONDS):
            outcome = fuzz_cases.verdict(reader, content, folder / reader.file)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        tally.failures.append(f"{name}: {_kept(error, reader, content, name, kept)}")
    else:
        tally.accepted += outcome == "accepted"
        tally.refused += outcome == "refused"
    tally.slowest = max(tally.slowest, time.perf_counter() - start)


def _kept(error: BaseException, reader: Reader, content: bytes, name: str, kept: Path) -> str:
    """Keep the file and say what happened where."""
    kept.mkdir(parents=True, exist_ok=True)
    path = kept / f"{name.replace(', ', '-').replace(': ', '-').replace(' ', '_')}-{reader.file}"
    path.write_bytes(content)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "qcompile/" in f.filename]
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
    reason = " ".join(str(error).split())[:120]
    shown = repr(content[:60])
    return f"{type(error).__name__} at {where}: {reason}; file {path} begins with {shown}"


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _ring(number: int, frame: FrameType | None) -> None:
    raise HangError(f"more than {SECONDS:.0f} s")


def _warm_up(folder: Path) -> None:
    """Read every valid file once: kernels compile, packages load, and no seed may be broken."""
    signal.signal(signal.SIGALRM, _ring)
    for reader in fuzz_cases.readers():
        for seed in reader.seeds:
            if fuzz_cases.verdict(reader, seed, folder / reader.file) != "accepted":
                raise AssertionError(f"{reader.name}: a valid file is refused")


def _limit_memory() -> None:
    now = _status("VmSize")
    resource.setrlimit(resource.RLIMIT_AS, (now + ROOM, resource.RLIM_INFINITY))


@contextmanager
def _unlimited() -> Iterator[None]:
    """Making a bomb may need what reading it may not."""
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


def _peak() -> int:
    return _status("VmHWM")


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"no {name} in /proc/self/status")


def _guided(chosen: argparse.Namespace) -> int:
    """Let atheris choose the changes by what code they reach."""
    try:
        import atheris  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError:
        print("atheris is not installed: skipped (pip install atheris)")
        return 0
    with atheris.instrument_imports(include=[f"qcompile.{name}" for name in _WATCHED]):
        for name in _WATCHED:
            __import__(f"qcompile.{name}")
    os.environ["QCOMPILE_MEMORY"] = MEMORY
    logging.disable(logging.CRITICAL)
    reader = next((r for r in fuzz_cases.readers() if r.name == chosen.atheris), None)
    if reader is None:
        sys.exit(f"no reader {chosen.atheris!r}; expected {', '.join(_names(chosen))}")
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(reader.seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    atheris.Setup(
        [sys.argv[0], str(corpus), f"-runs={chosen.cases}", f"-seed={chosen.seed + 1}",
         f"-timeout={SECONDS:.0f}", "-rss_limit_mb=2048", f"-artifact_prefix={folder}/",
         "-max_len=20000"],
        _once(reader, folder),
        custom_mutator=_mutator(reader),
    )  # fmt: skip
    print(f"atheris, {reader.name}: failures are kept in {folder}", flush=True)
    atheris.Fuzz()
    return 0


def _once(reader: Reader, folder: Path) -> Callable[[bytes], None]:
    def test(content: bytes) -> None:
        fuzz_cases.verdict(reader, content, folder / reader.file)

    return test


def _mutator(reader: Reader) -> Callable[..., bytes]:
    """Change by structure half of the time, else some bytes; coverage tells what is kept.

    atheris 3.0.0 refuses its own Mutate() in here.
    """

    def change(content: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.5:
            return _some_bytes_changed(rng, content)[:most]
        start = Reader(reader.name, reader.file, reader.kind, reader.read, (content,))
        try:
            return fuzz_cases.mutate(rng, start)[:most]
        except Exception:  # what became of it is no longer a file of the kind
            return _some_bytes_changed(rng, content)[:most]

    return change


def _some_bytes_changed(rng: random.Random, content: bytes) -> bytes:
    """Replace a few bytes somewhere by others, more or fewer."""
    start = rng.randrange(len(content) + 1)
    return content[:start] + rng.randbytes(rng.randrange(5)) + content[start + rng.randrange(5) :]


if __name__ == "__main__":
    sys.exit(main())
