"""Files and jobs that the examples of the help need."""

from __future__ import annotations

import contextlib
import json
import shlex
import shutil
from pathlib import Path

import dimod
import pytest

from qcompile.cli.app import main
from tests.sapi import Sapi


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All files that examples read, made once."""
    folder = tmp_path_factory.mktemp("prepared")
    with contextlib.chdir(folder):
        for line in (
            "data synthetic:examples=120,features=5 -o data.svm",
            "data synthetic:examples=40,features=5 -o new.svm",
            "compile data.svm --bits 1 --emit qubo.json --emit pubo.json",
            "compile data.svm --bits 1 --emit moments.npz --emit loss.json",
            "compile data.svm --bits 1 --emit qubo=written.bqm --emit qubo=written.lp",
            "embed qubo.json --machine advantage -o embedding.json --target target.json",
            "solve qubo.json --solver exact -o samples.json",
            "decode samples.json --problem qubo.json -o model.json",
            "train data.svm --solver descent -o rounds.json",
        ):
            assert main([*shlex.split(line), "-q"]) == 0, line
        spins = dimod.BinaryQuadraticModel({"a": 1.0}, {("a", "b"): -1.0}, 0.0, "SPIN")
        Path("ising.json").write_text(json.dumps(spins.to_serializable()))
    return folder


@pytest.fixture
def files(prepared: Path, here: Path) -> Path:
    """The files of the examples, in the folder in which commands are run."""
    shutil.copytree(prepared, here, dirs_exist_ok=True)
    return here


@pytest.fixture
def at_work(files: Path, large_server: Sapi) -> Sapi:
    """The files, and a job that is on the server."""
    assert main(["submit", "qubo.json", "-n", "10", "--yes", "--no-wait", "-q"]) == 0
    return large_server
