from __future__ import annotations

from hypothesis import given, settings

from qcompile import Pubo
from qcompile.stages.spins import bits_to_spins, spins_to_bits
from tests.strategies import Terms, terms


@settings(max_examples=40, deadline=None)
@given(terms(kinds=("numbers",)))
def test_spins_and_bits_undo_each_other(given: Terms) -> None:
    pubo = Pubo.from_dict(given, variables=4)
    assert spins_to_bits(bits_to_spins(pubo)).to_dict() == pubo.to_dict()
    assert bits_to_spins(spins_to_bits(pubo)).to_dict() == pubo.to_dict()
