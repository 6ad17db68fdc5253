"""Valid tables of every kind for `benchmarks.fuzz_cases` to break, and small ones of great size."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["TABLE_KINDS", "read_broken", "table_bombs", "table_seeds"]


# The name of a file for each kind of change, as the readers go by the ending.
TABLE_KINDS = {
    "csv": "data.csv", "gzip": "data.csv.gz", "parquet": "data.parquet",
    "feather": "data.feather", "stream": "data.arrow", "npz": "data.npz", "npy": "data.npy",
}  # fmt: skip
_CSV = (
    b'age,colour,sick\n31,"red, dark",yes\n42,"blue\nlight",no\n,blue,yes\n17,,no\n',
    b"1;2,5;a\r\n2;x;b\r\n3;;a\r\n",
    b"a\tb\ty\n1e3\t-.5\t1\n2\t\t0\n",
)


def table_seeds(kind: str) -> tuple[bytes, ...]:
    """Return small valid files of a kind."""
    if kind in ("csv", "gzip"):
        return tuple(gzip.compress(text, 1, mtime=0) for text in _CSV) if kind == "gzip" else _CSV
    if kind == "npz":
        texts = np.array(["no", "yes", "no"])
        return (
            _saved(lambda f: np.savez(f, X=np.eye(3), y=np.arange(3) % 2, names=list("abc"))),
            _saved(lambda f: np.savez_compressed(f, x=np.asfortranarray(np.ones((3, 2))), y=texts)),
            _saved(lambda f: _save_sparse(f)),
        )
    if kind == "npy":
        return (
            _saved(lambda f: np.save(f, np.arange(12.0).reshape(4, 3) % 2)),
            _saved(lambda f: np.save(f, np.arange(12, dtype=">i2").reshape(4, 3) % 2)),
        )
    return tuple(_arrow(kind, packing) for packing in (None, "zstd"))


def _saved(save: Callable[[Any], object]) -> bytes:
    stream = io.BytesIO()
    save(stream)
    return stream.getvalue()


def _save_sparse(stream: Any) -> None:
    import scipy.sparse as sp

    x = sp.csr_array(np.eye(4))
    parts: dict[str, Any] = {"data": x.data, "indices": x.indices, "indptr": x.indptr}
    np.savez(stream, shape=x.shape, format=b"csr", y=np.arange(4) % 2, **parts)


def _save_zeros(stream: Any) -> None:
    np.savez_compressed(stream, X=np.zeros((1 << 13, 1 << 12)), y=np.zeros(1 << 13))


def _arrow(kind: str, packing: str | None) -> bytes:
    import pyarrow as pa
    from pyarrow import feather, parquet

    colours = pa.array(["red", "blue", "", None] * 3).dictionary_encode()
    numbers = pa.array([1.0, None, 3.5, -2.0] * 3)
    columns = {"n": numbers, "k": pa.array(range(12)), "t": pa.array(["u", "v"] * 6)}
    table = pa.table(columns | {"c": colours, "sick": pa.array([True, False, False] * 4)})
    if kind == "parquet":
        return _saved(
            lambda f: parquet.write_table(table, f, row_group_size=5, compression=packing or "NONE")
        )
    if kind == "feather":
        return _saved(
            lambda f: feather.write_feather(table, f, packing or "uncompressed", chunksize=5)
        )
    options = pa.ipc.IpcWriteOptions(compression=packing)

    def write(stream: Any) -> None:
        with pa.ipc.new_stream(stream, table.schema, options=options) as sink:
            sink.write_table(table, max_chunksize=5)

    return _saved(write)


def read_broken(path: Path) -> object:
    """Read a table in the most forgiving way."""
    from qcompile.data.read import read

    forgiving: dict[str, Any] = {"missing": "median", "one_hot": True}
    if path.suffix == ".npz":
        return read(path)
    return read(path, label=-1, **forgiving)


def table_bombs() -> dict[str, tuple[str, Callable[[], bytes]]]:
    """Return small files that ask for much: the reader of each, and how to make it."""
    return {
        "a table of one value": ("table parquet", _one_value),
        "numbers of a table, gzip": (
            "table gzip", lambda: gzip.compress(b"a,y\n" + b"1,0\n1,1\n" * (1 << 24), 1)
        ),
        "a quote that never ends": (
            "table gzip", lambda: gzip.compress(b'a,y\n"' + b"x\n" * (1 << 26), 1)
        ),
        "very many columns": ("table csv", lambda: b",".join([b"%d"] * 2_000_000)),
        "an array of zeros": ("table npz", lambda: _saved(_save_zeros)),
    }  # fmt: skip


def _one_value() -> bytes:
    """Return a Parquet file of a few kB with hundreds of millions of equal rows."""
    import pyarrow as pa
    from pyarrow import parquet

    few = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1 << 20, np.int8)), pa.array([1.0]))
    table = pa.table({"a": pa.chunked_array([few] * 256), "y": pa.chunked_array([few] * 256)})
    return _saved(lambda f: parquet.write_table(table, f, row_group_size=1 << 28))
