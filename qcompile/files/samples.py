"""Samples to disk and back, as dimod's sample sets."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from qcompile.errors import FormatError
from qcompile.files.atomic import write_atomically
from qcompile.files.guarded import as_record, explained, read_json
from qcompile.runtime import memory
from qcompile.stages.arrays import Floats, frozen
from qcompile.stages.problem import Problem
from qcompile.stages.qubo import Qubo
from qcompile.stages.samples import BEFORE, BROKEN, WRONG, Samples, alike, samples_of

__all__ = ["from_sampleset", "load_samples", "sampleset_of", "save_samples"]


# Energies in a file may differ from those recomputed by rounding, relative to the largest.
_SAME = 1e-6
_MOST_VALUES = 1 << 32
_LARGEST_INTEGER = 2**53
_PLAIN_TYPE = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)")


def save_samples(samples: Samples, path: str | Path, *, problem: Any = None) -> None:
    """Write dimod's JSON of a SampleSet; `dimod.SampleSet.from_serializable` opens it.

    With a `problem`, variables get the labels and the kind (BINARY or SPIN) of its source.

    Wall-clock times are left out, so that the same search gives the same file. Times that a
    solver bills are kept.
    """
    kept = {k: v for k, v in samples.info.items() if not _is_clock(k, v)}
    found = replace(samples, info=kept).to_sampleset()
    if isinstance(problem, Problem):
        found = found.relabel_variables(dict(enumerate(problem.labels)), inplace=False)
        found = found.change_vartype(problem.vartype, inplace=False)
    content = found.to_serializable()
    for name in {"energy", BEFORE} & content["vectors"].keys():
        _spare_integers(content["vectors"][name])
    with write_atomically(path) as stream:
        stream.write(orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")


def _spare_integers(array: dict[str, Any]) -> None:
    """Make large integral energies floats: dimod writes them as integers of any size."""
    array["data"] = [float(v) if abs(v) > _LARGEST_INTEGER else v for v in array["data"]]


def _is_clock(key: str, value: Any) -> bool:
    return key == "seconds" or (
        key == "timing" and not (isinstance(value, dict) and "qpu_access_time" in value)
    )


def load_samples(path: str | Path, problem: Problem) -> Samples:
    """Read a SampleSet in dimod's JSON with the bits of the problem, or its bits and ancillas.

    Energies are recomputed. If those in the file differ, the samples belong to another problem.
    """
    with explained(path):
        content = read_json(path)
        if not isinstance(content, dict) or content.get("type") != "SampleSet":
            raise FormatError("not a dimod SampleSet")
        return from_sampleset(sampleset_of(content), problem)


def sampleset_of(content: dict[str, Any]) -> Any:
    """Return the SampleSet of dimod's plain values, after checking its sizes."""
    import dimod

    rows, labels = content.get("num_rows"), content.get("num_variables")
    if (
        not isinstance(rows, int)
        or not isinstance(labels, int)
        or min(rows, labels) < 0
        or rows * labels > _MOST_VALUES
        or content.get("use_bytes")
    ):
        raise FormatError("invalid number of samples or variables, or numbers as bytes")
    what = f"holding {rows:,} samples of {labels:,} variables"
    memory.require(8 * rows * labels, what, "keep fewer samples", announce=False)
    _check_arrays(content, rows)
    try:
        return dimod.SampleSet.from_serializable(content)
    except (AttributeError, IndexError, AssertionError, OverflowError) as error:
        raise FormatError(f"the SampleSet is incomplete ({error})") from None


def _check_arrays(content: Mapping[str, Any], rows: int) -> None:
    """Raise FormatError unless all values are numbers, before dimod allocates arrays for them."""
    sample = content["sample_data"]
    found = [*_arrays_in(as_record(content["info"])), *content["vectors"].values(), sample]
    types = [array["data_type"] for array in found] + [content.get("sample_type", "int8")]
    if not all(isinstance(kind, str) and _PLAIN_TYPE.fullmatch(kind) for kind in types):
        raise FormatError("expected arrays of plain numbers")
    if bool in set(map(type, content["variable_labels"])):
        raise FormatError("found true or false; expected labels of variables")
    for array in found:
        _check_data(array["data"], array["data_type"])
    if list(sample["shape"][:1]) != [rows]:
        raise FormatError(f"expected {rows} rows of samples")


def _check_data(data: Any, kind: str) -> None:
    """Raise FormatError unless nested lists hold numbers, or truth values where `kind` is bool."""
    level, allowed = data, {int, float} | ({bool} if kind == "bool" else set())
    while isinstance(level, list) and level:
        types = set(map(type, level))
        if types == {list}:
            level = list(itertools.chain.from_iterable(level))
            continue
        if not types <= allowed:
            raise FormatError("found text or true in an array; expected plain numbers")
        return


def _arrays_in(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the values that dimod would take for arrays."""
    if isinstance(value, dict) and value.get("type") == "array":
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _arrays_in(inner)


def from_sampleset(found: Any, problem: Problem) -> Samples:
    """Return the samples of a problem, with or without its ancillas, after checking energies."""
    if not len(found):
        raise FormatError("no samples")
    binary = found.change_vartype("BINARY", inplace=False)
    logical, every = problem.logical, problem.variables
    place = {label: i for i, label in enumerate(binary.variables)}
    labels = problem.labels
    if set(place) == set(labels):
        place = {number: place[label] for number, label in enumerate(labels)}
    known = every if all(v in place for v in range(every)) else logical
    missing = [v for v in range(known) if v not in place]
    if missing or len(place) != known:
        raise FormatError(
            f"samples of {len(place)} variables; variable {missing[0]} is missing"
            if missing
            else f"samples of {len(place)} variables; expected {known}, as in the problem"
        )
    values = np.asarray(binary.record.sample)[:, [place[v] for v in range(known)]]
    with_ancillas = known == every > logical
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
            "belong to another problem"
        )
    occurrences = frozen(binary.record.num_occurrences, np.int64)
    if occurrences.min() < 1:
        raise FormatError("num_occurrences: expected 1 or more")
    breaks = _vector(binary, "chain_break_fraction")
    if breaks is not None and not ((breaks >= 0) & (breaks <= 1)).all():
        raise FormatError("chain_break_fraction: expected shares from 0 to 1")
    read = replace(
        scored,
        occurrences=occurrences,
        chain_breaks=scored.chain_breaks if breaks is None else frozen(breaks, np.float64),
        broken=_counts(binary, BROKEN, occurrences),
        wrong=_counts(binary, WRONG, occurrences),
        before=_energies_before(binary, scored.energies),
    )
    if read.broken is not None and ((read.broken > 0) != (read.chain_breaks > 0)).any():
        raise FormatError(f"{BROKEN}: differs from chain_break_fraction")
    if with_ancillas:  # every read of this sample has the same ancillas
        return replace(read, wrong=alike(read.violations > 0, occurrences))
    return read


def _energies_before(found: Any, energies: Floats) -> Floats | None:
    """Return the energies before a descent, checked to be none below those after it."""
    vector = _vector(found, BEFORE)
    if vector is None:
        return None
    before = frozen(vector, np.float64)
    slack = _SAME * max(1e-300, np.abs(before).max(), np.abs(energies).max())
    if not (before >= energies - slack).all():
        raise FormatError(f"{BEFORE}: expected no energy below that of its sample")
    return before


def _counts(
    found: Any, name: str, most: NDArray[np.int64] | None = None
) -> NDArray[np.int64] | None:
    """Return a vector of counts, checked to be integers from 0 to `most`."""
    vector = _vector(found, name)
    if vector is None:
        return None
    with np.errstate(invalid="ignore"):
        counts = vector.astype(np.int64)
    if not ((counts == vector) & (counts >= 0)).all():
        raise FormatError(f"{name}: expected whole numbers from 0 on")
    if most is not None and (counts > most).any():
        raise FormatError(f"{name}: exceeds the occurrences of the sample")
    return frozen(counts, np.int64)


def _vector(found: Any, name: str) -> NDArray[Any] | None:
    if name not in found.record.dtype.names:
        return None
    vector = np.asarray(found.record[name])
    if vector.ndim != 1:
        raise FormatError(f"{name}: expected one number per sample")
    return vector
