"""Compile the training of a robust binary classifier for a quantum annealer.

Stages are nouns (`Dataset`, `Moments`, `Loss`, `Pubo`), passes are verbs (`read`, `prepare`,
`moments_of`, `fit_loss`, `discretize`); `compile` calls the passes in order.
"""

from qcompile._version import __version__
from qcompile.artifacts import Dataset, Encoding, Loss, Moments, Preparation, Pubo
from qcompile.data import add_noise, folds, from_arrays, prepare, read, shuffle, split
from qcompile.discretize import discretize
from qcompile.errors import FormatError, InputError, MemoryLimitError, QcompileError
from qcompile.files import (
    load_loss,
    load_moments,
    load_pubo,
    save_loss,
    save_moments,
    save_pubo,
)
from qcompile.loss import fit_loss
from qcompile.moments import moments_of
from qcompile.pipeline import Compiled, compile

__all__ = [
    "Compiled",
    "Dataset",
    "Encoding",
    "FormatError",
    "InputError",
    "Loss",
    "MemoryLimitError",
    "Moments",
    "Preparation",
    "Pubo",
    "QcompileError",
    "__version__",
    "add_noise",
    "compile",
    "discretize",
    "fit_loss",
    "folds",
    "from_arrays",
    "load_loss",
    "load_moments",
    "load_pubo",
    "moments_of",
    "prepare",
    "read",
    "save_loss",
    "save_moments",
    "save_pubo",
    "shuffle",
    "split",
]
