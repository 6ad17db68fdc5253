"""Collect the artifacts of a run: from a folder, from files, or from a job of `submit`.

The kind of a file is read from its content, not from its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qcompile.errors import FormatError, InputError
from qcompile.files.classifier import load_classifier
from qcompile.files.embedding import load_embeddings
from qcompile.files.guarded import kind_of
from qcompile.files.loss import load_loss
from qcompile.files.moments import load_moments
from qcompile.files.pubo import load_pubo
from qcompile.files.qubo import load_qubo
from qcompile.files.samples import load_samples
from qcompile.leap.job_store import load_job
from qcompile.moments.accumulate import moments_of
from qcompile.report.consistency import are_rows_of, checked, hides_rows
from qcompile.report.result_figures import trace_of_training
from qcompile.report.run import Run
from qcompile.report.step_risks import are_rows_of_step, step_risks
from qcompile.stages.dataset import Dataset
from qcompile.stages.problem import Problem
from qcompile.stages.qubo import Qubo
from qcompile.training.risks import Risk, risks

if TYPE_CHECKING:
    from qcompile.leap.job import Job
    from qcompile.pipeline import Compiled
    from qcompile.stages.classifier import Classifier
    from qcompile.stages.samples import Samples
    from qcompile.training.train import Trained

__all__ = ["compiled_run", "gather", "job_run", "trained_run", "with_data", "with_test"]


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
    return checked(_loaded(_title(names), found), {k: str(path) for k, path in found.items()})


def _title(names: Sequence[str]) -> str:
    return Path(names[0]).resolve().name if len(names) == 1 else "run"


def _job(name: str, jobs: str | None) -> Job:
    if not Path(name).exists() and Path(name).suffix in _ENDINGS:
        raise InputError(f"{name}: no such file")
    return load_job(name, jobs)


def _artifacts(place: Path) -> Iterable[tuple[str, Path]]:
    """Yield kind and path of each artifact; other files of a folder are skipped."""
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
    readers: dict[str, Callable[[Path], Any]] = {
        "moments": load_moments,
        "loss": load_loss,
        "pubo": load_pubo,
        "qubo": lambda path: load_qubo(path)[0],
        "embedding": load_embeddings,
        "model": load_classifier,
    }
    held = {kind: read(found[kind]) for kind, read in readers.items() if kind in found}
    held["classifier"] = held.pop("model", None)
    chains = held.pop("embedding", ())
    if chains:
        held |= {"embedding": chains[0], "copies": chains if len(chains) > 1 else ()}
    run = Run(title, **held)
    if "samples" not in found:
        return run
    if run.problem is None:
        reason = "the problem that the samples are of (qubo.json or pubo.json)"
        return replace(run, reasons={"energies": reason})
    return replace(run, samples=load_samples(found["samples"], run.problem))


def job_run(job: Job, samples: Samples | None = None, classifier: Classifier | None = None) -> Run:
    """Return the run of a job: its problem, the chains it was sent with, and the answer."""
    problem = job.problem()
    sent = (job.folder / job.state(job.parts[0]).embedding).is_file()
    copies = job.embeddings(job.parts[0]) if sent else ()
    if samples is None and (job.folder / "samples.json").is_file():
        samples = load_samples(job.file("samples.json"), problem)
    if classifier is None and (job.folder / "model.json").is_file():
        classifier = load_classifier(job.file("model.json"))
    run = Run(
        job.label,
        **_held(problem),
        embedding=copies[0] if copies else None,
        copies=copies if len(copies) > 1 else (),
        samples=samples,
        classifier=classifier,
        told={"job": job.id, "solver": job.solver.name, "stage": job.stage},
        made={"date": job.created},
        reasons={} if samples is not None else {"energies": "the machine's answer"},
    )
    return checked(run, {"model": str(job.folder / "model.json"), "qubo": f"job {job.id}"})


def _held(problem: Problem) -> dict[str, Any]:
    """Return the problem under the name of its kind."""
    return {"qubo" if isinstance(problem, Qubo) else "pubo": problem}


def compiled_run(compiled: Compiled) -> Run:
    """Return the run of a compilation; make its QUBO if that is not done yet."""
    moments = compiled.moments
    return Run(
        moments.source.name or "data",
        moments=moments,
        loss=compiled.loss,
        pubo=compiled.pubo,
        qubo=compiled.quadratize(),
        notes=compiled.loss.notes,
    )


def trained_run(trained: Trained, parts: Mapping[str, Dataset | None]) -> Run:
    """Return the run of a training with the rows of its parts."""
    problem = trained.problem
    return Run(
        trained.classifier.source.name or "data",
        loss=trained.loss,
        **({} if problem is None else _held(problem)),
        samples=trained.samples,
        classifier=trained.classifier,
        parts=tuple((name, rows) for name, rows in parts.items() if rows is not None),
        risks=trained.risks,
        trace=trace_of_training(trained) if trained.method == "rounds" else None,
        notes=trained.notes,
    )


def with_data(run: Run, compiled_from: Dataset, every: Callable[[], Dataset]) -> Run:
    """Add data for the confusion matrix and, if the problem was compiled from them, the risks.

    It was compiled from them if the numbers of rows agree and the energies of several states equal
    their objectives on the rows, or for a step the polynomial fitted to the rows. If not, all rows
    that were given (`every`) are used, for the confusion matrix only.
    """
    found = _risks(run, compiled_from)
    if found:
        return replace(run, parts=(*run.parts, ("training rows", compiled_from)), risks=found)
    reason = "the very rows it was compiled from, with its problem and samples"
    if run.problem is not None and run.samples is not None and hides_rows(run.problem, run.samples):
        reason = "a problem compiled with a smaller threshold: this one could be of other rows"
    known = {**run.reasons, "risks": reason}
    return replace(run, parts=(*run.parts, ("the data given", every())), reasons=known)


def with_test(run: Run, rows: Dataset) -> Run:
    """Add rows that were not used for training."""
    return replace(run, parts=(*run.parts, ("test rows", rows)))


def _risks(run: Run, rows: Dataset) -> tuple[Risk, ...]:
    """Return the risks on these rows, or nothing if the problem was compiled from other rows."""
    problem, samples, loss = run.problem, run.samples, run.loss
    if problem is None or samples is None or run.classifier is None:
        return ()
    if run.of_step:
        if hides_rows(problem, samples) or not are_rows_of_step(problem, rows):
            return ()
        return tuple(step_risks(problem, samples, run.classifier, rows))
    if loss is None:
        return ()
    if problem.encoding is None or not are_rows_of(problem, samples, loss, rows):
        return ()
    moments = moments_of(rows, loss.order if loss.order <= 3 else 1)
    return tuple(risks(rows, moments, loss, problem, samples, run.classifier))
