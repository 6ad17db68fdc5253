"""Moments -> Loss -> Pubo, and bits back to weights.

Belongs here: fits of the loss, the range of the weights, the expansion into bits, decoding.
Does not belong here: ancillas (see `reduction`).
"""
