"""What the tests share: small data, and the folder with the real sets."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests import no_network

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


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but this computer can be reached, and no account of the user's is found."""
    no_network.guard()
    for name in list(os.environ):
        if name.startswith("DWAVE_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("DWAVE_CONFIG_FILE", "")
