from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from qcompile.report.markup import plain, tag
from tests.report.reading import parsed


@given(st.text(), st.text())
def test_text_comes_back_as_it_was(content: str, value: str) -> None:
    reader = parsed(tag("p", content[:200], title=value[:200]))
    assert reader.tags == [("p", {"title": plain(value[:200])})]
    assert "".join(reader.text) == plain(content[:200])
