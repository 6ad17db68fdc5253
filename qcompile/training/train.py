"""The whole way: data -> moments -> loss -> polynomial -> samples -> classifier, with an account.

Cross-validation takes the moments of each fold once; every training set is the sum of the other
folds' moments, so that the data are read once whatever the number of settings tried.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qcompile.data.rows import folds, prepare, split
from qcompile.errors import InputError
from qcompile.moments.accumulate import moments_of
from qcompile.objective.discretize import discretize, most_terms
from qcompile.objective.weight_range import Cubic, rewarded, warnings_for
from qcompile.pipeline import LossOptions, fit_loss_with, needs_fit
from qcompile.reduction.quadratize import quadratize
from qcompile.runtime.timing import passing
from qcompile.solvers.anneal import anneal_examples
from qcompile.solvers.solve import solve
from qcompile.stages.artifacts import Dataset, Encoding, Floats, Loss, Moments, Pubo, Qubo, frozen
from qcompile.stages.classifier import Classifier, decode, wrong_answers
from qcompile.stages.samples import Samples, samples_of

__all__ = [
    "GRID_NAMES",
    "SolveOptions",
    "Trained",
    "cross_validate",
    "prepare_alike",
    "risks",
    "set_aside",
    "train",
]

Progress = Callable[[int, int | None], None]
Parts = tuple[Dataset, Dataset | None, Dataset | None]  # for training, validation and test

_log = logging.getLogger("qcompile")

GRID_NAMES = ("order", "bits", "omega", "l2", "range_")
_CONTINUOUS_FEATURES = 400
_BITS = 4
# Entries of the data that all restarts over the margins may visit together (some two seconds),
# as long as that leaves this many sweeps and at least a fifth of the restarts asked for.
_WORK = 5e8
_SWEEPS = (200, 1000)
_FEWEST = 5
# Rounds of looking around the best continuous weights near the lowest state.
_ROUNDS, _ROUND_READS = 3, 4
_NARROWINGS = 5


@dataclass(frozen=True)
class SolveOptions:
    """How to look for the best classifier; see `qcompile.solve`."""

    solver: Any = "anneal"
    reads: int = 100
    keep: int = 50
    sweeps: int | None = None
    seed: int = 0
    parameters: Mapping[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class Trained:
    """A classifier and how it came about: stages with times and sizes, risks along the way.

    `baseline` is the error on the training rows of always giving the commoner label.
    """

    classifier: Classifier
    loss: Loss
    problem: Pubo | Qubo
    samples: Samples
    stages: tuple[Mapping[str, Any], ...]
    risks: tuple[Mapping[str, Any], ...]
    errors: Mapping[str, float]
    baseline: float
    notes: tuple[str, ...] = ()


def train(
    data: Dataset,
    *,
    bits: int = _BITS,
    l0: float = 0.0,
    loss: LossOptions | None = None,
    options: SolveOptions | None = None,
    validation: Dataset | float = 0.0,
    test: Dataset | float = 0.0,
    preparation: Mapping[str, Any] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    client: Any = None,
) -> Trained:
    """Train a classifier.

    `validation` and `test` are data sets prepared in the same way, or shares of `data` to set
    aside. `preparation` holds options of `prepare` for data that are not prepared yet: parts are
    set aside first, and what is learnt about features is learnt from the training rows alone.
    With validation data the best of the lowest samples is chosen by them. With a Dask `client` its
    workers make the annealer's restarts. Where the range of weights is "auto" and the search ends
    at a classifier that the loss rewards for wrong answers, it goes on with half of the range.

    >>> from qcompile import read
    >>> wanted = {"scale": "standard", "features": 5, "bias": True}
    >>> found = train(read("breast-cancer"), preparation=wanted, bits=2, test=0.3, seed=1)
    >>> found.errors["test"] < 0.15 < found.baseline
    True
    """
    loss, options = loss or LossOptions(), options or SolveOptions()
    rows, checked, tested = set_aside(data, validation, test, seed=seed, preparation=preparation)
    clock = _Clock()
    on_examples = _goes_over_margins(rows, bits, loss.degree, options)
    degree = 1 if on_examples and loss.degree % 2 == 0 else loss.degree
    with passing("moments"):
        moments = moments_of(rows, degree, fit=needs_fit(loss))
    clock.stage("moments", f"{len(rows):,} rows, {rows.features:,} features")
    with passing("fit loss"):
        fitted = fit_loss_with(moments, loss)
    clock.stage("loss", f"order {fitted.order}, range {fitted.range_:.3g}")
    task = _Task(rows, moments, bits, l0, on_examples, options)
    narrow = loss.range_ == "auto"
    samples, problem, fitted = _lowest(task, fitted, narrow, clock, progress, client)
    with passing("decode"):
        classifier = decode(problem, samples, validation=checked)
    clock.stage(
        "decode", f"state {int(classifier.source['rank']) + 1} of the {len(samples)} lowest"
    )
    parts = {"train": rows, "validation": checked, "test": tested}
    errors = {
        name: float(wrong_answers(part, classifier.weights[None])[0])
        for name, part in parts.items()
        if part is not None
    }
    energy = float(classifier.source["energy"])
    with passing("compare risks"):
        compared = tuple(risks(rows, moments, fitted, problem, samples, classifier))
    return Trained(
        classifier=classifier,
        loss=fitted,
        problem=problem,
        samples=samples,
        stages=tuple(clock.rows),
        risks=compared,
        errors=errors,
        baseline=rows.baseline_error,
        notes=(*fitted.notes, *warnings_for(fitted, rows, classifier.weights, energy)),
    )


class _Clock:
    """Notes what each stage took and how large its result is."""

    def __init__(self) -> None:
        self.rows: list[Mapping[str, Any]] = []
        self._since = time.perf_counter()

    def stage(self, name: str, size: str) -> None:
        now = time.perf_counter()
        self.rows.append({"stage": name, "seconds": now - self._since, "size": size})
        self._since = now


@dataclass(frozen=True, eq=False)
class _Task:
    """What to look for low states of, and how: over the margins of the rows, or in bits."""

    rows: Dataset
    moments: Moments
    bits: int
    l0: float
    over_margins: bool
    options: SolveOptions


def _lowest(
    task: _Task,
    loss: Loss,
    narrow: bool,
    clock: _Clock,
    progress: Progress | None = None,
    client: Any = None,
) -> tuple[Samples, Pubo | Qubo, Loss]:
    """Find low states, with half of the range as long as the lowest is one of abuse."""
    search = _over_margins if task.over_margins else _in_bits
    for left in reversed(range(_NARROWINGS + 1)):
        samples, problem = search(task, loss, clock, progress, client)
        if not (narrow and left and rewarded(loss, task.rows, problem.decode(samples.best))):
            break
        loss = _narrower(loss)
    return samples, problem, loss


def _narrower(loss: Loss) -> Loss:
    """Give the loss with half of the range, and say so once."""
    half = loss.range_ / 2
    start = "the loss rewarded wrong answers within the range that was chosen first"
    notes = [note for note in loss.notes if not note.startswith(start)]
    return replace(loss, range_=half, notes=(*notes, f"{start}: narrowed to {half:.3g}"))


def set_aside(
    data: Dataset,
    validation: Dataset | float,
    test: Dataset | float,
    *,
    seed: int = 0,
    preparation: Mapping[str, Any] | None = None,
) -> Parts:
    """Give the rows for training, validation and test.

    With a `preparation` the rows for training are prepared, and the others like them.
    """
    parts = _parts(data, validation, test, seed)
    return parts if preparation is None else prepare_alike(parts, preparation)


def prepare_alike(parts: Parts, preparation: Mapping[str, Any]) -> Parts:
    """Prepare the rows for training, and the others like them."""
    rows, *others = parts
    made = prepare(rows, **preparation)
    checked, tested = (None if part is None else prepare(part, like=made) for part in others)
    return made, checked, tested


def _parts(data: Dataset, validation: Dataset | float, test: Dataset | float, seed: int) -> Parts:
    shares = [part if isinstance(part, float | int) else 0.0 for part in (validation, test)]
    for part in (validation, test):
        if isinstance(part, Dataset) and part.features != data.features:
            raise InputError(
                f"validation or test data with {part.features} features; expected {data.features}, "
                "prepared as the training data"
            )
    if not (all(share >= 0 for share in shares) and sum(shares) < 1):
        raise InputError(
            f"shares {shares[0]:g} for validation and {shares[1]:g} for test; expected shares "
            "that leave rows for training"
        )
    asked = [share for share in shares if share > 0]
    parts = list(split(data, (1 - sum(shares), *asked), seed=seed)) if asked else [data]
    rows, rest = parts[0], iter(parts[1:])
    given: list[Dataset | None] = []
    for part, share in zip((validation, test), shares, strict=True):
        whole = part if isinstance(part, Dataset) else None
        given.append(next(rest) if share > 0 else whole)
    return rows, given[0], given[1]


def _goes_over_margins(rows: Dataset, bits: int, order: int, options: SolveOptions) -> bool:
    """Say whether annealing the examples is cheaper than annealing the polynomial."""
    if options.solver != "anneal" or order <= 3:
        return False
    entries = rows.density * len(rows) * rows.features
    return sum(most_terms(rows.features * bits, order)) > entries


def _in_bits(
    task: _Task, loss: Loss, clock: _Clock, progress: Progress | None, client: Any
) -> tuple[Samples, Pubo | Qubo]:
    """Find low states of the polynomial of bits."""
    options = task.options
    with passing("discretize"):
        pubo = discretize(task.moments, loss, task.bits, l0=task.l0)
    clock.stage("pubo", f"{pubo.variables:,} bits, {pubo.num_terms:,} terms")
    problem: Pubo | Qubo = pubo
    if options.solver not in ("anneal", "exact"):
        with passing("quadratize"):
            problem = quadratize(pubo)
        clock.stage("qubo", f"{problem.variables:,} qubits, {len(problem.ancillas):,} ancillas")
    name = options.solver if isinstance(options.solver, str) else type(options.solver).__name__
    with passing(f"solve ({name})"):
        found = solve(problem, **vars(options), progress=progress, client=client)
    clock.stage(str(found.info["solver"]), f"{len(found):,} states")
    return found, problem


def _over_margins(
    task: _Task, loss: Loss, clock: _Clock, progress: Progress | None, client: Any
) -> tuple[Samples, Pubo]:
    """Find low states over the margins where the polynomial would be too large.

    The problem given back is empty but for its encoding: enough to decode.
    """
    options = task.options
    encoding = Encoding(task.moments.features, task.bits, loss.zeta)
    reads, sweeps = _effort(task.rows, options)
    with passing("anneal over the margins"):
        weights = anneal_examples(
            task.rows,
            loss,
            encoding,
            l0=task.l0,
            reads=reads,
            sweeps=sweeps,
            keep=options.keep,
            seed=options.seed,
            progress=progress,
            client=client,
        )
        weights, energies = _around(task, loss, encoding, weights)
    problem = Pubo(
        variables=encoding.variables,
        constant=0.0,
        indices=(),
        coefficients=(),
        encoding=encoding,
        loss=loss,
        l0=task.l0,
        preparation=task.moments.preparation,
        source=task.moments.source,
    )
    info = {
        "solver": "anneal",
        "space": "margins",
        "seed": options.seed,
        "reads": reads,
        "sweeps": sweeps,
    }
    samples = samples_of(problem, encoding.encode(weights), info=info)
    made = f"{reads:,} restarts of {sweeps:,} sweeps"
    clock.stage("anneal", f"over the margins, {made}, {len(samples)} states")
    return replace(samples, energies=frozen(energies)), problem


def _effort(rows: Dataset, options: SolveOptions) -> tuple[int, int]:
    """Give restarts and sweeps: as many as asked for, fewer where the data are large."""
    room = _WORK / max(1.0, rows.density * len(rows) * rows.features)
    fewest, most = _SWEEPS
    sweeps = options.sweeps or int(min(max(room / options.reads, fewest), most))
    enough = max(options.reads // _FEWEST, int(room / sweeps), 1)
    return min(options.reads, enough), sweeps


def _around(
    task: _Task, loss: Loss, encoding: Encoding, weights: Floats
) -> tuple[Floats, list[float]]:
    """Look for lower states around the best continuous weights near the lowest one.

    Single steps of weights do not reach every level near a valley's floor; the floor does.
    """
    rows, options = task.rows, task.options

    def energies_of(many: Floats) -> list[float]:
        return [_objective(rows, loss, w) + task.l0 * np.count_nonzero(w) for w in many]

    energies = energies_of(weights)
    for number in range(_ROUNDS):
        before = min(energies)
        try:
            near = anneal_examples(
                rows,
                loss,
                encoding,
                start=_descend(rows, loss, weights[int(np.argmin(energies))]),
                l0=task.l0,
                reads=_ROUND_READS,
                sweeps=options.sweeps,
                keep=options.keep,
                seed=options.seed + number + 1,
            )
        except KeyboardInterrupt:
            _log.warning("interrupted: keeping the best states so far")
            break
        both = np.unique(np.concatenate([weights, near]), axis=0)
        values = np.array(energies_of(both))
        lowest = np.argsort(values, kind="stable")[: options.keep]
        weights, energies = both[lowest], values[lowest].tolist()
        if not energies[0] < before:
            break
    return weights, energies


def _objective(rows: Dataset, loss: Loss, weights: Floats) -> float:
    """Mean loss of the examples and the regulariser."""
    return float(np.mean(loss(rows.margins(weights)))) + loss.l2 / 2 * float(weights @ weights)


def risks(
    rows: Dataset,
    moments: Moments,
    loss: Loss,
    problem: Pubo | Qubo,
    samples: Samples,
    classifier: Classifier,
) -> Iterable[Mapping[str, Any]]:
    """Say where accuracy is lost: continuous, rounded to the grid, best state, returned one."""
    encoding = problem.encoding
    assert encoding is not None

    def row(name: str, weights: Floats) -> Mapping[str, Any]:
        value = _objective(rows, loss, weights)
        # as `predict` answers: a decision of 0 is a negative answer, not always a wrong one
        wrong = float(wrong_answers(rows, weights[None])[0])
        return {"classifier": name, "objective": value, "0-1 risk": wrong}

    if loss.order <= 3 and moments.features <= _CONTINUOUS_FEATURES:
        _, point = Cubic.of(moments, loss).lowest(loss.range_)
        continuous = point * loss.prior_std
        yield row("best continuous", continuous)
        yield row("rounded to the grid", encoding.decode(encoding.encode(continuous)))
    else:
        continuous = _descend(rows, loss, problem.decode(samples.best))
        yield row("best continuous near it", continuous)
        yield row("that rounded to the grid", encoding.decode(encoding.encode(continuous)))
    yield row("lowest state found", problem.decode(samples.best))
    yield row("returned", classifier.weights)


def _descend(rows: Dataset, loss: Loss, start: Floats) -> Floats:
    """Follow the slope of the objective within the range of the weights."""
    from scipy.optimize import minimize

    slopes = np.polynomial.polynomial.polyder(np.array(loss.coefficients))

    def objective(weights: Floats) -> tuple[float, Floats]:
        margins = rows.margins(weights)
        push = np.polynomial.polynomial.polyval(margins, slopes) * rows.y / len(rows)
        slope = np.asarray(rows.x.T @ push) + loss.l2 * weights
        return _objective(rows, loss, weights), slope

    bounds = [(-loss.zeta, loss.zeta)] * len(start)
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x, dtype=np.float64)


def cross_validate(
    data: Dataset,
    grid: Mapping[str, Sequence[Any]],
    *,
    count: int = 10,
    bits: int = _BITS,
    l0: float = 0.0,
    loss: LossOptions | None = None,
    options: SolveOptions | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    preparation: Mapping[str, Any] | None = None,
    client: Any = None,
) -> list[dict[str, Any]]:
    """Try all settings of a grid over orders, bits, omega, l2 and range on k folds.

    Gives a row a setting with the mean validation error and its standard error, the best first.
    `preparation` holds options of `prepare` for data that are not prepared yet: then features are
    chosen and scaled without the fold that is held out. Where that was done by all rows before,
    the folds have seen each other to that extent. With a Dask `client` its workers try the
    settings, each on each fold; the rows are the same.
    """
    strange = sorted(set(grid) - set(GRID_NAMES))
    if strange:
        raise InputError(f"{strange[0]!r} in the grid; expected {', '.join(GRID_NAMES)}")
    if count < 2 or count > len(data):
        raise InputError(f"{count} folds of {len(data)} rows; expected 2 to {len(data)}")
    loss, options = loss or LossOptions(), options or SolveOptions()
    settings = [
        dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())
    ]
    shown = data if preparation is None else prepare(data, **preparation)
    plans = [_Plan.of(shown, {"bits": bits, **setting}, loss, options) for setting in settings]
    needed = max((plan.loss.degree for plan in plans if not plan.over_margins), default=1)
    parts = _Folds.of(folds(data, count, seed=seed), needed, preparation)
    trials = [(plan, number) for number in range(count) for plan in plans]
    if client is not None:
        from qcompile.moments.dask import in_order

        found = list(in_order(client, _trial, trials, parts, l0, options, progress=progress))
    else:
        found = []
        for number in range(count):
            fold = parts.without(number)
            for plan in plans:
                found.append(_fold_error(plan, fold, l0, options))
                if progress is not None:
                    progress(len(found), len(trials))
    rows = [
        {
            **{name.rstrip("_"): value for name, value in setting.items()},
            "validation error": float(np.mean(errors)),
            "standard error": float(np.std(errors, ddof=1) / np.sqrt(count)),
        }
        for setting, errors in zip(
            settings, np.array(found).reshape(count, len(settings)).T, strict=True
        )
    ]
    return sorted(rows, key=lambda row: float(row["validation error"]))


@dataclass(frozen=True)
class _Plan:
    """One setting of a grid: the loss, the bits, and in which space it is annealed."""

    loss: LossOptions
    bits: int
    over_margins: bool

    @classmethod
    def of(
        cls, data: Dataset, setting: Mapping[str, Any], loss: LossOptions, options: SolveOptions
    ) -> _Plan:
        bits = int(setting["bits"])
        own = {name: value for name, value in setting.items() if name != "bits"}
        chosen = replace(loss, **own)
        return cls(chosen, bits, _goes_over_margins(data, bits, chosen.degree, options))


@dataclass(frozen=True, eq=False)
class _Fold:
    """All rows but those of a fold, their moments, and the fold that is held out."""

    rows: Dataset
    moments: Moments
    held: Dataset


@dataclass(frozen=True, eq=False)
class _Folds:
    """The folds; where they are prepared alike, what is left without one is a difference."""

    parts: tuple[Dataset, ...]
    degree: int
    preparation: Mapping[str, Any] | None
    pieces: tuple[Moments, ...] = ()
    total: Moments | None = None

    @classmethod
    def of(
        cls, parts: tuple[Dataset, ...], degree: int, preparation: Mapping[str, Any] | None
    ) -> _Folds:
        if preparation is not None and _learns_from_rows(preparation):
            return cls(parts, degree, preparation)
        if preparation is not None:
            parts = tuple(prepare(part, **preparation) for part in parts)
        pieces = tuple(moments_of(part, degree, fit=True) for part in parts)
        return cls(parts, degree, None, pieces, sum(pieces[1:], pieces[0]))

    def without(self, number: int) -> _Fold:
        """Give what is left without a fold."""
        held = self.parts[number]
        rows = _joined([part for i, part in enumerate(self.parts) if i != number])
        if self.total is not None:
            return _Fold(rows, self.total - self.pieces[number], held)
        assert self.preparation is not None
        rows = prepare(rows, **self.preparation)
        moments = moments_of(rows, self.degree, fit=True)
        return _Fold(rows, moments, prepare(held, like=rows))


def _learns_from_rows(preparation: Mapping[str, Any]) -> bool:
    """Say whether other rows would have been prepared otherwise."""
    return preparation.get("features") is not None or preparation.get("scale") in (
        "standard",
        "max-abs",
    )


def _trial(trial: tuple[_Plan, int], parts: _Folds, l0: float, options: SolveOptions) -> float:
    plan, number = trial
    return _fold_error(plan, parts.without(number), l0, options)


def _fold_error(plan: _Plan, fold: _Fold, l0: float, options: SolveOptions) -> float:
    """Train on all folds but one and give the error on that one."""
    moments = fold.moments
    if not plan.over_margins:
        moments = _lower(moments, plan.loss.degree)
    task = _Task(fold.rows, moments, plan.bits, l0, plan.over_margins, options)
    fitted = fit_loss_with(moments, plan.loss)
    found, problem, _ = _lowest(task, fitted, plan.loss.range_ == "auto", _Clock())
    return float(wrong_answers(fold.held, decode(problem, found).weights[None])[0])


def _joined(parts: Sequence[Dataset]) -> Dataset:
    """Put the rows of folds together."""
    import scipy.sparse as sp

    rows = [part.x for part in parts]
    sparse = any(sp.issparse(x) for x in rows)
    x = sp.csr_array(sp.vstack(rows)) if sparse else np.concatenate(rows)
    return replace(parts[0], x=x, y=frozen(np.concatenate([part.y for part in parts])))


def _lower(moments: Moments, degree: int) -> Moments:
    """Moments of a lower order are among those of a higher one."""
    kept = {key: tensor for key, tensor in moments.tensors.items() if key[0] <= degree}
    return replace(moments, order=degree, tensors=kept)
