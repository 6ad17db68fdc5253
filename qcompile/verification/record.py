"""Check what a file says about its polynomial: encoding, loss, ℓ0, what was dropped.

These checks need no data. They find records that contradict each other or the coefficients.
"""

from __future__ import annotations

import math
from math import comb

import numpy as np

from qcompile.stages.preparation import Preparation
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo
from qcompile.stages.step import Step
from qcompile.verification.algebra import Terms
from qcompile.verification.check import Check, rounding

__all__ = ["check_record", "indicator_terms", "prepared_alike"]


_SAME = 1e-9  # scales that were computed in another order


def check_record(qubo: Qubo, terms: Terms, pubo: Pubo | None = None) -> Check | None:
    """Compare the record with the terms and with that of the polynomial, if it has one.

    Return None for a problem that was not compiled from data. `terms` are those of the QUBO and
    what was left out of it.
    """
    if qubo.encoding is None:
        return None
    problem = _contradiction(qubo) or _against_terms(qubo, terms)
    if not problem and pubo is not None and pubo.encoding is not None:
        problem = _against_polynomial(qubo, pubo)
    return Check("record", not problem, problem or "encoding, loss and terms fit together")


def _contradiction(qubo: Qubo) -> str:
    """Return where the record contradicts itself; nothing if it does not."""
    encoding, loss = qubo.encoding, qubo.loss
    assert encoding is not None
    if min(qubo.l0, qubo.dropped, qubo.error) < 0:
        return "l0, dropped or the error bound is below 0"
    if qubo.truncated is None and qubo.error:
        return f"an error bound of {qubo.error:g}, but no terms were left out"
    if qubo.l0 and encoding.bounds is not None:
        return "an l0 regulariser with bounds of the levels"
    charged = encoding.features if qubo.l0 and encoding.bits > 1 else 0
    if qubo.logical != encoding.variables + charged:
        return (
            f"{encoding.variables} bits of weights and {charged} indicators; the problem has "
            f"{qubo.logical}"
        )
    if isinstance(encoding, Step) != (qubo.around is not None):
        return "a step without its fit, or a fit without its step"
    if isinstance(encoding, Step) and (qubo.dropped or qubo.l0):
        return "a step with an l0 regulariser or with dropped terms"
    of_loss = encoding.zeta if loss is None else loss.zeta
    if not isinstance(encoding, Step) and not math.isclose(encoding.zeta, of_loss, rel_tol=1e-12):
        return f"weights up to {encoding.zeta:g}, but a loss for weights up to {of_loss:g}"
    return ""


def _against_terms(qubo: Qubo, terms: Terms) -> str:
    """Return where the record contradicts the terms."""
    encoding, loss = qubo.encoding, qubo.loss
    assert encoding is not None
    present = np.abs(terms.values) > rounding(1) * terms.sizes
    degrees = terms.degrees
    if qubo.around is not None:
        order = qubo.around.degree
    else:
        order = encoding.variables if loss is None else max(loss.order, 2 if loss.l2 else 1)
    # `_indicators` looks at the terms of indicators
    charged = ((terms.sets >= encoding.variables) & (terms.sets < qubo.logical)).any(axis=1)
    own = degrees[present & ~charged]
    if (own > order).any():
        wrong = f"a term of {int(own.max())} bits"
        return f"{wrong}, but a loss of order {order} has none"
    if loss is not None and encoding.bounds is None and not isinstance(encoding, Step):
        wanted = loss.coefficients[0]
        sizes = abs(wanted) + abs(qubo.offset) + abs(terms.constant - qubo.offset)
        if abs(terms.constant - wanted) > rounding(1) * sizes:
            return f"weights of 0 cost {terms.constant:g}; by the loss they cost {wanted:g}"
    return _indicators(qubo, terms) or _dropped(qubo, terms, present, order)


def indicator_terms(qubo: Qubo) -> dict[tuple[int, ...], float]:
    """Return the terms that charge l0 for each weight that is not 0."""
    encoding = qubo.encoding
    if encoding is None or not qubo.l0:
        return {}
    if encoding.bits == 1:
        return {(bit,): qubo.l0 for bit in range(encoding.variables)}
    made: dict[tuple[int, ...], float] = {}
    for feature in range(encoding.features):
        indicator = encoding.variables + feature
        made[indicator,] = qubo.l0
        for bit in range(feature * encoding.bits, (feature + 1) * encoding.bits):
            made[bit,] = 2 * qubo.l0
            made[bit, indicator] = -2 * qubo.l0
    return made


def _indicators(qubo: Qubo, terms: Terms) -> str:
    """Return which term of an indicator is not what l0 says."""
    encoding = qubo.encoding
    assert encoding is not None
    if qubo.logical == encoding.variables:
        return ""
    wanted = {t: v for t, v in indicator_terms(qubo).items() if t[-1] >= encoding.variables}
    gap = terms.plus(Pubo.from_dict(wanted, variables=qubo.logical), -1.0)
    real = gap.sets < qubo.logical
    with_indicator = (real & (gap.sets >= encoding.variables)).any(axis=1)
    wrong = with_indicator & (np.abs(gap.values) > rounding(1) * gap.sizes)
    if wrong.any():
        row = gap.sets[np.flatnonzero(wrong)[0]]
        term = tuple(int(i) for i in row if i < qubo.logical)
        return f"the term {term} is not what an l0 of {qubo.l0:g} charges"
    return ""


def _dropped(qubo: Qubo, terms: Terms, present: np.ndarray, order: int) -> str:
    """Return why `dropped` cannot be right: terms that were dropped are below those that stay."""
    encoding = qubo.encoding
    assert encoding is not None
    if not qubo.dropped:
        return ""
    own = present & (terms.sets[:, 0] < encoding.variables)
    own &= ~((terms.sets >= encoding.variables) & (terms.sets < qubo.logical)).any(axis=1)
    absent = sum(comb(encoding.variables, j) for j in range(1, order + 1)) - int(own.sum())
    smallest = np.abs(terms.values[own & (terms.degrees > (1 if qubo.l0 else 0))])
    most = absent * float(smallest.min(initial=np.inf))
    if qubo.dropped > most * (1 + _SAME) or not absent:
        shown = f"{absent} terms that are smaller than all others"
        return f"{qubo.dropped:g} was dropped, more than {shown} can have"
    return ""


def _against_polynomial(qubo: Qubo, pubo: Pubo) -> str:
    """Return which part of the record differs from that of the polynomial."""
    parts = {
        "encoding": (qubo.encoding, pubo.encoding),
        "loss": (qubo.loss, pubo.loss),
        "fit around a centre": (qubo.around, pubo.around),
        "l0": (qubo.l0, pubo.l0),
        "dropped": (qubo.dropped, pubo.dropped),
    }
    for name, (one, two) in parts.items():
        if one != two:
            return f"another {name} than that of the polynomial"
    mine, theirs = qubo.preparation, pubo.preparation
    if mine is not None and theirs is not None and not prepared_alike(mine, theirs):
        return "labels or columns are prepared otherwise than for the polynomial"
    return ""


def prepared_alike(one: Preparation, two: Preparation) -> bool:
    """Whether two records choose, scale and label rows alike, up to rounding of the scales."""
    if (one.positive, one.negative) != (two.positive, two.negative):
        return False
    if (one.unit_norm, one.bias, one.features) != (two.unit_norm, two.bias, two.features):
        return False
    mine, theirs = (
        np.arange(p.raw_features) if p.columns is None else p.columns for p in (one, two)
    )
    if not np.array_equal(mine, theirs):
        return False
    nothing, unit = np.zeros(len(mine)), np.ones(len(mine))
    centres = [nothing if p.center is None else p.center for p in (one, two)]
    scales = [unit if p.scale is None else p.scale for p in (one, two)]
    if not np.allclose(scales[0], scales[1], rtol=_SAME, atol=0.0):
        return False
    # the mean of a centred column is rounding: it counts beside the column's scale
    room = _SAME * (np.abs(centres[0]) + np.abs(scales[0]))
    return bool((np.abs(centres[0] - centres[1]) <= room).all())
