"""Read and write svmlight (LIBSVM) text, plain or compressed, in bounded pieces."""

from __future__ import annotations

import bz2
import glob
import gzip
import hashlib
import io
import logging
import lzma
import math
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from qcompile.data.named_sets import NAMES
from qcompile.data.svmlight_small import parse_plain
from qcompile.errors import InputError, MemoryLimitError
from qcompile.files.atomic import write_atomically
from qcompile.runtime.progress import report
from qcompile.stages.arrays import Matrix
from qcompile.stages.dataset import Dataset
from qcompile.stages.labels import shortest

__all__ = [
    "NO_LABEL",
    "Piece",
    "Reader",
    "SvmlightReader",
    "can_reopen",
    "digest_of_digests",
    "file_names",
    "lines_of",
    "open_files",
    "reopened",
    "save_svmlight",
    "shortest",
]


_log = logging.getLogger("qcompile")
_PIECE_BYTES = 1 << 22
_STEP_BYTES = 1 << 16  # of compressed files, so that an error knows its place
_LONGEST_LINE = 1 << 26
# More text than this without any row is no data: a small compressed file can hold any amount.
_LONGEST_BLANK = 1 << 30
# A compressed file may hold so many times its size, and this much at any rate. Rows take about
# three times their text in memory: without a bound a small file could fill it.
_MOST_UNPACKED, _ALWAYS_UNPACKED = 200, 1 << 26
# What stands for a label where none is needed: no file has it.
NO_LABEL = -1.2345e300
_NO_LABEL_TEXT = b"-1.2345e300"
_FIRST_TOKEN = re.compile(rb"(?m)^([ \t]*)([^ \t\r\n\v\f#]+)")
_TOKEN = re.compile(rb"[^ \t\r\n\v\f#]*")
_OPENERS: dict[str, tuple[bytes, Callable[[Any], Any]]] = {
    "gzip": (b"\x1f\x8b", gzip.open),
    "bzip2": (b"BZh", bz2.open),
    "xz": (b"\xfd7zXZ\x00", lzma.open),
}
_ENDINGS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz"}


@dataclass(frozen=True, eq=False)
class Piece:
    """Some rows of a file in compressed sparse form; indices are as written in the file."""

    name: str
    labels: NDArray[np.float64]
    lines: NDArray[np.int64]
    starts: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: int) -> Piece:
        """Return the first rows only."""
        if rows >= len(self):
            return self
        entries = self.starts[rows]
        return Piece(
            self.name,
            self.labels[:rows],
            self.lines[:rows],
            self.starts[: rows + 1],
            self.indices[:entries],
            self.values[:entries],
        )

    @property
    def nbytes(self) -> int:
        """Memory that the arrays take."""
        arrays = (self.labels, self.lines, self.starts, self.indices, self.values)
        return sum(array.nbytes for array in arrays)


class SvmlightReader:
    """Iterate over the pieces of a file; the digest of its text is known at the end.

    Reports how many bytes were read, and how many there are.
    """

    _kind = "svmlight text"
    _piece_bytes: int | None = None

    def __init__(
        self,
        path: str | Path,
        *,
        name: str | None = None,
        text: bytes | None = None,
        before: int = 0,
        whole: int | None = None,
        labelled: bool = True,
    ) -> None:
        """Read the file at `path`, or `text`; errors show `name`, or else the path.

        A file that is one of several counts the bytes `before` it and those of the `whole`. If it
        need not be `labelled`, a label that is missing or no number becomes `NO_LABEL`.
        """
        shown = str(path) if name is None else name
        self.name = "standard input" if shown == "-" else _printable(shown)
        self._path, self._text = path, text
        self._before, self._whole = before, whole
        self._labelled = labelled
        self._digest = hashlib.sha256()
        self._line = 1
        self.complete = False

    @property
    def digest(self) -> str:
        """SHA-256 of the text that was read, without its compression."""
        return self._digest.hexdigest()

    def __iter__(self) -> Iterator[Any]:
        raw = self._open_raw()
        try:
            size = _size(raw) if self._whole is None else self._whole
            # BufferedReader adds peek(), which tells the compression from the first bytes.
            buffered = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw)
            stream, kind = self._decompress(buffered)
            blank = unpacked = 0
            most = None if kind is None else _most_unpacked(_size(raw))
            for text in self._whole_lines(stream, kind):
                unpacked += len(text)
                if most is not None and unpacked > most:
                    raise self._error(
                        0,
                        f"more than {most >> 20:,} MB of text in a {kind} file of "
                        f"{(_size(raw) or 0) / 1e6:,.1f} MB; expected at most {_MOST_UNPACKED} "
                        "times its size: unpack it yourself if this is right",
                    )
                self._digest.update(text)
                piece = self._parse(text)
                self._line += text.count(b"\n")
                report(self._before + _position(buffered), size)
                blank = 0 if len(piece) else blank + len(text)
                if blank > _LONGEST_BLANK:
                    raise self._error(
                        0, f"no row in {blank >> 20:,} MB of text; expected svmlight text"
                    )
                if len(piece):
                    yield piece
            self.complete = True
        finally:
            if raw is not _stdin():
                raw.close()

    def _open_raw(self) -> Any:
        if self._text is not None:
            return io.BufferedReader(io.BytesIO(self._text))
        if str(self._path) == "-":
            if _stdin() is None:
                raise InputError("standard input is closed; expected svmlight text on it")
            return _stdin()
        path = Path(self._path)
        try:
            if path.is_dir():
                raise InputError(f"{self.name}: is a folder; expected a file")
            if path.is_fifo():  # opening it waits for the other end
                _log.info("%s: waiting for a program that writes to this pipe", self.name)
            return path.open("rb")
        except FileNotFoundError:
            raise InputError(
                f"{self.name}: no such file; expected an svmlight file, a table, - for standard "
                f"input, or a named set ({', '.join(NAMES)})"
            ) from None
        except InputError:
            raise
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(f"{self.name}: cannot be read ({reason})") from None

    def _decompress(self, raw: io.BufferedReader) -> tuple[IO[bytes], str | None]:
        head = raw.peek(8)[:8]
        for kind, (magic, opener) in _OPENERS.items():
            if head.startswith(magic):
                return cast(IO[bytes], opener(raw)), kind
        claimed = _ENDINGS.get(Path(self.name).suffix.lower())
        if claimed and head:
            raise InputError(
                f"{self.name}: not {claimed} data, though its name says so; "
                "expected a file compressed with it (or rename it if it is plain text)"
            )
        return raw, None

    def _whole_lines(self, stream: IO[bytes], kind: str | None) -> Iterator[bytes]:
        carry, start = b"", True
        while True:
            try:
                block = self._block(stream, kind)
            except MemoryError:
                raise MemoryLimitError(
                    f"{self.name}: unpacking the {kind or 'plain'} data needs more memory than "
                    "there is; compress it again with the usual settings"
                ) from None
            if not block:
                break
            if start:  # some editors put a mark of the encoding first
                block, start = block.removeprefix(b"\xef\xbb\xbf"), False
            text = carry + block
            cut = self._cut(text)
            carry = text[cut:]
            if len(carry) > _LONGEST_LINE:
                raise self._error(0, f"longer than {_LONGEST_LINE >> 20} MB; is this {self._kind}?")
            if cut:
                yield text[:cut]
        if carry:
            yield carry

    def _block(self, stream: IO[bytes], kind: str | None) -> bytes:
        """Return the next bytes; what was unpacked before an error tells how far the file goes."""
        wanted = self._piece_bytes or _PIECE_BYTES
        parts: list[bytes] = []
        try:
            while wanted > 0:
                parts.append(stream.read(wanted if kind is None else min(wanted, _STEP_BYTES)))
                wanted -= len(parts[-1])
                if kind is None or not parts[-1]:
                    break
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            lines = self._line - 1 + sum(part.count(b"\n") for part in parts)
            raise InputError(
                f"{self.name}: {self._damage(kind, error)} after line {lines:,}; expected a "
                "complete file: fetch or compress it again"
            ) from None
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _cut(self, text: bytes) -> int:
        """Return where the last whole line ends."""
        return text.rfind(b"\n") + 1

    @staticmethod
    def _damage(kind: str | None, error: Exception) -> str:
        if kind is None:
            return f"cannot be read ({error})"
        return f"{'truncated' if isinstance(error, EOFError) else 'corrupt'} {kind} data"

    def _parse(self, text: bytes) -> Any:
        plain = parse_plain(text)
        if plain is not None:
            lines = np.arange(len(plain.labels), dtype=np.int64) + self._line
            return Piece(self.name, plain.labels, lines, *plain[1:])
        from qcompile.data import svmlight_kernel as parse_kernel

        data = np.frombuffer(text, dtype=np.uint8)
        most_rows = text.count(b"\n") + 1
        most_entries = min(text.count(b":"), len(text) // 4)  # "1:1" and a blank at the least
        labels, row_lines = np.empty(most_rows), np.empty(most_rows, dtype=np.int64)
        starts = np.empty(most_rows + 1, dtype=np.int64)
        indices, values = np.empty(most_entries, dtype=np.int32), np.empty(most_entries)
        inexact = np.empty(2 * (most_rows + most_entries), dtype=np.int64)
        status, where, rows, entries, doubts = parse_kernel.parse(
            data, labels, row_lines, starts, indices, values, inexact
        )
        if status == parse_kernel.BAD_LABEL and not self._labelled:
            filled = _with_labels(text)
            if filled != text:
                return self._parse(filled)
        if status != parse_kernel.OK:
            raise self._explain(text, where, status)
        for item, at in inexact[: 2 * doubts].reshape(-1, 2).tolist():
            value = float(_token(text, at, longest=_LONGEST_LINE))
            if not math.isfinite(value):
                shown = _shown(_token(text, at))
                raise self._error_at(text, at, f"value {shown} is not finite; expected less")
            if item < 0:
                labels[-1 - item] = value
            else:
                values[item] = value
        return Piece(
            self.name,
            labels[:rows].copy(),
            row_lines[:rows] + self._line,
            starts[: rows + 1].copy(),
            indices[:entries].copy(),
            values[:entries].copy(),
        )

    def _explain(self, text: bytes, where: int, status: int) -> InputError:
        """Return the error about the token at `where`."""
        from qcompile.data import svmlight_kernel as codes

        found = _shown(_token(text, where))
        nearby = text[max(0, where - 512) : where + 512]
        if any(byte < 9 or 13 < byte < 32 for byte in nearby):
            wanted = "svmlight text, or a table (save a spreadsheet as .csv)"
            return self._error_at(text, where, f"binary data; expected {wanted}")
        index, colon, value = found.strip("'").partition(":")
        number = value if colon else index
        words = {
            codes.BAD_LABEL: f"label {found}; expected a number (write 1 and -1 for two names), "
            "then index:value pairs",
            codes.BAD_INDEX: f"found {found}; expected index:value with a whole-number index",
            codes.NEGATIVE_INDEX: f"index {index} is negative; expected 0 or more",
            codes.LARGE_INDEX: f"index {index} is absurdly large; expected at most 2147483646",
            codes.UNSORTED_INDEX: f"index {index} is repeated or out of order; expected each "
            "row's indices ascending",
            codes.BAD_VALUE: f"value {number!r} is not a number; expected a decimal number",
        }
        message = words[status]
        if status == codes.BAD_LABEL and any(mark in found for mark in ",;|"):
            message += "; if it is a table, call it .csv"
        if status in (codes.BAD_LABEL, codes.BAD_VALUE) and _is_not_finite(number):
            message = f"value {number!r} is not finite; expected a finite number"
        return self._error_at(text, where, message)

    def _error_at(self, text: bytes, where: int, message: str) -> InputError:
        return self._error(text.count(b"\n", 0, where), message)

    def _error(self, lines_before: int, message: str) -> InputError:
        return InputError(f"{self.name}, line {self._line + lines_before}: {message}")


class _SeveralFiles:
    """Iterate over the pieces of files, one after the other."""

    def __init__(self, name: str, paths: list[str], *, labelled: bool = True) -> None:
        self.name = _printable(name)
        self._labelled = labelled
        self._paths = paths
        self._digests: list[str] = []
        self.complete = False

    @property
    def digest(self) -> str:
        """Digest of the files' digests."""
        return digest_of_digests(self._digests)

    def __iter__(self) -> Iterator[Piece]:
        whole = sum(Path(path).stat().st_size for path in self._paths)
        before = 0
        for path in self._paths:
            reader = SvmlightReader(path, before=before, whole=whole, labelled=self._labelled)
            yield from reader
            self._digests.append(reader.digest)
            before += Path(path).stat().st_size
        self.complete = True


Reader: TypeAlias = SvmlightReader | _SeveralFiles


def digest_of_digests(digests: Iterable[str]) -> str:
    """Return one digest for several files, their order included."""
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def file_names(source: str | Path) -> list[str]:
    """Return the files that a pattern such as ``part-*.svm.gz`` names, or the one file itself."""
    name = str(source)
    if not set("*?[") & set(name) or os.path.lexists(name):
        return [name]
    matches = glob.glob(name)  # noqa: PTH207  # a pattern may be absolute
    found = sorted(path for path in matches if Path(path).is_file())
    if not found:
        raise InputError(
            f"{_printable(name)}: no file matches; expected svmlight files (folders do not count): "
            "look with ls"
        )
    return found


def open_files(source: str | Path, *, labelled: bool = True) -> Reader:
    """Return a reader for a file, or for all files that a pattern names."""
    names = file_names(source)
    if len(names) == 1:
        return SvmlightReader(names[0], labelled=labelled)
    return _SeveralFiles(str(source), names, labelled=labelled)


def can_reopen(path: str | Path) -> bool:
    """Whether reading twice gives the same: not so for standard input and other pipes."""
    path = Path(path)
    return str(path) != "-" and (path.is_file() or not path.exists())


@contextmanager
def reopened(path: str) -> Iterator[tuple[SvmlightReader, SvmlightReader]]:
    """Give two readers of a file, one after the other; they count the bytes of both readings.

    What cannot be read twice is copied to a temporary file first.
    """
    if can_reopen(path):
        yield _twice(path, path)
        return
    with tempfile.TemporaryDirectory(prefix="qcompile-") as folder:
        copy = Path(folder) / "rows"
        with copy.open("wb") as held:
            raw = SvmlightReader(path)._open_raw()
            try:
                shutil.copyfileobj(raw, held)
            finally:
                if raw is not _stdin():
                    raw.close()
        yield _twice(copy, path)


def _twice(path: str | Path, name: str) -> tuple[SvmlightReader, SvmlightReader]:
    size = Path(path).stat().st_size if Path(path).is_file() else 0  # the reader tells why
    return (
        SvmlightReader(path, name=name, whole=2 * size),
        SvmlightReader(path, name=name, before=size, whole=2 * size),
    )


def _size(raw: Any) -> int | None:
    try:
        return None if raw is _stdin() else os.fstat(raw.fileno()).st_size
    except (OSError, ValueError):
        return None


def _most_unpacked(size: int | None) -> int | None:
    """Return the most bytes of text that a compressed file of this size may hold."""
    return max(_ALWAYS_UNPACKED, _MOST_UNPACKED * size) if size else None  # a pipe has none


def _position(raw: Any) -> int:
    try:
        return int(raw.tell())
    except (OSError, ValueError):
        return 0


def _token(text: bytes, at: int, *, longest: int = 64) -> bytes:
    """Return the bytes up to the next blank, at most `longest` of them."""
    found = _TOKEN.match(text, at, at + longest)
    return b"" if found is None else found.group()


def _with_labels(text: bytes) -> bytes:
    """Return the lines with `NO_LABEL` in the place of labels that are missing or no numbers."""

    def filled(found: re.Match[bytes]) -> bytes:
        token = found[2]
        if b":" in token:
            return found[1] + _NO_LABEL_TEXT + b" " + token
        try:
            float(token)
        except ValueError:
            return found[1] + _NO_LABEL_TEXT
        return found[0]

    return _FIRST_TOKEN.sub(filled, text)


def _shown(token: bytes) -> str:
    cut = token[:40].decode("ascii", "backslashreplace")
    return repr(cut + ("..." if len(token) > 40 else "")).replace("\\\\x", "\\x")


def _is_not_finite(text: str) -> bool:
    return text.strip("+-").lower() in ("nan", "inf", "infinity")


def _printable(name: str) -> str:
    return name if name.isprintable() else repr(name)


def _stdin() -> Any:
    """Standard input as bytes; None where it was closed."""
    return getattr(sys.stdin, "buffer", None)


def lines_of(x: Matrix, labels: NDArray[np.float64]) -> Iterator[str]:
    """Return the svmlight lines of a matrix, 1-based, numbers in their shortest exact form.

    The first line names every column if the last one is all zeros, so that reading the text back
    gives the same number of features.
    """
    import scipy.sparse as sp

    rows = sp.csr_array(x)
    rows.sort_indices()
    for i, label in enumerate(labels.tolist()):
        start, stop = rows.indptr[i], rows.indptr[i + 1]
        columns = (rows.indices[start:stop] + 1).tolist()
        values = rows.data[start:stop].tolist()
        pairs = [f"{c}:{shortest(v)}" for c, v in zip(columns, values, strict=True) if v]
        if i == 0 and (not columns or columns[-1] < x.shape[1]):
            pairs.append(f"{x.shape[1]}:0")
        yield " ".join([shortest(label), *pairs]) + "\n"


_COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda text: gzip.compress(text, mtime=0),  # no date: the same bytes every time
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
}


def save_svmlight(data: Dataset, path: str | Path) -> None:
    """Write the rows as svmlight text, with the labels that they came with.

    Labels that are texts are written as 1 and -1. An ending of .gz, .bz2 or .xz compresses it.
    """
    compress = _COMPRESSORS.get(Path(path).suffix.lower())
    with write_atomically(path) as stream:
        # svmlight labels are numbers
        as_text = isinstance(data.preparation.positive, str)
        lines = lines_of(data.x, data.y if as_text else data.preparation.labels(data.y))
        if compress is None:
            stream.writelines(line.encode() for line in lines)
        else:
            stream.write(compress("".join(lines).encode()))
