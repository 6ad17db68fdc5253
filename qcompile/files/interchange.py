"""Polynomials from other programs and back: dictionaries, dimod, OpenJij (cimod), plain JSON.

Forms of a JSON file, told apart by what is in it:

qcompile   what `save_pubo` writes
cimod      ``BinaryPolynomialModel(...).to_serializable()`` of OpenJij's cimod
bqm        ``BinaryQuadraticModel.to_serializable()`` of dimod or of cimod
terms      ``[[[0, 1, 2], -1.5], [[1], 2.0], [[], 3.0]]``
keys       ``{"0,1,2": -1.5, "1": 2.0, "": 3.0}``

The last two may stand as "terms" in an object that also has "vartype" (BINARY or SPIN) and
"variables". Variables are labelled by whole numbers, texts, or flat lists of these. Labels that are
not just 0, 1, 2, ... are numbered (in the order of "variables" if that is given, else sorted) and
recorded in ``Pubo.source["labels"]``; polynomials of spins become ones of bits, which
``Pubo.source["vartype"]`` records. Repeated members collapse (x² = x, s² = 1), equal terms add up.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import orjson

from qcompile.errors import FormatError, InputError
from qcompile.files import storage as files
from qcompile.stages.artifacts import Pubo, Qubo
from qcompile.stages.spins import bits_to_spins, spins_to_bits

__all__ = [
    "FORMS",
    "VARTYPES",
    "is_qubo_file",
    "labels_of",
    "numbered",
    "read_pubo",
    "to_bqm",
    "to_cimod",
    "to_dimod",
    "to_terms",
    "vartype_of",
    "write_pubo",
]

Label: TypeAlias = Hashable
Terms: TypeAlias = Iterable[tuple[Iterable[Label], float]]

FORMS = ("qcompile", "terms", "keys", "cimod", "bqm")
VARTYPES = ("BINARY", "SPIN")
# A polynomial keeps a list for each degree: one absurd term must not make millions of them.
_HIGHEST_DEGREE = 1000
# Lists in Python are so much larger than their text, and terms are there twice for a while.
_BYTES_A_CHARACTER = 60
_BEGINNING = 4096
_WHOLE = re.compile("-?(?:0|[1-9][0-9]*)")  # 01 is a name, not the variable 1
_OWN_PUBO = re.compile(rb'"type"\s*:\s*"qcompile.pubo"')
_OWN_QUBO = re.compile(rb'"info"\s*:\s*\{\s*"qcompile"')


def read_pubo(source: Any, *, vartype: str | None = None) -> Pubo:
    """Read a polynomial from a file, a dictionary of terms, or an object of dimod or cimod.

    `vartype` says what the variables are where the source does not: BINARY (else) or SPIN.

    >>> pubo = read_pubo({("a", "b", "c"): 2.0, ("b",): -1.0})
    >>> pubo.to_dict(), labels_of(pubo)
    ({(): 0.0, (1,): -1.0, (0, 1, 2): 2.0}, ['a', 'b', 'c'])
    """
    if vartype not in (None, *VARTYPES):
        raise InputError(f"vartype {_shown(vartype)}; expected BINARY or SPIN")
    if isinstance(source, Pubo):
        return _of_bits(source, vartype)
    if isinstance(source, str | Path):
        return _read_file(source, vartype)
    if hasattr(source, "to_serializable"):  # models of dimod and of cimod
        return _from_content(source.to_serializable(), vartype)
    own = getattr(source, "vartype", None)
    if own is not None and isinstance(source, Mapping):  # a dimod.BinaryPolynomial
        # its terms and its variables are sets, whose order changes from run to run
        labels = {member for term in source for member in term}
        return _recorded(source.items(), labels, _agreed(own.name, vartype), in_order=False)
    if isinstance(source, Mapping) and not all(isinstance(key, str) for key in source):
        return _recorded(((_members(k), c) for k, c in source.items()), None, vartype)
    if isinstance(source, Mapping | list):
        return _from_content(source, vartype)
    raise InputError(
        f"a polynomial from {type(source).__name__}; expected a file, a dictionary such as "
        "{(0, 1, 2): -1.5}, or a model of dimod or cimod"
    )


def is_qubo_file(path: str | Path) -> bool:
    """Tell from its beginning whether a file is a QUBO that qcompile wrote."""
    with files.explained(path):
        if files.is_zip(path):
            return files.kind_of(path) == "qcompile.qubo"
        return _OWN_QUBO.search(files.beginning(path, _BEGINNING)) is not None


def _read_file(path: str | Path, vartype: str | None) -> Pubo:
    with files.explained(path):
        own = files.is_zip(path) or _OWN_PUBO.search(files.beginning(path, _BEGINNING))
    if own:
        return _of_bits(files.load_pubo(path), vartype)
    with files.explained(path):
        text = files.read_text_of(path, _BYTES_A_CHARACTER)
        content = orjson.loads(text)
        if isinstance(content, dict) and not isinstance(content.get("type"), str):
            # keys are terms: one that is there twice would be lost without a word
            json.loads(text, object_pairs_hook=_distinct)
        return _from_content(content, vartype)


def _of_bits(pubo: Pubo, vartype: str | None) -> Pubo:
    """Insist that nobody takes the bits of our own polynomials for spins."""
    if vartype == "SPIN":
        raise InputError("a polynomial of qcompile has bits; expected BINARY")
    return pubo


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    twice = _first_repeated(key for key, _ in pairs)
    if twice:
        raise FormatError(f"key {_shown(twice[0])} is there twice; expected each once")
    return dict(pairs)


def _first_repeated(values: Iterable[Label]) -> list[Label]:
    """Give the first value that was there before, in a list, or an empty list."""
    seen: set[Label] = set()
    for value in values:
        if value in seen:
            return [value]
        seen.add(value)
    return []


def _from_content(content: Any, vartype: str | None) -> Pubo:
    """Read what a JSON file holds."""
    kind = content.get("type") if isinstance(content, Mapping) else None
    if kind == "BinaryPolynomialModel":
        return _from_cimod(content, vartype)
    if kind == "BinaryQuadraticModel":
        return _from_bqm(content, vartype)
    if isinstance(kind, str):
        raise FormatError(
            f"holds {_shown(kind)}; expected a polynomial of qcompile, dimod, cimod or plain terms"
        )
    if isinstance(content, Mapping) and isinstance(content.get("terms"), list | dict):
        strange = sorted(set(content) - {"terms", "vartype", "variables"})
        if strange:
            raise FormatError(
                f"{_shown(strange[0])} beside the terms; expected vartype and variables only"
            )
        own = content.get("vartype")
        kind = vartype if own is None else _agreed(own, vartype)
        given = content.get("variables")
        labels = None if given is None else _labels(given)
        return _recorded(_plain_terms(content["terms"]), labels, kind)
    return _recorded(_plain_terms(content), None, vartype)


def _plain_terms(content: Any) -> Terms:
    """Give the terms of [[members, coefficient], ...] or {"members": coefficient, ...}."""
    if isinstance(content, Mapping):
        for key, value in content.items():
            yield _from_key(key), value
        return
    if not isinstance(content, list):
        raise FormatError(
            f"holds {_shown(content)}; expected a list of [[variables], coefficient] or an object "
            'such as {"0,1,2": -1.5}'
        )
    for number, entry in enumerate(content):
        if not (isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], list)):
            raise FormatError(
                f"term {number} is {_shown(entry)}; expected [[variables], coefficient]"
            )
        yield [_label(member) for member in entry[0]], entry[1]


def _from_key(key: str) -> list[Label]:
    """Split "0,1,2" or "a,b"; nothing is the constant."""
    if not key.strip():
        return []
    parts = [part.strip() for part in key.split(",")]
    if not all(parts):
        raise FormatError(f'term {_shown(key)}; expected variables and commas, as in "0,1,2"')
    # a number of thousands of digits is refused like any that is too large
    return [_label(int(p[:25]) if _WHOLE.fullmatch(p) else p) for p in parts]


def _from_cimod(content: Mapping[str, Any], vartype: str | None) -> Pubo:
    labels = _labels(content["variables"])
    rows, values = content["poly_key_distance_list"], content["poly_value_list"]
    if not (isinstance(rows, list) and isinstance(values, list) and len(rows) == len(values)):
        raise FormatError("its lists of terms and of values do not fit together")
    for row in rows:
        _check_positions(row, len(labels))
    twice = _first_repeated(tuple(sorted(row)) for row in rows)
    if twice:  # cimod itself would keep the last one only
        raise FormatError(f"term {_shown(twice[0])} is there twice; expected each once")
    terms = (([labels[i] for i in row], c) for row, c in zip(rows, values, strict=True))
    return _recorded(terms, labels, _agreed(content["vartype"], vartype))


def _from_bqm(content: Mapping[str, Any], vartype: str | None) -> Pubo:
    info = content.get("info")
    if isinstance(info, Mapping) and "qcompile" in info:
        raise FormatError("is a QUBO of qcompile already; expected a polynomial")
    if content.get("use_bytes"):
        raise FormatError(
            "has its numbers as bytes; write it with to_serializable(use_bytes=False)"
        )
    labels = _labels(content["variable_labels"])
    kind = _agreed(content["variable_type"], vartype)
    terms: list[tuple[Sequence[Label], Any]] = [((), content["offset"])]
    if "biases" in content:
        terms += _dense_terms(content["biases"], labels)
        return _recorded(terms, labels, kind)
    linear, quadratic = content["linear_biases"], content["quadratic_biases"]
    heads, tails = content["quadratic_head"], content["quadratic_tail"]
    if not all(isinstance(part, list) for part in (linear, quadratic, heads, tails)):
        raise FormatError("its biases are not plain lists of numbers")
    if len(linear) != len(labels) or not len(quadratic) == len(heads) == len(tails):
        raise FormatError("its lists of labels, biases and pairs do not fit together")
    terms += [((label,), c) for label, c in zip(labels, linear, strict=True)]
    for i, j, c in zip(heads, tails, quadratic, strict=True):
        _check_positions([i, j], len(labels))
        terms.append(((labels[i], labels[j]), c))
    return _recorded(terms, labels, kind)


def _dense_terms(biases: Any, labels: list[Label]) -> list[tuple[Sequence[Label], Any]]:
    """Read cimod's square of biases: pairs in the upper half, fields in the last column."""
    side = len(labels) + 1
    if not isinstance(biases, list) or len(biases) != side * side:
        raise FormatError(f"its biases are no square of {side} x {side} numbers")
    terms: list[tuple[Sequence[Label], Any]] = []
    for i, label in enumerate(labels):
        row = biases[i * side : (i + 1) * side]
        terms += [((label, labels[j]), row[j]) for j in range(i + 1, side - 1) if row[j]]
        terms.append(((label,), row[-1]))
    return terms


def _check_positions(row: Any, number: int) -> None:
    if not isinstance(row, list) or not all(type(i) is int and 0 <= i < number for i in row):
        raise FormatError(
            f"term {_shown(row)}; expected places in its list of {number} variables, from 0 on"
        )


def _members(key: Any) -> list[Label]:
    """Give the members of a key of a dictionary."""
    if not isinstance(key, tuple | list | frozenset):
        raise InputError(
            f"term {_shown(key)}; expected a tuple of variables, as in {{(0, 1, 2): -1.5}}"
        )
    return [_label(member) for member in key]


def _labels(given: Any) -> list[Label]:
    if not isinstance(given, list):
        raise FormatError(f"its variables are {_shown(given)}; expected a list of labels")
    labels = [_label(value) for value in given]
    twice = _first_repeated(labels)
    if twice:
        raise FormatError(f"variable {_shown(twice[0])} is listed twice; expected each once")
    return labels


def _label(value: Any) -> Label:
    """Insist on a label that a file can hold: a whole number, a text, or a flat row of these."""
    if isinstance(value, list | tuple) and value:
        return tuple(_simple_label(part) for part in value)
    return _simple_label(value)


def _simple_label(value: Any) -> Label:
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        if -(2**63) <= value < 2**63:
            return int(value)
    elif isinstance(value, str) and value.isprintable():  # as good as any text with a name in it
        return value
    raise InputError(
        f"variable {_shown(value)}; expected a whole number, a printable text, or a row of these"
    )


def _agreed(own: Any, asked: str | None) -> str:
    if own not in VARTYPES:
        raise FormatError(f"vartype {_shown(own)}; expected BINARY or SPIN")
    if asked is not None and asked != own:
        raise InputError(f"says {own} itself, but {asked} was asked for; leave that out")
    return str(own)


def _recorded(
    terms: Terms, labels: Collection[Label] | None, vartype: str | None, *, in_order: bool = True
) -> Pubo:
    """Number the variables and write down in the source of the polynomial what they were."""
    pubo, names = numbered(terms, labels, vartype or "BINARY", in_order=in_order)
    source: dict[str, Any] = {}
    if names != list(range(len(names))):
        source["labels"] = [_label(name) for name in names]
    if vartype == "SPIN":
        source["vartype"] = vartype
    return replace(pubo, source=source)


def numbered(
    terms: Terms, labels: Collection[Label] | None, vartype: str, *, in_order: bool = True
) -> tuple[Pubo, list[Label]]:
    """Give the polynomial over the bits 0, 1, 2, ... and the label of each.

    Labels 0, 1, ..., n-1 stay what they are. Others are numbered in the order of `labels` if that
    means something, else sorted: the same polynomial gets the same numbers however it is written.
    """
    kept: list[tuple[Sequence[Label], float]] = []
    used: set[Label] = set()
    for members, value in terms:
        term = tuple(members)
        kept.append((term, _coefficient(value, term)))
        used.update(term)
    unknown = set() if labels is None else used.difference(labels)
    if labels is not None and unknown:
        raise InputError(f"variable {_shown(_sorted(unknown)[0])} is not among those listed")
    names = _sorted(used if labels is None else labels, in_order=in_order and labels is not None)
    place = {name: i for i, name in enumerate(names)}
    merged: dict[tuple[int, ...], float] = {}
    for members, value in kept:
        key = _key([place[member] for member in members], vartype)
        merged[key] = merged.get(key, 0.0) + value
    degree = max(map(len, merged), default=0)
    if degree > _HIGHEST_DEGREE:
        raise InputError(f"a term of {degree:,} variables; expected at most {_HIGHEST_DEGREE:,}")
    pubo = Pubo.from_dict(merged, variables=len(names))  # refuses sums that are not finite
    return (spins_to_bits(pubo) if vartype == "SPIN" else pubo), names


def _key(members: list[int], vartype: str) -> tuple[int, ...]:
    """Sort the members of a term; twice the same bit is that bit, twice the same spin is 1."""
    distinct = set(members)
    if vartype == "SPIN" and len(distinct) != len(members):
        odd: set[int] = set()
        for member in members:
            odd ^= {member}
        distinct = odd
    return tuple(sorted(distinct))


def _sorted(labels: Iterable[Label], *, in_order: bool = False) -> list[Label]:
    """Sort labels of any kind: 0..n-1 by number, else by kind and then by value."""
    given = list(labels)
    if all(type(v) is int or isinstance(v, np.integer) for v in given):
        whole = set(given)
        if whole == set(range(len(given))):
            return list(range(len(given)))
    if in_order:
        return given
    try:
        return sorted(given, key=lambda v: (type(v).__name__, v))
    except TypeError:  # rows of numbers and texts, or objects without an order
        return sorted(given, key=lambda v: (type(v).__name__, repr(v)))


def _coefficient(value: Any, term: Any) -> float:
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise InputError(
        f"term {_shown(list(term))} has the coefficient {_shown(value)}; expected a finite number"
    )


def _shown(value: Any) -> str:
    """Show anything in a few characters of one line."""
    if isinstance(value, list | tuple | dict):
        inner = list(value.values()) if isinstance(value, dict) else value
        if len(value) > 20 or any(isinstance(v, list | tuple | dict) for v in inner):
            return f"a {type(value).__name__} of {len(value):,} entries"
    text = repr(value) if not isinstance(value, str) else ascii(value[:60])
    return text if len(text) <= 60 else f"{text[:57]}..."


def labels_of(problem: Pubo | Qubo) -> list[Label]:
    """Give the label of each variable (of a QUBO: without its ancillas)."""
    size = problem.logical if isinstance(problem, Qubo) else problem.variables
    known = problem.source.get("labels")
    if known is None:
        return list(range(size))
    labels = _labels(known)
    if len(labels) != size:
        raise InputError(f"{len(labels)} labels for {size} variables; expected one for each")
    return labels


def vartype_of(problem: Pubo | Qubo) -> str:
    """Say what the variables were in the source that was read: BINARY or SPIN."""
    return "SPIN" if problem.source.get("vartype") == "SPIN" else "BINARY"


def to_terms(pubo: Pubo, *, vartype: str | None = None) -> dict[tuple[Label, ...], float]:
    """Give ``{(label, ...): coefficient}``; `vartype` is that of the source if none is asked for.

    >>> to_terms(read_pubo({(7, 9): 2.0}, vartype="SPIN"))
    {(): 0.0, (7, 9): 2.0}
    """
    wanted = _wanted(pubo, vartype)
    labels = labels_of(pubo)
    own = bits_to_spins(pubo) if wanted == "SPIN" else pubo
    return {tuple(labels[i] for i in term): value for term, value in own.to_dict().items()}


def to_dimod(pubo: Pubo, *, vartype: str | None = None) -> Any:
    """Give a `dimod.BinaryPolynomial` over the labels; variables without a term stay."""
    import dimod

    wanted = _wanted(pubo, vartype)
    terms = {(label,): 0.0 for label in labels_of(pubo)} | to_terms(pubo, vartype=wanted)
    return dimod.BinaryPolynomial(terms, wanted)


def to_bqm(pubo: Pubo, *, vartype: str | None = None) -> Any:
    """Give a `dimod.BinaryQuadraticModel` over the labels of a polynomial of degree 2 at most."""
    import dimod

    if pubo.degree > 2:
        raise InputError(f"a polynomial of degree {pubo.degree}; expected 2: quadratize it first")
    wanted = _wanted(pubo, vartype)
    bqm = dimod.BinaryQuadraticModel(wanted)
    for label in labels_of(pubo):
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
    """Give the kind of variables that is asked for, or that the polynomial came with."""
    if vartype not in (None, *VARTYPES):
        raise InputError(f"vartype {_shown(vartype)}; expected BINARY or SPIN")
    return vartype or vartype_of(pubo)


def to_cimod(pubo: Pubo, *, vartype: str | None = None) -> dict[str, Any]:
    """Give what `cimod.BinaryPolynomialModel.from_serializable` reads: OpenJij's plain values."""
    wanted = _wanted(pubo, vartype)
    labels = labels_of(pubo)
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
    """Name the one kind of label that cimod shall use."""
    if all(isinstance(label, int) for label in labels):
        return "IndexType.INT"
    if all(isinstance(label, str) for label in labels):
        return "IndexType.STRING"
    sizes = {len(label) if isinstance(label, tuple) else 0 for label in labels}
    rows = [label for label in labels if isinstance(label, tuple)]
    if len(sizes) == 1 and sizes <= {2, 3, 4} and all(type(p) is int for r in rows for p in r):
        return f"IndexType.INT_TUPLE_{sizes.pop()}"
    raise InputError(
        "cimod takes labels of one kind only, whole numbers, texts, or rows of 2 to 4 whole "
        "numbers; write the form terms"
    )


def write_pubo(
    pubo: Pubo, path: str | Path, *, form: str = "terms", vartype: str | None = None
) -> None:
    """Write a polynomial as JSON that others read; see the forms above."""
    if form not in FORMS:
        raise InputError(f"form {_shown(form)}; expected one of {', '.join(FORMS)}")
    if form == "qcompile":
        files.save_pubo(pubo, path)
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
        content = {"vartype": wanted, "variables": labels_of(pubo), "terms": listed}
    with files.write_atomically(path) as stream:
        stream.write(orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY) + b"\n")


def _to_key(term: tuple[Label, ...]) -> str:
    key = ",".join(str(label) for label in term)
    simple = all(isinstance(label, int | str) for label in term)
    if not simple or (term and _from_key(key) != list(term)) or (term and not key.strip()):
        raise InputError(
            f"term {_shown(list(term))} cannot be told from others when written with commas; "
            "write the form terms"
        )
    return key
