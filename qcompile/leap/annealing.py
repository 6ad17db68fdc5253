"""How a QPU is asked to anneal: times, schedules and gains, checked before anything is sent."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from qcompile.errors import InputError

__all__ = ["Points", "anneal_parameters", "check_annealing", "default_reverse_schedule"]


# Where reverse annealing pauses, and for how long: some mixing, without forgetting the state.
_PAUSE_AT, _RAMP, _PAUSE = 0.45, 10.0, 80.0
# What a fast anneal, whose waveform is fixed, does not go with.
_NOT_FAST = ("anneal_schedule", "h_gain_schedule", "initial_state")

Points = Sequence[Sequence[float]]


def anneal_parameters(
    solver: Any,
    given: Mapping[str, Any],
    *,
    anneal_schedule: Points | None = None,
    fast_anneal: bool = False,
    h_gain: float | Points | None = None,
    refine: bool = False,
    reinitialize: bool = True,
) -> dict[str, Any]:
    """Return the solver's parameters, those given and those that stand for the options, checked.

    `refine` asks for reverse annealing: by default with a schedule that goes back to s = 0.45.
    """
    parameters = dict(given)
    own: dict[str, Any] = {}
    if refine:
        own["reinitialize_state"] = reinitialize
        if anneal_schedule is None and "anneal_schedule" not in given:
            own["anneal_schedule"] = default_reverse_schedule(solver)
    if anneal_schedule is not None:
        own["anneal_schedule"] = [list(point) for point in _points(anneal_schedule, "schedule")]
    if fast_anneal:
        own["fast_anneal"] = True
    for name, value in own.items():
        if parameters.get(name, value) != value:
            raise InputError(f"{name} is given twice, as an option and among the parameters")
        parameters[name] = value
    if h_gain is not None:
        if "h_gain_schedule" in given:
            raise InputError("h_gain_schedule is given twice, as h_gain= and among the parameters")
        parameters["h_gain_schedule"] = _gain(solver, parameters, h_gain)
    check_annealing(solver, parameters, reverse=refine)
    return parameters


def default_reverse_schedule(solver: Any) -> list[list[float]]:
    """Return a schedule back to s = 0.45, a pause there, and forward again, in the time allowed."""
    _, most = _time_range(solver, fast=False) or (0.0, math.inf)
    part = min(1.0, most / (2 * _RAMP + _PAUSE))
    times = [0.0, _RAMP * part, (_RAMP + _PAUSE) * part, (2 * _RAMP + _PAUSE) * part]
    return [list(point) for point in zip(times, (1.0, _PAUSE_AT, _PAUSE_AT, 1.0), strict=True)]


def check_annealing(solver: Any, parameters: Mapping[str, Any], *, reverse: bool = False) -> None:
    """Raise InputError if a time, a schedule or a gain is not one that the solver takes.

    `reverse` states that the anneal starts from a known state.
    """
    fast = bool(parameters.get("fast_anneal"))
    if fast:
        found = [name for name in _NOT_FAST if name in parameters]
        if found or reverse:
            what = found[0] if found else "refine="
            raise InputError(f"fast_anneal=True does not go with {what}: its course is fixed")
    _check_time(solver, parameters, fast=fast)
    schedule = parameters.get("anneal_schedule")
    if schedule is not None:
        if "annealing_time" in parameters:
            raise InputError("an annealing time and an anneal schedule; expected one of them")
        points = _points(schedule, "schedule")
        _check_direction(points, reverse=reverse or "initial_state" in parameters)
        _check_schedule(solver, points)
    gain = parameters.get("h_gain_schedule")
    if gain is not None:
        _check_gain(solver, parameters, _points(gain, "h gain"))


def _check_time(solver: Any, parameters: Mapping[str, Any], *, fast: bool) -> None:
    """Raise InputError if the annealing time is outside the solver's range."""
    time = parameters.get("annealing_time")
    allowed = _time_range(solver, fast=fast)
    if fast and allowed is None:
        raise InputError(f"{solver.name} has no fast anneal")
    if time is None or allowed is None:
        return
    plain = isinstance(time, int | float) and not isinstance(time, bool)
    if not plain or not allowed[0] <= time <= allowed[1]:
        kind = "fast annealing time" if fast else "annealing time"
        raise InputError(
            f"{kind} {time}; {solver.name} takes {allowed[0]:g} to {allowed[1]:g} microseconds"
        )


def _time_range(solver: Any, *, fast: bool) -> tuple[float, float] | None:
    name = "fast_anneal_time_range" if fast else "annealing_time_range"
    allowed = solver.properties.get(name)
    return (float(allowed[0]), float(allowed[1])) if allowed else None


def _points(given: Any, what: str) -> list[tuple[float, float]]:
    """Return pairs of a time and a value, or raise InputError unless the times begin at 0 and grow.

    >>> _points([[0, 0], [20, 1]], "schedule")
    [(0.0, 0.0), (20.0, 1.0)]
    """
    try:
        points = [(float(time), float(value)) for time, value in given]
        finite = all(math.isfinite(number) for point in points for number in point)
    except (TypeError, ValueError):
        finite = False
    if not finite or len(points) < 2:
        raise InputError(f"{what} {given!r:.80}; expected points [[0, value], [time, value], ...]")
    times = [time for time, _ in points]
    if times[0] != 0 or any(b <= a for a, b in itertools.pairwise(times)):
        raise InputError(f"{what} with times {_listed(times)}; expected them to grow from 0")
    return points


def _listed(values: Sequence[float]) -> str:
    shown = ", ".join(f"{value:g}" for value in values[:6])
    return shown if len(values) <= 6 else f"{shown}, ..."


def _check_direction(points: Sequence[tuple[float, float]], *, reverse: bool) -> None:
    """Raise InputError unless s goes from 0 to 1 and never falls, or, in reverse, from 1 to 1."""
    values = [value for _, value in points]
    if not all(0 <= value <= 1 for value in values):
        raise InputError(f"schedule with s {_listed(values)}; expected s from 0 to 1")
    start = 1.0 if reverse else 0.0
    if values[0] != start or values[-1] != 1:
        why = "reverse annealing starts" if reverse else "an anneal starts"
        raise InputError(
            f"schedule from s = {values[0]:g} to {values[-1]:g}; {why} at s = {start:g} and ends "
            f"at 1{'' if reverse else ' (a known state needs refine=)'}"
        )
    falls = any(b < a for a, b in itertools.pairwise(values))
    if falls and not reverse:
        raise InputError(f"schedule with s {_listed(values)}; expected s that never falls")


def _check_schedule(solver: Any, points: Sequence[tuple[float, float]]) -> None:
    """Raise InputError if a schedule has too many points, or is too long or too steep."""
    reverse = points[0][1] == 1
    most = solver.properties.get("max_anneal_schedule_points")
    # solvers count one point less than reverse annealing may have
    if most is not None and len(points) > int(most) + reverse:
        raise InputError(
            f"schedule of {len(points)} points; {solver.name} takes up to {int(most) + reverse}"
        )
    allowed = _time_range(solver, fast=False)
    if allowed is None:
        return
    least, longest = allowed
    if not least <= points[-1][0] <= longest:
        raise InputError(
            f"schedule of {points[-1][0]:g} microseconds; {solver.name} takes {least:g} to "
            f"{longest:g}"
        )
    for (t, s), (later, after) in itertools.pairwise(points):
        if abs(after - s) * least > (later - t) * (1 + 1e-9):
            raise InputError(
                f"schedule from s = {s:g} to {after:g} in {later - t:g} microseconds; "
                f"{solver.name} allows a slope of up to {1 / least:g} a microsecond"
            )


def _gain(solver: Any, parameters: Mapping[str, Any], wanted: Any) -> list[list[float]]:
    """Return an h gain as a schedule; a number stays the same over the whole anneal."""
    if isinstance(wanted, int | float) and not isinstance(wanted, bool):
        end = _duration(solver, parameters)
        if end is None:
            raise InputError("h_gain= needs the annealing time; give it among the parameters")
        return [[0.0, float(wanted)], [end, float(wanted)]]
    return [list(point) for point in _points(wanted, "h gain")]


def _duration(solver: Any, parameters: Mapping[str, Any]) -> float | None:
    """Return how long an anneal takes, in microseconds."""
    schedule = parameters.get("anneal_schedule")
    if schedule:
        return float(schedule[-1][0])
    time = parameters.get("annealing_time", solver.properties.get("default_annealing_time"))
    return None if time is None else float(time)


def _check_gain(
    solver: Any, parameters: Mapping[str, Any], points: Sequence[tuple[float, float]]
) -> None:
    """Raise InputError unless a gain of h lasts as long as the anneal and is in its range."""
    allowed = solver.properties.get("h_gain_schedule_range")
    values = [value for _, value in points]
    if allowed and not all(allowed[0] <= value <= allowed[1] for value in values):
        raise InputError(
            f"h gain {_listed(values)}; {solver.name} takes {allowed[0]:g} to {allowed[1]:g}"
        )
    most = solver.properties.get("max_h_gain_schedule_points")
    if most is not None and len(points) > int(most):
        raise InputError(f"h gain of {len(points)} points; {solver.name} takes up to {int(most)}")
    end = _duration(solver, parameters)
    if end is not None and points[-1][0] != end:
        raise InputError(
            f"h gain of {points[-1][0]:g} microseconds; the anneal takes {end:g} microseconds"
        )
