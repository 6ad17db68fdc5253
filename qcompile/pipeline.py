"""The passes in order: from a data set to a polynomial of bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from qcompile import named_sets
from qcompile.artifacts import Dataset, Loss, Moments, Pubo
from qcompile.data import RowStream, add_noise, prepare, read, shuffle
from qcompile.discretize import discretize
from qcompile.errors import InputError
from qcompile.loss import fit_loss
from qcompile.moments import moments_of

__all__ = ["Compiled", "DataOptions", "LossOptions", "compile", "load_data", "load_moments_of"]

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

    order: int = 3
    fit: str = "risk"
    omega: float | None = None
    coefficients: Sequence[float] | None = None
    prior_std: float | None = None
    l2: float | None = None
    range_: float | str = "auto"

    @property
    def degree(self) -> int:
        """Degree of moments that the loss needs."""
        return self.order if self.coefficients is None else len(self.coefficients) - 1


@dataclass(frozen=True, eq=False)
class Compiled:
    """What came out of each pass."""

    moments: Moments
    loss: Loss
    pubo: Pubo


def compile(
    source: str | Path | Dataset,
    *,
    bits: int = 4,
    l0: float = 0.0,
    threshold: float = 0.0,
    data: DataOptions | None = None,
    loss: LossOptions | None = None,
    observe: Observer | None = None,
    progress: Callable[[int, int | None], None] | None = None,
    **options: Any,
) -> Compiled:
    """Turn a data set into a polynomial of bits whose minimum is the trained classifier.

    Options are those of `DataOptions` and `LossOptions`, by name.

    >>> compiled = compile("synthetic", order=3, bits=2)
    >>> compiled.pubo.terms
    (18, 153, 816)
    """
    data, loss = _options(data, loss, options)
    see = observe or (lambda stage, artifact: None)
    if isinstance(source, Dataset):
        moments = moments_of(source, loss.degree, fit=_needs_fit(loss), progress=progress)
    else:
        moments = load_moments_of(source, data, loss, progress=progress)
    see("moments", moments)
    fitted = fit_loss_with(moments, loss)
    see("loss", fitted)
    pubo = discretize(moments, fitted, bits, l0=l0, threshold=threshold)
    see("pubo", pubo)
    return Compiled(moments, fitted, pubo)


def load_data(
    source: str | Path,
    options: DataOptions,
    *,
    progress: Callable[[int, int | None], None] | None = None,
) -> Dataset:
    """Read, shuffle, limit, add label noise, choose features, scale: in this order."""
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
    return prepare(data, scale=options.scale, features=options.features, bias=options.bias)


def load_moments_of(
    source: str | Path,
    data: DataOptions,
    loss: LossOptions,
    *,
    progress: Callable[[int, int | None], None] | None = None,
) -> Moments:
    """Take the moments of a file: in pieces if the options allow it."""
    if data.need_all_rows or named_sets.is_named(source):
        rows = load_data(source, data, progress=progress)
        return moments_of(rows, loss.degree, fit=_needs_fit(loss))
    stream = RowStream(
        source,
        positive=data.positive,
        rows=data.rows,
        index_base=data.index_base,
        num_features=data.num_features,
        unit_norm=data.scale == "unit-norm",
        bias=data.bias,
        progress=progress,
    )
    return moments_of(stream, loss.degree, fit=_needs_fit(loss))


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


def _needs_fit(loss: LossOptions) -> bool:
    return loss.coefficients is None and loss.fit == "risk" and loss.order % 2 == 1


def _options(
    data: DataOptions | None, loss: LossOptions | None, options: dict[str, Any]
) -> tuple[DataOptions, LossOptions]:
    from dataclasses import fields, replace

    data_names = {f.name for f in fields(DataOptions)}
    loss_names = {f.name for f in fields(LossOptions)}
    unknown = sorted(set(options) - data_names - loss_names)
    if unknown:
        raise InputError(
            f"unknown option {unknown[0]!r}; expected one of "
            f"{', '.join(sorted(data_names | loss_names))}"
        )
    return (
        replace(data or DataOptions(), **{k: v for k, v in options.items() if k in data_names}),
        replace(loss or LossOptions(), **{k: v for k, v in options.items() if k in loss_names}),
    )
