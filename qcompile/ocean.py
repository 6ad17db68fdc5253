"""A sampler of polynomials for programs of Ocean, in the place of `dimod.HigherOrderComposite`.

    from qcompile.ocean import PuboSampler
    PuboSampler(DWaveSampler()).sample_poly(polynomial, num_reads=100)

Products are replaced with few ancillas and gates as strong as they need be, so that no penalty has
to be guessed. Variables keep their labels and their kind (SPIN or BINARY), and every energy is that
of the polynomial itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import dimod
import numpy as np
from dimod.core.polysampler import ComposedPolySampler
from numpy.typing import NDArray

from qcompile.embedding.chain_strength import strength_of
from qcompile.embedding.copies import Copies, find_copies
from qcompile.embedding.embed import embed, find_embedding
from qcompile.embedding.programming import make_program
from qcompile.embedding.unembed import unembed, unembed_program
from qcompile.errors import InputError
from qcompile.files.interchange import numbered
from qcompile.files.machines import machine_from_sampler, machine_sampler
from qcompile.reduction.quadratize import quadratize
from qcompile.solvers.solve import solve
from qcompile.stages.embedded import Embedding, problem_id, to_embedded
from qcompile.stages.labels import Label
from qcompile.stages.machine import Machine
from qcompile.stages.origin import Origin
from qcompile.stages.pubo import Pubo
from qcompile.stages.qubo import Qubo
from qcompile.stages.samples import merged
from qcompile.stages.source import Source

__all__ = ["ChainsComposite", "PuboSampler"]


_OWN = ("max_answers", "num_reads", "num_sweeps", "seed", "solver", "target")
_COMMON = ("keep_penalty_variables", "discard_unsatisfied", "penalty_strength")


class PuboSampler(ComposedPolySampler):  # type: ignore[misc]
    """Sample binary polynomials of any degree.

    `child` is None for qcompile's own search, which works on the polynomial in bits or spins and
    needs no ancillas; or a dimod sampler, which is given the QUBO over the polynomial's own labels
    and those of ancillas, which are named by their factors (``a*b``) and never as a variable. A
    child with a working graph (`DWaveSampler`, `MockDWaveSampler`) is given the embedded problem;
    the embedding is kept as long as the same variables meet. `cover`, `strength`, `max_ancillas`,
    `seed` and `time_limit` are those of `quadratize`, `chain_strength` and `repair` those of
    `embed` and `unembed`.

    >>> sampler = PuboSampler(dimod.ExactSolver())
    >>> found = sampler.sample_hubo({("a", "b", "c"): -2.0, ("a",): 1.0})
    >>> best = found.first
    >>> float(best.energy), [int(best.sample[label]) for label in "abc"]
    (-1.0, [1, 1, 1])
    """

    def __init__(
        self,
        child: Any = None,
        *,
        cover: str = "auto",
        strength: float = 1.0,
        max_ancillas: int | None = None,
        seed: int = 0,
        time_limit: float = 60.0,
        chain_strength: float | str = "torque",
        repair: str = "majority",
    ) -> None:
        if child is not None and not isinstance(child, dimod.Sampler):
            raise InputError(
                f"child {type(child).__name__}; expected a dimod sampler, or None for the search "
                "of qcompile"
            )
        self._children = [] if child is None else [child]
        self._quadratize: dict[str, Any] = {
            "cover": cover,
            "strength": strength,
            "max_ancillas": max_ancillas,
            "seed": seed,
            "time_limit": time_limit,
        }
        self._chain_strength, self._repair, self._seed = chain_strength, repair, seed
        self._machine: Machine | None = None
        self._embedding: Embedding | None = None

    @property
    def children(self) -> list[Any]:
        """The sampler that is given the QUBO, in a list; none if qcompile searches itself."""
        return self._children

    @property
    def parameters(self) -> dict[str, Any]:
        """What `sample_poly` takes, with the properties of the child that matter for each."""
        own = {name: [] for name in _OWN} if not self._children else dict(self.child.parameters)
        return {**own, **{name: [] for name in _COMMON}}

    @property
    def properties(self) -> dict[str, Any]:
        """How products are replaced, and the properties of the child."""
        child = {} if not self._children else {"child_properties": dict(self.child.properties)}
        return {"quadratize": dict(self._quadratize), **child}

    def sample_poly(
        self,
        poly: Any,
        penalty_strength: float | None = None,
        keep_penalty_variables: bool = False,
        discard_unsatisfied: bool = False,
        **parameters: Any,
    ) -> Any:
        """Return a `dimod.SampleSet` over the polynomial's own variables.

        `keep_penalty_variables` adds the ancillas as the child gave them (after chains were read:
        repaired); as spins they are +1 where the product of their two bits is 1.
        `discard_unsatisfied` leaves out samples in which one of them was wrong; otherwise the field
        ``penalty_satisfaction`` tells. There is no penalty to choose: `penalty_strength` is taken
        for the sake of programs that give one, and changes nothing. Everything else goes to the
        child, `initial_state` completed by ancillas.

        qcompile's own search takes `num_reads`, `num_sweeps`, `seed`, the name of a `solver` of
        `solve` ("auto"), a `target`, which is an energy that ends it, and `max_answers`, the number
        of samples to keep (as many as reads). Its samples are distinct, the lowest first.
        """
        pubo, labels = _numbered(poly)
        if not self._children:
            answer = _searched(pubo, {"seed": self._seed, **parameters})
        else:
            qubo = quadratize(pubo, **self._quadratize)
            names = _named(qubo, labels)
            state = parameters.get("initial_state")
            if state is not None:
                spins = poly.vartype is dimod.SPIN
                parameters["initial_state"] = _completed(qubo, state, names, spins)
            answer = self._from_child(qubo, names, parameters)
            answer.info |= _about(qubo, names)
            labels = names if keep_penalty_variables else labels
        kept = answer.violations == 0 if discard_unsatisfied else slice(None)
        fields = {**answer.fields, "penalty_satisfaction": answer.violations == 0}
        return _sample_set(
            poly,
            pubo,
            answer.values[kept],
            labels,
            {name: field[kept] for name, field in fields.items()},
            answer.info,
        )

    def _from_child(self, qubo: Qubo, names: list[Label], parameters: dict[str, Any]) -> _Answer:
        """Let the child sample the QUBO, whose variables have these names."""
        if not qubo.variables:
            return _Answer(np.zeros((1, 0), np.int8), np.zeros(1, np.int64), {}, {})
        if machine_sampler(self.child) is not None:
            return self._from_machine(qubo, parameters)
        bqm = qubo.to_bqm()
        bqm.relabel_variables(dict(enumerate(names)))
        given = self.child.sample(bqm, **parameters)
        given = given.change_vartype(dimod.BINARY, inplace=False)
        place = {label: i for i, label in enumerate(given.variables)}
        record = given.record
        values = np.asarray(record.sample)[:, [place[name] for name in names]]
        fields = {n: record[n] for n in record.dtype.names if n not in ("sample", "energy")}
        return _Answer(values, qubo.restrict(values)[1], fields, dict(given.info))

    def _from_machine(self, qubo: Qubo, parameters: dict[str, Any]) -> _Answer:
        """Let the child sample chains of qubits."""
        if "initial_state" in parameters:
            raise InputError(
                "initial_state for chains of qubits; expected none: wrap the child in "
                "dwave.system.EmbeddingComposite, which spreads it over them"
            )
        if self._machine is None:
            self._machine = machine_from_sampler(self.child)
        known = self._embedding
        same = known is not None and known.problem == problem_id(qubo)
        embedded = embed(
            qubo,
            self._machine,
            seed=self._seed,
            chain_strength=self._chain_strength,
            embedding=known if same else None,
        )
        self._embedding = embedded.embedding
        given = self.child.sample(embedded.to_bqm(), **parameters)
        found = unembed(embedded, given, repair=self._repair)
        fields: dict[str, NDArray[Any]] = {
            "num_occurrences": found.occurrences,
            "chain_break_fraction": found.chain_breaks,
        }
        return _Answer(qubo.complete(found.bits), found.violations, fields, dict(found.info))


@dataclass
class _Answer:
    """Values of all variables 0/1, how many ancillas of each sample were wrong, and the rest."""

    values: NDArray[Any]
    violations: NDArray[np.int64]
    fields: dict[str, NDArray[Any]]
    info: dict[str, Any]


def _numbered(polynomial: Any) -> tuple[Pubo, list[Label]]:
    if not isinstance(polynomial, dimod.BinaryPolynomial):
        raise InputError(
            f"a polynomial from {type(polynomial).__name__}; expected a dimod.BinaryPolynomial "
            "(sample_hubo and sample_hising take dictionaries)"
        )
    kind = polynomial.vartype.name
    pubo, labels = numbered(polynomial.items(), polynomial.variables, kind, in_order=False)
    # spins are searched as spins
    return replace(pubo, origin=Origin(source=Source(vartype=kind))), labels


def _searched(pubo: Pubo, parameters: Mapping[str, Any]) -> _Answer:
    """Run qcompile's own search on the polynomial."""
    unknown = sorted(set(parameters) - set(_OWN))
    if unknown:
        raise InputError(f"parameter {unknown[0]!r}; expected one of {', '.join(_OWN)}")
    reads = parameters.get("num_reads", 100)
    found = solve(
        pubo,
        solver=parameters.get("solver", "auto"),
        reads=reads,
        keep=parameters.get("max_answers", reads),
        sweeps=parameters.get("num_sweeps"),
        seed=parameters.get("seed", 0),
        target=parameters.get("target"),
    )
    fields: dict[str, NDArray[Any]] = {"num_occurrences": found.occurrences}
    return _Answer(found.bits, found.violations, fields, dict(found.info))


def _completed(
    qubo: Qubo, state: Mapping[Label, int], names: list[Label], spins: bool
) -> dict[Label, int]:
    """Return a state of the polynomial as one of the QUBO, with its ancillas."""
    labels = names[: qubo.logical]
    missing = [label for label in labels if label not in state]
    if missing:
        raise InputError(f"initial_state without variable {missing[0]!r}; expected all of them")
    values = (-1, 1) if spins else (0, 1)
    strange = [label for label in labels if state[label] not in values]
    if strange:
        raise InputError(
            f"initial_state {strange[0]!r}: {state[strange[0]]!r}; expected one of {values}"
        )
    bits = [[int(state[label] > 0) for label in labels]]
    return dict(zip(names, qubo.complete(bits)[0].tolist(), strict=True))


def _named(qubo: Qubo, labels: list[Label]) -> list[Label]:
    """Name each ancilla by its factors, as in a*b; names are distinct from all others."""
    names = list(labels)
    taken = set(labels)
    for a, b in qubo.ancillas.factors.tolist():
        name = f"{names[a]}*{names[b]}"
        while name in taken:
            name = f"_{name}"
        names.append(name)
        taken.add(name)
    return names


def _about(qubo: Qubo, names: list[Label]) -> dict[str, Any]:
    """Return how products were replaced, as plain lists that a file can hold."""
    pairs = enumerate(qubo.ancillas.factors.tolist(), qubo.logical)
    return {
        "reduction": [[names[k], [names[a], names[b]]] for k, (a, b) in pairs],
        "cover": qubo.method,
        "error": qubo.error,
    }


def _sample_set(
    polynomial: Any,
    pubo: Pubo,
    values: NDArray[Any],
    labels: list[Label],
    fields: Mapping[str, NDArray[Any]],
    info: Mapping[str, Any],
) -> Any:
    """Return a sample set with the original labels and vartype, and the polynomial's energies."""
    rows = np.ascontiguousarray(values[:, : len(labels)], dtype=np.int8)
    # dimod evaluates term by term, which takes longer than a search
    energies = pubo.energies(rows[:, : pubo.variables]) if len(rows) else np.zeros(0)
    if polynomial.vartype is dimod.SPIN:
        rows = 2 * rows - 1
    return dimod.SampleSet.from_samples(
        (rows, labels),
        polynomial.vartype,
        energy=energies,
        info=dict(info),
        sort_labels=False,
        **fields,
    )


class ChainsComposite(dimod.ComposedSampler):  # type: ignore[misc]
    """A machine with the chains of `embed`, in the place of dwave-system's EmbeddingComposite.

    The child is a sampler of a machine, such as DWaveSampler. Problems may have any labels and
    either vartype. With `copies` the problem is put on the chip several times, and each anneal
    gives as many samples; a `gauge` reverses chains at random, in each copy others.

    >>> from qcompile import MockMachine
    >>> sampler = ChainsComposite(MockMachine("pegasus4", errors=0.0, beta=10.0))
    >>> found = sampler.sample_ising({"a": 1.0}, {("a", "b"): -2.0}, num_reads=5, copies=2)
    >>> float(found.first.energy), int(found.record.num_occurrences.sum())
    (-3.0, 10)
    """

    children: Any = None
    parameters: Any = None
    properties: Any = None

    def __init__(self, child: Any, *, seed: int = 0) -> None:
        self.machine = machine_from_sampler(child)
        self.children, self.seed = [child], seed
        own = ("chain_strength", "copies", "gauge", "repair", "return_embedding")
        self.parameters = {**child.parameters, **{name: [] for name in own}}
        self.properties = {"child_properties": dict(child.properties)}
        self._known: dict[tuple[str, Copies], tuple[Embedding, ...]] = {}

    def sample(
        self,
        bqm: Any,
        *,
        chain_strength: float | str = "torque",
        copies: Copies = 1,
        gauge: int | None = None,
        repair: str = "majority",
        return_embedding: bool = False,
        **parameters: Any,
    ) -> Any:
        """Return samples of a problem as a dimod SampleSet.

        `chain_strength` and `repair` are those of `embed` and `unembed`, `copies` is that of
        `find_copies`, and `gauge` is the seed of a spin-reversal transform. `parameters` go to the
        child. The chains of a structure are searched once. With `return_embedding` the info has
        them as ``embedding_context``.
        """
        labels = list(bqm.variables)
        if not labels:
            return dimod.SampleSet.from_samples_bqm([], bqm)
        qubo = quadratize(_polynomial_of(bqm, labels))
        chains = self._chains_of(qubo, copies)
        strength = strength_of(qubo, chain_strength)
        program = make_program([to_embedded(qubo, one, strength) for one in chains], gauge=gauge)
        answer = self.child.sample(program.to_bqm(), **parameters)
        found = merged(unembed_program(program, answer, repair=repair), {})
        states = found.bits if bqm.vartype is dimod.BINARY else 2 * found.bits - 1
        info = dict(answer.info)
        if return_embedding:
            info["embedding_context"] = {
                "embedding": dict(zip(labels, chains[0].chains, strict=True)),
                "copies": [dict(zip(labels, one.chains, strict=True)) for one in chains],
                "chain_strength": strength,
                "chain_break_method": repair,
                "gauge": gauge,
            }
        return dimod.SampleSet.from_samples_bqm(
            (np.asarray(states), labels),
            bqm,
            num_occurrences=found.occurrences,
            chain_break_fraction=found.chain_breaks,
            info=info,
        )

    def _chains_of(self, qubo: Qubo, copies: Copies) -> tuple[Embedding, ...]:
        """Return the chains of all copies, found when a structure is first seen."""
        key = (problem_id(qubo), copies)
        if key not in self._known:
            if copies == 1:
                self._known[key] = (find_embedding(qubo, self.machine, seed=self.seed),)
            else:
                self._known[key] = find_copies(qubo, self.machine, copies=copies, seed=self.seed)
        return self._known[key]


def _polynomial_of(bqm: Any, labels: Sequence[Label]) -> Pubo:
    """Return a quadratic model as a polynomial over numbered bits."""
    bits = bqm.change_vartype(dimod.BINARY, inplace=False)
    linear, (first, second, values), offset = bits.to_numpy_vectors(variable_order=labels)
    terms: dict[tuple[int, ...], float] = {(): float(offset)}
    terms |= {(k,): float(value) for k, value in enumerate(linear)}
    for a, b, value in zip(first.tolist(), second.tolist(), values.tolist(), strict=True):
        terms[min(a, b), max(a, b)] = value
    return Pubo.from_dict(terms, variables=len(labels))
