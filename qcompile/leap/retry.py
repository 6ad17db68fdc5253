"""How long to wait for others: back-off, what a failed request means, and when to give up."""

from __future__ import annotations

import email.utils
import logging
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from qcompile.errors import LeapError
from qcompile.leap.redaction import scrub

__all__ = ["BUSY", "REJECTED", "UNKNOWN", "UNREACHABLE", "Failure", "Patience", "ask", "attempt"]


_log = logging.getLogger("qcompile")

T = TypeVar("T")

# What a failed request says about the server.
UNREACHABLE = "unreachable"  # no connection was made: nothing was received
BUSY = "busy"  # 429: heard and turned away, nothing was done
REJECTED = "rejected"  # heard and refused for good
UNKNOWN = "unknown"  # it may or may not have been carried out
OURS = "ours"  # a mistake on this side, before or after: asking again does not help
_LONGEST_TEXT = 300


@dataclass(frozen=True)
class Patience:
    """Seconds: the first pause after a failure, the longest one, and when to give up.

    Two polls are never closer than `poll` seconds; the server is asked to hold each for `hold`.
    A single request takes up to `request`. A job whose sending had an unknown outcome is looked
    for during `grace` before it is sent again. `answers` is how often a damaged answer is fetched.
    """

    first: float = 1.0
    most: float = 30.0
    give_up: float = 120.0
    request: float = 60.0
    poll: float = 1.0
    hold: int = 20
    grace: float = 60.0
    answers: int = 3

    def pauses(self) -> Iterator[float]:
        """Give ever longer pauses: 1, 2, 4, ... seconds, never above `most`."""
        pause = self.first
        while True:
            yield min(pause, self.most)
            pause = min(2 * pause, self.most)


@dataclass(frozen=True)
class Failure:
    """Why a request failed, in plain words; nothing of the request itself is kept.

    `replied` says that the server did answer, with something that cannot be read.
    """

    kind: str
    text: str
    code: int | None = None
    retry_after: float | None = None
    replied: bool = False


def attempt(call: Callable[[], T]) -> tuple[T | None, Failure | None]:
    """Make a request; whatever goes wrong comes back as a `Failure`.

    Exceptions of the client carry the request with its headers, token included: none of them
    leaves this function, not even as the context of another.
    """
    try:
        return call(), None
    except Exception as error:
        return None, _failure(error)


def ask(
    call: Callable[[], T],
    patience: Patience,
    what: str,
    *,
    give_up: float | None = None,
) -> T:
    """Make a request that may be repeated safely until it succeeds, or give up in time."""
    began = time.monotonic()
    most = patience.give_up if give_up is None else give_up
    for pause in patience.pauses():
        value, failure = attempt(call)
        if failure is None:
            return value  # type: ignore[return-value]
        if failure.kind in (REJECTED, OURS):
            raise LeapError(f"{what}: {failure.text}", failure.code)
        pause = max(pause, failure.retry_after or 0.0)
        waited = time.monotonic() - began
        if waited + pause > most:
            asked = "" if failure.retry_after is None else f" and asks for {pause:.0f} s more"
            raise LeapError(f"{what}: {failure.text}; gave up after {waited:.0f} s{asked}")
        _log.info("%s: %s; again in %.0f s", what, failure.text, pause)
        time.sleep(pause)
    raise AssertionError("pauses never end")


def _failure(error: Exception) -> Failure:
    import requests
    import urllib3

    causes = list(_causes(error))
    if any(isinstance(cause, requests.exceptions.TooManyRedirects) for cause in causes):
        return Failure(
            REJECTED, "the server wants to redirect elsewhere; that is not followed, for the token"
        )
    response = next(
        (r for r in (getattr(cause, "response", None) for cause in causes) if r is not None), None
    )
    if response is not None and not response.ok:
        return _refusal(response, error)
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        # any other trouble with TLS may come after the request has been read
        return Failure(REJECTED, f"the server cannot be trusted ({_words(error)})")
    never_connected = (
        urllib3.exceptions.NewConnectionError,
        urllib3.exceptions.ConnectTimeoutError,
        requests.exceptions.InvalidURL,
    )
    if any(isinstance(cause, never_connected) for cause in causes):
        return Failure(UNREACHABLE, f"no connection ({_words(causes[-1])})")
    if type(error).__name__ == "RequestTimeout" or isinstance(error, TimeoutError):
        return Failure(UNKNOWN, "no reply in time")
    if type(error).__name__ == "ResourceBadResponseError":
        return Failure(UNKNOWN, f"a reply that makes no sense ({_words(error)})", replied=True)
    broken = (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, OSError)
    if isinstance(error, broken):
        return Failure(UNKNOWN, f"the connection broke ({_words(error)})")
    if not isinstance(error, ValueError):  # a reply that cannot be read gives one
        return Failure(OURS, f"{type(error).__name__}: {_words(error)}")
    return Failure(UNKNOWN, f"a reply that makes no sense ({_words(error)})", replied=True)


def _refusal(response: Any, error: Exception) -> Failure:
    code = int(response.status_code)
    after = _retry_after(response.headers.get("Retry-After"))
    text = f"{code}, {_words(error)}"
    if code in (401, 403):
        text = f"{code}, access refused: check the token and the project (dwave ping, dwave config)"
    if code == 429:
        return Failure(BUSY, text, code, after)
    if code in (408, 425) or code >= 500:
        return Failure(UNKNOWN, text, code, after)
    return Failure(REJECTED, text, code, after)


def _retry_after(value: str | None) -> float | None:
    """Read the header: seconds or a date."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Walk from an exception to what lies behind it, wherever libraries keep that."""
    seen: set[int] = set()
    waiting: list[Any] = [error]
    while waiting:
        cause = waiting.pop(0)
        if not isinstance(cause, BaseException) or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        waiting += [cause.__cause__, cause.__context__, getattr(cause, "reason", None), *cause.args]


def _words(error: BaseException) -> str:
    """Say an exception in one clean, short line."""
    lines = scrub(str(error)).split("\n")
    text = " ".join(line.strip() for line in lines if line.strip()) or type(error).__name__
    printable = "".join(c if c.isprintable() else "?" for c in text)
    return printable if len(printable) <= _LONGEST_TEXT else f"{printable[:_LONGEST_TEXT]}..."
