"""Classifier x Dataset -> Explanation: weights by name, and rows that are likely mislabelled.

Losses that are bounded give up on rows far on the wrong side: they no longer pull on the weights.
So the weights are not spoilt by wrong labels, and the rows that were given up are where to look for
them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qcompile.data.given import DataSource
from qcompile.data.prepare import PrepareOptions
from qcompile.data.replay import labelled_rows
from qcompile.errors import InputError
from qcompile.files.classifier import classifier_of
from qcompile.stages.arrays import Floats, frozen, row_norms
from qcompile.stages.classifier import Classifier
from qcompile.stages.dataset import Dataset, answers
from qcompile.stages.display import Displayed, many
from qcompile.stages.labels import RowLabel, label_text
from qcompile.stages.loss import Loss
from qcompile.stages.record import Record
from qcompile.training.calibrate import FOLDS, held_out_decisions
from qcompile.training.label_noise import LabelNoise, fit_label_noise

__all__ = ["Explanation", "FeatureWeight", "Suspects", "explain"]


# The margin where the loss Φ(-margin) of the rounds pulls half as strongly as it does at most.
_HALF_PULL = -math.sqrt(2 * math.log(2))
# With more rows a classifier does not learn any of them by heart.
_MOST_HELD_OUT = 20_000


@dataclass(frozen=True)
class FeatureWeight(Record):
    """The weight of a raw column.

    `scaled` is that of the column as it was scaled for training, so that those of several columns
    compare. `weight` is that of the column in its own units: of one unit more. It is None if rows
    were brought to unit norm, as it then depends on the other columns of the row.
    """

    name: str
    scaled: float
    weight: float | None


@dataclass(frozen=True, eq=False, repr=False)
class Suspects(Displayed):
    """The rows whose labels a classifier contradicts, the most surely contradicted first.

    `rows` count from 0. `margins` are those that the loss sees, below 0; in rounds a row is brought
    to unit length first. `losses` are what it charges for them: in rounds the share of classifiers
    drawn around the weights that contradict the label. `given_up` marks the rows that pull on the
    weights less than half as strongly as others, or not at all: those below the turn of the loss.
    `chances` are the probabilities that the labels are wrong, as `LabelNoise` has them.
    """

    rows: NDArray[np.int64]
    labels: NDArray[Any]
    predicted: NDArray[Any]
    margins: Floats
    losses: Floats
    given_up: NDArray[np.bool_]
    chances: Floats

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def likely(self) -> NDArray[np.int64]:
        """The rows, from 0 on, whose labels are rather wrong than right."""
        return self.rows[self.chances > 0.5]

    def _line(self) -> str:
        return f"{many(len(self), 'row')} contradicted, {len(self.likely):,} likely mislabelled"

    def _facts(self) -> Mapping[str, object]:
        shown = zip(self.rows.tolist(), self.labels.tolist(), self.chances.tolist(), strict=True)
        return {
            f"row {row}": f"label {label_text(label)}, wrong with probability {chance:.2f}"
            for (row, label, chance), _ in zip(shown, range(20), strict=False)
        }

    def records(self, count: int | None = None) -> list[dict[str, Any]]:
        """Return the rows as plain values, the first `count` of them; their numbers are from 1."""
        part = slice(count)
        columns = {
            "row": (self.rows[part] + 1).tolist(),
            "label": self.labels[part].tolist(),
            "predicted": self.predicted[part].tolist(),
            "margin": self.margins[part].tolist(),
            "loss": self.losses[part].tolist(),
            "given up": self.given_up[part].tolist(),
            "chance": self.chances[part].tolist(),
        }
        return [
            dict(zip(columns, values, strict=True))
            for values in zip(*columns.values(), strict=True)
        ]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Displayed):
    """What a classifier looks at, the largest `weights` first, and which labels it doubts.

    `intercept` is that of the decision in units of the data; None if rows were brought to unit
    norm. With data there are the `suspects`, of so many `rows`, and the `noise` of their labels.
    """

    weights: tuple[FeatureWeight, ...]
    intercept: float | None
    positive: RowLabel
    negative: RowLabel | None
    rows: int | None = None
    suspects: Suspects | None = None
    noise: LabelNoise | None = None

    def _line(self) -> str:
        found = "" if self.suspects is None else f", {self.suspects._line()}"
        return f"{many(len(self.weights), 'weight')}{found}"

    def _facts(self) -> Mapping[str, object]:
        return {
            **{own.name: own.scaled for own in self.weights[:20]},
            "intercept": self.intercept,
            "positive label": label_text(self.positive),
            "suspects": self.suspects,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values by key."""
        plain: dict[str, Any] = {
            "weights": [own.to_dict() for own in self.weights],
            "intercept": self.intercept,
            "positive label": self.positive,
            "negative label": self.negative,
        }
        if self.suspects is None or self.noise is None:
            return plain
        return plain | {
            "rows": self.rows,
            "noise": {"positive": self.noise.positive, "negative": self.noise.negative},
            "suspects": self.suspects.records(),
        }


def explain(
    model: Classifier | str | Path,
    data: Dataset | DataSource | None = None,
    *,
    label: str | None = None,
    folds: int = FOLDS,
    seed: int = 0,
) -> Explanation:
    """Return the weights of a classifier by name, and the rows of `data` that it contradicts.

    `model` may be a file, `data` are what `read` takes; `label` names the label column of a table
    if it is another than in training. Rows count as contradicted by the margins of the classifier
    itself. How likely their labels are wrong is worked out from the decisions of classifiers that
    were trained on the other `folds` of the rows, unless there are more than 20,000 rows; `folds` 0
    takes the decisions of the classifier itself, for rows that it was not trained on.

    The probabilities hold as far as labels are flipped at random and a hyperplane can tell the
    classes apart. Rows on which every linear classifier is wrong look mislabelled, too.

    >>> from qcompile import add_noise, read, train
    >>> rows = add_noise(read("breast-cancer"), 0.1, seed=1)
    >>> found = explain(train(rows).classifier, rows)
    >>> found.weights[0].name
    'column 28'
    >>> 45 <= len(found.suspects.likely) <= 70  # 57 labels were flipped
    True
    """
    model = classifier_of(model)
    weights, intercept = _weights_of(model)
    made = model.preparation
    plain = Explanation(weights, intercept, made.positive, made.negative)
    if data is None:
        return plain
    if not isinstance(data, Dataset):
        data = labelled_rows(data, model, label=label)
    prepared, raw = _rows_of(model, data)
    margins, losses, turn = _as_the_loss_sees(model, prepared)
    decisions = _decisions(model, prepared, raw, folds, seed)
    noise = fit_label_noise(decisions, prepared.y, data.weights)
    order = np.argsort(margins, kind="stable")
    order = order[answers(margins * prepared.y)[order] != prepared.y[order]]
    suspects = Suspects(
        rows=order,
        labels=made.labels(prepared.y[order]),
        predicted=made.labels(-prepared.y[order]),
        margins=frozen(margins[order]),
        losses=frozen(losses[order]),
        given_up=margins[order] < turn,
        chances=frozen(noise.chances(decisions[order], prepared.y[order])),
    )
    return replace(plain, rows=len(data), suspects=suspects, noise=noise)


def _weights_of(model: Classifier) -> tuple[tuple[FeatureWeight, ...], float | None]:
    """Return the weights by name, the largest first, and the intercept."""
    made = model.preparation
    columns = np.arange(made.raw_features) if made.columns is None else made.columns
    raw: Floats | None = None
    intercept: float | None = None
    if not made.unit_norm:
        raw, intercept = model.raw_weights()
    own = model.weights[: len(columns)]
    names = model.column_names
    order = np.argsort(-np.abs(own), kind="stable")
    found = tuple(
        FeatureWeight(
            names[columns[place]],
            float(own[place]),
            None if raw is None else float(raw[columns[place]]),
        )
        for place in order.tolist()
    )
    return found, intercept


def _rows_of(model: Classifier, data: Dataset) -> tuple[Dataset, Dataset | None]:
    """Return the rows as the classifier takes them, and the raw rows if these were given.

    Their signs are those that the classifier gives to their labels.
    """
    made, given = model.preparation, data.preparation
    labels = given.labels(data.y)
    unknown = made.unknown_labels(labels)
    if unknown:
        raise InputError(f"label {label_text(unknown[0])} was never seen in training")
    signed = replace(data, y=frozen(made.signs(labels)))
    if given.is_identity:
        plain = replace(given, positive=made.positive, negative=made.negative)
        x = made.apply(data.x)
        return replace(signed, x=x, preparation=made), replace(signed, preparation=plain)
    if not made.same_but_wider(given):
        raise InputError(
            "these rows are prepared in another way than those of the classifier; expected raw "
            "rows, or prepare(data, like=rows)"
        )
    return replace(signed, preparation=made), None


def _as_the_loss_sees(model: Classifier, rows: Dataset) -> tuple[Floats, Floats, float]:
    """Return margins and losses of the rows, and the margin below which they are given up."""
    margins = rows.margins(model.weights)
    known = model.source.loss
    if known is not None and model.source.method != "rounds":
        loss = Loss(known, prior_std=1.0, range_=1.0)
        return margins, loss(margins), -loss.turn
    from scipy.special import ndtr

    norms = row_norms(rows.x)
    margins = np.divide(margins, norms, out=np.zeros_like(margins), where=norms > 0)
    return margins, np.asarray(ndtr(-margins)), _HALF_PULL


def _decisions(
    model: Classifier, prepared: Dataset, raw: Dataset | None, folds: int, seed: int
) -> Floats:
    """Return decisions about the rows at unit length, by classifiers that did not see them."""
    if folds and len(prepared) <= _MOST_HELD_OUT:
        how = None if raw is None else _options_of(model)
        return held_out_decisions(
            prepared if raw is None else raw,
            l2=_price(model),
            preparation=how,
            folds=folds,
            seed=seed,
            unit_rows=True,
        )
    norms = row_norms(prepared.x)
    own = np.asarray(prepared.x @ model.weights)
    return np.asarray(np.divide(own, norms, out=np.zeros_like(own), where=norms > 0))


def _price(model: Classifier) -> float | None:
    """Return the price of the weights in rounds; the paper's method has another regulariser."""
    return model.source.l2 if model.source.method == "rounds" else None


def _options_of(model: Classifier) -> PrepareOptions:
    """Return how the rows of a classifier were prepared, to prepare others by their own columns."""
    made = model.preparation
    columns = None if made.columns is None else len(made.columns)
    return PrepareOptions(made.scaling or "none", columns, made.bias)
