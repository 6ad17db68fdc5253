"""Two runs: one as the commands leave it, one counted by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import qcompile
from qcompile import Qubo, load_machine, prepare, read
from qcompile.cli.app import main
from qcompile.files.classifier import save_classifier
from qcompile.files.embedding import save_embedding
from qcompile.files.loss import save_loss
from qcompile.files.moments import save_moments
from qcompile.files.pubo import save_pubo
from qcompile.files.qubo import save_qubo
from qcompile.files.samples import save_samples
from qcompile.objective.decode import decode
from qcompile.stages.arrays import frozen
from qcompile.stages.dataset import Dataset
from qcompile.stages.embedded import Embedding
from qcompile.stages.samples import Samples, samples_of
from tests.report.reading import DATA


@pytest.fixture(scope="session")
def rows() -> Dataset:
    return prepare(read(DATA), scale="standard", features=3)


@pytest.fixture(scope="session")
def embedding(qubo: Qubo) -> Embedding:
    return qcompile.embed(qubo, load_machine("zephyr3")).embedding


@pytest.fixture(scope="session")
def samples(qubo: Qubo) -> Samples:
    """Random states, 200 reads of them, some with broken chains."""
    rng = np.random.default_rng(5)
    bits = np.unique(rng.integers(0, 2, (40, qubo.logical), dtype=np.int8), axis=0)
    times = 1 + rng.multinomial(200 - len(bits), np.full(len(bits), 1 / len(bits)))
    found = samples_of(qubo, bits, occurrences=times, info={"solver": "dice"})
    return replace(found, chain_breaks=frozen(rng.choice([0, 0.125, 0.5], len(bits))))


@pytest.fixture(scope="session")
def folder(
    tmp_path_factory: pytest.TempPathFactory, qubo: Qubo, embedding: Embedding, samples: Samples
) -> Path:
    """A run as it comes from compile, embed, solve and decode."""
    place = tmp_path_factory.mktemp("run")
    save_qubo(qubo, place / "problem-a.json")
    save_embedding(embedding, place / "chains.json")
    save_samples(samples, place / "answers.json")
    save_classifier(decode(qubo, samples), place / "clf.json")
    (place / "notes.json").write_text("{}")
    (place / "README.txt").write_text("not ours")
    return place


@pytest.fixture(scope="session")
def whole(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of that run with its data."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    assert main(["report", str(folder), "--data", DATA, "-q", "-o", str(path)]) == 0
    return path.read_text()


@pytest.fixture(scope="session")
def made() -> SimpleNamespace:
    """A run of four weights, one of them for the bias, with samples that are counted by hand."""
    compiled = qcompile.compile(DATA, bits=2, scale="standard", features=3, bias=True)
    qubo = compiled.quadratize()
    rng = np.random.default_rng(5)
    bits = np.unique(rng.integers(0, 2, (40, 8), dtype=np.int8), axis=0)
    every = np.array(list(np.ndindex(*(2,) * 8)), dtype=np.int8)
    ground, best = min(zip(compiled.pubo.energies(every).tolist(), every.tolist(), strict=True))
    bits = bits[qubo.score(bits) > ground + 1e-9]  # the best is not among them
    times = 1 + rng.integers(0, 9, len(bits))
    breaks = rng.choice([0, 0.125, 0.5], len(bits))
    broken = np.where(breaks > 0, 1 + times // 2, 0)
    wrong = rng.integers(0, times)
    info = {"solver": "dice", "reads": int(times.sum()) + 7, "repair": "discard", "discarded": 7}
    samples = replace(
        samples_of(qubo, bits, occurrences=times, info=info),
        chain_breaks=frozen(breaks),
        broken=frozen(broken, np.int64),
        wrong=frozen(wrong, np.int64),
    )
    rows = prepare(read(DATA), scale="standard", features=3, bias=True)
    return SimpleNamespace(
        compiled=compiled,
        moments=compiled.moments,
        loss=compiled.loss,
        pubo=compiled.pubo,
        qubo=qubo,
        embedding=qcompile.embed(qubo, load_machine("zephyr3")).embedding,
        samples=samples,
        rows=rows,
        # chosen by other rows, say, and not the lowest: it has weights of both signs
        classifier=replace(decode(qubo, samples), weights=frozen(qubo.decode(best))),
        ground=ground,
    )


@pytest.fixture(scope="session")
def made_folder(made: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("figures")
    save_qubo(made.qubo, place / "qubo.json")
    (place / "qubo.json").rename(place / "QUBO.JSON")
    save_pubo(made.pubo, place / "pubo.json")
    save_loss(made.loss, place / "loss.json")
    save_moments(made.moments, place / "moments.npz")
    save_embedding(made.embedding, place / "chains.json")
    save_samples(made.samples, place / "answers.json")
    save_classifier(made.classifier, place / "model.json")
    return place


@pytest.fixture(scope="session")
def text(made_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("page") / "report.html"
    assert main(["report", str(made_folder), "--data", DATA, "-q", "-o", str(place)]) == 0
    return place.read_text()
