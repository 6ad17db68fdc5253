"""A problem -> Samples, on this computer.

Belongs here: annealers, enumeration, and samplers of Ocean behind one function.
Does not belong here: paid solvers (see `leap`).
"""
