"""Every artifact to disk and back: versioned, atomic, the same bytes every time, no pickle.

JSON for people and other programs, .npz for large arrays. A file says what it is ("type"), which
version of the format it has, and which qcompile wrote it. Readers take any file as hostile: sizes
are checked before memory is allocated, and every error names the file.
"""

from __future__ import annotations

import bz2
import fcntl
import glob
import gzip
import lzma
import math
import os
import re
import stat
import struct
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

import numpy as np
import orjson
from numpy.typing import NDArray

from qcompile._version import __version__
from qcompile.data import svmlight
from qcompile.errors import FormatError, InputError, MemoryLimitError, QcompileError
from qcompile.runtime import memory
from qcompile.stages.artifacts import Dataset, Encoding, Loss, Moments, Preparation, Pubo, frozen

__all__ = [
    "all_or_nothing",
    "check_exists",
    "check_outputs",
    "check_writable",
    "load_loss",
    "load_moments",
    "load_pubo",
    "save_loss",
    "save_moments",
    "save_pubo",
    "save_svmlight",
    "sync_folder",
    "write_atomically",
]

FORMAT_VERSION = 1
_batch: ContextVar[list[tuple[Path, Path]] | None] = ContextVar("batch", default=None)
_COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda text: gzip.compress(text, mtime=0),  # no date: the same bytes every time
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}
_CHUNK = 1 << 16
_DEEPEST = 40
_JSON_COST = 12  # bytes of memory for a byte of JSON
_LARGEST_STREAM = 1 << 28  # of a pipe or a device, which does not say how long it is
_LONGEST_PREFIX = 40
_LARGEST_HEADER = 1 << 28
# Terms name their variables by 32 bits.
_MOST_VARIABLES = 2**31 - 1
_LONGEST_REASON = 300
# What numpy writes before plain numbers; its own parser takes much more, and far worse.
_ARRAY_HEADER = re.compile(
    rb"\{'descr': '([<>|=]?[a-zA-Z?]\d*)', 'fortran_order': (False|True), "
    rb"'shape': \(((?:\d{1,18}, ?)*(?:\d{1,18})?)\), ?\}\s*"
)
_LONGEST_ARRAY_HEADER = 10_000
_LENGTH_BYTES = {(1, 0): 2, (2, 0): 4}


@contextmanager
def write_atomically(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a file that appears under its name only when it is complete and on disk."""
    if str(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(os.path.realpath(path))  # keep a symbolic link a link
    if target.exists() and not target.is_file():  # a device or a pipe cannot be replaced
        check_writable(path)
        with _write_errors(path), target.open("wb") as stream:
            yield stream
        return
    with _write_errors(path):
        handle, name = tempfile.mkstemp(
            prefix=f".{target.name[:_LONGEST_PREFIX]}.", suffix=".part", dir=target.parent
        )
    try:
        with _write_errors(path):
            with os.fdopen(handle, "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            Path(name).chmod(_permissions(target))
            batch = _batch.get()
            if batch is None:
                Path(name).replace(target)
                sync_folder(target.parent)
            else:
                batch.append((Path(name), target))
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


@contextmanager
def all_or_nothing() -> Iterator[None]:
    """Let the files written inside appear only when all of them are complete.

    Of several runs that write the same files one gets all of its own there, never a mixture.
    """
    batch: list[tuple[Path, Path]] = []
    token = _batch.set(batch)
    try:
        yield
        with _alone_in({target.parent for _, target in batch}):
            for name, target in batch:
                with _write_errors(target):
                    name.replace(target)
                    sync_folder(target.parent)
    finally:
        _batch.reset(token)
        for name, _ in batch:
            with suppress(OSError):  # after success it is no longer there
                name.unlink()


@contextmanager
def _alone_in(folders: Iterable[Path]) -> Iterator[None]:
    """Wait until no other run gives files their names in these folders."""
    with ExitStack() as stack:
        for folder in sorted(folders):  # in the same order everywhere: nobody waits in a circle
            with suppress(OSError):  # some file systems know no locks
                handle = os.open(folder, os.O_RDONLY)
                stack.callback(os.close, handle)
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def sync_folder(folder: Path) -> None:
    """Let new names in a folder reach the disk: a file may be there and its name not."""
    with suppress(OSError):  # some file systems cannot, and some folders cannot be read
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def check_outputs(paths: Iterable[str], *, inputs: Iterable[str | None] = ()) -> None:
    """Refuse, before any work is done, places that cannot be written or are named twice.

    No output may be one of the inputs either.
    """
    named = [path for path in inputs if path is not None and path != "-"]
    read = {os.path.realpath(path) for path in named}
    for pattern in named:  # such as 'part-*.svm'
        read.update(map(os.path.realpath, glob.glob(pattern)))  # noqa: PTH207
    seen = set()
    for path in paths:
        check_writable(path)
        place = path if path == "-" else os.path.realpath(path)
        if place in read:
            raise InputError(f"{path}: is read as input; expected another place for the output")
        if place in seen:
            raise InputError(f"{path}: named for two outputs; expected a place of its own for each")
        seen.add(place)


@contextmanager
def _write_errors(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from None


def _permissions(target: Path) -> int:
    """Keep the permissions of a file that is replaced; new files get the usual ones."""
    with suppress(OSError):
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def check_writable(path: str | Path) -> None:
    """Refuse a place that cannot be written before any work is done."""
    if str(path) == "-":
        return
    target = Path(os.path.realpath(path))
    with _write_errors(path):
        if target.is_dir():
            raise InputError(f"{path}: is a folder; expected a file name")
        if not target.parent.is_dir():
            raise InputError(f"{path}: there is no folder {Path(path).parent}; create it first")
        # a file is replaced by a new one, so its folder must be writable too
        places = [target] if target.exists() else []
        if not places or target.is_file():
            places.append(target.parent)
        if not all(os.access(place, os.W_OK) for place in places):
            raise InputError(f"{path}: no permission to write there")


def save_svmlight(data: Dataset, path: str | Path) -> None:
    """Write the rows as svmlight text, with the labels that they came with.

    An ending of .gz, .bz2 or .xz compresses it.
    """
    compress = _COMPRESSORS.get(Path(path).suffix.lower())
    with write_atomically(path) as stream:
        lines = svmlight.lines(data.x, data.preparation.labels(data.y))
        if compress is None:
            stream.writelines(line.encode() for line in lines)
        else:
            stream.write(compress("".join(lines).encode()))


def save_loss(
    loss: Loss,
    path: str | Path,
    *,
    preparation: Preparation | None = None,
    source: Mapping[str, Any] | None = None,
) -> None:
    """Write a loss as JSON."""
    content = {
        **header_of("loss"),
        **loss_to_dict(loss),
        "preparation": None if preparation is None else preparation.to_dict(),
        "source": dict(source or {}),
    }
    with write_atomically(path) as stream:
        stream.write(orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def load_loss(path: str | Path) -> Loss:
    """Read what `save_loss` wrote."""
    with explained(path):
        content = read_json(path)
        check_header(content, "loss")
        return loss_from_dict(content)


def loss_to_dict(loss: Loss) -> dict[str, Any]:
    """Give plain values for a file."""
    return {
        "order": loss.order,
        "coefficients": list(loss.coefficients),
        "fit": loss.fit,
        "prior_std": loss.prior_std,
        "range": loss.range_,
        "zeta": loss.zeta,
        "l2": loss.l2,
        "omega": loss.omega,
        "notes": list(loss.notes),
    }


def loss_from_dict(values: Mapping[str, Any]) -> Loss:
    """Come back from `loss_to_dict`."""
    return Loss(
        coefficients=tuple(float(a) for a in values["coefficients"]),
        fit=str(values["fit"]),
        prior_std=float(values["prior_std"]),
        range_=float(values["range"]),
        l2=float(values["l2"]),
        omega=None if values["omega"] is None else finite(values["omega"]),
        notes=tuple(str(note) for note in values["notes"]),
    )


def encoding_to_dict(encoding: Encoding) -> dict[str, Any]:
    """Give plain values for a file."""
    bounds = None if encoding.bounds is None else [list(pair) for pair in encoding.bounds]
    return {
        "features": encoding.features,
        "bits": encoding.bits,
        "zeta": encoding.zeta,
        "bounds": bounds,
    }


def encoding_from_dict(values: Mapping[str, Any], variables: int) -> Encoding:
    """Come back from `encoding_to_dict`; at most `variables` bits, checked before any are made."""
    bounds = values["bounds"]
    features, bits = int(values["features"]), int(values["bits"])
    if bounds is None and not 0 < features * bits <= variables:
        raise FormatError(f"{features} weights of {bits} bits in {variables} variables")
    return Encoding(
        features,
        bits,
        float(values["zeta"]),
        None if bounds is None else tuple((int(low), int(high)) for low, high in bounds),
    )


def save_moments(moments: Moments, path: str | Path) -> None:
    """Write moments as .npz."""
    header = {
        **header_of("moments"),
        "features": moments.features,
        "order": moments.order,
        "count": moments.count,
        "sum_of_squares": moments.sum_of_squares,
        "preparation": preparation_to_dict(moments.preparation),
        "source": dict(moments.source),
    }
    arrays = {_tensor_name(*key): tensor for key, tensor in moments.tensors.items()}
    write_npz(path, header, arrays)


def load_moments(path: str | Path) -> Moments:
    """Read what `save_moments` wrote."""
    with explained(path):
        header, arrays = read_npz(path, "moments")
        tensors = {_tensor_key(name): frozen(array) for name, array in arrays.items()}
        for tensor in tensors.values():
            check_finite(tensor)
        features, order = int(header["features"]), int(header["order"])
        squares, count = float(header["sum_of_squares"]), int(header["count"])
        if not (1 <= order <= 8 and features >= 1 and count >= 1 and 0 <= squares < math.inf):
            raise FormatError("order, features, count or sum of squares are out of range")
        missing = {(degree, 0) for degree in range(1, order + 1)} - set(tensors)
        if missing:
            raise FormatError(f"tensors {sorted(missing)} are missing")
        return Moments(
            features=features,
            order=order,
            count=count,
            sum_of_squares=squares,
            tensors=tensors,
            preparation=preparation_from_dict(header["preparation"]),
            source=as_record(header["source"]),
        )


def save_pubo(pubo: Pubo, path: str | Path) -> None:
    """Write a polynomial: .npz by the ending, JSON otherwise."""
    header = {
        **header_of("pubo"),
        "variables": pubo.variables,
        "constant": pubo.constant,
        "encoding": None if pubo.encoding is None else encoding_to_dict(pubo.encoding),
        "loss": None if pubo.loss is None else loss_to_dict(pubo.loss),
        "l0": pubo.l0,
        "dropped": pubo.dropped,
        "preparation": preparation_to_dict(pubo.preparation),
        "source": dict(pubo.source),
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


def json_items(array: NDArray[Any]) -> Iterable[bytes]:
    """Give the items of a JSON list in pieces, without an object for each number."""
    for start in range(0, len(array), _CHUNK):
        piece = np.ascontiguousarray(array[start : start + _CHUNK])
        text = orjson.dumps(piece, option=orjson.OPT_SERIALIZE_NUMPY)
        yield (b"," if start else b"") + text[1:-1]


def load_pubo(path: str | Path) -> Pubo:
    """Read what `save_pubo` wrote."""
    with explained(path):
        if is_zip(path):
            header, arrays = read_npz(path, "pubo")
            degrees = range(1, len(arrays) // 2 + 1)
            terms = [(arrays[f"indices_{j}"], arrays[f"coefficients_{j}"]) for j in degrees]
        else:
            header = read_json(path)
            check_header(header, "pubo")
            terms = [(t["indices"], t["coefficients"]) for t in header["terms"]]
        return _pubo_from(header, terms)


def _pubo_from(header: Mapping[str, Any], terms: list[tuple[Any, Any]]) -> Pubo:
    variables = int(header["variables"])
    if not 0 <= variables <= _MOST_VARIABLES:
        raise FormatError(f"{variables:.3g} variables; expected 0 to {_MOST_VARIABLES}")
    indices, coefficients = [], []
    for degree, (rows, values) in enumerate(terms, 1):
        index = whole(rows, dimensions=2).reshape(-1, degree)
        _check_terms(index, variables)
        indices.append(frozen(index, np.int32))
        coefficients.append(frozen(numbers(values)))
        check_finite(coefficients[-1])
    encoding = header["encoding"]
    pubo = Pubo(
        variables=variables,
        constant=finite(header["constant"]),
        indices=tuple(indices),
        coefficients=tuple(coefficients),
        encoding=None if encoding is None else encoding_from_dict(encoding, variables),
        loss=None if header["loss"] is None else loss_from_dict(header["loss"]),
        l0=finite(header["l0"]),
        dropped=finite(header["dropped"]),
        preparation=preparation_from_dict(header["preparation"]),
        source=as_record(header["source"]),
    )
    if pubo.encoding is not None and pubo.encoding.variables > variables:
        raise FormatError(f"{pubo.encoding.variables} bits of weights in {variables} variables")
    check_widths(pubo.encoding, pubo.preparation)
    return pubo


def _check_terms(rows: NDArray[np.int64], variables: int) -> None:
    """Insist on ascending members and ascending, distinct rows: the canonical order."""
    if not len(rows):
        return
    if rows.min() < 0 or rows.max() >= variables:
        raise FormatError(f"a term uses a variable outside of 0..{variables - 1}")
    if np.any(np.diff(rows, axis=1) <= 0):
        raise FormatError("the variables of a term are not ascending")
    step = np.diff(rows, axis=0)
    first = np.argmax(step != 0, axis=1)
    if np.any(step[np.arange(len(step)), first] <= 0):
        raise FormatError("terms are repeated or not in order")


def check_widths(encoding: Encoding | None, preparation: Preparation | None) -> None:
    """Insist on a weight for each feature that the data have when they are prepared."""
    if encoding is None or preparation is None or encoding.features == preparation.features:
        return
    raise FormatError(
        f"{encoding.features} weights for data that are prepared to {preparation.features} features"
    )


def check_finite(array: NDArray[np.float64]) -> None:
    if not np.isfinite(array).all():
        raise FormatError("a number is NaN or infinite")


def check_depth(value: Any) -> None:
    """Refuse values nested too deep before they are written: orjson 3.13 overruns its memory."""
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
    raise FormatError(f"values nested more than {_DEEPEST} deep")


def as_record(value: Any) -> dict[str, Any]:
    """Take what a file says about itself, which is kept and written again as it is."""
    if not isinstance(value, dict):
        raise FormatError(f"{type(value).__name__} where names and values were expected")
    check_depth(value)
    return value


def finite(value: Any) -> float:
    """Read one number; a text such as "nan" is none."""
    number = float(value)
    if not math.isfinite(number):
        raise FormatError("a number is NaN or infinite")
    return number


def whole_number(value: Any) -> int:
    """Read a whole number of 64 bits at most: larger ones cannot be written again."""
    number = int(value)
    if not -(2**63) <= number < 2**63:
        raise FormatError("a number that is far too large")
    return number


def numbers(values: Any, *, dimensions: int = 1) -> NDArray[Any]:
    """Insist on a plain list of numbers, or on a list of such lists."""
    array = np.asarray(values)
    if not array.size:
        return array.reshape(-1)
    if array.ndim != dimensions or array.dtype.kind not in "iuf":
        raise FormatError("expected a plain list of numbers")
    return array


def whole(values: Any, *, dimensions: int = 1) -> NDArray[np.int64]:
    """Insist on a plain list of whole numbers."""
    array = numbers(values, dimensions=dimensions)
    if array.size and array.dtype.kind not in "iu":
        raise FormatError("expected whole numbers for variables")
    return array.astype(np.int64)


def header_of(kind: str) -> dict[str, Any]:
    return {"type": f"qcompile.{kind}", "version": FORMAT_VERSION, "qcompile": __version__}


def check_header(content: Any, kind: str) -> None:
    if not isinstance(content, dict) or content.get("type") != f"qcompile.{kind}":
        found = content.get("type") if isinstance(content, dict) else type(content).__name__
        raise FormatError(f"holds {found!r}; expected a qcompile {kind}")
    version = content.get("version")
    if version != FORMAT_VERSION:
        raise FormatError(
            f"format version {version!r}; this qcompile {__version__} reads {FORMAT_VERSION}"
        )


def preparation_to_dict(preparation: Preparation | None) -> dict[str, Any] | None:
    return None if preparation is None else preparation.to_dict()


def preparation_from_dict(values: Mapping[str, Any] | None) -> Preparation | None:
    return None if values is None else Preparation.from_dict(values)


def _tensor_name(degree: int, power: int) -> str:
    return f"tensor_{degree}_{power}"


def _tensor_key(name: str) -> tuple[int, int]:
    _, degree, power = name.split("_")
    if not 1 <= int(degree) <= 8 or abs(int(power)) > 8:
        raise FormatError(f"unknown array {name!r}")
    return int(degree), int(power)


def check_exists(path: str | Path) -> None:
    """Say first that a file is not there, before anything about its name."""
    if not os.path.exists(path):  # noqa: PTH110  # unlike Path it takes names of any length
        raise InputError(f"{path}: no such file")


@contextmanager
def explained(path: str | Path) -> Iterator[None]:
    """Turn whatever a broken file can cause into one error that names the file.

    Of numbers that overflow or are none numpy would warn; the readers' own checks refuse them.
    """
    try:
        with np.errstate(all="ignore"):
            yield
    except MemoryLimitError:
        raise
    except MemoryError:
        raise MemoryLimitError(
            f"{path}: reading it needs more memory than there is; use a larger machine"
        ) from None
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder; expected a file") from None
    except QcompileError as error:
        raise FormatError(f"{path}: {_one_line(error)}") from None
    except KeyError as error:
        raise FormatError(
            f"{path}: {_one_line(error)} is missing; the file is incomplete"
        ) from None
    except (zipfile.BadZipFile, zlib.error, struct.error) as error:
        raise FormatError(f"{path}: damaged .npz file ({_one_line(error)})") from None
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
        raise FormatError(f"{path}: damaged or of another kind ({_one_line(error)})") from None


def _one_line(error: Exception) -> str:
    """Give the reason in one line of bounded length, whatever of the file is quoted in it."""
    lines = str(error).splitlines()
    reason = lines[0].strip() if lines else type(error).__name__
    if reason.startswith("str is not valid UTF-8"):  # orjson speaks of surrogates
        return "binary data, not text"
    return reason if len(reason) <= _LONGEST_REASON else reason[:_LONGEST_REASON] + "..."


def read_json(path: str | Path) -> Any:
    """Read JSON; from a pipe or a device only so much, as its size is not known."""
    return orjson.loads(read_text_of(path, _JSON_COST))


def read_text_of(path: str | Path, cost: int) -> bytes:
    """Read all of a file whose text takes `cost` bytes of memory a byte, if there are as many."""
    with Path(path).open("rb") as stream:
        status = os.fstat(stream.fileno())
        if stat.S_ISREG(status.st_mode):
            _require_for_json(path, status.st_size, cost)
            return stream.read()
        text = stream.read(min(memory.available() // cost, _LARGEST_STREAM) + 1)
        if len(text) > _LARGEST_STREAM:
            raise FormatError(
                f"more than {memory.human(_LARGEST_STREAM)} from what is no file; write it to one"
            )
        _require_for_json(path, len(text), cost)
        return text


def _require_for_json(path: str | Path, size: int, cost: int) -> None:
    memory.require(
        cost * size,
        f"{path}: reading {memory.human(size)} of JSON",
        "use the .npz form of this file",
    )


def is_zip(path: str | Path) -> bool:
    return beginning(path, 2) == b"PK"


def beginning(path: str | Path, count: int) -> bytes:
    """Give the first bytes of a file, which is opened again to read it: no pipe can be."""
    if Path(path).is_fifo():
        raise FormatError("is a pipe; expected a file, which is read more than once")
    with Path(path).open("rb") as stream:
        return stream.read(count)


def kind_of(path: str | Path) -> str:
    """Tell what a file of ours holds from its beginning, without reading all of it."""
    with explained(path):
        if is_zip(path):
            with zipfile.ZipFile(path) as archive:
                entry = archive.getinfo("header.npy")
                if entry.file_size > _LARGEST_HEADER:
                    raise FormatError("its header is too large")
                header = orjson.loads(_read_member(archive, entry).tobytes())
            return str(header["type"])
        found = re.search(rb'"type"\s*:\s*"([^"]*)"', beginning(path, 4096))
        if found is None:
            raise FormatError("not a file of qcompile")
        return found.group(1).decode(errors="replace")


def write_npz(
    path: str | Path, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
) -> None:
    """Write an uncompressed .npz that numpy.load opens, with a fixed date in every entry."""
    text = np.frombuffer(orjson.dumps(header), dtype=np.uint8)
    with write_atomically(path) as stream, zipfile.ZipFile(stream, "w") as archive:
        for name, array in {"header": text, **arrays}.items():
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            with archive.open(entry, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)


def read_npz(path: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        total = sum(entry.file_size for entry in entries)
        memory.require(3 * total, f"{path}: reading {memory.human(total)}", "use a larger machine")
        arrays = {e.filename.removesuffix(".npy"): _read_member(archive, e) for e in entries}
    if "header" not in arrays:
        raise FormatError(f"not a qcompile {kind} file (it has no header)")
    header = orjson.loads(arrays.pop("header").tobytes())
    check_header(header, kind)
    return header, arrays


def _read_member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[Any]:
    """Read one array after checking that it is as large as its header claims."""
    name = repr(entry.filename)
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FormatError(f"array {name}: packed in a way that numpy does not use")
    with archive.open(entry) as member:
        shape, dtype = _array_header(member, name)
        size = math.prod(shape) * dtype.itemsize
        if size > entry.file_size:
            raise FormatError(f"array {name} claims {size} bytes and has fewer")
        content = member.read(size)
        if len(content) != size:
            raise FormatError(f"array {name} is cut off")
    return np.frombuffer(content, dtype=dtype).reshape(shape)


def _array_header(member: IO[bytes], name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Give the shape and the type of plain numbers; the rest of the member is theirs."""
    version = np.lib.format.read_magic(member)
    if version not in _LENGTH_BYTES:
        raise FormatError(f"array {name} has an unknown version {version}")
    length = int.from_bytes(member.read(_LENGTH_BYTES[version]), "little")
    if length > _LONGEST_ARRAY_HEADER:
        raise FormatError(f"array {name} has a header of {length} bytes")
    found = _ARRAY_HEADER.fullmatch(member.read(length))
    if found is None:
        raise FormatError(f"array {name} has a damaged header; expected plain numbers")
    kind, fortran, sizes = found.group(1).decode(), found.group(2), found.group(3)
    dtype = np.dtype(kind)
    if dtype.kind not in "uif" or dtype.itemsize > 8 or fortran == b"True":
        raise FormatError(f"array {name} of type {dtype}; expected plain numbers")
    return tuple(int(size) for size in sizes.split(b",") if size.strip()), dtype
