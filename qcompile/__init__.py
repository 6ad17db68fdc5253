"""Compile the training of a robust binary classifier for a quantum annealer.

Stages are nouns (`Dataset`, `Moments`, `Loss`, `Pubo`, `Qubo`, `Embedded`,
`Samples`), passes are verbs (`read`, `prepare`, `moments_of`, `fit_loss`, `discretize`,
`quadratize`, `embed`, `unembed`); `compile` calls them in order up to the QUBO.
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
from qcompile.embed import EmbeddingNotFound, embed, find_embedding
from qcompile.embedded import Embedded, Embedding, check_embedding
from qcompile.embedding_files import load_embedding, save_embedding
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
from qcompile.machines import Machine, catalogue, load_machine, machine_from_sampler
from qcompile.moments import moments_of
from qcompile.pipeline import Compiled, compile
from qcompile.preflight import preflight
from qcompile.quadratize import quadratize
from qcompile.quality import quality
from qcompile.qubo_files import load_qubo, save_qubo
from qcompile.unembed import Samples, unembed
from qcompile.verify import verify
from qcompile.weight_range import warnings_for

__all__ = [
    "Ancillas",
    "Compiled",
    "Dataset",
    "Embedded",
    "Embedding",
    "EmbeddingNotFound",
    "Encoding",
    "FormatError",
    "InputError",
    "Loss",
    "Machine",
    "MemoryLimitError",
    "Moments",
    "Preparation",
    "Pubo",
    "QcompileError",
    "Qubo",
    "Samples",
    "__version__",
    "account",
    "add_noise",
    "catalogue",
    "check_embedding",
    "compile",
    "discretize",
    "embed",
    "estimate",
    "find_embedding",
    "fit_loss",
    "folds",
    "from_arrays",
    "load_embedding",
    "load_loss",
    "load_machine",
    "load_moments",
    "load_pubo",
    "load_qubo",
    "machine_from_sampler",
    "moments_of",
    "preflight",
    "prepare",
    "quadratize",
    "quality",
    "read",
    "save_embedding",
    "save_loss",
    "save_moments",
    "save_pubo",
    "save_qubo",
    "shuffle",
    "split",
    "unembed",
    "verify",
    "warnings_for",
]
