from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import FormatError, InputError, Pubo, descend, load_samples, quadratize, save_samples
from qcompile.stages.samples import Samples, samples_of
from tests.problems import polynomial


def drawn(pubo: Pubo, rows: int, seed: int = 0) -> Samples:
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (rows, pubo.variables)).astype(np.int8)
    return samples_of(pubo, bits, occurrences=rng.integers(1, 4, rows), info={"solver": "me"})


def energy(terms: dict[tuple[int, ...], float], bits: list[int]) -> float:
    return sum(value for term, value in terms.items() if all(bits[i] for i in term))


@settings(max_examples=25, deadline=None)
@given(bits=st.integers(1, 8), degree=st.integers(1, 4), seed=st.integers(0, 99))
def test_no_flip_of_a_bit_lowers_the_energy(bits: int, degree: int, seed: int) -> None:
    """Every neighbour of every sample, by the terms themselves."""
    pubo = polynomial(bits, degree, share=0.7, seed=seed)
    terms = pubo.to_dict()
    given_ = drawn(pubo, 12, seed)
    found = descend(pubo, given_)
    for row, value in zip(found.bits.tolist(), found.energies, strict=True):
        assert energy(terms, row) == pytest.approx(value, abs=1e-9)
        for i in range(bits):
            flipped = [*row[:i], 1 - row[i], *row[i + 1 :]]
            assert energy(terms, flipped) >= value - 1e-9
    assert found.occurrences.sum() == given_.occurrences.sum()
    assert (np.diff(found.energies) >= 0).all()
    assert len(np.unique(found.bits, axis=0)) == len(found)
    assert found.before is not None and (found.before >= found.energies - 1e-9).all()
    mean = np.average(given_.energies, weights=given_.occurrences)
    assert np.average(found.before, weights=found.occurrences) == pytest.approx(mean, abs=1e-9)
    assert found.info["mean_energy_before"] == pytest.approx(mean, abs=1e-9)
    assert found.info["solver"] == "me" and found.info["post"] == "descent"


def test_a_qubo_is_descended_on_its_polynomial() -> None:
    """Ancillas do not hold bits: the same as on the polynomial."""
    pubo = polynomial(7, 3)
    qubo = quadratize(pubo)
    one, two = descend(pubo, drawn(pubo, 30)), descend(qubo, drawn(pubo, 30))
    assert one.bits.tolist() == two.bits.tolist()
    assert two.energies == pytest.approx(qubo.score(two.bits))


def test_a_local_minimum_stays() -> None:
    pubo = Pubo.from_dict({(0, 1): -3.0, (0,): 1.0, (1,): 1.0, (2,): -1.0})
    found = descend(pubo, samples_of(pubo, np.array([[0, 0, 1], [1, 1, 1]], dtype=np.int8)))
    assert found.bits.tolist() == [[1, 1, 1], [0, 0, 1]]
    assert found.info["reads_lowered"] == 0
    again = descend(pubo, found)
    assert again.bits.tolist() == found.bits.tolist()


def test_energies_before_are_in_the_file(tmp_path: Path) -> None:
    pubo = polynomial(6, 3)
    found = descend(pubo, drawn(pubo, 20))
    save_samples(found, tmp_path / "samples.json")
    read = load_samples(tmp_path / "samples.json", pubo)
    assert read.before is not None and found.before is not None
    assert read.before == pytest.approx(found.before)
    plain = drawn(pubo, 3)
    save_samples(plain, tmp_path / "plain.json")
    assert load_samples(tmp_path / "plain.json", pubo).before is None
    import dimod
    import orjson

    content = orjson.loads((tmp_path / "samples.json").read_bytes())
    ocean = dimod.SampleSet.from_serializable(content)
    assert ocean.record.energy_before_descent == pytest.approx(found.before)
    content["vectors"]["energy_before_descent"]["data"][0] -= 100
    (tmp_path / "wrong.json").write_bytes(orjson.dumps(content))
    with pytest.raises(FormatError, match="energy_before_descent"):
        load_samples(tmp_path / "wrong.json", pubo)


def test_samples_of_another_problem_are_refused() -> None:
    with pytest.raises(InputError, match="samples of 4 bits; the polynomial has 3"):
        descend(polynomial(3, 2), drawn(polynomial(4, 2), 2))
