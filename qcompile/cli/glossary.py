"""What the names mean that commands print, from the page about the commands.

The page is docs/commands.md. It is installed with this package, so that `--names` can show it.
"""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

__all__ = ["PAGE", "ShowNames", "meanings"]


PAGE = "commands.md"
_TITLE = "## What the numbers mean"
_WIDTH = 100


def meanings(command: str) -> Iterator[tuple[str, str]]:
    """Yield the names that a command prints, and what they mean.

    >>> dict(meanings("solve"))["lowest energy"]
    'energy of the polynomial, after ancillas and chains are repaired'
    """
    page = (files("qcompile.cli") / PAGE).read_text(encoding="utf-8")
    for section in page.partition(_TITLE)[2].partition("\n## ")[0].split("\n### ")[1:]:
        title, _, body = section.partition("\n")
        if title == "Every command" or f"`{command}`" in title:
            # a table with a third column explains something else
            for names, meaning in re.findall(r"^\| (`.*?`) \| ((?:[^|\\]|\\.)*) \|$", body, re.M):
                yield _plain(names), _plain(meaning)


def _plain(text: str) -> str:
    """Return Markdown as plain text."""
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).replace("`", "").replace("\\|", "|")


class ShowNames(argparse.Action):
    """Print what the names of a command's output mean, and exit, as --help does."""

    def __init__(self, option_strings: Any, dest: str, **more: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, **more)

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: Any = None
    ) -> None:
        """Print the names."""
        command = parser.prog.split()[-1]
        for name, meaning in meanings(command):
            print(name, textwrap.indent(textwrap.fill(meaning, _WIDTH - 4), "    "), sep="\n")
        parser.exit()
