"""HTML and SVG as text; everything that is not marked as markup is escaped."""

from __future__ import annotations

import re
from html import escape

__all__ = ["Markup", "joined", "plain", "tag"]


_LONGEST = 200
_VOID = frozenset({"meta", "br", "path", "line", "rect", "circle"})
# Characters that are invisible or change the direction of text.
_INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff]"
)


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def _visible(text: object) -> str:
    return _INVISIBLE.sub("\ufffd", str(text))


def plain(text: object) -> str:
    """Return text that can be shown: one line, no invisible characters, at most 200 long.

    >>> plain("a\\u202eb" + "c" * 300)[:4], len(plain("c" * 300))
    ('a�bc', 200)
    """
    shown = _visible(text)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def tag(name: str, /, *content: object, **attributes: object) -> Markup:
    """Return an element; a trailing _ of an attribute's name is dropped, other _ become -.

    >>> tag("p", "1 < 2", class_="note")
    '<p class="note">1 &lt; 2</p>'
    """
    named = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_visible(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID and not content:
        return Markup(f"<{name}{named}>" if name in ("meta", "br") else f"<{name}{named}/>")
    return Markup(f"<{name}{named}>{joined(*content)}</{name}>")


def joined(*content: object) -> Markup:
    """Join pieces; those that are not markup are escaped."""
    return Markup("".join(c if isinstance(c, Markup) else escape(_visible(c)) for c in content))
