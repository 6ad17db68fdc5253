"""Write and show the result of a training, of `train` or of `resume`."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from qcompile.cli.output import show
from qcompile.cli.provenance import with_provenance
from qcompile.cli.wording import in_options
from qcompile.files import atomic
from qcompile.files.classifier import save_classifier
from qcompile.report import page, plot
from qcompile.report.gather import trained_run
from qcompile.stages.dataset import Dataset
from qcompile.training.cross_validation import Trial
from qcompile.training.l2_path import L2Trial
from qcompile.training.train import Trained

__all__ = ["write_trained"]


_log = logging.getLogger("qcompile")


def write_trained(
    found: Trained,
    options: argparse.Namespace,
    parts: Mapping[str, Dataset | None],
    written: Sequence[str],
    *,
    chosen: str = "",
    trials: Sequence[Trial | L2Trial] = (),
) -> None:
    """Write the files that were asked for, and show how the training went.

    `chosen` says what chose the method, and `parts` are the rows by name, for the report.
    """
    kept, picture = list(written), getattr(options, "plot", None)
    with atomic.all_or_nothing():
        if options.output:
            save_classifier(found.classifier, options.output)
        if options.report:
            run = with_provenance(trained_run(found, parts), options)
            page.write_report(run, options.report)
        if picture and found.rounds:
            plot.plot_rounds(found, picture)
    if picture and not found.rounds:
        _log.warning("warning: %s is not written: no round was made", picture)
        kept.remove(picture)
    for note in found.notes:
        _log.warning("warning: %s", in_options(note, options))
    job = _job_of(found)
    if found.job is not None:
        kept.append(str(found.job.folder / "model.json"))
    if options.json:
        summary = {
            "method": found.method,
            **job,
            "l2": found.l2,
            "stages": [stage.to_dict() for stage in found.stages],
            "rounds": [own.to_dict() for own in found.rounds],
            "where accuracy is lost": [risk.to_dict() for risk in found.risks],
            "errors": dict(found.errors),
            "intervals": found.intervals,
            "baseline error": found.baseline,
            "cross-validation": [trial.to_dict() for trial in trials],
        }
        show(summary, options, written=kept)
    else:
        shown = {"method": f"{found.method}{chosen}", **job, **_in_words(found, trials)}
        show(shown, options, written=kept)


def _job_of(found: Trained) -> dict[str, Any]:
    """Return the job of a training on Leap, and what the server reported."""
    if found.job is None:
        return {}
    known = found.job.progress
    return {
        "job": found.job.id,
        "solver": known.solver,
        "seconds billed": known.seconds,
        "ended": found.ended,
    }


def _in_words(found: Trained, trials: Sequence[Trial | L2Trial]) -> dict[str, str]:
    """Return the trials, the stages, the risks and the errors of a training as text."""
    shown: dict[str, str] = {}
    for trial in trials:
        setting = ", ".join(
            f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in trial.setting.items()
        )
        shown[f"cv: {setting}"] = (
            f"validation error {trial.error:.4f} ± {trial.spread:.4f}, standard deviation of "
            f"{trial.folds} folds {trial.deviation:.4f}"
        )
    for stage in found.stages:
        shown[f"stage {stage.name}"] = f"{stage.seconds:.3f} s, {stage.size}"
    if found.l2 is not None:
        shown["l2"] = f"{found.l2:.4g}"
    for risk in found.risks:
        shown[risk.classifier] = f"objective {risk.objective:.6f}, 0-1 risk {risk.error:.4f}"
    for part in found.errors:
        shown[f"{part} error"] = found.error_text(part)
    shown["baseline error"] = f"{found.baseline:.4f}, of always predicting the more frequent label"
    return shown
