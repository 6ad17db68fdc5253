"""Broken files of every kind: hypothesis chooses the changes, `benchmarks.fuzz_bench` runs more."""

from __future__ import annotations

import gzip
import io
import os
import random
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks import fuzz_bench, fuzz_cases
from qcompile import QcompileError
from qcompile.data import svmlight
from qcompile.data.read import read
from qcompile.errors import FormatError, InputError, MemoryLimitError
from qcompile.files import guarded, loss, machines, moments, pubo
from qcompile.files.classifier import load_classifier
from qcompile.files.embedding import load_embedding
from qcompile.files.interchange import read_pubo
from qcompile.stages.machine import Machine

pytestmark = pytest.mark.slow

READERS = {reader.name: reader for reader in fuzz_cases.readers()}


def seed_of(name: str) -> Any:
    return orjson.loads(READERS[name].seeds[0])


@pytest.mark.parametrize("name", sorted(READERS))
def test_valid_files_are_read(name: str, tmp_path: Path) -> None:
    reader = READERS[name]
    for seed in reader.seeds:
        assert fuzz_cases.verdict(reader, seed, tmp_path / reader.file) == "accepted"


@pytest.mark.parametrize("name", sorted(READERS))
@settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.large_base_example,
    ],
)
@given(rng=st.randoms(use_true_random=False))
def test_broken_files_are_read_or_refused_in_one_line(
    name: str, tmp_path: Path, rng: random.Random
) -> None:
    reader = READERS[name]
    fuzz_cases.verdict(reader, fuzz_cases.mutate(rng, reader), tmp_path / reader.file)


@pytest.mark.parametrize("name", sorted(READERS))
@settings(
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(content=st.binary(max_size=300))
def test_files_of_anything_are_read_or_refused_in_one_line(
    name: str, tmp_path: Path, content: bytes
) -> None:
    reader = READERS[name]
    fuzz_cases.verdict(reader, content, tmp_path / reader.file)


def test_the_changes_break_files_and_leave_some_whole(tmp_path: Path) -> None:
    """Changes that are always refused at the door would test nothing but the door."""
    for name, reader in READERS.items():
        found = [
            fuzz_cases.verdict(
                reader,
                fuzz_cases.mutate(random.Random(f"{name} {n}"), reader),
                tmp_path / reader.file,
            )
            for n in range(60)
        ]
        assert "accepted" in found, name
        assert "refused" in found or name == "part-1 json", name  # a damaged state is told


def test_a_case_can_be_made_again() -> None:
    for name, reader in READERS.items():
        twice = [fuzz_cases.mutate(random.Random(f"3 {name} 5"), reader) for _ in range(2)]
        assert twice[0] == twice[1]


def test_the_benchmark_tells_failures(tmp_path: Path) -> None:
    """A reader with an error of its own is found out, and the file that did it is kept."""

    def bad(path: Path) -> object:
        if b"x" in path.read_bytes():
            raise IndexError("list index out of range")
        raise FormatError("fine")

    reader = fuzz_cases.Reader("bad", "file", "text", bad, (b"seed",))
    tally = fuzz_bench.Tally()
    for content in (b"x", b"y"):
        fuzz_bench._run_case(reader, content, tmp_path, tally, "bad, case 1", tmp_path / "kept")
    assert (tally.cases, tally.refused, len(tally.failures)) == (2, 1, 1)
    assert "IndexError" in tally.failures[0]
    assert [path.read_bytes() for path in (tmp_path / "kept").iterdir()] == [b"x"]


# --- what was found -----------------------------------------------------------------------------


def array(head: bytes, body: bytes = b"", packing: int = zipfile.ZIP_STORED) -> bytes:
    text = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head
    return fuzz_cases.npz_of([("header.npy", text, body, packing)])


PLAIN = b"{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (array(b"(" * 300), "damaged header"),
        (array(b"-" * 9000 + b"1"), "damaged header"),
        (array(b"{'descr': '|u1', 'fortran_order': False, 'shape': (2L,), }"), "damaged header"),
        (array(b'"""'), "damaged header"),
        (array(b" x\n y"), "damaged header"),
        (array(PLAIN.replace(b"(2,)", b"(-1,)"), b"{}"), "damaged header"),
        (array(PLAIN.replace(b"|u1", b"<f16"), bytes(32)), "expected plain numbers"),
        (array(PLAIN, b"{}", zipfile.ZIP_LZMA), "invalid compression"),
        (array(PLAIN, b"{}", zipfile.ZIP_BZIP2), "invalid compression"),
        (array(PLAIN, b"{}"), "no file of qcompile"),
    ],
)
def test_headers_of_arrays_that_numpy_would_choke_on(
    content: bytes, words: str, tmp_path: Path
) -> None:
    (tmp_path / "a.npz").write_bytes(content)
    with pytest.raises(FormatError, match=words):
        moments.load_moments(tmp_path / "a.npz")


@pytest.mark.parametrize("shape", [(), (1,), (7,), (2, 3), (0,), (3, 0)])
@pytest.mark.parametrize("kind", ["<f8", ">f4", "<i4", "|u1", "<i8"])
def test_arrays_of_numpys_own_are_read(shape: tuple[int, ...], kind: str, tmp_path: Path) -> None:
    header = np.frombuffer(orjson.dumps(guarded.header_of("x")), dtype=np.uint8)
    given = np.arange(np.prod(shape, dtype=int)).astype(kind).reshape(shape)
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", header=header, given=given)
        _, arrays = guarded.read_npz(tmp_path / "a.npz", "x")
        assert arrays["given"].dtype == given.dtype
        np.testing.assert_array_equal(arrays["given"], given)


def changed(name: str, change: Callable[[Any], object], path: Path) -> Path:
    content = seed_of(name)
    change(content)
    path.write_bytes(orjson.dumps(content))
    return path


@pytest.mark.parametrize("variables", [2_000_000_000, 2**31, 10**18, -1])
def test_a_polynomial_of_absurdly_many_bits_allocates_nothing(
    variables: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(content: Any) -> None:
        content["variables"] = variables
        content["encoding"] |= {"features": max(1, variables // 2), "bits": 2, "bounds": None}
        content["preparation"] = None  # which would have other features

    monkeypatch.setattr(np, "repeat", lambda *_: pytest.fail("an array of claimed size"))
    path = changed("pubo json", change, tmp_path / "pubo.json")
    with pytest.raises(FormatError, match="variables"):
        pubo.load_pubo(path)


def test_a_variable_past_32_bits_is_no_other_variable(tmp_path: Path) -> None:
    def change(content: Any) -> None:
        content["variables"] = 2**33
        content["terms"][0]["indices"][-1] = [2**32 + 1]

    with pytest.raises(FormatError, match="variables"):
        pubo.load_pubo(changed("pubo json", change, tmp_path / "pubo.json"))


@pytest.mark.parametrize("value", ["nan", "inf", "-Infinity"])
def test_texts_are_no_way_to_write_numbers_that_are_none(value: str, tmp_path: Path) -> None:
    def constant(content: Any) -> None:
        content["constant"] = value

    def center(content: Any) -> None:
        content["preparation"]["center"] = [value] * content["preparation"]["raw_features"]

    for change in (constant, center):
        with pytest.raises(FormatError, match=r"NaN|finite|number"):
            pubo.load_pubo(changed("pubo json", change, tmp_path / "pubo.json"))


RECORDS = [
    ("moments npz", ["source"]),
    ("pubo json", ["source"]),
    ("pubo npz", ["source"]),
    ("qubo json", ["info", "qcompile", "source"]),
    ("qubo npz", ["source"]),
    ("model json", ["source"]),
    ("embedding json", ["options"]),
    ("samples json", ["info"]),
    ("job json", ["solver"]),
    ("job json", ["cost"]),
    ("job json", ["parts", 0, "parameters"]),
]


@pytest.mark.parametrize("value", [2, 60, 240, None, 5])
@pytest.mark.parametrize(("name", "place"), RECORDS)
def test_records_that_are_kept_as_they_are_must_be_records_and_not_deep(
    name: str, place: list[str | int], value: int | None, tmp_path: Path
) -> None:
    """What is kept is written again later, and orjson overruns its memory writing deep values."""
    reader = READERS[name]

    def change(content: Any) -> Any:
        record: Any = content
        for key in place[:-1]:
            record = record[key]
        if value is None or value == 5:
            record[place[-1]] = value
        else:
            record[place[-1]]["x"] = fuzz_cases._nested(value)
        return content

    path = tmp_path / reader.file
    if reader.kind == "json":
        path.write_bytes(orjson.dumps(change(orjson.loads(reader.seeds[0]))))
    else:
        with np.load(io.BytesIO(reader.seeds[0])) as seed:
            arrays = dict(seed)
        text = orjson.dumps(change(orjson.loads(arrays["header"].tobytes())))
        np.savez(path, **{**arrays, "header": np.frombuffer(text, dtype=np.uint8)})
    if value == 2:
        reader.read(path)
        return
    with pytest.raises(FormatError, match=r"nested more than|invalid record"):
        reader.read(path)


def test_a_scale_of_zero_is_refused(tmp_path: Path) -> None:
    def change(content: Any) -> None:
        content["preparation"]["scale"] = [0.0] * content["preparation"]["raw_features"]

    with pytest.raises(FormatError, match="divided by 0"):
        load_classifier(changed("model json", change, tmp_path / "model.json"))


def test_tables_in_place_of_lists_are_refused(tmp_path: Path) -> None:
    reader = READERS["qubo npz"]
    members = [
        (name, head.replace(b"'shape': (", b"'shape': (1, ", 1).replace(b",), }", b"), }"), body, p)
        if name == "first.npy"
        else (name, head, body, p)
        for name, head, body, p in fuzz_cases._members(reader.seeds[0])
    ]
    assert (
        fuzz_cases.verdict(reader, fuzz_cases.npz_of(members), tmp_path / "qubo.npz") == "refused"
    )


@pytest.mark.parametrize("kind", ["U400000000", "V2000000000", "object", "longdouble", 5])
def test_types_of_samples_that_claim_any_size_are_refused(kind: object, tmp_path: Path) -> None:
    def vector(content: Any) -> None:
        extra = {"type": "array", "data": [1, 2], "data_type": kind, "shape": [2]}
        content["vectors"]["extra"] = {**extra, "use_bytes": False}

    def info(content: Any) -> None:
        content["info"]["a"] = [{"type": "array", "data": [], "data_type": kind, "shape": [0]}]

    for change in (vector, info):
        path = changed("samples json", change, tmp_path / "samples.json")
        with pytest.raises(FormatError, match="plain numbers"):
            READERS["samples json"].read(path)


def test_rows_of_nothing_are_no_samples(tmp_path: Path) -> None:
    def change(content: Any) -> None:
        content["sample_data"] |= {"data": [], "shape": [1_000_000, 0]}
        content |= {"num_rows": 1, "num_variables": 4_000}

    with pytest.raises(FormatError, match="rows of samples"):
        READERS["samples json"].read(changed("samples json", change, tmp_path / "samples.json"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b".".join([b"a"] * 5000) + b"=1", "too many parts"),
        (b"x={" + b".".join([b"a"] * 5000) + b"=1}", "too many parts"),
        (b'"=".' + b".".join([b"a"] * 5000) + b"=1", "too many parts"),
        (b"['=' . " + b" . ".join([b"a"] * 5000) + b"]\nb=1", "too many parts"),
        (b"a.b.c.d=1\n" * 300, "too many parts"),
        (b"[" + b".".join([b"a"] * 5000) + b"]\nb=1", "too many parts"),
        (
            b'topology="zephyr"\nshape=[0x' + b"f" * 9000 + b"]\n[ranges]\nh=[-1,1]\nj=[-1,1]",
            "digits",
        ),
        (b"#\n" * (1 << 18) + b"\n", "exceeds 512 kB"),
        (b'"two\\nlines" = 1', "invalid key"),
        (b"shape=" + b"[" * 5000, "invalid TOML"),
    ],
)
def test_tomls_that_would_take_for_ever(text: bytes, words: str, tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_bytes(text)
    with pytest.raises(FormatError, match=words) as caught:
        machines.load_machine(tmp_path / "m.toml")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_dots_in_comments_and_values_are_fine(tmp_path: Path) -> None:
    seed = READERS["machine toml"].seeds[0]
    text = b"# " + b"." * 500 + b"\n" + seed.replace(b"a book", b"." * 500)
    (tmp_path / "m.toml").write_bytes(text)
    assert machines.load_machine(tmp_path / "m.toml").source == "." * 500


def test_a_machine_that_does_not_fit_in_memory_is_not_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(content: Any) -> None:
        content["machine"] |= {"topology": "zephyr", "shape": [40, 8], "dead_qubits": []}

    monkeypatch.setenv("QCOMPILE_MEMORY", "200MB")
    with pytest.raises(MemoryLimitError, match="graph of"):
        load_embedding(changed("embedding json", change, tmp_path / "embedding.json"))


@pytest.mark.parametrize(
    ("topology", "shape"),
    [("chimera", (3, 4, 2)), ("chimera", (5,)), ("pegasus", (4,)), ("zephyr", (3, 2))],
)
def test_the_size_of_a_graph_is_known_beforehand(topology: str, shape: tuple[int, ...]) -> None:
    machine = Machine("m", topology, shape)
    qubits, couplers = machine._size_of_whole
    assert len(machine.whole_graph) <= qubits <= 2 * len(machine.whole_graph)
    assert machine.whole_graph.number_of_edges() <= couplers


def test_a_name_with_two_lines_stays_on_one(tmp_path: Path) -> None:
    def change(content: Any) -> None:
        content["machine"] |= {"name": "two\nlines", "topology": "ring"}

    with pytest.raises(FormatError) as caught:
        load_embedding(changed("embedding json", change, tmp_path / "embedding.json"))
    assert "\n" not in str(caught.value)


def test_many_numbers_in_a_line_are_no_key(tmp_path: Path) -> None:
    text = READERS["machine toml"].seeds[0] + b"note = " + str([0.5] * 2000).encode() + b"\n"
    (tmp_path / "m.toml").write_bytes(text)
    with pytest.raises(FormatError, match="note"):  # read, and then not known
        machines.load_machine(tmp_path / "m.toml")


@pytest.mark.parametrize("reader", [loss.load_loss, read_pubo])
def test_devices_without_an_end_are_left_early(
    reader: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not Path("/dev/zero").exists():
        pytest.skip("no /dev/zero on this system")
    monkeypatch.setattr(guarded, "_LARGEST_STREAM", 1000)
    with pytest.raises(FormatError, match="from a pipe"):
        reader("/dev/zero")


def test_a_pipe_is_refused_where_it_would_be_read_twice(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p.json")
    for reader in (read_pubo, pubo.load_pubo, guarded.kind_of):
        with pytest.raises(FormatError, match="is a pipe"):
            reader(tmp_path / "p.json")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("name", "x" * 5000, "short text"),
        ("title", {"a": 1}, "short text"),
        ("source", [], "short text"),
        ("seed", 1e30, "whole number"),
    ],
)
def test_embeddings_say_nothing_that_cannot_be_written_again(
    name: str, value: object, words: str, tmp_path: Path
) -> None:
    def change(content: Any) -> None:
        (content if name == "seed" else content["machine"])[name] = value

    with pytest.raises(FormatError, match=words):
        load_embedding(changed("embedding json", change, tmp_path / "embedding.json"))


@pytest.mark.parametrize("name", ["pubo json", "qubo json"])
def test_weights_and_prepared_features_are_as_many(name: str, tmp_path: Path) -> None:
    def change(content: Any) -> None:
        known = content["info"]["qcompile"] if name == "qubo json" else content
        known["preparation"]["bias"] = True

    reader = READERS[name]
    with pytest.raises(FormatError, match="2 weights do not match 3"):
        reader.read(changed(name, change, tmp_path / reader.file))


def test_devices_without_an_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/dev/zero").exists():
        pytest.skip("no /dev/zero on this system")
    monkeypatch.setenv("QCOMPILE_MEMORY", "20MB")
    with pytest.raises(MemoryLimitError):
        loss.load_loss("/dev/zero")


def test_pipes_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    seed = READERS["loss json"].seeds[0]
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(seed,))
    writer.start()
    try:
        assert loss.load_loss(tmp_path / "pipe").order == 3
    finally:
        writer.join()


def test_text_without_a_row_comes_to_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(svmlight, "_LONGEST_BLANK", 1 << 20)
    monkeypatch.setattr(svmlight, "_PIECE_BYTES", 1 << 18)
    (tmp_path / "blank.svm").write_bytes(gzip.compress(b"\n" * (1 << 22)))
    with pytest.raises(InputError, match="no row in"):
        read(tmp_path / "blank.svm")
    # rows in between are enough
    text = (b"1 1:1\n-1 2:1\n" + b"\n" * (1 << 19)) * 4
    (tmp_path / "rows.svm").write_bytes(gzip.compress(text))
    assert len(read(tmp_path / "rows.svm")) == 8


def test_memory_that_cannot_be_had_for_unpacking_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bytes:
        raise MemoryError

    (tmp_path / "a.svm").write_bytes(gzip.compress(b"1 1:1\n"))
    monkeypatch.setattr(gzip.GzipFile, "read", fail)
    with pytest.raises(MemoryLimitError, match="unpacking the gzip data"):
        read(tmp_path / "a.svm")


@pytest.mark.parametrize("pad", [b"", b" ", b"\n"])
def test_the_shortest_entries_have_room(pad: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_bytes(b"1 1:1 2:2 3:3\n0 1:1" + pad)
    assert read(tmp_path / "a.svm").x.toarray().tolist() == [[1, 2, 3], [1, 0, 0]]


def test_colons_claim_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    plain = np.empty

    def noted(size: int, **options: Any) -> Any:
        sizes.append(size)
        return plain(size, **options)

    monkeypatch.setattr(np, "empty", noted)
    (tmp_path / "a.svm").write_bytes(b"1 " + b":" * 100_000)
    with pytest.raises(QcompileError):
        read(tmp_path / "a.svm")
    assert max(sizes) <= 2 * (100_002 // 4 + 1)
