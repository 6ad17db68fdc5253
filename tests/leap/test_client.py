from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from typing import Any

import dwave.cloud.config as client_config
import pytest

import qcompile
from qcompile import InputError, LeapError, Qubo, Submission
from qcompile.leap import client, http
from tests import sapi
from tests.leap.jobs import QUICK, check_result
from tests.sapi import TOKEN, Sapi


def test_downloads_have_a_limit(server: Sapi, qubo: Qubo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "LARGEST_REPLY", 400)
    with pytest.raises(LeapError, match=r"exceeds .*400 bytes"):
        qcompile.submit(qubo, solver_type="nl", patience=QUICK)
    assert server.count("download") == 1  # the same again would be as large


def test_many_problems_are_polled_in_pieces(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_MOST_POLLED", 2)
    server.solvers["Mock_Advantage"]["properties"]["num_reads_range"] = [1, 12]
    found = send(reads=60)
    assert found.samples is not None and found.samples.occurrences.sum() == 60
    assert server.count("poll") == 3


def test_nobody_listens(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DWAVE_API_ENDPOINT", "http://127.0.0.1:9/sapi/v2/")
    with pytest.raises(LeapError, match="no connection"):
        send()


@pytest.mark.parametrize("where", ["solvers", "post", "list", "poll", "answer", "upload"])
def test_redirects_are_not_followed(
    server: Sapi, send: Callable[..., Submission], qubo: Qubo, where: str
) -> None:
    """A redirect would carry the token to whatever host it names."""
    with Sapi() as elsewhere:
        server.fail(where, sapi.redirect(f"{elsewhere.url}/sapi/v2/problems/"), times=50)
        if where == "list":
            server.fail("post", sapi.reset)
        with pytest.raises(LeapError, match=r"redirect|upload"):
            if where == "upload":
                qcompile.submit(qubo, solver_type="hybrid", patience=QUICK)
            else:
                send()
        assert not elsewhere.requests


def test_answers_lie_where_the_problem_was_sent(server: Sapi, qubo: Qubo) -> None:
    with Sapi() as elsewhere:

        def lure(content: dict[str, Any]) -> dict[str, Any]:
            content["answer"]["url"] = f"{elsewhere.url}/sapi/v2/problems/x/answer/data/"
            return content

        server.fail("answer", sapi.changed(lure))
        with pytest.raises(LeapError, match="another server"):
            qcompile.submit(qubo, solver_type="nl", patience=QUICK)
        assert not elsewhere.requests


def test_without_a_token(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DWAVE_API_TOKEN")
    with pytest.raises(InputError, match=r"no API token.*dwave setup.*rehearse\(problem\)"):
        send()


def test_a_connection_is_not_pickled(server: Sapi) -> None:
    with client.connect(patience=QUICK) as connection:
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(connection)
        assert TOKEN not in repr(connection) + repr(vars(connection))


def test_the_token_is_not_sent_in_the_clear(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DWAVE_API_ENDPOINT", "http://example.com/sapi/v2/")
    with pytest.raises(InputError, match="not https"):
        send()


def test_regions(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch, best: float
) -> None:
    monkeypatch.delenv("DWAVE_API_ENDPOINT")
    monkeypatch.delenv("DWAVE_LEAP_API_ENDPOINT")
    check_result(send(region="test-1"), best)
    assert server.tokens == {TOKEN, None}  # the look-up needs none
    with pytest.raises(InputError, match="nowhere"):
        send(region="nowhere")
    # Ocean would fall back to the public cloud of North America without a word
    server.fail("regions", sapi.status(500), times=20)
    with pytest.raises(InputError, match="no other one is used"):
        send(region="test-1")


def test_solvers_by_name(server: Sapi, send: Callable[..., Submission]) -> None:
    with pytest.raises(InputError, match=r"no solver online.*there are: Mock_Advantage"):
        send(solver="Advantage_system99")
    with pytest.raises(InputError, match="takes problems of type bqm, not ising"):
        send(solver="hybrid_bqm")
    with pytest.raises(InputError, match="takes problems of type ising, qubo, not bqm"):
        send(solver="Mock_Advantage", solver_type="hybrid")
    with pytest.raises(InputError, match="solver type 'gate'"):
        send(solver_type="gate")


def test_a_qpu_named_in_the_environment_does_not_hinder_hybrid_solvers(
    server: Sapi, qubo: Qubo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DWAVE_API_SOLVER", "Mock_Advantage")
    found = qcompile.submit(qubo, solver_type="hybrid", patience=QUICK)
    assert found.cost["solver"] == "hybrid_bqm"


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n", " \t", "\N{NO-BREAK SPACE}"])
def test_blanks_around_the_token_are_dropped(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    """They come from files with other line ends; a header cannot hold them."""
    monkeypatch.setenv("DWAVE_API_TOKEN", f"{TOKEN}{end}")
    send(dry_run=True)
    assert server.tokens == {TOKEN}


@pytest.mark.parametrize("middle", ["\r", "\n", " ", "'", '"', "\\", "\x1b", "é", "\ud800"])
def test_a_token_that_no_header_can_hold(
    server: Sapi,
    send: Callable[..., Submission],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    middle: str,
) -> None:
    token = f"DEV-secretsecret{middle}secretsecret"
    monkeypatch.setattr(client_config, "load_config", lambda **_: {"token": token})
    with pytest.raises(InputError, match=r"the API token has .* copy it again") as caught:
        send(dry_run=True)
    shown = "".join(traceback.format_exception(caught.value)) + caplog.text
    assert "secretsecret" not in shown and not server.requests


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://OTHER\\@127.0.0.1/sapi/v2/",
        "https://OTHER\\@example.com/",
        "http://127.0.0.1@OTHER/",
        "http://me:pa55word@127.0.0.1/",
        "http://127.0.0.1:99999/",
        "http://127.0.0.1:0/",
        "http://127.0.0.1:x/",
        "http://127.0.0.1 /",
        "http://127.0.0.1\t.other/",
        "http://[::1/",
        "http:///OTHER/",
        "https://OTHER#@example.com/",
        "https://OTHER?@example.com/",
        "https://exam\x1b[2Jple.com/",
        "ftp://127.0.0.1/",
        "127.0.0.1",
    ],
)
def test_addresses_that_are_read_in_two_ways(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch, endpoint: str
) -> None:
    monkeypatch.setenv("DWAVE_API_ENDPOINT", endpoint)
    with pytest.raises(InputError, match=r"endpoint .*(expected https|not https)") as caught:
        send(dry_run=True)
    assert "pa55word" not in str(caught.value) and str(caught.value).isprintable()


def test_addresses_that_are_plain() -> None:
    for address in (
        "https://eu-central-1.cloud.dwavesys.com/sapi/v2/",
        "http://127.0.0.1:5000/sapi/v2/",
        "http://[::1]:80/",
        "https://localhost",
    ):
        assert client._is_plain(address)


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "DWAVE_API_PROXY"])
def test_a_proxy_does_not_read_the_token(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    with Sapi() as elsewhere:
        monkeypatch.setenv(name, elsewhere.url)
        with pytest.raises(InputError, match=r"proxy .* NO_PROXY=127\.0\.0\.1"):
            send(dry_run=True)
        assert not elsewhere.requests and not server.requests


def test_answers_lie_at_a_plain_address(server: Sapi) -> None:
    with client.connect("nl", patience=QUICK) as connection:
        place = server.url.replace("127.0.0.1", "OTHER\\@127.0.0.1")
        urls = (f"{place}/x", f"{server.url}.other/x", f"{server.url}@other/x", "//other/x")
        for url in (*urls, "http://[x/y", "http://127.0.0.1:x/y"):
            answer = {"format": "binary-ref", "auth_method": "sapi-token", "url": url}
            with pytest.raises(LeapError, match="another server"):
                connection.download({**answer, "timing": {}, "shape": {}})
        with pytest.raises(LeapError, match="does not say where"):
            connection.download({"format": "binary-ref", "url": TOKEN})


def test_default_ports_are_the_same_place() -> None:
    assert client._place("https://a.b/x") == client._place("https://A.b:443/y")
    assert client._place("http://[::1]/") == client._place("http://[::1]:80/")
    assert client._place("https://a.b/") != client._place("https://a.b:80/")
