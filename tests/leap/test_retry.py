from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from itertools import islice

import numpy as np
import pytest

from qcompile import Patience, Submission
from qcompile.leap import retry
from qcompile.leap.redaction import keep_secret
from tests import sapi
from tests.sapi import Sapi


def test_pauses_grow() -> None:
    assert list(islice(Patience().pauses(), 7)) == [1, 2, 4, 8, 16, 30, 30]


def test_what_failures_mean() -> None:
    import requests

    # only a bad certificate is certain: other trouble may come after the request was read
    assert retry._failure(requests.exceptions.SSLError("x")).kind == retry.UNKNOWN
    bad = requests.exceptions.SSLError(ssl.SSLCertVerificationError("expired"))
    assert retry._failure(bad).kind == retry.REJECTED
    assert retry._failure(TypeError("x")).kind == retry.LOCAL
    unreadable = retry._failure(ValueError("a\x1b[2Jb\nc"))
    assert unreadable.replied and unreadable.text == "invalid reply (a?[2Jb c)"


def test_a_token_that_would_be_cut_off_is_hidden() -> None:
    keep_secret(sapi.TOKEN)
    for length in range(280, 301):
        failure = retry._failure(ValueError("x" * length + sapi.TOKEN))
        assert sapi.TOKEN[:4] not in failure.text


def test_retry_after_is_honoured(server: Sapi, send: Callable[..., Submission]) -> None:
    patient = Patience(first=0.02, poll=0.02, give_up=5.0, grace=0.3)
    for where in ("post", "poll", "answer", "solvers"):
        server.requests.clear()
        server.fail(where, sapi.status(429, Retry_After="0.7"))
        send(patience=patient, again=True)
        first, second = server.times(where)[:2]
        assert second - first >= 0.7


def test_a_date_may_stand_in_retry_after() -> None:
    from email.utils import formatdate

    from qcompile.leap.retry import _retry_after

    assert _retry_after("3.5") == 3.5
    assert 28 <= (_retry_after(formatdate(time.time() + 30, usegmt=True)) or 0) <= 30
    assert _retry_after(formatdate(time.time() - 30, usegmt=True)) == 0
    assert _retry_after("Mon, 01 Jan 99999999999999999999 00:00:00 GMT") is None
    assert _retry_after("Mon, 01 Jan 2024 00:00:00 +99999999999999") is None
    assert _retry_after("soon") is None and _retry_after(None) is None


def test_an_error_about_a_failure_carries_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    def explain(error: Exception) -> None:
        raise TypeError

    def call() -> None:
        raise ValueError(sapi.TOKEN)

    monkeypatch.setattr(retry, "_failure", explain)
    with pytest.raises(TypeError) as caught:
        retry.attempt(call)
    assert caught.value.__context__ is None


def test_polls_are_a_second_apart(server: Sapi, send: Callable[..., Submission]) -> None:
    server.pending_polls = 3
    send(patience=Patience(first=0.02), timeout=60.0)
    times = server.times("poll")
    assert len(times) == 4
    assert min(np.diff(times)) >= 0.9  # as they arrive, on a busy machine
