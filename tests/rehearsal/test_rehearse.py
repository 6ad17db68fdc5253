from __future__ import annotations

from dataclasses import replace
from typing import Any

import dimod
import numpy as np
import pytest

from qcompile import (
    Dataset,
    Embedding,
    InputError,
    Qubo,
    compile,
    embed,
    load_machine,
    prepare,
    quadratize,
    read,
    rehearse,
)
from qcompile.rehearsal.rehearse import with_published_yield
from qcompile.rehearsal.sampled import sample_draw
from qcompile.solvers.noise import anneal_noisily
from tests.by_brute_force import brute_force
from tests.problems import cubic, polynomial

QUICK: dict[str, Any] = {"draws": 2, "reads": 20, "factors": (0.5, 1.0)}


@pytest.fixture(scope="module")
def rows() -> Dataset:
    return prepare(read("breast-cancer"), scale="standard", features=3, bias=True)


@pytest.fixture(scope="module")
def qubo(rows: Dataset) -> Qubo:
    return compile(rows, bits=2, order=3).quadratize()


@pytest.fixture(scope="module")
def chains(qubo: Qubo) -> Embedding:
    return embed(qubo, "pegasus4").embedding


def test_without_errors_and_cold_every_read_of_a_simple_problem_is_the_best() -> None:
    fields = quadratize(polynomial(6, 1))
    found = rehearse(fields, "chimera4", errors=0.0, beta=1000.0, **QUICK)
    (one,) = found.chosen
    assert found.best_energy == pytest.approx(brute_force(polynomial(6, 1)).min())
    assert found.best_by == "exact" and found.sigma_h == found.sigma_j == 0
    assert one.best.mean == 1 and one.best.spread == one.broken.mean == one.mean_above.mean == 0
    assert one.reads_for_best == one.reads_within == 1


def test_more_errors_and_more_heat_cost_more(qubo: Qubo, rows: Dataset, chains: Embedding) -> None:
    how = {**QUICK, "data": rows, "embedding": chains}
    still = rehearse(qubo, "pegasus4", errors=0.0, beta=(0.2, 20.0), **how)
    hot, cold = still.chosen
    assert hot.beta == 0.2 and hot.mean_above.mean > 3 * cold.mean_above.mean
    assert hot.best.mean < cold.best.mean
    rough = rehearse(qubo, "pegasus4", errors=60.0, beta=20.0, **how)
    assert rough.chosen[0].mean_above.mean > 3 * cold.mean_above.mean
    assert rough.chosen[0].mean_above.spread > 0


def test_figures_follow_from_the_reads(
    qubo: Qubo, rows: Dataset, chains: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Count once more from what the engine gave, with Ocean's own majority vote."""
    from dwave.embedding import unembed_sampleset

    seen: list[tuple[np.ndarray, Any]] = []
    original = sample_draw

    def noted(embedded: Any, models: Any, factors: Any, **how: Any) -> Any:
        def states(*values: Any, **more: Any) -> Any:
            found = anneal_noisily(*values, **more)
            seen.append((found, embedded))
            return found

        monkeypatch.setattr("qcompile.rehearsal.sampled.anneal_noisily", states)
        return original(embedded, models, factors, **how)

    monkeypatch.setattr("qcompile.rehearsal.rehearse.sample_draw", noted)
    options: dict[str, Any] = {"draws": 1, "reads": 40, "factors": (1.0,), "embedding": chains}
    found = rehearse(qubo, "pegasus4", data=rows, beta=1.0, errors=10.0, **options)
    (states, embedded), *_ = seen
    target = dimod.SampleSet.from_samples_bqm((states, embedded.qubits.tolist()), embedded.to_bqm())
    logical = unembed_sampleset(target, embedded.embedding.to_ocean(), qubo.to_bqm())
    columns = [logical.variables.index(v) for v in range(qubo.logical)]
    bits = (np.asarray(logical.record.sample)[:, columns] > 0).astype(np.int8)
    energies = qubo.score(bits)
    draw = found.tried[0].draws[0]
    above = energies - found.best_energy
    assert draw.best == np.mean(np.abs(above) < 1e-9)
    assert draw.mean_above == pytest.approx(above.mean()) and above.mean() > 0
    assert draw.lowest_above == pytest.approx(above.min(), abs=1e-12)
    lowest = rows.error(qubo.decode(bits[int(np.argmin(energies))]))
    assert found.best_error is not None
    assert draw.error_above == pytest.approx(lowest - found.best_error)


def test_draws_differ_and_a_seed_repeats_them_on_any_number_of_cores(
    qubo: Qubo, chains: Embedding
) -> None:
    from qcompile.runtime.threads import at_most

    how = {**QUICK, "embedding": chains, "beta": 3.0, "errors": 10.0}
    with at_most(1):
        one = rehearse(qubo, "pegasus4", **how)
    again, other = (rehearse(qubo, "pegasus4", seed=seed, **how) for seed in (0, 1))
    assert one == again and one.tried != other.tried
    assert one.tried[0].draws[0] != one.tried[0].draws[1]


def test_the_strength_whose_lowest_reads_are_best_is_chosen(qubo: Qubo, chains: Embedding) -> None:
    found = rehearse(
        qubo,
        "pegasus4",
        beta=(1.0, 4.0),
        draws=2,
        reads=20,
        factors=(2.0, 0.001, 1.0),
        embedding=chains,
    )
    assert [one.factor for one in found.tried] == [0.001, 1.0, 2.0] * 2
    for one, beta in zip(found.chosen, (1.0, 4.0), strict=True):
        rivals = [other for other in found.tried if other.beta == beta]
        assert one.beta == beta
        assert one.lowest_by_reads[-1][1] == min(r.lowest_by_reads[-1][1] for r in rivals)
        assert max(rivals, key=lambda r: r.broken.mean).factor == 0.001


def test_published_numbers_of_dead_qubits_are_drawn_unless_they_are_known() -> None:
    machine = replace(load_machine("pegasus4"), qubits=250, couplers=1400)
    drawn = with_published_yield(machine, seed=2)
    assert len(drawn.nodes) == 250 and len(drawn.edges) == 1400
    known = machine.without([int(machine.nodes[0])])
    assert with_published_yield(known, seed=2) is known
    problem = quadratize(polynomial(4, 2))
    found = rehearse(problem, machine, beta=5.0, **QUICK)
    assert found.working_qubits == 250
    whole = rehearse(problem, machine, beta=5.0, draw_dead=False, **QUICK)
    assert whole.working_qubits == 264
    chains = embed(problem, drawn).embedding
    assert rehearse(problem, drawn, embedding=chains, beta=5.0, **QUICK).qubits == chains.qubits


def test_other_bits_are_compiled_from_the_rows_and_compared(qubo: Qubo, rows: Dataset) -> None:
    found = rehearse(qubo, "pegasus4", data=rows, beta=5.0, compare_bits=True, **QUICK)
    assert [one.bits for one in found.bits] == [1, 2, 3]
    assert found.bits[1].best_error == found.best_error
    for one in (found.bits[0], found.bits[2]):
        made = compile(rows, bits=one.bits, order=3)
        pubo = made.pubo
        energies = brute_force(pubo) if pubo.variables <= 12 else None
        if energies is not None:
            states = np.array(list(np.ndindex(*(2,) * pubo.variables)))
            best = pubo.decode(states[int(np.argmin(pubo.energies(states)))])
            assert one.best_error == pytest.approx(rows.error(best))
        assert one.variables == made.quadratize().variables
    with pytest.raises(InputError, match="compare_bits for a problem without its training rows"):
        rehearse(cubic(4), "pegasus4", compare_bits=True)


def test_an_interrupt_keeps_the_draws_so_far(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    problem = quadratize(polynomial(4, 2))
    whole = rehearse(problem, "chimera4", beta=3.0, draws=3, reads=5, factors=(1.0,))
    original = sample_draw

    def stopped(*values: Any, number: int, **how: Any) -> Any:
        if number == 2:
            raise KeyboardInterrupt
        return original(*values, number=number, **how)

    monkeypatch.setattr("qcompile.rehearsal.rehearse.sample_draw", stopped)
    cut = rehearse(problem, "chimera4", beta=3.0, draws=3, reads=5, factors=(1.0,))
    assert cut.interrupted and cut.draws == 2 and not whole.interrupted
    assert cut.tried[0].draws == whole.tried[0].draws[:2]
    assert "keeping 2 of 3 draws" in caplog.text


def test_progress_counts_draws() -> None:
    told: list[tuple[int, int | None]] = []
    rehearse(
        quadratize(polynomial(4, 2)), "chimera4", beta=3.0, draws=2, reads=2, factors=(1.0,),
        progress=lambda done, total: told.append((done, total)),
    )  # fmt: skip
    assert told == [(0, 2), (1, 2), (2, 2)]


@pytest.mark.parametrize(
    "options",
    [
        {"draws": 0}, {"reads": 0}, {"factors": ()}, {"factors": (0.0,)}, {"tolerance": 1.0},
        {"errors": -1.0}, {"beta": 0.0}, {"engine": "none"}, {"data": "breast-cancer"},
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"expected|not compiled from data"):
        rehearse(cubic(4), "chimera4", **options)
