"""A QUBO to disk and back: dimod's JSON with all that is needed to decode an answer, and others.

The ending chooses the format: .json (dimod's serialization, streamed), .npz, .bqm (dimod's
`to_file`), or a text for other solvers: .lp, .qubo (qbsolv), .coo. If a format cannot store a part
of the problem, writing raises an error that says which.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
import orjson
from numpy.typing import NDArray

from qcompile._version import __version__
from qcompile.errors import FormatError, InputError
from qcompile.files.atomic import write_atomically
from qcompile.files.compression import compression_from_dict, compression_to_dict
from qcompile.files.guarded import (
    FORMAT_VERSION,
    as_record,
    check_depth,
    check_exists,
    check_finite,
    explained,
    finite,
    is_zip,
    json_items,
    preparation_from_dict,
    preparation_to_dict,
    read_json,
    read_npz,
    truth,
    whole_number,
    write_npz,
)
from qcompile.files.loss import loss_from_dict, loss_to_dict
from qcompile.files.pubo import (
    around_from_dict,
    around_to_dict,
    check_widths,
    encoding_from_dict,
    encoding_to_dict,
    numbers,
    step_to_dict,
    whole,
)
from qcompile.files.qubo_text import LINES, TEXTS
from qcompile.stages.arrays import Floats, frozen
from qcompile.stages.labels import checked_row_label
from qcompile.stages.origin import Origin
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Ancillas, Fingerprint, Qubo, Seal, fingerprint, row_marks
from qcompile.stages.source import Source

__all__ = ["ENDINGS", "QuboSource", "load_qubo", "qubo_of", "save_qubo"]


QuboSource: TypeAlias = Qubo | str | Path
ENDINGS = (".json", ".npz", ".bqm", ".lp", ".qubo", ".coo")
# tables that are marked as arrays, the marks themselves, and keys that only .npz files have
_NOT_MARKED = {"marks", "ancillas", "terms", "strength_on", "strength_off", "type", "offset"}


def save_qubo(
    qubo: Qubo, path: str | Path, *, pubo: Pubo | None = None, drop_offset: bool = False
) -> None:
    """Write a QUBO in the format that the ending names.

    `pubo` is the polynomial that was reduced. If given, .json and .npz files carry its fingerprint,
    so that `verify` notices any changed coefficient. `drop_offset` allows the formats that cannot
    store the offset to omit it.
    """
    ending = ".json" if str(path) == "-" else Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise InputError(f"{path}: expected a QUBO file ending in {', '.join(ENDINGS)}")
    if ending in (".qubo", ".coo") and qubo.offset and not drop_offset:
        raise InputError(
            f"{path}: {ending} files have no place for the offset {qubo.offset:g}, which energies "
            "include: use .json, .bqm or .lp, or leave it out with drop_offset=True"
        )
    if ending == ".npz":
        _write_binary(qubo, path, _metadata(qubo, pubo))
        return
    with write_atomically(path) as stream:
        if ending == ".bqm":
            with qubo.to_bqm().to_file() as packed:
                stream.writelines(iter(lambda: packed.read(1 << 20), b""))
        elif ending == ".json":
            _write_json(stream, qubo, _metadata(qubo, pubo))
        else:
            stream.writelines(TEXTS[ending](qubo))


def _metadata(qubo: Qubo, pubo: Pubo | None) -> dict[str, Any]:
    """Return the record that dimod has no place for: enough to decode samples from elsewhere."""
    encoding, loss, preparation = qubo.encoding, qubo.loss, qubo.preparation
    known: dict[str, Any] = {
        "version": FORMAT_VERSION,
        "qcompile": __version__,
        "variables": qubo.logical,
        "features": None if encoding is None else encoding.features,
        "bits": None if encoding is None else encoding.bits,
        "zeta": None if encoding is None else encoding.zeta,
        "bounds": None if encoding is None else encoding_to_dict(encoding)["bounds"],
        "l0": qubo.l0,
        **_in_plain_sight(qubo),
        "loss_record": None if loss is None else loss_to_dict(loss),
        "preparation": preparation_to_dict(preparation),
        "source": qubo.source.to_dict(),
        "cover": qubo.method,
        "optimal": qubo.optimal,
        "bound": qubo.bound,
        "strength": qubo.strength,
        "error": qubo.error,
        "dropped": qubo.dropped,
        "truncated": None if qubo.truncated is None else _terms_to_list(qubo.truncated),
        "fingerprint": None,
        **step_to_dict(encoding),
        **around_to_dict(qubo.around),
        **compression_to_dict(qubo.compression),
    }
    if pubo is not None:
        mark = fingerprint(_kept(qubo, pubo))
        known["fingerprint"] = {"value": mark.value, "gradient": mark.gradient.tolist()}
    known["marks"] = {"rows": row_marks(qubo), "record": _record_mark(known, qubo)}
    return known


def _in_plain_sight(qubo: Qubo) -> dict[str, Any]:
    """Return copies of values in the full records, for people who decode by hand."""
    loss, preparation = qubo.loss, qubo.preparation
    return {
        "prior_std": None if loss is None else loss.prior_std,
        "order": None if loss is None else loss.order,
        "loss": None if loss is None else list(loss.coefficients),
        "l2": None if loss is None else loss.l2,
        "labels": None
        if preparation is None
        else {"positive": preparation.positive, "negative": preparation.negative},
    }


def _record_mark(known: Mapping[str, Any], qubo: Qubo) -> str:
    """Return a digest of everything but the coefficients."""
    plain = {key: value for key, value in known.items() if key not in _NOT_MARKED}
    check_depth(plain)
    digest = hashlib.sha256(orjson.dumps(plain, option=orjson.OPT_SORT_KEYS))
    table = qubo.ancillas
    for array in (np.float64(qubo.offset), table.factors, table.terms, table.on, table.off):
        digest.update(array.tobytes())
    return digest.hexdigest()


def _kept(qubo: Qubo, pubo: Pubo) -> Pubo:
    """Return the polynomial without the terms that a budget of ancillas left out."""
    return pubo if qubo.truncated is None else pubo - qubo.truncated


def _terms_to_list(pubo: Pubo) -> list[Any]:
    return [[list(term), value] for term, value in pubo.to_dict().items()]


def _write_json(stream: IO[bytes], qubo: Qubo, known: Mapping[str, Any]) -> None:
    head = {
        "type": "BinaryQuadraticModel",
        "version": {"bqm_schema": "3.0.0"},
        "use_bytes": False,
        "index_type": "int32",
        "bias_type": "float64",
        "num_variables": qubo.variables,
        "num_interactions": len(qubo.first),
        "variable_type": "BINARY",
        "offset": qubo.offset,
    }
    stream.write(orjson.dumps(head)[:-1] + b',\n"info":{"qcompile":')
    stream.write(orjson.dumps(known)[:-1] + b',\n"ancillas":[')
    stream.writelines(_ancilla_items(qubo))
    tables: dict[str, NDArray[Any]] = {
        "terms": qubo.ancillas.terms,
        "strength_on": qubo.ancillas.on,
        "strength_off": qubo.ancillas.off,
    }
    for name, table in tables.items():
        _write_list(stream, b"],\n", name, table)
    arrays: dict[str, NDArray[Any]] = {
        "variable_labels": np.arange(qubo.variables, dtype=np.int32),
        "linear_biases": qubo.linear,
        "quadratic_biases": qubo.quadratic,
        "quadratic_head": qubo.second,
        "quadratic_tail": qubo.first,
    }
    stream.write(b"]}}")
    for i, (name, array) in enumerate(arrays.items()):
        _write_list(stream, b"],\n" if i else b",\n", name, array)
    stream.write(b"]}\n")


def _write_list(stream: IO[bytes], before: bytes, name: str, array: NDArray[Any]) -> None:
    stream.write(before + b'"' + name.encode() + b'":[')
    stream.writelines(json_items(array))


def _ancilla_items(qubo: Qubo) -> Iterator[bytes]:
    """Yield [[index, [factor, factor]], ...] without its outer brackets, in pieces."""
    factors = qubo.ancillas.factors.tolist()
    for start in range(0, len(factors), LINES):
        rows = enumerate(factors[start : start + LINES], qubo.logical + start)
        text = orjson.dumps([[index, pair] for index, pair in rows])
        yield (b"," if start else b"") + text[1:-1]


def _write_binary(qubo: Qubo, path: str | Path, known: Mapping[str, Any]) -> None:
    header = {"type": "qcompile.qubo", "offset": qubo.offset, **known}
    write_npz(
        path,
        header,
        {
            "linear": qubo.linear,
            "first": qubo.first,
            "second": qubo.second,
            "quadratic": qubo.quadratic,
            "factors": qubo.ancillas.factors,
            "terms": qubo.ancillas.terms,
            "strength_on": qubo.ancillas.on,
            "strength_off": qubo.ancillas.off,
        },
    )


def load_qubo(path: str | Path) -> tuple[Qubo, Fingerprint | None]:
    """Read a .json or .npz file; return the QUBO and the fingerprint of its polynomial, if any."""
    check_exists(path)
    if Path(path).suffix.lower() not in (".json", ".npz"):
        raise InputError(f"{path}: expected a QUBO as .json or .npz, which record its ancillas")
    with explained(path):
        if is_zip(path):
            header, arrays = read_npz(path, "qubo")
            known, offset = header, finite(header["offset"])
            factors: Any = arrays["factors"]
            tables = [arrays[name] for name in ("terms", "strength_on", "strength_off")]
            linear, quadratic = arrays["linear"], arrays["quadratic"]
            first, second = whole(arrays["first"]), whole(arrays["second"])
        else:
            content = read_json(path)
            known = _qcompile_info(content)
            offset = finite(content["offset"])
            _check_ancilla_numbers(known)
            factors = [pair for _, pair in known["ancillas"]]
            tables = [known[name] for name in ("terms", "strength_on", "strength_off")]
            linear = numbers(content["linear_biases"])
            quadratic = numbers(content["quadratic_biases"])
            head, tail = (whole(content[n]) for n in ("quadratic_head", "quadratic_tail"))
            if (len(linear), len(quadratic)) != (
                content["num_variables"],
                content["num_interactions"],
            ):
                raise FormatError("the numbers of variables or pairs differ from those stated")
            first, second = np.minimum(head, tail), np.maximum(head, tail)
        _check_copies(known)
        qubo = _assemble(known, offset, linear, first, second, quadratic, factors, tables)
        qubo = replace(qubo, seal=_seal(known, qubo))
        mark = known["fingerprint"]
        if mark is None:
            return qubo, None
        gradient = frozen(numbers(mark["gradient"]))
        check_finite(gradient)
        return qubo, Fingerprint(finite(mark["value"]), gradient)


def qubo_of(source: QuboSource) -> Qubo:
    """Return a QUBO as it is, or read it from its file."""
    if isinstance(source, Qubo):
        return source
    if isinstance(source, str | Path):
        return load_qubo(source)[0]
    raise InputError(
        f"a QUBO from {type(source).__name__}; expected a Qubo or its file (a Pubo: quadratize it "
        "first)"
    )


def _seal(known: Mapping[str, Any], qubo: Qubo) -> Seal:
    """Compare the record with its mark, and the copies for people with the record."""
    marks = known["marks"]
    rows = tuple(str(mark) for mark in marks["rows"])
    agree = all(known[name] == value for name, value in _in_plain_sight(qubo).items())
    return Seal(rows, agree and marks["record"] == _record_mark(known, qubo))


def _qcompile_info(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict) or content.get("type") != "BinaryQuadraticModel":
        raise FormatError("not a dimod BinaryQuadraticModel")
    if content.get("variable_type") != "BINARY" or content.get("use_bytes"):
        raise FormatError("expected a BINARY model with plain numbers")
    info = content.get("info")
    known = info.get("qcompile") if isinstance(info, dict) else None
    if not isinstance(known, dict):
        raise FormatError("info about ancillas is missing: it was not written by qcompile")
    if type(known.get("version")) is not int or known["version"] != FORMAT_VERSION:
        raise FormatError(
            f"format version {known.get('version')!r}; this qcompile reads {FORMAT_VERSION}"
        )
    if whole(content["variable_labels"]).tolist() != list(range(len(content["linear_biases"]))):
        raise FormatError("expected the variables 0, 1, 2, ... in order")
    return known


def _check_ancilla_numbers(known: Mapping[str, Any]) -> None:
    given = whole([number for number, _ in known["ancillas"]]).tolist()
    if given != list(range(known["variables"], known["variables"] + len(given))):
        raise FormatError("expected the ancillas numbered after the bits, in order")


def _check_copies(known: Mapping[str, Any]) -> None:
    """Raise FormatError unless the copies for people are numbers; `verify` compares them."""
    for name in ("prior_std", "order", "l2"):
        if known[name] is not None:
            finite(known[name])
    numbers(known["loss"] or [])
    for value in (known["labels"] or {}).values():
        if isinstance(value, str) and not _is_number(value):  # labels of tables may be texts
            checked_row_label(value)
        elif value is not None:
            finite(value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _assemble(
    known: Mapping[str, Any],
    offset: float,
    linear: Any,
    first: NDArray[Any],
    second: NDArray[Any],
    quadratic: Any,
    factors: Any,
    tables: list[Any],
) -> Qubo:
    """Return the QUBO of a file, after checking what other passes rely on."""
    uses, *strengths = whole(tables[0]), *map(numbers, tables[1:])
    values: list[Floats] = [frozen(numbers(v)) for v in (linear, quadratic, *strengths)]
    for array in values:
        check_finite(array)
    logical, size = whole_number(known["variables"]), len(values[0])
    pairs = whole(factors, dimensions=2).reshape(-1, 2)
    if not 0 <= logical <= size or len(pairs) != size - logical:
        raise FormatError(f"{logical} bits and {len(pairs)} ancillas do not match {size} variables")
    own = np.arange(logical, size)
    if len(pairs) and not (pairs.min() >= 0 and (pairs < own[:, None]).all()):
        raise FormatError("an ancilla has a factor that does not come before it")
    if any(len(table) != len(pairs) for table in (uses, *strengths)):
        raise FormatError("the table of ancillas is incomplete")
    if not len(first) == len(second) == len(values[1]):
        raise FormatError("the lists of pairs differ in length")
    if len(first) and not (first.min() >= 0 and (first < second).all() and second.max() < size):
        raise FormatError("a pair has an invalid variable")
    keys = second.astype(np.int64) << 32 | first.astype(np.int64)
    if np.any(np.diff(keys) <= 0):
        order = np.argsort(keys)
        if np.any(np.diff(keys[order]) == 0):
            raise FormatError("a pair is repeated")
        first, second, values[1] = first[order], second[order], frozen(values[1][order])
    encoding = None
    if known["features"] is not None:
        encoding = encoding_from_dict(known, logical)
        if encoding.variables > logical:
            raise FormatError(f"{encoding.variables} bits of weights exceed {logical} variables")
        check_widths(encoding, preparation_from_dict(known["preparation"]))
    record, truncated = known["loss_record"], known["truncated"]
    return Qubo(
        logical=logical,
        offset=offset,
        linear=values[0],
        first=frozen(first, np.int32),
        second=frozen(second, np.int32),
        quadratic=values[1],
        ancillas=Ancillas(frozen(pairs, np.int32), frozen(uses, np.int64), values[2], values[3]),
        method=str(known["cover"]),
        strength=finite(known["strength"]),
        optimal=None if known["optimal"] is None else truth(known["optimal"]),
        bound=None if known["bound"] is None else whole_number(known["bound"]),
        error=finite(known["error"]),
        truncated=None
        if truncated is None
        else Pubo.from_dict({tuple(t): finite(v) for t, v in truncated}, variables=logical),
        compression=compression_from_dict(known, logical),
        origin=Origin(
            encoding=encoding,
            loss=None if record is None else loss_from_dict(record),
            l0=finite(known["l0"]),
            dropped=finite(known["dropped"]),
            preparation=preparation_from_dict(known["preparation"]),
            source=Source.of(as_record(known["source"])),
            around=around_from_dict(known),
        ),
    )
