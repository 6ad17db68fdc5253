"""Read polynomials of other programs: dictionaries, dimod, OpenJij (cimod), plain JSON.

The form of a JSON file is recognised by its content:

qcompile   what `save_pubo` writes
cimod      ``BinaryPolynomialModel(...).to_serializable()`` of OpenJij's cimod
bqm        ``BinaryQuadraticModel.to_serializable()`` of dimod or of cimod
terms      ``[[[0, 1, 2], -1.5], [[1], 2.0], [[], 3.0]]``
keys       ``{"0,1,2": -1.5, "1": 2.0, "": 3.0}``

The last two may also be the value of "terms" in an object with "vartype" (BINARY or SPIN) and
"variables". A label is an integer, a string, or a flat list of these. Labels other than 0, 1, 2,
... are numbered in the order of "variables" if it is given, otherwise sorted, and recorded in
``Pubo.source.labels``. Polynomials of spins become polynomials of bits; ``Pubo.source.vartype``
records this. Repeated members collapse (x² = x, s² = 1), equal terms are added.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import orjson

from qcompile.errors import FormatError, InputError
from qcompile.files import guarded, qubo
from qcompile.files.pubo import HIGHEST_DEGREE, load_pubo
from qcompile.stages.from_terms import arrays_of
from qcompile.stages.labels import Label, checked_label, checked_labels, first_repeated, shown
from qcompile.stages.origin import Origin
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo
from qcompile.stages.source import Source
from qcompile.stages.spins import spins_to_bits

__all__ = [
    "VARTYPES",
    "check_problem_ending",
    "from_key",
    "is_qubo_file",
    "load_problem",
    "numbered",
    "problem_of",
    "read_pubo",
]


Terms: TypeAlias = Iterable[tuple[Iterable[Label], float]]
VARTYPES = ("BINARY", "SPIN")
# Memory per character of text: Python lists are large, and terms exist twice for a while.
_BYTES_A_CHARACTER = 60
_BEGINNING = 4096
_WHOLE = re.compile("-?(?:0|[1-9][0-9]*)")  # 01 is a name, not the variable 1
_OWN_PUBO = re.compile(rb'"type"\s*:\s*"qcompile.pubo"')
_OWN_QUBO = re.compile(rb'"info"\s*:\s*\{\s*"qcompile"')


def read_pubo(source: Any, *, vartype: str | None = None) -> Pubo:
    """Read a polynomial from a file, a dictionary of terms, or an object of dimod or cimod.

    `vartype` is the kind of variables if the source does not state it: BINARY (default) or SPIN.

    >>> pubo = read_pubo({("a", "b", "c"): 2.0, ("b",): -1.0})
    >>> pubo.to_dict(), pubo.labels
    ({(): 0.0, (1,): -1.0, (0, 1, 2): 2.0}, ['a', 'b', 'c'])
    """
    if vartype not in (None, *VARTYPES):
        raise InputError(f"vartype {shown(vartype)}; expected BINARY or SPIN")
    if isinstance(source, Pubo):
        return _of_bits(source, vartype)
    if isinstance(source, str | Path):
        return _read_file(source, vartype)
    if hasattr(source, "to_serializable"):  # models of dimod and cimod
        return _from_content(source.to_serializable(), vartype)
    own = getattr(source, "vartype", None)
    if own is not None and isinstance(source, Mapping):  # a dimod.BinaryPolynomial
        # its terms and its variables are sets, whose order changes from run to run
        kind = _agreed(own.name, vartype)
        plain = _plain(list(source), list(source.values()), kind)
        if plain is not None:
            return plain
        labels = {member for term in source for member in term}
        return _recorded(source.items(), labels, kind, in_order=False)
    if isinstance(source, Mapping) and not all(isinstance(key, str) for key in source):
        plain = _plain(list(source), list(source.values()), vartype)
        if plain is not None:
            return plain
        return _recorded(((_members(k), c) for k, c in source.items()), None, vartype)
    if isinstance(source, Mapping | list):
        return _from_content(source, vartype)
    raise InputError(
        f"a polynomial from {type(source).__name__}; expected a file, a dictionary such as "
        "{(0, 1, 2): -1.5}, or a model of dimod or cimod"
    )


def is_qubo_file(path: str | Path) -> bool:
    """Whether a file begins as a QUBO that qcompile wrote."""
    with guarded.explained(path):
        if guarded.is_zip(path):
            return guarded.kind_of(path) == "qcompile.qubo"
        return _OWN_QUBO.search(guarded.beginning(path, _BEGINNING)) is not None


def _read_file(path: str | Path, vartype: str | None) -> Pubo:
    with guarded.explained(path):
        own = guarded.is_zip(path) or _OWN_PUBO.search(guarded.beginning(path, _BEGINNING))
    if own:
        return _of_bits(load_pubo(path), vartype)
    with guarded.explained(path):
        text = guarded.read_text_of(path, _BYTES_A_CHARACTER)
        content = orjson.loads(text)
        if isinstance(content, dict) and not isinstance(content.get("type"), str):
            # keys are terms: a repeated one would be lost silently
            json.loads(text, object_pairs_hook=_distinct)
        return _from_content(content, vartype)


def _of_bits(pubo: Pubo, vartype: str | None) -> Pubo:
    """Return a polynomial of qcompile, or raise InputError if spins were asked for."""
    if vartype == "SPIN":
        raise InputError("vartype SPIN; a polynomial of qcompile is BINARY")
    return pubo


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    twice = first_repeated(key for key, _ in pairs)
    if twice:
        raise FormatError(f"key {shown(twice[0])} is repeated; expected each once")
    return dict(pairs)


def _from_content(content: Any, vartype: str | None) -> Pubo:
    """Return the polynomial of a JSON value."""
    kind = content.get("type") if isinstance(content, Mapping) else None
    if kind == "BinaryPolynomialModel":
        return _from_cimod(content, vartype)
    if kind == "BinaryQuadraticModel":
        return _from_bqm(content, vartype)
    if isinstance(kind, str):
        raise FormatError(
            f"holds {shown(kind)}; expected a polynomial of qcompile, dimod, cimod or plain terms"
        )
    if isinstance(content, Mapping) and isinstance(content.get("terms"), list | dict):
        strange = sorted(set(content) - {"terms", "vartype", "variables"})
        if strange:
            raise FormatError(
                f"{shown(strange[0])} beside the terms; expected vartype and variables only"
            )
        own = content.get("vartype")
        kind = vartype if own is None else _agreed(own, vartype)
        given = content.get("variables")
        labels = None if given is None else checked_labels(given)
        return _recorded(_plain_terms(content["terms"]), labels, kind)
    if isinstance(content, list) and all(type(e) is list and len(e) == 2 for e in content):
        plain = _plain([entry[0] for entry in content], [entry[1] for entry in content], vartype)
        if plain is not None:
            return plain
    return _recorded(_plain_terms(content), None, vartype)


def _plain(keys: list[Any], values: list[Any], vartype: str | None) -> Pubo | None:
    """Return the polynomial of terms over the bits 0, 1, ..., n-1, or None if they are others."""
    if vartype == "SPIN" or not set(map(type, keys)) <= {tuple, list, frozenset}:
        return None
    made = arrays_of(keys, values)
    if made is None or not made[3].all():
        return None
    constant, indices, coefficients, there = made
    return Pubo(len(there), constant, indices, coefficients, origin=Origin(source=Source()))


def _plain_terms(content: Any) -> Terms:
    """Yield the terms of [[members, coefficient], ...] or {"members": coefficient, ...}."""
    if isinstance(content, Mapping):
        for key, value in content.items():
            yield from_key(key), value
        return
    if not isinstance(content, list):
        raise FormatError(
            f"holds {shown(content)}; expected a list of [[variables], coefficient] or an object "
            'such as {"0,1,2": -1.5}'
        )
    for number, entry in enumerate(content):
        if not (isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], list)):
            raise FormatError(
                f"term {number} is {shown(entry)}; expected [[variables], coefficient]"
            )
        yield [checked_label(member) for member in entry[0]], entry[1]


def from_key(key: str) -> list[Label]:
    """Return the members of a key such as "0,1,2" or "a,b"; an empty key is the constant."""
    if not key.strip():
        return []
    parts = [part.strip() for part in key.split(",")]
    if not all(parts):
        raise FormatError(f'term {shown(key)}; expected variables and commas, as in "0,1,2"')
    # 25 digits are enough to be refused as too large, and quick to convert
    return [checked_label(int(p[:25]) if _WHOLE.fullmatch(p) else p) for p in parts]


def _from_cimod(content: Mapping[str, Any], vartype: str | None) -> Pubo:
    labels = checked_labels(content["variables"])
    rows, values = content["poly_key_distance_list"], content["poly_value_list"]
    if not (isinstance(rows, list) and isinstance(values, list) and len(rows) == len(values)):
        raise FormatError("the lists of terms and of values differ in length")
    for row in rows:
        _check_positions(row, len(labels))
    twice = first_repeated(tuple(sorted(row)) for row in rows)
    if twice:  # cimod itself would keep only the last one
        raise FormatError(f"term {shown(twice[0])} is repeated; expected each once")
    terms = (([labels[i] for i in row], c) for row, c in zip(rows, values, strict=True))
    return _recorded(terms, labels, _agreed(content["vartype"], vartype))


def _from_bqm(content: Mapping[str, Any], vartype: str | None) -> Pubo:
    info = content.get("info")
    if isinstance(info, Mapping) and "qcompile" in info:
        raise FormatError("is already a QUBO of qcompile; expected a polynomial")
    if content.get("use_bytes"):
        raise FormatError("stores numbers as bytes; write it with to_serializable(use_bytes=False)")
    labels = checked_labels(content["variable_labels"])
    kind = _agreed(content["variable_type"], vartype)
    terms: list[tuple[Sequence[Label], Any]] = [((), content["offset"])]
    if "biases" in content:
        terms += _dense_terms(content["biases"], labels)
        return _recorded(terms, labels, kind)
    linear, quadratic = content["linear_biases"], content["quadratic_biases"]
    heads, tails = content["quadratic_head"], content["quadratic_tail"]
    if not all(isinstance(part, list) for part in (linear, quadratic, heads, tails)):
        raise FormatError("biases are not plain lists of numbers")
    if len(linear) != len(labels) or not len(quadratic) == len(heads) == len(tails):
        raise FormatError("the lists of labels, biases and pairs differ in length")
    terms += [((label,), c) for label, c in zip(labels, linear, strict=True)]
    for i, j, c in zip(heads, tails, quadratic, strict=True):
        _check_positions([i, j], len(labels))
        terms.append(((labels[i], labels[j]), c))
    return _recorded(terms, labels, kind)


def _dense_terms(biases: Any, labels: list[Label]) -> list[tuple[Sequence[Label], Any]]:
    """Return the terms of cimod's matrix: pairs in the upper half, fields in the last column."""
    side = len(labels) + 1
    if not isinstance(biases, list) or len(biases) != side * side:
        raise FormatError(f"biases: expected a square of {side} x {side} numbers")
    terms: list[tuple[Sequence[Label], Any]] = []
    for i, label in enumerate(labels):
        row = biases[i * side : (i + 1) * side]
        terms += [((label, labels[j]), row[j]) for j in range(i + 1, side - 1) if row[j]]
        terms.append(((label,), row[-1]))
    return terms


def _check_positions(row: Any, number: int) -> None:
    if not isinstance(row, list) or not all(type(i) is int and 0 <= i < number for i in row):
        raise FormatError(
            f"term {shown(row)}; expected positions in the list of {number} variables, from 0 on"
        )


def _members(key: Any) -> list[Label]:
    """Return the members of a dictionary's key."""
    if not isinstance(key, tuple | list | frozenset):
        raise InputError(
            f"term {shown(key)}; expected a tuple of variables, as in {{(0, 1, 2): -1.5}}"
        )
    return [checked_label(member) for member in key]


def _agreed(own: Any, asked: str | None) -> str:
    if own not in VARTYPES:
        raise FormatError(f"vartype {shown(own)}; expected BINARY or SPIN")
    if asked is not None and asked != own:
        raise InputError(f"states {own} itself, but {asked} was asked for; leave that out")
    return str(own)


def _recorded(
    terms: Terms, labels: Collection[Label] | None, vartype: str | None, *, in_order: bool = True
) -> Pubo:
    """Number the variables and record their labels and kind in the polynomial's source."""
    pubo, names = numbered(terms, labels, vartype or "BINARY", in_order=in_order)
    numbers = names == list(range(len(names)))
    source = Source(
        labels=None if numbers else tuple(checked_label(name) for name in names),
        vartype=vartype if vartype == "SPIN" else None,
    )
    return replace(pubo, origin=Origin(source=source))


def numbered(
    terms: Terms, labels: Collection[Label] | None, vartype: str, *, in_order: bool = True
) -> tuple[Pubo, list[Label]]:
    """Return the polynomial over the bits 0, 1, 2, ... and the label of each.

    Labels 0, 1, ..., n-1 are kept. Others are numbered in the order of `labels` if `in_order`,
    otherwise sorted, so that a polynomial gets the same numbers in whatever order it is written.
    """
    kept: list[tuple[Sequence[Label], float]] = []
    used: set[Label] = set()
    for members, value in terms:
        term = tuple(members)
        kept.append((term, _coefficient(value, term)))
        used.update(term)
    unknown = set() if labels is None else used.difference(labels)
    if labels is not None and unknown:
        raise InputError(
            f"variable {shown(_sorted(unknown)[0])} is missing from the list of variables"
        )
    names = _sorted(used if labels is None else labels, in_order=in_order and labels is not None)
    place = {name: i for i, name in enumerate(names)}
    merged: dict[tuple[int, ...], float] = {}
    for members, value in kept:
        key = _key([place[member] for member in members], vartype)
        merged[key] = merged.get(key, 0.0) + value
    degree = max(map(len, merged), default=0)
    if degree > HIGHEST_DEGREE:
        raise InputError(f"a term of {degree:,} variables; expected at most {HIGHEST_DEGREE:,}")
    pubo = Pubo.from_dict(merged, variables=len(names))  # raises if a sum is not finite
    return (spins_to_bits(pubo) if vartype == "SPIN" else pubo), names


def _key(members: list[int], vartype: str) -> tuple[int, ...]:
    """Return the distinct members of a term, sorted: x·x = x for bits, s·s = 1 for spins."""
    distinct = set(members)
    if vartype == "SPIN" and len(distinct) != len(members):
        odd: set[int] = set()
        for member in members:
            odd ^= {member}
        distinct = odd
    return tuple(sorted(distinct))


def _sorted(labels: Iterable[Label], *, in_order: bool = False) -> list[Label]:
    """Return labels in a fixed order: 0..n-1 by number, others by type and then by value."""
    given = list(labels)
    if all(type(v) is int or isinstance(v, np.integer) for v in given):
        whole = set(given)
        if whole == set(range(len(given))):
            return list(range(len(given)))
    if in_order:
        return given
    try:
        return sorted(given, key=lambda v: (type(v).__name__, v))
    except TypeError:  # tuples of integers and strings, or objects without an order
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
        f"term {shown(list(term))} has the coefficient {shown(value)}; expected a finite number"
    )


def load_problem(path: str | Path) -> Pubo | Qubo:
    """Read a file that holds a QUBO of qcompile or any polynomial."""
    check_problem_ending(path)
    return qubo.load_qubo(path)[0] if is_qubo_file(path) else read_pubo(path)


def problem_of(source: Any) -> Pubo | Qubo:
    """Return a problem as it is, or read it from its file."""
    if isinstance(source, Pubo | Qubo):
        return source
    if isinstance(source, str | Path):
        return load_problem(source)
    raise InputError(
        f"a problem from {type(source).__name__}; expected a Pubo, a Qubo or a file (of what "
        "compile() returns take .pubo; read_pubo() turns terms and models of dimod into one)"
    )


def check_problem_ending(path: str | Path) -> None:
    """Raise InputError unless the file exists and has an ending that can be read."""
    guarded.check_exists(path)
    if Path(path).suffix.lower() not in (".json", ".npz"):
        raise InputError(f"{path}: expected a qubo or pubo file that ends in .json or .npz")
