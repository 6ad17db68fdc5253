"""Jobs of every kind: one problem that was submitted, or a training of many rounds."""

from __future__ import annotations

from pathlib import Path

from qcompile.errors import InputError
from qcompile.leap import submission
from qcompile.leap.job import Job
from qcompile.leap.job_store import Damaged, folder_of, is_training, read_job, scan_jobs
from qcompile.leap.retry import Patience
from qcompile.leap.submission import Submission
from qcompile.runtime.progress import News
from qcompile.training.leap_job import TrainingJob, read_training
from qcompile.training.leap_machine import seconds_of
from qcompile.training.on_leap import Access, cancel_training, resume_training
from qcompile.training.trained import Trained

__all__ = ["all_jobs", "cancel", "list_jobs", "load_job", "resume"]


def _read(folder: Path) -> Job | TrainingJob:
    return read_training(folder) if is_training(folder) else read_job(folder)


def load_job(name: str | Path, place: str | Path | None = None) -> Job | TrainingJob:
    """Read a job by its id, by an unambiguous beginning of its id, or by its folder."""
    return _read(folder_of(name, place))


def all_jobs(place: str | Path | None = None) -> list[Job | TrainingJob | Damaged]:
    """Return all jobs, the oldest first; one that cannot be read does not hide the others."""
    return scan_jobs(place, _read)


def list_jobs(place: str | Path | None = None) -> list[Job | TrainingJob]:
    """Return all jobs, the oldest first; a folder that cannot be read is logged and left out."""
    return [job for job in all_jobs(place) if not isinstance(job, Damaged)]


def resume(
    job: Job | TrainingJob | str | Path,
    *,
    profile: str | None = None,
    region: str | None = None,
    jobs: str | Path | None = None,
    solver: str | None = None,
    budget: float | str | None = None,
    wait: bool = True,
    timeout: float = 3600.0,
    same_account: bool = False,
    patience: Patience | None = None,
    progress: News | None = None,
) -> Submission | Trained:
    """Continue a job from where it stopped, and return what comes of it.

    A part, or a round of a training, that may have been sent is looked up first. No answer is
    fetched twice: a job whose answers are on disk is decoded without the network, which is then
    used only to find out whether the job was sent twice, if that is not certain. `same_account`
    states that a new token belongs to the account that the job was submitted from.

    A training goes on with the round it was in. `solver` names another QPU to go on with, and
    `budget` is the most QPU access time of all rounds, those before included.
    """
    known = job if isinstance(job, Job | TrainingJob) else load_job(job, jobs)
    if isinstance(known, TrainingJob):
        if not wait:
            raise InputError(
                f"job {known.id} is a training, which makes its rounds while resume waits: "
                "resume it and wait"
            )
        access = Access(profile, region, same_account, patience, timeout)
        limit = None if budget is None else seconds_of(budget)
        return resume_training(known, solver=solver, budget=limit, access=access, progress=progress)
    if solver is not None or budget is not None:
        raise InputError(
            f"job {known.id} is one problem, which stays with its solver {known.solver.name}: "
            "solver= and budget= are for trainings"
        )
    return submission.resume(
        known,
        profile=profile,
        region=region,
        wait=wait,
        timeout=timeout,
        same_account=same_account,
        patience=patience,
        progress=progress,
    )


def cancel(
    job: Job | TrainingJob | str | Path,
    *,
    profile: str | None = None,
    region: str | None = None,
    jobs: str | Path | None = None,
    same_account: bool = False,
    patience: Patience | None = None,
) -> list[str]:
    """Cancel what has not run yet, and return the stage of each part, or of the training.

    A part that was not sent will not be sent, and a training makes no more rounds. A part or round
    that may have been sent is looked up first. What has run is billed, and `resume` can still fetch
    its answer; of a training it returns the best classifier so far.
    """
    known = job if isinstance(job, Job | TrainingJob) else load_job(job, jobs)
    if isinstance(known, TrainingJob):
        return cancel_training(known, access=Access(profile, region, same_account, patience))
    return submission.cancel(
        known, profile=profile, region=region, same_account=same_account, patience=patience
    )
