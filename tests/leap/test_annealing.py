from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from qcompile import InputError
from qcompile.leap.anneal_options import AnnealOptions
from qcompile.leap.annealing import check_annealing, default_reverse_schedule

SOLVER = SimpleNamespace(
    name="QPU",
    properties={
        "annealing_time_range": [0.5, 2000.0],
        "fast_anneal_time_range": [0.005, 0.3],
        "default_annealing_time": 20.0,
        "max_anneal_schedule_points": 4,
        "h_gain_schedule_range": [-3.0, 3.0],
        "max_h_gain_schedule_points": 3,
    },
)
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"anneal_schedule": [[0, 0], [10, 0.6], [20, 0.4], [30, 1]]}, "never falls"),
    ({"anneal_schedule": [[0, 0], [20, 0.9]]}, "ends at 1"),
    ({"anneal_schedule": [[0, 1], [10, 0.5], [20, 1]]}, "needs refine="),
    ({"anneal_schedule": [[0, 0], [10, 0.5], [10, 1]]}, "times 0, 10, 10; expected them to grow"),
    ({"anneal_schedule": [[1, 0], [10, 1]]}, "grow from 0"),
    ({"anneal_schedule": [[0, 0], [10, 1.5], [20, 1]]}, "expected s from 0 to 1"),
    ({"anneal_schedule": [[0, 0], [1, 0.1], [2, 0.2], [3, 0.3], [9, 1]]}, "5 points; QPU takes up"),
    ({"anneal_schedule": [[0, 0], [5000, 1]]}, "5000 microseconds; QPU takes 0.5 to 2000"),
    ({"anneal_schedule": [[0, 0], [9.9, 0.1], [10, 1]]}, "slope of up to 2 a microsecond"),
    ({"anneal_schedule": [[0, 0]]}, "expected points"),
    ({"anneal_schedule": "fast"}, "expected points"),
    ({"anneal_schedule": [[0, 0], [float("nan"), 1]]}, "expected points"),
    ({"fast_anneal": True, "anneal_schedule": [[0, 0], [20, 1]]}, "does not go with anneal_sched"),
    ({"fast_anneal": True, "h_gain": 2.0}, "does not go with h_gain_schedule"),
    ({"fast_anneal": True, "refine": [0, 1]}, "fast_anneal=True does not go with"),
    ({"h_gain": 3.5}, "h gain 3.5, 3.5; QPU takes -3 to 3"),
    ({"h_gain": [[0, 1], [5, 1], [9, 2], [20, 1]]}, "h gain of 4 points"),
    ({"h_gain": [[0, 1], [10, 1]]}, "h gain of 10 microseconds; the anneal takes 20"),
    ({"refine": [0], "anneal_schedule": [[0, 0], [20, 1]]}, "reverse annealing starts at s = 1"),
]


@pytest.mark.parametrize(("options", "text"), REFUSED)
def test_what_a_solver_does_not_take_is_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text) as error:
        AnnealOptions(**options).parameters(SOLVER, {})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"copies": 0}, "copies 0"),
        ({"copies": "many"}, "copies 'many'"),
        ({"gauges": 0}, "0 gauges"),
        ({"reinitialize": False}, "goes with refine="),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=text):
        AnnealOptions(**options)


def test_what_is_sent_for_the_options() -> None:
    forward = AnnealOptions(anneal_schedule=((0, 0), (50, 0.5), (60, 1)), h_gain=2)
    assert forward.parameters(SOLVER, {"answer_mode": "raw"}) == {
        "answer_mode": "raw",
        "anneal_schedule": [[0.0, 0.0], [50.0, 0.5], [60.0, 1.0]],
        "h_gain_schedule": [[0.0, 2.0], [60.0, 2.0]],
    }
    fast = AnnealOptions(fast_anneal=True)
    assert fast.parameters(SOLVER, {"annealing_time": 0.1}) == {
        "annealing_time": 0.1,
        "fast_anneal": True,
    }
    assert AnnealOptions().parameters(SOLVER, {}) == {}


def test_a_fast_anneal_has_its_own_range_of_times() -> None:
    check_annealing(SOLVER, {"annealing_time": 0.01, "fast_anneal": True})
    with pytest.raises(InputError, match=r"fast annealing time 20; QPU takes 0.005 to 0.3"):
        check_annealing(SOLVER, {"annealing_time": 20, "fast_anneal": True})
    with pytest.raises(InputError, match=r"annealing time 0.01; QPU takes 0.5 to 2000"):
        check_annealing(SOLVER, {"annealing_time": 0.01})
    old = SimpleNamespace(name="Old", properties={"annealing_time_range": [1, 2000]})
    with pytest.raises(InputError, match="Old has no fast anneal"):
        check_annealing(old, {"fast_anneal": True})


@pytest.mark.parametrize("longest", [2000.0, 100.0, 50.0])
def test_the_reverse_schedule_is_one_that_the_solver_takes(longest: float) -> None:
    properties = {**SOLVER.properties, "annealing_time_range": [0.5, longest]}
    solver = SimpleNamespace(name="QPU", properties=properties)
    schedule = default_reverse_schedule(solver)
    assert schedule[0] == [0.0, 1.0] and schedule[-1][1] == 1.0
    assert min(s for _, s in schedule) < 1
    check_annealing(solver, {"anneal_schedule": schedule}, reverse=True)


def test_the_same_parameter_twice_is_refused() -> None:
    with pytest.raises(InputError, match="anneal_schedule is given twice"):
        AnnealOptions(anneal_schedule=[[0, 0], [20, 1]]).parameters(
            SOLVER, {"anneal_schedule": [[0, 0], [30, 1]]}
        )
