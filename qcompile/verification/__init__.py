"""Prove that a QUBO is the problem that it claims to be.

Belongs here: checks that compute everything anew from the numbers in a file or from the data.
Does not belong here: any code of the passes that are judged. This package imports `stages` and what
is below it, and never `reduction` or `objective`.
"""
