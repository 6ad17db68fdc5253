"""Compare classifiers on clean and damaged rows: ``python -m benchmarks.learning [--tiny]``.

Writes learning.csv, objective.csv (with --objective), RESULTS.md and a picture into
benchmarks/learning/results. Lines that are in learning.csv are not computed again.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from . import report
from .conditions import CONDITIONS
from .methods import METHODS
from .objective import SEARCHES, compare
from .run import Plan, measure
from .sets import SETS, at_hand

_TINY_SETS = ("breast cancer", "iris")
_TINY_CONDITIONS = ("clean", "40% flipped", "5% outliers")
_TINY_METHODS = ("LogisticRegression", "LogisticRegressionCV", "sigmoid loss", "0-1 search",
                 "paper, cubic", "rounds")  # fmt: skip


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(";"))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learning", description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="two sets, few rows, one seed: seconds")
    parser.add_argument("--output", metavar="FOLDER", help="where results go")
    parser.add_argument("--only", metavar="SETS", type=_names, help="these sets, 'wine; iris'")
    parser.add_argument("--methods", type=_names, help="these methods, 'rounds; LinearSVC'")
    parser.add_argument("--seeds", type=int, default=5, help="splits of each set (5)")
    parser.add_argument("--jobs", type=int, default=2, help="processes, one thread each (2)")
    parser.add_argument(
        "--again", action="append", default=[], metavar="METHOD",
        help="compute the lines of this method again; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--objective", action="store_true",
        help="compare the objective that rounds reach with L-BFGS from ten starts, nothing else",
    )  # fmt: skip
    parser.add_argument(
        "--solver", default="anneal", choices=tuple(SEARCHES), help="of --objective (anneal)"
    )
    parser.add_argument("--report", action="store_true", help="write the page and picture only")
    return parser


def main() -> None:
    """Run what is missing, then write the page and the picture."""
    parser = _parser()
    options = parser.parse_args()
    for given, known in (
        (options.only, SETS),
        (options.methods, METHODS),
        (options.again, METHODS),
    ):
        for name in given or ():
            if name not in known:
                parser.error(f"{name!r} is not one of: {'; '.join(known)}")
    folder = _folder(options)
    plan = _plan(options)
    if options.objective:
        compare(plan, folder / "objective.csv", solver=options.solver)
    elif not options.report:
        measure(plan, folder / "learning.csv", options.again)
    report.write(folder)


def _folder(options: argparse.Namespace) -> Path:
    if options.output:
        return Path(options.output)
    if options.tiny:
        import tempfile

        return Path(tempfile.mkdtemp(prefix="learning-"))
    return Path(__file__).parent / "results"


def _plan(options: argparse.Namespace) -> Plan:
    chosen = options.only or (_TINY_SETS if options.tiny else tuple(SETS))
    for name in chosen:
        if not at_hand(name):
            print(f"{name}: skipped, QCOMPILE_DATA names no folder with it")
    sets = tuple(name for name in chosen if at_hand(name))
    if not sets:
        sys.exit("no set is left")
    if options.tiny:
        methods = options.methods or _TINY_METHODS
        return Plan(sets, _TINY_CONDITIONS, methods, 1, 1, train_rows=100, test_rows=200)
    return Plan(
        sets, tuple(CONDITIONS), options.methods or tuple(METHODS), options.seeds, options.jobs
    )


if __name__ == "__main__":
    main()
