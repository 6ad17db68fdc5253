from __future__ import annotations

from pathlib import Path

import numpy as np

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
