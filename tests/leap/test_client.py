from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

import qcompile
from qcompile import InputError, LeapError, Qubo, Submission
from qcompile.leap import client
from tests import sapi
from tests.leap.jobs import QUICK, check_result
from tests.sapi import TOKEN, Sapi


def test_downloads_have_a_limit(server: Sapi, qubo: Qubo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_LARGEST_ANSWER", 400)
    with pytest.raises(LeapError, match="exceeds 400 bytes"):
        qcompile.submit(qubo, solver_type="nl", patience=QUICK)


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
    with pytest.raises(InputError, match=r"no API token.*dwave setup"):
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
