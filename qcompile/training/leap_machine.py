"""A QPU of Leap as the solver of a training: its name and settings, never an open connection."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qcompile.errors import InputError
from qcompile.leap.plan import check_label
from qcompile.leap.retry import Patience
from qcompile.leap.submission import normal_label

__all__ = ["LeapMachine", "leap_machine_of", "seconds_of"]


_UNITS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0}
_SECONDS = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*([a-z]*)")


@dataclass(frozen=True)
class LeapMachine:
    """Which QPU trains, and what it may cost; a training connects only when it has to send.

    `solver`, `profile` and `region` are as in Ocean's configuration. `budget` is the most QPU
    access time of a training, in seconds or as a text such as "500ms": a round is sent only if
    what the server reported so far and the prediction for the round are within it. `jobs` is the
    folder of all jobs. All waiting for the server together takes at most `timeout` seconds. A
    training that is not finished is not begun a second time unless `again` is True.

    It can be copied and pickled: each training that it is given to is a job of its own, with a
    budget of its own.

    >>> LeapMachine(budget="500ms").budget
    0.5
    """

    solver: str | None = None
    budget: float | str | None = None
    profile: str | None = None
    region: str | None = None
    jobs: str | Path | None = None
    label: str = "qcompile"
    chain_strength: float | str = "torque"
    timeout: float = 3600.0
    patience: Patience | None = None
    again: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", normal_label(self.label))
        check_label(self.label)
        if self.budget is not None:
            object.__setattr__(self, "budget", seconds_of(self.budget))
        for name in ("solver", "profile", "region"):
            text = getattr(self, name)
            if text is not None and not (isinstance(text, str) and text.isprintable()):
                raise InputError(f"{name} {text!r}; expected printable characters")
        if not 0 < self.timeout < math.inf:
            raise InputError(
                f"timeout {self.timeout:g}; expected a finite number of seconds above 0"
            )
        if self.chain_strength == "sweep":
            raise InputError(
                "chain_strength='sweep' pays for many runs; use 'torque', 'scaled' or a number"
            )

    @property
    def seconds(self) -> float | None:
        """The budget in seconds."""
        return None if self.budget is None else seconds_of(self.budget)


def seconds_of(budget: float | str) -> float:
    """Return the seconds of a budget: a number, or a text such as "2s", "500ms" or "1.5".

    >>> seconds_of("500ms"), seconds_of("1.5"), seconds_of(2)
    (0.5, 1.5, 2.0)
    """
    if isinstance(budget, str):
        found = _SECONDS.fullmatch(budget.strip().lower())
        if found is None or found[2] not in _UNITS:
            raise InputError(f"budget {budget!r}; expected seconds such as 2s, 500ms or 1.5")
        seconds = float(found[1]) * _UNITS[found[2]]
    else:
        seconds = float(budget)
    if not 0 < seconds < math.inf:
        raise InputError(f"budget {budget}; expected seconds above 0, such as 2s, 500ms or 1.5")
    return seconds


def leap_machine_of(machine: Any, solver: Any) -> LeapMachine | None:
    """Return the settings of a QPU if the machine or the solver of a training stands for one."""
    asked, named = (LeapMachine() if own == "leap" else own for own in (machine, solver))
    if not isinstance(asked, LeapMachine):
        if isinstance(named, LeapMachine) and machine is not None:
            raise InputError(
                'machine= with solver="leap": the QPU is the machine; leave out machine='
            )
        return named if isinstance(named, LeapMachine) else None
    if isinstance(named, LeapMachine) and named != asked:
        raise InputError("a QPU as machine= and another one as solver=; leave one of them out")
    if not isinstance(named, LeapMachine) and solver != "anneal":
        known = solver if isinstance(solver, str) else type(solver).__name__
        raise InputError(
            f'solver {known} with machine="leap", where a QPU is the solver: leave out solver=, or '
            "name the QPU with LeapMachine(solver=...)"
        )
    return asked
