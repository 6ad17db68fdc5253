"""Pubo -> Qubo, and back: products replaced by ancillas, accounts and estimates of them.

Belongs here: covers of terms, gates, truncation, counts and bounds.
Does not belong here: qubits and chains (see `embedding`), proofs (see `verification`).
"""
