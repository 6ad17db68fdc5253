"""What there is of a run: its artifacts from a folder, from files, or from a job of `submit`.

Every file is taken for what it holds, whatever its name. Artifacts that do not belong together
are refused: a page that mixes two problems would be worse than none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qcompile.errors import FormatError, InputError
from qcompile.objective.discretize import discretize, most_terms
from qcompile.stages.artifacts import Dataset, Floats, Loss, Moments, Preparation, Pubo, Qubo

if TYPE_CHECKING:
    from qcompile.leap.jobs import Job
    from qcompile.pipeline import Compiled
    from qcompile.stages.classifier import Classifier
    from qcompile.stages.embedded import Embedding
    from qcompile.stages.samples import Samples
    from qcompile.training.train import Trained

__all__ = ["Run", "compiled_run", "gather", "job_run", "trained_run", "with_data", "with_test"]

_ENDINGS = (".json", ".npz")
_KINDS = {
    "qcompile.moments": "moments",
    "qcompile.loss": "loss",
    "qcompile.pubo": "pubo",
    "qcompile.qubo": "qubo",
    "BinaryQuadraticModel": "qubo",
    "qcompile.embedding": "embedding",
    "SampleSet": "samples",
    "qcompile.model": "model",
}
# An objective is a sum over rows in another order than the energy of the bits.
_SAME, _ROUNDING = 1e-6, 1e-11
_STATES = 8
# Dropped terms that may change energies by more of their spread than this tell nothing.
_MOST_DROPPED = 0.1
_LARGEST = 1e150  # what can still be squared, and drawn
_MOST_TERMS = 2_000_000


@dataclass(frozen=True, eq=False)
class Run:
    """What there is of a run; any of it may be missing.

    `parts` are rows with known labels, prepared as in training, by what they are. `risks` say
    where accuracy is lost. `told` are facts in words, `reasons` why a section cannot be shown.
    """

    name: str
    moments: Moments | None = None
    loss: Loss | None = None
    pubo: Pubo | None = None
    qubo: Qubo | None = None
    embedding: Embedding | None = None
    samples: Samples | None = None
    classifier: Classifier | None = None
    parts: tuple[tuple[str, Dataset], ...] = ()
    risks: tuple[Mapping[str, Any], ...] = ()
    told: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def problem(self) -> Pubo | Qubo | None:
        """The problem that was solved, as far down as it is known."""
        return self.qubo if self.qubo is not None else self.pubo

    @property
    def origin(self) -> Pubo | Qubo | Classifier | None:
        """What knows how the data were prepared."""
        known = (self.problem, self.classifier)
        return next((x for x in known if x is not None and x.preparation is not None), None)

    @property
    def preparation(self) -> Preparation | None:
        """What was done to the raw rows."""
        return None if self.origin is None else self.origin.preparation

    @property
    def source(self) -> Mapping[str, Any]:
        """Where the data come from."""
        known: Iterable[Any] = (self.problem, self.classifier, self.moments)
        return next((x.source for x in known if x is not None and x.source), {})


def gather(names: Sequence[str], *, jobs: str | None = None) -> Run:
    """Read a run: a folder, one or more files, or a job by its id or folder."""
    if not all(names):
        raise InputError("an empty name; expected a file, a folder or a job")
    if len(names) == 1:
        place = Path(names[0])
        if (place / "job.json").is_file() or not place.exists():
            return job_run(_job(names[0], jobs))
    found: dict[str, Path] = {}
    for name in names:
        for kind, path in _artifacts(Path(name)):
            if kind in found:
                raise InputError(
                    f"{found[kind]} and {path}: two files that hold a {kind}; expected one of a "
                    "kind: name the files that belong together"
                )
            found[kind] = path
    if not found:
        raise InputError(
            f"{names[0]}: nothing of a run in it; expected a qubo, pubo, embedding, samples or "
            "model file of qcompile, or a folder of them"
        )
    return _checked(_loaded(_title(names), found), {k: str(path) for k, path in found.items()})


def _title(names: Sequence[str]) -> str:
    return Path(names[0]).resolve().name if len(names) == 1 else "run"


def _job(name: str, jobs: str | None) -> Job:
    from qcompile.leap.jobs import load_job

    if not Path(name).exists() and Path(name).suffix in _ENDINGS:
        raise InputError(f"{name}: no such file")
    return load_job(name, jobs)


def _artifacts(place: Path) -> Iterable[tuple[str, Path]]:
    """Tell what is there; in a folder, files of other kinds are passed over."""
    from qcompile.files.storage import kind_of

    if not place.exists():
        raise InputError(f"{place}: no such file or folder")
    if not place.is_dir():
        kind = kind_of(place)
        if kind not in _KINDS:
            raise InputError(f"{place}: holds {kind!r}; expected {', '.join(_KINDS)}")
        yield _KINDS[kind], place
        return
    for path in sorted(p for p in place.iterdir() if p.suffix.lower() in _ENDINGS and p.is_file()):
        try:
            kind = kind_of(path)
        except FormatError:
            continue
        if kind in _KINDS:
            yield _KINDS[kind], path


def _loaded(title: str, found: Mapping[str, Path]) -> Run:
    from qcompile.files.embedding import load_embedding
    from qcompile.files.qubo import load_qubo
    from qcompile.files.storage import load_loss, load_moments, load_pubo
    from qcompile.stages.classifier import load_classifier
    from qcompile.stages.samples import load_samples

    readers: dict[str, Callable[[Path], Any]] = {
        "moments": load_moments,
        "loss": load_loss,
        "pubo": load_pubo,
        "qubo": lambda path: load_qubo(path)[0],
        "embedding": load_embedding,
        "model": load_classifier,
    }
    held = {kind: read(found[kind]) for kind, read in readers.items() if kind in found}
    held["classifier"] = held.pop("model", None)
    run = Run(title, **held)
    if "samples" not in found:
        return run
    if run.problem is None:
        reason = "the problem that the samples are of (qubo.json or pubo.json)"
        return replace(run, reasons={"energies": reason})
    return replace(run, samples=load_samples(found["samples"], run.problem))


def _checked(run: Run, names: Mapping[str, str]) -> Run:
    """Insist that the artifacts belong together, and add what follows from them."""
    from qcompile.stages.classifier import decode

    _check_polynomials(run, names)
    _check_chains(run, names)
    _check_sizes(run, names)
    problem, classifier = run.problem, run.classifier
    if problem is not None:
        _check_loss(run, problem, names)
        _check_moments(run, problem, names)
        _check_model(run, problem, names)
        known = problem.encoding is not None and problem.preparation is not None
        if known and classifier is None and run.samples is not None:
            run = replace(run, classifier=decode(problem, run.samples))
    if run.loss is None and problem is not None:
        run = replace(run, loss=problem.loss)
    return run


def _foreign(names: Mapping[str, str], kind: str, why: str) -> InputError:
    problem = names.get("qubo", names.get("pubo", "the problem"))
    return InputError(
        f"{names.get(kind, kind)}: {why}: it is of another run than {problem}; name the files that "
        "belong together"
    )


def _check_polynomials(run: Run, names: Mapping[str, str]) -> None:
    pubo, qubo = run.pubo, run.qubo
    if pubo is None or qubo is None:
        return
    if pubo.variables != qubo.logical:
        why = f"a polynomial of {pubo.variables} bits, not {qubo.logical}"
        raise _foreign(names, "pubo", why)
    states = _some_states(qubo)
    if not _same(pubo.energies(states), qubo.score(states)):
        raise _foreign(names, "pubo", "a polynomial with other energies")


def _some_states(problem: Pubo | Qubo) -> NDArray[np.int8]:
    """Give a few random states, the same each time; no single one would do, least of all 0."""
    bits = problem.logical if isinstance(problem, Qubo) else problem.variables
    rng = np.random.default_rng(0)
    states = rng.integers(0, 2, (_STATES, bits), dtype=np.int8)
    return np.concatenate([states, np.zeros((1, bits), np.int8), np.ones((1, bits), np.int8)])


def _same(one: Floats, two: Floats, room: float = 0.0) -> bool:
    """Say whether energies are the same, against how far they are apart from each other."""
    size, spread = float(np.abs(two).max()), float(two.max() - two.min())
    return bool(np.abs(one - two).max() <= _SAME * spread + _ROUNDING * size + room)


def _check_chains(run: Run, names: Mapping[str, str]) -> None:
    """Insist on chains of this problem; of chains alone, that they are chains."""
    from qcompile.reduction.quadratize import quadratize
    from qcompile.stages.embedded import check_embedding, problem_id

    if run.embedding is None:
        return
    embedding, qubo = run.embedding, run.qubo
    if qubo is None:  # as if no variables met: chains must still be whole and apart
        qubo = quadratize(Pubo.from_dict({}, variables=len(embedding.chains)))
        embedding = replace(embedding, problem=problem_id(qubo))
    try:
        check_embedding(embedding, qubo)
    except InputError as error:
        raise InputError(f"{names.get('embedding', 'the embedding')}: {error}") from None


def _check_sizes(run: Run, names: Mapping[str, str]) -> None:
    """Refuse numbers that nothing can be drawn of."""
    numbers: dict[str, Any] = {}
    if run.samples is not None:
        numbers["samples"] = run.samples.energies
    if run.classifier is not None:
        numbers["model"] = run.classifier.weights
    for kind, values in numbers.items():
        if not (np.abs(values) <= _LARGEST).all():
            what = "energies" if kind == "samples" else "weights"
            raise InputError(
                f"{names.get(kind, kind)}: {what} beyond {_LARGEST:g}: nothing can be drawn"
            )


def _check_loss(run: Run, problem: Pubo | Qubo, names: Mapping[str, str]) -> None:
    one, two = run.loss, problem.loss
    if one is None or two is None:
        return
    mine, theirs = ((*loss.coefficients, loss.zeta, loss.l2) for loss in (one, two))
    if len(mine) != len(theirs) or not np.allclose(mine, theirs, rtol=1e-9, atol=0):
        raise _foreign(names, "loss", "a loss with other coefficients or another range")


def _check_moments(run: Run, problem: Pubo | Qubo, names: Mapping[str, str]) -> None:
    moments = run.moments
    if moments is None:
        return
    rows = _rows_of(problem, moments.count)
    if rows != moments.count:
        raise _foreign(names, "moments", f"moments of {moments.count} rows, not {rows}")
    prepared = (moments.preparation, problem.preparation)
    if None not in prepared and not _alike(*prepared):
        raise _foreign(names, "moments", "moments of data that were prepared differently")
    loss, encoding = problem.loss, problem.encoding
    if loss is None or encoding is None or not _has_terms(problem):
        return
    if moments.features != encoding.features:
        why = f"moments of {moments.features} features, not {encoding.features}"
        raise _foreign(names, "moments", why)
    size = sum(most_terms(encoding.variables, loss.order))
    if moments.order >= loss.order and size <= _MOST_TERMS:
        states = _some_states(problem)
        made = discretize(moments, loss, l0=problem.l0, encoding=encoding)
        if not _same(made.energies(states), _score(problem, states), problem.dropped):
            raise _foreign(names, "moments", "moments of other rows")


def _rows_of(problem: Pubo | Qubo, unless: int) -> int:
    """Give of how many rows a problem says that it was compiled from."""
    told = problem.source.get("rows")
    return told if isinstance(told, int) and not isinstance(told, bool) else unless


def _has_terms(problem: Pubo | Qubo) -> bool:
    """Say whether the problem was written out: one annealed over the margins was not."""
    return isinstance(problem, Qubo) or problem.num_terms > 0


def _score(problem: Pubo | Qubo, states: NDArray[np.int8]) -> Floats:
    return problem.score(states) if isinstance(problem, Qubo) else problem.energies(states)


def _alike(one: Preparation | None, two: Preparation | None) -> bool:
    assert one is not None and two is not None
    return one.to_dict() == two.to_dict()


def _check_model(run: Run, problem: Pubo | Qubo, names: Mapping[str, str]) -> None:
    model, encoding = run.classifier, problem.encoding
    if model is None:
        return
    if encoding is None or problem.preparation is None:
        raise _foreign(names, "model", "a model, but the problem encodes none")
    if len(model.weights) != encoding.features:
        why = f"a model of {len(model.weights)} weights, not {encoding.features}"
        raise _foreign(names, "model", why)
    if not _alike(model.preparation, problem.preparation):
        raise _foreign(names, "model", "a model for data that were prepared differently")
    near = np.clip(model.weights, -2 * encoding.zeta, 2 * encoding.zeta)
    level = encoding.decode(encoding.encode(near))
    if not np.abs(level - model.weights).max() <= _SAME * encoding.step:
        raise _foreign(names, "model", "a model with weights that the problem cannot say")
    told = model.source.get("loss")
    if isinstance(told, list) and problem.loss is not None:
        own = list(problem.loss.coefficients)
        numbers = all(isinstance(a, int | float) for a in told) and len(told) == len(own)
        if not (numbers and np.allclose(told, own, rtol=_SAME, atol=0)):
            raise _foreign(names, "model", "a model of another loss")


def job_run(job: Job, samples: Samples | None = None, classifier: Classifier | None = None) -> Run:
    """Give the run of a job: its problem, the chains it was sent with, and what was answered."""
    from qcompile.stages.classifier import load_classifier
    from qcompile.stages.samples import load_samples

    problem = job.problem()
    sent = (job.folder / job.state(job.parts[0]).embedding).is_file()
    if samples is None and (job.folder / "samples.json").is_file():
        samples = load_samples(job.folder / "samples.json", problem)
    if classifier is None and (job.folder / "model.json").is_file():
        classifier = load_classifier(job.folder / "model.json")
    run = Run(
        job.label,
        pubo=problem if isinstance(problem, Pubo) else None,
        qubo=problem if isinstance(problem, Qubo) else None,
        embedding=job.embedding(job.parts[0]) if sent else None,
        samples=samples,
        classifier=classifier,
        told={"job": job.id, "solver": str(job.solver.get("name")), "stage": job.stage},
        reasons={} if samples is not None else {"energies": "the machine's answer"},
    )
    return _checked(run, {"model": str(job.folder / "model.json"), "qubo": f"job {job.id}"})


def compiled_run(compiled: Compiled) -> Run:
    """Give the run of a compilation, the QUBO made if it is not yet."""
    moments = compiled.moments
    return Run(
        str(moments.source.get("name", "data")),
        moments=moments,
        loss=compiled.loss,
        pubo=compiled.pubo,
        qubo=compiled.qubo,
        notes=compiled.loss.notes,
    )


def trained_run(trained: Trained, parts: Mapping[str, Dataset | None]) -> Run:
    """Give the run of a training with the rows of its parts."""
    problem = trained.problem
    return Run(
        str(trained.classifier.source.get("name", "data")),
        loss=trained.loss,
        pubo=problem if isinstance(problem, Pubo) else None,
        qubo=problem if isinstance(problem, Qubo) else None,
        samples=trained.samples,
        classifier=trained.classifier,
        parts=tuple((name, rows) for name, rows in parts.items() if rows is not None),
        risks=trained.risks,
        notes=trained.notes,
    )


def with_data(run: Run, compiled_from: Dataset, every: Callable[[], Dataset]) -> Run:
    """Add data: where they are what the problem was compiled from, also where accuracy is lost.

    They are if there are as many rows, and if several states have the same objective on them as
    they have energy. Otherwise all rows that were given (`every`) are used, and for the confusion
    matrix only.
    """
    found = _risks(run, compiled_from)
    if found:
        return replace(run, parts=(*run.parts, ("training rows", compiled_from)), risks=found)
    reason = "the very rows it was compiled from, with its problem and samples"
    if (
        run.problem is not None
        and run.samples is not None
        and _hides_rows(run.problem, run.samples)
    ):
        reason = "a problem compiled with a smaller --threshold: this one could be of other rows"
    known = {**run.reasons, "risks": reason}
    return replace(run, parts=(*run.parts, ("the data given", every())), reasons=known)


def with_test(run: Run, rows: Dataset) -> Run:
    """Add rows that took no part in the training."""
    return replace(run, parts=(*run.parts, ("test rows", rows)))


def _risks(run: Run, rows: Dataset) -> tuple[Mapping[str, Any], ...]:
    """Say where accuracy is lost on these rows; nothing if they are not those of the problem."""
    from qcompile.moments.accumulate import moments_of
    from qcompile.training.train import risks

    problem, samples, loss = run.problem, run.samples, run.loss
    if problem is None or samples is None or loss is None or run.classifier is None:
        return ()
    if problem.encoding is None or not _are_rows_of(problem, samples, loss, rows):
        return ()
    moments = moments_of(rows, loss.order if loss.order <= 3 else 1)
    return tuple(risks(rows, moments, loss, problem, samples, run.classifier))


def _are_rows_of(problem: Pubo | Qubo, samples: Samples, loss: Loss, rows: Dataset) -> bool:
    """Compare the objective on the rows with energies of several states."""
    if len(rows) != _rows_of(problem, len(rows)) or _hides_rows(problem, samples):
        return False
    states, energies = _checked_states(problem, samples)
    weights = problem.decode(states)
    if not weights.any():  # that is the same on all data
        return False
    losses = [float(np.mean(loss(rows.margins(w)))) for w in weights]
    squares = loss.l2 / 2 * np.einsum("ij,ij->i", weights, weights)
    expected = np.array(losses) + squares + problem.l0 * np.count_nonzero(weights, axis=1)
    return _same(expected, energies, problem.dropped)


def _hides_rows(problem: Pubo | Qubo, samples: Samples) -> bool:
    """Say whether so much was dropped that other rows could have the same energies."""
    if not problem.dropped or problem.encoding is None:
        return False
    _, energies = _checked_states(problem, samples)
    return problem.dropped > _MOST_DROPPED * float(energies.max() - energies.min())


def _checked_states(problem: Pubo | Qubo, samples: Samples) -> tuple[NDArray[np.int8], Floats]:
    """Give states with their energies: random ones, or the lowest where there is no polynomial."""
    encoding = problem.encoding
    assert encoding is not None
    if not _has_terms(problem):
        order = np.argsort(samples.energies, kind="stable")[:_STATES]
        return samples.bits[order], samples.energies[order]
    states = _some_states(problem)
    count = states.shape[1] - encoding.variables
    if count:  # what charges a weight that is not 0 must be on just where it is due
        states[:, encoding.variables :] = encoding.decode(states) != 0
    return states, _score(problem, states)
