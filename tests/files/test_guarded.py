"""Files are taken as hostile: every way to break one gives a clear error that names it."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import InputError, MemoryLimitError, QcompileError, compile
from qcompile.files import loss, moments, pubo
from qcompile.pipeline import Compiled


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Compiled = compile("synthetic:examples=30,features=3", scale="none", bias=False, bits=2)
    path = tmp_path_factory.mktemp("artifacts")
    pubo.save_pubo(made.pubo, path / "pubo.json")
    pubo.save_pubo(made.pubo, path / "pubo.npz")
    loss.save_loss(made.loss, path / "loss.json")
    moments.save_moments(made.moments, path / "moments.npz")
    return path


LOADERS = {
    "pubo.json": pubo.load_pubo,
    "pubo.npz": pubo.load_pubo,
    "loss.json": loss.load_loss,
    "moments.npz": moments.load_moments,
}


@pytest.mark.parametrize("name", sorted(LOADERS))
def test_a_file_cut_off_anywhere_is_refused(folder: Path, tmp_path: Path, name: str) -> None:
    whole = (folder / name).read_bytes()
    path = tmp_path / name
    for cut in sorted({0, 1, 2, 5, *range(10, len(whole) - 2, max(1, len(whole) // 60))}):
        path.write_bytes(whole[:cut])
        with pytest.raises(QcompileError) as caught:
            LOADERS[name](path)
        assert name in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", sorted(LOADERS))
@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_damaged_bytes_never_crash(folder: Path, name: str, data: st.DataObject) -> None:
    content = bytearray((folder / name).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = folder / f"damaged-{name}"
    path.write_bytes(bytes(content))
    try:
        LOADERS[name](path)
    except QcompileError as error:
        assert "\n" not in str(error)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers(-(2**60), 2**60) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pubo.json", "loss.json"])
@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_wrong_values_never_crash(folder: Path, name: str, data: st.DataObject) -> None:
    content = orjson.loads((folder / name).read_bytes())
    key = data.draw(st.sampled_from(sorted(content)))
    if data.draw(st.booleans()):
        del content[key]
    else:
        content[key] = data.draw(json_values)
    path = folder / f"wrong-{name}"
    path.write_bytes(orjson.dumps(content))
    try:
        LOADERS[name](path)
    except QcompileError as error:
        assert f"wrong-{name}" in str(error)


def test_other_kinds_and_versions_are_told_apart(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(QcompileError, match=r"holds 'qcompile.loss'; expected a qcompile pubo"):
        pubo.load_pubo(folder / "loss.json")
    with pytest.raises(QcompileError, match=r"holds 'qcompile.moments'"):
        pubo.load_pubo(folder / "moments.npz")
    content = orjson.loads((folder / "loss.json").read_bytes())
    content["version"] = 99
    (tmp_path / "new.json").write_bytes(orjson.dumps(content))
    with pytest.raises(QcompileError, match="format version 99"):
        loss.load_loss(tmp_path / "new.json")
    with pytest.raises(InputError, match="no such file"):
        loss.load_loss(tmp_path / "missing.json")


def test_a_header_that_lies_about_its_size_allocates_nothing(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": "<f8", "fortran_order": False, "shape": (10**15,)}
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.npy", stream.getvalue())
    with pytest.raises(QcompileError, match="claims"):
        moments.load_moments(path)


def test_pickled_objects_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "pickle.npz"
    np.savez(path, header=np.array([{"evil": 1}], dtype=object))
    with pytest.raises(QcompileError, match="expected plain numbers"):
        moments.load_moments(path)


def test_a_decompression_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, header=np.zeros(10**7))
    monkeypatch.setenv("QCOMPILE_MEMORY", "20MB")
    with pytest.raises(MemoryLimitError):
        moments.load_moments(path)
