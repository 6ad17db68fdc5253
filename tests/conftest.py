"""What the tests share: small data, and the folder with the real sets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


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
