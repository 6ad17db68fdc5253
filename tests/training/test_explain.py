from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from qcompile import (
    Classifier,
    Dataset,
    InputError,
    add_noise,
    explain,
    from_arrays,
    prepare,
    read,
    save_classifier,
    train,
)

NAMES = ("age", "weight", "height")


@pytest.fixture(scope="module")
def flipped() -> tuple[Dataset, np.ndarray]:
    """Three columns of very different sizes, and the rows with flipped labels."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(300, 3)) * [10.0, 1.0, 0.01] + [50.0, 70.0, 1.8]
    truth = (x - [50.0, 70.0, 1.8]) @ [0.1, -2.0, 0.0] + 0.3 > 0
    rows = from_arrays(x, np.where(truth, "sick", "well"), names=NAMES)
    noisy = add_noise(rows, 0.15, seed=2)
    return noisy, np.flatnonzero(noisy.y != rows.y)


@pytest.fixture(scope="module")
def model(flipped: tuple[Dataset, np.ndarray]) -> Classifier:
    return train(flipped[0], solver="descent").classifier


def test_weights_are_by_name_and_in_units_of_the_data(
    model: Classifier, flipped: tuple[Dataset, np.ndarray]
) -> None:
    found = explain(model)
    assert found.weights[0].name == "weight"
    sizes = [abs(own.scaled) for own in found.weights]
    assert sizes == sorted(sizes, reverse=True)
    assert found.suspects is None and (found.positive, found.negative) == ("well", "sick")
    row = np.asarray(flipped[0].x)[:1]
    base = model.decision_function(row)[0]
    for own in found.weights:
        more = row.copy()
        more[0, NAMES.index(own.name)] += 1.0
        assert own.weight == pytest.approx(model.decision_function(more)[0] - base)
    assert found.intercept == pytest.approx(model.decision_function(np.zeros((1, 3)))[0])


def test_suspects_are_the_rows_that_the_classifier_contradicts(
    model: Classifier, flipped: tuple[Dataset, np.ndarray]
) -> None:
    rows, wrong = flipped
    found = explain(model, rows)
    suspects = found.suspects
    assert suspects is not None and found.noise is not None and found.rows == 300
    given = rows.preparation.labels(rows.y)
    assert set(suspects.rows.tolist()) == set(np.flatnonzero(model.predict(rows.x) != given))
    assert suspects.labels.tolist() == given[suspects.rows].tolist()
    assert suspects.predicted.tolist() == model.predict(rows.x)[suspects.rows].tolist()
    made = model.preparation.apply(np.asarray(rows.x))
    for row, margin, loss, up in zip(
        suspects.rows.tolist(), suspects.margins.tolist(), suspects.losses.tolist(),
        suspects.given_up.tolist(), strict=True,
    ):  # fmt: skip
        unit = made[row] / math.sqrt(float(made[row] @ made[row]))
        assert margin == pytest.approx(rows.y[row] * float(unit @ model.weights))
        assert loss == pytest.approx(0.5 * math.erfc(margin / math.sqrt(2)))
        assert up == (math.exp(-(margin**2) / 2) < 0.5)
    assert (np.diff(suspects.margins) >= 0).all()
    likely = set(suspects.likely.tolist())
    assert len(likely & set(wrong)) > 0.7 * len(wrong) and len(likely) < 1.1 * len(wrong)
    assert suspects.records(1)[0]["row"] == suspects.rows[0] + 1


def test_prepared_rows_files_and_other_orders_of_labels_tell_the_same(
    model: Classifier, flipped: tuple[Dataset, np.ndarray], tmp_path: Path
) -> None:
    rows, _ = flipped
    raw = explain(model, rows, folds=0)
    made = prepare(rows, scale="robust", bias=True)
    save_classifier(model, tmp_path / "model.json")
    names = rows.preparation.labels(rows.y)
    lines = [
        ",".join([*(repr(float(v)) for v in row), str(name)])
        for row, name in zip(np.asarray(rows.x), names, strict=True)
    ]
    (tmp_path / "rows.csv").write_text("\n".join([*[",".join([*NAMES, "state"])], *lines]) + "\n")
    one_against_all = from_arrays(rows.x, names, positive="sick")
    for other in (
        explain(model, made, folds=0),
        explain(tmp_path / "model.json", tmp_path / "rows.csv", label="state", folds=0),
    ):
        assert raw.suspects is not None and other.suspects is not None
        assert other.suspects.rows.tolist() == raw.suspects.rows.tolist()
        assert other.suspects.chances == pytest.approx(raw.suspects.chances)
    with pytest.raises(InputError, match="not sick was never seen"):
        explain(model, one_against_all)
    with pytest.raises(InputError, match="prepared in another way"):
        explain(model, prepare(rows, scale="max-abs"))


def test_the_papers_loss_gives_up_below_its_turn() -> None:
    raw = add_noise(read("breast-cancer"), 0.2, seed=1)
    found = train(raw, order=3, bits=3, features=4, solver="exact")
    assert found.loss is not None and math.isfinite(found.loss.turn)
    suspects = explain(found.classifier, raw).suspects
    assert suspects is not None
    assert suspects.losses == pytest.approx(found.loss(suspects.margins))
    assert suspects.given_up.tolist() == (suspects.margins < -found.loss.turn).tolist()


def test_unit_rows_have_no_weights_of_raw_columns() -> None:
    rows = read("breast-cancer")
    made = prepare(rows, scale="unit-norm", bias=True)
    found = explain(Classifier(np.arange(31.0), made.preparation))
    assert found.intercept is None
    assert {own.weight for own in found.weights} == {None}
    assert found.weights[0].name == "column 30" and found.weights[0].scaled == 29.0
