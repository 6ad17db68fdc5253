"""Texts that are shown to people."""

from __future__ import annotations

__all__ = ["one_line"]


_LONGEST = 300


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
    return "".join(c if c.isprintable() else "?" for c in line)
