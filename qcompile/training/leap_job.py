"""A training on Leap as a job: a folder that holds it before anything is sent.

The folder has the rows, all options, and a folder for each round, which is a job of its own. What
was learnt so far is beside them: the best classifier, and how far the training has come. Both can
be made again from the rounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import orjson

from qcompile.errors import FormatError, InputError, QcompileError
from qcompile.files import atomic, guarded
from qcompile.files.classifier import save_classifier
from qcompile.files.rows import load_rows, save_rows
from qcompile.leap.folder import JOB_ID, JobFolder, digest_of
from qcompile.leap.job import Job
from qcompile.leap.job_store import TRAINING, is_training, job_folders, new_folder, read_job
from qcompile.leap.records import ANSWERED, CANCELLED, DONE, OVER, READY, Solver
from qcompile.solvers.options import SolveOptions
from qcompile.stages.classifier import Classifier
from qcompile.stages.dataset import Dataset
from qcompile.stages.display import many, quoted
from qcompile.stages.record import Record
from qcompile.training.inner import Place
from qcompile.training.leap_cost import TrainingCost
from qcompile.training.rounds import RoundOptions

__all__ = [
    "TrainingJob",
    "TrainingProgress",
    "create_training",
    "is_answered",
    "read_training",
]


@dataclass(frozen=True)
class TrainingProgress(Record):
    """How far a training has come.

    `rounds` are done, `objective` is F of the best weights so far, and `seconds` is the QPU access
    time that the server reported. `ended` says why no more rounds are made. `solver` and `budget`
    are those of the next round: a training may be resumed with others.
    """

    rounds: int = 0
    objective: float | None = None
    seconds: float = 0.0
    ended: str = ""
    solver: str | None = None
    budget: float | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class TrainingJob(JobFolder):
    """A training on a QPU: what was asked for, of which solver, and the folder that keeps it.

    The fields other than `folder` are the content of ``job.json``; they never change. `options` and
    `search` are those of the rounds.
    """

    folder: Path
    id: str
    label: str
    created: str
    solver: Solver
    endpoint: str
    account: str
    chain_strength: float | str
    digests: Mapping[str, str]
    source: str = ""
    profile: str = ""
    region: str = ""
    budget: float | None = None
    options: RoundOptions
    search: SolveOptions
    cost: TrainingCost

    def _line(self) -> str:
        made = many(self.progress.rounds, "round")
        return f"{quoted(self.id)}, {made} on {quoted(self.solver.name)}"

    def _facts(self) -> Mapping[str, object]:
        return {
            "id": self.id,
            "label": self.label,
            "created": self.created,
            "solver": self.solver.name,
            "data": self.source or None,
            **self.progress.to_dict(),
            "folder": self.folder,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the content of job.json as plain values."""
        content = {field.name: getattr(self, field.name) for field in fields(self)}
        del content["folder"]
        limit = self.options.time_limit
        return content | {
            "solver": self.solver.to_dict(),
            "digests": dict(self.digests),
            "options": asdict(self.options) | {"time_limit": None if limit == math.inf else limit},
            "search": {
                "reads": self.search.reads,
                "keep": self.search.keep,
                "seed": self.search.seed,
                "parameters": dict(self.search.parameters or {}),
            },
            "cost": {**self.cost.to_dict(), "notes": list(self.cost.notes)},
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], folder: Path) -> TrainingJob:
        """Return the training that a folder records, or raise FormatError if it is invalid."""
        if not isinstance(values["id"], str) or not JOB_ID.fullmatch(values["id"]):
            raise FormatError("invalid job id")
        budget, strength = values["budget"], values["chain_strength"]
        options = guarded.as_record(values["options"])
        search = guarded.as_record(values["search"])
        limit = math.inf if options["time_limit"] is None else guarded.finite(options["time_limit"])
        return cls(
            folder=folder,
            id=values["id"],
            label=str(values["label"]),
            created=str(values["created"]),
            solver=Solver.from_dict(values["solver"]),
            endpoint=str(values["endpoint"]),
            account=str(values["account"]),
            chain_strength=strength if isinstance(strength, str) else guarded.finite(strength),
            digests=guarded.as_record(values["digests"]),
            source=str(values["source"]),
            profile=str(values["profile"]),
            region=str(values["region"]),
            budget=None if budget is None else guarded.finite(budget),
            options=RoundOptions(**{**options, "time_limit": limit}),
            search=SolveOptions(
                "leap",
                reads=guarded.whole_number(search["reads"]),
                keep=guarded.whole_number(search["keep"]),
                seed=guarded.whole_number(search["seed"]),
                parameters=guarded.as_record(search["parameters"]),
            ),
            cost=TrainingCost.from_dict(guarded.as_record(values["cost"])),
        )

    # --- what it learns from ---------------------------------------------------------------

    def rows(self) -> dict[str, Dataset]:
        """Read the rows by part, or raise FormatError if they are not those of the training."""
        path = self.file("rows.npz")
        self.check_digest(path)
        return load_rows(path)

    # --- how far it has come ---------------------------------------------------------------

    def attempts(self, place: Place) -> list[Job]:
        """Read the jobs of a round, in order: more than one if the first were not answered."""
        found: list[Job] = []
        while (folder := self.folder / "rounds" / _name(place, len(found) + 1)).exists():
            found.append(self._round_of(folder))
        return found

    def _round_of(self, folder: Path) -> Job:
        job = read_job(folder)
        if job.id != f"{self.id}-{folder.name}":  # its label could be that of somebody else's
            raise FormatError(f"{folder}: not a round of job {self.id}")
        return job

    def new_attempt(self, place: Place) -> tuple[Path, str]:
        """Return the folder and the id of the next job of a round."""
        name = _name(place, len(self.attempts(place)) + 1)
        return self.folder / "rounds" / name, f"{self.id}-{name}"

    @property
    def open_round(self) -> Job | None:
        """The round that is not over, if there is one: always the last."""
        folder = self.folder / "rounds"
        names = [own for own in folder.glob("[0-9]*") if (own / "job.json").is_file()]
        found = [self._round_of(own) for own in sorted(names, key=_order)]
        left = [job for job in found if any(state.stage not in OVER for state in job.states)]
        return left[-1] if left else None

    @property
    def progress(self) -> TrainingProgress:
        """How far it has come; if that record is damaged, what is known without it."""
        usual = TrainingProgress(solver=self.solver.name, budget=self.budget)
        path = self.folder / "progress.json"
        if not path.exists():
            return usual
        try:
            with guarded.explained(self.file(path.name)):
                content = guarded.read_json(path)
                guarded.check_header(content, "training-progress")
                return _progress(content)
        except QcompileError:
            return usual

    def record(self, progress: TrainingProgress, classifier: Classifier | None = None) -> None:
        """Write how far it has come, and the best classifier so far: both or neither."""
        content = {**guarded.header_of("training-progress"), **progress.to_dict()}
        with atomic.replacing(), atomic.all_or_nothing():
            if classifier is not None:
                save_classifier(classifier, self.folder / "model.json")
            with atomic.write_atomically(self.folder / "progress.json") as stream:
                stream.write(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")

    @property
    def stage(self) -> str:
        """How far it has come: cancelled, done, or the stage of the round that it is in."""
        ended = self.progress.ended
        if ended:
            return CANCELLED if ended == CANCELLED else DONE
        current = self.open_round
        return READY if current is None else current.stage


def is_answered(job: Job) -> bool:
    """Whether a part of a round has an answer."""
    return any(state.stage == ANSWERED for state in job.states)


def _progress(content: Mapping[str, Any]) -> TrainingProgress:
    value, budget, solver = content["objective"], content["budget"], content["solver"]
    return TrainingProgress(
        rounds=guarded.whole_number(content["rounds"]),
        objective=None if value is None else guarded.finite(value),
        seconds=guarded.finite(content["seconds"]),
        ended=str(content["ended"]),
        solver=None if solver is None else str(solver),
        budget=None if budget is None else guarded.finite(budget),
    )


def _name(place: Place, attempt: int) -> str:
    """Return the name of the folder of a round.

    >>> _name(Place(0, 11), 1), _name(Place(1, 0), 2)
    ('1-0012', '2-0001-2')
    """
    own = f"{place.start + 1}-{place.number + 1:04d}"
    return own if attempt == 1 else f"{own}-{attempt}"


def _order(folder: Path) -> tuple[int, ...]:
    parts = folder.name.split("-")
    return tuple(int(part) for part in parts if part.isdigit())


def create_training(
    job: TrainingJob, parts: Mapping[str, Dataset], *, again: bool = True
) -> TrainingJob:
    """Write the folder of a new training, and return it with the digest of its rows.

    Unless `again`, raise InputError if there is one of the same rows that is not finished.
    """
    with new_folder(job.folder) as draft:
        save_rows(parts, draft / "rows.npz")
        job = replace(job, digests={"rows.npz": digest_of(draft / "rows.npz")})
        if not again:
            _refuse_twin(job)
        with atomic.write_atomically(draft / "job.json") as stream:
            content = {**guarded.header_of(TRAINING), **job.to_dict()}
            stream.write(orjson.dumps(content, option=orjson.OPT_INDENT_2) + b"\n")
    return job


def _refuse_twin(job: TrainingJob) -> None:
    """Raise InputError if an unfinished training asks for the same: it would be paid for twice."""
    for folder in filter(is_training, job_folders(job.folder.parent)):
        try:
            other = read_training(folder)
        except QcompileError:
            continue
        same = all(
            getattr(other, name) == getattr(job, name)
            for name in ("digests", "options", "search", "chain_strength")
        )
        if same and not other.progress.ended:
            raise InputError(
                f"job {other.id} is the same training and is not finished: continue it with "
                f"`qcompile resume {other.id}`, end it with `qcompile cancel {other.id}`, or begin "
                "a second one with again=True"
            )


def read_training(folder: Path) -> TrainingJob:
    """Read the training of a folder."""
    path = folder / "job.json"
    guarded.check_regular(path)
    with guarded.explained(path):
        content = guarded.read_json(path)
        guarded.check_header(content, TRAINING)
        return TrainingJob.from_dict(content, folder)
