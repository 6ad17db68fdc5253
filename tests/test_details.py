"""Details that no other test would miss: each of these fails for one small mistake in the code."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from qcompile import (
    InputError,
    Loss,
    MemoryLimitError,
    Moments,
    Pubo,
    QcompileError,
    compile,
    discretize,
    fit_loss,
    moments_of,
)
from qcompile.cli.app import main
from qcompile.data import svmlight
from qcompile.data.options import DataOptions, load_data
from qcompile.data.prepare import from_arrays, prepare
from qcompile.data.read import read
from qcompile.data.split import add_noise, shuffle, split
from qcompile.files import atomic
from qcompile.files.moments import load_moments, save_moments
from qcompile.files.pubo import load_pubo, save_pubo
from qcompile.objective import cubic, weight_range
from qcompile.objective.descent_kernel import _best_step
from qcompile.pipeline import Compiled
from qcompile.stages.preparation import Preparation
from tests import judge
from tests.strategies import dense


def synthetic(order: int = 3, features: int = 3, examples: int = 50) -> Moments:
    return moments_of(read(f"synthetic:examples={examples},features={features}"), order)


def svm(folder: Path, text: str = "1 1:1 2:2\n-1 1:2\n1 2:1\n") -> Path:
    path = folder / "data.svm"
    path.write_text(text)
    return path


# moments


def test_very_sparse_rows_with_any_values_give_the_moments_of_dense_ones() -> None:
    rng = np.random.default_rng(0)
    x = (rng.random((60, 40)) < 0.05) * rng.uniform(0.5, 2, (60, 40))
    y = np.tile([1, -1], 30)
    sparse = moments_of(from_arrays(sp.csr_array(x), y), 3)
    plain = moments_of(from_arrays(x, y), 3)
    for key, tensor in sparse.tensors.items():
        np.testing.assert_allclose(tensor, plain.tensors[key], atol=1e-9)


def test_a_narrow_part_after_a_wide_one_keeps_all_features() -> None:
    x = np.random.default_rng(1).normal(size=(10, 4))
    y = np.tile([1.0, -1.0], 5)
    wide, narrow = from_arrays(x[5:], y[5:]), from_arrays(x[:5, :2], y[:5])
    for moments in (moments_of([wide, narrow], 3), moments_of(narrow, 3) + moments_of(wide, 3)):
        assert moments.preparation is not None
        assert moments.preparation.features == moments.features == 4


def test_parts_that_were_prepared_differently_do_not_add_up() -> None:
    data = read("breast-cancer")
    scaled = moments_of(prepare(data, scale="standard"), 3)
    with pytest.raises(InputError, match="prepared differently"):
        scaled + moments_of(data, 3)


@pytest.mark.parametrize("size", [1e31, 1e-31])
def test_values_whose_powers_would_be_lost_are_refused(size: float) -> None:
    with pytest.raises(InputError, match="--scale"):
        moments_of(from_arrays(np.array([[size], [1.0]]), [1, -1]), 3)
    with pytest.raises(InputError, match="bring the features to scale"):
        from_arrays(np.array([[1e200], [1.0]]), [1, -1])


# loss and weight range


def test_the_scale_of_even_orders_follows_omega() -> None:
    moments = synthetic(4)
    assert fit_loss(moments, omega=16.0).prior_std == pytest.approx(0.5 / moments.rms_norm)


def test_own_coefficients_leave_the_prior_alone() -> None:
    assert fit_loss(synthetic(), coefficients=(0, -1, 0, 1), l2=0.5, range_=1.0).prior_std == 1.0


def test_a_singular_fit_is_still_the_best_one() -> None:
    data = from_arrays(np.array([[2.0], [1.0], [-1.0]]), [1, -1, 1])
    loss = fit_loss(moments_of(data, 3), range_=1.0)
    assert loss.coefficients[1] == pytest.approx(0, abs=1e-12)
    assert loss.coefficients[3] == pytest.approx(math.sqrt(2 / math.pi) / 90)


def test_the_turn_is_the_nearest_one() -> None:
    assert Loss((0.5, -4, 0, 5 / 3, 0, -1 / 5)).turn == pytest.approx(1)


def test_the_linear_objective_stays_above_zero() -> None:
    moments = moments_of(prepare(read("breast-cancer"), scale="standard"), 1)
    loss = fit_loss(moments)
    slope = abs(loss.coefficients[1]) * np.abs(moments.tensors[1, 0]).sum() / moments.count
    assert loss.coefficients[0] - loss.zeta * slope >= -1e-12


def test_a_regulariser_allows_a_wider_range() -> None:
    moments = moments_of(prepare(read("breast-cancer"), scale="standard"), 3)
    free, held = (fit_loss(moments, prior_std=1.0, l2=l2).range_ for l2 in (0.0, 10.0))
    assert free < held


def test_too_many_features_for_a_search_get_the_safe_range(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moments = moments_of(prepare(read("breast-cancer"), scale="standard"), 3)
    monkeypatch.setattr(cubic, "_MOST_FEATURES", 29)
    loss = fit_loss(moments)
    assert "too many" in loss.notes[0]
    assert loss.zeta * math.sqrt(30) * moments.rms_norm <= loss.turn * (1 + 1e-9)


def test_unpacked_tensors_are_the_full_ones() -> None:
    data = read("synthetic:examples=20,features=4")
    z = dense(data) * data.y[:, None]
    full = cubic._full(moments_of(data, 3), 3)
    np.testing.assert_allclose(full, np.einsum("ia,ib,ic->abc", z, z, z) / 20, atol=1e-12)


@pytest.mark.parametrize("order", [3, 5])
def test_the_search_knows_the_value_at_the_point_that_it_finds(order: int) -> None:
    data = prepare(read("breast-cancer"), scale="standard", features=6)
    moments = moments_of(data, order)
    loss = fit_loss(moments, range_=1.0, l2=0.2, prior_std=0.7)
    objective = cubic.objective_of(moments, loss)
    assert objective is not None
    energy, point = objective.lowest(1.0)
    weights = 0.7 * point
    margins = data.margins(weights)
    assert energy == pytest.approx(float(loss(margins).mean() + 0.1 * weights @ weights), rel=1e-9)
    assert objective.mean_margin(point) * 0.7 == pytest.approx(margins.mean())
    assert objective.rms_margin(point) * 0.7 == pytest.approx(math.sqrt((margins**2).mean()))


@pytest.mark.parametrize("third", [0.5, -0.5, 0.0])
def test_the_best_step_is_the_best_of_a_fine_grid(third: float) -> None:
    grid = np.linspace(-1.5, 2, 100_001)
    values = grid * (-1 + grid * (0.75 + grid * third / 6))
    assert _best_step(-1.0, 1.5, third, -1.5, 2.0) == pytest.approx(grid[values.argmin()], abs=1e-4)


def test_the_lowest_point_by_another_optimiser_is_inside_the_turn() -> None:
    data = read("mease-wyner")
    loss = fit_loss(moments_of(data, 3))
    first = np.sign((dense(data) * data.y[:, None]).mean(axis=0))
    box = [(-loss.zeta, loss.zeta)] * data.features
    found = [
        minimize(
            lambda w: float(loss(data.margins(w)).mean() + loss.l2 / 2 * w @ w),
            side * loss.zeta * first,
            bounds=box,
        )
        for side in (-1, 0, 1)
    ]
    best = min(found, key=lambda result: float(result.fun))
    assert best.fun >= 0
    assert math.sqrt((data.margins(best.x) ** 2).mean()) <= 0.8 * loss.turn


@pytest.mark.parametrize(
    "coefficients", [(0, -1, 0, 0.2), (-1, -1, 0, 0.2), (0, -1), (-1.0, -1.0), (0.5, -1, 0, 0)]
)
def test_own_losses_may_start_anywhere(coefficients: tuple[float, ...]) -> None:
    loss = fit_loss(synthetic(), coefficients=coefficients)
    assert 0 < loss.range_ <= 2


@pytest.mark.parametrize("order", [3, 5, 7])
@pytest.mark.parametrize(
    ("name", "scale", "bias"),
    [("breast-cancer", "max-abs", True), ("breast-cancer", "max-abs", False),
     ("breast-cancer", "standard", False), ("mease-wyner", "standard", True)],
)  # fmt: skip
def test_the_auto_range_holds_for_classifiers_found_from_the_examples(
    order: int, name: str, scale: str, bias: bool
) -> None:
    """Restarted coordinate descent on the examples themselves, on a grid of eight levels."""
    data = prepare(read(name), scale=scale, features=6, bias=bias)
    loss = fit_loss(moments_of(data, order))
    levels = np.linspace(-1, 1, 9) * loss.zeta
    best, chosen = judge.coordinate_search(
        dense(data), np.asarray(data.y), levels, loss.coefficients, loss.l2, starts=40
    )
    assert best >= -1e-9
    assert weight_range.warnings_for(loss, data, chosen, best) == []


def test_a_wide_range_of_the_users_is_warned_about(capsys: pytest.CaptureFixture[str]) -> None:
    moments = moments_of(prepare(read("breast-cancer"), scale="standard"), 3)
    assert any("rewarded" in note for note in fit_loss(moments, range_=2.0).notes)
    assert fit_loss(moments, range_=0.1).notes == ()


# discretize


def test_small_thresholds_are_bounded_too() -> None:
    moments = synthetic(3, 4, 40)
    loss = fit_loss(moments)
    exact = discretize(moments, loss, 2)
    states = judge.all_assignments(8)
    sizes = sorted(abs(c) for values in exact.coefficients for c in values.tolist())
    for threshold in sizes[:4]:
        rough = discretize(moments, loss, 2, threshold=threshold)
        change = np.abs(exact.energies(states) - rough.energies(states)).max()
        assert change <= rough.dropped * (1 + 1e-9)


def test_terms_that_cancel_exactly_are_left_out() -> None:
    moments = moments_of(from_arrays(np.array([[1.0], [-1.0]]), [1, -1]), 2)
    pubo = discretize(moments, fit_loss(moments, coefficients=(0, -1, 1), range_=1.0), 2)
    assert pubo.to_dict() == {(): 0.0, (1,): 0.75, (0, 1): -1.0}


@pytest.mark.parametrize("l0", [-1.0, math.nan, math.inf])
def test_impossible_l0_is_refused(l0: float) -> None:
    moments = synthetic()
    with pytest.raises(InputError):
        discretize(moments, fit_loss(moments), 1, l0=l0)


def test_a_loss_of_higher_order_than_the_moments_is_refused() -> None:
    with pytest.raises(InputError):
        discretize(synthetic(1), Loss((0.5, -1, 0, 1)), 1)


def test_overflowing_coefficients_are_refused() -> None:
    moments = synthetic()
    with pytest.raises(InputError, match="overflow"):
        discretize(moments, replace(fit_loss(moments), range_=1e200), 2)


def test_samples_with_too_many_columns_are_refused() -> None:
    with pytest.raises(InputError):
        Pubo.from_dict({(0,): 1.0, (1,): 1.0}).energies(np.zeros((3, 3)))


def test_dictionaries_add_up_and_are_sorted() -> None:
    assert Pubo.from_dict({(0, 1): 1, (1, 0): 2}).to_dict() == {(): 0.0, (0, 1): 3.0}
    assert Pubo.from_dict({(2,): 1, (0,): 1}).indices[0].tolist() == [[0], [2]]
    with pytest.raises(InputError, match="numbers below"):
        Pubo.from_dict({(10**12,): 1.0})


def test_unused_variables_survive_dimod() -> None:
    pubo = Pubo.from_dict({(1,): 1.0}, variables=4)
    assert Pubo.from_dimod(pubo.to_dimod()).variables == 4


# data


def test_a_margin_of_zero_is_an_error() -> None:
    assert read("mease-wyner").error(np.zeros(21)) == 1.0


def test_seven_percent_of_a_hundred_is_seven() -> None:
    data = read("mease-wyner:examples=100")
    assert (add_noise(data, 0.07).y != data.y).sum() == 7
    assert (add_noise(data, 1e-12).y != data.y).sum() == 1


@pytest.mark.parametrize("sparse", [False, True])
def test_scales_are_exact(sparse: bool) -> None:
    x = np.random.default_rng(0).normal(size=(30, 3)) + 1
    rows: Any = sp.csr_array(x) if sparse else x
    data = from_arrays(rows, np.tile([1, -1], 15))
    np.testing.assert_allclose(dense(prepare(data, scale="standard")).std(axis=0), 1)
    np.testing.assert_allclose(np.abs(dense(prepare(data, scale="max-abs"))).max(axis=0), 1)


@pytest.mark.parametrize("sparse", [False, True])
def test_columns_far_from_zero_are_scaled_exactly_and_constants_left_alone(sparse: bool) -> None:
    rng = np.random.default_rng(0)
    y = np.tile([1.0, -1.0], 50)
    x = np.column_stack(
        [1e9 + 10 * rng.normal(size=100), np.full(100, 0.3), rng.normal(size=100), 1e6 + 1e-3 * y]
    )
    data = from_arrays(sp.csr_array(x) if sparse else x, y)
    scaled = dense(prepare(data, scale="standard"))
    np.testing.assert_allclose(scaled[:, [0, 2, 3]].std(axis=0), 1, rtol=1e-6)
    np.testing.assert_allclose(scaled[:, 1], 0, atol=1e-12)
    columns = prepare(data, features=1).preparation.columns
    assert columns is not None
    assert columns.tolist() == [3]


def test_usefulness_does_not_depend_on_unequal_classes() -> None:
    rng = np.random.default_rng(0)
    y = np.tile([1.0, 1, 1, -1], 20)
    x = np.stack([10 + 0.1 * rng.normal(size=80), y + rng.normal(size=80)], axis=1)
    columns = prepare(from_arrays(x, y), features=1).preparation.columns
    assert columns is not None
    assert columns.tolist() == [1]


def test_stored_zeros_are_dropped() -> None:
    x = sp.csr_array(
        (np.array([1.0, 0, 1]), np.array([0, 1, 1]), np.array([0, 2, 3])), shape=(2, 2)
    )
    assert from_arrays(x, [1, -1]).x.nnz == 2


def test_data_are_prepared_once() -> None:
    data = prepare(read("mease-wyner"), scale="max-abs")
    with pytest.raises(InputError):
        prepare(data, scale="standard")


def test_labels_must_be_numbers_and_one_a_row() -> None:
    with pytest.raises(InputError):
        from_arrays(np.array([[1.0], [2.0]]), [1, math.nan])
    with pytest.raises(InputError):
        from_arrays(np.array([[1.0], [2.0]]), [[1], [2]])


def test_half_a_file_has_no_digest(tmp_path: Path) -> None:
    path = svm(tmp_path)
    assert "sha256" not in read(path, rows=2).source
    assert "sha256" in read(path).source


def test_seeds_matter() -> None:
    data = read("breast-cancer")
    assert (shuffle(data, seed=1).x != shuffle(data, seed=2).x).any()
    one, two = (split(data, (0.5, 0.5), seed=seed)[0] for seed in (1, 2))
    assert (one.x != two.x).any()


@pytest.mark.parametrize("positive", [-7.0, -1.0, 0.0, 2.0])
def test_one_class_against_the_rest_reads_back_as_written(tmp_path: Path, positive: float) -> None:
    labels = [positive, positive + 1, positive + 2, positive]
    data = from_arrays(np.arange(1.0, 5)[:, None], labels, positive=positive)
    svmlight.save_svmlight(data, tmp_path / "out.svm")
    np.testing.assert_array_equal(read(tmp_path / "out.svm").y, data.y)


@pytest.mark.parametrize("ending", ["gz", "bz2", "xz"])
def test_compressed_files_are_written_as_well(tmp_path: Path, ending: str) -> None:
    data = read("breast-cancer")
    for name in ("a", "b"):
        svmlight.save_svmlight(data, tmp_path / f"{name}.svm.{ending}")
    np.testing.assert_array_equal(dense(read(tmp_path / f"a.svm.{ending}")), data.x)
    one, two = ((tmp_path / f"{name}.svm.{ending}").read_bytes() for name in ("a", "b"))
    assert one == two


@pytest.mark.parametrize("index", [2**31 - 1, 2**31, 2**32 + 1])
def test_indices_past_the_limit_are_absurd(tmp_path: Path, index: int) -> None:
    with pytest.raises(InputError, match="absurdly large"):
        read(svm(tmp_path, f"1 1:1\n-1 {index}:1\n"))


def test_endless_lines_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qcompile.data.svmlight._PIECE_BYTES", 64)
    monkeypatch.setattr("qcompile.data.svmlight._LONGEST_LINE", 200)
    path = svm(tmp_path, "1 1:1\n-1 " + " ".join(f"{i}:1" for i in range(1, 200)) + "\n")
    with pytest.raises(InputError, match="line 2: longer than"):
        read(path)


def test_a_byte_order_mark_is_no_label(tmp_path: Path) -> None:
    path = tmp_path / "bom.svm"
    path.write_bytes(b"\xef\xbb\xbf1 1:1\n-1 1:2\n")
    assert len(read(path)) == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [("1 1:\n", "value '' is not a number"), ("1 1:1_0\n", "value '1_0' is not a number"),
     ("1 1:" + "9" * 400 + "\n", "is not finite")],
)  # fmt: skip
def test_messages_say_what_is_wrong(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(svm(tmp_path, text))


def test_rows_that_are_not_used_do_not_matter(tmp_path: Path) -> None:
    path = svm(tmp_path, "1 1:1\n-1 2:1\n1 1:2\n3 0:1 9:1\n")
    for features in (read(path, rows=3).features, compile(path, rows=3, bits=1).moments.features):
        assert features == 2
    one_class = svm(tmp_path, "1 1:1\n1 2:1\n-1 1:2\n")
    with pytest.raises(InputError, match="one class"):
        compile(one_class, rows=2, bits=1)


def test_a_late_index_zero_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qcompile.data.svmlight._PIECE_BYTES", 16)
    monkeypatch.setattr("qcompile.data.stream._BATCH_BYTES", 1)
    path = svm(tmp_path, "1 1:1 2:1\n-1 1:2 2:3\n" * 5 + "1 0:1\n")
    assert compile(path, bits=1).moments.features == 3


# preparation


@pytest.mark.parametrize(
    "bad",
    [{"columns": [5]}, {"columns": [-1]}, {"center": [1.0]}, {"scale": [1.0] * 4},
     {"raw_features": 0}, {"raw_features": 10**12}],
)  # fmt: skip
def test_impossible_preparations_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Preparation.from_dict({**Preparation(3).to_dict(), **bad})


def test_rows_of_another_width_are_refused() -> None:
    with pytest.raises(InputError):
        Preparation(3).apply(np.zeros((2, 4)))


def test_tensors_must_have_their_size() -> None:
    with pytest.raises(InputError):
        Moments(2, 1, 5, 1.0, {(1, 0): np.zeros(3)})


# files


@pytest.fixture
def made() -> Compiled:
    return compile("synthetic:examples=30,features=3", bits=2)


def set_item(degree: int, place: int, value: list[int]) -> Callable[[Any], None]:
    def change(content: Any) -> None:
        content["terms"][degree - 1]["indices"][place] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        set_item(1, -1, [6]),
        set_item(2, 0, [0, 0]),
        set_item(2, 1, [0, 1]),
        lambda content: content["encoding"].update(bits=3),
    ],
)
def test_terms_that_cannot_be_are_refused(
    made: Compiled, tmp_path: Path, change: Callable[[Any], None]
) -> None:
    path = tmp_path / "pubo.json"
    save_pubo(made.pubo, path)
    content = orjson.loads(path.read_bytes())
    change(content)
    path.write_bytes(orjson.dumps(content))
    with pytest.raises(QcompileError):
        load_pubo(path)


def test_numbers_that_are_none_are_refused(made: Compiled, tmp_path: Path) -> None:
    nothing = tuple(c * math.nan for c in made.pubo.coefficients)
    save_pubo(replace(made.pubo, coefficients=nothing), tmp_path / "p.npz")
    with pytest.raises(QcompileError):
        load_pubo(tmp_path / "p.npz")


def test_moments_must_be_complete_and_possible(made: Compiled, tmp_path: Path) -> None:
    fewer = {key: t for key, t in made.moments.tensors.items() if key != (2, 0)}
    for bad in (
        replace(made.moments, tensors=fewer),
        replace(made.moments, count=0),
        replace(made.moments, sum_of_squares=-1.0),
        replace(made.moments, order=10**9),
    ):
        save_moments(bad, tmp_path / "m.npz")
        with pytest.raises(QcompileError):
            load_moments(tmp_path / "m.npz")


def test_new_files_have_the_usual_permissions(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        with atomic.write_atomically(tmp_path / "file") as stream:
            stream.write(b"x")
    finally:
        os.umask(old)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640


def test_large_json_is_refused_in_time(
    made: Compiled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_pubo(made.pubo, tmp_path / "p.json")
    monkeypatch.setenv("QCOMPILE_MEMORY", "1KB")
    with pytest.raises(MemoryLimitError):
        load_pubo(tmp_path / "p.json")


def test_an_encrypted_archive_is_an_error(made: Compiled, tmp_path: Path) -> None:
    path = tmp_path / "p.npz"
    save_pubo(made.pubo, path)
    content = bytearray(path.read_bytes())
    entry = content.rfind(b"PK\x01\x02")
    while entry >= 0:  # the flag that says "encrypted", in the directory and before each file
        content[entry + 8] |= 1
        entry = content.rfind(b"PK\x01\x02", 0, entry)
    path.write_bytes(bytes(content))
    with pytest.raises(QcompileError):
        load_pubo(path)


def test_a_failure_leaves_none_of_several_files(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("old")
    with pytest.raises(RuntimeError), atomic.all_or_nothing():
        with atomic.write_atomically(tmp_path / "one") as stream:
            stream.write(b"new")
        with atomic.write_atomically(tmp_path / "two") as stream:
            raise RuntimeError
    assert (tmp_path / "one").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


# the command and the pipeline


def test_the_preparation_is_kept_with_the_loss(tmp_path: Path) -> None:
    path = tmp_path / "l.json"
    assert main(["loss", "breast-cancer", "--features=2", "--bias", "-q", "-o", str(path)]) == 0
    assert json.loads(path.read_text())["preparation"]["bias"] is True


def test_options_are_passed_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "pubo.json")
    assert main(["compile", "synthetic", "--bits=2", "--threshold=0.01", "-q", "--emit", path]) == 0
    assert load_pubo(path).dropped > 0
    one, two = str(tmp_path / "a"), str(tmp_path / "b")
    arguments = ["data", "breast-cancer", "--seed=5", "--split", ".5", ".5", "-o", one, "-o", two]
    assert main([*arguments, "-q"]) == 0
    expected = split(read("breast-cancer"), (0.5, 0.5), seed=5)[0]
    np.testing.assert_array_equal(dense(read(one)), expected.x)
    assert main(["data", "synthetic", "-q"]) == 0
    assert capsys.readouterr() == ("", "")
    assert compile("synthetic:examples=30,features=2", bits=1, prior_std=0.5).loss.prior_std == 0.5


def test_files_are_prepared_like_named_sets(tmp_path: Path) -> None:
    path = tmp_path / "cancer.svm"
    svmlight.save_svmlight(read("breast-cancer"), path)
    moments = compile(path, bits=1, noise=0.2).moments
    expected = moments_of(add_noise(read(path), 0.2), 3)
    np.testing.assert_array_equal(moments.tensors[1, 0], expected.tensors[1, 0])
    assert moments.source["noise"] == 0.2
    chosen = load_data("breast-cancer", DataOptions(shuffle=True, rows=50, seed=3)).x
    np.testing.assert_array_equal(chosen, shuffle(read("breast-cancer"), seed=3).x[:50])
    classes = svm(tmp_path, "1 1:1\n2 1:2 2:1\n3 1:3\n2 2:4\n")
    prepared = compile(classes, bits=1, positive=2, range_=1.0).moments.preparation
    assert prepared is not None
    assert (prepared.positive, prepared.negative) == (2, None)
    assert load_data(svm(tmp_path), DataOptions(index_base=0)).features == 3


def test_options_for_reading_are_refused_with_data_that_are_read() -> None:
    with pytest.raises(InputError, match="read already"):
        compile(read("mease-wyner"), scale="standard")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["loss", "synthetic", "--noise", "-0.5"], "share between"),
        (["loss", "synthetic", "--noise", "nan"], "share between"),
        (["data", "synthetic", "--seed", "-1"], "seed -1"),
        (["loss", "synthetic", "--prior-std", "1e300"], "prior-std"),
        (["loss", "synthetic", "--l2", "1e-320"], "l2"),
        (["data", "synthetic", "--split", "0.7", "nan"], "shares"),
        (["data", "x" * 300], "cannot be read"),
        (["data", "x.svm", "--num-features", "9" * 22], "features; expected"),
        (["loss", "synthetic", "--coefficients", "0,-1", "--order", "3"], "leave out one"),
        (["loss", "synthetic", "--coefficients", "0,-1", "--omega", "3"], "own coefficients"),
        (["compile", "synthetic", "--emit", "foo=pubo.json"], "no artifact 'foo'"),
        (["compile", "synthetic", "--emit", "pubo=a.npz", "--emit", "qubo=a.npz"], "two outputs"),
        (["compile", "synthetic", "--emit", "pubo=-", "--emit", "loss=-"], "two outputs"),
        (["compile", "synthetic", "--emit", "y" * 300 + "pubo.json"], "cannot be written"),
        (["data", "synthetic:examples=1000000000,features=1000"], "fewer examples"),
        (["compile", "synthetic", "--cover", "exact", "--order", "4", "--bits", "1"], "for cubics"),
        (["compile", "synthetic", "--bits", "1", "--emit", "qubo.coo"], "no place for the offset"),
        (["compile", "synthetic", "--prune", "--l0", "1"], "do not go together"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
