"""Check that the artifacts of a run belong together.

A page that mixes two problems would mislead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import InputError
from qcompile.objective.decode import decode
from qcompile.objective.discretize import discretize
from qcompile.reduction.quadratize import quadratize
from qcompile.report.run import ROUNDING, SAME, Run
from qcompile.stages.arrays import Floats
from qcompile.stages.dataset import Dataset
from qcompile.stages.embedded import check_embedding, problem_id
from qcompile.stages.loss import Loss
from qcompile.stages.preparation import Preparation
from qcompile.stages.problem import Problem
from qcompile.stages.pubo import Pubo
from qcompile.stages.step import Step
from qcompile.stages.terms import most_terms

if TYPE_CHECKING:
    from qcompile.stages.samples import Samples

__all__ = ["are_rows_of", "checked", "hides_rows", "same_energies", "some_states"]


_STATES = 8
# If dropped terms can change energies by more than this share of their spread, the energies do not
# show which rows the problem was compiled from.
_MOST_DROPPED = 0.1
_LARGEST = 1e150  # can be squared without overflow
_MOST_TERMS = 2_000_000


def checked(run: Run, names: Mapping[str, str]) -> Run:
    """Raise InputError unless the artifacts belong together; add what follows from them."""
    _check_polynomials(run, names)
    _check_chains(run, names)
    _check_sizes(run, names)
    problem, classifier = run.problem, run.classifier
    if problem is not None:
        _check_loss(run, problem, names)
        _check_moments(run, problem, names)
        _check_model(run, problem, names)
        known = problem.encoding is not None and problem.preparation is not None
        if known and classifier is None and run.samples is not None:
            run = replace(run, classifier=decode(problem, run.samples))
    if run.loss is None and problem is not None:
        run = replace(run, loss=problem.loss)
    return run


def _foreign(names: Mapping[str, str], kind: str, why: str) -> InputError:
    problem = names.get("qubo", names.get("pubo", "the problem"))
    return InputError(
        f"{names.get(kind, kind)}: {why}: it is of another run than {problem}; name the files that "
        "belong together"
    )


def _check_polynomials(run: Run, names: Mapping[str, str]) -> None:
    pubo, qubo = run.pubo, run.qubo
    if pubo is None or qubo is None:
        return
    if pubo.variables != qubo.logical:
        why = f"a polynomial of {pubo.variables} bits, not {qubo.logical}"
        raise _foreign(names, "pubo", why)
    states = some_states(qubo)
    if not same_energies(pubo.energies(states), qubo.score(states)):
        raise _foreign(names, "pubo", "a polynomial with other energies")


def some_states(problem: Problem) -> NDArray[np.int8]:
    """Return a few random states, the same each time, and the states of only 0 and only 1."""
    bits = problem.logical
    rng = np.random.default_rng(0)
    states = rng.integers(0, 2, (_STATES, bits), dtype=np.int8)
    return np.concatenate([states, np.zeros((1, bits), np.int8), np.ones((1, bits), np.int8)])


def same_energies(one: Floats, two: Floats, room: float = 0.0) -> bool:
    """Whether energies are equal, within a share of their spread."""
    size, spread = float(np.abs(two).max()), float(two.max() - two.min())
    return bool(np.abs(one - two).max() <= SAME * spread + ROUNDING * size + room)


def _check_chains(run: Run, names: Mapping[str, str]) -> None:
    """Raise unless the chains fit the problem; without one, unless they are valid chains."""
    taken: set[int] = set()
    for embedding in run.embeddings:
        qubo = run.qubo
        if qubo is None:  # check connected, disjoint chains against a problem without couplings
            qubo = quadratize(Pubo.from_dict({}, variables=len(embedding.chains)))
            embedding = replace(embedding, problem=problem_id(qubo))
        name = names.get("embedding", "the embedding")
        try:
            check_embedding(embedding, qubo)
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
        own = {qubit for chain in embedding.chains for qubit in chain}
        if taken & own:
            shared = min(taken & own)
            raise InputError(f"{name}: qubit {shared} is in two copies; expected disjoint copies")
        taken |= own


def _check_sizes(run: Run, names: Mapping[str, str]) -> None:
    """Raise InputError for numbers that are too large to draw."""
    numbers: dict[str, Floats] = {}
    if run.samples is not None:
        numbers["samples"] = run.samples.energies
    if run.classifier is not None:
        numbers["model"] = run.classifier.weights
    for kind, values in numbers.items():
        if not (np.abs(values) <= _LARGEST).all():
            what = "energies" if kind == "samples" else "weights"
            raise InputError(
                f"{names.get(kind, kind)}: {what} beyond {_LARGEST:g}: nothing can be drawn"
            )


def _check_loss(run: Run, problem: Problem, names: Mapping[str, str]) -> None:
    one, two = run.loss, problem.loss
    if one is None or two is None:
        return
    mine, theirs = ((*loss.coefficients, loss.zeta, loss.l2) for loss in (one, two))
    if len(mine) != len(theirs) or not np.allclose(mine, theirs, rtol=1e-9, atol=0):
        raise _foreign(names, "loss", "a loss with other coefficients or another range")


def _check_moments(run: Run, problem: Problem, names: Mapping[str, str]) -> None:
    moments = run.moments
    if moments is None:
        return
    rows = _rows_of(problem, moments.row_count)
    if rows != moments.row_count:
        raise _foreign(names, "moments", f"moments of {moments.row_count} rows, not {rows}")
    prepared = (moments.preparation, problem.preparation)
    if None not in prepared and not _alike(*prepared):
        raise _foreign(names, "moments", "moments of data that were prepared differently")
    loss, encoding = problem.loss, problem.encoding
    if loss is None or encoding is None or not problem.has_terms:
        return
    if moments.features != encoding.features:
        why = f"moments of {moments.features} features, not {encoding.features}"
        raise _foreign(names, "moments", why)
    size = sum(most_terms(encoding.variables, loss.order))
    if moments.order >= loss.order and size <= _MOST_TERMS:
        states = some_states(problem)
        made = discretize(moments, loss, l0=problem.l0, encoding=encoding)
        if not same_energies(made.energies(states), problem.score(states), problem.dropped):
            raise _foreign(names, "moments", "moments of other rows")


def _rows_of(problem: Problem, unless: int) -> int:
    """Return the number of rows that a problem records, or `unless` if it records none."""
    return unless if problem.source.rows is None else problem.source.rows


def _alike(one: Preparation | None, two: Preparation | None) -> bool:
    assert one is not None and two is not None
    return one.to_dict() == two.to_dict()


def _check_model(run: Run, problem: Problem, names: Mapping[str, str]) -> None:
    model, encoding = run.classifier, problem.encoding
    if model is None:
        return
    if encoding is None or problem.preparation is None:
        raise _foreign(names, "model", "a model, but the problem encodes none")
    if len(model.weights) != encoding.features:
        why = f"a model of {len(model.weights)} weights, not {encoding.features}"
        raise _foreign(names, "model", why)
    if not _alike(model.preparation, problem.preparation):
        raise _foreign(names, "model", "a model for data that were prepared differently")
    near = model.weights
    if not isinstance(encoding, Step):
        near = np.clip(near, -2 * encoding.zeta, 2 * encoding.zeta)
    level = encoding.decode(encoding.encode(near))
    if not np.abs(level - model.weights).max() <= SAME * encoding.step:
        raise _foreign(names, "model", "a model with weights that the problem cannot say")
    told = model.source.loss
    if told is not None and problem.loss is not None:
        own = problem.loss.coefficients
        if len(told) != len(own) or not np.allclose(told, own, rtol=SAME, atol=0):
            raise _foreign(names, "model", "a model of another loss")


def are_rows_of(problem: Problem, samples: Samples, loss: Loss, rows: Dataset) -> bool:
    """Whether the objectives of several states on the rows equal their energies."""
    if len(rows) != _rows_of(problem, len(rows)) or hides_rows(problem, samples):
        return False
    states, energies = _checked_states(problem, samples)
    weights = problem.decode(states)
    if not weights.any():  # weights of 0 have the same objective on all data
        return False
    losses = [float(np.mean(loss(rows.margins(w)))) for w in weights]
    squares = loss.l2 / 2 * np.einsum("ij,ij->i", weights, weights)
    expected = np.array(losses) + squares + problem.l0 * np.count_nonzero(weights, axis=1)
    return same_energies(expected, energies, problem.dropped)


def hides_rows(problem: Problem, samples: Samples) -> bool:
    """Whether dropped terms are so large that other rows could have the same energies."""
    if not problem.dropped or problem.encoding is None:
        return False
    _, energies = _checked_states(problem, samples)
    return problem.dropped > _MOST_DROPPED * float(energies.max() - energies.min())


def _checked_states(problem: Problem, samples: Samples) -> tuple[NDArray[np.int8], Floats]:
    """Return states and their energies: random states, or the lowest samples without terms."""
    encoding = problem.encoding
    assert encoding is not None
    if not problem.has_terms:
        order = np.argsort(samples.energies, kind="stable")[:_STATES]
        return samples.bits[order], samples.energies[order]
    states = some_states(problem)
    count = states.shape[1] - encoding.variables
    if count:  # bits that charge for a weight must be 1 exactly if the weight is not 0
        states[:, encoding.variables :] = encoding.decode(states) != 0
    return states, problem.score(states)
