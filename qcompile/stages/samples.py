"""States with energies, lowest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.stages.arrays import Floats, frozen
from qcompile.stages.display import Displayed, many, quoted
from qcompile.stages.problem import Problem

__all__ = ["BEFORE", "BROKEN", "WRONG", "Samples", "alike", "merged", "samples_of"]


BROKEN, WRONG = "reads_with_broken_chain", "reads_with_wrong_ancilla"
BEFORE = "energy_before_descent"


@dataclass(frozen=True, eq=False, repr=False)
class Samples(Displayed):
    """Bits that a solver found, one sample in each row, with their energies on the polynomial.

    `violations` counts ancillas that were not the product of their factors before they were
    repaired. `chain_breaks` is the share of broken chains of each sample, 0 without chains. `row`
    is the number of each sample among those that were given. `info` is what the solver reports:
    its name, seed, timing. `broken` and `wrong` count the occurrences of each sample with a broken
    chain and with a wrong ancilla; they are None if these were not counted. `before` are the
    energies before a descent; it is None if there was none.
    """

    bits: NDArray[np.int8]
    energies: Floats
    violations: NDArray[np.int64]
    occurrences: NDArray[np.int64]
    chain_breaks: Floats
    row: NDArray[np.int64]
    info: Mapping[str, Any] = field(default_factory=dict)
    broken: NDArray[np.int64] | None = None
    wrong: NDArray[np.int64] | None = None
    before: Floats | None = None

    def __len__(self) -> int:
        return len(self.bits)

    def _line(self) -> str:
        size = f"{many(len(self), 'sample')} of {many(self.bits.shape[1], 'bit')}"
        lowest = f", lowest energy {self.energies.min():.6g}" if len(self) else ""
        solver = f", by {quoted(self.info['solver'])}" if "solver" in self.info else ""
        return f"{size}{lowest}{solver}"

    def _facts(self) -> Mapping[str, object]:
        return {
            "samples": len(self),
            "bits": self.bits.shape[1],
            "reads": int(self.occurrences.sum()),
            "lowest energy": float(self.energies.min()) if len(self) else None,
            "highest energy": float(self.energies.max()) if len(self) else None,
            "share of chains broken": self.chain_break_fraction,
            "solver": self.info.get("solver"),
        }

    @property
    def chain_break_fraction(self) -> float:
        """The share of broken chains over all samples, weighted by their occurrences."""
        if not len(self):
            return 0.0
        return float(np.average(self.chain_breaks, weights=self.occurrences))

    @property
    def best(self) -> NDArray[np.int8]:
        """The bits with the lowest energy, the first of equals."""
        if not len(self):
            raise InputError("no samples: there is no best one")
        return np.asarray(self.bits[int(np.argmin(self.energies))])

    def lowest(self, count: int) -> Samples:
        """Return the lowest distinct samples, in order of energy and then of bits.

        Occurrences of equal samples add up, and so do `broken` and `wrong`. The share of broken
        chains and `before` are means over all occurrences; the other values are those of the first.
        """
        if not len(self):
            return self
        distinct, first, inverse = np.unique(
            self.bits, axis=0, return_index=True, return_inverse=True
        )
        group = inverse.reshape(-1)
        times = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(times, group, self.occurrences)

        def mean(values: Floats) -> Floats:
            return np.asarray(np.bincount(group, values * self.occurrences, len(distinct)) / times)

        breaks = mean(self.chain_breaks)
        order = np.argsort(self.energies[first], kind="stable")[:count]
        chosen = first[order]

        def added(counts: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
            if counts is None:
                return None
            sums = np.zeros(len(distinct), dtype=np.int64)
            np.add.at(sums, group, counts)
            return frozen(sums[order], np.int64)

        return Samples(
            bits=frozen(self.bits[chosen], np.int8),
            energies=frozen(self.energies[chosen]),
            violations=frozen(self.violations[chosen], np.int64),
            occurrences=frozen(times[order], np.int64),
            chain_breaks=frozen(breaks[order]),
            row=frozen(self.row[chosen], np.int64),
            info=self.info,
            broken=added(self.reads_with_broken_chain),
            wrong=added(self.reads_with_wrong_ancilla),
            before=None if self.before is None else frozen(mean(self.before)[order]),
        )

    @property
    def reads_with_broken_chain(self) -> NDArray[np.int64] | None:
        """The number of occurrences of each sample with a broken chain; None if not known."""
        marked = self.chain_breaks > 0
        return self._counted(self.broken, marked, sure=not (marked & (self.occurrences > 1)).any())

    @property
    def reads_with_wrong_ancilla(self) -> NDArray[np.int64] | None:
        """The number of occurrences of each sample with a wrong ancilla; None if not known."""
        # the violations of one read tell nothing about the others
        sure = not (self.occurrences > 1).any()
        return self._counted(self.wrong, self.violations > 0, sure=sure)

    def _counted(
        self, counts: NDArray[np.int64] | None, marked: NDArray[np.bool_], *, sure: bool
    ) -> NDArray[np.int64] | None:
        if counts is not None or not sure:
            return counts
        return alike(marked, self.occurrences)

    def to_sampleset(self) -> Any:
        """Return a `dimod.SampleSet` over the bits."""
        import dimod

        counts = {BROKEN: self.broken, WRONG: self.wrong, BEFORE: self.before}
        return dimod.SampleSet.from_samples(
            (np.asarray(self.bits), list(range(self.bits.shape[1]))),
            dimod.BINARY,
            energy=self.energies,
            num_occurrences=self.occurrences,
            info=dict(self.info),
            ancilla_violations=self.violations,
            chain_break_fraction=self.chain_breaks,
            sort_labels=False,
            **{name: vector for name, vector in counts.items() if vector is not None},
        )


def alike(marked: Any, occurrences: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the occurrences of marked samples and 0 for others: those of a sample are alike."""
    return frozen(np.where(marked, occurrences, 0), np.int64)


def samples_of(
    problem: Problem,
    bits: NDArray[np.int8],
    *,
    occurrences: NDArray[np.int64] | None = None,
    violations: NDArray[np.int64] | None = None,
    info: Mapping[str, Any] | None = None,
) -> Samples:
    """Return samples of these bits, with energies on the polynomial of the problem."""
    rows = np.atleast_2d(bits)
    count = len(rows)
    energies = problem.score(rows) if count else np.zeros(0)
    zeros = np.zeros(count, dtype=np.int64)
    times = frozen(zeros + 1 if occurrences is None else occurrences, np.int64)
    wrong = frozen(zeros if violations is None else violations, np.int64)
    return Samples(
        bits=frozen(rows, np.int8),
        energies=frozen(energies),
        violations=wrong,
        occurrences=times,
        chain_breaks=frozen(np.zeros(count)),
        row=frozen(np.arange(count), np.int64),
        info=dict(info or {}),
        wrong=alike(wrong > 0, times),
    )


def merged(parts: Sequence[Samples], info: Mapping[str, Any]) -> Samples:
    """Return the samples of all parts, in order; they are of the same problem."""
    starts = np.cumsum([0, *(len(part) for part in parts)])
    rows = [part.row + start for part, start in zip(parts, starts, strict=False)]
    return Samples(
        bits=frozen(np.concatenate([part.bits for part in parts]), np.int8),
        energies=frozen(np.concatenate([part.energies for part in parts])),
        violations=frozen(np.concatenate([part.violations for part in parts]), np.int64),
        occurrences=frozen(np.concatenate([part.occurrences for part in parts]), np.int64),
        chain_breaks=frozen(np.concatenate([part.chain_breaks for part in parts])),
        row=frozen(np.concatenate(rows), np.int64),
        info=dict(info),
        broken=_joined([part.reads_with_broken_chain for part in parts]),
        wrong=_joined([part.reads_with_wrong_ancilla for part in parts]),
        before=_joined([part.before for part in parts], np.float64),
    )


def _joined(vectors: Sequence[NDArray[Any] | None], kind: Any = np.int64) -> NDArray[Any] | None:
    """Return all vectors as one, or None if some are not known."""
    known = [part for part in vectors if part is not None]
    return frozen(np.concatenate(known), kind) if len(known) == len(vectors) else None
