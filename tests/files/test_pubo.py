from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from qcompile import MemoryLimitError, QcompileError
from qcompile.files.pubo import load_pubo, save_pubo
from qcompile.pipeline import Compiled
from tests.problems import compiled


def set_item(degree: int, place: int, value: list[int]) -> Callable[[Any], None]:
    def change(content: Any) -> None:
        content["terms"][degree - 1]["indices"][place] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        set_item(1, -1, [6]),
        set_item(2, 0, [0, 0]),
        set_item(2, 1, [0, 1]),
        lambda content: content["encoding"].update(bits=3),
    ],
)
def test_terms_that_cannot_be_are_refused(
    made: Compiled, tmp_path: Path, change: Callable[[Any], None]
) -> None:
    path = tmp_path / "pubo.json"
    save_pubo(made.pubo, path)
    content = orjson.loads(path.read_bytes())
    change(content)
    path.write_bytes(orjson.dumps(content))
    with pytest.raises(QcompileError):
        load_pubo(path)


def test_numbers_that_are_none_are_refused(made: Compiled, tmp_path: Path) -> None:
    nothing = tuple(c * math.nan for c in made.pubo.coefficients)
    save_pubo(replace(made.pubo, coefficients=nothing), tmp_path / "p.npz")
    with pytest.raises(QcompileError):
        load_pubo(tmp_path / "p.npz")


def test_large_json_is_refused_in_time(
    made: Compiled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_pubo(made.pubo, tmp_path / "p.json")
    monkeypatch.setenv("QCOMPILE_MEMORY", "1KB")
    with pytest.raises(MemoryLimitError):
        load_pubo(tmp_path / "p.json")


def test_an_encrypted_archive_is_an_error(made: Compiled, tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    save_pubo(made.pubo, path)
    content = bytearray(path.read_bytes())
    entry = content.rfind(b"PK\x01\x02")
    while entry >= 0:  # the flag that says "encrypted", in the directory and before each file
        content[entry + 8] |= 1
        entry = content.rfind(b"PK\x01\x02", 0, entry)
    path.write_bytes(bytes(content))
    with pytest.raises(QcompileError):
        load_pubo(path)


@pytest.mark.parametrize("ending", ["json", "npz"])
@pytest.mark.parametrize("l0", [0.0, 0.5])
def test_polynomials_come_back_from_files(tmp_path: Path, ending: str, l0: float) -> None:
    pubo = compiled(l0=l0)
    path = tmp_path / f"pubo.{ending}"
    save_pubo(pubo, path)
    first = path.read_bytes()
    back = load_pubo(path)
    assert back.to_dict() == pubo.to_dict()
    assert (back.variables, back.encoding, back.loss) == (pubo.variables, pubo.encoding, pubo.loss)
    assert back.preparation is not None
    assert pubo.preparation is not None
    assert back.preparation.to_dict() == pubo.preparation.to_dict()
    save_pubo(back, path)
    assert path.read_bytes() == first


@pytest.mark.slow
def test_files_do_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    texts = set()
    for seed in ("0", "1", "2"):
        for name in ("pubo.json", "pubo.npz", "moments.npz", "loss.json"):
            (tmp_path / name).unlink(missing_ok=True)
        emits = [f"--emit={tmp_path / name}" for name in ("pubo.json", "moments.npz", "loss.json")]
        subprocess.run(
            [sys.executable, "-m", "qcompile", "compile", "breast-cancer", "--features=4", *emits,
             "--bits=2", f"--emit={tmp_path / 'pubo.npz'}", "--noise=0.1", "--scale=max-abs"],
            check=True, capture_output=True, env={"PYTHONHASHSEED": seed, "PATH": ""},
        )  # fmt: skip
        texts.add(tuple(p.read_bytes() for p in sorted(tmp_path.iterdir())))
    assert len(texts) == 1
