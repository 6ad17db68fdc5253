"""The passes in order: from a data set to a polynomial of bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from qcompile.data import named_sets
from qcompile.data.options import DataOptions, load_data
from qcompile.data.stream import LateIndexZeroError, RowStream
from qcompile.data.svmlight import file_names
from qcompile.errors import InputError
from qcompile.moments.accumulate import moments_of
from qcompile.moments.dask import total_on
from qcompile.moments.parts import local_total, moments_of_parts
from qcompile.objective.discretize import discretize
from qcompile.objective.fit import LossOptions, fit_loss_with, needs_fit
from qcompile.objective.prune import prune
from qcompile.reduction.quadratize import QuboOptions, quadratize
from qcompile.runtime.timing import passing
from qcompile.stages.dataset import Dataset
from qcompile.stages.loss import Loss
from qcompile.stages.moments import Moments
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo

__all__ = ["Compiled", "compile", "load_moments_of"]


Observer: TypeAlias = Callable[[str, Any], None]


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
