"""Let sockets reach this computer only; whatever tries more fails at once."""

from __future__ import annotations

import ipaddress
import socket
from typing import Any

_connect = socket.socket.connect
_connect_ex = socket.socket.connect_ex
_getaddrinfo = socket.getaddrinfo


class NetworkReached(BaseException):
    """Not an Exception: no handler of the code under test may swallow it."""


def guard() -> None:
    socket.socket.connect = _checked_connect  # type: ignore[method-assign, assignment]
    socket.socket.connect_ex = _checked_connect_ex  # type: ignore[method-assign, assignment]
    socket.getaddrinfo = _checked_getaddrinfo


def _check(host: Any) -> None:
    text = host.decode() if isinstance(host, bytes) else host
    if text in (None, "", "localhost"):
        return
    try:
        local = ipaddress.ip_address(text).is_loopback
    except ValueError:
        local = False
    if not local:
        raise NetworkReached(f"a connection to {text!r}: tests may reach loopback only")


def _checked_connect(self: socket.socket, address: Any) -> None:
    if self.family in (socket.AF_INET, socket.AF_INET6):
        _check(address[0])
    _connect(self, address)


def _checked_connect_ex(self: socket.socket, address: Any) -> int:
    if self.family in (socket.AF_INET, socket.AF_INET6):
        _check(address[0])
    return _connect_ex(self, address)


def _checked_getaddrinfo(host: Any, *arguments: Any, **named: Any) -> Any:
    _check(host)
    return _getaddrinfo(host, *arguments, **named)
