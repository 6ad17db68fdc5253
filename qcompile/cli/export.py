"""The command `export`."""

from __future__ import annotations

import argparse
from typing import Any

from qcompile.cli.output import show
from qcompile.cli.parsing import add_command
from qcompile.files import atomic
from qcompile.files.classifier import load_classifier
from qcompile.files.export import EXPORTS, export
from qcompile.stages.labels import label_text

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add `export`."""
    command = add_command(commands, "export")
    command.add_argument("model", metavar="MODEL", help="a file of decode or train")
    command.add_argument(
        "--to",
        choices=EXPORTS,
        help="scikit-learn pipeline (.skops, .joblib), ONNX model, or plain JSON (by the ending)",
    )
    command.add_argument("-o", "--output", metavar="FILE", required=True, help="write it there")
    command.add_argument(
        "--probabilities",
        action="store_true",
        help="sklearn: end in a LogisticRegression with the calibrated probabilities, which gives "
        "the more probable label",
    )
    command.set_defaults(run=_run_export)


def _run_export(options: argparse.Namespace) -> None:
    atomic.check_outputs([options.output], inputs=(options.model,))
    model = load_classifier(options.model)
    kind = export(model, options.output, to=options.to, probabilities=options.probabilities)
    made = model.preparation
    summary: dict[str, Any] = {
        "kind": kind,
        "features": made.raw_features,
        "positive label": label_text(made.positive),
        "negative label": label_text(made.negative_or_rest),
    }
    show(summary, options, written=[options.output])
