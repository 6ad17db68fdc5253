"""Every format that is written for another program is read back by that program, number by number.

The numbers range from 1e-300 to 1e22: text with and without exponents, integers, and signs.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import dimod
import numpy as np
import orjson
import pytest
from dimod.serialization import coo
from dwave.samplers import SimulatedAnnealingSampler
from dwave.system import FixedEmbeddingComposite
from dwave.system.testing import MockDWaveSampler

from qcompile import (
    Pubo,
    Qubo,
    embed,
    load_machine,
    quadratize,
    read_pubo,
    save_embedding,
    save_qubo,
    solve,
)
from qcompile.files.interchange_out import to_bqm, to_dimod, write_pubo
from qcompile.files.samples import save_samples
from qcompile.files.target import save_target
from qcompile.stages.arrays import frozen

VALUES = (1e-05, -2.5e-07, 1e22, -3.0, 1e-300, 0.1, 1.7976931348623157e16, -5e-17, 2.0)


def wide(count: int, start: int = 0) -> np.ndarray[Any, Any]:
    return np.array([VALUES[(start + i) % len(VALUES)] for i in range(count)])


def wide_qubo() -> Qubo:
    """Return a QUBO of three bits and one ancilla whose coefficients have all sizes."""
    made = quadratize(Pubo.from_dict({(0, 1, 2): -3.0, (0, 1): 1.0, (0,): 1.0, (1,): 1.0}))

    return replace(
        made,
        offset=0.0,
        linear=frozen(wide(made.variables)),
        quadratic=frozen(wide(len(made.first), made.variables)),
    )


def from_qbsolv(path: Path) -> Any:
    """Read what qbsolv's description of its format says, independently of the writer."""
    lines = [line.split() for line in path.read_text().splitlines() if not line.startswith("c")]
    (p, kind, _, most, diagonal, pairs), *entries = lines
    assert (p, kind) == ("p", "qubo")
    nodes = [e for e in entries if e[0] == e[1]]
    couplers = [e for e in entries if e[0] != e[1]]
    assert entries == nodes + couplers
    assert (len(nodes), len(couplers)) == (int(diagonal), int(pairs))
    assert all(int(i) < int(j) < int(most) for i, j, _ in couplers)
    linear = {int(i): float(v) for i, _, v in nodes}
    quadratic = {(int(i), int(j)): float(v) for i, j, v in couplers}
    return dimod.BinaryQuadraticModel(linear, quadratic, 0.0, "BINARY")


def from_lp(path: Path) -> Any:
    """Read by dimod's parser; the variable `one` carries the offset."""
    objective = dimod.lp.load(str(path)).objective
    bqm = dimod.BinaryQuadraticModel("BINARY")
    for name in objective.variables:
        if name != "one":
            bqm.add_linear(int(name[1:]), objective.get_linear(name))
    for a, b, value in objective.iter_quadratic():
        bqm.add_quadratic(int(a[1:]), int(b[1:]), value)
    bqm.offset = objective.get_linear("one")
    return bqm


def from_numpy(path: Path) -> Any:
    with np.load(path, allow_pickle=False) as arrays:
        header = json.loads(arrays["header"].tobytes())
        return dimod.BinaryQuadraticModel.from_numpy_vectors(
            arrays["linear"],
            (arrays["first"], arrays["second"], arrays["quadratic"]),
            header["offset"],
            dimod.BINARY,
        )


def _opened(path: Path, mode: str, read: Callable[[Any], Any]) -> Any:
    with path.open(mode) as stream:
        return read(stream)


READERS: dict[str, Callable[[Path], Any]] = {
    ".coo": lambda path: _opened(path, "r", coo.load),
    ".qubo": from_qbsolv,
    ".lp": from_lp,
    ".bqm": lambda path: _opened(path, "rb", dimod.BinaryQuadraticModel.from_file),
    ".json": lambda path: dimod.BinaryQuadraticModel.from_serializable(
        json.loads(path.read_text())
    ),
    ".npz": from_numpy,
}


def test_every_ending_of_a_qubo_has_a_reader_here() -> None:
    from qcompile.files.qubo import ENDINGS

    assert set(READERS) == set(ENDINGS)


@pytest.mark.parametrize("ending", READERS)
def test_a_qubo_is_read_to_the_last_bit(ending: str, tmp_path: Path) -> None:
    qubo = wide_qubo()
    path = tmp_path / f"q{ending}"
    save_qubo(qubo, path)
    back, own = READERS[ending](path), qubo.to_bqm()
    assert dict(back.linear) == dict(own.linear)
    assert back.num_interactions == own.num_interactions
    for (a, b), value in own.quadratic.items():
        assert back.get_quadratic(a, b) == value
    assert back.offset == own.offset


def wide_terms() -> dict[tuple[str, ...], float]:
    terms = [("a", "b"), ("b", "c"), ("a", "c"), ("a",), ("b",), ("c",), ()]
    return dict(zip(terms, VALUES, strict=False))


def test_polynomials_are_read_to_the_last_bit(tmp_path: Path) -> None:
    terms = wide_terms()
    pubo = read_pubo(terms)
    write_pubo(pubo, tmp_path / "bqm.json", form="bqm")
    back = dimod.BinaryQuadraticModel.from_serializable(
        json.loads((tmp_path / "bqm.json").read_text())
    )
    assert back == to_bqm(pubo)
    assert back.get_quadratic("a", "b") == 1e-05 and back.offset == terms[()]
    assert dict(to_dimod(pubo)) == {frozenset(term): value for term, value in terms.items()}
    for form in ("terms", "keys"):
        write_pubo(pubo, tmp_path / "t.json", form=form)
        listed = json.loads((tmp_path / "t.json").read_text())["terms"]
        if form == "keys":
            listed = [[key.split(",") if key else [], value] for key, value in listed.items()]
        assert {tuple(members): value for members, value in listed} == terms


def test_cimod_reads_a_cubic_to_the_last_bit(tmp_path: Path) -> None:
    cimod = pytest.importorskip("cimod")
    terms = {**wide_terms(), ("a", "b", "c"): -5e-17}
    write_pubo(read_pubo(terms), tmp_path / "c.json", form="cimod")
    back = cimod.BinaryPolynomialModel.from_serializable(
        json.loads((tmp_path / "c.json").read_text())
    )
    assert {tuple(sorted(k)): v for k, v in back.get_polynomial().items()} == terms


def test_samples_are_read_by_dimod(tmp_path: Path) -> None:
    pubo = read_pubo({("a", "b"): -1.5e-05, ("a",): 1e-300, (): 0.25})
    found = solve(pubo, solver="exact", keep=4)
    save_samples(found, tmp_path / "s.json", problem=pubo)
    back = dimod.SampleSet.from_serializable(orjson.loads((tmp_path / "s.json").read_bytes()))
    dimod.testing.assert_sampleset_energies(back, to_dimod(pubo), precision=20)
    assert back.record.energy.tolist() == found.energies.tolist()


def test_chains_and_targets_are_taken_by_ocean(tmp_path: Path) -> None:
    machine = load_machine("chimera4")
    qubo = quadratize(Pubo.from_dict({(0, 1, 2): -4.0, (0,): 1.0, (1, 2): 1e-05}))
    embedded = embed(qubo, machine)
    save_embedding(embedded.embedding, tmp_path / "e.json")
    save_target(embedded, tmp_path / "t.json")
    mock = MockDWaveSampler(
        topology_type="chimera",
        topology_shape=[4, 4, 4],
        substitute_sampler=SimulatedAnnealingSampler(),
        substitute_kwargs={"seed": 1},
    )
    chains = dict(json.loads((tmp_path / "e.json").read_text())["chains"])
    answer = FixedEmbeddingComposite(mock, chains).sample(qubo.to_bqm(), num_reads=20)
    dimod.testing.assert_sampleset_energies(answer, qubo.to_bqm())
    assert answer.first.energy == pytest.approx(-3.0 + 1e-05, abs=1e-12)
    target = dimod.BinaryQuadraticModel.from_serializable(
        json.loads((tmp_path / "t.json").read_text())
    )
    assert mock.sample(target, num_reads=20).first.energy == pytest.approx(-3.0 + 1e-05, abs=1e-9)
