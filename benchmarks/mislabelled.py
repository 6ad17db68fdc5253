"""Find flipped labels, beside cleanlab: ``python -m benchmarks.mislabelled``.

20% of the labels of the training rows are flipped, on the sets of ``benchmarks.learning``. Each
method names rows whose labels it holds to be wrong, and puts all rows in an order. Precision and
recall are of the rows that it names, the average precision (area under precision and recall) is of
its order, so that no threshold decides. `qcompile explain` has no setting that was tuned on these
sets: what it does was chosen on eleven others (README.md). Writes a CSV file and prints a table.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile import explain, from_arrays, train

from .learning.conditions import damaged
from .learning.sets import SETS, at_hand, split

__all__ = ["METHODS", "Line", "measure", "table"]

Floats = NDArray[np.float64]
# What a method returns: the rows that it names, and a doubt of each row; larger is more doubtful.
Answer = tuple[NDArray[np.bool_], Floats]

_CONDITION = "20% flipped"
_FOLDS = 5
_RESULTS = Path(__file__).parent / "results" / "mislabelled.csv"


@dataclass(frozen=True)
class Line:
    """What a method found in one set; `seconds` are CPU seconds."""

    set: str
    seed: int
    method: str
    rows: int
    flipped: int
    named: int
    precision: float
    recall: float
    f1: float
    average_precision: float
    seconds: float


def _contradicted(x: Floats, y: Floats, seed: int) -> Answer:
    """Name the rows on the wrong side, the farthest first."""
    return _explained(x, y, seed)[0]


def _likely(x: Floats, y: Floats, seed: int) -> Answer:
    """Name the rows whose label is rather wrong than right."""
    return _explained(x, y, seed)[1]


def _explained(x: Floats, y: Floats, seed: int) -> tuple[Answer, Answer]:
    rows = from_arrays(x, y)
    model = train(rows, seed=seed).classifier
    found = explain(model, rows, seed=seed).suspects
    assert found is not None
    made = model.preparation.apply(x)
    lengths = np.maximum(np.linalg.norm(made, axis=1), 1e-300)
    doubts = -rows.y * (made @ model.weights) / lengths
    named, likely = np.zeros(len(y), dtype=bool), np.zeros(len(y), dtype=bool)
    named[found.rows] = True
    likely[found.likely] = True
    return (named, doubts), (likely, doubts)


def _cleanlab(make: Callable[[], Any]) -> Callable[[Floats, Floats, int], Answer]:
    def find(x: Floats, y: Floats, seed: int) -> Answer:
        from cleanlab.filter import find_label_issues
        from cleanlab.rank import get_label_quality_scores
        from sklearn.model_selection import StratifiedKFold, cross_val_predict
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        labels = (y > 0).astype(np.int64)
        folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
        shares = cross_val_predict(
            make_pipeline(StandardScaler(), make()), x, labels, cv=folds, method="predict_proba"
        )
        named = find_label_issues(labels, shares, n_jobs=1)
        return np.asarray(named), -np.asarray(get_label_quality_scores(labels, shares))

    return find


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000)


def _logistic_cv() -> Any:
    from sklearn.linear_model import LogisticRegressionCV

    return LogisticRegressionCV(max_iter=1000)


OURS = {"explain, contradicted": _contradicted, "explain, likely mislabelled": _likely}
METHODS: dict[str, Callable[[Floats, Floats, int], Answer]] = {
    **OURS,
    "cleanlab, LogisticRegression": _cleanlab(_logistic),
    "cleanlab, LogisticRegressionCV": _cleanlab(_logistic_cv),
}


def measure(sets: tuple[str, ...], seeds: int, rows: int) -> Iterator[Line]:
    """Yield the line of each method in each set."""
    methods = {name: find for name, find in METHODS.items() if name in OURS or _has_cleanlab()}
    for name in sets:
        for seed in range(seeds):
            clean = split(name, seed, train_rows=rows, test_rows=rows)
            x, y = damaged(clean.x, clean.y, _CONDITION, name=name, seed=seed)
            wrong = y != clean.y
            for method, find in methods.items():
                began = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of convergence: the figures tell its cost
                    named, doubts = find(x, y, seed)
                spent = time.process_time() - began
                yield _line(name, seed, method, wrong, named, doubts, spent)


def _line(
    name: str, seed: int, method: str, wrong: NDArray[np.bool_], named: NDArray[np.bool_],
    doubts: Floats, spent: float,
) -> Line:  # fmt: skip
    from sklearn.metrics import average_precision_score

    hits = int((named & wrong).sum())
    precision = hits / max(1, int(named.sum()))
    recall = hits / int(wrong.sum())
    f1 = 2 * hits / (int(named.sum()) + int(wrong.sum()))
    area = float(average_precision_score(wrong, doubts))
    return Line(
        name, seed, method, len(wrong), int(wrong.sum()), int(named.sum()), round(precision, 4),
        round(recall, 4), round(f1, 4), round(area, 4), round(spent, 2),
    )  # fmt: skip


def _has_cleanlab() -> bool:
    from importlib.util import find_spec

    return find_spec("cleanlab") is not None


def table(lines: list[Line]) -> str:
    """Return the means over the sets as a Markdown table, and how often each order is the best."""
    text = [
        "| method | precision | recall | F1 | average precision | best order |",
        "|---|---|---|---|---|---|",
    ]
    names = list(dict.fromkeys(line.set for line in lines))
    methods = list(dict.fromkeys(line.method for line in lines))

    def mean(method: str, what: str, sets: list[str]) -> float:
        by_set = [
            np.mean([getattr(x, what) for x in lines if (x.method, x.set) == (method, name)])
            for name in sets
        ]
        return float(np.mean(by_set))

    for method in methods:
        own = [mean(method, what, names) for what in ("precision", "recall", "f1")]
        area = mean(method, "average_precision", names)
        best = sum(
            mean(method, "average_precision", [name])
            >= max(mean(other, "average_precision", [name]) for other in methods) - 1e-9
            for name in names
        )
        shown = " | ".join(f"{100 * value:.1f}%" for value in own)
        text.append(f"| {method} | {shown} | {area:.3f} | {best} of {len(names)} |")
    return "\n".join(text)


def main() -> None:
    """Measure, write the CSV file, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mislabelled", description=__doc__)
    parser.add_argument("--tiny", action="store_true", help="two sets, few rows, one seed: seconds")
    parser.add_argument("--seeds", type=int, default=3, help="splits of each set (3)")
    parser.add_argument("--output", metavar="FILE", help="where the lines go (CSV)")
    options = parser.parse_args()
    if not _has_cleanlab():
        print("cleanlab: skipped, it is not installed (pip install 'qcompile-anneal[bench]')")
    known = ("breast cancer", "iris") if options.tiny else tuple(SETS)
    for name in known:
        if not at_hand(name):
            print(f"{name}: skipped, QCOMPILE_DATA names no folder with it")
    sets = tuple(name for name in known if at_hand(name))
    lines = []
    for line in measure(sets, 1 if options.tiny else options.seeds, 100 if options.tiny else 2000):
        lines.append(line)
        print(
            f"{line.set}, seed {line.seed}: {line.method}: precision {line.precision:.3f}, recall "
            f"{line.recall:.3f}, average precision {line.average_precision:.3f}",
            flush=True,
        )
    output = options.output or (None if options.tiny else _RESULTS)
    if output is not None:
        _write(lines, Path(output))
    print(table(lines))


def _write(lines: list[Line], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([field.name for field in fields(Line)])
        writer.writerows(astuple(line) for line in lines)


if __name__ == "__main__":
    main()
