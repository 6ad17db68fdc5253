"""Samples or a classifier -> bits from which a QPU anneals in reverse."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qcompile.errors import InputError
from qcompile.files.classifier import load_classifier
from qcompile.files.guarded import kind_of
from qcompile.files.samples import load_samples
from qcompile.stages.classifier import Classifier
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo
from qcompile.stages.samples import Samples

__all__ = ["Known", "known_state", "load_known"]


# What a refinement may start from.
Known: TypeAlias = Samples | Classifier | ArrayLike

_SAME = 1e-6  # relative: energies that were added up in another order


def load_known(path: str | Path, problem: Pubo | Qubo) -> Samples | Classifier:
    """Read samples of a problem, or a classifier, from a file."""
    if kind_of(Path(path)) == "qcompile.model":
        return load_classifier(path)
    return load_samples(path, problem)


def known_state(problem: Pubo | Qubo, known: Known) -> NDArray[np.int8]:
    """Return the logical bits of a known state of a problem.

    They are the lowest of `known` samples, or the weights of the encoding that are nearest to those
    of a classifier. Raise InputError if the state belongs to another problem.
    """
    if isinstance(known, Samples):
        bits = _checked(problem, known.best)
        energy, told = float(problem.score(bits)[0]), float(known.energies.min())
        if not abs(energy - told) <= _SAME * max(1e-300, abs(energy), abs(told)):
            raise InputError(
                f"a sample of energy {told:.6g} to refine; on this problem it has {energy:.6g}: it "
                "belongs to another problem"
            )
        return bits
    if isinstance(known, Classifier):
        return _bits_of(problem, known)
    return _checked(problem, known)


def _bits_of(problem: Pubo | Qubo, known: Classifier) -> NDArray[np.int8]:
    encoding, preparation = problem.encoding, problem.preparation
    if encoding is None or preparation is None:
        raise InputError("a classifier to refine, but the problem was not compiled from data")
    if problem.logical != encoding.variables:
        raise InputError(
            f"a classifier to refine, but the problem has {problem.logical} bits and its weights "
            f"have {encoding.variables}: refine samples"
        )
    if known.preparation.to_dict() != preparation.to_dict():
        raise InputError("a classifier to refine, but of rows prepared otherwise: another problem")
    return _checked(problem, encoding.encode(known.weights))


def _checked(problem: Pubo | Qubo, bits: ArrayLike) -> NDArray[np.int8]:
    found = np.asarray(bits)
    if found.shape != (problem.logical,) or not np.isin(found, (0, 1)).all():
        raise InputError(
            f"a state of {found.size} values to refine; the problem has {problem.logical} bits"
        )
    return found.astype(np.int8)
