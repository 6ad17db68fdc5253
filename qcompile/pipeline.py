"""The passes in order: from a data set to a polynomial of bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from qcompile.data import named_sets
from qcompile.data.rows import (
    LateIndexZeroError,
    RowStream,
    add_noise,
    prepare,
    read,
    shuffle,
)
from qcompile.data.svmlight import file_names
from qcompile.errors import InputError
from qcompile.moments.accumulate import moments_of
from qcompile.moments.parts import local_total, moments_of_parts
from qcompile.objective.discretize import discretize
from qcompile.objective.fit import fit_loss
from qcompile.objective.prune import prune
from qcompile.reduction.quadratize import quadratize
from qcompile.runtime.timing import passing
from qcompile.stages.artifacts import Dataset, Loss, Moments, Pubo, Qubo

__all__ = [
    "Compiled",
    "DataOptions",
    "LossOptions",
    "QuboOptions",
    "compile",
    "load_data",
    "load_moments_of",
]

Observer: TypeAlias = Callable[[str, Any], None]


@dataclass(frozen=True)
class DataOptions:
    """How to read and prepare the data; see `qcompile.data`."""

    positive: float | None = None
    rows: int | None = None
    index_base: int | None = None
    num_features: int | None = None
    shuffle: bool = False
    noise: float = 0.0
    features: int | None = None
    scale: str = "none"
    bias: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.noise <= 1:
            raise InputError(f"label noise {self.noise:g}; expected a share between 0 and 1")
        if not 0 <= self.seed < 2**32:
            raise InputError(f"seed {self.seed}; expected 0 to {2**32 - 1}")

    @property
    def need_all_rows_at_once(self) -> bool:
        """Whether the rows must be held at once even if they come in parts."""
        return self.shuffle or self.noise > 0 or self.rows is not None

    @property
    def need_all_rows(self) -> bool:
        """Whether the rows must be held at once; otherwise the file is read in pieces."""
        statistics = self.features is not None or self.scale in ("standard", "max-abs")
        return (
            statistics
            or self.shuffle
            or self.noise > 0
            or (self.bias and self.num_features is None)
        )


@dataclass(frozen=True)
class LossOptions:
    """Which loss to fit; see `qcompile.loss.fit_loss`."""

    order: int | None = None
    fit: str = "risk"
    omega: float | None = None
    coefficients: Sequence[float] | None = None
    prior_std: float | None = None
    l2: float | None = None
    range_: float | str = "auto"

    @property
    def degree(self) -> int:
        """Degree of moments that the loss needs: 3 unless said otherwise."""
        if self.coefficients is None:
            return 3 if self.order is None else self.order
        return len(self.coefficients) - 1

    def __post_init__(self) -> None:
        if self.coefficients is not None and self.order not in (None, self.degree):
            raise InputError(
                f"order {self.order} with {len(self.coefficients)} coefficients, which make a loss "
                f"of order {self.degree}: leave out one of them"
            )


@dataclass(frozen=True)
class QuboOptions:
    """How to reduce the polynomial; see `qcompile.quadratize.quadratize`."""

    cover: str = "auto"
    strength: float = 1.0
    max_ancillas: int | None = None
    time_limit: float = 60.0


@dataclass(frozen=True, eq=False)
class Compiled:
    """What came out of each pass; the QUBO is made when it is asked for."""

    moments: Moments
    loss: Loss
    pubo: Pubo
    options: QuboOptions
    seed: int = 0

    @cached_property
    def qubo(self) -> Qubo:
        """The polynomial with products replaced by ancillas."""
        with passing("quadratize"):
            return quadratize(self.pubo, seed=self.seed, **asdict(self.options))


def compile(
    source: str | Path | Dataset,
    *,
    bits: int = 4,
    l0: float = 0.0,
    threshold: float = 0.0,
    shrink: bool = False,
    data: DataOptions | None = None,
    loss: LossOptions | None = None,
    qubo: QuboOptions | None = None,
    observe: Observer | None = None,
    progress: Callable[[int, int | None], None] | None = None,
    client: Any = None,
    **options: Any,
) -> Compiled:
    """Turn a data set into a polynomial of bits whose minimum is the trained classifier.

    Options are those of `DataOptions`, `LossOptions` and `QuboOptions`, by name. `shrink` first
    narrows the weights' levels where that keeps the minimum (`qcompile.prune`). A `source` like
    ``part-*.svm.gz`` names several files; with a Dask `client` its workers sum over them.

    >>> compiled = compile("synthetic", order=3, bits=2)
    >>> compiled.pubo.terms
    (18, 153, 816)
    >>> compiled.qubo.variables
    90
    """
    data, loss, qubo = _options(data, loss, qubo, options)
    see = observe or (lambda stage, artifact: None)
    if isinstance(source, Dataset):
        if replace(data, seed=0) != DataOptions():
            raise InputError(
                "options for reading data with a data set that is read already: use prepare(), "
                "shuffle(), add_noise() on it"
            )
        with passing("moments"):
            moments = moments_of(source, loss.degree, fit=needs_fit(loss), progress=progress)
    else:
        moments = load_moments_of(source, data, loss, progress=progress, client=client)
    see("moments", moments)
    with passing("fit loss"):
        fitted = fit_loss_with(moments, loss)
    see("loss", fitted)
    encoding = None
    if shrink:
        with passing("prune"):
            encoding = prune(moments, fitted, bits, l0=l0)
    with passing("discretize"):
        pubo = discretize(moments, fitted, bits, l0=l0, threshold=threshold, encoding=encoding)
    see("pubo", pubo)
    return Compiled(moments, fitted, pubo, qubo, data.seed)


def load_data(
    source: str | Path,
    options: DataOptions,
    *,
    progress: Callable[[int, int | None], None] | None = None,
) -> Dataset:
    """Read, shuffle, limit, add label noise, choose features, scale: in this order."""
    with passing("read"):
        data = _read(source, options, progress)
    with passing("prepare"):
        return prepare(data, scale=options.scale, features=options.features, bias=options.bias)


def _read(
    source: str | Path,
    options: DataOptions,
    progress: Callable[[int, int | None], None] | None,
) -> Dataset:
    data = read(
        source,
        positive=options.positive,
        rows=None if options.shuffle else options.rows,
        index_base=options.index_base,
        num_features=options.num_features,
        seed=options.seed,
        progress=progress,
    )
    if options.shuffle:
        data = shuffle(data, seed=options.seed)
        if options.rows is not None:
            data = data.take(slice(options.rows))
    if options.noise:
        data = add_noise(data, options.noise, seed=options.seed)
    return data


def load_moments_of(
    source: str | Path,
    data: DataOptions,
    loss: LossOptions,
    *,
    progress: Callable[[int, int | None], None] | None = None,
    client: Any = None,
) -> Moments:
    """Take the moments of a file: in pieces if the options allow it; or of several files.

    Several files are summed part by part, on the workers of a Dask `client` if there is one.
    """
    named = named_sets.is_named(source) or str(source) == "-"
    names = [str(source)] if named else file_names(source)
    if client is not None and named:
        shown = "standard input" if str(source) == "-" else source
        raise InputError(f"{shown}: workers cannot read it; expected files, such as 'part-*.svm'")
    if client is not None or (len(names) > 1 and not data.need_all_rows_at_once):
        total = local_total(names, names, progress)
        if client is not None:
            from qcompile.moments.dask import total_on

            total = total_on(client, names, names, progress)
        name = Path(str(source)).name
        with passing("read and moments, file by file"):
            return moments_of_parts(total, name, data, loss.degree, fit=needs_fit(loss))
    if data.need_all_rows or named_sets.is_named(source) or len(names) > 1:
        rows = load_data(source, data, progress=progress)
        with passing("moments"):
            return moments_of(rows, loss.degree, fit=needs_fit(loss))
    stream = RowStream(
        names[0],
        positive=data.positive,
        rows=data.rows,
        index_base=data.index_base,
        num_features=data.num_features,
        unit_norm=data.scale == "unit-norm",
        bias=data.bias,
        progress=progress,
    )
    try:
        with passing("read and moments, in pieces"):
            return moments_of(stream, loss.degree, fit=needs_fit(loss))
    except LateIndexZeroError:
        if str(source) == "-":  # gone
            raise
        return load_moments_of(source, replace(data, index_base=0), loss, progress=progress)


def fit_loss_with(moments: Moments, options: LossOptions) -> Loss:
    """Fit the loss that the options ask for."""
    return fit_loss(
        moments,
        options.degree,
        fit=options.fit,
        omega=options.omega,
        coefficients=options.coefficients,
        prior_std=options.prior_std,
        l2=options.l2,
        range_=options.range_,
    )


def needs_fit(loss: LossOptions) -> bool:
    return loss.coefficients is None and loss.fit == "risk" and loss.degree % 2 == 1


def _options(
    data: DataOptions | None,
    loss: LossOptions | None,
    qubo: QuboOptions | None,
    options: dict[str, Any],
) -> tuple[DataOptions, LossOptions, QuboOptions]:
    groups: list[Any] = [data or DataOptions(), loss or LossOptions(), qubo or QuboOptions()]
    names = [{f.name for f in fields(group)} for group in groups]
    unknown = sorted(set(options) - set().union(*names))
    if unknown:
        known = ", ".join(sorted(set().union(*names)))
        raise InputError(f"unknown option {unknown[0]!r}; expected one of {known}")
    made = [
        replace(group, **{k: v for k, v in options.items() if k in own})
        for group, own in zip(groups, names, strict=True)
    ]
    return made[0], made[1], made[2]
