"""Data in parts: files by a pattern, joined by a tree; against the same rows in one file."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import InputError, Moments, compile, moments_of, prepare, read
from qcompile.cli.app import main
from qcompile.moments.parts import add_up
from qcompile.objective.fit import LossOptions
from tests.parts import of, sparse_lines, write_parts


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
    whole = compile(tmp_path / "whole.svm", bits=1, scale="standard", bias=False)
    parts = compile(pattern, bits=1, scale="standard", bias=False)
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
        assert "is also an input" in capsys.readouterr().err
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
