"""Replies that are slow, broken, too large, or hold the token: at every place of the client."""

from __future__ import annotations

import gzip
import json
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import qcompile
from qcompile import LeapError, Patience, Qubo, Submission
from qcompile.errors import QcompileError
from qcompile.leap import http
from qcompile.leap.redaction import keep_secret
from tests import sapi
from tests.leap.jobs import QUICK, check_result, only_job
from tests.sapi import TOKEN, Sapi

# As by default, except that nothing is waited for between requests.
USUAL = Patience(first=0.02, most=0.2, poll=0.02)
PLACES = ("solvers", "post", "list", "poll", "answer")


def _drip_header(handler: sapi.Handler, process: sapi.Process) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while True:  # until the client hangs up
        handler.wfile.write(b"x")
        time.sleep(0.05)


def _drip_body(handler: sapi.Handler, process: sapi.Process) -> None:
    """Drip without a length: the end of the connection would be the end of the reply."""
    kind = process()[1]
    handler.wfile.write(f"HTTP/1.1 200 OK\r\nContent-Type: {sapi._VENDOR}{kind}; ".encode())
    handler.wfile.write(b"version=3.0.0\r\n\r\n[]")
    while True:
        handler.wfile.write(b" ")
        time.sleep(0.05)


def _never(handler: sapi.Handler, process: sapi.Process) -> None:
    time.sleep(4)
    handler.cut_off()


@pytest.mark.parametrize(
    ("where", "fault"),
    [(place, _drip_header) for place in PLACES]
    + [("solvers", _drip_body), ("poll", _drip_body), ("answer", _never)]
    + [("poll", sapi.status(500)), ("answer", sapi.status(503)), ("post", sapi.status(502))],
)
def test_one_deadline_for_everything(
    server: Sapi, send: Callable[..., Submission], where: str, fault: sapi.Fault
) -> None:
    """Whatever is slow or fails, and wherever: a command ends soon after its timeout."""
    if where == "list":
        server.fail("post", sapi.reset)
    server.fail(where, fault, times=1000)
    began = time.monotonic()
    with pytest.raises(LeapError, match=r"gave up|no answer|no reply"):
        send(patience=USUAL, timeout=0.6)
    assert time.monotonic() - began < 30  # without a deadline it never ends
    assert len(server.problems) <= 1


def test_a_slow_upload_ends_at_the_deadline(server: Sapi, qubo: Qubo) -> None:
    server.fail("upload", _drip_header, times=100)
    began = time.monotonic()
    with pytest.raises(LeapError, match="uploading the problem"):
        qcompile.submit(qubo, solver_type="hybrid", patience=USUAL, timeout=0.6)
    assert time.monotonic() - began < 30  # without a deadline it never ends


@pytest.mark.parametrize("head", [b"ZZ\r\n", b"-5\r\n", b"\r\n", b"5\r\nab", b"\xff\xff\r\n"])
def test_broken_chunks_are_got_over(
    server: Sapi, send: Callable[..., Submission], best: float, head: bytes
) -> None:
    def broken(handler: sapi.Handler, process: sapi.Process) -> None:
        kind = process()[1]
        handler.wfile.write(f"HTTP/1.1 200 OK\r\nContent-Type: {sapi._VENDOR}{kind}; ".encode())
        handler.wfile.write(b"version=3.0.0\r\nTransfer-Encoding: chunked\r\n\r\n" + head)
        handler.cut_off()

    for place in PLACES:
        server.fail(place, broken)
    check_result(send(), best)
    assert len(server.problems) == 1 and not any(server.faults.values())


def test_compressed_replies_are_bounded(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "LARGEST_JSON", 1 << 20)

    def bomb(handler: sapi.Handler, process: sapi.Process) -> None:
        kind = f"{sapi._VENDOR}{process()[1]}; version=3.0.0"
        content = gzip.compress(b"[" + b"0," * (1 << 22) + b"0]")
        assert len(content) < 1 << 14
        handler.answer(200, kind, content, {"Content-Encoding": "gzip"})

    server.fail("answer", bomb)
    with pytest.raises(LeapError, match=r"fetching the answer: the reply exceeds 1.*MB"):
        send()
    assert server.count("answer") == 1  # the same again would be as large


def test_a_problem_is_not_sent_again_for_a_reply_that_is_too_large(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "LARGEST_JSON", 1 << 20)
    large = sapi.changed(lambda _: b"[" + b" " * (1 << 21) + b"]")
    server.fail("post", large)
    server.list_lag = 100.0
    with pytest.raises(LeapError, match=r"exceeds 1.*not listed"):
        send()
    assert server.count("post") == 1


def test_deep_replies(server: Sapi, send: Callable[..., Submission], best: float) -> None:
    def deep(content: Any) -> bytes:
        return b"[" * 900 + b"]" * 900

    for place in PLACES:
        server.fail(place, sapi.changed(deep))
    check_result(send(), best)


@pytest.mark.parametrize(
    "change",
    [
        {"avg_load": "<b>much</b>"},
        {"properties": {"problem_run_duration_range": "soon"}},
        {"properties": {"num_reads_range": [1, "many"]}},
        {"properties": {"annealing_time_range": ["a", "b"]}},
        {"properties": {"topology": "pegasus"}},
        {"properties": {"topology": {"type": "pegasus", "shape": "x"}}},
        {"properties": {"qubits": "0123"}},
        {"properties": {"couplers": [[0]]}},
        {"properties": {"h_range": ["a", "b"]}},
        {"properties": {"parameters": 5}},
        {"properties": {"supported_problem_types": 5}},
        {"identity": {"name": 5}},
        {"identity": {"name": None}},
        {"identity": {"name": "Mock_Advantage", "version": "x"}},
    ],
)
def test_solvers_that_are_described_badly(
    server: Sapi, send: Callable[..., Submission], change: dict[str, Any]
) -> None:
    """They are used, or refused in one line."""
    solver = server.solvers["Mock_Advantage"]
    for key, value in change.items():
        solver[key] = {**solver[key], **value} if key == "properties" else value
    server.solvers = {"Mock_Advantage": solver}
    try:
        found = send(dry_run=True, parameters={"annealing_time": 20})
    except (LeapError, qcompile.InputError) as error:
        assert "\n" not in str(error)
        assert "avg_load" not in change
    else:
        assert found.cost.load in (None, 0.1)


# --- the token -----------------------------------------------------------------------------

_SAID = f"it is {TOKEN}!"
_ESCAPED = "".join(f"\\u{ord(c):04x}" for c in TOKEN)


def _everything_says(value: Any) -> Any:
    """Return plain values with the token added to texts that nothing depends on."""
    return [{**row, "extra": {TOKEN: [_SAID]}, "description": _SAID} for row in value]


def test_what_a_server_repeats_is_scrubbed(
    server: Sapi, send: Callable[..., Submission], best: float, tmp_path: Path
) -> None:
    def say(content: Any) -> Any:
        if isinstance(content, list):
            return _everything_says(content)
        content["answer"][TOKEN] = _SAID
        content["answer"]["more"] = "@"
        # the same once more, in a form that only a parser sees
        text = json.dumps(content)
        return text.replace('"@"', f'"{_ESCAPED}"').encode()

    for place in PLACES:
        server.fail(place, sapi.changed(say), times=2)
    found = send()
    check_result(found, best)
    assert found.job is not None
    answer = (found.job.folder / "answer-1.json").read_text()
    assert "it is ***!" in answer and '"***"' in answer
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert TOKEN.encode() not in files


def test_a_reason_is_scrubbed_before_it_is_kept(
    server: Sapi, send: Callable[..., Submission]
) -> None:
    def fail(content: Any) -> Any:
        reason = "\x1b[2J@" + "x" * 10**6
        text = json.dumps({**content, "status": "FAILED", "error_message": reason})
        return text.replace("@", _ESCAPED).encode()

    server.outcome = "FAILED"
    server.fail("answer", sapi.changed(fail), times=9)
    with pytest.raises(LeapError) as caught:
        send()
    kept = (only_job().folder / "part-1.json").read_bytes().decode()
    assert TOKEN not in kept + str(caught.value)
    assert "***" in kept and "\x1b" not in kept and "\\u001b" not in kept
    assert len(kept) < 3000


@pytest.mark.parametrize("place", [*PLACES, "upload"])
@pytest.mark.parametrize(
    "fault",
    [
        sapi.status(400, TOKEN),
        sapi.status(200, TOKEN),
        sapi.changed(lambda _: f'"{_ESCAPED}"'.encode()),
        sapi.changed(lambda _: b"\xff" + TOKEN.encode()),
    ],
)
def test_exceptions_carry_no_request(
    server: Sapi, send: Callable[..., Submission], qubo: Qubo, place: str, fault: sapi.Fault
) -> None:
    server.fail(place, fault, times=1000)
    if place == "list":
        server.fail("post", sapi.reset)
    if place == "post":
        server.fail("list", fault, times=1000)
    patience = Patience(first=0.02, most=0.05, give_up=0.1, request=0.5, poll=0.02, grace=0.1)
    with pytest.raises(QcompileError) as caught:
        if place == "upload":
            qcompile.submit(qubo, solver_type="hybrid", patience=patience, timeout=0.6)
        else:
            send(patience=patience, timeout=0.6)
    error: BaseException | None = caught.value
    text = "".join(traceback.format_exception(error))
    assert TOKEN not in text and _ESCAPED not in text
    while error is not None:
        assert type(error).__module__.startswith("qcompile")
        assert not hasattr(error, "request") and not hasattr(error, "response")
        error = error.__cause__ or error.__context__


def test_an_interrupt_carries_no_request(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> Any:
        try:
            raise ValueError(TOKEN)
        except ValueError:
            raise KeyboardInterrupt  # noqa: B904

    monkeypatch.setattr(http, "_content", interrupt)
    with pytest.raises(KeyboardInterrupt) as caught:
        send(patience=QUICK)
    assert TOKEN not in "".join(traceback.format_exception(caught.value))


def test_connections_through_proxies_are_watched() -> None:
    from urllib3.contrib.socks import SOCKSConnection

    adapter = http._adapter_class()(lambda: 1.0)
    for _ in range(2):  # the same manager again
        manager = adapter.proxy_manager_for("socks5h://127.0.0.1:9")
        for scheme in ("http", "https"):
            kind = manager.connection_from_host("localhost", 9, scheme).ConnectionCls
            assert issubclass(kind, SOCKSConnection)
            assert kind.__mro__.count(http._WatchedConnection) == 1
            assert kind.__mro__[1] is http._WatchedConnection


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-octet-stream"])
def test_only_binary_replies_are_left_as_they_are(kind: str | None) -> None:
    import requests

    keep_secret(TOKEN)
    response = requests.Response()
    response.status_code = 200
    if kind is not None:
        response.headers["Content-Type"] = kind
    for content in (f'["{_ESCAPED}"]'.encode(), b"it is " + TOKEN.encode()):
        assert b"***" in http._cleaned(response, content).content
    response.headers["Content-Type"] = "Application/Octet-Stream; x=y"
    assert http._cleaned(response, TOKEN.encode()).content == TOKEN.encode()
