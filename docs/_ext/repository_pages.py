"""Take pages as they are written for the repository.

A link to a file outside of docs/ becomes a download of it, and one to a folder plain text: neither
has a page here. The blank line that ends a doctest is not shown.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

__all__ = ["for_the_site", "setup"]

OUTSIDE = re.compile(r"(?<!!)\[([^\]]*)\]\((\.\./[^)#\s]*)(?:#[^)\s]*)?\)")


def for_the_site(text: str, folder: Path) -> str:
    """Return a page of this folder with links that the site can follow."""

    def link(found: re.Match[str]) -> str:
        here = (folder / found[2]).is_file()
        return f"[{found[1]}](path:{found[2]})" if here else found[1]

    return re.sub(r"\n\n```\n", "\n```\n", OUTSIDE.sub(link, text))


def _read(app: Sphinx, page: str, source: list[str]) -> None:
    path = Path(app.env.doc2path(page))
    if path.suffix == ".md":
        source[0] = for_the_site(source[0], path.parent)


def _include(app: Sphinx, path: Path, page: str, source: list[str]) -> None:
    if path.suffix == ".md":
        source[0] = for_the_site(source[0], path.parent)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect with Sphinx."""
    app.connect("source-read", _read)
    app.connect("include-read", _include)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
