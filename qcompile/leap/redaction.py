"""Keep the API token out of every log line, whatever the level, and out of every error.

Ocean's client logs its whole configuration at DEBUG. Once a secret is known here, no log record
made afterwards holds it; as long as it is not known yet, the chatter of Ocean is withheld.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["keep_secret", "scrub", "withholding"]


_HIDDEN = "***"
# Shorter words would blot out half of every message; no token is that short.
_SHORTEST = 6
_CHATTY = ("dwave", "urllib3", "requests")

_words: set[str] = set()
_unknown = 0  # how many connections are being made whose token is not known yet
_lock = threading.Lock()


def keep_secret(*words: str | None) -> None:
    """Never let these words into a log line again."""
    _install()
    _words.update(word for word in words if word and len(word) >= _SHORTEST)


def scrub(text: str) -> str:
    """Return the text with every secret blotted out.

    >>> keep_secret("DEV-0123456789")
    >>> scrub("token=DEV-0123456789, region=eu")
    'token=***, region=eu'
    """
    for word in sorted(_words, key=len, reverse=True):
        text = text.replace(word, _HIDDEN)
    return text


@contextmanager
def withholding() -> Iterator[None]:
    """Hold back Ocean's chatter as long as the secrets in it are not known."""
    global _unknown
    _install()
    with _lock:
        _unknown += 1
    try:
        yield
    finally:
        with _lock:
            _unknown -= 1


def _install() -> None:
    """Put the filter where every log record is made: loggers' own filters do not see children."""
    with _lock:
        present = logging.getLogRecordFactory()
        if getattr(present, "keeps_secrets", False):
            return

        def make(*arguments: Any, **named: Any) -> logging.LogRecord:
            return _cleaned(present(*arguments, **named))

        make.keeps_secrets = True  # type: ignore[attr-defined]
        logging.setLogRecordFactory(make)


def _cleaned(record: logging.LogRecord) -> logging.LogRecord:
    chatty = record.name.split(".")[0] in _CHATTY
    if _unknown and chatty:
        _say(record, "(withheld while connecting: it may hold the token)")
        record.exc_info = record.exc_text = None
        return record
    try:
        text = record.getMessage()
    except Exception:  # logging would print the arguments as they are
        _say(record, "(a message that cannot be formatted)")
        return record
    clean = scrub(text)
    if clean != text:
        _say(record, clean)
    if record.exc_info and _words:
        # handlers print exceptions with their causes, or look into them: Ocean's are kept from
        # them, and so is every one whose text holds a secret
        shown = logging.Formatter().formatException(record.exc_info)
        if chatty or scrub(shown) != shown:
            record.exc_text, record.exc_info = scrub(shown), None
    return record


def _say(record: logging.LogRecord, text: str) -> None:
    record.msg, record.args = text, ()
