from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import dimod
import numpy as np
import pytest
from dwave.cloud.coders import decode_qp_numpy

import qcompile
from qcompile import Embedding, LeapError, Qubo, Submission, make_program
from qcompile.errors import FormatError
from qcompile.leap import answers
from qcompile.stages.embedded import to_embedded
from tests import sapi
from tests.leap.faults import _damaged, _flip, _lost_row, _no_id
from tests.leap.jobs import QUICK, READS, check_result, only_job
from tests.sapi import Sapi


def test_invalid_problem_ids_are_not_used(server: Sapi, send: Callable[..., Submission]) -> None:
    server.fail("post", sapi.reset_after)
    server.fail("list", sapi.changed(_no_id))
    with pytest.raises(LeapError, match="invalid problem id"):
        send()


def test_the_answer_of_another_problem(server: Sapi, send: Callable[..., Submission]) -> None:
    server.fail("answer", sapi.changed(lambda content: {**content, "id": "0-bbbb"}))
    with pytest.raises(LeapError, match="sent that of 0-bbbb"):
        send()


def test_qubits_of_an_answer_in_another_order(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    def turned(answer: dict[str, Any]) -> None:
        qubits = np.frombuffer(base64.b64decode(answer["active_variables"]), dtype="<i4")
        rows = len(base64.b64decode(answer["energies"])) // 8
        packed = np.frombuffer(base64.b64decode(answer["solutions"]), np.uint8).reshape(rows, -1)
        bits = np.unpackbits(packed, axis=1)[:, : len(qubits)][:, ::-1]
        answer["active_variables"] = base64.b64encode(qubits[::-1].tobytes()).decode()
        answer["solutions"] = base64.b64encode(np.packbits(bits, axis=1).tobytes()).decode()

    server.fail("answer", _damaged(turned))
    check_result(send(), best)
    assert server.count("answer") == 1


def test_raw_answers_and_the_best_rows_only(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    def raw(answer: dict[str, Any]) -> None:
        """As many rows as reads, and no numbers of occurrences."""
        counts = np.frombuffer(base64.b64decode(answer.pop("num_occurrences")), dtype="<i4")
        energies = np.frombuffer(base64.b64decode(answer["energies"]))
        packed = base64.b64decode(answer["solutions"])
        rows = np.frombuffer(packed, np.uint8).reshape(len(counts), -1)
        answer["energies"] = base64.b64encode(np.repeat(energies, counts).tobytes()).decode()
        repeated = np.repeat(rows, counts, axis=0).tobytes()
        answer["solutions"] = base64.b64encode(repeated).decode()

    server.fail("answer", _damaged(raw))
    found = send(parameters={"answer_mode": "raw"})
    check_result(found, best)
    assert server.count("answer") == 1
    server.solvers["Mock_Advantage"]["properties"]["parameters"]["max_answers"] = ""
    server.fail("answer", _damaged(_lost_row_and_solution))
    found = send(parameters={"max_answers": 3})
    assert found.samples is not None and found.samples.occurrences.sum() < READS


def _lost_row_and_solution(answer: dict[str, Any]) -> None:
    _lost_row(answer)
    rows = len(base64.b64decode(answer["energies"])) // 8
    packed = base64.b64decode(answer["solutions"])
    answer["solutions"] = base64.b64encode(packed[: rows * (len(packed) // (rows + 1))]).decode()


def test_answers_that_stay_damaged_are_kept_and_refused(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    server.fail("answer", _damaged(_flip), times=3)
    with pytest.raises(LeapError, match=r"invalid answer: .*its spins have.*on the server as"):
        send()
    job = only_job()
    assert (job.folder / "answer-1.json.damaged").exists()
    assert not (job.folder / "answer-1.json").exists()
    check_result(qcompile.resume(job, patience=QUICK), best)
    assert len(server.problems) == 1


def test_answers_are_read_as_ocean_reads_them(
    server: Sapi, send: Callable[..., Submission], qubo: Qubo, chains: Embedding
) -> None:
    found = send()
    assert found.job is not None and found.job.chain_strength is not None
    (number,) = server.problems
    answer = server.answered(number)["answer"]
    ocean = decode_qp_numpy({"answer": dict(answer), "type": "ising"})
    embedded = to_embedded(qubo, chains, found.job.chain_strength)
    ours = answers._spins(
        base64.b64decode(answer["solutions"]), len(ocean["energies"]), len(embedded.qubits)
    )
    assert np.array_equal(ours, ocean["solutions"][:, embedded.qubits])
    (read,) = answers.read_qpu_answer(answer, make_program([embedded]), READS)
    assert read.occurrences.sum() == READS


def test_hybrid_answers_of_another_problem_are_refused(server: Sapi, qubo: Qubo) -> None:
    bqm = qubo.to_bqm()
    found = dimod.SampleSet.from_samples_bqm([dict.fromkeys(bqm.variables, 0)], bqm)
    good = answers.read_bqm_answer({"format": "bq", "data": found.to_serializable()}, qubo)
    assert good.energies[0] == pytest.approx(qubo.offset)
    found.record.energy[:] -= qubo.offset  # without the offset: the same problem still
    again = answers.read_bqm_answer({"format": "bq", "data": found.to_serializable()}, qubo)
    assert again.energies[0] == pytest.approx(qubo.offset)
    found.record.energy[:] += 0.01
    with pytest.raises(FormatError, match="another problem"):
        answers.read_bqm_answer({"format": "bq", "data": found.to_serializable()}, qubo)
