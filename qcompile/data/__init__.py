"""From text, arrays or a name to a prepared `Dataset`.

Belongs here: readers of examples, scaling and choice of features, splits, label noise.
Does not belong here: sums over the rows (see `moments`).
"""
