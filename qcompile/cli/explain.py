"""The command `explain`."""

from __future__ import annotations

import argparse
import csv
import io
from typing import Any

from qcompile.cli.output import Worded, show
from qcompile.cli.parsing import UsageError, add_command
from qcompile.data.replay import labelled_rows
from qcompile.files import atomic
from qcompile.files.classifier import load_classifier
from qcompile.runtime.progress import bar
from qcompile.runtime.timing import passing
from qcompile.stages.labels import label_text
from qcompile.training.calibrate import FOLDS
from qcompile.training.explain import Explanation, FeatureWeight, Suspects, explain

__all__ = ["add_commands"]


_MOST_WEIGHTS, _MOST_SUSPECTS = 20, 10


def add_commands(commands: Any) -> None:
    """Add `explain`."""
    command = add_command(commands, "explain")
    command.add_argument("model", metavar="MODEL", help="a file of decode or train")
    command.add_argument(
        "--data", metavar="DATA", help="rows with labels: which labels does it contradict?"
    )
    command.add_argument(
        "--label",
        metavar="COLUMN",
        help="label column of --data, by name, if it is another than in training (tables)",
    )
    command.add_argument(
        "--suspects", metavar="FILE", help="write the contradicted rows as CSV, the surest first"
    )
    command.add_argument(
        "--folds",
        type=int,
        default=FOLDS,
        metavar="K",
        help="judge each row by classifiers that are trained on the other of K folds; 0 for rows "
        f"that the classifier was not trained on ({FOLDS})",
    )
    command.add_argument("--seed", type=int, default=0, metavar="N", help="of the folds (0)")
    command.set_defaults(run=_run_explain)


def _run_explain(options: argparse.Namespace) -> None:
    written = [*filter(None, [options.suspects])]
    atomic.check_outputs(written, inputs=(options.model, options.data))
    for name in ("suspects", "label"):
        if getattr(options, name) is not None and options.data is None:
            raise UsageError(f"--{name} needs rows with labels; add: --data DATA")
    model = load_classifier(options.model)
    rows = None
    if options.data is not None:
        with bar("reading"), passing("read"):
            rows = labelled_rows(options.data, model, label=options.label)
    with bar("explain"), passing("explain"):
        found = explain(model, rows, folds=options.folds, seed=options.seed)
    if options.suspects:
        assert found.suspects is not None
        with atomic.write_atomically(options.suspects) as stream:
            stream.write(_as_csv(found.suspects).encode())
    summary = found.to_dict() if options.json else _in_words(found, options)
    show(summary, options, written=written)


def _as_csv(suspects: Suspects) -> str:
    """Return the suspects as CSV: one line for each row, whose number counts from 1."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = ("row", "label", "predicted", "margin", "loss", "given_up", "chance")
    writer.writerow(names)
    for own in suspects.records():
        row, label, predicted, *numbers, given_up, chance = own.values()
        labels = (label_text(label), label_text(predicted))
        shown = (*(repr(number) for number in numbers), "yes" if given_up else "no", repr(chance))
        writer.writerow((row, *labels, *shown))
    return text.getvalue()


def _in_words(found: Explanation, options: argparse.Namespace) -> dict[str, Any]:
    """Return the largest weights and the surest suspects as text."""
    shown: dict[str, Any] = {
        "positive label": label_text(found.positive),
        "negative label": label_text(found.negative),
    }
    if found.intercept is not None:
        shown["intercept"] = found.intercept
    most = len(found.weights) if options.verbose else _MOST_WEIGHTS
    for own in found.weights[:most]:
        shown[f"weight: {own.name}"] = _weight_text(own)
    if len(found.weights) > most:
        shown["other weights"] = Worded(
            len(found.weights) - most, f"{len(found.weights) - most:,}, with -v"
        )
    if found.suspects is not None:
        shown |= _suspects_in_words(found, found.suspects)
    return shown


def _weight_text(own: FeatureWeight) -> str:
    scaled = f"{own.scaled:+.4g} scaled"
    return scaled if own.weight is None else f"{scaled}, {own.weight:+.4g} a unit"


def _suspects_in_words(found: Explanation, suspects: Suspects) -> dict[str, Any]:
    assert found.noise is not None
    positive, negative = label_text(found.positive), label_text(found.negative)
    shown: dict[str, Any] = {
        "rows": found.rows,
        "rows contradicted": len(suspects),
        "rows given up": int(suspects.given_up.sum()),
        "rows likely mislabelled": len(suspects.likely),
        "wrong labels, estimated": f"{found.noise.positive:.1%} of the rows that are {positive}, "
        f"{found.noise.negative:.1%} of those that are {negative}",
    }
    for own in suspects.records(_MOST_SUSPECTS):
        shown[f"row {own['row']}"] = (
            f"label {label_text(own['label'])}, margin {own['margin']:.3g}, wrong with "
            f"probability {own['chance']:.2f}"
        )
    return shown
