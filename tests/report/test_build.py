from __future__ import annotations

import itertools
import re
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import qcompile
from qcompile import Pubo, account, load_machine, quadratize, quality, with_chains
from qcompile.errors import InputError
from qcompile.report.build import report_of
from qcompile.report.gather import with_test
from qcompile.report.page import page
from qcompile.report.run import Run
from qcompile.stages.embedded import to_embedded
from qcompile.stages.samples import samples_of
from tests.report.reading import DATA, section, table, words


def test_the_facts(text: str, made: SimpleNamespace) -> None:
    facts = [
        (unescape(a), unescape(b))
        for a, b in re.findall(r"<dt>(.*?)</dt><dd[^>]*>(.*?)</dd>", text)
    ]
    decisions = np.asarray(made.rows.x @ made.classifier.weights)
    missed = int(np.count_nonzero((decisions > 0) != (made.rows.y > 0)))
    span = binomtest(missed, len(decisions)).proportion_ci(method="exact")
    error = f"{missed / len(decisions):.2%} of {len(decisions)} rows, "
    error += f"95% interval {span.low:.2%} to {span.high:.2%}"
    assert facts == [
        ("logical qubits", str(8 + len(made.qubo.ancillas))),
        ("physical qubits", str(sum(map(len, made.embedding.chains)))),
        ("longest chain", str(max(map(len, made.embedding.chains)))),
        ("lowest energy", f"{made.samples.energies.min():.3g}"),
        ("bits a weight", "2"),
        ("error, training rows", f"{error} (baseline {made.rows.baseline_error:.2%})"),
    ]


def test_every_stage_and_what_made_it(text: str, made: SimpleNamespace) -> None:
    boxes, arrows = stages(text)
    sums = sum(len(tensor) for tensor in made.moments.tensors.values())
    total, distinct = int(made.samples.occurrences.sum()), len(made.samples)
    assert boxes == [
        f"data 569 rows × 30 columns {DATA} 3 chosen + bias",
        f"moments {sums} sums order 3",
        f"loss order 3 fit: risk weights up to {made.loss.zeta:.3g}",
        "polynomial 8 bits 92 terms: 8 of degree 1 28 of degree 2 56 of degree 3",
        f"QUBO 20 qubits 8 bits + 12 ancillas {len(made.qubo.quadratic)} pairs",
        f"embedding {sum(map(len, made.embedding.chains))} physical qubits zephyr3 "
        f"longest chain {max(map(len, made.embedding.chains))}",
        f"samples {total} reads {distinct} distinct dice",
        f"classifier 4 weights {np.count_nonzero(made.classifier.weights)} not 0",
    ]
    assert arrows == ["sum", "fit", "discretize", "quadratize", "embed", "sample", "decode"]


def stages(text: str) -> tuple[list[str], list[str]]:
    items = list(section(text, "pipeline").iter("div"))
    boxes = [words(e) for e in items if e.get("class") == "stage"]
    return boxes, [words(e) for e in items if e.get("class") == "pass"]


def test_samples_that_used_no_chains_stand_beside_them(made: SimpleNamespace) -> None:
    """An embedding that lies in the folder says nothing about how the samples came about."""
    plain = samples_of(made.qubo, made.samples.bits, info={"solver": "anneal", "reads": 1000})
    run = Run("x", qubo=made.qubo, embedding=made.embedding, samples=plain)
    text = page(report_of(run))
    boxes, arrows = stages(text)
    assert [box.split()[0] for box in boxes][-2:] == ["samples", "embedding"]
    assert "these samples did not use it" in boxes[-1]
    assert f"samples {len(plain)} states lowest of 1,000 reads anneal" in boxes
    assert "embed" not in arrows and arrows[-1] == "sample"
    energies = section(text, "energies")
    assert table(energies)["chains"] == ["none: not solved on a chip"]
    assert f"The {len(plain)} lowest distinct states of 1,000 reads" in words(energies)
    assert table(energies)["states with it"] == ["1"], "no share of states"


@pytest.mark.parametrize("same", [True, False])
def test_samples_know_their_chains(made: SimpleNamespace, same: bool) -> None:
    other = qcompile.embed(made.qubo, load_machine("pegasus4"))
    here = to_embedded(made.qubo, made.embedding, 1.0)
    found = qcompile.solve(here if same else other, solver="neal", reads=3)
    run = Run("x", qubo=made.qubo, embedding=made.embedding, samples=found)
    boxes, arrows = stages(page(report_of(run)))
    assert ("embed" in arrows) == same and (boxes[-1].startswith("embedding")) != same


@pytest.mark.parametrize(
    ("info", "about", "share"),
    [
        ({"solver": "exact", "reads": 100}, "The 2 lowest of all 2^3 states", False),
        ({"solver": "neal", "reads": 5}, "5 reads, 2 distinct states", True),
        ({"solver": "neal", "reads": 9}, "The 2 lowest distinct states, 5 of 9 reads", False),
        ({"solver": "neal"}, "5 samples, 2 distinct states", True),
        ({"solver": "mock", "repair": "discard", "discarded": 4, "reads": 9}, "5 reads, 2", True),
    ],
)
def test_reads_and_states_are_told_apart(info: dict[str, Any], about: str, share: bool) -> None:
    pubo = Pubo.from_dict({(0, 1, 2): 1.0, (0,): -0.5})
    bits = np.array([[1, 0, 0], [0, 0, 0], [1, 0, 0]], dtype=np.int8)
    found = samples_of(pubo, bits, occurrences=np.array([1, 3, 1]), info=info)
    element = section(page(report_of(Run("x", pubo=pubo, samples=found))), "energies")
    assert words(element).startswith(f"Energies of the samples {about}")
    shown = next(v for k, v in table(element).items() if k.endswith(" with it"))
    assert shown == ["2 (40.0%)" if share else "2"]
    discarded = table(element).get("reads discarded for a broken chain")
    assert discarded == (["4"] if "repair" in info else None)


def test_warnings_come_before_the_sections(made: SimpleNamespace) -> None:
    text = page(report_of(Run("x", qubo=made.qubo, notes=("mind the gap",))))
    assert 0 < text.index("mind the gap") < text.index("<section")


def test_what_no_machine_can_hold_is_impossible() -> None:
    pairs = Pubo.from_dict(dict.fromkeys(itertools.combinations(range(400), 2), 1.0))
    report = report_of(Run("x", qubo=quadratize(pairs)))
    assert report.budget is not None and all(row.impossible for row in report.budget.machines)
    text = page(report)
    assert text.count(", impossible") >= 3 and "prove that no embedding exists" in text
    few = report_of(Run("x", qubo=quadratize(Pubo.from_dict({(0, 1): 1.0}))))
    assert few.budget is not None and not any(row.impossible for row in few.budget.machines)


def test_chains_and_precision_are_on_the_page(text: str, made: SimpleNamespace) -> None:
    shown = table(section(text, "budget")) | table(section(text, "chip"))
    chained = quality(with_chains(made.qubo, made.embedding))
    below = chained.scaling.below
    assert below is not None
    assert shown["longest chain"] == [str(chained.longest_chain)]
    assert shown["chain strength, by torque compensation"] == [f"{chained.chain_strength:.3g}"]
    assert shown["couplings below the machine's precision, with chains"] == [f"{below:.1%}"]
    share = account(made.qubo, machine=made.embedding.machine).share_of_couplings_below_precision
    assert shown["couplings below the precision of zephyr3, before chains"] == [f"{share:.1%}"]


def test_notes_are_shown(made: SimpleNamespace) -> None:
    text = page(report_of(Run("x", qubo=made.qubo, notes=("mind <the> gap",))))
    assert '<p class="note">Warning: mind &lt;the&gt; gap</p>' in text


def test_what_to_add_is_said_once(tmp_path: Path) -> None:
    with pytest.raises(InputError) as told:
        report_of(Run("x"))
    assert "needs needs" not in str(told.value) and "needs a loss" in str(told.value)


def test_more_parts_follow_the_first(made: SimpleNamespace) -> None:
    run = Run("x", classifier=made.classifier, parts=(("train", made.rows),))
    found = report_of(with_test(run, made.rows.take(slice(10)))).confusion
    assert [(part.part, part.rows) for part in found] == [("train", 569), ("test rows", 10)]


def test_one_is_no_plural() -> None:
    pubo = Pubo.from_dict({(0,): -1.0})
    found = samples_of(pubo, np.array([[1]], dtype=np.int8), info={"reads": 1})
    text = page(report_of(Run("x", pubo=pubo, samples=found)))
    shown = words(section(text, "pipeline")) + words(section(text, "energies"))
    assert "polynomial 1 bit 1 term:" in shown and "samples 1 read 1 distinct" in shown
    assert "1 read, 1 distinct state;" in shown
