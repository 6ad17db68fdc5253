from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from tests.passes import PASS


def test_a_pass_is_told_with_the_time_that_it_took(caplog: pytest.LogCaptureFixture) -> None:
    """No more is asked of the clock than that a tenth of a second of sleep is seen."""
    from qcompile.runtime.timing import passing

    with caplog.at_level("DEBUG", logger="qcompile"), passing("sleep"):
        time.sleep(0.1)
    (record,) = caplog.records
    found = PASS.search(record.getMessage())
    assert found is not None and float(found.group(2)) >= 0.1


def test_memory_is_counted_as_the_system_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both sources speak of units of 1024 bytes."""
    import resource

    from qcompile.runtime import timing

    status = tmp_path / "status"
    status.write_text("VmPeak: 9 kB\nVmHWM:\t  3000 kB\n")
    monkeypatch.setattr(timing, "_STATUS", status)
    assert timing._peak() == 3000 * 1024
    monkeypatch.setattr(timing, "_STATUS", tmp_path / "none")
    monkeypatch.setattr(sys, "platform", "linux")
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert timing._peak() >= used * 1024
    monkeypatch.setattr(sys, "platform", "darwin")  # there it is bytes already
    assert used <= timing._peak() < 1024 * used


def test_the_peak_is_that_of_the_pass(caplog: pytest.LogCaptureFixture) -> None:
    """200 MB in one pass: its peak is higher by about that, and so is that of the one around it."""
    from qcompile.runtime.timing import passing

    with caplog.at_level("DEBUG", logger="qcompile"), passing("around"):
        with passing("small"):
            pass
        with passing("large"):
            block = bytearray(200_000_000)
            block[::4096] = b"x" * len(block[::4096])
            del block
        with passing("after"):
            pass
    found = {}
    for record in caplog.records:
        match = PASS.search(record.getMessage())
        assert match is not None
        unit = {"MB": 1.0, "GB": 1000.0}[match.group(4)]
        found[match.group(1)] = float(match.group(3).replace(",", "")) * unit
    assert list(found) == ["small", "large", "after", "around"]
    assert 180 < found["large"] - found["small"] < 260
    assert found["around"] >= found["large"]
    if os.access("/proc/self/clear_refs", os.W_OK):
        assert found["after"] < found["large"] - 150
