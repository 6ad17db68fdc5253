from __future__ import annotations

import re

from qcompile.cli import parsing
from qcompile.cli.app import _parser
from tests.cli.lines import commands


def test_the_help_says_what_exit_codes_mean() -> None:
    text = _parser().format_help()
    codes = re.findall(r"^ +(\d+)  \S", text.split("Exit codes:")[1], re.M)
    assert codes == ["0", "1", "2", "3", "130", "143"]
    constants = {
        value for name, value in vars(parsing).items() if name.isupper() and isinstance(value, int)
    }
    assert constants | {0} == set(map(int, codes))


def test_the_help_says_where_numbers_are_explained() -> None:
    for parser in (_parser(), *commands().values()):
        assert "What the numbers mean: qcompile" in parser.format_help()
