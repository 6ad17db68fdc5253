from __future__ import annotations

import json

from qcompile import load_machine, quadratize
from qcompile.reduction.accounting import account, counting_bound
from tests.problems import complete


def test_the_counting_bounds_of_the_literature() -> None:
    assert [counting_bound(n, 6) for n in (8, 10, 12, 14, 16, 18)] == [14, 31, 59, 100, 157, 232]
    assert (counting_bound(100, 3), counting_bound(400, 3)) == (477, 4219)


def test_an_account_answers_by_name_and_by_key() -> None:
    pubo = complete(6, 3)
    counted = account(quadratize(pubo), machine=load_machine("zephyr3"))
    assert counted.qubits == counted["qubits"] == 6 + counted.product_ancillas
    assert counted.product_ancillas == counted["turan_bound_complete_cubic"] == 6
    assert counted.machine == "zephyr3" and "dimod_ancillas" not in counted
    assert json.loads(json.dumps(counted.to_dict())) == dict(counted)
    with_dimod = account(quadratize(pubo), pubo=pubo, with_dimod=True)
    assert with_dimod["dimod_ancillas"] == with_dimod.dimod_ancillas is not None
