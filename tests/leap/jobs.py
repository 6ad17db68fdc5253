"""Quick submissions to the loopback server, and checks of their jobs."""

from __future__ import annotations

import numpy as np
import pytest

import qcompile
from qcompile import Patience, Submission, Trained
from qcompile.files.machines import machine_from_sampler
from qcompile.leap.job import Job
from qcompile.leap.job_store import list_jobs
from tests.sapi import Sapi

QUICK = Patience(
    first=0.02, most=0.1, give_up=1.0, request=0.6, poll=0.02, hold=1, grace=0.3, answers=3
)


READS = 60


def machine_of(server: Sapi, name: str = "Mock_Advantage") -> qcompile.Machine:
    from types import SimpleNamespace

    properties = server.solvers[name]["properties"]
    return machine_from_sampler(
        SimpleNamespace(
            properties=properties,
            nodelist=properties["qubits"],
            edgelist=[tuple(pair) for pair in properties["couplers"]],
        )
    )


def only_job() -> Job:
    (job,) = list_jobs()
    return job


def check_result(found: Submission | Trained, best: float) -> None:
    assert isinstance(found, Submission)
    assert found.samples is not None and found.classifier is not None and found.job is not None
    assert found.samples.energies[0] == pytest.approx(best)
    assert found.job.stage == "done"
    model = qcompile.load_classifier(found.job.folder / "model.json")
    assert np.array_equal(model.weights, found.classifier.weights)
