"""Compile the training of a robust binary classifier for a quantum annealer.

Stages are nouns (`Dataset`, `Moments`, `Loss`, `Pubo`, `Qubo`, `Embedded`,
`Samples`), passes are verbs (`read`, `prepare`, `moments_of`, `fit_loss`, `discretize`,
`quadratize`, `embed`, `unembed`); `compile` calls them in order up to the QUBO.
"""

# Before all else: Ctrl-C may come while the rest is being imported.
from qcompile import _early_interrupt  # noqa: F401  # isort: skip

from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from qcompile._version import __version__

if _TYPE_CHECKING:  # at run time `__getattr__` imports a name when it is first asked for
    from qcompile.data.options import DataOptions
    from qcompile.data.prepare import from_arrays, prepare
    from qcompile.data.read import read
    from qcompile.data.split import add_noise, folds, shuffle, split
    from qcompile.embedding.complete import complete_chains, largest_clique, with_chains
    from qcompile.embedding.copies import complete_copies, find_copies
    from qcompile.embedding.embed import EmbeddingNotFound, embed, find_embedding
    from qcompile.embedding.preflight import preflight
    from qcompile.embedding.programming import make_program
    from qcompile.embedding.quality import quality
    from qcompile.embedding.unembed import unembed, unembed_program
    from qcompile.errors import FormatError, InputError, LeapError, MemoryLimitError, QcompileError
    from qcompile.files.classifier import load_classifier, save_classifier
    from qcompile.files.embedding import (
        load_embedding,
        load_embeddings,
        save_embedding,
        save_embeddings,
    )
    from qcompile.files.export import export, to_onnx, to_plain, to_sklearn
    from qcompile.files.interchange import read_pubo
    from qcompile.files.interchange_out import write_pubo
    from qcompile.files.loss import load_loss, save_loss
    from qcompile.files.machines import catalogue, load_machine, machine_from_sampler
    from qcompile.files.moments import load_moments, save_moments
    from qcompile.files.pubo import load_pubo, save_pubo
    from qcompile.files.qubo import load_qubo, save_qubo
    from qcompile.files.samples import load_samples, save_samples
    from qcompile.jobs import cancel, list_jobs, load_job, resume
    from qcompile.leap.job import Job
    from qcompile.leap.nonlinear import to_nonlinear
    from qcompile.leap.retry import Patience
    from qcompile.leap.submission import Submission, submit
    from qcompile.moments.accumulate import moments_of
    from qcompile.moments.dask import moments_dask
    from qcompile.moments.local import fit_around
    from qcompile.objective.decode import decode
    from qcompile.objective.discretize import discretize
    from qcompile.objective.fit import LossOptions, fit_loss
    from qcompile.objective.judgement import Judgement, judge, warnings_for
    from qcompile.objective.step import discretize_step
    from qcompile.ocean import PuboSampler
    from qcompile.pipeline import Compiled, compile, verify
    from qcompile.reduction.accounting import account
    from qcompile.reduction.estimate import estimate
    from qcompile.reduction.quadratize import QuboOptions, quadratize
    from qcompile.reduction.restore import restore
    from qcompile.rehearsal.expected_loss import ExpectedLoss, expected_loss
    from qcompile.rehearsal.record import Rehearsal
    from qcompile.rehearsal.rehearse import rehearse
    from qcompile.rehearsal.training import TrainingRehearsal, rehearse_training
    from qcompile.sklearn import PolynomialLossClassifier
    from qcompile.solvers.anneal import anneal
    from qcompile.solvers.anneal_margins import anneal_examples
    from qcompile.solvers.descent import descend
    from qcompile.solvers.mock_machine import MockMachine, RehearsedMachine
    from qcompile.solvers.options import SolveOptions
    from qcompile.solvers.solve import SOLVERS, solve
    from qcompile.stages.calibration import Calibration
    from qcompile.stages.classifier import Classifier
    from qcompile.stages.dataset import Dataset
    from qcompile.stages.embedded import Embedded, Embedding, check_embedding
    from qcompile.stages.encoding import Encoding
    from qcompile.stages.local_fit import Around, LocalFit
    from qcompile.stages.loss import Loss, QLoss, ZeroOneLoss
    from qcompile.stages.machine import Machine
    from qcompile.stages.machine_facts import Temperature, Timing
    from qcompile.stages.moments import Moments
    from qcompile.stages.preparation import Preparation
    from qcompile.stages.program import Program
    from qcompile.stages.pubo import Pubo
    from qcompile.stages.qubo import Ancillas, Qubo
    from qcompile.stages.samples import Samples
    from qcompile.stages.step import Step
    from qcompile.stages.table import TableColumn, TableSchema
    from qcompile.training.calibrate import calibrate
    from qcompile.training.cross_validation import cross_validate
    from qcompile.training.explain import Explanation, FeatureWeight, Suspects, explain
    from qcompile.training.label_noise import LabelNoise
    from qcompile.training.leap_cost import TrainingCost
    from qcompile.training.leap_job import TrainingJob
    from qcompile.training.leap_machine import LeapMachine
    from qcompile.training.rounds import Round, RoundOptions
    from qcompile.training.train import Trained, train

__all__ = [
    "SOLVERS",
    "Ancillas",
    "Around",
    "Calibration",
    "Classifier",
    "Compiled",
    "DataOptions",
    "Dataset",
    "Embedded",
    "Embedding",
    "EmbeddingNotFound",
    "Encoding",
    "ExpectedLoss",
    "Explanation",
    "FeatureWeight",
    "FormatError",
    "InputError",
    "Job",
    "Judgement",
    "LabelNoise",
    "LeapError",
    "LeapMachine",
    "LocalFit",
    "Loss",
    "LossOptions",
    "Machine",
    "MemoryLimitError",
    "MockMachine",
    "Moments",
    "Patience",
    "PolynomialLossClassifier",
    "Preparation",
    "Program",
    "Pubo",
    "PuboSampler",
    "QLoss",
    "QcompileError",
    "Qubo",
    "QuboOptions",
    "Rehearsal",
    "RehearsedMachine",
    "Round",
    "RoundOptions",
    "Samples",
    "SolveOptions",
    "Step",
    "Submission",
    "Suspects",
    "TableColumn",
    "TableSchema",
    "Temperature",
    "Timing",
    "Trained",
    "TrainingCost",
    "TrainingJob",
    "TrainingRehearsal",
    "ZeroOneLoss",
    "__version__",
    "account",
    "add_noise",
    "anneal",
    "anneal_examples",
    "calibrate",
    "cancel",
    "catalogue",
    "check_embedding",
    "compile",
    "complete_chains",
    "complete_copies",
    "cross_validate",
    "decode",
    "descend",
    "discretize",
    "discretize_step",
    "embed",
    "estimate",
    "expected_loss",
    "explain",
    "export",
    "find_copies",
    "find_embedding",
    "fit_around",
    "fit_loss",
    "folds",
    "from_arrays",
    "judge",
    "largest_clique",
    "list_jobs",
    "load_classifier",
    "load_embedding",
    "load_embeddings",
    "load_job",
    "load_loss",
    "load_machine",
    "load_moments",
    "load_pubo",
    "load_qubo",
    "load_samples",
    "machine_from_sampler",
    "make_program",
    "moments_dask",
    "moments_of",
    "preflight",
    "prepare",
    "quadratize",
    "quality",
    "read",
    "read_pubo",
    "rehearse",
    "rehearse_training",
    "restore",
    "resume",
    "save_classifier",
    "save_embedding",
    "save_embeddings",
    "save_loss",
    "save_moments",
    "save_pubo",
    "save_qubo",
    "save_samples",
    "shuffle",
    "solve",
    "split",
    "submit",
    "to_nonlinear",
    "to_onnx",
    "to_plain",
    "to_sklearn",
    "train",
    "unembed",
    "unembed_program",
    "verify",
    "warnings_for",
    "with_chains",
    "write_pubo",
]

# The public names by the module that they are in.
_MODULES = {
    "data.options": ("DataOptions",),
    "data.prepare": (
        "from_arrays",
        "prepare",
    ),
    "data.read": ("read",),
    "data.split": (
        "add_noise",
        "folds",
        "shuffle",
        "split",
    ),
    "embedding.complete": (
        "complete_chains",
        "largest_clique",
        "with_chains",
    ),
    "embedding.copies": (
        "complete_copies",
        "find_copies",
    ),
    "embedding.embed": (
        "EmbeddingNotFound",
        "embed",
        "find_embedding",
    ),
    "embedding.preflight": ("preflight",),
    "embedding.programming": ("make_program",),
    "embedding.quality": ("quality",),
    "embedding.unembed": (
        "unembed",
        "unembed_program",
    ),
    "errors": (
        "FormatError",
        "InputError",
        "LeapError",
        "MemoryLimitError",
        "QcompileError",
    ),
    "files.classifier": (
        "load_classifier",
        "save_classifier",
    ),
    "files.embedding": (
        "load_embedding",
        "load_embeddings",
        "save_embedding",
        "save_embeddings",
    ),
    "files.export": ("export", "to_onnx", "to_plain", "to_sklearn"),
    "files.interchange": ("read_pubo",),
    "files.interchange_out": ("write_pubo",),
    "files.loss": (
        "load_loss",
        "save_loss",
    ),
    "files.machines": (
        "catalogue",
        "load_machine",
        "machine_from_sampler",
    ),
    "files.moments": (
        "load_moments",
        "save_moments",
    ),
    "files.pubo": (
        "load_pubo",
        "save_pubo",
    ),
    "files.qubo": (
        "load_qubo",
        "save_qubo",
    ),
    "files.samples": (
        "load_samples",
        "save_samples",
    ),
    "jobs": (
        "cancel",
        "list_jobs",
        "load_job",
        "resume",
    ),
    "leap.job": ("Job",),
    "leap.nonlinear": ("to_nonlinear",),
    "leap.retry": ("Patience",),
    "leap.submission": (
        "Submission",
        "submit",
    ),
    "moments.accumulate": ("moments_of",),
    "moments.dask": ("moments_dask",),
    "moments.local": ("fit_around",),
    "objective.decode": ("decode",),
    "objective.discretize": ("discretize",),
    "objective.fit": (
        "LossOptions",
        "fit_loss",
    ),
    "objective.judgement": (
        "Judgement",
        "judge",
        "warnings_for",
    ),
    "objective.step": ("discretize_step",),
    "ocean": ("PuboSampler",),
    "pipeline": (
        "Compiled",
        "compile",
        "verify",
    ),
    "reduction.accounting": ("account",),
    "reduction.estimate": ("estimate",),
    "reduction.quadratize": (
        "QuboOptions",
        "quadratize",
    ),
    "reduction.restore": ("restore",),
    "rehearsal.expected_loss": (
        "ExpectedLoss",
        "expected_loss",
    ),
    "rehearsal.record": ("Rehearsal",),
    "rehearsal.rehearse": ("rehearse",),
    "rehearsal.training": (
        "TrainingRehearsal",
        "rehearse_training",
    ),
    "sklearn": ("PolynomialLossClassifier",),
    "solvers.anneal": ("anneal",),
    "solvers.anneal_margins": ("anneal_examples",),
    "solvers.descent": ("descend",),
    "solvers.mock_machine": (
        "MockMachine",
        "RehearsedMachine",
    ),
    "solvers.options": ("SolveOptions",),
    "solvers.solve": (
        "SOLVERS",
        "solve",
    ),
    "stages.calibration": ("Calibration",),
    "stages.classifier": ("Classifier",),
    "stages.dataset": ("Dataset",),
    "stages.embedded": (
        "Embedded",
        "Embedding",
        "check_embedding",
    ),
    "stages.encoding": ("Encoding",),
    "stages.local_fit": (
        "Around",
        "LocalFit",
    ),
    "stages.loss": (
        "Loss",
        "QLoss",
        "ZeroOneLoss",
    ),
    "stages.machine": ("Machine",),
    "stages.machine_facts": (
        "Temperature",
        "Timing",
    ),
    "stages.moments": ("Moments",),
    "stages.preparation": ("Preparation",),
    "stages.program": ("Program",),
    "stages.pubo": ("Pubo",),
    "stages.qubo": (
        "Ancillas",
        "Qubo",
    ),
    "stages.samples": ("Samples",),
    "stages.step": ("Step",),
    "stages.table": (
        "TableColumn",
        "TableSchema",
    ),
    "training.calibrate": ("calibrate",),
    "training.cross_validation": ("cross_validate",),
    "training.explain": ("Explanation", "FeatureWeight", "Suspects", "explain"),
    "training.label_noise": ("LabelNoise",),
    "training.leap_cost": ("TrainingCost",),
    "training.leap_job": ("TrainingJob",),
    "training.leap_machine": ("LeapMachine",),
    "training.rounds": (
        "Round",
        "RoundOptions",
    ),
    "training.train": (
        "Trained",
        "train",
    ),
}
_HOME = {name: f"qcompile.{module}" for module, names in _MODULES.items() for name in names}


def __dir__() -> list[str]:
    """Return the public names, which are all that `dir(qcompile)` shows."""
    return sorted(__all__)


def __getattr__(name: str) -> _Any:
    """Import a public name when it is first asked for: nobody waits for what is not used."""
    if name not in _HOME:
        raise AttributeError(f"module 'qcompile' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(_HOME[name]), name)
    return value
