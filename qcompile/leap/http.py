"""HTTP as the client of Leap may use it: bounded in time and size, and without secrets in replies.

The timeouts of sockets start anew with every byte, so a server that sends one byte a second is
waited for without end. Here a timer shuts the connection down when the time of a request is over,
wherever it is: handshake, request, header or body. Every reply is read as a whole, up to a limit on
its size after decompression, and secrets that the server repeats are removed before anybody sees
it.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from typing import Any

import orjson

from qcompile.files.guarded import check_depth
from qcompile.leap.redaction import redacted, scrub, scrub_bytes
from qcompile.runtime import memory

__all__ = ["LARGEST_JSON", "LARGEST_REPLY", "TooLargeError", "guard_session"]


_CONNECT = 10.0  # seconds
_CHUNK = 1 << 16
# Bytes after decompression. JSON takes up to 30 times as much memory when it is parsed. The largest
# answers of a QPU have 10 MB.
LARGEST_JSON = 1 << 26
LARGEST_REPLY = 1 << 30


class TooLargeError(Exception):
    """A reply that exceeds the limit on its size: asking again does not help."""


class _Watch:
    """Shuts down the connections of one request when its time is over."""

    def __init__(self) -> None:
        self.fired = False
        self._lines: list[socket.socket] = []
        self._lock = threading.Lock()

    def add(self, line: socket.socket) -> None:
        with self._lock:
            # its own duplicate: a connection is closed while the end of its reply is still read
            self._lines.append(line.dup())
            if self.fired:
                _shut_down(line)

    def close(self) -> None:
        with self._lock:
            for line in self._lines:
                line.close()
            self._lines.clear()

    def fire(self) -> None:
        with self._lock:
            self.fired = True
            for line in self._lines:
                _shut_down(line)


def _shut_down(line: socket.socket) -> None:
    with suppress(OSError):  # it is closed already
        line.shutdown(socket.SHUT_RDWR)


_watch: ContextVar[_Watch | None] = ContextVar("watch", default=None)


@contextmanager
def _watched(seconds: float) -> Iterator[_Watch]:
    """Watch the connections that are used inside for so many seconds."""
    watch = _Watch()
    timer = threading.Timer(seconds, watch.fire)
    timer.daemon = True
    token = _watch.set(watch)
    timer.start()
    try:
        yield watch
    finally:
        timer.cancel()
        _watch.reset(token)
        watch.close()


class _WatchedConnection:
    """A connection of urllib3 that tells the watch of the present request about its socket."""

    _line: socket.socket | None = None

    def _new_conn(self) -> socket.socket:
        made: socket.socket = super()._new_conn()  # type: ignore[misc]
        # TLS takes the socket over; a duplicate ends the same connection
        self._line = made.dup()
        self._tell()
        return made

    def request(self, *arguments: Any, **named: Any) -> None:
        self._tell()
        super().request(*arguments, **named)  # type: ignore[misc]

    def close(self) -> None:
        super().close()  # type: ignore[misc]
        if self._line is not None:
            self._line.close()
            self._line = None

    def _tell(self) -> None:
        watch = _watch.get()
        if watch is not None and self._line is not None:
            watch.add(self._line)


def _watch_pools(manager: Any) -> None:
    """Let a manager make watched connections of its own kind, such as those through SOCKS."""
    manager.pool_classes_by_scheme = {
        scheme: _watched_pool(pool) for scheme, pool in manager.pool_classes_by_scheme.items()
    }


@cache
def _watched_pool(pool: Any) -> Any:
    if issubclass(pool.ConnectionCls, _WatchedConnection):  # a manager is asked for again
        return pool
    connection = type("Watched", (_WatchedConnection, pool.ConnectionCls), {})
    return type("WatchedPool", (pool,), {"ConnectionCls": connection})


@cache
def _adapter_class() -> type[Any]:
    """Return the adapter; `requests` is imported when a connection is made."""
    import requests

    class Adapter(requests.adapters.HTTPAdapter):
        """Sends a request within the time that `allowed` returns."""

        def __init__(self, allowed: Callable[[], float]) -> None:
            self._allowed = allowed
            super().__init__(max_retries=0)

        def init_poolmanager(self, *arguments: Any, **named: Any) -> None:
            super().init_poolmanager(*arguments, **named)
            _watch_pools(self.poolmanager)

        def proxy_manager_for(self, proxy: str, **named: Any) -> Any:
            found = super().proxy_manager_for(proxy, **named)
            _watch_pools(found)
            return found

        def send(self, request: Any, **named: Any) -> Any:  # type: ignore[override]
            seconds = self._allowed()
            end = time.monotonic() + seconds
            named |= {"stream": True, "timeout": (min(_CONNECT, seconds) or 1e-3, seconds or 1e-3)}
            with _watched(seconds) as watch:
                try:
                    with super().send(request, **named) as response:
                        content = _content(response)
                except Exception:  # a socket that is cut off may raise anything
                    if not watch.fired:
                        raise
                # a reply without a length ends where it was cut off, and looks complete
                if watch.fired or time.monotonic() > end:
                    raise requests.exceptions.ReadTimeout("no reply in time")
            return _cleaned(response, content)

    return Adapter


def guard_session(session: Any, allowed: Callable[[], float]) -> None:
    """Let a session follow no redirect, and end each request after the seconds allowed."""
    adapter = _adapter_class()(allowed)
    for start in ("https://", "http://"):
        session.mount(start, adapter)
    session.max_redirects = 0  # a redirect would send the token to another host
    if hasattr(session, "set_on_deprecation"):
        session.set_on_deprecation(warn=False)  # it is logged; a warning would be printed as it is


def _is_data(response: Any) -> bool:
    """Whether a reply is binary, which nobody prints; anything else may be parsed or shown."""
    kind = str(response.headers.get("Content-Type", "")).partition(";")[0].strip().lower()
    return bool(response.ok) and kind == "application/octet-stream"


def _content(response: Any) -> bytes:
    """Read a whole reply, or raise TooLargeError."""
    most = LARGEST_REPLY if _is_data(response) else LARGEST_JSON
    if "," in response.headers.get("Content-Encoding", ""):
        raise ValueError("it is compressed more than once")
    content = bytearray()
    for chunk in response.iter_content(_CHUNK):
        content += chunk
        if len(content) > most:
            raise TooLargeError(f"the reply exceeds {memory.human(most)} ({most} bytes)")
    return bytes(content)


def _cleaned(response: Any, content: bytes) -> Any:
    """Return the response with its content read, and without secrets."""
    if not _is_data(response):
        content = _cleaned_json(content)
    response._content, response._content_consumed = content, True
    response.reason = scrub(str(response.reason or ""))
    for name, value in list(response.headers.items()):
        response.headers[name] = scrub(value)
    return response


def _cleaned_json(content: bytes) -> bytes:
    """Return JSON without secrets, however they are escaped; text that is no JSON likewise."""
    try:
        value = orjson.loads(content)
    except ValueError:
        return scrub_bytes(content)
    if isinstance(value, dict | list):
        check_depth(value)
    if b"\\" not in content and scrub_bytes(content) == content:  # nothing escaped, no secret
        return content
    clean = redacted(value)
    return content if clean is value else orjson.dumps(clean)
