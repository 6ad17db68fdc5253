from __future__ import annotations

import pytest

from qcompile.report.words import number


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1234.5, "1,234.5"), (9999.6, "9,999.6"), (12345.6, "12,345.6"), (999.96, "1,000"),
        (-1234.56, "-1,234.6"), (123.456, "123"), (0.5, "0.5"), (1e20, "1e+20"), (7, "7"),
    ],
)  # fmt: skip
def test_numbers_for_people(value: float, shown: str) -> None:
    assert number(value) == shown
