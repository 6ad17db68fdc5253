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

from qcompile.artifacts import Dataset, Loss, Moments, Preparation, Pubo, Qubo
from qcompile.errors import FormatError, InputError

if TYPE_CHECKING:
    from qcompile.classifier import Classifier
    from qcompile.embedded import Embedding
    from qcompile.job_folders import Job
    from qcompile.pipeline import Compiled
    from qcompile.samples import Samples
    from qcompile.train import Trained

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
_SAME = 1e-6


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
    return _checked(_loaded(_title(names), found))


def _title(names: Sequence[str]) -> str:
    return Path(names[0]).resolve().name if len(names) == 1 else "run"


def _job(name: str, jobs: str | None) -> Job:
    from qcompile.job_folders import load_job

    if not Path(name).exists() and Path(name).suffix in _ENDINGS:
        raise InputError(f"{name}: no such file")
    return load_job(name, jobs)


def _artifacts(place: Path) -> Iterable[tuple[str, Path]]:
    """Tell what is there; in a folder, files of other kinds are passed over."""
    from qcompile.files import kind_of

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
    from qcompile.classifier import load_classifier
    from qcompile.embedding_files import load_embedding
    from qcompile.files import load_loss, load_moments, load_pubo
    from qcompile.qubo_files import load_qubo
    from qcompile.samples import load_samples

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


def _checked(run: Run) -> Run:
    """Insist that the artifacts belong together, and add what follows from them."""
    from qcompile.classifier import decode
    from qcompile.embedded import check_embedding

    if run.pubo is not None and run.qubo is not None and run.pubo.variables != run.qubo.logical:
        raise InputError(
            f"a polynomial of {run.pubo.variables} bits and a QUBO of {run.qubo.logical}: they are "
            "of different problems"
        )
    if run.embedding is not None and run.qubo is not None:
        check_embedding(run.embedding, run.qubo)
    elif run.embedding is not None:
        _check_qubits(run.embedding)
    if run.samples is not None and not np.isfinite(run.samples.energies).all():
        raise InputError("samples with energies too large for a number: nothing can be drawn")
    problem, classifier = run.problem, run.classifier
    if problem is not None and problem.encoding is not None:
        features = problem.encoding.features
        if classifier is not None and len(classifier.weights) != features:
            raise InputError(
                f"a model of {len(classifier.weights)} weights and a problem of {features}: they "
                "are of different runs"
            )
        if classifier is None and run.samples is not None and problem.preparation is not None:
            run = replace(run, classifier=decode(problem, run.samples))
    if run.loss is None and problem is not None:
        run = replace(run, loss=problem.loss)
    return run


def _check_qubits(embedding: Embedding) -> None:
    """Insist on qubits that the machine has: chains alone say no more."""
    working = set(embedding.machine.nodes.tolist())
    for variable, chain in enumerate(embedding.chains):
        strange = next((q for q in chain if q not in working), None)
        if strange is not None:
            raise InputError(
                f"variable {variable} uses qubit {strange}, which does not work on machine "
                f"{embedding.machine.name}: embed again"
            )


def job_run(job: Job, samples: Samples | None = None, classifier: Classifier | None = None) -> Run:
    """Give the run of a job: its problem, the chains it was sent with, and what was answered."""
    from qcompile.classifier import load_classifier
    from qcompile.samples import load_samples

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
    return _checked(run)


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

    They are if the lowest state has the same objective on the rows as it has energy. Otherwise
    all rows that were given (`every`) are used, and for the confusion matrix only.
    """
    found = _risks(run, compiled_from)
    if found:
        return replace(run, parts=(*run.parts, ("training rows", compiled_from)), risks=found)
    reason = "the very rows it was compiled from, with its problem and samples"
    known = {**run.reasons, "risks": reason}
    return replace(run, parts=(*run.parts, ("the data given", every())), reasons=known)


def with_test(run: Run, rows: Dataset) -> Run:
    """Add rows that took no part in the training."""
    return replace(run, parts=(*run.parts, ("test rows", rows)))


def _risks(run: Run, rows: Dataset) -> tuple[Mapping[str, Any], ...]:
    """Say where accuracy is lost on these rows; nothing if they are not those of the problem."""
    from qcompile.moments import moments_of
    from qcompile.train import risks

    problem, samples, loss = run.problem, run.samples, run.loss
    if problem is None or samples is None or loss is None or run.classifier is None:
        return ()
    moments = moments_of(rows, loss.order if loss.order <= 3 else 1)
    found = tuple(risks(rows, moments, loss, problem, samples, run.classifier))
    lowest = next(row for row in found if row["classifier"] == "lowest state found")
    weights = problem.decode(samples.best)
    expected = float(lowest["objective"]) + problem.l0 * int((weights != 0).sum())
    energy = float(samples.energies.min())
    near = _SAME * max(1.0, abs(energy)) + problem.dropped
    return found if abs(expected - energy) <= near else ()
