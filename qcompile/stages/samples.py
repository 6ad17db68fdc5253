"""What solvers give: bits with their energies on the true polynomial, and the way to disk."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from qcompile.errors import FormatError, InputError
from qcompile.files.interchange import labels_of, vartype_of
from qcompile.files.storage import as_record, explained, read_json, write_atomically
from qcompile.runtime import memory
from qcompile.stages.artifacts import Floats, Pubo, Qubo, frozen

__all__ = [
    "Samples",
    "alike",
    "from_sampleset",
    "load_samples",
    "merged",
    "samples_of",
    "sampleset_of",
    "save_samples",
]

# Energies in a file may differ from those recomputed by rounding, relative to the largest.
_SAME = 1e-6
_MOST_VALUES = 1 << 32
_LARGEST_INTEGER = 2**53
_BROKEN, _WRONG = "reads_with_broken_chain", "reads_with_wrong_ancilla"
_PLAIN_TYPE = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)")


@dataclass(frozen=True, eq=False)
class Samples:
    """Bits that a solver gave, one row a sample, with their energies on the true polynomial.

    `violations` counts ancillas that were not the product of their factors before they were
    repaired; `chain_breaks` is the share of broken chains of each sample (0 where there were no
    chains); `row` says which of the given samples each one is. `info` is what the solver told:
    its name, seed, timing. `broken` and `wrong` count among the occurrences of each sample those
    with a broken chain and those with a wrong ancilla; None where nobody counted.
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

    def __len__(self) -> int:
        return len(self.bits)

    @property
    def chain_break_fraction(self) -> float:
        """Share of broken chains over all samples, each as often as it occurred."""
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
        """Give the lowest distinct samples, in order of energy and then of bits.

        How often a sample occurred adds up, and so do `broken` and `wrong`; its share of broken
        chains is the mean over all its occurrences, the rest is that of the first.
        """
        if not len(self):
            return self
        distinct, first, inverse = np.unique(
            self.bits, axis=0, return_index=True, return_inverse=True
        )
        group = inverse.reshape(-1)
        times = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(times, group, self.occurrences)
        breaks = np.bincount(group, self.chain_breaks * self.occurrences, len(distinct)) / times
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
        )

    @property
    def reads_with_broken_chain(self) -> NDArray[np.int64] | None:
        """For each sample how many of its occurrences had one; None where that is not known."""
        marked = self.chain_breaks > 0
        return self._counted(self.broken, marked, sure=not (marked & (self.occurrences > 1)).any())

    @property
    def reads_with_wrong_ancilla(self) -> NDArray[np.int64] | None:
        """For each sample how many of its occurrences had one; None where that is not known."""
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
        """Give a `dimod.SampleSet` over the bits."""
        import dimod

        counts = {_BROKEN: self.broken, _WRONG: self.wrong}
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
    """Count occurrences of marked samples, where those of one sample are all alike."""
    return frozen(np.where(marked, occurrences, 0), np.int64)


def samples_of(
    problem: Pubo | Qubo,
    bits: NDArray[np.int8],
    *,
    occurrences: NDArray[np.int64] | None = None,
    violations: NDArray[np.int64] | None = None,
    info: Mapping[str, Any] | None = None,
) -> Samples:
    """Score bits on the polynomial of a problem."""
    rows = np.atleast_2d(bits)
    count = len(rows)
    if not count:
        energies = np.zeros(0)
    else:
        energies = problem.score(rows) if isinstance(problem, Qubo) else problem.energies(rows)
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
    """Put samples of the same problem together, in the order given."""
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
    )


def _joined(counts: Sequence[NDArray[np.int64] | None]) -> NDArray[np.int64] | None:
    """Put counts together; where some are not known, the whole is not."""
    known = [part for part in counts if part is not None]
    return frozen(np.concatenate(known), np.int64) if len(known) == len(counts) else None


def save_samples(samples: Samples, path: str | Path, *, problem: Any = None) -> None:
    """Write dimod's JSON of a SampleSet; `dimod.SampleSet.from_serializable` opens it.

    Variables have the labels, and are of the kind, that the source of the `problem` gave them.

    Seconds by the clock of this computer are left out: the same search gives the same file. What
    a machine bills for stays.
    """
    kept = {k: v for k, v in samples.info.items() if not _is_clock(k, v)}
    found = replace(samples, info=kept).to_sampleset()
    if isinstance(problem, Pubo | Qubo):
        found = found.relabel_variables(dict(enumerate(labels_of(problem))), inplace=False)
        found = found.change_vartype(vartype_of(problem), inplace=False)
    content = found.to_serializable()
    _spare_integers(content["vectors"]["energy"])
    with write_atomically(path) as stream:
        stream.write(orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")


def _spare_integers(array: dict[str, Any]) -> None:
    """Write large whole energies as floats: dimod makes integers of any size of them."""
    array["data"] = [float(v) if abs(v) > _LARGEST_INTEGER else v for v in array["data"]]


def _is_clock(key: str, value: Any) -> bool:
    return key == "seconds" or (
        key == "timing" and not (isinstance(value, dict) and "qpu_access_time" in value)
    )


def load_samples(path: str | Path, problem: Pubo | Qubo) -> Samples:
    """Read a SampleSet of dimod's JSON: bits of the problem, or bits and ancillas.

    Energies are recomputed; where the file's own differ, the samples are of another problem.
    """
    with explained(path):
        content = read_json(path)
        if not isinstance(content, dict) or content.get("type") != "SampleSet":
            raise FormatError("not a dimod SampleSet")
        return from_sampleset(sampleset_of(content), problem)


def sampleset_of(content: dict[str, Any]) -> Any:
    """Read dimod's plain values of a SampleSet, sizes checked first."""
    import dimod

    rows, labels = content.get("num_rows"), content.get("num_variables")
    if (
        not isinstance(rows, int)
        or not isinstance(labels, int)
        or min(rows, labels) < 0
        or rows * labels > _MOST_VALUES
        or content.get("use_bytes")
    ):
        raise FormatError("expected plain numbers of samples")
    what = f"holding {rows:,} samples of {labels:,} variables"
    memory.require(8 * rows * labels, what, "keep fewer samples", announce=False)
    _check_arrays(content, rows)
    try:
        return dimod.SampleSet.from_serializable(content)
    except (AttributeError, IndexError, AssertionError, OverflowError) as error:
        raise FormatError(f"not a whole SampleSet ({error})") from None


def _check_arrays(content: Mapping[str, Any], rows: int) -> None:
    """Insist on plain numbers before dimod makes arrays: a type may claim any size for an item."""
    sample = content["sample_data"]
    found = [*_arrays_in(as_record(content["info"])), *content["vectors"].values(), sample]
    types = [array["data_type"] for array in found] + [content.get("sample_type", "int8")]
    if not all(isinstance(kind, str) and _PLAIN_TYPE.fullmatch(kind) for kind in types):
        raise FormatError("expected arrays of plain numbers")
    if list(sample["shape"][:1]) != [rows]:
        raise FormatError(f"expected {rows} rows of samples")


def _arrays_in(value: Any) -> Iterator[Mapping[str, Any]]:
    """Give what dimod would take for arrays among other values."""
    if isinstance(value, dict) and value.get("type") == "array":
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _arrays_in(inner)


def from_sampleset(found: Any, problem: Pubo | Qubo) -> Samples:
    """Take samples of a problem, with or without its ancillas; energies must be its own."""
    if not len(found):
        raise FormatError("no samples")
    binary = found.change_vartype("BINARY", inplace=False)
    logical = problem.logical if isinstance(problem, Qubo) else problem.variables
    every = problem.variables
    place = {label: i for i, label in enumerate(binary.variables)}
    labels = labels_of(problem)
    if set(place) == set(labels):
        place = {number: place[label] for number, label in enumerate(labels)}
    known = every if all(v in place for v in range(every)) else logical
    missing = [v for v in range(known) if v not in place]
    if missing or len(place) != known:
        raise FormatError(
            f"samples of {len(place)} variables, without variable {missing[0]}"
            if missing
            else f"samples of {len(place)} variables; the problem has {known}: they are of another"
        )
    values = np.asarray(binary.record.sample)[:, [place[v] for v in range(known)]]
    with_ancillas = isinstance(problem, Qubo) and known == every and every > logical
    violations = _counts(binary, "ancilla_violations")
    if with_ancillas and isinstance(problem, Qubo):
        bits, violations = problem.restrict(values)
    else:
        bits = values.astype(np.int8)
    scored = samples_of(problem, bits, violations=violations, info=dict(binary.info))
    own = np.asarray(binary.record.energy, dtype=np.float64)
    true = problem.energies(values) if with_ancillas else scored.energies
    if not np.abs(own - true).max() <= _SAME * max(1e-300, np.abs(own).max(), np.abs(true).max()):
        raise FormatError(
            f"a sample has energy {own[0]:.6g} in the file and {true[0]:.6g} on the problem: they "
            "are of another problem"
        )
    occurrences = frozen(binary.record.num_occurrences, np.int64)
    if occurrences.min() < 1:
        raise FormatError("a sample that occurred less than once")
    breaks = _vector(binary, "chain_break_fraction")
    if breaks is not None and not ((breaks >= 0) & (breaks <= 1)).all():
        raise FormatError("chain_break_fraction: expected shares from 0 to 1")
    read = replace(
        scored,
        occurrences=occurrences,
        chain_breaks=scored.chain_breaks if breaks is None else frozen(breaks, np.float64),
        broken=_counts(binary, _BROKEN, occurrences),
        wrong=_counts(binary, _WRONG, occurrences),
    )
    if read.broken is not None and ((read.broken > 0) != (read.chain_breaks > 0)).any():
        raise FormatError(f"{_BROKEN}: differs from chain_break_fraction")
    if with_ancillas:  # every read of such a sample has these very ancillas
        return replace(read, wrong=alike(read.violations > 0, occurrences))
    return read


def _counts(
    found: Any, name: str, most: NDArray[np.int64] | None = None
) -> NDArray[np.int64] | None:
    """Read whole numbers from 0 on, not above `most`."""
    vector = _vector(found, name)
    if vector is None:
        return None
    with np.errstate(invalid="ignore"):
        counts = vector.astype(np.int64)
    if not ((counts == vector) & (counts >= 0)).all():
        raise FormatError(f"{name}: expected whole numbers from 0 on")
    if most is not None and (counts > most).any():
        raise FormatError(f"{name}: more than the sample occurred")
    return frozen(counts, np.int64)


def _vector(found: Any, name: str) -> NDArray[Any] | None:
    if name not in found.record.dtype.names:
        return None
    vector = np.asarray(found.record[name])
    if vector.ndim != 1:
        raise FormatError(f"{name}: expected one number a sample")
    return vector
