from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import InputError
from qcompile.data import svmlight_small
from qcompile.data.svmlight import Piece, SvmlightReader
from qcompile.data.svmlight_small import parse_plain

values = st.sampled_from(["1", "-2.5", "+.5", "0", "-0", "7.", "1e3", "2E-400", "9" * 25])
indices = st.lists(st.integers(0, 999_999_999), max_size=5, unique=True).map(sorted)


@st.composite
def lines(draw: st.DrawFn) -> str:
    pairs = [f"{index}:{draw(values)}" for index in draw(indices)]
    blank = draw(st.sampled_from([" ", "  "]))
    return blank.join([draw(values), *pairs]) + draw(st.sampled_from(["", " ", "\r"]))


def by_kernel(text: bytes) -> Piece:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(svmlight_small, "LONGEST", -1)
        piece: Piece = SvmlightReader("unused")._parse(text)
    return piece


@settings(deadline=None, max_examples=100)
@given(st.lists(lines(), max_size=6), st.booleans())
def test_plain_text_gives_what_the_compiled_parser_gives(rows: list[str], ended: bool) -> None:
    text = "\n".join(rows).encode() + (b"\n" if ended and rows else b"")
    if not text:
        return
    assert parse_plain(text) is not None
    found, judge = SvmlightReader("unused")._parse(text), by_kernel(text)
    for name in ("labels", "lines", "starts", "indices", "values"):
        ours, theirs = getattr(found, name), getattr(judge, name)
        assert ours.dtype == theirs.dtype, name
        np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(np.signbit(ours), np.signbit(theirs))


@pytest.mark.parametrize(
    "text",
    [
        "1 1:1 # a comment",
        "\n1 1:1",
        "1\t1:1",
        "1 qid:3 1:1",
        "1 +1:1",
        "1 2:1 1:1",
        "1 1:1 1:1",
        "1 1:1e999",
        "1 1:nan",
        "1 1:1_0",
        "1 1: 1",
        "1:1",
        "1 1:1 1",
        "1 9999999999:1",
        "1 1:\u0661",
        "spam 1:1",
    ],
)
def test_other_text_is_left_to_the_compiled_parser(text: str) -> None:
    assert parse_plain(f"1 1:1\n{text}\n".encode()) is None


def test_errors_are_those_of_the_compiled_parser() -> None:
    with pytest.raises(InputError, match="line 2: index 1 is repeated or out of order"):
        SvmlightReader("unused")._parse(b"1 1:1\n1 2:1 1:1\n")


def test_long_text_is_left_to_the_compiled_parser() -> None:
    line = b"1 1:1\n"
    assert parse_plain(line * (svmlight_small.LONGEST // len(line) + 1)) is None
