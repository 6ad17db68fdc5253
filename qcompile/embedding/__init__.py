"""Qubo x Machine -> Embedded, and samples of qubits back to samples of bits.

Belongs here: chains, their strength, scaling to a machine's ranges, capacity of machines.
Does not belong here: sampling (see `solvers`) and submission (see `leap`).
"""
