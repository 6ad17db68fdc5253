"""Compile the training of a robust binary classifier for a quantum annealer.

Stages are nouns (`Dataset`, `Moments`, `Loss`, `Pubo`, `Qubo`), passes are verbs (`read`,
`prepare`, `moments_of`, `fit_loss`, `discretize`, `quadratize`); `compile` calls them in order.
"""

from qcompile._version import __version__
from qcompile.accounting import account
from qcompile.artifacts import (
    Ancillas,
    Dataset,
    Encoding,
    Loss,
    Moments,
    Preparation,
    Pubo,
    Qubo,
)
from qcompile.data import add_noise, folds, from_arrays, prepare, read, shuffle, split
from qcompile.discretize import discretize
from qcompile.errors import FormatError, InputError, MemoryLimitError, QcompileError
from qcompile.estimate import estimate
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
from qcompile.quadratize import quadratize
from qcompile.qubo_files import load_qubo, save_qubo
from qcompile.verify import verify
from qcompile.weight_range import warnings_for

__all__ = [
    "Ancillas",
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
    "Qubo",
    "__version__",
    "account",
    "add_noise",
    "compile",
    "discretize",
    "estimate",
    "fit_loss",
    "folds",
    "from_arrays",
    "load_loss",
    "load_moments",
    "load_pubo",
    "load_qubo",
    "moments_of",
    "prepare",
    "quadratize",
    "read",
    "save_loss",
    "save_moments",
    "save_pubo",
    "save_qubo",
    "shuffle",
    "split",
    "verify",
    "warnings_for",
]
