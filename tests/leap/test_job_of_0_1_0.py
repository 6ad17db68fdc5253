"""A finished job folder that version 0.1.0 wrote is listed, loaded and decoded as it was then."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import qcompile
from qcompile.cli.app import main
from qcompile.leap.cost import Cost
from qcompile.leap.records import Solver

GOLDEN = Path(__file__).parents[1] / "golden" / "0.1.0" / "job"
ID = "20261118-010925-93b4fb45"


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    shutil.copytree(GOLDEN, tmp_path / "jobs" / ID)
    return tmp_path / "jobs"


def test_it_is_listed(jobs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["jobs", "--jobs", str(jobs), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row == {
        "job": ID,
        "stage": "done",
        "solver": "Mock_Advantage",
        "reads": 20,
        "problems": 1,
        "label": "golden",
        "data": "rows.svm",
    }
    assert main(["jobs", ID, "--jobs", str(jobs), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["seconds_estimated"] == 0.01646644437032919 and row["next"] == "nothing"


def test_its_record_is_written_as_it_was_read(jobs: Path) -> None:
    job = qcompile.load_job(ID, jobs)
    assert isinstance(job, qcompile.Job)
    content = json.loads((GOLDEN / "job.json").read_text())
    header = [content.pop(name) for name in ("type", "version", "qcompile")]
    assert header == ["qcompile.job", 1, "0.1.0"]
    assert json.dumps(job.to_dict()) == json.dumps(content)  # names, values and their order
    (part,) = job.parts
    content = json.loads((GOLDEN / "part-1.json").read_text())
    assert json.dumps(job.state(part).to_dict()) == json.dumps(dict(list(content.items())[3:]))
    job.record(part)
    assert json.loads((job.folder / "part-1.json").read_text()) == {
        **content,
        "qcompile": qcompile.__version__,
    }


def test_its_records_have_types_and_are_read_by_key_as_before(jobs: Path) -> None:
    job = qcompile.load_job(ID, jobs)
    assert job.solver == Solver("Mock_Advantage", {"graph_id": "9a48db1d4c"})
    assert isinstance(job.cost, Cost) and job.cost.reads == (20,)
    assert job.cost["seconds_billed"] == job.cost.seconds == 0.01646644437032919
    assert job.cost.get("problems") == 1 and "load" in job.cost
    assert job.solver["name"] == job.solver.get("name") == "Mock_Advantage"
    assert dict(job.cost) == json.loads((GOLDEN / "job.json").read_text())["cost"]


def test_it_is_decoded_to_the_same_weights(jobs: Path) -> None:
    expected = qcompile.load_classifier(GOLDEN / "model.json")
    (jobs / ID / "model.json").unlink()
    (jobs / ID / "samples.json").unlink()
    assert qcompile.load_job(ID, jobs).stage == "answered"
    found = qcompile.resume(ID, jobs=jobs)  # the network is closed: the answer is on disk
    assert found.classifier is not None and found.job is not None and found.samples is not None
    assert found.job.stage == "done"
    assert np.array_equal(found.classifier.weights, expected.weights)
    assert found.samples.occurrences.sum() == 20
    before = json.loads((GOLDEN / "samples.json").read_text())
    now = json.loads((jobs / ID / "samples.json").read_text())
    assert before["sample_data"] == now["sample_data"] and before["vectors"] == now["vectors"]
