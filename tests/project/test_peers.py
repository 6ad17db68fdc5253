"""The judge of the peers' benchmark, and what is read off their models."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from benchmarks.peers.apart import run_apart
from benchmarks.peers.problems import complete, sparse
from benchmarks.peers.reducers import REDUCERS, Quadratic
from benchmarks.peers.reduction import keeps_minimum

pytestmark = pytest.mark.slow


def test_problems_are_what_they_say() -> None:
    assert len(complete(6, 3)) == 6 + 15 + 20
    assert complete(6, 3) == complete(6, 3) != complete(6, 3, seed=1)
    terms = sparse(10, 7, 4)
    assert len(terms) == 7
    assert {len(set(term)) for term in terms} == {4}


def test_the_judge_tells_true_from_false() -> None:
    """x0 x1 x2 - x0 with a good penalty, with one that is too weak, and with a wrong offset."""
    terms = {(0, 1, 2): 1.0, (0,): -1.0, (1,): -0.6, (2,): -0.6}

    def reduced(strength: float, offset: float = 0.0) -> Quadratic:
        penalty = {(0, 1): 1.0, (0, 3): -2.0, (1, 3): -2.0, (3,): 3.0}
        made = {key: strength * value for key, value in penalty.items()}
        made |= {(2, 3): 1.0, (0,): -1.0, (1,): -0.6, (2,): -0.6}
        return Quadratic(4, offset, made)

    assert keeps_minimum(terms, reduced(1.0))
    assert not keeps_minimum(terms, reduced(0.1))
    assert not keeps_minimum(terms, reduced(1.0, offset=0.5))
    # the minimum is right, but another state reaches it too
    lazy = Quadratic(1, 0.0, {})
    assert not keeps_minimum({(0,): 1.0}, lazy)
    assert keeps_minimum({(0,): 1.0}, Quadratic(1, 0.0, {(0,): 0.5}))


@pytest.mark.parametrize("peer", REDUCERS)
def test_models_are_read_off_truly(peer: str) -> None:
    """With strengths that suffice everybody keeps the minimum: nothing was mixed up.

    Variables 0 and 3 do not occur: some peers number the others anew then.
    """
    module, model, read = REDUCERS[peer]
    if find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    for seed in range(3):
        own = (5, 1, 2, 6, 4)
        chosen = sparse(5, 4, 3, seed)
        terms = {tuple(sorted(own[v] for v in term)): c / 50 for term, c in chosen.items()}
        terms |= {(v,): 0.001 * (-1) ** v * (v + 1) for v in own}
        reduced = read(model(terms), terms)
        assert all(len(term) <= 2 for term in reduced.terms)
        assert keeps_minimum(terms, reduced)


def _sleepy(seconds: float) -> object:
    import time

    return lambda: time.sleep(seconds)


def _hungry(megabytes: int) -> object:
    return lambda: len(b"x" * (megabytes * 1_000_000))


def _broken() -> object:
    raise ValueError("no such thing")


def test_peers_run_apart() -> None:
    assert run_apart(_sleepy, 60.0, limit=2.0).trouble == "more than 2 s"
    assert run_apart(_broken, limit=30.0).trouble == "ValueError: no such thing"
    found = run_apart(_hungry, 200, limit=30.0)
    assert found.value == 200_000_000
    assert 150 < found.megabytes < 300
