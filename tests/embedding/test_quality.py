from __future__ import annotations

import numpy as np
import pytest

from qcompile import embed, load_machine, quality
from tests.problems import cubic


@pytest.mark.slow
def test_quality_counts_what_is_there() -> None:
    embedded = embed(cubic(7), load_machine("zephyr3"))
    figures = quality(embedded)
    lengths = [len(chain) for chain in embedded.embedding.chains]
    assert figures["qubits"] == sum(lengths)
    assert figures["longest_chain"] == max(lengths)
    assert figures["mean_chain"] == pytest.approx(np.mean(lengths))
    assert figures["chain_lengths"] == {str(n): lengths.count(n) for n in sorted(set(lengths))}
    assert dict(figures.chains_by_length) == {n: lengths.count(n) for n in lengths}
    assert figures["scale_factor"] == figures.scaling.factor
    assert figures["couplers"] == embedded.to_bqm().num_interactions
    assert figures["share_of_qubits"] == pytest.approx(sum(lengths) / 336)
    sizes = np.abs(np.concatenate([embedded.fields, embedded.couplings]))
    assert figures["physical_dynamic_range"] == pytest.approx(sizes.max() / sizes.min())
