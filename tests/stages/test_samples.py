from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from qcompile import compile, load_samples, save_samples
from qcompile.stages.arrays import frozen
from qcompile.stages.samples import Samples, merged, samples_of
from tests.problems import polynomial


def test_the_lowest_count_what_is_equal() -> None:
    pubo = polynomial(4, 2)
    rows = np.array([[0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 0, 1]], dtype=np.int8)
    energies = pubo.energies(rows)
    broken = np.array([0.2, 0.5, 0.0])
    one = Samples(rows, energies, np.zeros(3, int), np.array([1, 2, 3]), broken, np.arange(3))
    low = one.lowest(10)
    times = {tuple(bits): count for bits, count in zip(low.bits, low.occurrences, strict=True)}
    assert times == {(0, 0, 0, 1): 4, (1, 0, 0, 0): 2}
    breaks = {tuple(bits): share for bits, share in zip(low.bits, low.chain_breaks, strict=True)}
    assert breaks == {(0, 0, 0, 1): 0.05, (1, 0, 0, 0): 0.5}
    assert low.chain_break_fraction == pytest.approx(one.chain_break_fraction)
    assert (np.diff(low.energies) >= 0).all()
    assert one.lowest(1).energies.tolist() == [energies.min()]


def test_reads_with_broken_chains_and_wrong_ancillas_are_counted(tmp_path: Path) -> None:
    """Equal states of different reads: each read counts for itself, in a file as well."""
    qubo = compile("breast-cancer", bits=2, features=3, scale="standard", bias=False).quadratize()
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 2, (60, qubo.variables), dtype=np.int8)
    rows[:, : qubo.logical] = rows[np.arange(60) % 4, : qubo.logical]
    bits, violations = qubo.restrict(rows)
    times = rng.integers(1, 4, 60)
    found = samples_of(qubo, bits, occurrences=times, violations=violations)
    breaks = rng.choice([0.0, 0.25], 60)
    broken = frozen(np.where(breaks > 0, times, 0), np.int64)
    found = replace(found, chain_breaks=frozen(breaks), broken=broken)
    both = merged([found, found], {}).lowest(100)
    assert both.wrong is not None and both.broken is not None
    for state, wrong, torn in zip(both.bits, both.wrong, both.broken, strict=True):
        mine = (bits == state).all(axis=1)
        assert wrong == 2 * times[mine & (violations > 0)].sum()
        assert torn == 2 * times[mine & (breaks > 0)].sum()
    save_samples(both, tmp_path / "samples.json")
    back = load_samples(tmp_path / "samples.json", qubo)
    assert back.wrong is not None and back.wrong.tolist() == both.wrong.tolist()
    assert back.broken is not None and back.broken.tolist() == both.broken.tolist()
    # what nobody counted is not made up, unless every row is one read
    assert replace(both, broken=None, wrong=None).reads_with_broken_chain is None
    assert merged([both, replace(both, wrong=None)], {}).lowest(9).wrong is None
    single = replace(found, occurrences=frozen(np.ones(60), np.int64), broken=None, wrong=None)
    counted = single.lowest(100)
    assert counted.broken is not None and counted.broken.sum() == np.count_nonzero(breaks)
    assert counted.wrong is not None and counted.wrong.sum() == np.count_nonzero(violations)
