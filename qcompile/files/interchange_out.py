"""Write polynomials for other programs: dimod, OpenJij (cimod), plain JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from qcompile.errors import InputError
from qcompile.files import atomic
from qcompile.files.interchange import VARTYPES, from_key
from qcompile.files.pubo import save_pubo
from qcompile.stages.labels import Label, shown
from qcompile.stages.pubo import Pubo
from qcompile.stages.spins import bits_to_spins

__all__ = ["FORMS", "to_bqm", "to_cimod", "to_dimod", "to_terms", "write_pubo"]


FORMS = ("qcompile", "terms", "keys", "cimod", "bqm")


def to_terms(pubo: Pubo, *, vartype: str | None = None) -> dict[tuple[Label, ...], float]:
    """Return ``{(label, ...): coefficient}``; by default, `vartype` is that of the source.

    >>> from qcompile import read_pubo
    >>> to_terms(read_pubo({(7, 9): 2.0}, vartype="SPIN"))
    {(): 0.0, (7, 9): 2.0}
    """
    wanted = _wanted(pubo, vartype)
    labels = pubo.labels
    own = bits_to_spins(pubo) if wanted == "SPIN" else pubo
    return {tuple(labels[i] for i in term): value for term, value in own.to_dict().items()}


def to_dimod(pubo: Pubo, *, vartype: str | None = None) -> Any:
    """Return a `dimod.BinaryPolynomial` over the labels, with variables that no term uses."""
    import dimod

    wanted = _wanted(pubo, vartype)
    terms = {(label,): 0.0 for label in pubo.labels} | to_terms(pubo, vartype=wanted)
    return dimod.BinaryPolynomial(terms, wanted)


def to_bqm(pubo: Pubo, *, vartype: str | None = None) -> Any:
    """Return a `dimod.BinaryQuadraticModel` over the labels of a polynomial of degree 2 at most."""
    import dimod

    if pubo.degree > 2:
        raise InputError(f"a polynomial of degree {pubo.degree}; expected 2: quadratize it first")
    wanted = _wanted(pubo, vartype)
    bqm = dimod.BinaryQuadraticModel(wanted)
    for label in pubo.labels:
        bqm.add_linear(label, 0.0)
    for term, value in to_terms(pubo, vartype=wanted).items():
        if len(term) == 2:
            bqm.add_quadratic(*term, value)
        elif term:
            bqm.add_linear(*term, value)
        else:
            bqm.offset += value
    return bqm


def _wanted(pubo: Pubo, vartype: str | None) -> str:
    """Return the kind of variables asked for, or that of the polynomial's source."""
    if vartype not in (None, *VARTYPES):
        raise InputError(f"vartype {shown(vartype)}; expected BINARY or SPIN")
    return vartype or pubo.vartype


def to_cimod(pubo: Pubo, *, vartype: str | None = None) -> dict[str, Any]:
    """Return what cimod's (OpenJij's) `BinaryPolynomialModel.from_serializable` reads."""
    wanted = _wanted(pubo, vartype)
    labels = pubo.labels
    kind = _cimod_index(labels)
    place = {label: i for i, label in enumerate(labels)}
    terms = to_terms(pubo, vartype=wanted)
    return {
        "poly_key_distance_list": [[place[label] for label in term] for term in terms],
        "poly_value_list": list(terms.values()),
        "type": "BinaryPolynomialModel",
        "variables": labels,
        "vartype": wanted,
        "index_type": kind,
    }


def _cimod_index(labels: Sequence[Label]) -> str:
    """Return cimod's name for the kind of the labels."""
    if all(isinstance(label, int) for label in labels):
        return "IndexType.INT"
    if all(isinstance(label, str) for label in labels):
        return "IndexType.STRING"
    sizes = {len(label) if isinstance(label, tuple) else 0 for label in labels}
    rows = [label for label in labels if isinstance(label, tuple)]
    if len(sizes) == 1 and sizes <= {2, 3, 4} and all(type(p) is int for r in rows for p in r):
        return f"IndexType.INT_TUPLE_{sizes.pop()}"
    raise InputError(
        "cimod takes labels of one kind: integers, strings, or tuples of 2 to 4 integers; "
        'use form="terms"'
    )


def write_pubo(
    pubo: Pubo, path: str | Path, *, form: str = "terms", vartype: str | None = None
) -> None:
    """Write a polynomial as JSON for other programs; `interchange` describes the forms."""
    if form not in FORMS:
        raise InputError(f"form {shown(form)}; expected one of {', '.join(FORMS)}")
    if form == "qcompile":
        save_pubo(pubo, path)
        return
    if form == "cimod":
        content = to_cimod(pubo, vartype=vartype)
    elif form == "bqm":
        content = to_bqm(pubo, vartype=vartype).to_serializable()
    else:
        terms = to_terms(pubo, vartype=vartype)
        listed = (
            [[list(term), value] for term, value in terms.items()]
            if form == "terms"
            else {_to_key(term): value for term, value in terms.items()}
        )
        wanted = _wanted(pubo, vartype)
        content = {"vartype": wanted, "variables": pubo.labels, "terms": listed}
    with atomic.write_atomically(path) as stream:
        stream.write(orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")


def _to_key(term: tuple[Label, ...]) -> str:
    key = ",".join(str(label) for label in term)
    simple = all(isinstance(label, int | str) for label in term)
    if not simple or (term and from_key(key) != list(term)) or (term and not key.strip()):
        raise InputError(
            f'term {shown(list(term))} is ambiguous when written with commas; use form="terms"'
        )
    return key
