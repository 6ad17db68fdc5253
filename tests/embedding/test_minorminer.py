from __future__ import annotations

import logging
import sys

import pytest

from qcompile import EmbeddingNotFound, find_embedding, load_machine
from qcompile.embedding import search
from qcompile.embedding.kernel_input import KernelInput
from qcompile.embedding.minorminer import Minorminer
from tests.by_brute_force import ocean_agrees
from tests.problems import cubic


@pytest.mark.slow
def test_minorminer_runs_in_processes_and_is_trimmed() -> None:
    machine, qubo = load_machine("pegasus4"), cubic(5)
    found = find_embedding(qubo, machine, method="minorminer", tries=2, time_limit=60)
    assert found.method == "minorminer"
    ocean_agrees(found, qubo, machine)
    again = find_embedding(qubo, machine, method="minorminer", tries=2, time_limit=60)
    assert again.chains == found.chains


def test_a_worker_that_fails_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with (
        caplog.at_level(logging.WARNING, logger="qcompile"),
        pytest.raises(EmbeddingNotFound),
    ):
        find_embedding(cubic(4), load_machine("zephyr3"), method="minorminer", tries=1)
    assert "minorminer failed" in caplog.text


@pytest.mark.slow
def test_each_run_of_minorminer_has_a_seed_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = []

    class Recorder(Minorminer):
        def __init__(self, ground: KernelInput, seed: int, seconds: float) -> None:
            seeds.append(seed)
            super().__init__(ground, seed, seconds)

    monkeypatch.setattr(search, "Minorminer", Recorder)
    find_embedding(cubic(4), load_machine("zephyr3"), method="minorminer", seed=7, tries=3)
    assert sorted(seeds) == [7, 8, 9]
