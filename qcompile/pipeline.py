"""The passes in order: from a data set to a polynomial of bits and its QUBO, and their proof."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypedDict, Unpack

from qcompile.data.given import DataSource, is_path, kind_of
from qcompile.data.openml import is_openml
from qcompile.data.options import DataOptions, load_data
from qcompile.data.prepare import PrepareOptions
from qcompile.data.read import check_plain
from qcompile.data.replay import same_rows
from qcompile.data.stream import LateIndexZeroError
from qcompile.data.svmlight import can_reopen, file_names
from qcompile.data.table import schema_of
from qcompile.errors import InputError
from qcompile.files.interchange import read_pubo
from qcompile.files.qubo import load_qubo, qubo_of
from qcompile.moments.accumulate import moments_of
from qcompile.moments.dask import total_on
from qcompile.moments.in_pieces import moments_in_pieces
from qcompile.moments.parts import local_total, moments_of_parts
from qcompile.objective.discretize import discretize
from qcompile.objective.fit import LossOptions, fit_loss_with, needs_fit
from qcompile.objective.judgement import fault_of
from qcompile.objective.prune import prune as prune_levels
from qcompile.reduction.estimate import seconds_of
from qcompile.reduction.quadratize import QuboOptions, quadratize
from qcompile.reduction.subsets import in_words
from qcompile.runtime import cluster
from qcompile.runtime.progress import Progress, muted, shown_by
from qcompile.runtime.renamed import renamed
from qcompile.runtime.timing import passing
from qcompile.stages.dataset import Dataset
from qcompile.stages.display import Displayed, many, quoted
from qcompile.stages.labels import RowLabel
from qcompile.stages.loss import Loss
from qcompile.stages.moments import Moments
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Fingerprint, Qubo
from qcompile.verification.check import Verification
from qcompile.verification.verify import verify as verify_qubo

__all__ = [
    "CompileOptions",
    "Compiled",
    "DataAndLossOptions",
    "compile",
    "load_moments_of",
    "verify",
]


_log = logging.getLogger("qcompile")
_LONG = 60.0  # seconds


class DataAndLossOptions(TypedDict, total=False):
    """Fields of `DataOptions` and `LossOptions` that `compile` and `train` take as keywords."""

    positive: RowLabel | None
    label: str | int | None
    missing: str | float
    one_hot: bool
    ignore: Sequence[str | int]
    rows: int | None
    index_base: int | None
    num_features: int | None
    shuffle: bool
    noise: float
    features: int | None
    scale: str
    bias: bool
    order: int | None
    fit_to: str
    omega: float | None
    coefficients: Sequence[float] | None
    prior_std: float | None
    weight_range: float | str


class CompileOptions(DataAndLossOptions, total=False):
    """The fields of `DataOptions`, `LossOptions` and `QuboOptions`, as keywords of `compile`."""

    seed: int
    l2: float | None
    cover: str
    strength: float
    max_ancillas: int | None
    compress: bool | float
    time_limit: float
    effort: float


@dataclass(frozen=True, eq=False, repr=False)
class Compiled(Displayed):
    """The result of each pass up to the polynomial; `quadratize` makes the QUBO."""

    moments: Moments
    loss: Loss
    pubo: Pubo
    options: QuboOptions
    seed: int = 0

    def _line(self) -> str:
        pubo, name = self.pubo, self.moments.source.name
        data = "" if name is None else f"{quoted(name)}, "
        return f"{data}{many(pubo.variables, 'bit')}, {many(pubo.num_terms, 'term')}"

    def _facts(self) -> Mapping[str, object]:
        return {"moments": self.moments, "loss": self.loss, "pubo": self.pubo}

    def quadratize(self) -> Qubo:
        """Return the polynomial with products replaced by ancillas.

        The first call may take minutes for a large polynomial. Later calls return the same QUBO.
        """
        return self._quadratized

    @cached_property
    def _quadratized(self) -> Qubo:
        took = seconds_of(self.pubo.terms, self.options.time_limit)
        if took > _LONG:
            _log.info(
                "reducing %s terms takes about %s", f"{self.pubo.num_terms:,}", in_words(took)
            )
        with passing("quadratize"):
            return quadratize(self.pubo, seed=self.seed, **asdict(self.options))

    @property
    def qubo(self) -> Qubo:
        """The QUBO. Deprecated: call `quadratize` instead."""
        warnings.warn(
            "Compiled.qubo is deprecated: call Compiled.quadratize()",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.quadratize()


@renamed(fit="fit_to", range_="weight_range", shrink="prune")
def compile(
    source: DataSource,
    *,
    bits: int = 4,
    l0: float = 0.0,
    threshold: float = 0.0,
    prune: bool = False,
    anyway: bool = False,
    data: DataOptions | None = None,
    loss: LossOptions | None = None,
    qubo: QuboOptions | None = None,
    progress: Progress | None = None,
    client: Any = None,
    **options: Unpack[CompileOptions],
) -> Compiled:
    """Turn a data set into a polynomial of bits whose minimum is the trained classifier.

    Options are the fields of `DataOptions`, `LossOptions` and `QuboOptions`, by name; they replace
    those of `data`, `loss` and `qubo`. Raw data are scaled robustly and get a constant column,
    unless `scale` and `bias` say otherwise; so are the rows of a `Dataset` as they were read, also
    if ``prepare(scale="none")`` left them so: ``scale="none", bias=False`` compiles them as they
    are. `prune` first narrows the levels of the weights where that keeps the minimum. A problem
    whose lowest state rewards wrong answers is refused; `anyway` compiles it with a note.

    `source` is what `read` takes. One like ``part-*.svm.gz`` names several files; with a Dask
    `client` its workers sum over them. `progress(done, total)` counts bytes of a file, files of
    several, or rows of a data set.

    >>> compiled = compile("synthetic", order=3, bits=2)
    >>> compiled.moments.features  # nine, and the constant one
    10
    >>> compiled.pubo.terms
    (20, 190, 1140)
    >>> compiled.quadratize().variables
    110
    """
    data, loss, qubo = _options(data, loss, qubo, options)
    with shown_by(progress), cluster.using(client):
        if isinstance(source, Dataset):
            moments = _moments_of_rows(source, data, loss)
        else:
            moments = load_moments_of(source, data, loss)
    with passing("fit loss"):
        fitted = _checked(moments, fit_loss_with(moments, loss), bits, anyway)
    encoding = None
    if prune:
        with passing("prune"):
            encoding = prune_levels(moments, fitted, bits, l0=l0)
    with passing("discretize"):
        pubo = discretize(moments, fitted, bits, l0=l0, threshold=threshold, encoding=encoding)
    return Compiled(moments, fitted, pubo, qubo, data.seed)


def _checked(moments: Moments, loss: Loss, bits: int, anyway: bool) -> Loss:
    """Raise InputError if the lowest state is worthless; with `anyway`, note it instead."""
    fault = fault_of(moments, loss, bits)
    if fault is None:
        return loss
    if not anyway:
        raise InputError(f"{fault}. To compile it all the same, give anyway=True")
    return loss if fault in loss.notes else replace(loss, notes=(*loss.notes, fault))


def verify(
    qubo: Qubo | str | Path,
    *,
    pubo: Pubo | str | Path | None = None,
    reference: Fingerprint | None = None,
    data: DataSource | None = None,
    assignments: int = 200,
    seed: int | None = None,
) -> Verification:
    """Check a QUBO against its polynomial, its gates and the data, as far as they are given.

    Each may be a file, and the data whatever `read` takes. A file of a QUBO brings the
    `reference`: what it says about the polynomial that was compiled. Rows of a file are read and
    prepared as the QUBO says its own were, and so is a `Dataset` that no `prepare` has seen. The
    random `assignments` to compare with the data are new each time, so that no maker of a file
    knows them, unless there is a `seed`.

    >>> made = compile("synthetic:features=4", order=3, bits=1)
    >>> verify(made.quadratize(), pubo=made.pubo, data="synthetic:features=4").holds
    True
    """
    if isinstance(qubo, str | Path):
        qubo, recorded = load_qubo(qubo)
        reference = recorded if reference is None else reference
    qubo = qubo_of(qubo)
    if isinstance(pubo, str | Path):
        pubo = read_pubo(pubo)
    if data is not None and not isinstance(data, Dataset):
        data = same_rows(data, qubo)
    return verify_qubo(
        qubo, pubo=pubo, reference=reference, data=data, assignments=assignments, seed=seed
    )


def _moments_of_rows(source: Dataset, data: DataOptions, loss: LossOptions) -> Moments:
    """Return the moments of rows in memory; raw rows are prepared as those of a file are."""
    wanted = data.preparation
    others = replace(data, scale="none", features=None, bias=False)
    if others != DataOptions(scale="none", bias=False, seed=data.seed):
        raise InputError(
            "options for reading data with a data set that is already read: use shuffle(), "
            "add_noise() or take() on it"
        )
    if source.preparation.is_identity:
        with passing("prepare"):
            source = wanted.apply(source)
    elif wanted not in (DataOptions().preparation, PrepareOptions()):
        raise InputError("these data are prepared already; prepare raw data once")
    with passing("moments"):
        return moments_of(source, loss.degree, fit=needs_fit(loss))


def load_moments_of(source: DataSource, data: DataOptions, loss: LossOptions) -> Moments:
    """Return the moments of a file, or of several files.

    A file is read in pieces if the options allow it. Several files are summed part by part, on the
    workers of the current Dask client if there is one.
    """
    client = cluster.current()
    kind = kind_of(source)
    if kind != "table":
        check_plain(data.table, source)
    names = _files_of(source, kind)
    if client is not None and not names:
        shown = "standard input" if str(source) == "-" else source if is_path(source) else "data"
        raise InputError(f"{shown}: workers cannot read it; expected files, such as 'part-*.svm'")
    # what cannot be read twice is held
    tabular = kind == "table" and bool(names) and all(map(can_reopen, names))
    in_parts = client is not None or tabular or len(names) > 1
    if client is not None or (in_parts and not data.need_all_rows_at_once and kind != "arrays"):
        total = local_total(names, names) if client is None else total_on(client, names, names)
        table = schema_of(names[0], data.table) if kind == "table" else None
        name = Path(str(source)).name
        with passing("read and moments, file by file"):
            return moments_of_parts(
                total, name, data, loss.degree, fit=needs_fit(loss), table=table
            )
    held = data.need_all_rows or kind != "svmlight" or len(names) > 1
    if not held and data.need_two_passes and data.rows is not None:
        held = not can_reopen(names[0])  # there may be no end of it
    if held:
        rows = load_data(source, data)  # counts bytes
        with passing("moments"), muted():
            return moments_of(rows, loss.degree, fit=needs_fit(loss))
    try:
        return moments_in_pieces(names[0], data, loss.degree, fit=needs_fit(loss))
    except LateIndexZeroError:
        if not can_reopen(names[0]):
            raise
        return load_moments_of(source, replace(data, index_base=0), loss)


def _files_of(source: DataSource, kind: str) -> list[str]:
    """Return the files to read; none for data in memory, a name or what only one can read."""
    if kind == "named" or not is_path(source) or is_openml(source):
        return []
    if kind == "arrays" and cluster.current() is not None:
        return []
    if str(source) == "-":
        return [] if cluster.current() is not None else ["-"]
    return file_names(source)


def _options(
    data: DataOptions | None,
    loss: LossOptions | None,
    qubo: QuboOptions | None,
    options: Mapping[str, Any],
) -> tuple[DataOptions, LossOptions, QuboOptions]:
    """Return the three groups with the options that are given by name."""
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
