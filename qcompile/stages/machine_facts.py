"""What is published of an annealer besides its graph and ranges: times and temperatures."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from qcompile.errors import InputError
from qcompile.stages.record import Record

__all__ = ["READOUT_MODELS", "Temperature", "Timing"]


# "range": only the times for one qubit and for all are known, and all is assumed. "pwl_log_log" and
# "pwl_linear" are the models that solvers state, by Ocean's names.
READOUT_MODELS = ("range", "pwl_log_log", "pwl_linear")
# Planck's and Boltzmann's constant: GHz of k T / h for each millikelvin
_GHZ_PER_MILLIKELVIN = 1.380649e-23 / 6.62607015e-34 * 1e-12


@dataclass(frozen=True)
class Timing(Record):
    """The times of a QPU, all in microseconds.

    `programming` is the typical time to program a problem, to which `thermalization` is added.
    Every read takes the annealing time, the readout time and `delay`. `readout_time` lists readout
    times for the numbers of qubits in `readout_qubits`; `readout_model` says how to read between
    them. `solver` is the solver whose times these are.
    """

    solver: str
    programming: float
    delay: float
    readout_time: tuple[float, ...]
    readout_qubits: tuple[float, ...] = ()
    readout_model: str = "range"
    annealing_time: float = 20.0
    thermalization: float = 1000.0
    source: str = ""
    date: str = ""

    def __post_init__(self) -> None:
        if self.readout_model not in READOUT_MODELS:
            raise InputError(
                f"readout_model {self.readout_model!r}; expected one of {', '.join(READOUT_MODELS)}"
            )
        times, qubits = self.readout_time, self.readout_qubits
        if self.readout_model == "range":
            if len(times) != 2 or qubits or not 0 < times[0] <= times[1]:
                raise InputError(
                    f"readout_time {list(times)}; expected the times for one qubit and for all"
                )
        elif len(times) != len(qubits) or len(times) < 2:
            raise InputError(
                f"{len(times)} numbers in readout_time and {len(qubits)} in readout_qubits; "
                "expected as many, two at least"
            )
        elif any(a >= b for a, b in pairwise(qubits)):
            raise InputError("readout_qubits do not grow; expected ascending numbers of qubits")
        elif self.readout_model == "pwl_log_log" and qubits[0] <= 0:
            raise InputError("readout_qubits begin at 0; a logarithm needs 1 or more")

    @property
    def shortest_readout(self) -> float:
        """The shortest readout time."""
        return min(self.readout_time)

    @property
    def longest_readout(self) -> float:
        """The longest readout time: that of the whole machine."""
        return max(self.readout_time)


@dataclass(frozen=True)
class Temperature(Record):
    """The temperatures of a QPU.

    `millikelvin` is the physical temperature of its qubits, known to `uncertainty`. `effective` is
    the temperature of samples of single qubits, in units of the programmed h and J: a state of
    energy E, computed from them, has a probability proportional to exp(-E / effective). Coupled
    qubits freeze earlier in an anneal, at a smaller energy scale B, and are hotter in these units:
    see `effective_at`. `critical_ghz` is B at the quantum critical point of chains.
    `freezeout` is the fraction of the anneal where single qubits freeze.
    """

    millikelvin: float
    effective: float
    uncertainty: float | None = None
    critical_ghz: float | None = None
    freezeout: float | None = None
    source: str = ""
    date: str = ""

    @property
    def beta(self) -> float:
        """The inverse temperature of single qubits, in units of one over the programmed h and J.

        >>> round(Temperature(millikelvin=20.0, effective=0.112).beta, 2)
        8.93
        """
        return 1.0 / self.effective

    def effective_at(self, ghz: float) -> float:
        """Return the effective temperature 2 k T / B of qubits that freeze where B is `ghz`.

        >>> round(Temperature(millikelvin=15.4, effective=0.198).effective_at(3.91), 3)
        0.164
        """
        return 2.0 * _GHZ_PER_MILLIKELVIN * self.millikelvin / ghz

    @property
    def effective_at_critical_point(self) -> float | None:
        """The effective temperature of qubits that freeze at the quantum critical point of chains.

        Together with `effective` it is a range for problems of coupled qubits.
        """
        return None if self.critical_ghz is None else self.effective_at(self.critical_ghz)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by key, and what follows from them."""
        return super().to_dict() | {
            "effective_at_critical_point": self.effective_at_critical_point,
        }
