"""Dataset -> Moments: the only pass that sees the rows, so only its cost grows with them.

Belongs here: sums over rows, in one place, in parts, or on a cluster.
Does not belong here: what is made of the sums (see `objective`).
"""
