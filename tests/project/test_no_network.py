from __future__ import annotations

import pytest

from tests import no_network


def test_the_network_is_closed_to_tests() -> None:
    import socket

    for where in (("192.0.2.1", 443), ("2001:db8::1", 443)):
        family = socket.AF_INET6 if ":" in where[0] else socket.AF_INET
        with socket.socket(family) as probe, pytest.raises(no_network.NetworkReached):
            probe.connect(where)
    with pytest.raises(no_network.NetworkReached):
        socket.getaddrinfo("cloud.dwavesys.com", 443)
