"""The sampler for programs of Ocean, judged by dimod's own energies over all assignments."""

from __future__ import annotations

import itertools
import subprocess
import sys
from typing import Any, ClassVar

import dimod
import dimod.testing
import numpy as np
import pytest
from dimod.core.polysampler import PolySampler
from dwave.samplers import SimulatedAnnealingSampler
from dwave.system import EmbeddingComposite, FixedEmbeddingComposite
from dwave.system.testing import MockDWaveSampler
from hypothesis import given, settings
from hypothesis import strategies as st

import qcompile
from qcompile import InputError
from qcompile.embedding import embed
from qcompile.ocean import ChainsComposite, PuboSampler

NAMES: list[Any] = ["d", 7, ("x", 1), "b", "a"]


def polynomial(vartype: str, seed: int = 0, degree: int = 3, size: int = 5) -> Any:
    rng = np.random.default_rng(seed)
    terms = {
        term: int(rng.integers(-9, 10))
        for count in range(degree + 1)
        for term in itertools.combinations(NAMES[:size], count)
    }
    return dimod.BinaryPolynomial(terms, vartype)


def lowest(poly: Any) -> float:
    states = itertools.product(sorted(poly.vartype.value), repeat=len(poly.variables))
    labels = list(poly.variables)
    return float(min(poly.energy(dict(zip(labels, s, strict=True))) for s in states))


def machine(**options: Any) -> Any:
    return MockDWaveSampler(
        topology_type="pegasus",
        topology_shape=[4],
        substitute_sampler=SimulatedAnnealingSampler(),
        substitute_kwargs={"seed": 1},
        **options,
    )


CHILDREN: dict[str, Any] = {
    "none": lambda: (None, {"num_reads": 20}),
    "exact": lambda: (dimod.ExactSolver(), {}),
    "neal": lambda: (SimulatedAnnealingSampler(), {"num_reads": 50, "seed": 1}),
    "machine": lambda: (machine(), {"num_reads": 50}),
    "embedding": lambda: (EmbeddingComposite(machine()), {"num_reads": 50}),
}


@pytest.mark.slow
@pytest.mark.parametrize("child", CHILDREN)
@pytest.mark.parametrize("vartype", ["BINARY", "SPIN"])
def test_every_child_finds_the_minimum_and_energies_are_the_polynomials(
    child: str, vartype: str
) -> None:
    sampler, parameters = CHILDREN[child]()
    poly = polynomial(vartype)
    found = PuboSampler(sampler).sample_poly(poly, **parameters)
    dimod.testing.assert_sampleset_energies(found, poly)
    assert found.vartype is poly.vartype
    assert set(found.variables) == poly.variables
    assert found.first.energy == lowest(poly)
    back = dimod.SampleSet.from_serializable(found.to_serializable())
    assert back.variables == found.variables and (back.record == found.record).all()
    assert ("chain_break_fraction" in found.record.dtype.names) == (
        child in ("machine", "embedding")
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["BINARY", "SPIN"]), st.integers(0, 4))
def test_right_ancillas_give_every_energy_once(seed: int, vartype: str, degree: int) -> None:
    """Of all samples of the QUBO, those with right ancillas are the assignments, each once."""
    poly = polynomial(vartype, seed, degree, size=4)
    sampler = PuboSampler(dimod.ExactSolver())
    every = sampler.sample_poly(poly)
    right = sampler.sample_poly(poly, discard_unsatisfied=True)
    dimod.testing.assert_sampleset_energies(right, poly)
    states = {tuple(row) for row in right.record.sample.tolist()}
    assert len(right) == len(states) == 2 ** len(poly.variables)
    assert right.record.penalty_satisfaction.all()
    assert every.record.penalty_satisfaction.sum() == len(right)
    assert right.first.energy == every.first.energy == lowest(poly)


@pytest.mark.parametrize("vartype", ["BINARY", "SPIN"])
def test_ancillas_can_be_kept_and_say_what_they_are(vartype: str) -> None:
    poly, sampler = polynomial(vartype, degree=4), PuboSampler(dimod.ExactSolver())
    found = sampler.sample_poly(poly, keep_penalty_variables=True, discard_unsatisfied=True)
    plain = sampler.sample_poly(poly, discard_unsatisfied=True)  # the same states, in order
    for more, less in zip(
        found.samples(sorted_by=None), plain.samples(sorted_by=None), strict=True
    ):
        assert {v: more[v] for v in poly.variables} == dict(less)
    reduction = found.info["reduction"]
    assert reduction and found.info["error"] == 0
    assert set(found.variables) == poly.variables | {name for name, _ in reduction}
    for sample, energy in found.data(["sample", "energy"]):
        for name, (one, two) in reduction:
            assert (sample[name] > 0) == (sample[one] > 0 and sample[two] > 0)
        assert energy == poly.energy({v: sample[v] for v in poly.variables})


def test_wrong_ancillas_are_told_and_can_be_left_out() -> None:
    """A child that gives one right and one wrong answer."""

    class Liar(dimod.Sampler):  # type: ignore[misc]
        parameters: ClassVar[dict[str, Any]] = {}
        properties: ClassVar[dict[str, Any]] = {}

        def sample(self, bqm: Any, **parameters: Any) -> Any:
            ones = dict.fromkeys(bqm.variables, 1)
            wrong = ones | {next(v for v in bqm.variables if isinstance(v, str)): 0}
            return dimod.SampleSet.from_samples_bqm([wrong, ones], bqm)

    poly = dimod.BinaryPolynomial({(0, 1, 2): -2.0}, "BINARY")
    found = PuboSampler(Liar()).sample_poly(poly)
    assert found.record.penalty_satisfaction.tolist() == [False, True]
    assert found.record.energy.tolist() == [-2.0, -2.0]
    assert len(PuboSampler(Liar()).sample_poly(poly, discard_unsatisfied=True)) == 1
    kept = PuboSampler(Liar()).sample_poly(poly, keep_penalty_variables=True)
    assert sorted(kept.record.sample[:, 3].tolist()) == [0, 1]


def test_programs_written_for_dimods_composite_run_unchanged() -> None:
    def program(kind: Any) -> Any:
        with kind(dimod.ExactSolver()) as sampler:
            assert isinstance(sampler, PolySampler)
            dimod.testing.assert_composite_api(sampler)
            assert {"penalty_strength", "discard_unsatisfied"} <= set(sampler.parameters)
            assert "child_properties" in sampler.properties
            options = {"penalty_strength": 50.0, "discard_unsatisfied": True}
            yield sampler.sample_poly(polynomial("SPIN"), **options)
            h, j = {"a": -0.5, "c": -0.25}, {("a", "b", "c"): -1.75}
            yield sampler.sample_hising(h, j, **options)
            yield sampler.sample_hubo({("a", "b", "c"): -2.0, ("a",): 1.0}, **options)

    pairs = zip(program(dimod.HigherOrderComposite), program(PuboSampler), strict=True)
    for theirs, ours in pairs:
        assert theirs.vartype is ours.vartype
        assert set(theirs.variables) == set(ours.variables)
        assert theirs.first.energy == ours.first.energy
        assert "penalty_satisfaction" in ours.record.dtype.names
    with PuboSampler() as sampler:
        assert sampler.children == [] and "num_sweeps" in sampler.parameters
    # and below dimod's composites for polynomials
    scaled = dimod.PolyScaleComposite(PuboSampler(dimod.ExactSolver()))
    poly = polynomial("SPIN")
    assert scaled.sample_poly(poly, scalar=0.5).first.energy == lowest(poly)


def test_the_polynomial_and_the_strength_may_be_given_as_dimod_takes_them() -> None:
    poly = polynomial("BINARY")
    for kind in (dimod.HigherOrderComposite, PuboSampler):
        sampler = kind(dimod.ExactSolver())
        energies = {
            sampler.sample_poly(poly, 50.0).first.energy,
            sampler.sample_poly(poly=poly).first.energy,
            sampler.sample_poly(poly, 50.0, False, True).first.energy,
        }
        assert energies == {lowest(poly)}


def test_a_child_may_order_and_count_its_answers_as_it_likes() -> None:
    class Reversed(dimod.ExactSolver):  # type: ignore[misc]
        def sample(self, bqm: Any) -> Any:
            best = super().sample(bqm).first.sample
            labels = sorted(best, key=str, reverse=True)
            state = [[best[v] for v in labels]]
            return dimod.SampleSet.from_samples(
                (state, labels),
                "BINARY",
                energy=[0.0],
                num_occurrences=[3],
                info={"told": 7},
                sort_labels=False,
            )

    poly = polynomial("BINARY")
    found = PuboSampler(Reversed()).sample_poly(poly)
    assert found.first.energy == lowest(poly)
    assert found.record.num_occurrences.tolist() == [3]
    assert found.info["told"] == 7 and "reduction" in found.info


def test_a_variable_may_have_the_name_of_a_product() -> None:
    poly = dimod.BinaryPolynomial({("a", "b", "a*b"): -1.0, ("a*b",): 0.25}, "BINARY")
    found = PuboSampler(dimod.ExactSolver()).sample_poly(poly, keep_penalty_variables=True)
    assert len(set(found.variables)) == 4
    assert found.first.energy == lowest(poly)


@pytest.mark.parametrize("vartype", ["BINARY", "SPIN"])
def test_the_child_is_given_the_labels_of_the_polynomial(vartype: str) -> None:
    """A fixed embedding names the variables, as it does below dimod's composite."""
    quadratic = dimod.BinaryPolynomial({("b", "a"): -2.0, ("a",): 1.0, (3, "b"): 1.0}, vartype)
    chains = {"a": [0, 4], "b": [5], 3: [1]}
    cubic = dimod.BinaryPolynomial({("a", "b", 3): -2.0, ("a",): 1.0}, vartype)
    reduction = PuboSampler(dimod.ExactSolver()).sample_poly(cubic).info["reduction"]
    assert len(reduction) == 1
    chimera = MockDWaveSampler(
        topology_type="chimera",
        topology_shape=[2, 2, 4],
        substitute_sampler=SimulatedAnnealingSampler(),
        substitute_kwargs={"seed": 1},
    )
    for kind in (dimod.HigherOrderComposite, PuboSampler):
        found = kind(FixedEmbeddingComposite(chimera, chains)).sample_poly(quadratic, num_reads=20)
        assert found.first.energy == lowest(quadratic)
    every = {**{v: [i, 4 + i] for i, v in enumerate(("a", "b", 3))}, reduction[0][0]: [3, 7]}
    found = PuboSampler(FixedEmbeddingComposite(chimera, every)).sample_poly(cubic, num_reads=50)
    assert found.first.energy == lowest(cubic)


def test_an_initial_state_has_values_of_its_kind() -> None:
    for vartype, wrong in (("BINARY", 2), ("BINARY", -1), ("SPIN", 0), ("SPIN", 3)):
        poly = polynomial(vartype)
        state = dict.fromkeys(poly.variables, 1) | {"a": wrong}
        with pytest.raises(InputError, match=f"initial_state 'a': {wrong}; expected one of"):
            PuboSampler(SimulatedAnnealingSampler()).sample_poly(poly, initial_state=state)


def test_an_initial_state_is_completed_by_ancillas() -> None:
    class Remembers(dimod.ExactSolver):  # type: ignore[misc]
        seen: Any = None

        def sample(self, bqm: Any, initial_state: Any) -> Any:
            self.seen = initial_state, bqm.energy(initial_state)
            return super().sample(bqm)

    for vartype in ("BINARY", "SPIN"):
        poly, child = polynomial(vartype), Remembers()
        state = {v: max(poly.vartype.value) for v in poly.variables}
        state["d"] = min(poly.vartype.value)
        PuboSampler(child).sample_poly(poly, initial_state=state)
        assert child.seen[1] == pytest.approx(poly.energy(state))
    with pytest.raises(InputError, match="initial_state without variable"):
        PuboSampler(child).sample_poly(poly, initial_state={"a": 1})
    with pytest.raises(InputError, match="EmbeddingComposite"):
        PuboSampler(machine()).sample_poly(poly, initial_state=state)


@pytest.mark.slow
def test_an_embedding_is_found_once_for_the_same_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found, inner = [], embed._search

    def counting(*given: Any, **options: Any) -> Any:
        found.append(1)
        return inner(*given, **options)

    monkeypatch.setattr(embed, "_search", counting)
    sampler = PuboSampler(machine())
    for seed, searches in ((0, 1), (1, 1)):
        poly = dimod.BinaryPolynomial({("a", "b", "c"): seed + 1.0, ("c", "d"): -1.0}, "BINARY")
        sampler.sample_poly(poly, num_reads=5)
        assert len(found) == searches
    sampler.sample_poly(polynomial("BINARY"), num_reads=5)
    assert len(found) == 2


def test_polynomials_without_anything_in_them() -> None:
    empty: list[dict[Any, float]] = [{}, {(): 3.0}, {("a",): 0.0, (): 1.0}]
    for child in (None, dimod.ExactSolver(), machine()):
        for vartype in ("BINARY", "SPIN"):
            # neal, which the mock of a machine runs, warns of variables without a bias
            for terms in empty[:2] if isinstance(child, MockDWaveSampler) else empty:
                poly, size = dimod.BinaryPolynomial(terms, vartype), int(("a",) in terms)
                found = PuboSampler(child).sample_poly(poly)
                assert len(found.variables) == size
                assert found.first.energy == terms.get((), 0.0)


def test_the_same_seed_gives_the_same_samples() -> None:
    poly = polynomial("SPIN")
    one, two = (PuboSampler().sample_poly(poly, num_reads=5, seed=3) for _ in range(2))
    rng = np.random.default_rng(1)
    wide = {tuple(rng.choice(60, 3, replace=False).tolist()): rng.normal() for _ in range(600)}
    rough = dimod.BinaryPolynomial(wide, "BINARY")
    options: dict[str, Any] = {"num_reads": 2, "num_sweeps": 1}
    three, four = (PuboSampler(seed=s).sample_poly(rough, **options) for s in (3, 4))
    same = PuboSampler().sample_poly(rough, seed=3, **options)
    assert three.record.sample.tolist() == same.record.sample.tolist()
    assert three.record.sample.tolist() != four.record.sample.tolist()
    assert one.record.sample.tolist() == two.record.sample.tolist()
    assert one.variables == two.variables


def test_what_cannot_be_used_is_refused() -> None:
    with pytest.raises(InputError, match="expected a dimod sampler"):
        PuboSampler("neal")
    with pytest.raises(InputError, match="parameter 'beta'"):
        PuboSampler().sample_poly(polynomial("SPIN"), beta=2)
    with pytest.raises(InputError, match=r"expected a dimod\.BinaryPolynomial"):
        PuboSampler().sample_poly({(0, 1): 1.0})
    with pytest.raises(InputError, match="cover 'none'"):
        PuboSampler(dimod.ExactSolver(), cover="none").sample_poly(polynomial("SPIN"))


def test_the_module_is_brought_in_only_when_it_is_asked_for() -> None:
    assert qcompile.PuboSampler is PuboSampler
    code = "import sys, qcompile; print('dimod' in sys.modules); qcompile.PuboSampler; "
    code += "print('dimod' in sys.modules, 'qcompile.ocean' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["False", "True", "True"]


# --- our chains as a composite --------------------------------------------------------------


def _model(vartype: str, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    labels = ["a", ("b", 1), 3, "d", "e"]
    model = dimod.BinaryQuadraticModel(vartype)
    for k, label in enumerate(labels):
        model.add_linear(label, float(rng.normal()))
        for other in labels[:k]:
            model.add_quadratic(label, other, float(rng.normal()))
    model.offset = 0.25
    return model


@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
@pytest.mark.parametrize("copies", [1, 3])
def test_chains_of_a_machine_as_a_composite_find_the_lowest_state(
    vartype: str, copies: int
) -> None:
    sampler = ChainsComposite(qcompile.MockMachine("pegasus4", errors=0.0, beta=10.0))
    model = _model(vartype, 3)
    best = dimod.ExactSolver().sample(model).first
    found = sampler.sample(
        model, num_reads=20, copies=copies, gauge=5, return_embedding=True, seed=1
    )
    assert found.first.energy == pytest.approx(best.energy)
    assert found.first.sample == best.sample and found.vartype is model.vartype
    assert found.record.num_occurrences.sum() == 20 * copies
    assert np.allclose(model.energies((found.record.sample, found.variables)), found.record.energy)
    assert "chain_break_fraction" in found.record.dtype.names
    context = found.info["embedding_context"]
    used = [q for one in context["copies"] for chain in one.values() for q in chain]
    assert len(context["copies"]) == copies and len(used) == len(set(used))
    assert set(context["embedding"]) == set(model.variables)


def test_the_composite_tells_what_it_takes_and_refuses_more_copies_than_fit() -> None:
    sampler = ChainsComposite(qcompile.MockMachine("chimera4"))
    assert {"num_reads", "copies", "gauge", "chain_strength"} <= set(sampler.parameters)
    assert "topology" in sampler.properties["child_properties"]
    dimod.testing.assert_sampler_api(sampler)
    with pytest.raises(qcompile.InputError, match="copies"):
        sampler.sample(_model("SPIN", 1), num_reads=1, copies=200)
    assert len(sampler.sample(dimod.BinaryQuadraticModel("SPIN"))) == 0
