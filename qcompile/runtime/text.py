"""Texts that are shown to people."""

from __future__ import annotations

__all__ = ["one_line", "printable"]


_LONGEST = 300


def printable(text: object, *, lines: bool = False) -> str:
    """Return a text that can be shown on a terminal, whoever wrote it.

    Files and servers are not trusted with the terminal: control characters, escape sequences,
    characters that change the direction of writing, and halves of characters become ``?``, other
    blanks a blank. The ends of lines stay only where `lines` is True.

    >>> printable("a\\x1b[31m\\u202eb\\tc\\nd")
    'a?[31m?b c d'
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(_shown(c, lines) for c in shown)


def _shown(character: str, lines: bool) -> str:
    if character.isprintable() or (lines and character == "\n"):
        return character
    return " " if character.isspace() else "?"


def one_line(text: object) -> str:
    """Return a text, or the message of an exception, as one printable line of bounded length.

    An exception without a message is named by its type.

    >>> one_line(ValueError("too many\\n  lines"))
    'too many lines'
    >>> one_line(TimeoutError())
    'TimeoutError'
    """
    line = " ".join(str(text).split()) or type(text).__name__
    if len(line) > _LONGEST:
        line = f"{line[:_LONGEST]}..."
    return printable(line)
