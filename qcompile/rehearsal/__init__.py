"""What a machine's errors do to a problem, before anything is paid.

Belongs here: expected losses, and rehearsals of problems and of trainings on simulated machines.
Does not belong here: the model of a machine and its sampler (see `solvers`).
"""
