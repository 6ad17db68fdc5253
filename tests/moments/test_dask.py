from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qcompile import InputError, from_arrays, moments_dask, moments_of, prepare, read
from qcompile.data.options import DataOptions
from qcompile.data.svmlight import lines_of
from qcompile.objective.fit import LossOptions
from qcompile.pipeline import load_moments_of
from qcompile.runtime.cluster import using
from qcompile.runtime.progress import shown_by
from tests.parts import assert_equal, rough_lines, sparse_lines, write_parts

pytestmark = pytest.mark.slow

pytest.importorskip("distributed")


@pytest.mark.parametrize(
    "options", [{}, {"scale": "standard", "features": 4, "bias": True}, {"scale": "unit-norm"}]
)
def test_workers_give_the_local_sums_bit_for_bit(
    client: Any, pattern: str, options: dict[str, Any]
) -> None:
    seen: list[tuple[int, int | None]] = []
    local = load_moments_of(pattern, DataOptions(**options), LossOptions())
    with using(client), shown_by(lambda done, whole: seen.append((done, whole))):
        there = load_moments_of(pattern, DataOptions(**options), LossOptions())
    assert_equal(there, local)
    assert {whole for _, whole in seen} == {5}


def test_a_worker_that_dies_is_survived(client: Any, tmp_path: Path) -> None:
    """SIGKILL while parts are being summed; the sums are those of a quiet run."""
    text = rough_lines(300, 40)
    pattern = write_parts(tmp_path, [text] * 24)
    local = load_moments_of(pattern, DataOptions(), LossOptions())
    before = client.run(os.getpid)
    victim = sorted(before.values())[0]
    killed = threading.Event()

    def kill(done: int, whole: int | None) -> None:
        if done == 3 and not killed.is_set():
            killed.set()
            os.kill(victim, signal.SIGKILL)

    with using(client), shown_by(kill):
        there = load_moments_of(pattern, DataOptions(), LossOptions())
    assert killed.is_set()
    assert_equal(there, local)
    client.wait_for_workers(2, timeout=60)
    assert victim not in client.run(os.getpid).values()


@pytest.mark.lowest
def test_collections(client: Any, tmp_path: Path) -> None:
    """Bags of lines and of data sets, arrays, delayed data sets: against the rows in one place."""
    import dask.array as da
    import dask.bag as db
    from dask.delayed import delayed

    text = sparse_lines(120)
    path = tmp_path / "whole.svm"
    path.write_text("".join(text))
    data = read(path)
    whole = moments_of(data, 3, fit=True)
    dense = data.x.toarray()
    labels = np.where(data.y > 0, 7.0, 2.0)
    rows = da.from_array(dense, chunks=(50, 2))
    parts = [data.take(slice(a, a + 40)) for a in (0, 40, 80)]
    found = [
        moments_dask(db.from_sequence(text, npartitions=4)),
        moments_dask(db.from_sequence(text, npartitions=4), client=client),
        moments_dask(rows, labels=da.from_array(labels, chunks=70), client=client),
        moments_dask(db.from_sequence(parts, npartitions=2)),
        moments_dask([delayed(part) for part in parts]),
    ]
    for moments in found:
        assert moments.count == 120
        for key, tensor in moments.tensors.items():
            np.testing.assert_allclose(tensor, whole.tensors[key], rtol=1e-12, atol=1e-12)
        assert moments.preparation is not None
        assert moments.preparation.positive == 7
    assert_equal(found[0], found[1])
    for scale in ("standard", "robust"):
        scaled = moments_dask(rows, labels=da.from_array(labels), scale=scale, features=3)
        expected = moments_of(prepare(data, scale=scale, features=3), 3)
        for key, tensor in scaled.tensors.items():
            np.testing.assert_allclose(tensor, expected.tensors[key], rtol=1e-9, atol=1e-9)


def test_one_class_against_the_rest(client: Any, tmp_path: Path) -> None:
    """The named label is +1, wherever it is and whatever its size."""
    import dask.array as da
    import dask.bag as db

    rng = np.random.default_rng(2)
    x, labels = rng.normal(size=(60, 3)), np.repeat([5.0, 1.0, 3.0], 20)
    whole = moments_of(from_arrays(x, labels, positive=1.0), 2)
    text = list(lines_of(x, labels))
    pattern = write_parts(tmp_path, [text[:15], text[15:45], text[45:]])
    rows = da.from_array(x, chunks=(25, 3))
    found = [
        moments_dask(rows, 2, labels=labels, positive=1.0),
        moments_dask(rows, 2, labels=list(labels), positive=1.0, client=client),
        moments_dask(
            db.from_sequence([line.rstrip() for line in text], npartitions=3), 2, positive=1.0
        ),
    ]
    with using(client):
        loss = LossOptions(coefficients=(0, 1, 1))
        found.append(
            load_moments_of(pattern, DataOptions(positive=1.0, scale="none", bias=False), loss)
        )
    for moments in found:
        assert set(moments.tensors) == set(whole.tensors)
        for key, tensor in moments.tensors.items():
            np.testing.assert_allclose(tensor, whole.tensors[key], rtol=1e-12, atol=1e-12)


def test_sparse_chunks_of_any_kind(client: Any) -> None:
    """Entries stored twice, whole numbers, columns first: as from_arrays takes them."""
    import dask.array as da
    import scipy.sparse as sp

    rng = np.random.default_rng(3)
    dense = rng.integers(-2, 3, size=(80, 30)) * (rng.random((80, 30)) < 0.1).astype(float)
    labels = np.where(rng.random(80) < 0.5, 1.0, -1.0)
    whole = moments_of(from_arrays(sp.csr_array(dense), labels), 3)

    def doubled(block: Any) -> Any:
        where = np.nonzero(block)
        half = block[where] / 2
        return sp.coo_matrix(
            (np.tile(half, 2), tuple(np.tile(place, 2) for place in where)), block.shape
        )

    for kind in (
        doubled,
        sp.csr_matrix,
        lambda b: sp.csc_array(b.astype(int)),
        lambda b: b.astype(int),
    ):
        rows = da.from_array(dense, chunks=(30, 30)).map_blocks(kind)
        found = moments_dask(rows, labels=labels)
        for key, tensor in found.tensors.items():
            np.testing.assert_allclose(tensor, whole.tensors[key], rtol=1e-12, atol=1e-12)


def test_empty_partitions(client: Any) -> None:
    import dask.bag as db
    from dask.delayed import delayed

    text = sparse_lines(20)
    bag = db.from_delayed([delayed(text[:5]), delayed([]), delayed(text[5:])])
    assert moments_dask(bag).count == 20
    assert (
        moments_dask(bag.filter(lambda line: line.startswith(("7", "2"))), client=client).count
        == 20
    )
    with pytest.raises(InputError, match="no rows"):
        moments_dask(db.from_delayed([delayed([])]))


def test_wide_rows_are_summed_alike(client: Any, tmp_path: Path) -> None:
    """So wide that one machine would use all its cores for a single matrix product."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 350))
    text = list(lines_of(x, np.where(x[:, 0] > 0, 1.0, -1.0)))
    pattern = write_parts(tmp_path, [text[:40], text[40:]])
    loss = LossOptions(coefficients=(0.0, 1.0, 1.0, 1.0))
    local = load_moments_of(pattern, DataOptions(), loss)
    with using(client):
        there = load_moments_of(pattern, DataOptions(), loss)
    assert_equal(there, local)


def test_labels_of_an_array_may_be_texts() -> None:
    import dask.array as da

    rows = da.from_array(np.arange(8.0).reshape(4, 2), chunks=2)
    texts = moments_dask(rows, labels=["a", "b", "a", "b"])
    numbers = moments_dask(rows, labels=[1, 2, 1, 2])
    assert texts.preparation is not None and texts.preparation.positive == "b"
    for key, tensor in numbers.tensors.items():
        np.testing.assert_array_equal(texts.tensors[key], tensor)


def test_collections_that_make_no_sense() -> None:
    import dask.array as da
    import dask.bag as db
    from dask.delayed import delayed

    rows = da.ones((4, 2), chunks=2)
    with pytest.raises(InputError, match="labels are missing"):
        moments_dask(rows)
    with pytest.raises(InputError, match="one label for each row"):
        moments_dask(rows, labels=da.ones(3, chunks=3))
    with pytest.raises(InputError, match="one class only"):
        moments_dask(rows, labels=da.ones(4, chunks=4))
    with pytest.raises(InputError, match="holds int; expected svmlight lines"):
        moments_dask(db.from_sequence([1, 2]))
    with pytest.raises(InputError, match="with a Dask array only"):
        moments_dask(db.from_sequence(["1 1:1"]), labels=[1])
    with pytest.raises(InputError, match="has no partitions"):
        moments_dask([])
    with pytest.raises(InputError, match="NaN or infinite"):
        moments_dask(rows * np.nan, labels=da.ones(4, chunks=4))
    with pytest.raises(InputError, match="NaN or infinite"):
        moments_dask(rows, labels=[1.0, 2.0, np.nan, 1.0])
    with pytest.raises(InputError, match="expected real numbers"):
        moments_dask(rows * 1j, labels=[1, 2, 1, 2])
    with pytest.raises(InputError, match="compute_chunk_sizes"):
        moments_dask(rows[rows[:, 0] > 0], labels=[1, 2, 1, 2])
    with pytest.raises(InputError, match="a str; expected a Dask bag"):
        moments_dask("part-*.svm")
    with pytest.raises(InputError, match="partition 0 is a int; expected a data set"):
        moments_dask([delayed(5)])
    with pytest.raises(InputError, match="order 9"):
        moments_dask(rows, 9, labels=[1, 2, 1, 2])
    data = read("long-servedio").take(slice(9))
    with pytest.raises(InputError, match="cannot be scaled or relabelled in parts"):
        moments_dask([delayed(data)], scale="standard")


def test_a_file_that_workers_do_not_see(client: Any, pattern: str, tmp_path: Path) -> None:
    from qcompile.moments.dask import total_on
    from qcompile.moments.parts import Wanted

    gone = str(tmp_path / "gone.svm")
    with pytest.raises(InputError, match="not found on a worker"):
        total_on(client, [gone], [gone])(Wanted(order=1, fit=False))
