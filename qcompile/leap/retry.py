"""Requests that fail: what a failure means, how long to wait, and when to give up."""

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
from qcompile.leap.deadline import Deadline
from qcompile.leap.http import TooLargeError
from qcompile.leap.redaction import scrub
from qcompile.runtime.text import one_line

__all__ = [
    "BUSY",
    "LOCAL",
    "REJECTED",
    "UNKNOWN",
    "UNREACHABLE",
    "Failure",
    "Patience",
    "ask",
    "attempt",
    "refuse_late",
]


_log = logging.getLogger("qcompile")

T = TypeVar("T")

# The kinds of failure, by what became of the request.
UNREACHABLE = "unreachable"  # not received: there was no connection
BUSY = "busy"  # the server answered 429; nothing proves that it was not carried out
REJECTED = "rejected"  # not carried out, and repeating it does not help
UNKNOWN = "unknown"  # it may or may not have been carried out
LOCAL = "local"  # an error in this process; repeating the request does not help


@dataclass(frozen=True)
class Patience:
    """How long to wait for the server, in seconds.

    After a failure the pauses grow from `first` to `most`, until `give_up` has passed. A single
    request may take `request`. Polls are at least `poll` apart, and the server may hold each for
    `hold`. If the outcome of sending a job is unknown, the job is looked up for `grace` before it
    is sent again. `answers` is the number of times that an invalid answer is fetched.
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
        """Yield pauses without end, each twice as long as the last: 1, 2, 4, ... up to `most`."""
        pause = self.first
        while True:
            yield min(pause, self.most)
            pause = min(2 * pause, self.most)


@dataclass(frozen=True)
class Failure:
    """Why a request failed, in words; it keeps nothing of the request, which holds the token.

    `code` is the HTTP status. `replied` states that the server did reply, but the reply cannot be
    read. `detail` is the message of the exception alone, for local errors and unreadable replies.
    """

    kind: str
    text: str
    code: int | None = None
    retry_after: float | None = None
    replied: bool = False
    detail: str = ""


def attempt(call: Callable[[], T]) -> tuple[T | None, Failure | None]:
    """Make a request; return its result, or a `Failure` in the place of any exception.

    Exceptions of the client carry the request with its headers, which hold the token. None of them
    leaves this function, not even as the context of another.
    """
    try:
        return call(), None
    except Exception as error:
        caught = error
    except BaseException as error:  # Ctrl-C; its context may be an exception of the client
        error.__cause__ = error.__context__ = None
        raise
    # out here, an error in `_failure` does not get the exception as its context
    try:
        return None, _failure(caught)
    finally:
        del caught  # it refers to this frame through its traceback


def ask(
    call: Callable[[], T],
    patience: Patience,
    what: str,
    *,
    deadline: Deadline,
    give_up: float | None = None,
) -> T:
    """Repeat a request until it succeeds; raise LeapError after `give_up` seconds or the deadline.

    Use it only for requests that change nothing when they are made twice.
    """
    began = time.monotonic()
    most = patience.give_up if give_up is None else give_up
    for pause in patience.pauses():
        refuse_late(deadline, what)
        with deadline.waiting():
            value, failure = attempt(call)
        if failure is None:
            return value  # type: ignore[return-value]
        if failure.kind in (REJECTED, LOCAL):
            raise LeapError(f"{what}: {failure.text}", failure.code)
        pause = max(pause, failure.retry_after or 0.0)
        waited = time.monotonic() - began
        if pause > min(most - waited, deadline.left):
            asked = "" if failure.retry_after is None else f"; it asks to wait {pause:.0f} s more"
            raise LeapError(f"{what}: {failure.text}; gave up after {waited:.0f} s{asked}")
        _log.info("%s: %s; again in %.0f s", what, failure.text, pause)
        deadline.pause(pause)
    raise AssertionError("pauses never end")


def refuse_late(deadline: Deadline, what: str) -> None:
    """Raise LeapError if no time is left for a request."""
    if deadline.over:
        raise LeapError(f"{what}: gave up after {deadline.spent:.0f} s, the time allowed in all")


def _failure(error: Exception) -> Failure:
    """Return what an exception of the client means for the request."""
    import requests
    import urllib3

    causes = list(_causes(error))
    if isinstance(error, TooLargeError):
        return Failure(LOCAL, _message(error), replied=True, detail=_message(error))
    # urllib3's errors have responses of another type
    found = (getattr(cause, "response", None) for cause in causes)
    response = next((r for r in found if isinstance(r, requests.Response)), None)
    if any(isinstance(cause, requests.exceptions.TooManyRedirects) for cause in causes):
        text = "the server sent a redirect; it is not followed, to protect the token"
        return Failure(REJECTED, text, getattr(response, "status_code", None))
    if response is not None and not response.ok:
        return _refusal(response, error)
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        # any other TLS error may come after the server has read the request
        return Failure(REJECTED, f"the server's certificate is invalid ({_message(error)})")
    never_connected = (
        urllib3.exceptions.NewConnectionError,
        urllib3.exceptions.ConnectTimeoutError,
        requests.exceptions.InvalidURL,
    )
    if any(isinstance(cause, never_connected) for cause in causes):
        return Failure(UNREACHABLE, f"no connection ({_message(causes[-1])})")
    if type(error).__name__ == "RequestTimeout" or isinstance(error, TimeoutError):
        return Failure(UNKNOWN, "no reply in time")
    if type(error).__name__ == "ResourceBadResponseError":
        return _unreadable(error)
    broken = (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, OSError)
    if isinstance(error, broken):
        return Failure(UNKNOWN, f"the connection broke ({_message(error)})")
    if isinstance(error, ValueError):  # raised for a reply that cannot be read
        return _unreadable(error)
    detail = _message(error)
    return Failure(LOCAL, f"{type(error).__name__}: {detail}", detail=detail)


def _unreadable(error: Exception) -> Failure:
    detail = _message(error)
    return Failure(UNKNOWN, f"invalid reply ({detail})", replied=True, detail=detail)


def _refusal(response: Any, error: Exception) -> Failure:
    """Return the failure that an HTTP status stands for."""
    code = int(response.status_code)
    after = _retry_after(response.headers.get("Retry-After"))
    text = f"{code}, {_message(error)}"
    if code in (401, 403):
        text = f"{code}, access refused: check the token and the project (dwave ping, dwave config)"
    if code == 429:
        return Failure(BUSY, text, code, after)
    if code in (408, 425) or code >= 500:
        return Failure(UNKNOWN, text, code, after)
    return Failure(REJECTED, text, code, after)


def _retry_after(value: str | None) -> float | None:
    """Return the seconds of a Retry-After header, which holds seconds or a date."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and its causes, which libraries also keep in `reason` and `args`."""
    seen: set[int] = set()
    waiting: list[Any] = [error]
    while waiting:
        cause = waiting.pop(0)
        if not isinstance(cause, BaseException) or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        waiting += [cause.__cause__, cause.__context__, getattr(cause, "reason", None), *cause.args]


def _message(error: BaseException) -> str:
    """Return the message of an exception in one line, without secrets."""
    # secrets come first: a token that is cut off would not be recognised
    return one_line(scrub(str(error)).strip() or type(error).__name__)
