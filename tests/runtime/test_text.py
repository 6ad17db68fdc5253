from __future__ import annotations

import pytest

from qcompile.runtime.text import one_line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "str"),
        (KeyError("a"), "'a'"),
        (OSError(), "OSError"),
        (ValueError(" \n\t"), "ValueError"),
        (ValueError("a\x1b[2Jb\nc"), "a?[2Jb c"),
        (ValueError("one\r\n two\u2028three"), "one two three"),
    ],
)
def test_messages_become_one_printable_line(text: object, expected: str) -> None:
    assert one_line(text) == expected


def test_long_messages_are_cut() -> None:
    assert one_line("x" * 300) == "x" * 300
    assert one_line("x" * 301) == "x" * 300 + "..."
    assert one_line("word " * 10_000).isprintable()
