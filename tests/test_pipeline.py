from __future__ import annotations

from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest

from qcompile import InputError, compile, moments_of, quadratize
from qcompile.cli.app import main
from qcompile.data import svmlight
from qcompile.data.options import DataOptions, load_data
from qcompile.data.prepare import prepare
from qcompile.data.read import read
from qcompile.data.split import add_noise, shuffle, split
from qcompile.files.pubo import load_pubo
from qcompile.objective.fit import LossOptions
from qcompile.pipeline import CompileOptions
from qcompile.reduction.quadratize import QuboOptions
from tests.parts import svm
from tests.strategies import dense


def test_rows_that_are_not_used_do_not_matter(tmp_path: Path) -> None:
    path = svm(tmp_path, "1 1:1\n-1 2:1\n1 1:2\n3 0:1 9:1\n")
    assert read(path, rows=3).features == 2
    assert compile(path, rows=3, bits=1).moments.features == 3  # with the constant one
    one_class = svm(tmp_path, "1 1:1\n1 2:1\n-1 1:2\n")
    with pytest.raises(InputError, match="one class"):
        compile(one_class, rows=2, bits=1)


def test_a_late_index_zero_is_read_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qcompile.data.svmlight._PIECE_BYTES", 16)
    monkeypatch.setattr("qcompile.data.stream._BATCH_BYTES", 1)
    path = svm(tmp_path, "1 1:1 2:1\n-1 1:2 2:3\n" * 5 + "1 0:1\n")
    for bias in (False, True):
        assert compile(path, bits=1, bias=bias).moments.features == 3 + bias
        assert compile(path, bits=1, scale="none", bias=bias).moments.features == 3 + bias


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
    moments = compile(path, bits=1, noise=0.2, scale="none", bias=False, anyway=True).moments
    expected = moments_of(add_noise(read(path), 0.2), 3)
    np.testing.assert_array_equal(moments.tensors[1, 0], expected.tensors[1, 0])
    assert moments.source["noise"] == 0.2
    chosen = load_data("breast-cancer", DataOptions(shuffle=True, rows=50, seed=3))
    expected_rows = prepare(
        shuffle(read("breast-cancer"), seed=3).take(slice(50)), scale="robust", bias=True
    )
    np.testing.assert_array_equal(chosen.x, expected_rows.x)
    classes = svm(tmp_path, "1 1:1\n2 1:2 2:1\n3 1:3\n2 2:4\n")
    prepared = compile(classes, bits=1, positive=2, weight_range=1.0).moments.preparation
    assert prepared is not None
    assert (prepared.positive, prepared.negative) == (2, None)
    assert load_data(svm(tmp_path), DataOptions(index_base=0, bias=False)).features == 3


@pytest.mark.parametrize("sparse", [False, True])
def test_raw_data_are_scaled_robustly_with_a_constant_column(tmp_path: Path, sparse: bool) -> None:
    """From a file, from a name and from parts; a data set is taken as it is."""
    data = read("synthetic:examples=60,features=3") if sparse else read("breast-cancer")
    svmlight.save_svmlight(data, tmp_path / "rows.svm")
    lines = (tmp_path / "rows.svm").read_text().splitlines(keepends=True)
    for number, part in enumerate((lines[:20], lines[20:])):
        (tmp_path / f"part-{number}.svm").write_text("".join(part))
    wanted = prepare(data, scale="robust", bias=True)
    expected = moments_of(wanted, 3)
    name = "synthetic:examples=60,features=3" if sparse else "breast-cancer"
    for source in (name, tmp_path / "rows.svm", tmp_path / "part-*.svm", data, wanted):
        made = compile(source, bits=1, order=1)
        assert made.moments.preparation is not None
        assert made.moments.preparation.scaling == "robust" and made.moments.preparation.bias
        np.testing.assert_allclose(
            made.moments.tensors[1, 0], expected.tensors[1, 0], rtol=1e-9, atol=1e-9
        )
    raw = compile(data, bits=1, order=1, scale="none", bias=False, anyway=True).moments
    np.testing.assert_allclose(raw.tensors[1, 0], moments_of(data, 1).tensors[1, 0])


def test_rows_in_memory_are_prepared_once_and_not_read() -> None:
    data = read("mease-wyner")
    chosen = compile(data, features=3, bits=1, order=1)
    assert chosen.moments.features == 4  # and the constant one
    with pytest.raises(InputError, match="already read"):
        compile(data, noise=0.1)
    with pytest.raises(InputError, match="prepared already"):
        compile(prepare(data, scale="standard"), scale="max-abs")


def test_the_qubo_is_made_by_a_call_and_once() -> None:
    compiled = compile("synthetic:features=4", bits=2, cover="greedy", strength=2.0, seed=3)
    made = compiled.quadratize()
    assert made is compiled.quadratize()
    expected = quadratize(compiled.pubo, cover="greedy", strength=2.0, seed=3)
    np.testing.assert_array_equal(made.quadratic, expected.quadratic)
    assert made.method == "greedy"


def test_the_attribute_qubo_still_works_and_names_the_call() -> None:
    compiled = compile("synthetic:features=2", bits=1)
    with pytest.warns(DeprecationWarning, match=r"call Compiled\.quadratize\(\)") as told:
        old = compiled.qubo
    assert old is compiled.quadratize()
    assert [warning.filename for warning in told] == [__file__]


def test_the_keywords_of_compile_are_the_fields_of_its_options() -> None:
    fields: dict[str, object] = {}
    for group in (DataOptions, LossOptions, QuboOptions):
        fields |= get_type_hints(group)
    assert get_type_hints(CompileOptions) == fields


def test_a_keyword_that_is_not_an_option_is_refused() -> None:
    with pytest.raises(InputError, match="unknown option 'colour'; expected one of bias, "):
        compile("synthetic", colour="red")  # type: ignore[call-arg]
