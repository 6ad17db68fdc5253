"""Get examples into shape: svmlight or a named set in, a `Dataset` with labels -1/+1 out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qcompile.data import named_sets
from qcompile.data.column_statistics import Columns
from qcompile.data.svmlight import Piece, Progress, Reader, SvmlightReader, open_files, shortest
from qcompile.errors import InputError
from qcompile.runtime import memory
from qcompile.stages.artifacts import (
    SCALINGS,
    Dataset,
    Floats,
    Matrix,
    Preparation,
    extent,
    frozen,
)

__all__ = [
    "Dataset",
    "RowStream",
    "add_noise",
    "folds",
    "from_arrays",
    "prepare",
    "read",
    "shuffle",
    "split",
]


_BATCH_BYTES = 1 << 26
_SMALLEST, _LARGEST = 1e-100, 1e100


def read(
    source: str | Path,
    *,
    positive: float | None = None,
    rows: int | None = None,
    index_base: int | None = None,
    num_features: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Dataset:
    """Read a whole svmlight file (plain, .gz, .bz2, .xz, ``-``) or make a named set.

    A pattern such as ``part-*.svm.gz`` reads all files that match, in the order of their names.

    The larger of two labels becomes +1; `positive` sets one class against the rest. `index_base`
    is 0 or 1; without it a file that uses index 0 is 0-based. `rows` stops reading early.
    `num_features` fixes the number of columns. `seed` is for sets that are drawn at random.

    >>> read("long-servedio").x.shape
    (2000, 21)
    """
    x, labels, about = read_rows(
        source,
        rows=rows,
        index_base=index_base,
        num_features=num_features,
        seed=seed,
        progress=progress,
    )
    return from_arrays(x, labels, positive=positive, source=about)


def read_rows(
    source: str | Path,
    *,
    rows: int | None = None,
    index_base: int | None = None,
    num_features: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> tuple[Matrix, Floats, dict[str, Any]]:
    """Read rows and their labels as they are, whatever the labels mean; and where from."""
    _check_limits(rows, index_base, num_features)
    if named_sets.is_named(source):
        x, labels, made = named_sets.make(str(source), seed=seed)
        return x[:rows], np.asarray(labels[:rows], dtype=np.float64), dict(made)
    reader = open_files(source, progress=progress)
    pieces: list[Piece] = []
    found = used = 0
    for piece in reader:
        pieces.append(piece if rows is None else piece.take(rows - found))
        found += len(pieces[-1])
        used += piece.nbytes
        memory.require(
            2 * used,  # joining the pieces needs their memory a second time
            f"{reader.name}: holding more than {found:,} rows",
            "limit --rows, or leave out what needs all rows at once (--scale, --features, "
            "--shuffle, --noise, --bias) so that the file is read in pieces",
            announce=False,
        )
        if found == rows:
            break
    if not pieces:
        raise no_rows(reader.name)
    base = _index_base(pieces) if index_base is None else index_base
    x = _matrix(pieces, base=base, num_features=num_features)
    labels = np.concatenate([piece.labels for piece in pieces])
    del pieces, piece  # their memory is needed twice otherwise
    return x, labels, dict(_about(reader, len(labels), base))


class LateIndexZeroError(InputError):
    """Index 0 in a file whose first rows looked 1-based; reading it as 0-based will do."""


class RowStream:
    """Read an svmlight file piece by piece, in bounded memory, once.

    Iterating gives (rows, signs). Until the file is exhausted nobody can know which of its labels
    is the larger one: signs are relative to the first label seen, and `flip` tells at the end
    whether they must be turned round. `preparation` and `source` are known at the end too.
    Of a part of the data nothing is demanded: it may have one class only, or no row at all.
    """

    def __init__(
        self,
        source: str | Path | SvmlightReader,
        *,
        positive: float | None = None,
        rows: int | None = None,
        index_base: int | None = None,
        num_features: int | None = None,
        unit_norm: bool = False,
        bias: bool = False,
        is_part: bool = False,
        progress: Progress | None = None,
    ) -> None:
        _check_limits(rows, index_base, num_features)
        if bias and num_features is None:
            raise InputError("a bias column in a stream needs the number of features beforehand")
        self._reader = (
            source
            if isinstance(source, SvmlightReader)
            else SvmlightReader(source, progress=progress)
        )
        self._is_part = is_part
        self._positive, self._rows = positive, rows
        self._base, self._num_features = index_base, num_features
        self._guessed = index_base is None
        self._unit_norm, self._bias = unit_norm, bias
        self._seen: list[float] = []
        self._count = self._width = 0

    def __iter__(self) -> Iterator[tuple[Matrix, Floats]]:
        for pieces in self._batches():
            if self._base is None:
                self._base = _index_base(pieces)
            if self._guessed and _index_base(pieces) < self._base:
                raise LateIndexZeroError(
                    f"{self._reader.name}: index 0 after {self._count:,} rows without it; "
                    "expected a 1-based file (pass --index-base 0 if it is 0-based)"
                )
            x = _matrix(pieces, base=self._base, num_features=self._num_features)
            signs = np.concatenate([self._signs(piece) for piece in pieces])
            self._count += len(signs)
            self._width = max(self._width, x.shape[1])
            yield self._prepared(x.shape[1]).apply(x), signs
        self._check_end()

    def _batches(self) -> Iterator[list[Piece]]:
        """Join small pieces, so that what is done once a batch costs little."""
        batch: list[Piece] = []
        found = 0
        for piece in self._reader:
            batch.append(piece if self._rows is None else piece.take(self._rows - found))
            found += len(batch[-1])
            if found == self._rows:
                break
            if sum(part.nbytes for part in batch) >= _BATCH_BYTES:
                yield batch
                batch = []
        if batch:
            yield batch

    @property
    def labels(self) -> tuple[float, ...]:
        """Labels in the order in which they were seen."""
        return tuple(self._seen)

    @property
    def index_base(self) -> int | None:
        """First index of the file; None if there was no row to tell."""
        return self._base

    @property
    def flip(self) -> bool:
        """Whether the first label seen turned out to be the negative one."""
        return self._positive is None and self._seen[0] < self._seen[1]

    @property
    def preparation(self) -> Preparation:
        """What was done to the rows, with the final labels and number of features."""
        return self._prepared(self._width)

    @property
    def source(self) -> dict[str, Any]:
        """Where the rows came from."""
        return _about(self._reader, self._count, self._base or 0)

    def _prepared(self, width: int) -> Preparation:
        positive, negative = self._positive, None
        if positive is None:
            positive = max(self._seen)
            negative = min(self._seen) if len(self._seen) > 1 else None
        return Preparation(
            raw_features=width,
            positive=positive,
            negative=negative,
            unit_norm=self._unit_norm,
            bias=self._bias,
        )

    def _signs(self, piece: Piece) -> Floats:
        _, first = np.unique(piece.labels, return_index=True)
        for row in np.sort(first):
            label = float(piece.labels[row])
            if label not in self._seen and (len(self._seen) < 100 or label == self._positive):
                self._seen.append(label)
            if self._positive is None and len(self._seen) == 3:
                raise InputError(
                    f"{self._reader.name}, line {piece.lines[row]}: label {shortest(label)} is a "
                    f"third class after {shortest(self._seen[0])} and {shortest(self._seen[1])}; "
                    "expected two: "
                    "choose one against the rest with --positive LABEL"
                )
        positive = self._seen[0] if self._positive is None else self._positive
        return np.where(piece.labels == positive, 1.0, -1.0)

    def _check_end(self) -> None:
        if self._is_part:
            return
        if self._count == 0:
            raise no_rows(self._reader.name)
        if self._width == 0:
            raise featureless(self._reader.name)
        check_classes(self._seen, self._positive, self._reader.name)


def from_arrays(
    x: Matrix,
    labels: ArrayLike,
    *,
    positive: float | None = None,
    source: Mapping[str, Any] | None = None,
    name: str = "data",
) -> Dataset:
    """Make a data set of rows (dense or sparse) and their two labels.

    >>> from_arrays([[1.0], [2.0]], [0, 5]).y
    array([-1.,  1.])
    """
    import scipy.sparse as sp

    values = np.asarray(labels, dtype=np.float64)
    name = str((source or {}).get("name", name)) if name == "data" else name
    rows: Any = canonical(x) if sp.issparse(x) else frozen(x)
    stored = rows.data if sp.issparse(rows) else rows
    if rows.ndim != 2 or values.shape != (rows.shape[0],):
        raise InputError(f"{name}: rows of shape {rows.shape} with labels of {values.shape}")
    if not len(values):
        raise no_rows(name)
    if rows.shape[1] == 0:
        raise featureless(name)
    if not (np.isfinite(stored).all() and np.isfinite(values).all()):
        raise InputError(f"{name}: a value is NaN or infinite; expected finite numbers")
    check_sizes(stored, name)
    classes = np.unique(values).tolist()
    check_classes(classes, positive, name)
    preparation = Preparation(
        raw_features=rows.shape[1],
        positive=classes[-1] if positive is None else positive,
        negative=classes[0] if positive is None else None,
    )
    return Dataset(rows, frozen(preparation.signs(values)), preparation, dict(source or {}))


def check_sizes(values: Floats, name: str) -> None:
    """Refuse numbers whose squares would be lost: nothing useful can be computed from them."""
    smallest, largest = extent(values)
    if smallest < _SMALLEST or largest > _LARGEST:
        wrong = smallest if smallest < _SMALLEST else largest
        raise InputError(
            f"{name}: a value of size {wrong:.3g}; expected 0 or sizes from {_SMALLEST:g} to "
            f"{_LARGEST:g}: bring the features to scale"
        )


def canonical(x: Any) -> Matrix:
    """Give sparse rows with ascending columns, none of them repeated, no stored zeros."""
    import scipy.sparse as sp

    rows = sp.csr_array(x, dtype=np.float64)
    if not rows.has_canonical_format or np.any(rows.data == 0):
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    return rows


def prepare(
    data: Dataset,
    *,
    scale: str = "none",
    features: int | None = None,
    bias: bool = False,
    like: Dataset | None = None,
) -> Dataset:
    """Choose the most useful features, scale them, and append a column of ones.

    `features` keeps that many columns, the ones most correlated with the label. `scale` is "none",
    "standard" (mean 0, deviation 1), "max-abs" (keeps zeros, so sparse data stay sparse) or
    "unit-norm" (each row). What was done is kept in ``preparation`` and can be applied to raw rows.

    Features are chosen and scaled by the rows given here, so set rows for tests aside before, and
    prepare them `like` the others:

    >>> rows, held = split(read("breast-cancer"), (0.7, 0.3), seed=1)
    >>> rows = prepare(rows, scale="standard", features=5)
    >>> held = prepare(held, like=rows)
    """
    if like is not None:
        return _prepared_like(data, like, own=scale != "none" or features is not None or bias)
    if scale not in SCALINGS:
        raise InputError(f"scaling {scale!r}; expected one of {', '.join(SCALINGS)}")
    if not data.preparation.is_identity:
        raise InputError("these data are prepared already; prepare raw data once")
    if features is None and scale in ("none", "unit-norm"):
        preparation = replace(data.preparation, unit_norm=scale == "unit-norm", bias=bias)
    else:
        columns = Columns.of(data.x, data.y)
        preparation = columns.preparation(
            data.preparation, scale=scale, features=features, bias=bias
        )
    return replace(data, x=preparation.apply(data.x), preparation=preparation)


def _prepared_like(data: Dataset, like: Dataset, *, own: bool) -> Dataset:
    made, raw = like.preparation, data.preparation
    if own:
        raise InputError("prepare like other data, or by scale, features and bias; not both")
    if not raw.is_identity:
        raise InputError("these data are prepared already; prepare raw data once")
    if (raw.positive, raw.negative) != (made.positive, made.negative):
        raise InputError(
            f"labels {raw.positive:g} and {raw.negative:g}; expected {made.positive:g} and "
            f"{made.negative:g}, as in the other data"
        )
    return replace(data, x=made.apply(data.x), preparation=made)


def add_noise(data: Dataset, share: float, *, seed: int = 0) -> Dataset:
    """Flip exactly ceil(share · m) labels, chosen at random."""
    if not 0 <= share <= 1:
        raise InputError(f"label noise {share:g}; expected a share between 0 and 1")
    # as written: 0.1 of 30 is 3, though in binary it is a little more
    flips = math.ceil(Fraction(repr(float(share))) * len(data))
    y = data.y.copy()
    y[np.random.default_rng(seed).choice(len(y), flips, replace=False)] *= -1
    return replace(data, y=frozen(y), source={**data.source, "noise": share, "noise_seed": seed})


def shuffle(data: Dataset, *, seed: int = 0) -> Dataset:
    """Put the rows into a random order."""
    mixed = data.take(np.random.default_rng(seed).permutation(len(data)))
    return replace(mixed, source={**data.source, "shuffle_seed": seed})


def split(data: Dataset, shares: Sequence[float], *, seed: int = 0) -> tuple[Dataset, ...]:
    """Deal the rows out at random into parts of the given shares (at most 1 in total).

    >>> [len(part) for part in split(read("long-servedio"), (0.7, 0.3))]
    [1400, 600]
    """
    if not shares or not all(0 < share <= 1 for share in shares) or sum(shares) > 1 + 1e-9:
        raise InputError(f"shares {tuple(shares)}; expected numbers above 0 that add up to 1")
    order = np.random.default_rng(seed).permutation(len(data))
    ends = [round(float(end) * len(data)) for end in np.cumsum(shares)]
    parts = [np.sort(order[a:b]) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
    if min(map(len, parts)) == 0:
        raise InputError(f"{len(data)} rows cannot be split into shares {tuple(shares)}")
    return tuple(data.take(part) for part in parts)


def folds(data: Dataset, number: int, *, seed: int = 0) -> tuple[Dataset, ...]:
    """Deal the rows out at random into folds whose sizes differ by one at most."""
    if not 2 <= number <= len(data):
        raise InputError(f"{number} folds of {len(data)} rows; expected 2 to {len(data)}")
    order = np.random.default_rng(seed).permutation(len(data))
    return tuple(data.take(np.sort(part)) for part in np.array_split(order, number))


def _check_limits(rows: int | None, index_base: int | None, num_features: int | None) -> None:
    if rows is not None and rows < 1:
        raise InputError(f"a limit of {rows} rows; expected at least 1")
    if index_base not in (None, 0, 1):
        shown = index_base if isinstance(index_base, int) else type(index_base).__name__
        raise InputError(f"index base {shown}; expected 0 or 1")
    if num_features is not None and not 1 <= num_features < 2**31:
        raise InputError(f"{num_features} features; expected 1 to {2**31 - 1}")


def no_rows(name: str) -> InputError:
    return InputError(f"{name}: no rows; expected svmlight text: label index:value ...")


def featureless(name: str) -> InputError:
    return InputError(f"{name}: no features, labels only; expected rows: label index:value ...")


def check_classes(classes: Sequence[float], positive: float | None, name: str) -> None:
    shown = ", ".join(map(shortest, classes[:8])) + (", ..." if len(classes) > 8 else "")
    if len(classes) == 1:
        raise InputError(f"{name}: one class only (label {shown}); expected two")
    if positive is None and len(classes) > 2:
        raise InputError(
            f"{name}: {len(classes)} classes ({shown}); expected two: "
            "choose one against the rest with --positive LABEL"
        )
    if positive is not None and positive not in classes:
        raise InputError(
            f"{name}: no row has the positive label {shortest(positive)}; found {shown}"
        )


def _about(reader: Reader, rows: int, base: int) -> dict[str, Any]:
    about: dict[str, Any] = {"name": Path(reader.name).name, "rows": rows, "index_base": base}
    if reader.complete:  # the digest of half a file would match nothing
        about["sha256"] = reader.digest
    return about


def _index_base(pieces: Sequence[Piece]) -> int:
    """Tell 0-based from 1-based rows; only 0-based ones can use index 0."""
    return 0 if any(len(p.indices) and p.indices.min() == 0 for p in pieces) else 1


def _matrix(pieces: Sequence[Piece], *, base: int, num_features: int | None) -> Matrix:
    import scipy.sparse as sp

    for piece in pieces:
        _check_indices(piece, base, num_features)
    indices = np.concatenate([piece.indices for piece in pieces])
    values = np.concatenate([piece.values for piece in pieces])
    shifts = np.cumsum([0] + [len(piece.indices) for piece in pieces[:-1]])
    starts = [p.starts[1:] + shift for p, shift in zip(pieces, shifts, strict=True)]
    indptr = np.concatenate([np.zeros(1, dtype=np.int64), *starts])
    if base:
        indices -= base
    width = int(indices.max(initial=-1)) + 1 if num_features is None else num_features
    x = sp.csr_array((values, indices, indptr), shape=(len(indptr) - 1, width))
    x.has_canonical_format = True  # the parser insists on ascending indices
    return x


def _check_indices(piece: Piece, base: int, num_features: int | None) -> None:
    wrong = piece.indices < base
    expected = f"expected indices from {base} on (pass --index-base 0 if the file is 0-based)"
    if num_features is not None and not wrong.any():
        wrong = piece.indices >= num_features + base
        expected = f"expected at most {num_features - 1 + base} for {num_features} features"
    if wrong.any():
        entry = int(np.flatnonzero(wrong)[0])
        line = piece.lines[int(np.searchsorted(piece.starts, entry, side="right")) - 1]
        raise InputError(f"{piece.name}, line {line}: index {piece.indices[entry]}; {expected}")
