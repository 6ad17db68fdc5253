"""Read files that may be damaged or hostile: limits, headers, one-line errors."""

from __future__ import annotations

import itertools
import math
import os
import re
import select
import stat
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import orjson
from numpy.typing import NDArray

from qcompile._version import __version__
from qcompile.errors import FormatError, InputError, MemoryLimitError, QcompileError
from qcompile.files.atomic import write_atomically
from qcompile.runtime import memory
from qcompile.runtime.text import one_line
from qcompile.stages.preparation import Preparation

__all__ = [
    "FORMAT_VERSION",
    "as_record",
    "beginning",
    "check_depth",
    "check_exists",
    "check_finite",
    "check_header",
    "check_regular",
    "explained",
    "finite",
    "header_of",
    "is_zip",
    "json_items",
    "kind_of",
    "number",
    "numbers",
    "preparation_from_dict",
    "preparation_to_dict",
    "read_arrays",
    "read_json",
    "read_npz",
    "read_text_of",
    "truth",
    "whole",
    "whole_number",
    "write_npz",
]


FORMAT_VERSION = 1
_CHUNK = 1 << 16
_DEEPEST = 40
_JSON_COST = 12  # bytes of memory per byte of JSON
_WAIT_FOR_WRITER = 10.0  # seconds
_LARGEST_STREAM = 1 << 28  # from a pipe or a device, whose size is unknown
_LARGEST_HEADER = 1 << 28
# Arrays of a .npz file may be compressed, but not into a file that is so many times smaller.
_MOST_EXPANDED, _SMALL_ARRAYS = 50, 1 << 24
_ENCRYPTED = 0x1 | 0x40 | 0x2000  # flags of a member of a zip file
_LOCAL_HEADER = struct.Struct("<4sHH")  # how a member begins: mark, version, flags
# What NumPy writes before plain numbers. Its own parser evaluates any Python literal.
_ARRAY_HEADER = re.compile(
    rb"\{'descr': '([<>|=]?[a-zA-Z?]\d*)', 'fortran_order': (False|True), "
    rb"'shape': \(((?:\d{1,18}, ?)*(?:\d{1,18})?)\), ?\}\s*"
)
_LONGEST_ARRAY_HEADER = 10_000
_LENGTH_BYTES = {(1, 0): 2, (2, 0): 4}


def json_items(array: NDArray[Any]) -> Iterable[bytes]:
    """Yield the items of a JSON list in pieces, without a Python object for each number."""
    for start in range(0, len(array), _CHUNK):
        piece = np.ascontiguousarray(array[start : start + _CHUNK])
        text = orjson.dumps(piece, option=orjson.OPT_SERIALIZE_NUMPY)
        yield (b"," if start else b"") + text[1:-1]


def check_finite(array: NDArray[np.float64]) -> None:
    """Raise FormatError if a value is NaN or infinite."""
    if not np.isfinite(array).all():
        raise FormatError("a number is NaN or infinite")


def check_depth(value: Any) -> None:
    """Raise FormatError if values are nested so deep that orjson 3.13 would overrun its memory."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise FormatError(f"values are nested more than {_DEEPEST} levels deep")


def as_record(value: Any) -> dict[str, Any]:
    """Return a record from a file after checking that it can be written again unchanged."""
    if not isinstance(value, dict):
        raise FormatError(f"invalid record: found {type(value).__name__}, expected an object")
    check_depth(value)
    return value


def number(value: Any) -> float:
    """Return a number, or raise FormatError for all else: text such as "0", true and false, null.

    >>> number(1)
    1.0
    """
    if type(value) not in (int, float):
        raise FormatError(f"found {one_line(repr(value))}; expected a number")
    return float(value)


def finite(value: Any) -> float:
    """Return a finite number, or raise FormatError."""
    found = number(value)
    if not math.isfinite(found):
        raise FormatError("a number is NaN or infinite")
    return found


def whole_number(value: Any) -> int:
    """Return an integer of at most 64 bits, as orjson cannot write larger ones."""
    if type(value) is not int:
        raise FormatError(f"found {one_line(repr(value))}; expected a whole number")
    if not -(2**63) <= value < 2**63:
        raise FormatError("an integer exceeds 64 bits")
    return value


def truth(value: Any) -> bool:
    """Return true or false, or raise FormatError."""
    if type(value) is not bool:
        raise FormatError(f"found {one_line(repr(value))}; expected true or false")
    return value


def numbers(values: Any, *, dimensions: int = 1) -> NDArray[Any]:
    """Return an array of numbers, or raise FormatError; NumPy takes true for 1."""
    if isinstance(values, list):
        flat = values if dimensions == 1 else itertools.chain.from_iterable(values)
        if bool in set(map(type, flat)):
            raise FormatError("found true or false; expected a plain list of numbers")
    array = np.asarray(values)
    if not array.size:
        return array.reshape(-1)
    if array.ndim != dimensions or array.dtype.kind not in "iuf":
        raise FormatError("expected a plain list of numbers")
    return array


def whole(values: Any, *, dimensions: int = 1) -> NDArray[np.int64]:
    """Return an array of integers, or raise FormatError."""
    array = numbers(values, dimensions=dimensions)
    if array.size and array.dtype.kind not in "iu":
        raise FormatError("expected whole numbers")
    return array.astype(np.int64)


def header_of(kind: str) -> dict[str, Any]:
    """Return the header of a file of this kind."""
    return {"type": f"qcompile.{kind}", "version": FORMAT_VERSION, "qcompile": __version__}


def check_header(content: Any, kind: str) -> None:
    """Raise FormatError unless the content is a file of this kind and a known version."""
    if not isinstance(content, dict) or content.get("type") != f"qcompile.{kind}":
        found = content.get("type") if isinstance(content, dict) else type(content).__name__
        held = "no file of qcompile" if found is None else f"holds {found!r}"
        raise FormatError(f"{held}; expected a qcompile {kind}")
    version = content.get("version")
    if type(version) is not int or version != FORMAT_VERSION:
        raise FormatError(
            f"format version {version!r}; this qcompile {__version__} reads {FORMAT_VERSION}"
        )


def preparation_to_dict(preparation: Preparation | None) -> dict[str, Any] | None:
    """Return the preparation as a record for a file."""
    return None if preparation is None else preparation.to_dict()


def preparation_from_dict(values: Mapping[str, Any] | None) -> Preparation | None:
    """Return the preparation of a record, after checking the types of its values."""
    if values is None:
        return None
    whole_number(values["raw_features"])
    for label in (values["positive"], values["negative"]):
        if label is not None and not isinstance(label, str):
            finite(label)
    if values["positive"] is None:
        raise FormatError("the positive label is missing; expected a number or a text")
    truth(values["unit_norm"])
    truth(values["bias"])
    if values["columns"] is not None:
        whole(values["columns"])
    for name in ("center", "scale"):
        if values[name] is not None:
            numbers(values[name])
    return Preparation.from_dict(values)


def check_exists(path: str | Path) -> None:
    """Raise InputError if a file is missing, before its name is criticised."""
    if not os.path.exists(path):  # noqa: PTH110  # unlike Path it takes names of any length
        raise InputError(f"{path}: no such file")


def check_regular(path: str | Path) -> None:
    """Raise FormatError for a link, a pipe, a folder or a device in the place of a file."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return  # reading it tells why
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFLNK: "link", stat.S_IFIFO: "pipe", stat.S_IFDIR: "folder"}
        kind = kinds.get(stat.S_IFMT(mode), "device or socket")
        raise FormatError(f"{path}: is a {kind}; expected a file")


@contextmanager
def explained(path: str | Path) -> Iterator[None]:
    """Turn every error that a broken file can cause into one that names the file.

    NumPy's overflow and NaN warnings are silenced here; the readers check for both themselves.
    """
    try:
        with np.errstate(all="ignore"):
            yield
    except MemoryLimitError:
        raise
    except MemoryError:
        raise MemoryLimitError(
            f"{path}: reading it exceeds the available memory; use a larger machine"
        ) from None
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder; expected a file") from None
    except QcompileError as error:
        raise FormatError(f"{path}: {_reason(error)}") from None
    except KeyError as error:
        raise FormatError(f"{path}: {_reason(error)} is missing; the file is incomplete") from None
    except (zipfile.BadZipFile, zlib.error, struct.error) as error:
        raise FormatError(f"{path}: damaged .npz file ({_reason(error)})") from None
    except (
        ArithmeticError,
        AttributeError,
        EOFError,
        LookupError,
        OSError,
        RuntimeError,
        TypeError,
        ValueError,
    ) as error:
        raise FormatError(f"{path}: damaged or of another kind ({_reason(error)})") from None


def _reason(error: Exception) -> str:
    """Return the reason of an error in one line; it may quote any part of the file."""
    reason = one_line(error)
    # orjson's message is about surrogates, which says nothing to a user
    return "binary data, not text" if reason.startswith("str is not valid UTF-8") else reason


def read_json(path: str | Path) -> Any:
    """Read JSON; from a pipe or a device at most a fixed size, as theirs is unknown."""
    return orjson.loads(read_text_of(path, _JSON_COST))


def read_text_of(path: str | Path, cost: int) -> bytes:
    """Read a whole file, after checking that `cost` bytes of memory per byte are available."""
    with _opened(path) as stream:
        status = os.fstat(stream.fileno())
        if stat.S_ISREG(status.st_mode):
            _require_for_json(path, status.st_size, cost)
            return stream.read()
        text = stream.read(min(memory.available() // cost, _LARGEST_STREAM) + 1)
        if len(text) > _LARGEST_STREAM:
            raise FormatError(
                f"more than {memory.human(_LARGEST_STREAM)} from a pipe; write it to a file first"
            )
        _require_for_json(path, len(text), cost)
        return text


def _opened(path: str | Path) -> IO[bytes]:
    """Open a file, or a pipe that a program writes to; opening any other pipe would never end."""
    if not Path(path).is_fifo():
        return Path(path).open("rb")
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    ready, _, _ = select.select([handle], [], [], _WAIT_FOR_WRITER)
    if not ready:
        os.close(handle)
        raise FormatError(
            f"is a pipe; expected a file, or a program that writes to it within "
            f"{_WAIT_FOR_WRITER:g} s"
        )
    os.set_blocking(handle, True)
    return os.fdopen(handle, "rb")


def _require_for_json(path: str | Path, size: int, cost: int) -> None:
    memory.require(
        cost * size,
        f"{path}: reading {memory.human(size)} of JSON",
        "use the .npz form of this file",
    )


def is_zip(path: str | Path) -> bool:
    """Whether the file begins as a zip archive does."""
    return beginning(path, 2) == b"PK"


def beginning(path: str | Path, count: int) -> bytes:
    """Return the first bytes of a file. It must not be a pipe, as it is opened again later."""
    if Path(path).is_fifo():
        raise FormatError("is a pipe; expected a file, as it is read more than once")
    with Path(path).open("rb") as stream:
        return stream.read(count)


def kind_of(path: str | Path) -> str:
    """Return the type of a file of qcompile from its beginning, without reading all of it."""
    with explained(path):
        if is_zip(path):
            with zipfile.ZipFile(path) as archive:
                entry = archive.getinfo("header.npy")
                if entry.file_size > _LARGEST_HEADER:
                    raise FormatError("the header is too large")
                _check_expansion(entry.file_size, Path(path).stat().st_size)
                header = orjson.loads(_read_member(archive, entry).tobytes())
            return str(header["type"])
        found = re.search(rb'"type"\s*:\s*"([^"]*)"', beginning(path, 4096))
        if found is None:
            raise FormatError("not a file of qcompile")
        return found.group(1).decode(errors="replace")


def write_npz(
    path: str | Path, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write an uncompressed .npz for numpy.load, with a fixed date so that bytes are the same."""
    text = np.frombuffer(orjson.dumps(header), dtype=np.uint8)
    with write_atomically(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        for name, array in {"header": text, **arrays}.items():
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            with archive.open(entry, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)


def read_npz(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header and the arrays of a .npz file."""
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        total = sum(entry.file_size for entry in entries)
        _check_expansion(total, Path(path).stat().st_size)
        memory.require(3 * total, f"{path}: reading {memory.human(total)}", "use a larger machine")
        arrays = {e.filename.removesuffix(".npy"): _read_member(archive, e) for e in entries}
    if "header" not in arrays:
        raise FormatError(f"not a qcompile {kind} file (its header is missing)")
    header = orjson.loads(arrays.pop("header").tobytes())
    check_header(header, kind)
    return header, arrays


def _check_expansion(total: int, size: int, most: int = _MOST_EXPANDED) -> None:
    """Raise FormatError if arrays are far larger than the file that holds them."""
    if total > max(_SMALL_ARRAYS, most * size):
        raise FormatError(
            f"{memory.human(total)} of arrays in {memory.human(size)}; expected at most "
            f"{most} times the size of the file"
        )


def _check_plain(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> None:
    """Raise FormatError if a member says that it is encrypted, in the directory or where it begins.

    zipfile looks only into the directory.
    """
    stream = archive.fp
    assert stream is not None  # the archive is open
    stream.seek(entry.header_offset)
    start = stream.read(_LOCAL_HEADER.size)
    flags = _LOCAL_HEADER.unpack(start)[2] if len(start) == _LOCAL_HEADER.size else 0
    if (flags | entry.flag_bits) & _ENCRYPTED:
        raise FormatError(f"array {entry.filename!r} is encrypted; expected plain numbers")


def read_arrays(path: str | Path, *, most_expanded: int = _MOST_EXPANDED) -> dict[str, Any]:
    """Return the arrays of a .npz or .npy file of other programs: numbers, truths or texts.

    The array of a .npy file has the name "". Objects are refused, as they may run code.
    """
    if not is_zip(path):
        with Path(path).open("rb") as stream:
            return {"": _read_array(stream, Path(path).stat().st_size, "in it", any_plain=True)}
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        total = sum(entry.file_size for entry in entries)
        _check_expansion(total, Path(path).stat().st_size, most_expanded)
        memory.require(3 * total, f"{path}: reading {memory.human(total)}", "use a larger machine")
        return {
            e.filename.removesuffix(".npy"): _read_member(archive, e, any_plain=True)
            for e in entries
        }


def _read_member(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, *, any_plain: bool = False
) -> NDArray[Any]:
    """Read one array after checking that it is as large as its header claims."""
    name = repr(entry.filename)
    _check_plain(archive, entry)
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FormatError(f"array {name}: invalid compression; expected stored or deflated")
    with archive.open(entry) as member:
        return _read_array(member, entry.file_size, name, any_plain=any_plain)


def _read_array(
    member: IO[bytes], most: int, name: str, *, any_plain: bool = False
) -> NDArray[Any]:
    shape, dtype, fortran = _array_header(member, name)
    if not (any_plain and dtype.kind in "uifbUS") and (
        dtype.kind not in "uif" or dtype.itemsize > 8 or fortran
    ):
        raise FormatError(f"array {name} of type {dtype}; expected plain numbers")
    size = math.prod(shape) * dtype.itemsize
    if size > most:
        raise FormatError(f"array {name} claims {size} bytes but has fewer")
    content = member.read(size)
    if len(content) != size:
        raise FormatError(f"array {name} is cut off")
    order: Literal["F", "C"] = "F" if fortran else "C"
    array = np.frombuffer(content, dtype=dtype).reshape(shape, order=order)
    if dtype.kind == "U" and array.size and dtype.itemsize:
        codes = np.frombuffer(content, dtype=np.dtype("u4").newbyteorder(dtype.byteorder))
        if codes.max() > sys.maxunicode:
            raise FormatError(f"array {name} holds no text; expected characters")
    return array


def _array_header(member: IO[bytes], name: str) -> tuple[tuple[int, ...], np.dtype[Any], bool]:
    """Read the header of a plain array: its shape, its type, whether columns come first."""
    version = np.lib.format.read_magic(member)
    if version not in _LENGTH_BYTES:
        raise FormatError(f"array {name} has an unknown version {version}")
    length = int.from_bytes(member.read(_LENGTH_BYTES[version]), "little")
    if length > _LONGEST_ARRAY_HEADER:
        raise FormatError(f"array {name}: header of {length} bytes exceeds {_LONGEST_ARRAY_HEADER}")
    found = _ARRAY_HEADER.fullmatch(member.read(length))
    if found is None:
        raise FormatError(f"array {name} has a damaged header; expected plain numbers")
    kind, fortran, sizes = found.group(1).decode(), found.group(2), found.group(3)
    shape = tuple(int(size) for size in sizes.split(b",") if size.strip())
    return shape, np.dtype(kind), fortran == b"True"
