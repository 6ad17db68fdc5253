from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qcompile import InputError
from qcompile.stages.preparation import Preparation


@pytest.mark.parametrize(
    "bad",
    [{"columns": [5]}, {"columns": [-1]}, {"center": [1.0]}, {"scale": [1.0] * 4},
     {"raw_features": 0}, {"raw_features": 10**12}, {"scaling": "wild"}],
)  # fmt: skip
def test_impossible_preparations_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Preparation.from_dict({**Preparation(3).to_dict(), **bad})


def test_rows_of_another_width_are_refused() -> None:
    with pytest.raises(InputError):
        Preparation(3).apply(np.zeros((2, 4)))
