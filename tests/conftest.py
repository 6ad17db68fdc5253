"""Fixtures of all tests: loopback only, small data and problems, the folder with the real sets."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qcompile
from qcompile import Dataset, Embedded, Qubo, embed, load_machine, prepare, read
from tests import no_network
from tests.parts import rough_lines, write_parts
from tests.sapi import Sapi

# A shell that starts tests in the background has them ignore Ctrl-C, and all they start as well.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def real_data() -> Path:
    """The folder that QCOMPILE_DATA names; tests that need it are skipped without it."""
    folder = os.environ.get("QCOMPILE_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("QCOMPILE_DATA names no folder with the real data sets")
    return Path(folder)


@pytest.fixture(autouse=True)
def _no_memory_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QCOMPILE_MEMORY", raising=False)


@pytest.fixture(autouse=True, scope="session")
def _no_word_about_kernels() -> None:
    """What a test sees on standard error does not depend on the kernels that are on disk."""
    from qcompile.runtime import jit

    jit._first_time.told = True


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but this computer can be reached, and no account of the user's is found."""
    no_network.guard()
    for name in list(os.environ):
        if name.startswith("DWAVE_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("DWAVE_CONFIG_FILE", "")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which commands are run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A cluster of two processes on this computer."""
    distributed = pytest.importorskip("distributed")

    # its scheduler would write news to a stream that a test has closed long ago
    logging.getLogger("distributed.scheduler").setLevel(logging.WARNING)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
        ) as made,
        distributed.Client(made) as ready,
    ):
        yield ready


@pytest.fixture
def pattern(tmp_path: Path) -> str:
    """Five parts of a data set, one of them empty."""
    text = rough_lines(700, 6)
    ends = [0, 50, 50, 300, 310, 700]
    return write_parts(tmp_path, [text[a:b] for a, b in pairwise(ends)])


@pytest.fixture(scope="session")
def embedded(qubo: Qubo) -> Embedded:
    """That problem on a small machine with a dead qubit."""
    return embed(qubo, load_machine("pegasus4").without([40]), method="biclique", seed=3)


@pytest.fixture(scope="session")
def qubo() -> Qubo:
    """A problem of three weights with two bits each."""
    found = qcompile.compile(
        "breast-cancer", bits=2, scale="standard", bias=False, features=3
    ).quadratize()
    assert found is not None
    return found


@pytest.fixture(scope="session")
def best(qubo: Qubo) -> float:
    """The lowest energy by brute force."""
    bits = np.array(list(np.ndindex(*(2,) * qubo.logical)), dtype=np.int8)
    return float(qubo.score(bits).min())


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sapi]:
    """A solver API on loopback, which submissions find without being told."""
    with Sapi() as running:
        _reach(running, tmp_path, monkeypatch)
        yield running


@pytest.fixture
def large_server(here: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sapi]:
    """The same with a machine large enough for the examples of the help."""
    with Sapi(shape=(6,)) as running:
        _reach(running, here, monkeypatch)
        yield running


def _reach(running: Sapi, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in running.environment(str(folder)).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("QCOMPILE_JOBS", str(folder / "jobs"))


@pytest.fixture(scope="session")
def cancer() -> Dataset:
    """The breast cancer data with five features, scaled."""
    return prepare(read("breast-cancer"), scale="standard", features=5, bias=True)
