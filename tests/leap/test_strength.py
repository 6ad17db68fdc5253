"""A sweep of chain strengths on the machine: one job, one bill, one choice on disk."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

import qcompile
from qcompile import Embedding, LeapError, Qubo, Submission, make_program, unembed_program
from qcompile.embedding.chain_strength import SWEEP_FACTORS, strength_of
from qcompile.stages.embedded import to_embedded
from tests import sapi
from tests.leap.jobs import READS, check_result, only_job
from tests.sapi import Sapi


def test_the_best_of_several_strengths_gets_the_other_reads(
    server: Sapi, send: Callable[..., Submission], best: float, qubo: Qubo, chains: Embedding
) -> None:
    """The choice against the answers that the server kept, read by another route."""
    dry = send(chain_strength="sweep", dry_run=True).cost
    assert dry.problems == 8 and sum(dry.reads) == READS
    found = send(chain_strength="sweep")
    check_result(found, best)
    assert found.job is not None and found.samples is not None
    reads = [p["params"]["num_reads"] for p in server.problems.values()]
    assert reads == [4] * 7 + [READS - 28]
    assert found.samples.occurrences.sum() == READS, "the trials were paid for, and are kept"
    strengths = [f * strength_of(qubo) for f in SWEEP_FACTORS]
    means = []
    for strength, problem in zip(strengths, server.problems.values(), strict=False):
        embedded = to_embedded(qubo, chains, strength)
        bqm, active = sapi._read_qp(problem["data"], server.solvers["Mock_Advantage"]["properties"])
        inside = embedded.couplings[embedded.in_chain]
        assert inside.min() == pytest.approx(-strength)
        assert min(bqm.quadratic.values()) <= -strength + 1e-9
        answer = problem["answer"]
        from dwave.cloud.coders import decode_qp_numpy

        spins = decode_qp_numpy({"answer": dict(answer), "type": "ising"})
        rows = np.asarray(spins["solutions"])[:, active]
        (samples,) = unembed_program(make_program([embedded]), rows)
        means.append(np.average(samples.energies, weights=spins["num_occurrences"]))
    choice = json.loads((found.job.folder / "choice.json").read_text())
    assert choice["chain_strength"] == pytest.approx(strengths[int(np.argmin(means))])
    assert [t["mean_energy"] for t in choice["trials"]] == pytest.approx(means)
    assert found.samples.info["chain_strength"] == choice["chain_strength"]
    last = list(server.problems.values())[-1]
    bqm, _ = sapi._read_qp(last["data"], server.solvers["Mock_Advantage"]["properties"])
    ours = to_embedded(qubo, chains, choice["chain_strength"]).to_bqm()
    for pair, value in ours.quadratic.items():
        assert bqm.quadratic[pair] == pytest.approx(value)


def test_a_sweep_without_waiting_goes_on_with_resume(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    send(chain_strength="sweep", wait=False)
    assert len(server.problems) == 7
    found = qcompile.resume(only_job().id)
    check_result(found, best)
    assert len(server.problems) == 8


def test_a_sweep_whose_second_phase_fails_to_be_sent(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    """The choice is on disk before the second phase, and `resume` takes it without asking again."""
    server.fail("list", *[sapi.status(500)] * 400)
    with pytest.raises(LeapError):
        send(chain_strength="sweep")
    job = only_job()
    choice = (job.folder / "choice.json").read_bytes()
    assert len(server.problems) == 7
    server.faults["list"].clear()
    polls = server.count("answer")
    found = qcompile.resume(job.id)
    check_result(found, best)
    assert (job.folder / "choice.json").read_bytes() == choice
    assert len(server.problems) == 8 and server.count("answer") == polls + 1


def test_no_trial_is_answered(server: Sapi, send: Callable[..., Submission]) -> None:
    server.outcome = "FAILED"
    with pytest.raises(LeapError, match="no part was answered"):
        send(chain_strength="sweep")
    assert len(server.problems) == 7, "the rest is not sent, and not paid for"
    assert only_job().stage == "failed"
