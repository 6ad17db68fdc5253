"""Keep the API token out of every log line, at any level, and out of every error.

Ocean's client logs its whole configuration at DEBUG. Once a secret is known here, no later log
record holds it. Until then, the messages of Ocean's loggers are withheld.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["keep_secret", "redacted", "scrub", "scrub_bytes", "withholding"]


_HIDDEN = "***"
# No token is shorter, and shorter words would be replaced in ordinary text.
_SHORTEST = 6
_CLIENT_LOGGERS = ("dwave", "urllib3", "requests")

_words: set[str] = set()
_unknown = 0  # connections under way whose token is not known yet
_lock = threading.Lock()


def keep_secret(*words: str | None) -> None:
    """Hide these words in every later log line."""
    _install()
    _words.update(word for word in words if word and len(word) >= _SHORTEST)


def scrub(text: str) -> str:
    """Return the text with every secret replaced by ***.

    >>> keep_secret("DEV-0123456789")
    >>> scrub("token=DEV-0123456789, region=eu")
    'token=***, region=eu'
    """
    for word in sorted(_words, key=len, reverse=True):
        text = text.replace(word, _HIDDEN)
    return text


def scrub_bytes(content: bytes) -> bytes:
    """Return bytes with every secret replaced by ***."""
    for word in sorted(_words, key=len, reverse=True):
        content = content.replace(word.encode(errors="surrogatepass"), _HIDDEN.encode())
    return content


def redacted(value: Any) -> Any:
    """Return plain values without secrets in any text or key; the same object if there are none.

    >>> keep_secret("DEV-0123456789")
    >>> redacted({"reason": ["token DEV-0123456789"], "code": 401})
    {'reason': ['token ***'], 'code': 401}
    """
    if isinstance(value, str):
        clean = scrub(value)
        return value if clean == value else clean
    if isinstance(value, dict):
        pairs = [(redacted(key), redacted(item)) for key, item in value.items()]
        same = all(k is key and v is value[key] for (k, v), key in zip(pairs, value, strict=True))
        return value if same else dict(pairs)
    if isinstance(value, list):
        items = [redacted(item) for item in value]
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    return value


@contextmanager
def withholding() -> Iterator[None]:
    """Withhold the log messages of Ocean's client while its secrets are not known."""
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
    """Filter every log record where it is made: a logger's filters miss those of its children."""
    with _lock:
        present = logging.getLogRecordFactory()
        if getattr(present, "keeps_secrets", False):
            return

        def make(*arguments: Any, **named: Any) -> logging.LogRecord:
            return _cleaned(present(*arguments, **named))

        make.keeps_secrets = True  # type: ignore[attr-defined]
        logging.setLogRecordFactory(make)


def _cleaned(record: logging.LogRecord) -> logging.LogRecord:
    """Return a log record without secrets."""
    of_client = record.name.split(".")[0] in _CLIENT_LOGGERS
    if _unknown and of_client:
        _set_message(record, "(withheld while connecting: it may hold the token)")
        record.exc_info = record.exc_text = None
        return record
    try:
        text = record.getMessage()
    except Exception:  # logging would print the arguments, secrets included
        _set_message(record, "(a message that cannot be formatted)")
        return record
    clean = scrub(text)
    if clean != text:
        _set_message(record, clean)
    if record.exc_info and _words:
        # handlers print exceptions with their causes, or inspect them: they get only the text of
        # an exception of Ocean's client, or of one whose text holds a secret
        shown = logging.Formatter().formatException(record.exc_info)
        if of_client or scrub(shown) != shown:
            record.exc_text, record.exc_info = scrub(shown), None
    return record


def _set_message(record: logging.LogRecord, text: str) -> None:
    record.msg, record.args = text, ()
