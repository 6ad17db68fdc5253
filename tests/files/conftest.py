"""What the tests of files save."""

from __future__ import annotations

import pytest

from qcompile import compile
from qcompile.pipeline import Compiled


@pytest.fixture
def made() -> Compiled:
    return compile("synthetic:examples=30,features=3", scale="none", bias=False, bits=2)
