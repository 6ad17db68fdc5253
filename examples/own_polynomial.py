"""Take a cubic polynomial of your own, without any data, to a quantum annealer's graph and back.

The polynomial places guards in a park: fewest guards, every path watched, and three that stand
around one pond get in each other's way. It is a plain dictionary with names as variables. It is
turned into a QUBO (no penalty to choose), proved, embedded and solved on the mock of a machine;
the same is then done in one call, the way a program of D-Wave's Ocean would.
"""

import dimod
from dwave.samplers import SimulatedAnnealingSampler
from dwave.system.testing import MockDWaveSampler

import qcompile
from qcompile.ocean import PuboSampler

PATHS = [("gate", "pond"), ("gate", "hill"), ("pond", "oak"), ("hill", "oak"), ("oak", "bridge")]
CROWDS = [("gate", "pond", "hill"), ("pond", "oak", "bridge"), ("hill", "oak", "bridge")]
READS = 50


def guards() -> dict[tuple[str, ...], float]:
    """Charge 1 a guard, 3 for a path without one (3 (1-a)(1-b)), and 2 for a crowd of three."""
    terms: dict[tuple[str, ...], float] = {(): 0.0}
    for a, b in PATHS:
        for term, value in {(): 3.0, (a,): -3.0, (b,): -3.0, (a, b): 3.0}.items():
            terms[term] = terms.get(term, 0.0) + value
    for place in sorted({place for path in PATHS for place in path}):
        terms[(place,)] = terms.get((place,), 0.0) + 1.0
    return terms | dict.fromkeys(CROWDS, 2.0)


def main() -> None:
    """Go through the passes one by one, and then in one call."""
    terms = guards()
    pubo = qcompile.read_pubo(terms)
    print(f"PUBO      {pubo.variables} bits, terms by degree {pubo.terms}")
    exact = qcompile.solve(pubo, solver="exact", keep=1)
    print(f"optimum   E = {exact.energies[0]:g} of {2**pubo.variables} assignments, all looked at")

    qubo = qcompile.quadratize(pubo)
    proved = qcompile.verify(qubo, pubo=pubo).holds
    print(
        f"QUBO      {qubo.variables} qubits, {len(qubo.ancillas)} of them ancillas, "
        f"{'proved to be the same problem' if proved else 'NOT the same problem'}"
    )
    embedded = qcompile.embed(qubo, qcompile.load_machine("pegasus4"))
    print(
        f"machine   {embedded.embedding.qubits} qubits of a Pegasus graph, "
        f"longest chain {embedded.embedding.longest}"
    )
    found = qcompile.solve(embedded, solver="mock", reads=READS, seed=1)
    places = [label for label, bit in zip(pubo.labels, found.best, strict=True) if bit]
    print(f"mock      E = {found.energies[0]:g}, guards at {', '.join(map(str, places))}")

    machine = MockDWaveSampler(
        topology_type="pegasus",
        topology_shape=[4],
        substitute_sampler=SimulatedAnnealingSampler(),
        substitute_kwargs={"seed": 1},
    )
    for name, child in (("annealer", None), ("machine", machine)):
        polynomial = dimod.BinaryPolynomial(terms, dimod.BINARY)
        best = PuboSampler(child).sample_poly(polynomial, num_reads=READS).first
        chosen = ", ".join(sorted(place for place, bit in best.sample.items() if bit))
        print(f"Ocean     E = {best.energy:g} by PuboSampler on the {name}, guards at {chosen}")


if __name__ == "__main__":
    main()
