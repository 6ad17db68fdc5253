"""Read Parquet, Feather and Arrow files in pieces; pyarrow, the extra `tables`, does it."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from qcompile.data.frame_reader import FileReader
from qcompile.errors import InputError, MemoryLimitError
from qcompile.runtime.text import one_line
from qcompile.stages.frame import Frame, frame_of

__all__ = ["ARROW_ENDINGS", "ArrowReader"]


ARROW_ENDINGS = (".parquet", ".pq", ".feather", ".arrow", ".ipc")
_CELLS_AT_ONCE = 1 << 21
# A column of one value takes no space: without a bound a small file could fill the memory or take
# hours. A file may hold this many cells at any rate, and so many for each of its bytes.
_MANY_CELLS, _CELLS_OF_BYTE = 1 << 27, 64


class ArrowReader(FileReader):
    """Iterate over the pieces of a Parquet, Feather or Arrow file."""

    def frames(self) -> Iterator[Frame]:
        """Yield the rows, a bounded number at a time."""
        path = Path(self.source)
        _check_there(path)
        with _explained(self.name):
            if path.suffix.lower() in (".parquet", ".pq"):
                yield from self._reported(*self._parquet(path))
            else:
                yield from self._reported(*self._arrow(path))

    def _parquet(self, path: Path) -> tuple[Iterator[Frame], int]:
        from pyarrow import parquet

        file = parquet.ParquetFile(path)
        about = file.metadata
        self._check_size(about.num_rows, about.num_columns)
        at_once = max(1, _CELLS_AT_ONCE // max(1, about.num_columns))
        batches = file.iter_batches(batch_size=at_once)
        return self._each(batches, about.num_columns), about.num_rows

    def _arrow(self, path: Path) -> tuple[Iterator[Frame], int]:
        import pyarrow as pa

        with path.open("rb") as stream:
            start = stream.read(6)
        source = pa.memory_map(str(path))
        if start.startswith(b"FEA1"):
            raise InputError(f"{self.name}: Feather of version 1; expected version 2: write it new")
        if start != b"ARROW1":  # a stream has no mark
            reader = pa.ipc.open_stream(source)
            return self._each(iter(reader), len(reader.schema.names)), 0
        file = pa.ipc.open_file(source)
        batches = (file.get_batch(i) for i in range(file.num_record_batches))
        return self._each(batches, len(file.schema.names)), 0

    def _each(self, batches: Iterator[Any], columns: int) -> Iterator[Frame]:
        found = 0
        for batch in batches:
            batch.validate(full=True)  # offsets that lead elsewhere would be followed
            found += batch.num_rows
            self._check_size(found, columns)
            yield frame_of(batch, self.name)

    def _check_size(self, rows: int, columns: int) -> None:
        size = Path(self.source).stat().st_size
        if rows * columns > max(_MANY_CELLS, _CELLS_OF_BYTE * size):
            raise InputError(
                f"{self.name}: {rows:,} rows of {columns:,} columns in {size / 1e6:,.1f} MB; "
                f"expected at most {_CELLS_OF_BYTE} cells for each byte of a file of this size"
            )


def _check_there(path: Path) -> None:
    if importlib.util.find_spec("pyarrow") is None:
        raise InputError(
            f"{path}: reading it needs pyarrow: pip install 'qcompile-anneal[tables]', or save "
            "the table as CSV"
        )
    if not path.exists():
        raise InputError(f"{path}: no such file")
    if not path.is_file():
        raise InputError(f"{path}: is no plain file; expected one, as it is read from its end")


@contextmanager
def _explained(name: str) -> Iterator[None]:
    """Turn errors of pyarrow into one that names the file."""
    import pyarrow as pa

    try:
        yield
    except (InputError, MemoryLimitError):
        raise
    except (MemoryError, pa.ArrowMemoryError):
        raise MemoryLimitError(
            f"{name}: reading it exceeds the available memory; write it in smaller row groups"
        ) from None
    except (pa.ArrowException, OSError, ValueError, KeyError, OverflowError) as error:
        reason = one_line(error)[:200]
        raise InputError(
            f"{name}: damaged, cut off or of another kind ({reason}); expected a "
            f"{Path(name).suffix.lower()} file: write it again"
        ) from None
