from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from qcompile.cli.app import main


def test_the_command_proves_and_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    options = [
        "--features",
        "4",
        "--scale",
        "standard",
        "--noise",
        "0.1",
        "--shuffle",
        "--seed",
        "3",
    ]
    emits = ["--emit", "qubo.json", "--emit", "pubo.json", "--emit", "qubo=q.npz"]
    assert main(["compile", "breast-cancer", "--bits", "2", "--rows", "300", *options, *emits]) == 0
    for path in ("qubo.json", "q.npz"):
        assert main(["verify", path, "--data", "breast-cancer", "--pubo", "pubo.json"]) == 0
    assert "proved" in capsys.readouterr().out
    content = orjson.loads(Path("qubo.json").read_bytes())
    content["linear_biases"][1] += 1e-7
    Path("changed.json").write_bytes(orjson.dumps(content))
    assert main(["verify", "changed.json"]) == 1
    assert "NOT proved" in capsys.readouterr().out
    assert main(["verify", "qubo.json", "--data", "long-servedio"]) == 2


def test_other_rows_are_told_from_a_wrong_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    parts = ["--split", "0.5", "0.5", "-o", "one.svm", "-o", "two.svm", "-q"]
    assert main(["data", "synthetic:examples=100,features=4", *parts]) == 0
    assert main(["compile", "one.svm", "--bits", "2", "--emit", "qubo.json", "-q"]) == 0
    lines = ["# the same rows under another name\n", *Path("one.svm").read_text().splitlines(True)]
    Path("copy.svm").write_text("".join(lines))
    assert main(["verify", "qubo.json", "--data", "copy.svm"]) == 0
    capsys.readouterr()
    assert main(["verify", "qubo.json", "--data", "two.svm"]) == 1
    shown = capsys.readouterr().out
    assert "these are not the rows it was compiled from (one.svm, 50 rows)" in shown
    assert "do not use this file" not in shown
    content = orjson.loads(Path("qubo.json").read_bytes())
    content["linear_biases"][1] += 1e-3
    Path("changed.json").write_bytes(orjson.dumps(content))
    for rows in ("one.svm", "two.svm"):
        assert main(["verify", "changed.json", "--data", rows]) == 1
        assert "NOT proved: do not use this file" in capsys.readouterr().out
