from __future__ import annotations

import pytest

from qcompile import Dataset, InputError, compile, decode, solve


def test_of_the_lowest_states_the_best_on_validation_is_taken(cancer: Dataset) -> None:
    compiled = compile(cancer, bits=2)
    samples = solve(compiled.pubo, solver="exact", keep=30)
    weights = compiled.pubo.decode(samples.bits)
    errors = [cancer.error(w) for w in weights]
    chosen = decode(compiled.pubo, samples, validation=cancer)
    assert cancer.error(chosen.weights) == min(errors)
    assert chosen.source["rank"] == errors.index(min(errors))
    plain = decode(compiled.pubo, samples)
    assert plain.source["rank"] == 0
    assert (plain.weights == weights[0]).all()


def test_what_was_not_compiled_from_data_has_no_classifier() -> None:
    from qcompile import Pubo

    pubo = Pubo.from_dict({(0, 1): 1.0})
    with pytest.raises(InputError, match="no classifier"):
        decode(pubo, solve(pubo))
