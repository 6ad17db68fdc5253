"""Broken files of every kind that qcompile reads, made from valid ones by small changes.

A reader is fed with files that are almost right: bytes flipped, pieces doubled or cut, numbers
made extreme, JSON values of another type, arrays whose headers lie. What a case is follows from
its random generator alone, so any case can be made again.
"""

from __future__ import annotations

import bz2
import copy
import gzip
import io
import json
import lzma
import random
import re
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import orjson

from benchmarks.fuzz_tables import TABLE_KINDS, read_broken, table_bombs, table_seeds

__all__ = ["Reader", "bombs", "mutate", "npz_of", "readers", "verdict"]

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_WORD = re.compile(rb"[A-Za-z_]{2,}")
_EXTREME = (
    b"0", b"-1", b"1", b"-0.0", b"2", b"3", b"255", b"256", b"65536", b"2147483646", b"2147483647",
    b"2147483648", b"4294967296", b"-2147483649", b"9223372036854775807", b"9223372036854775808",
    b"-9223372036854775809", b"18446744073709551616", b"1e308", b"-1e308", b"1e309", b"5e-324",
    b"1e-400", b"1e15", b"0.5", b"1e5", b"1000000", b"NaN", b"nan", b"Infinity", b"-inf", b"true",
    b"null", b"1" * 400, b"0." + b"3" * 400, b"0xffffffffffffffffffff", b"1_000", b"", b'"1"',
)  # fmt: skip
_PIECES = (
    b"\x00", b"\xff", b"\n", b"\r", b":", b" ", b"#", b"[", b"]", b"{", b"}", b",", b'"', b".",
    b"-", b"e", b"\x1b[2J", b"\xef\xbb\xbf", b"\xf0\x9f\x92\xa5", b"[" * 2000, b'{"a":' * 1200,
    b"qid:1", b"PK\x03\x04", b"\x1f\x8b", b"BZh9", b"\xfd7zXZ\x00",
)  # fmt: skip
# Kept as text: a value that was put into a tree may be changed there.
_VALUES = tuple(map(orjson.dumps, (
    None, True, False, 0, 1, -1, 2, 7, 0.5, -0.0, 2**31 - 1, 2**31, 2**53, 2**63 - 1, -(2**63),
    2**64 - 1, 1e300, -1e300, 1.7e308, 5e-324, 1e15, "", "x", "nan", "inf", "1", "two\nlines", [],
    {}, [0], [[]], [[0]], [None], ["x"], [1.5], [0, 1], [1, 0], [-1], [2**40], {"a": 1}, [{}],
    {"type": "array"}, [True], "é💥", "<f8", "object", "V999999999", "U999999999", "datetime64",
)))  # fmt: skip
_TYPES = (
    "<f8", "<f4", "<f2", "<f16", ">f8", "<i8", "<i4", "|i1", "<u8", "|u1", ">i4", "<c16", "|b1",
    "|O", "<U5", "|S3", "|V8", "<M8[s]", "<m8", "f0", "|S0", "<f9", "", "f8, f8",
)  # fmt: skip
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


@dataclass(frozen=True)
class Reader:
    """Something that reads files: valid ones to start from, and what the file must be called."""

    name: str
    file: str
    kind: str
    read: Callable[[Path], object]
    seeds: tuple[bytes, ...]


def verdict(reader: Reader, content: bytes, path: Path) -> str:
    """Give "accepted" or "refused"; whatever else happens is an error of the reader."""
    from qcompile.errors import QcompileError

    path.write_bytes(content)
    try:
        reader.read(path)
    except QcompileError as error:
        if "\n" in str(error) or "\r" in str(error) or len(str(error)) > 2000:
            raise AssertionError(f"not one short line: {str(error)[:200]!r}") from None
        return "refused"
    return "accepted"


@cache
def readers() -> tuple[Reader, ...]:
    """Return all readers, each with small valid files, the same in every run."""
    with tempfile.TemporaryDirectory() as folder:
        makers = (_of_text, _of_tables, _of_polynomials, _of_answers, _of_other_programs, _of_jobs)
        return tuple(reader for make in makers for reader in make(Path(folder)))


Read: TypeAlias = Callable[[Path], object]


def _reader(folder: Path, name: str, read: Read, *saves: Read) -> Reader:
    """Return the reader of the files of that name, with one valid file from each of `saves`."""
    seeds = []
    for number, save in enumerate(saves):
        path = folder / f"{number}-{name}"
        save(path)
        seeds.append(path.read_bytes())
    return Reader(name.replace(".", " "), name, name.rpartition(".")[2], read, tuple(seeds))


def _of_text(folder: Path) -> Iterator[Reader]:
    from qcompile.data.read import read

    texts = (
        b"+1 1:0.5 3:-2e-3 # first\n-1 2:1\n\n1 1:0.1234567890123456789 2:3\n-1 3:7\n",
        b"2 qid:3 0:1 5:2.5\r\n3 1:1e10\r\n2\r\n",
    )
    packers: dict[str, Callable[[bytes], bytes]] = {
        "plain": bytes, "gzip": _gzip, "bzip2": bz2.compress, "xz": _xz,
    }  # fmt: skip
    for name, pack in packers.items():
        yield Reader(f"svmlight {name}", "data.svm", name, read, tuple(map(pack, texts)))


def _of_tables(folder: Path) -> Iterator[Reader]:
    for kind, file in TABLE_KINDS.items():
        yield Reader(f"table {kind}", file, kind, read_broken, table_seeds(kind))


@cache
def _compiled() -> tuple[Any, Any]:
    """Return a problem, and one with terms left out and a price for weights."""
    from qcompile import compile
    from qcompile.data.options import DataOptions
    from qcompile.reduction.quadratize import QuboOptions

    name = "synthetic:examples=20,features=2"
    few = QuboOptions(max_ancillas=1)
    raw = DataOptions(scale="none", bias=False)
    return compile(name, bits=2, data=raw), compile(name, bits=2, data=raw, qubo=few, l0=0.1)


def _of_polynomials(folder: Path) -> Iterator[Reader]:
    from qcompile import load_loss, load_moments, load_pubo, save_loss, save_moments, save_pubo
    from qcompile.files import qubo as qubo_files

    whole, cut = _compiled()
    yield _reader(folder, "loss.json", load_loss, lambda p: save_loss(whole.loss, p))
    yield _reader(
        folder,
        "moments.npz",
        load_moments,
        lambda p: save_moments(whole.moments, p),
    )
    for ending in ("json", "npz"):
        yield _reader(
            folder,
            f"pubo.{ending}",
            load_pubo,
            lambda p: save_pubo(whole.pubo, p),
            lambda p: save_pubo(cut.pubo, p),
        )
        yield _reader(
            folder,
            f"qubo.{ending}",
            qubo_files.load_qubo,
            lambda p: qubo_files.save_qubo(whole.quadratize(), p, pubo=whole.pubo),
            lambda p: qubo_files.save_qubo(cut.quadratize(), p),
        )


def _of_answers(folder: Path) -> Iterator[Reader]:
    from qcompile.embedding.embed import embed
    from qcompile.files.classifier import load_classifier, save_classifier
    from qcompile.files.embedding import load_embedding, save_embedding
    from qcompile.files.machines import load_machine
    from qcompile.files.samples import load_samples, save_samples
    from qcompile.objective.decode import decode
    from qcompile.stages.machine import Machine
    from qcompile.stages.samples import samples_of

    qubo = _compiled()[0].quadratize()
    bits = np.array([[0, 1, 0, 1], [1, 1, 1, 0]], dtype=np.int8)
    samples = samples_of(qubo, bits, info={"solver": "hand"})
    machine = Machine("tiny", "chimera", (2, 2, 4), dead_qubits=frozenset({31}))
    chains = embed(qubo, machine, seed=0).embedding
    model = decode(qubo, samples)
    yield _reader(folder, "machine.toml", load_machine, lambda p: p.write_bytes(_TOML))
    yield _reader(folder, "embedding.json", load_embedding, lambda p: save_embedding(chains, p))
    yield _reader(
        folder,
        "samples.json",
        lambda p: load_samples(p, qubo),
        lambda p: save_samples(samples, p),
        lambda p: p.write_bytes(_with_ancillas(qubo)),
    )
    yield _reader(folder, "model.json", load_classifier, lambda p: save_classifier(model, p))


def _of_other_programs(folder: Path) -> Iterator[Reader]:
    """Return polynomials as dimod, cimod and people write them."""
    from qcompile.files.interchange import read_pubo
    from qcompile.files.interchange_out import write_pubo

    named = read_pubo({("a", "b", "c"): 2.0, ("b",): -1.0, (): 0.5}, vartype="SPIN")
    pairs = read_pubo({(0, 1): 2.0, (1,): -1.0, (): 0.5})
    plain = b'{"terms": {"x,y,z": -1.5, "y": 2}, "vartype": "BINARY", "variables": ["z", "y", "x"]}'
    yield _reader(
        folder,
        "terms.json",
        read_pubo,
        lambda p: write_pubo(named, p, form="terms"),
        lambda p: write_pubo(named, p, form="keys"),
        lambda p: write_pubo(named, p, form="cimod"),
        lambda p: write_pubo(pairs, p, form="bqm"),
        lambda p: p.write_bytes(plain),
    )


def _of_jobs(folder: Path) -> Iterator[Reader]:
    from qcompile.leap.job_store import load_job

    def job_of(path: Path) -> object:
        job = load_job(path.parent)
        return job.states, job.stage

    def part_of(path: Path) -> object:
        (path.parent / "job.json").write_bytes(orjson.dumps(_JOB))
        return load_job(path.parent).states

    yield _reader(folder, "job.json", job_of, lambda p: p.write_bytes(orjson.dumps(_JOB)))
    yield _reader(folder, "part-1.json", part_of, lambda p: p.write_bytes(orjson.dumps(_PART)))


def _gzip(text: bytes) -> bytes:
    return gzip.compress(text, 1, mtime=0)


def _xz(text: bytes) -> bytes:
    return lzma.compress(text, preset=0)


def _with_ancillas(qubo: Any) -> bytes:
    """Return samples of all variables, unpacked, as another program might write them."""
    import dimod

    rows = qubo.complete([[0, 0, 1, 1], [1, 0, 0, 1]])
    found = dimod.SampleSet.from_samples(rows, "BINARY", energy=qubo.energies(rows))
    content = found.to_serializable(pack_samples=False)
    return orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)


_TOML = b"""# a machine
title = "A machine of one's own"
topology = "zephyr"
shape = [3, 4]
[working]
qubits = 300
couplers = 2_000
dead_qubits = [1, 2]
dead_couplers = [[3, 4]]
[ranges]
h = [-4.0, 4.0]
j = [-1.0, 1.0]
extended_j = [-2.0, 1.0]
annealing_time = [0.5, 2000.0]
[precision]
h = 0.02
j = 0.01
[timing]
solver = "mine"
programming = 1e4
delay = 20
readout_time = [17.0, 90.0, 101.0]
readout_qubits = [1, 20, 300]
readout_model = "pwl_linear"
[temperature]
millikelvin = 20.0
effective = 0.1
critical_ghz = 2.0
[source]
name = "a book"
date = 2024-05-01
"""
_JOB: Mapping[str, Any] = {
    "type": "qcompile.job",
    "version": 1,
    "qcompile": "0",
    "id": "20240501-120000-abcd1234",
    "label": "work",
    "created": "2024-05-01T12:00:00+00:00",
    "solver_type": "qpu",
    "solver": {"name": "x", "graph_id": "0"},
    "endpoint": "https://localhost/",
    "account": "0123",
    "parts": [
        {
            "number": 1,
            "label": "work 20240501-120000-abcd1234.1",
            "reads": 10,
            "parameters": {"annealing_time": 20.0},
        }
    ],
    "repair": "majority",
    "chain_strength": 1.5,
    "digests": {"problem.npz": "00"},
    "source": "data.svm",
    "profile": "",
    "region": "",
    "cost": {"seconds": 0.1},
}
_PART: Mapping[str, Any] = {
    "type": "qcompile.job-part",
    "version": 1,
    "qcompile": "0",
    "stage": "waiting",
    "sent": "2024-05-01T12:00:00+00:00",
    "id": "abc-1",
    "doubts": 0,
    "data_id": None,
    "embedding": "embedding.json",
    "message": "",
}


def mutate(rng: random.Random, reader: Reader) -> bytes:
    """Return a file that is almost one of the reader's valid files."""
    content = rng.choice(reader.seeds)
    change = _CHANGES.get(reader.kind)
    if change is not None and rng.random() < 0.75:
        return change(rng, content)
    return _bytes_changed(rng, content)


def _bytes_changed(rng: random.Random, content: bytes) -> bytes:
    for _ in range(_few(rng)):
        content = rng.choice(_BYTE_CHANGES)(rng, content)
    return content


def _few(rng: random.Random) -> int:
    return 1 if rng.random() < 0.6 else rng.randrange(1, 6)


def _span(rng: random.Random, content: bytes) -> tuple[int, int]:
    start = rng.randrange(len(content) + 1)
    return start, min(len(content), start + rng.choice((1, 1, 2, 4, 16, 200)))


def _flip(rng: random.Random, content: bytes) -> bytes:
    if not content:
        return content
    at = rng.randrange(len(content))
    new = content[at] ^ 1 << rng.randrange(8) if rng.random() < 0.5 else rng.randrange(256)
    return content[:at] + bytes((new,)) + content[at + 1 :]


def _insert(rng: random.Random, content: bytes) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + rng.choice(_PIECES) + content[at:]


def _delete(rng: random.Random, content: bytes) -> bytes:
    start, stop = _span(rng, content)
    return content[:start] + content[stop:]


def _duplicate(rng: random.Random, content: bytes) -> bytes:
    start, stop = _span(rng, content)
    return content[:stop] + content[start:stop] * rng.choice((1, 1, 2, 50)) + content[stop:]


def _truncate(rng: random.Random, content: bytes) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _splice(rng: random.Random, content: bytes) -> bytes:
    """Begin with one file and go on with another, perhaps of another kind."""
    other = rng.choice(rng.choice(readers()).seeds)
    return content[: rng.randrange(len(content) + 1)] + other[rng.randrange(len(other) + 1) :]


def _renumber(rng: random.Random, content: bytes) -> bytes:
    return _replace_one(rng, content, _NUMBER, rng.choice(_EXTREME))


def _rename(rng: random.Random, content: bytes) -> bytes:
    words = _WORD.findall(content[:5000]) or [b"x"]
    return _replace_one(rng, content, _WORD, rng.choice((b"x", b"", rng.choice(words))))


def _replace_one(
    rng: random.Random, content: bytes, pattern: re.Pattern[bytes], new: bytes
) -> bytes:
    """Replace the first match from some place on."""
    found = pattern.search(content, rng.randrange(len(content) + 1))
    return content if found is None else content[: found.start()] + new + content[found.end() :]


_BYTE_CHANGES = (
    _flip, _insert, _delete, _duplicate, _truncate, _splice, _renumber, _renumber, _rename,
)  # fmt: skip


def _json_changed(rng: random.Random, content: bytes) -> bytes:
    tree = orjson.loads(content)
    try:
        for _ in range(_few(rng)):
            tree = _tree_changed(rng, tree)
        # not orjson: 3.13 writes past its memory where values are nested deep
        return json.dumps(tree, separators=(",", ":")).encode()
    except RecursionError:
        return b"[" * 500 + content + b"]" * 500


def _tree_changed(rng: random.Random, tree: Any) -> Any:
    """Change one value somewhere in the tree, most often a deep one."""
    parent: Any = None
    key: Any = None
    node = tree
    while isinstance(node, dict | list) and node and (parent is None or rng.random() < 0.8):
        parent = node
        key = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
        node = node[key]
    if parent is None or rng.random() < 0.01:
        return _some_value(rng)
    action = rng.randrange(8)
    if action == 0:
        del parent[key]
    elif action == 1 and isinstance(parent, dict):
        parent[rng.choice((key.upper(), f"{key}x", "", "type"))] = parent.pop(key)
    elif action == 1:
        parent.insert(key, copy.deepcopy(node))
    elif action == 2:
        parent[key] = [node] if rng.random() < 0.5 else {"a": node}
    elif action == 3 and isinstance(node, list):
        parent[key] = rng.choice((node[::-1], node * 2, node[:-1], node * 40, [node]))
    elif action == 4 and isinstance(node, int | float):
        parent[key] = rng.choice((-node, node + 1, node - 1, float(node), str(node), bool(node)))
    elif action == 5:
        parent[key] = _nested(rng.choice((2, 100, 250)))
    else:
        parent[key] = _some_value(rng)
    return tree


def _some_value(rng: random.Random) -> Any:
    return orjson.loads(rng.choice(_VALUES))


def _nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


Member = tuple[str, bytes, bytes, int]


def _npz_changed(rng: random.Random, content: bytes) -> bytes:
    members = _members(content)
    for _ in range(_few(rng)):
        at = rng.randrange(len(members))
        members[at] = _member_changed(rng, *members[at])
        if rng.random() < 0.05:
            del members[rng.randrange(len(members))]
        elif rng.random() < 0.05:
            members.append(rng.choice(members))
        if not members:
            break
    packed = npz_of(members)
    return _directory_changed(rng, packed) if rng.random() < 0.1 else packed


@cache
def _parsed(content: bytes) -> tuple[Member, ...]:
    found = []
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for entry in archive.infolist():
            whole = archive.read(entry)
            start = 10 + int.from_bytes(whole[8:10], "little")
            found.append((entry.filename, whole[:start], whole[start:], zipfile.ZIP_STORED))
    return tuple(found)


def _members(content: bytes) -> list[Member]:
    return list(_parsed(content))


def npz_of(members: list[Member]) -> bytes:
    """Pack (name, header, numbers, compression) into an archive."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, head, body, packing in members:
            entry = zipfile.ZipInfo(name)
            entry.compress_type = packing
            # zipfile warns of names that are there twice, which is what is wanted
            archive.NameToInfo.pop(name, None)
            archive.writestr(entry, head + body)
    return stream.getvalue()


def _member_changed(
    rng: random.Random, name: str, head: bytes, body: bytes, packing: int
) -> Member:
    action = rng.randrange(9)
    if action == 0:
        packing = rng.choice(_COMPRESSIONS)
    elif action == 1:
        head = _described(rng.choice(_TYPES).encode(), _shape(head))
    elif action == 2:
        head = _described(_type(head), rng.choice(_shapes(_shape(head))))
    elif action == 3:
        head = _bytes_changed(rng, head)
    elif action == 4:
        name = rng.choice((name.replace("1", "2"), "x", name.removesuffix(".npy"), "../x.npy", ""))
    elif action == 5 and name == "header.npy" and body in _json_seeds():
        body = _json_changed(rng, body)
        head = _described(b"|u1", b"(%d,)" % len(body))
    elif action == 6 and len(body) >= 8:
        at = 8 * rng.randrange(len(body) // 8)
        body = body[:at] + struct.pack("<d", rng.choice(_FLOATS)) + body[at + 8 :]
    elif action == 7 and len(body) >= 4:
        at = 4 * rng.randrange(len(body) // 4)
        body = body[:at] + struct.pack("<i", rng.choice(_WHOLE)) + body[at + 4 :]
    else:
        body = _bytes_changed(rng, body)
    return name, head, body, packing


_FLOATS = (float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 5e-324, -0.0, 0.0, 1.0, 1e-300)
_WHOLE = (0, 1, -1, 2, 3, 2**31 - 1, -(2**31), 100, 2**30)


@cache
def _json_seeds() -> frozenset[bytes]:
    """Headers that are still JSON."""
    archives = [seed for reader in readers() if reader.kind == "npz" for seed in reader.seeds]
    return frozenset(body for seed in archives for name, _, body, _ in _parsed(seed))


def _type(head: bytes) -> bytes:
    found = re.search(rb"'descr': '([^']*)'", head)
    return found.group(1) if found else b"<f8"


def _shape(head: bytes) -> bytes:
    found = re.search(rb"'shape': (\([^)]*\))", head)
    return found.group(1) if found else b"(1,)"


def _shapes(shape: bytes) -> tuple[bytes, ...]:
    size = int((re.findall(rb"\d+", shape) or [b"1"])[0])
    return (
        b"()", b"(%d, 1)" % size, b"(1, %d)" % size, b"(%d,)" % (size + 1), b"(-1,)", b"(0,)",
        b"(%d,)" % (size * 1000), b"(10**9,)", b"(1000000000000,)", b"(0, 1000000000000000000000)",
        b"(-1, -8)", b"(2, %d)" % (size // 2), b"(%d, 2)" % (size // 2), b"(True,)", b"[3]",
        b"(" + b"1, " * 70 + b"%d)" % size, b"(0.5,)", b"(3L,)", b"-" * 3000 + b"1", b"(" * 250,
    )  # fmt: skip


def _described(kind: bytes, shape: bytes) -> bytes:
    text = b"{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n" % (kind, shape)
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def _directory_changed(rng: random.Random, content: bytes) -> bytes:
    """Lie in the archive's list: sizes, flags, methods, places."""
    at = content.find(b"PK\x01\x02", rng.randrange(len(content)))
    if at < 0:
        return content
    place, size = rng.choice(((8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (42, 4)))
    new = rng.choice((0, 1, 8, 12, 14, 100, 2**16 - 1, 2**31, 2**32 - 1))
    lie = new.to_bytes(8, "little")[:size]
    return content[: at + place] + lie + content[at + place + size :]


def _repacked(pack: Callable[[bytes], bytes]) -> Callable[[random.Random, bytes], bytes]:
    """Change the text, not its compression."""

    def change(rng: random.Random, content: bytes) -> bytes:
        return pack(_bytes_changed(rng, _unpacked(content)))

    return change


def _unpacked(content: bytes) -> bytes:
    if content.startswith(b"BZh"):
        return bz2.decompress(content)
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else lzma.decompress(content)


_CHANGES: dict[str, Callable[[random.Random, bytes], bytes]] = {
    "json": _json_changed,
    "npz": _npz_changed,
    "gzip": _repacked(_gzip),
    "bzip2": _repacked(bz2.compress),
    "xz": _repacked(_xz),
}


def bombs() -> dict[str, tuple[str, Callable[[], bytes]]]:
    """Return small files that ask for much: the reader of each, and how to make it."""
    line = b"1" + b" 1:1" * 10
    found: dict[str, tuple[str, Callable[[], bytes]]] = {
        "rows, gzip": ("svmlight gzip", lambda: _gzip((line[:5] + b"\n") * (1 << 25))),
        "blank lines, xz": ("svmlight xz", lambda: _xz(b"\n" * (1 << 28))),
        "one line of colons": ("svmlight gzip", lambda: _gzip(b"1 " + b":" * (1 << 25))),
        "one line that never ends": ("svmlight bzip2", lambda: bz2.compress(b"1" * (1 << 27))),
        "one number of 32 MB": ("svmlight gzip", lambda: _gzip(b"1 1:0." + b"3" * (1 << 25))),
        "a comment of 256 MB": ("svmlight xz", lambda: _xz(b"#" + b"x" * (1 << 28))),
        "empty gzip members": ("svmlight gzip", lambda: _gzip(b"") * 30_000),
        "a dictionary of 4 GB": ("svmlight xz", _wide_xz),
        "the largest index": ("svmlight plain", lambda: b"1 2147483646:1\n-1 1:1\n"),
        "deep JSON": ("pubo json", lambda: b"[" * 1_000_000),
        "deep objects": ("model json", lambda: b'{"a":' * 500_000),
        "long JSON": ("loss json", lambda: b"[" + b"0," * (1 << 22) + b"0]"),
        "much JSON": ("loss json", lambda: b" " * (1 << 25)),
        "zeros, deflated": ("moments npz", lambda: _npz_bomb(zipfile.ZIP_DEFLATED)),
        "zeros, lzma": ("qubo npz", lambda: _npz_bomb(zipfile.ZIP_LZMA)),
        "many members": ("pubo npz", _many_members),
        "a key of many parts": ("machine toml", lambda: b".".join([b"a"] * 50_000) + b"=1"),
        "a table of many parts": (
            "machine toml",
            lambda: b"[" + b".".join([b"a"] * 20_000) + b"]\n" + b"".join(_lines(20_000)),
        ),
        "an inline key of many parts": (
            "machine toml",
            lambda: b"x={" + b".".join([b"a"] * 120_000) + b"=1}",
        ),
        "a quoted key of many parts": (
            "machine toml",
            lambda: b'"=".' + b".".join([b"a"] * 60_000) + b"=1",
        ),
        "many keys of some parts": ("machine toml", lambda: (b"a ." * 31 + b"a=1\n") * 4_000),
        "many tables": (
            "machine toml",
            lambda: b"".join(b"[a%d.b]\n" % i for i in range(50_000)),
        ),
        "many empty lists": ("machine toml", lambda: b"x=[" + b"[]," * 150_000 + b"]"),
        "one very wide term": ("terms json", lambda: b"[[%s,1.0]]" % str([*range(900)]).encode()),
        "deep TOML": ("machine toml", lambda: b"shape=" + b"[" * 100_000),
        "a number of many digits": (
            "machine toml",
            lambda: _TOML.replace(b"[3, 4]", b"[0x" + b"f" * 20_000 + b"]"),
        ),
        "much TOML": ("machine toml", lambda: b"#\n" * (1 << 25)),
        "many weights": ("pubo json", lambda: _many_weights(2_000_000_000)),
        "more weights": ("pubo json", lambda: _many_weights(10**18)),
        "the largest machine": ("embedding json", _largest_machine),
        "wide texts in samples": ("samples json", lambda: _wide_samples("U400000000")),
        "wide items in samples": ("samples json", lambda: _wide_samples("V2000000000")),
        "samples of no rows": ("samples json", _empty_samples),
    }
    return found | table_bombs()


def _lines(count: int) -> list[bytes]:
    return [b"k%d=1\n" % i for i in range(count)]


def _seed_of(name: str) -> bytes:
    return next(reader for reader in readers() if reader.name == name).seeds[0]


def _wide_xz() -> bytes:
    """Return a file whose unpacking needs a dictionary of 4 GB, or so it says."""
    content = bytearray(_xz(b"1 1:1\n"))
    # the size stands in one byte of the block's header, which ends in a check sum
    content[content.index(b"\x21\x01", 12) + 2] = 40
    end = 12 + 4 * content[12]
    content[end : end + 4] = zlib.crc32(content[12:end]).to_bytes(4, "little")
    return bytes(content)


def _npz_bomb(packing: int) -> bytes:
    size = 1 << 28
    head = _described(b"|u1", b"(%d,)" % size)
    return npz_of([("header.npy", head, bytes(size), packing)])


def _many_members() -> bytes:
    head = _described(b"<f8", b"(0,)")
    return npz_of([(f"a{i}.npy", head, b"", zipfile.ZIP_STORED) for i in range(20_000)])


def _many_weights(variables: int) -> bytes:
    content = orjson.loads(_seed_of("pubo json"))
    content["variables"] = variables
    content["encoding"] |= {"features": variables // 2, "bits": 2, "bounds": None}
    return orjson.dumps(content)


def _largest_machine() -> bytes:
    content = orjson.loads(_seed_of("embedding json"))
    content["machine"] |= {"topology": "zephyr", "shape": [40, 8], "dead_qubits": []}
    return orjson.dumps(content)


def _wide_samples(kind: str) -> bytes:
    content = orjson.loads(_seed_of("samples json"))
    content["vectors"]["extra"] = {
        "type": "array", "data": ["a", "b"], "data_type": kind, "shape": [2], "use_bytes": False,
    }  # fmt: skip
    return orjson.dumps(content)


def _empty_samples() -> bytes:
    content = orjson.loads(_seed_of("samples json"))
    content["sample_data"] |= {"data": [], "shape": [1_000_000, 0]}
    content |= {"num_rows": 1, "num_variables": 4_000}
    return orjson.dumps(content)
