"""Polynomials of bits to disk and back, with their encodings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import orjson
from numpy.typing import NDArray

from qcompile.errors import FormatError
from qcompile.files.atomic import write_atomically
from qcompile.files.guarded import (
    as_record,
    check_finite,
    check_header,
    explained,
    finite,
    header_of,
    is_zip,
    json_items,
    number,
    numbers,
    preparation_from_dict,
    preparation_to_dict,
    read_json,
    read_npz,
    whole,
    whole_number,
    write_npz,
)
from qcompile.files.loss import loss_from_dict, loss_to_dict
from qcompile.stages.arrays import frozen
from qcompile.stages.encoding import Encoding
from qcompile.stages.local_fit import Around
from qcompile.stages.origin import Origin
from qcompile.stages.preparation import Preparation
from qcompile.stages.pubo import Pubo
from qcompile.stages.source import Source
from qcompile.stages.step import Step

__all__ = [
    "HIGHEST_DEGREE",
    "around_from_dict",
    "around_to_dict",
    "check_widths",
    "encoding_from_dict",
    "encoding_to_dict",
    "load_pubo",
    "numbers",
    "save_pubo",
    "step_to_dict",
    "whole",
]


# Terms store their variables as 32-bit integers.
_MOST_VARIABLES = 2**31 - 1
# Variables that no term uses cost memory which the file does not have.
_MOST_UNUSED = 1 << 20
# A polynomial has an array for each degree: one absurd term must not create millions of them.
HIGHEST_DEGREE = 1000


def encoding_to_dict(encoding: Encoding) -> dict[str, Any]:
    """Return the encoding as a record for a file."""
    bounds = None if encoding.bounds is None else [list(pair) for pair in encoding.bounds]
    record: dict[str, Any] = {
        "features": encoding.features,
        "bits": encoding.bits,
        "zeta": encoding.zeta,
        "bounds": bounds,
    }
    return record | step_to_dict(encoding)


def step_to_dict(encoding: Encoding | None) -> dict[str, Any]:
    """Return where a step begins and which way it goes; nothing for other encodings."""
    if not isinstance(encoding, Step):
        return {}
    chosen, ways = encoding.block, encoding.directions
    return {
        "step": {
            "centre": list(encoding.centre),
            "block": None if chosen is None else list(chosen),
            "directions": None if ways is None else list(ways),
        }
    }


def around_to_dict(around: Around | None) -> dict[str, Any]:
    """Return how the polynomial of a step was fitted; nothing for other problems."""
    return {} if around is None else {"around": around.to_dict()}


def around_from_dict(values: Mapping[str, Any]) -> Around | None:
    """Return the record that `around_to_dict` made; None if there is none."""
    known = values.get("around")
    if known is None:
        return None
    made = Around(
        finite(known["width"]),
        finite(known["smoothing"]),
        whole_number(known["degree"]),
        finite(known["l2"]),
    )
    if not (made.width > 0 and made.smoothing >= 0 and made.degree in (2, 3) and made.l2 >= 0):
        raise FormatError("the record of a step's fit has a number out of range")
    return made


def encoding_from_dict(values: Mapping[str, Any], variables: int) -> Encoding:
    """Return the encoding of a record, after checking that it has at most `variables` bits."""
    bounds, step = values["bounds"], values.get("step")
    features, bits = whole_number(values["features"]), whole_number(values["bits"])
    if step is not None:
        return _step_from_dict(as_record(step), features, bits, finite(values["zeta"]))
    if bounds is None and not 0 < features * bits <= variables:
        raise FormatError(f"{features} weights of {bits} bits do not match {variables} variables")
    return Encoding(
        features,
        bits,
        number(values["zeta"]),
        None if bounds is None else tuple((whole_number(a), whole_number(b)) for a, b in bounds),
    )


def _step_from_dict(values: Mapping[str, Any], features: int, bits: int, radius: float) -> Step:
    block, ways = values["block"], values["directions"]
    return Step(
        features,
        bits,
        radius,
        centre=tuple(finite(weight) for weight in values["centre"]),
        block=None if block is None else tuple(map(int, whole(block).tolist())),
        directions=None if ways is None else tuple(map(int, whole(ways).tolist())),
    )


def save_pubo(pubo: Pubo, path: str | Path) -> None:
    """Write a polynomial as .npz if the name ends so, otherwise as JSON."""
    header = {
        **header_of("pubo"),
        "variables": pubo.variables,
        "constant": pubo.constant,
        "encoding": None if pubo.encoding is None else encoding_to_dict(pubo.encoding),
        "loss": None if pubo.loss is None else loss_to_dict(pubo.loss),
        "l0": pubo.l0,
        "dropped": pubo.dropped,
        "preparation": preparation_to_dict(pubo.preparation),
        "source": pubo.source.to_dict(),
        **around_to_dict(pubo.around),
    }
    if str(path).endswith(".npz"):
        arrays: dict[str, NDArray[Any]] = {}
        for degree, (rows, values) in enumerate(
            zip(pubo.indices, pubo.coefficients, strict=True), 1
        ):
            arrays[f"indices_{degree}"] = rows
            arrays[f"coefficients_{degree}"] = values
        write_npz(path, header, arrays)
        return
    with write_atomically(path) as stream:
        _write_pubo_json(stream, header, pubo)


def _write_pubo_json(stream: IO[bytes], header: Mapping[str, Any], pubo: Pubo) -> None:
    stream.write(orjson.dumps(header)[:-1] + b',"terms":[')
    for degree, (rows, values) in enumerate(zip(pubo.indices, pubo.coefficients, strict=True), 1):
        stream.write(b"\n," if degree > 1 else b"\n")
        stream.write(b'{"degree":%d,"indices":[' % degree)
        stream.writelines(json_items(rows))
        stream.write(b'],\n"coefficients":[')
        stream.writelines(json_items(values))
        stream.write(b"]}")
    stream.write(b"\n]}\n")


def load_pubo(path: str | Path) -> Pubo:
    """Read a polynomial that `save_pubo` wrote."""
    with explained(path):
        if is_zip(path):
            header, arrays = read_npz(path, "pubo")
            degrees = range(1, len(arrays) // 2 + 1)
            terms = [(arrays[f"indices_{j}"], arrays[f"coefficients_{j}"]) for j in degrees]
        else:
            header = read_json(path)
            check_header(header, "pubo")
            if [whole_number(t["degree"]) for t in header["terms"]] != list(
                range(1, len(header["terms"]) + 1)
            ):
                raise FormatError("expected the terms of degree 1, 2, 3, ... in order")
            terms = [(t["indices"], t["coefficients"]) for t in header["terms"]]
        return _pubo_from(header, terms)


def _pubo_from(header: Mapping[str, Any], terms: list[tuple[Any, Any]]) -> Pubo:
    variables = whole_number(header["variables"])
    if not 0 <= variables <= _MOST_VARIABLES:
        raise FormatError(f"{variables:.3g} variables; expected 0 to {_MOST_VARIABLES}")
    if len(terms) > HIGHEST_DEGREE:
        raise FormatError(f"terms of {len(terms):,} degrees; expected at most {HIGHEST_DEGREE:,}")
    indices, coefficients = [], []
    for degree, (rows, values) in enumerate(terms, 1):
        index = whole(rows, dimensions=2).reshape(-1, degree)
        _check_terms(index, variables)
        indices.append(frozen(index, np.int32))
        coefficients.append(frozen(numbers(values)))
        check_finite(coefficients[-1])
    named = sum(rows.size for rows in indices)
    if variables > named + _MOST_UNUSED:
        raise FormatError(
            f"{variables:,} variables and terms that name {named:,}; expected at most "
            f"{_MOST_UNUSED:,} that no term uses"
        )
    encoding = header["encoding"]
    pubo = Pubo(
        variables=variables,
        constant=finite(header["constant"]),
        indices=tuple(indices),
        coefficients=tuple(coefficients),
        origin=Origin(
            encoding=None if encoding is None else encoding_from_dict(encoding, variables),
            loss=None if header["loss"] is None else loss_from_dict(header["loss"]),
            l0=finite(header["l0"]),
            dropped=finite(header["dropped"]),
            preparation=preparation_from_dict(header["preparation"]),
            source=Source.of(as_record(header["source"])),
            around=around_from_dict(header),
        ),
    )
    if pubo.encoding is not None and pubo.encoding.variables > variables:
        raise FormatError(f"{pubo.encoding.variables} bits of weights exceed {variables} variables")
    check_widths(pubo.encoding, pubo.preparation)
    return pubo


def _check_terms(rows: NDArray[np.int64], variables: int) -> None:
    """Raise FormatError unless members and rows ascend and no row is repeated."""
    if not len(rows):
        return
    if rows.min() < 0 or rows.max() >= variables:
        raise FormatError(f"a term uses an invalid variable; expected 0 to {variables - 1}")
    if np.any(np.diff(rows, axis=1) <= 0):
        raise FormatError("the variables of a term are not ascending")
    step = np.diff(rows, axis=0)
    first = np.argmax(step != 0, axis=1)
    if np.any(step[np.arange(len(step)), first] <= 0):
        raise FormatError("terms are repeated or not in order")


def check_widths(encoding: Encoding | None, preparation: Preparation | None) -> None:
    """Raise FormatError unless there is one weight for each feature of the prepared data."""
    if encoding is None or preparation is None or encoding.features == preparation.features:
        return
    raise FormatError(
        f"{encoding.features} weights do not match {preparation.features} features of prepared data"
    )
