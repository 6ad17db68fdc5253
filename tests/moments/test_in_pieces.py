"""Files that are read in pieces, and prepared by what a first reading says."""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qcompile import InputError, moments_of
from qcompile.data.prepare import prepare
from qcompile.data.read import read
from qcompile.data.robust import robust_scaling
from qcompile.stages.moments import Moments
from tests.parts import assert_same, of, rough_lines, sparse_lines, write_parts

WAYS: list[dict[str, Any]] = [
    {"scale": "robust"},
    {"scale": "robust", "bias": True},
    {"scale": "none", "bias": True},
    {"scale": "unit-norm", "bias": True},
]


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qcompile.data.svmlight._PIECE_BYTES", 64)
    monkeypatch.setattr("qcompile.data.stream._BATCH_BYTES", 400)


def check_prepared(found: Moments, path: str | Path, **how: Any) -> None:
    whole = prepare(read(path), **how)
    assert_same(found, moments_of(whole, 3))
    assert found.preparation is not None
    assert found.preparation.to_dict() == whole.preparation.to_dict()


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("lines", [sparse_lines(), rough_lines(60, 4)], ids=["sparse", "dense"])
def test_a_file_in_pieces_is_prepared_as_a_whole(
    how: dict[str, Any], lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("".join(lines))
    # all rows at once are held by `load_data` alone
    monkeypatch.setattr("qcompile.pipeline.load_data", None)
    check_prepared(of(str(path), **how), path, **how)
    assert of(str(path), **how).source == read(path).source


@pytest.mark.parametrize("how", WAYS)
def test_files_in_parts_are_prepared_as_a_whole(how: dict[str, Any], tmp_path: Path) -> None:
    lines = sparse_lines()
    pattern = write_parts(tmp_path, [lines[:1], lines[1:40], lines[40:]])
    (tmp_path / "whole.svm").write_text("".join(lines))
    check_prepared(of(pattern, **how), tmp_path / "whole.svm", **how)


@pytest.mark.usefixtures("small_pieces")
def test_a_sample_stands_for_many_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qcompile.data.row_sample.MOST_ROWS", 150)
    lines = rough_lines(600, 3)
    pattern = write_parts(tmp_path, [lines[:200], lines[200:]])
    for source in (pattern, str(tmp_path / "part-01.svm")):
        one, two = (of(source, scale="robust").preparation for _ in range(2))
        assert one is not None and two is not None and one.to_dict() == two.to_dict()
        assert one.center is not None and one.scale is not None
        assert np.abs(one.center).max() < 0.3 and np.abs(one.scale - 1).max() < 0.2


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("packed", [False, True])
def test_standard_input_is_read_twice_too(
    packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("".join(sparse_lines()))
    text = gzip.compress(path.read_bytes()) if packed else path.read_bytes()
    for rows in (None, 20):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(text))))
        found = of("-", scale="robust", rows=rows)
        assert found.source.name == "standard input"
        assert_same(found, moments_of(prepare(read(path, rows=rows), scale="robust"), 3))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_read_twice_too(tmp_path: Path) -> None:
    path, pipe = tmp_path / "rows.svm", tmp_path / "pipe"
    path.write_text("".join(sparse_lines()))
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(path.read_bytes()))
    writer.start()
    found = of(str(pipe), scale="robust", bias=True)
    writer.join()
    check_prepared(found, path, scale="robust", bias=True)


def test_a_file_that_changes_in_between_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1 2:3\n-1 1:2\n1 2:1\n")

    def scaled(rows: Any) -> Any:
        path.write_text("1 1:1 2:3\n-1 1:2\n1 2:2\n")
        return robust_scaling(rows)

    monkeypatch.setattr("qcompile.moments.in_pieces.robust_scaling", scaled)
    with pytest.raises(InputError, match=r"rows\.svm: changed while it was read"):
        of(str(path), scale="robust")
