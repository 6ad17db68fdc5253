from __future__ import annotations

from collections.abc import Callable

import pytest

import qcompile
from qcompile import InputError, Pubo, Qubo, Submission
from tests.leap.jobs import QUICK
from tests.sapi import Sapi


def test_too_many_problems_for_a_job(server: Sapi, send: Callable[..., Submission]) -> None:
    server.solvers["Mock_Advantage"]["properties"]["num_reads_range"] = [1, 1]
    with pytest.raises(InputError, match="at most reads=1000"):
        send(reads=1001)
    assert not server.problems
    assert send(reads=10**3, dry_run=True).cost["problems"] == 1000


@pytest.mark.parametrize("time_", [-5.0, float("nan"), 1e9])
def test_annealing_times_that_make_no_sense(
    server: Sapi, send: Callable[..., Submission], time_: float
) -> None:
    with pytest.raises(InputError, match=r"annealing time|not a number|cannot be sent"):
        send(dry_run=True, parameters={"annealing_time": time_})


def test_requests_are_checked(server: Sapi, send: Callable[..., Submission], qubo: Qubo) -> None:
    for options, text in (
        ({"reads": 0}, "0 reads"),
        ({"label": ""}, "label"),
        ({"label": "a\x00b"}, "label"),
        ({"timeout": 0.0}, "timeout"),
        ({"repair": "pray"}, "repair"),
        ({"parameters": {"colour": 1}}, "has no parameter 'colour'"),
        ({"parameters": {"num_reads": 1}}, "num_reads among the parameters"),
        ({"time_limit": 5.0}, "for hybrid solvers"),
        ({"solver_type": "hybrid", "time_limit": 1.0}, "at least 3"),
        ({"solver_type": "hybrid", "time_limit": 1e9}, "allows 86400"),
    ):
        with pytest.raises(InputError, match=text):
            send(**options)
    assert not server.problems
    empty = Pubo.from_dict({(): 1.0})
    with pytest.raises(InputError, match="no variables"):
        qcompile.submit(empty, patience=QUICK)
