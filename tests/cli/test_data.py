from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from qcompile import moments_of, read
from qcompile.cli.app import main


def test_named_sets_can_be_written_split_and_read(here: Path) -> None:
    parts = ["--split", "0.75", "0.25", "-o", "train.svm", "-o", "test.svm"]
    assert main(["data", "mease-wyner", *parts, "-q"]) == 0
    train, test = read("train.svm"), read("test.svm")
    assert (len(train), len(test)) == (1500, 500)
    whole = moments_of(train, 3) + moments_of(test, 3)
    np.testing.assert_allclose(
        whole.tensors[3, 0], moments_of(read("mease-wyner"), 3).tensors[3, 0], rtol=1e-9
    )


def test_a_label_that_stands_for_the_rest_is_said(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "three.svm").write_text("1 1:1\n2 1:2\n3 1:3\n-1 1:0.5\n")
    assert main(["data", "three.svm", "--positive", "-1", "-o", "two.svm"]) == 0
    assert "-2 is written for every label but -1" in capsys.readouterr().err
    assert main(["data", "three.svm", "--positive", "-1"]) == 0
    assert "is written for" not in capsys.readouterr().err
