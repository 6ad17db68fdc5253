"""LocalFit -> Pubo: the step of each weight, written in bits."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from qcompile.objective.discretize import Code, expand_tensors
from qcompile.stages import multisets
from qcompile.stages.arrays import Floats, frozen
from qcompile.stages.local_fit import LocalFit
from qcompile.stages.origin import Origin
from qcompile.stages.pubo import Pubo
from qcompile.stages.step import Step

__all__ = ["discretize_step"]


def discretize_step(fit: LocalFit, radius: float, bits: int | None = None) -> Pubo:
    """Write the polynomial of a step as a polynomial of bits; its minimum is the best step.

    By default a weight has one bit: stay, or go by `radius` against the gradient. With `bits` it
    has 2^bits levels from -radius to +radius. A polynomial of degree 2 needs no ancillas.

    >>> from qcompile import fit_around, from_arrays
    >>> rows = from_arrays([[2.0, 0.0], [0.0, 3.0]], [1, -1])
    >>> pubo = discretize_step(fit_around(rows, [0.0, 0.0], 1.0), 0.5)
    >>> pubo.terms, pubo.decode([1, 1])
    ((2, 0), array([ 0.5, -0.5]))
    """
    directions = None
    if bits is None:
        # a weight of slope 0 may go either way
        directions = tuple(np.where(fit.first > 0, -1, 1).tolist())
    whole = len(fit.block) == len(fit.centre)
    step = Step(
        features=len(fit.centre),
        bits=1 if bits is None else bits,
        zeta=float(radius),
        centre=tuple(fit.centre.tolist()),
        block=None if whole else tuple(fit.block.tolist()),
        directions=directions,
    )
    place = np.repeat(np.arange(len(fit.block)), step.bits)
    code = Code(len(fit.block), place, step.bit_weights, step.starts)
    origin = Origin(
        encoding=step,
        around=fit.around,
        preparation=fit.preparation,
        source=replace(fit.source, rows=fit.count) if fit.count else fit.source,
    )
    if fit.third is None:
        return _quadratic(fit, code, origin)
    joined, tensors = _tensors(fit)
    return expand_tensors(fit.constant, joined, tensors, code, origin)


def _quadratic(fit: LocalFit, code: Code, origin: Origin) -> Pubo:
    """Write a quadratic in bits: a few products of arrays, since every round does it."""
    start, place, value = code.offsets, code.bit_features, code.bit_weights
    bent = fit.second @ start
    constant = fit.constant + float(start @ fit.first + start @ bent / 2)
    linear = value * (fit.first + bent)[place] + value**2 * fit.second.diagonal()[place] / 2
    pairs = np.triu_indices(len(place), 1)
    products = (fit.second[np.ix_(place, place)] * np.multiply.outer(value, value))[pairs]
    bits = np.arange(len(place), dtype=np.int32)[:, None]
    pair_bits = np.column_stack(pairs).astype(np.int32)
    used, coupled = linear != 0, products != 0
    return Pubo(
        variables=len(place),
        constant=constant,
        indices=(frozen(bits[used], np.int32), frozen(pair_bits[coupled], np.int32)),
        coefficients=(frozen(linear[used]), frozen(products[coupled])),
        origin=origin,
    )


def _tensors(fit: LocalFit) -> tuple[Floats, list[Floats]]:
    """Return the symmetric tensors T_j with Σ_j T_j(d, ..., d), packed, as one array and views."""
    size = len(fit.first)
    parts = [fit.first, _packed(fit.second, size, 2) / 2]
    if fit.third is not None:
        parts.append(_packed(fit.third, size, 3) / 6)
    joined = np.concatenate(parts)
    ends = np.cumsum([0, *map(len, parts)]).tolist()
    return joined, [joined[a:b] for a, b in pairwise(ends)]


def _packed(tensor: Floats, size: int, degree: int) -> Floats:
    """Return one entry for each multiset of features."""
    members = multisets.enumerate_multisets(size, degree)
    packed = np.empty(len(members))
    packed[multisets.rank(members, size)] = tensor[tuple(members.T)]
    return packed
