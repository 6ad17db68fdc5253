"""The whole way: data -> moments -> loss -> polynomial -> samples -> classifier, with an account.

Cross-validation takes the moments of each fold once; every training set is the sum of the other
folds' moments, so that the data are read once whatever the number of settings tried.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qcompile.anneal import anneal_examples
from qcompile.artifacts import Dataset, Encoding, Floats, Loss, Moments, Pubo, Qubo, frozen
from qcompile.classifier import Classifier, decode, wrong_answers
from qcompile.data import folds, split
from qcompile.discretize import discretize, most_terms
from qcompile.errors import InputError
from qcompile.moments import moments_of
from qcompile.passes import passing
from qcompile.pipeline import LossOptions, fit_loss_with, needs_fit
from qcompile.quadratize import quadratize
from qcompile.samples import Samples, samples_of
from qcompile.solve import solve
from qcompile.weight_range import Cubic, warnings_for

__all__ = ["GRID_NAMES", "SolveOptions", "Trained", "cross_validate", "risks", "train"]

GRID_NAMES = ("order", "bits", "omega", "l2", "range_")
_CONTINUOUS_FEATURES = 400
_BITS = 4
# A read over the examples takes longer and starts better: so many times fewer are made.
_READS_PER_EXAMPLE_READ = 5


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
    """A classifier and how it came about: stages with times and sizes, risks along the way."""

    classifier: Classifier
    loss: Loss
    problem: Pubo | Qubo
    samples: Samples
    stages: tuple[Mapping[str, Any], ...]
    risks: tuple[Mapping[str, Any], ...]
    errors: Mapping[str, float]
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
    seed: int = 0,
    progress: Callable[[int, int | None], None] | None = None,
    client: Any = None,
) -> Trained:
    """Train a classifier on prepared data.

    `validation` and `test` are data sets prepared in the same way, or shares of `data` to set
    aside. With validation data the best of the lowest samples is chosen by them. With a Dask
    `client` its workers make the annealer's restarts.

    >>> from qcompile import prepare, read
    >>> data = prepare(read("breast-cancer"), scale="standard", features=5)
    >>> found = train(data, bits=2, test=0.3, seed=1)
    >>> found.errors["test"] < 0.15
    True
    """
    loss, options = loss or LossOptions(), options or SolveOptions()
    rows, checked, tested = _set_aside(data, validation, test, seed)
    clock = _Clock()
    on_examples = _goes_over_margins(rows, bits, loss.degree, options)
    degree = 1 if on_examples and loss.degree % 2 == 0 else loss.degree
    with passing("moments"):
        moments = moments_of(rows, degree, fit=needs_fit(loss))
    clock.stage("moments", f"{len(rows):,} rows, {rows.features:,} features")
    with passing("fit loss"):
        fitted = fit_loss_with(moments, loss)
    clock.stage("loss", f"order {fitted.order}, range {fitted.range_:.3g}")
    problem: Pubo | Qubo
    if on_examples:
        with passing("anneal over the margins"):
            samples, problem = _over_margins(
                rows, moments, fitted, bits, l0, options, progress, client
            )
        clock.stage("anneal", f"over the margins, {len(samples)} states")
    else:
        samples, problem = _search(moments, fitted, bits, l0, options, clock, progress, client)
    with passing("decode"):
        classifier = decode(problem, samples, validation=checked)
    clock.stage("decode", f"rank {classifier.source['rank']} of {len(samples)}")
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


def _set_aside(
    data: Dataset, validation: Dataset | float, test: Dataset | float, seed: int
) -> tuple[Dataset, Dataset | None, Dataset | None]:
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


def _search(
    moments: Moments,
    loss: Loss,
    bits: int,
    l0: float,
    options: SolveOptions,
    clock: _Clock,
    progress: Callable[[int, int | None], None] | None,
    client: Any = None,
) -> tuple[Samples, Pubo | Qubo]:
    """Find low states of the polynomial of bits."""
    with passing("discretize"):
        pubo = discretize(moments, loss, bits, l0=l0)
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
    rows: Dataset,
    moments: Moments,
    loss: Loss,
    bits: int,
    l0: float,
    options: SolveOptions,
    progress: Callable[[int, int | None], None] | None,
    client: Any = None,
) -> tuple[Samples, Pubo]:
    """Find low states over the margins where the polynomial would be too large.

    The problem given back is empty but for its encoding: enough to decode.
    """
    encoding = Encoding(moments.features, bits, loss.zeta)
    weights = anneal_examples(
        rows,
        loss,
        encoding,
        l0=l0,
        reads=max(1, options.reads // _READS_PER_EXAMPLE_READ),
        sweeps=options.sweeps,
        keep=options.keep,
        seed=options.seed,
        progress=progress,
        client=client,
    )
    energies = [_objective(rows, loss, w) + l0 * np.count_nonzero(w) for w in weights]
    problem = Pubo(
        variables=encoding.variables,
        constant=0.0,
        indices=(),
        coefficients=(),
        encoding=encoding,
        loss=loss,
        l0=l0,
        preparation=moments.preparation,
        source=moments.source,
    )
    info = {"solver": "anneal", "space": "margins", "seed": options.seed}
    samples = samples_of(problem, encoding.encode(weights), info=info)
    return replace(samples, energies=frozen(energies)), problem


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
        return {"classifier": name, "objective": value, "0-1 risk": rows.error(weights)}

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
    progress: Callable[[int, int | None], None] | None = None,
    client: Any = None,
) -> list[dict[str, Any]]:
    """Try all settings of a grid over orders, bits, omega, l2 and range on k folds.

    Gives a row a setting with the mean validation error and its standard error, the best first.
    The data are as they are prepared: where features were chosen or scaled by all rows, the folds
    have seen each other to that extent. With a Dask `client` its workers try the settings, each on
    each fold; the rows are the same.
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
    parts = folds(data, count, seed=seed)
    plans = [_Plan.of(data, {"bits": bits, **setting}, loss, options) for setting in settings]
    needed = [plan.loss.degree for plan in plans if not plan.over_margins]
    pieces = [moments_of(part, max(needed, default=1), fit=True) for part in parts]
    trials = [(plan, number) for plan in plans for number in range(count)]
    shared = (parts, pieces, sum(pieces[1:], pieces[0]), l0, options)
    if client is not None:
        from qcompile.distributed import in_order

        found = list(in_order(client, _fold_error, trials, *shared, progress=progress))
    else:
        found = []
        for trial in trials:
            found.append(_fold_error(trial, *shared))
            if progress is not None:
                progress(len(found), len(trials))
    rows = [
        {
            **{name.rstrip("_"): value for name, value in setting.items()},
            "validation error": float(np.mean(errors)),
            "standard error": float(np.std(errors, ddof=1) / np.sqrt(count)),
        }
        for setting, errors in zip(
            settings, np.array(found).reshape(len(settings), count), strict=True
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


def _fold_error(
    trial: tuple[_Plan, int],
    parts: Sequence[Dataset],
    pieces: Sequence[Moments],
    total: Moments,
    l0: float,
    options: SolveOptions,
) -> float:
    """Train on all folds but one and give the error on that one."""
    plan, number = trial
    moments = total - pieces[number]
    if plan.over_margins:
        rows = _joined([part for i, part in enumerate(parts) if i != number])
        fitted = fit_loss_with(moments, plan.loss)
        found, problem = _over_margins(rows, moments, fitted, plan.bits, l0, options, None)
    else:
        moments = _lower(moments, plan.loss.degree)
        fitted = fit_loss_with(moments, plan.loss)
        problem = discretize(moments, fitted, plan.bits, l0=l0)
        found = solve(problem, **vars(options))
    return float(wrong_answers(parts[number], decode(problem, found).weights[None])[0])


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
