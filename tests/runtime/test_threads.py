from __future__ import annotations

import pytest

from qcompile.runtime.threads import ordered


def test_the_number_of_workers_does_not_change_the_result() -> None:
    items = list(range(20))
    for workers in (1, 2, 5):
        assert list(ordered(lambda i: i * i, items, workers=workers)) == [i * i for i in items]


def test_an_error_in_a_worker_reaches_the_caller() -> None:
    def fail(item: int) -> int:
        if item == 7:
            raise RuntimeError("seven")
        return item

    with pytest.raises(RuntimeError, match="seven"):
        list(ordered(fail, range(20), workers=2))
