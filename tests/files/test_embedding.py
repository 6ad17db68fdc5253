from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import dimod
import pytest

from qcompile import (
    Embedded,
    Embedding,
    InputError,
    Pubo,
    QcompileError,
    Qubo,
    find_copies,
    load_embedding,
    load_embeddings,
    load_machine,
    make_program,
    quadratize,
    save_embedding,
    save_embeddings,
    with_chains,
)
from qcompile.files.target import save_target


def test_an_embedding_comes_back_whole(embedded: Embedded, tmp_path: Path) -> None:
    path = tmp_path / "embedding.json"
    save_embedding(embedded.embedding, path)
    back = load_embedding(path)
    assert back.chains == embedded.embedding.chains
    assert back.machine == embedded.embedding.machine
    assert back.machine.graph_id == embedded.embedding.machine.graph_id
    assert (back.method, back.seed, back.problem) == (
        "biclique",
        3,
        embedded.embedding.problem,
    )
    assert back.options["tries"] == 4
    first = path.read_bytes()
    save_embedding(back, path)
    assert path.read_bytes() == first


def test_what_is_published_of_the_machine_comes_back(embedded: Embedded, tmp_path: Path) -> None:
    known = load_machine("advantage2")
    machine = replace(
        embedded.embedding.machine,
        timing=known.timing,
        temperature=known.temperature,
        fast_anneal_time_range=known.fast_anneal_time_range,
        num_reads_range=known.num_reads_range,
    )
    path = tmp_path / "embedding.json"
    save_embedding(replace(embedded.embedding, machine=machine), path)
    assert load_embedding(path).machine == machine
    # a file of an earlier version has nothing of this
    content = json.loads(path.read_text())
    for name in ("timing", "temperature", "fast_anneal_time_range", "num_reads_range"):
        del content["machine"][name]
    path.write_text(json.dumps(content))
    assert load_embedding(path).machine == embedded.embedding.machine


def test_the_target_opens_with_dimod(embedded: Embedded, tmp_path: Path) -> None:
    for name in ("target.json", "target.bqm"):
        save_target(embedded, tmp_path / name)
    content = json.loads((tmp_path / "target.json").read_text())
    assert dimod.BinaryQuadraticModel.from_serializable(content) == embedded.to_bqm()
    assert content["info"]["chain_strength"] == embedded.chain_strength
    with (tmp_path / "target.bqm").open("rb") as stream:
        assert dimod.BinaryQuadraticModel.from_file(stream) == embedded.to_bqm()
    with pytest.raises(QcompileError, match=r"\.json or \.bqm"):
        save_target(embedded, tmp_path / "target.txt")


def _change(content: dict[str, Any], path: str, value: Any) -> None:
    *way, last = path.split(".")
    for step in way:
        content = content[int(step)] if isinstance(content, list) else content[step]
    if isinstance(content, list):
        content[int(last)] = value
    else:
        content[last] = value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("type", "qcompile.loss"),
        ("version", 99),
        ("graph_id", "0" * 32),
        ("chains", 7),
        ("machine.qubits", "many"),
        ("machine.couplers", 2.5),
        ("machine.shape", ["4"]),
        ("machine.dead_qubits", ["3"]),
        ("machine.date", 7),
        ("machine.precision", ["0.1", "0.1"]),
        ("chains.0", [1, [3]]),
        ("chains.0.1", ["a"]),
        ("chains.0.1", [-4]),
        ("chains.0.1", 5),
        ("machine.shape", [1000000]),
        ("machine.topology", "torus"),
        ("machine.dead_qubits", [10**9]),
        ("machine.h_range", [0, 0]),
        ("machine.h_range", None),
        ("machine.j_range", ["a", "b"]),
        ("machine.j_range", [1, -1]),
        ("machine.precision", [0.1]),
        ("machine.precision", [0.1, -1]),
        ("machine.timing", 7),
        ("machine.timing", {"solver": "mine"}),
        ("machine.timing.readout_time", [[1, 2], 3]),
        ("machine.timing.programming", "fast"),
        ("machine.timing.colour", 1),
        ("machine.temperature", [20, 0.1]),
        ("machine.temperature", {"millikelvin": 20.0, "effective": -0.1}),
        ("machine.fast_anneal_time_range", [2, 1]),
        ("machine", {}),
        ("machine", None),
        ("seed", "many"),
    ],
)
def test_a_hostile_file_is_refused_by_name(
    embedded: Embedded, tmp_path: Path, path: str, value: Any
) -> None:
    file = tmp_path / "embedding.json"
    published = load_machine("advantage2").timing
    machine = replace(embedded.embedding.machine, timing=published)
    save_embedding(replace(embedded.embedding, machine=machine), file)
    content = json.loads(file.read_text())
    _change(content, path, value)
    file.write_text(json.dumps(content))
    with pytest.raises(QcompileError, match=r"embedding\.json"):
        load_embedding(file)


def test_a_file_cut_anywhere_is_refused(embedded: Embedded, tmp_path: Path) -> None:
    file = tmp_path / "embedding.json"
    save_embedding(embedded.embedding, file)
    whole = file.read_bytes()
    for size in range(0, len(whole) - 2, 97):
        file.write_bytes(whole[:size])
        with pytest.raises(QcompileError, match=r"embedding\.json"):
            load_embedding(file)


@pytest.fixture(scope="module")
def small() -> Qubo:
    return quadratize(Pubo.from_dict({(0, 1, 2): 1.0, (0, 3): -2.0, (1,): 0.5}))


@pytest.fixture(scope="module")
def copies(small: Qubo) -> tuple[Embedding, ...]:
    return find_copies(small, load_machine("chimera4").without([40]), copies=2)


def test_copies_come_back_whole(copies: tuple[Embedding, ...], tmp_path: Path) -> None:
    file = tmp_path / "copies.json"
    save_embeddings(copies, file)
    assert load_embeddings(file) == copies
    assert load_embedding(file) == copies[0]  # what a reader of one embedding gets
    # a file of one embedding is as before
    save_embeddings(copies[:1], file)
    first = file.read_bytes()
    save_embedding(copies[0], file)
    assert file.read_bytes() == first and b'copies":[' not in first
    with pytest.raises(InputError, match="at least one"):
        save_embeddings((), file)


def test_the_target_of_copies_is_all_of_them(
    small: Qubo, copies: tuple[Embedding, ...], tmp_path: Path
) -> None:
    program = make_program([with_chains(small, one) for one in copies])
    save_target(program, tmp_path / "target.json")
    content = json.loads((tmp_path / "target.json").read_text())
    bqm = dimod.BinaryQuadraticModel.from_serializable(content)
    assert set(bqm.variables) == {q for one in copies for chain in one.chains for q in chain}
    assert [pair[1] for pair in content["info"]["copies"][0]] == [list(c) for c in copies[1].chains]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("copies", 7, "list of lists"),
        ("copies.0", [], "copy 2 has 0 chains"),
        ("copies.0.0", [0, ["a"]], "chain 0"),
        ("copies.0.0", "own", "copy 2 uses qubit"),
    ],
)
def test_a_hostile_file_of_copies_is_refused(
    copies: tuple[Embedding, ...], tmp_path: Path, path: str, value: Any, message: str
) -> None:
    file = tmp_path / "copies.json"
    save_embeddings(copies, file)
    content = json.loads(file.read_text())
    _change(content, path, content["chains"][0] if value == "own" else value)
    file.write_text(json.dumps(content))
    with pytest.raises(QcompileError, match=rf"copies\.json: .*{message}"):
        load_embeddings(file)
