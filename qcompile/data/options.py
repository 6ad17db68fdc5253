"""Options for reading data, and the reading that follows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from qcompile.data.given import DataSource
from qcompile.data.prepare import PrepareOptions
from qcompile.data.read import read
from qcompile.data.split import add_noise, shuffle
from qcompile.data.table_layout import TableOptions, names_of
from qcompile.errors import InputError
from qcompile.runtime.timing import passing
from qcompile.stages.dataset import Dataset
from qcompile.stages.labels import RowLabel

__all__ = ["DataOptions", "load_data"]


@dataclass(frozen=True)
class DataOptions:
    """Options for reading and preparing data; see `read` and `prepare`.

    By default columns are scaled robustly and a constant column is appended, so that raw data make
    a good classifier. `scale="none"` and `bias=False` take the rows as they are.
    """

    positive: RowLabel | None = None
    rows: int | None = None
    index_base: int | None = None
    num_features: int | None = None
    shuffle: bool = False
    noise: float = 0.0
    features: int | None = None
    scale: str = "robust"
    bias: bool = True
    seed: int = 0
    label: str | int | None = None
    missing: str | float = "refuse"
    one_hot: bool = False
    ignore: Sequence[str | int] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "ignore", names_of(self.ignore))
        if not 0 <= self.noise <= 1:
            raise InputError(f"label noise {self.noise:g}; expected a share between 0 and 1")
        if not 0 <= self.seed < 2**32:
            raise InputError(f"seed {self.seed}; expected 0 to {2**32 - 1}")

    @property
    def preparation(self) -> PrepareOptions:
        """How to prepare the rows once they are read."""
        return PrepareOptions(self.scale, self.features, self.bias)

    @property
    def table(self) -> TableOptions:
        """How to read a table."""
        return TableOptions(self.label, self.missing, self.one_hot, self.ignore)

    @property
    def need_all_rows_at_once(self) -> bool:
        """Whether the rows must be held at once even if they come in parts."""
        return self.shuffle or self.noise > 0 or self.rows is not None

    @property
    def need_all_rows(self) -> bool:
        """Whether the rows must be held at once; otherwise the file is read in pieces."""
        by_columns = self.features is not None or self.scale in ("standard", "max-abs")
        return by_columns or self.shuffle or self.noise > 0

    @property
    def need_two_passes(self) -> bool:
        """Whether a file that is read in pieces is read for its columns first."""
        return self.scale == "robust" or (self.bias and self.num_features is None)


def load_data(source: DataSource, options: DataOptions) -> Dataset:
    """Read, shuffle, limit, add label noise, choose features, scale: in this order."""
    with passing("read"):
        data = _read(source, options)
    with passing("prepare"):
        return options.preparation.apply(data)


def _read(source: DataSource, options: DataOptions) -> Dataset:
    data = read(
        source,
        positive=options.positive,
        rows=None if options.shuffle else options.rows,
        index_base=options.index_base,
        num_features=options.num_features,
        seed=options.seed,
        label=options.label,
        missing=options.missing,
        one_hot=options.one_hot,
        ignore=options.ignore,
    )
    if options.shuffle:
        data = shuffle(data, seed=options.seed)
        if options.rows is not None:
            data = data.take(slice(options.rows))
    if options.noise:
        data = add_noise(data, options.noise, seed=options.seed)
    return data
