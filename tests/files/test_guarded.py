"""Files are taken as hostile: every way to break one gives a clear error that names it."""

from __future__ import annotations

import io
import resource
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


def test_arrays_beyond_the_memory_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.npz"
    np.savez(path, header=np.zeros(10**6))
    monkeypatch.setenv("QCOMPILE_MEMORY", "20MB")
    with pytest.raises(MemoryLimitError):
        moments.load_moments(path)


def test_a_compressed_member_far_larger_than_the_file_is_refused(
    folder: Path, tmp_path: Path
) -> None:
    """64 MB of zeros in 64 kB are refused before they are unpacked, whatever memory there is."""
    path = tmp_path / "pubo.npz"
    with zipfile.ZipFile(folder / "pubo.npz") as whole:
        header = whole.read("header.npy")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("header.npy", header)
        with archive.open("indices_1.npy", "w") as member:
            np.lib.format.write_array_header_1_0(
                member, {"descr": "<i4", "fortran_order": False, "shape": (1 << 24, 1)}
            )
            for _ in range(64):
                member.write(bytes(1 << 20))
    before = memory_peak()
    with pytest.raises(QcompileError, match="at most 50 times the size of the file"):
        pubo.load_pubo(path)
    assert memory_peak() - before < 20_000_000


def memory_peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_what_numpy_compressed_is_read(folder: Path, tmp_path: Path) -> None:
    with np.load(folder / "pubo.npz") as arrays:
        np.savez_compressed(tmp_path / "small.npz", **arrays)
    back = pubo.load_pubo(tmp_path / "small.npz")
    assert back.to_dict() == pubo.load_pubo(folder / "pubo.npz").to_dict()


@pytest.mark.parametrize("place", ["directory", "member"])
def test_an_encrypted_member_is_refused(folder: Path, tmp_path: Path, place: str) -> None:
    """The flag stands in two places; zipfile looks at one of them."""
    content = bytearray((folder / "pubo.npz").read_bytes())
    mark, flags = (b"PK\x01\x02", 8) if place == "directory" else (b"PK\x03\x04", 6)
    content[content.index(mark) + flags] |= 1
    path = tmp_path / "pubo.npz"
    path.write_bytes(bytes(content))
    with pytest.raises(QcompileError, match="encrypted"):
        pubo.load_pubo(path)


def changed(path: Path, *way: str, value: object) -> Path:
    content = orjson.loads(path.read_bytes())
    inner = content
    for step in way[:-1]:
        inner = inner[step]
    inner[way[-1]] = value
    other = path.with_name(f"changed-{path.name}")
    other.write_bytes(orjson.dumps(content))
    return other


def test_giants_in_small_files_are_refused(folder: Path) -> None:
    path = changed(folder / "pubo.json", "variables", value=2**31 - 1)
    with pytest.raises(QcompileError, match="expected at most 1,048,576 that no term uses"):
        pubo.load_pubo(path)
    empty = [{"degree": j, "indices": [], "coefficients": []} for j in range(1, 1002)]
    path = changed(folder / "pubo.json", "terms", value=empty)
    with pytest.raises(QcompileError, match="1,001 degrees; expected at most 1,000"):
        pubo.load_pubo(path)


@pytest.mark.parametrize("value", ["0", True, [0.5]])
def test_text_and_truth_values_are_no_numbers(folder: Path, value: object) -> None:
    places: list[tuple[str, ...]] = [("constant",), ("variables",), ("dropped",), ("l0",)]
    places += [("encoding", name) for name in ("features", "bits", "zeta")]
    places += [("loss", name) for name in ("prior_std", "range", "l2")]
    for way in places:
        with pytest.raises(QcompileError):
            pubo.load_pubo(changed(folder / "pubo.json", *way, value=value))
    content = orjson.loads((folder / "pubo.json").read_bytes())
    for name in ("coefficients", "indices"):
        terms = orjson.loads(orjson.dumps(content["terms"]))
        terms[0][name][0] = value if name == "coefficients" else [value]
        with pytest.raises(QcompileError):
            pubo.load_pubo(changed(folder / "pubo.json", "terms", value=terms))
    for name in ("prior_std", "range", "l2"):
        with pytest.raises(QcompileError):
            loss.load_loss(changed(folder / "loss.json", name, value=value))
