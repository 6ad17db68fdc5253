"""Chains on the machine of the loopback server, and a quick submission."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import qcompile
from qcompile import Embedding, Qubo, Submission
from tests.leap.jobs import QUICK, READS, machine_of
from tests.sapi import Sapi


@pytest.fixture(scope="session")
def chains(qubo: Qubo) -> Embedding:
    with Sapi() as server:
        return qcompile.embed(qubo, machine_of(server)).embedding


@pytest.fixture
def send(qubo: Qubo, chains: Embedding) -> Callable[..., Submission]:
    def submit(**options: Any) -> Submission:
        given = {"reads": READS, "embedding": chains, "patience": QUICK, "timeout": 3.0, **options}
        return qcompile.submit(qubo, **given)

    return submit
