"""Data in parts: files by a pattern, joined by a tree; against the same rows in one file."""

from __future__ import annotations

import gzip
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import InputError, Moments, compile, moments_of, prepare, read
from qcompile.cli.app import main
from qcompile.data.column_statistics import ColumnStatistics
from qcompile.data.options import DataOptions
from qcompile.data.svmlight import file_names, lines_of
from qcompile.moments.parts import add_up
from qcompile.objective.fit import LossOptions
from qcompile.pipeline import load_moments_of


def sparse_lines(rows: int = 90, features: int = 5, seed: int = 0) -> list[str]:
    """Rows of halves and quarters: their sums have no rounding, whatever the order."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-3, 4, size=(rows, features)) / 4 * (rng.random((rows, features)) < 0.6)
    x[0] = 0.25  # names every column
    labels = np.where(rng.random(rows) < 0.4, 7.0, 2.0)
    return list(lines_of(x, labels))


def write_parts(folder: Path, pieces: list[list[str]]) -> str:
    for number, piece in enumerate(pieces):
        (folder / f"part-{number:02}.svm").write_text("".join(piece))
    return str(folder / "part-*.svm")


def assert_close(one: Moments, two: Moments, tolerance: float = 1e-9) -> None:
    assert one.count == two.count
    assert one.sum_of_squares == pytest.approx(two.sum_of_squares)
    assert set(one.tensors) == set(two.tensors)
    for key, tensor in one.tensors.items():
        np.testing.assert_allclose(tensor, two.tensors[key], rtol=tolerance, atol=tolerance)
    assert one.preparation is not None and two.preparation is not None
    mine, theirs = one.preparation.to_dict(), two.preparation.to_dict()
    for name, value in mine.items():
        if name in ("center", "scale") and value is not None:
            np.testing.assert_allclose(value, theirs[name], rtol=tolerance)
        else:
            assert value == theirs[name], name


def of(source: str, loss: LossOptions | None = None, **options: Any) -> Moments:
    return load_moments_of(source, DataOptions(**options), loss or LossOptions())


@settings(max_examples=40, deadline=None)
@given(cuts=st.lists(st.integers(0, 90), max_size=7), seed=st.integers(0, 99))
def test_any_cut_into_parts_gives_the_same(
    cuts: list[int], seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Empty parts, parts of one class and narrow parts included."""
    folder = tmp_path_factory.mktemp("parts")
    text = sorted(sparse_lines(seed=seed)[1:]) + sparse_lines(seed=seed)[:1]
    ends = [0, *sorted(cuts), len(text)]
    pattern = write_parts(folder, [text[a:b] for a, b in pairwise(ends)])
    (folder / "whole.svm").write_text("".join(text))
    whole = moments_of(read(folder / "whole.svm"), 3, fit=False)
    found = of(pattern, LossOptions(coefficients=(0.0, 1.0, 1.0, 1.0)))
    assert found.count == whole.count
    for key, tensor in found.tensors.items():  # sums of quarters: exact in any order
        np.testing.assert_array_equal(tensor, whole.tensors[key])
    assert found.preparation is not None
    assert found.preparation.to_dict() == whole.preparation.to_dict()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "options",
    [
        {"scale": "standard"},
        {"scale": "standard", "features": 3, "bias": True},
        {"scale": "max-abs", "bias": True},
        {"scale": "unit-norm"},
        {"scale": "unit-norm", "bias": True},
        {"bias": True},
        {"features": 2},
        {"positive": 2.0},
    ],
)
def test_preparation_over_parts(tmp_path: Path, options: dict[str, Any]) -> None:
    text = sparse_lines()
    pattern = write_parts(tmp_path, [text[60:], text[:10], [], text[10:60]])
    (tmp_path / "whole.svm").write_text("".join(text))
    data = read(tmp_path / "whole.svm", positive=options.get("positive"))
    chosen = {k: v for k, v in options.items() if k != "positive"}
    assert_close(of(pattern, **options), moments_of(prepare(data, **chosen), 3))


def test_the_tree_depends_on_the_number_of_parts_alone() -> None:
    def shape(count: int) -> str:
        return add_up(count, str, lambda a, b: f"({a} {b})")

    assert [shape(n) for n in (1, 2, 3, 4)] == ["0", "(0 1)", "((0 1) 2)", "((0 1) (2 3))"]
    assert shape(7) == "(((0 1) (2 3)) ((4 5) 6))"


def test_few_sums_wait_at_a_time() -> None:
    waiting, most = 0, 0

    def leaf(number: int) -> int:
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        return number

    def joined(one: int, two: int) -> int:
        nonlocal waiting
        waiting -= 1
        return one

    add_up(1000, leaf, joined)
    assert most <= 11


def test_statistics_of_columns_add_up() -> None:
    """Against numpy's own, with means far from 0, where sums of squares would cancel."""
    rng = np.random.default_rng(1)
    x = 1e6 + rng.normal(size=(500, 4))
    y = np.where(rng.random(500) < 0.3, 1.0, -1.0)
    ends = [0, 3, 3, 200, 500]
    parts = [ColumnStatistics.of(x[a:b], y[a:b]) for a, b in pairwise(ends)]
    total = parts[0] + parts[1] + (parts[2] + parts[3])
    np.testing.assert_allclose(total.mean, x.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(total.squares, x.var(axis=0) * 500, rtol=1e-8)
    np.testing.assert_allclose(total.largest, np.abs(x).max(axis=0))
    expected = (x - x.mean(axis=0)).T @ (y - y.mean())
    np.testing.assert_allclose(total.together, expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(total.flipped().together, -expected, rtol=1e-6, atol=1e-6)


def test_a_pattern_reads_all_files_in_order(tmp_path: Path) -> None:
    text = sparse_lines()
    pattern = write_parts(tmp_path, [text[:30], text[30:]])
    with gzip.open(tmp_path / "part-01.svm.gz", "wt") as stream:
        stream.write("".join(text[30:]))
    (tmp_path / "part-01.svm").unlink()
    (tmp_path / "whole.svm").write_text("".join(text))
    both, whole = read(f"{pattern}*"), read(tmp_path / "whole.svm")
    np.testing.assert_array_equal(both.x.toarray(), whole.x.toarray())
    np.testing.assert_array_equal(both.y, whole.y)
    assert both.source["sha256"] == of(f"{pattern}*").source["sha256"] != whole.source["sha256"]


def test_a_file_whose_name_looks_like_a_pattern(tmp_path: Path) -> None:
    path = tmp_path / "a[1].svm"
    path.write_text("".join(sparse_lines()))
    assert file_names(path) == [str(path)]
    assert len(read(path)) == 90


def test_parts_that_do_not_fit_each_other(tmp_path: Path) -> None:
    pattern = str(tmp_path / "*.svm")
    with pytest.raises(InputError, match="no file matches"):
        of(pattern)
    (tmp_path / "a.svm").write_text("1 1:1\n2 1:2\n")
    (tmp_path / "b.svm").write_text("3 1:1\n")
    with pytest.raises(InputError, match=r"b\.svm: label 3 is a third class after 1 and 2"):
        of(pattern)
    (tmp_path / "b.svm").write_text("1 1:x\n")
    with pytest.raises(InputError, match=r"b\.svm, line 1"):
        of(pattern)
    (tmp_path / "b.svm").write_text("1 3:1\n")
    with pytest.raises(InputError, match=r"b\.svm, line 1: index 3"):
        of(pattern, num_features=2)
    with pytest.raises(InputError, match=r"b\.svm, line 1: index 3"):
        read(pattern, num_features=2)
    (tmp_path / "a.svm").write_text("2 1:2\n")
    (tmp_path / "b.svm").write_text("2 1:2\n")
    with pytest.raises(InputError, match="one class only"):
        of(pattern)
    for name in "ab":
        (tmp_path / f"{name}.svm").write_text("")
    with pytest.raises(InputError, match="no rows"):
        of(pattern)
    for name in "ab":
        (tmp_path / f"{name}.svm").write_text("1\n2\n")
    with pytest.raises(InputError, match="no features"):
        of(pattern)


def test_index_zero_in_one_part_counts_for_all(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("1 1:1\n2 2:2\n")
    (tmp_path / "b.svm").write_text("1 0:1\n2 1:2\n")
    found = of(str(tmp_path / "*.svm"))
    assert found.features == 3
    assert found.source["index_base"] == 0
    with pytest.raises(InputError, match="index 0"):
        of(str(tmp_path / "*.svm"), index_base=1)


def test_what_needs_all_rows_reads_them(tmp_path: Path) -> None:
    """Without a cluster nothing is refused: the rows of all files are held at once."""
    text = sparse_lines()
    pattern = write_parts(tmp_path, [text[:30], text[30:]])
    (tmp_path / "whole.svm").write_text("".join(text))
    for options in ({"shuffle": True, "rows": 40}, {"noise": 0.2}, {"rows": 35}):
        one, two = of(pattern, **options), of(str(tmp_path / "whole.svm"), **options)
        for key, tensor in one.tensors.items():
            np.testing.assert_array_equal(tensor, two.tensors[key])


def test_a_qubo_of_parts_is_verified_against_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = sparse_lines()
    pattern = write_parts(tmp_path, [text[:30], text[30:70], text[70:]])
    (tmp_path / "whole.svm").write_text("".join(text))
    qubo = str(tmp_path / "qubo.json")
    assert main(["compile", pattern, "--bits", "1", "--scale", "standard", "--emit", qubo]) == 0
    assert main(["verify", qubo, "--data", pattern]) == 0
    whole = compile(tmp_path / "whole.svm", bits=1, scale="standard")
    parts = compile(pattern, bits=1, scale="standard")
    states = (np.arange(32)[:, None] >> np.arange(5) & 1).astype(np.int8)
    np.testing.assert_allclose(parts.pubo.energies(states), whole.pubo.energies(states))
    (tmp_path / "part-01.svm").write_text("".join(text[30:69]))
    assert main(["verify", qubo, "--data", pattern]) == 1
    capsys.readouterr()


@pytest.mark.parametrize("positive", [2.0, 7.0])
def test_one_class_against_the_rest_over_parts(tmp_path: Path, positive: float) -> None:
    """The positive label comes late, as the larger and as the smaller one, after 130 others."""
    many = [f"{100 + i} 1:{i}.5\n" for i in range(130)]
    pieces = [many[:70], many[70:], ["2 1:1 2:2\n"], ["7 2:-3\n", "2 1:0.5\n"]]
    pattern = write_parts(tmp_path, pieces)
    (tmp_path / "whole.svm").write_text("".join(line for piece in pieces for line in piece))
    whole = moments_of(read(tmp_path / "whole.svm", positive=positive), 3)
    assert_close(of(pattern, positive=positive), whole)
    with pytest.raises(InputError, match="no row has the positive label 3"):
        of(pattern, positive=3.0)


def test_the_third_class_is_named_where_it_is(tmp_path: Path) -> None:
    pattern = write_parts(tmp_path, [["1 1:1\n"], ["1 1:2\n"], ["2 1:2\n"], ["3 1:2\n"]])
    with pytest.raises(InputError, match=r"part-03\.svm: label 3 is a third class after 1 and 2"):
        of(pattern)


@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2], [1, 2, 0]])
def test_the_first_index_is_told_by_any_part(tmp_path: Path, order: list[int]) -> None:
    """An empty part, wherever it stands, has no say."""
    pieces: list[list[str]] = [[], ["1 1:1\n", "2 2:1\n"], ["2 1:3\n"]]
    pattern = write_parts(tmp_path, [pieces[i] for i in order])
    assert of(pattern).source["index_base"] == 1
    assert of(pattern).features == 2
    shifted = of(pattern, index_base=0)
    assert (shifted.source["index_base"], shifted.features) == (0, 3)


def test_one_file_by_a_pattern_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "only.svm").write_text("".join(sparse_lines()))
    by_name, by_pattern = of(str(tmp_path / "only.svm")), of(str(tmp_path / "on*.svm"))
    assert dict(by_name.source) == dict(by_pattern.source)
    two = write_parts(tmp_path, [sparse_lines(), sparse_lines()])
    assert of(two).source["parts"] == 2


def test_files_come_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        (tmp_path / f"{name}.svm").write_text("1 1:1\n2 1:2\n")
    (tmp_path / "d.svm").mkdir()
    found = file_names(tmp_path / "*.svm")
    assert [Path(path).name for path in found] == ["a.svm", "b.svm", "c.svm"]
    with pytest.raises(InputError, match="no file matches"):
        file_names("a" * 300 + "*")


def test_progress_counts_all_files(tmp_path: Path) -> None:
    text = sparse_lines()
    pattern = write_parts(tmp_path, [text[:30], text[30:]])
    seen: list[tuple[int, int | None]] = []
    read(pattern, progress=lambda done, whole: seen.append((done, whole)))
    whole = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert seen[-1] == (whole, whole)
    assert sorted(seen) == seen


def test_no_output_over_a_file_that_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = sparse_lines()
    pattern = write_parts(tmp_path, [text[:30], text[30:]])
    victim = tmp_path / "part-01.svm"
    for command in (
        ["data", pattern, "-o", str(victim)],
        ["train", pattern, "--bits", "1", "-o", str(victim)],
        ["loss", pattern, "-o", str(victim)],
    ):
        assert main([*command, "-q"]) == 2
        assert "is read as input" in capsys.readouterr().err
    assert victim.read_text() == "".join(text[30:])


def test_sizes_and_orders_are_checked_as_in_one_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pattern = write_parts(tmp_path, [["1 1:1e200 2:1\n"], ["2 2:1\n", "1 1:3\n"]])
    for scale in ("none", "standard", "max-abs"):
        with pytest.raises(InputError, match=r"part-00\.svm: a value of size 1e\+200"):
            of(pattern, scale=scale)
    pattern = write_parts(tmp_path, [["1 1:1\n"], ["2 1:2\n"]])
    assert main(["compile", pattern, "--bits", "1", "-q", "--coefficients", "1"]) == 2
    assert "order 0; expected 1 to 8" in capsys.readouterr().err
    assert main(["compile", pattern, "--bits", "1", "-q", "--order", "9"]) == 2
    assert "order 9" in capsys.readouterr().err


def test_equal_columns_are_ranked_by_position() -> None:
    """Rounding must not decide between columns that say the same."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 6))
    x[:, 4] = 3 * x[:, 1]
    x[:, 5] = 0.1  # constant: its spread is rounding
    y = np.where(x[:, 1] > 0, 1.0, -1.0)
    whole = ColumnStatistics.of(x, y)
    parts = ColumnStatistics.of(x[:100], y[:100]) + ColumnStatistics.of(x[100:], y[100:])
    for columns in (whole, parts):
        assert columns._most_correlated(1).tolist() == [1]
        assert 5 not in columns._most_correlated(5).tolist()


def test_an_empty_side_counts_for_its_width() -> None:
    nothing, some = (
        ColumnStatistics.of(np.zeros((0, 3)), np.zeros(0)),
        ColumnStatistics.of(-np.ones((2, 1)), np.ones(2)),
    )
    for total in (nothing + some, some + nothing):
        assert (total.count, total.features) == (2, 3)
        assert total.largest.tolist() == [1.0, 0.0, 0.0]


def test_largest_sizes_of_sparse_columns() -> None:
    import scipy.sparse as sp

    x = sp.csr_array(np.array([[-3.0, 0.0], [1.0, -2.0]]))
    assert ColumnStatistics.of(x, np.array([1.0, -1.0])).largest.tolist() == [3.0, 2.0]
