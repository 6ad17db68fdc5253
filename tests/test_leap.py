"""Submissions to a solver API on loopback, through the real client, with every fault."""

from __future__ import annotations

import base64
import io
import json
import logging
import os
import pickle
import shlex
import shutil
import ssl
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import dimod
import numpy as np
import pytest
from dwave.cloud.coders import decode_qp_numpy
from dwave.optimization import Model

import qcompile
from qcompile import Embedding, InputError, LeapError, Patience, Pubo, Qubo, Submission
from qcompile.cli.app import main
from qcompile.errors import FormatError
from qcompile.files.machines import machine_from_sampler
from qcompile.leap import answers, client, redaction, retry
from qcompile.leap.job import Job
from qcompile.leap.job_store import list_jobs, load_job
from qcompile.leap.nonlinear import check_nonlinear, to_nonlinear
from qcompile.stages.embedded import to_embedded
from tests import no_network, sapi
from tests.sapi import TOKEN, Sapi

QUICK = Patience(
    first=0.02, most=0.1, give_up=1.0, request=0.6, poll=0.02, hold=1, grace=0.3, answers=3
)
READS = 60


@pytest.fixture(scope="module")
def qubo() -> Qubo:
    found = qcompile.compile("breast-cancer", bits=2, scale="standard", features=3).qubo
    assert found is not None
    return found


@pytest.fixture(scope="module")
def best(qubo: Qubo) -> float:
    """The lowest energy by brute force."""
    bits = np.array(list(np.ndindex(*(2,) * qubo.logical)), dtype=np.int8)
    return float(qubo.score(bits).min())


@pytest.fixture(scope="module")
def chains(qubo: Qubo) -> Embedding:
    with Sapi() as server:
        return qcompile.embed(qubo, _machine(server)).embedding


def _machine(server: Sapi, name: str = "Mock_Advantage") -> qcompile.Machine:
    from types import SimpleNamespace

    properties = server.solvers[name]["properties"]
    return machine_from_sampler(
        SimpleNamespace(
            properties=properties,
            nodelist=properties["qubits"],
            edgelist=[tuple(pair) for pair in properties["couplers"]],
        )
    )


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sapi]:
    with Sapi() as running:
        for name, value in running.environment(str(tmp_path)).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("QCOMPILE_JOBS", str(tmp_path / "jobs"))
        yield running


@pytest.fixture
def send(qubo: Qubo, chains: Embedding) -> Callable[..., Submission]:
    def submit(**options: Any) -> Submission:
        given = {"reads": READS, "embedding": chains, "patience": QUICK, "timeout": 3.0, **options}
        return qcompile.submit(qubo, **given)

    return submit


def _only_job() -> Job:
    (job,) = list_jobs()
    return job


def _check_result(found: Submission, best: float) -> None:
    assert found.samples is not None and found.classifier is not None and found.job is not None
    assert found.samples.energies[0] == pytest.approx(best)
    assert found.job.stage == "done"
    model = qcompile.load_classifier(found.job.folder / "model.json")
    assert np.array_equal(model.weights, found.classifier.weights)


# --- the straight way ----------------------------------------------------------------------


def test_a_job_from_problem_to_classifier(
    server: Sapi, send: Callable[..., Submission], qubo: Qubo, best: float
) -> None:
    found = send(label="first")
    _check_result(found, best)
    assert found.samples is not None and found.job is not None
    assert found.samples.occurrences.sum() == READS
    np.testing.assert_allclose(found.samples.energies, qubo.score(found.samples.bits))
    (problem,) = server.problems.values()
    assert problem["label"] == f"first {found.job.id}.1"
    assert problem["params"] == {"num_reads": READS}
    assert found.samples.info["problem_ids"] == [problem["id"]]
    assert found.samples.info["timing"]["qpu_access_time"] == 100 * READS + 15000
    kept = qcompile.load_samples(found.job.folder / "samples.json", qubo)
    assert np.array_equal(kept.bits, found.samples.bits)


def test_what_is_sent_is_the_problem(
    server: Sapi, send: Callable[..., Submission], qubo: Qubo, chains: Embedding
) -> None:
    """Decode the request with the server's own reader, and compare with Ocean's embedding."""
    from dwave.embedding import embed_bqm

    found = send()
    assert found.job is not None and found.job.chain_strength is not None
    (problem,) = server.problems.values()
    properties = server.solvers["Mock_Advantage"]["properties"]
    sent, _ = sapi._read_qp(problem["data"], properties)
    graph = {v: set() for v in properties["qubits"]}  # type: dict[int, set[int]]
    for a, b in properties["couplers"]:
        graph[a].add(b)
        graph[b].add(a)
    ising = qubo.to_bqm().change_vartype("SPIN", inplace=False)
    strength = found.job.chain_strength
    ocean = embed_bqm(ising, chains.to_ocean(), graph, chain_strength=strength)
    for v, bias in sent.linear.items():
        assert bias == pytest.approx(ocean.linear[v], abs=1e-12)
    couplings = {frozenset(pair): bias for pair, bias in sent.quadratic.items() if bias}
    expected = {frozenset(pair): bias for pair, bias in ocean.quadratic.items() if bias}
    assert couplings.keys() == expected.keys()
    for pair, bias in couplings.items():
        assert bias == pytest.approx(expected[pair], abs=1e-12)


@pytest.mark.parametrize(
    ("topology", "shape"), [("chimera", (4, 4, 4)), ("pegasus", (3,)), ("zephyr", (2, 4))]
)
def test_every_topology(
    server: Sapi, qubo: Qubo, best: float, topology: str, shape: tuple[int, ...]
) -> None:
    server.add_qpu("Other", topology, shape, dead=(1, 4, 9))
    found = qcompile.submit(qubo, solver="Other", reads=READS, patience=QUICK)
    _check_result(found, best)
    assert found.job is not None
    machine = found.job.embedding(found.job.parts[0]).machine
    assert (machine.topology, machine.name) == (topology, "Other")
    assert len(machine.dead_qubits) == 3


def test_hybrid_solver(server: Sapi, qubo: Qubo, best: float) -> None:
    found = qcompile.submit(qubo, solver_type="hybrid", patience=QUICK)
    _check_result(found, best)
    (problem,) = server.problems.values()
    # the solver's rule: 3 s for one variable, 4 s for a thousand, a straight line between
    assert problem["params"]["time_limit"] == pytest.approx(3 + (qubo.variables - 1) / 999)
    uploaded = dimod.BQM.from_file(io.BytesIO(bytes(server.uploads[problem["data"]["data"]])))
    assert uploaded.is_almost_equal(qubo.to_bqm(), places=12)


def test_nonlinear_solver_on_the_weights(server: Sapi, qubo: Qubo) -> None:
    found = qcompile.submit(qubo, solver_type="nl", patience=QUICK)
    assert found.samples is not None and found.samples.info["space"] == "weights"
    np.testing.assert_allclose(found.samples.energies, qubo.score(found.samples.bits))
    (problem,) = server.problems.values()
    model = Model.from_file(io.BytesIO(bytes(server.uploads[problem["data"]["data"]])))
    (decision,) = model.iter_decisions()
    assert qubo.encoding is not None
    assert decision.shape() == (qubo.encoding.features,)  # weights, no bits, no ancillas


def test_a_polynomial_may_be_submitted(server: Sapi) -> None:
    pubo = Pubo.from_dict({(0, 1, 2): 2.0, (0,): -1.0, (1,): -1.5, (2,): -0.5})
    for kind in ("qpu", "hybrid", "nl"):
        found = qcompile.submit(pubo, solver_type=kind, reads=READS, patience=QUICK)
        assert found.samples is not None and found.classifier is None
        assert found.samples.energies[0] == pytest.approx(-2.5)
        assert found.job is not None and not (found.job.folder / "model.json").exists()


def test_reads_above_the_maximum_are_split(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    server.solvers["Mock_Advantage"]["properties"]["num_reads_range"] = [1, 25]
    found = send(reads=60)
    _check_result(found, best)
    assert found.samples is not None
    assert [p["params"]["num_reads"] for p in server.problems.values()] == [20, 20, 20]
    assert found.samples.occurrences.sum() == 60
    assert found.samples.info["timing"]["qpu_access_time"] == 3 * (100 * 20 + 15000)
    assert len({p["label"] for p in server.problems.values()}) == 3
    assert found.cost["problems"] == 3


def _allow(server: Sapi, allowed: float) -> None:
    properties = server.solvers["Mock_Advantage"]["properties"]
    properties["problem_run_duration_range"] = [0.0, allowed]


def test_the_cost_is_the_timing_model_by_hand(
    server: Sapi, send: Callable[..., Submission], chains: Embedding
) -> None:
    _allow(server, 1e6)
    found = send(dry_run=True, parameters={"annealing_time": 50.0}, reads=100)
    readout = 10 ** (1 + np.log10(chains.qubits) / 3)
    expected = (14000 + 1000 + 100 * (50 + readout + 20)) / 1e6
    assert found.cost["seconds_billed"] == pytest.approx(expected)
    assert found.cost["seconds_allowed_per_problem"] == 1.0
    assert found.cost["qubits"] == chains.qubits


def test_reads_are_split_by_time_too(server: Sapi, send: Callable[..., Submission]) -> None:
    _allow(server, 25_000.0)
    found = send(dry_run=True, reads=600)
    assert found.cost["problems"] > 1
    each = -(-600 // found.cost["problems"])
    one = send(dry_run=True, reads=each).cost
    assert one["problems"] == 1 and one["seconds_billed"] <= 0.025
    _allow(server, 15_010.0)
    with pytest.raises(InputError, match="one read takes"):
        send(dry_run=True)


def test_cost_at_the_very_limit(
    server: Sapi, send: Callable[..., Submission], chains: Embedding
) -> None:
    _allow(server, 25_000.0)
    read = 40 + 10 ** (1 + np.log10(chains.qubits) / 3)
    most = int(10_000 // read)
    assert send(dry_run=True, reads=most).cost["problems"] == 1
    two = send(dry_run=True, reads=most + 1).cost
    assert two["problems"] == 2
    assert two["seconds_billed"] == pytest.approx((2 * 15_000 + (most + 1) * read) / 1e6)


def test_limits_without_a_timing_model(server: Sapi, send: Callable[..., Submission]) -> None:
    properties = server.solvers["Mock_Advantage"]["properties"]
    del properties["problem_timing_data"]
    properties["problem_run_duration_range"] = [0.0, 10_000.0]
    properties["default_programming_thermalization"] = 0.0
    cost = send(dry_run=True, reads=20, parameters={"annealing_time": 1000.0}).cost
    assert cost["problems"] == 2 and cost["seconds_billed"] is None
    server.solvers["hybrid_bqm"]["properties"]["maximum_number_of_variables"] = 3
    with pytest.raises(InputError, match="takes up to 3"):
        send(solver_type="hybrid")


def test_a_dry_run_sends_and_writes_nothing(
    server: Sapi, send: Callable[..., Submission], tmp_path: Path
) -> None:
    found = send(dry_run=True)
    assert found.job is None and found.cost["reads"] == READS
    assert not server.problems and not (tmp_path / "jobs").exists()
    refused = send(confirm=lambda cost: False)
    assert refused.job is None and not server.problems and not (tmp_path / "jobs").exists()


def test_the_folder_is_on_disk_before_the_request(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, set[str], list[str]]] = []
    synced: list[str] = []
    fsync = os.fsync

    def recording(handle: int) -> None:
        synced.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        fsync(handle)

    post = client.Leap.post

    def looking(self: Any, *given: Any) -> Any:
        job = _only_job()
        seen.append((job.stage, {path.name for path in job.folder.iterdir()}, list(synced)))
        return post(self, *given)

    monkeypatch.setattr(os, "fsync", recording)
    monkeypatch.setattr(client.Leap, "post", looking)
    send()
    ((stage, names, before),) = seen
    assert stage == "sent"
    needed = {"job.json", "problem.npz", "embedding.json", "part-1.json"}
    assert needed <= names
    # each file, the folder of all jobs, and the job's own folder after the mark
    assert all(any(name in done for done in before) for name in needed)
    assert "jobs" in before and before[-1] == _only_job().id


# --- faults that a submission gets over by itself --------------------------------------------


def _damaged(change: Callable[[dict[str, Any]], None]) -> sapi.Fault:
    def apply(content: dict[str, Any]) -> dict[str, Any]:
        change(content["answer"])
        return content

    return sapi.changed(apply)


def _flip(answer: dict[str, Any]) -> None:
    content = bytearray(base64.b64decode(answer["solutions"]))
    content[0] ^= 0x80
    answer["solutions"] = base64.b64encode(bytes(content)).decode()


def _wrong_energy(answer: dict[str, Any]) -> None:
    values = np.frombuffer(base64.b64decode(answer["energies"])).copy()
    values[-1] += 0.01
    answer["energies"] = base64.b64encode(values.tobytes()).decode()


def _lost_row(answer: dict[str, Any]) -> None:
    for name, size in (("energies", 8), ("num_occurrences", 4)):
        content = base64.b64decode(answer[name])
        answer[name] = base64.b64encode(content[:-size]).decode()


def _other_reads(answer: dict[str, Any]) -> None:
    counts = np.frombuffer(base64.b64decode(answer["num_occurrences"]), dtype="<i4").copy()
    counts[0] += 1
    answer["num_occurrences"] = base64.b64encode(counts.tobytes()).decode()


def _no_energies(answer: dict[str, Any]) -> None:
    del answer["energies"]


def _no_base64(answer: dict[str, Any]) -> None:
    answer["solutions"] = "!" + answer["solutions"][1:]


def _other_qubits(answer: dict[str, Any]) -> None:
    qubits = np.frombuffer(base64.b64decode(answer["active_variables"]), dtype="<i4").copy()
    qubits[-1] += 1
    answer["active_variables"] = base64.b64encode(qubits.tobytes()).decode()


def _negative(answer: dict[str, Any]) -> None:
    counts = np.frombuffer(base64.b64decode(answer["num_occurrences"]), dtype="<i4").copy()
    counts[1] += counts[0] + 1
    counts[0] = -1
    answer["num_occurrences"] = base64.b64encode(counts.tobytes()).decode()


def _nearly_right_energy(answer: dict[str, Any]) -> None:
    values = np.frombuffer(base64.b64decode(answer["energies"])).copy()
    values[0] += 1e-5 * np.abs(values).max()
    answer["energies"] = base64.b64encode(values.tobytes()).decode()


def _not_a_number(answer: dict[str, Any]) -> None:
    values = np.frombuffer(base64.b64decode(answer["energies"])).copy()
    values[0] = np.nan
    answer["energies"] = base64.b64encode(values.tobytes()).decode()


def _of_another(replies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**replies[0], "label": "somebody else's", "id": "0-bbbb"}]


def _no_id(replies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**replies[0], "id": "../../x"}]


GOT_OVER: dict[str, tuple[str, list[sapi.Fault]]] = {
    "post: 500": ("post", [sapi.status(500)]),
    "post: 502 twice": ("post", [sapi.status(502), sapi.status(502)]),
    "post: 503, Retry-After": ("post", [sapi.status(503, Retry_After="0")]),
    "post: 408 after it was done": ("post", [sapi.status_after(408)]),
    "post: 500 after it was done": ("post", [sapi.status_after(500)]),
    "post: 503 after it was done": ("post", [sapi.status_after(503)]),
    "post: 504 after it was done": ("post", [sapi.status_after(504)]),
    "post: 429": ("post", [sapi.status(429)]),
    "post: 429, Retry-After": ("post", [sapi.status(429, Retry_After="0.1")]),
    "post: reset before": ("post", [sapi.reset]),
    "post: reset after": ("post", [sapi.reset_after]),
    "post: silence after": ("post", [sapi.hang(1.0)]),
    "post: silence before": ("post", [sapi.hang(1.0, first=False)]),
    "post: no JSON": ("post", [sapi.garbage]),
    "post: other type": ("post", [sapi.wrong_type]),
    "post: cut off": ("post", [sapi.half]),
    "post: empty reply": ("post", [sapi.changed(lambda _: [])]),
    "post: another's reply": ("post", [sapi.changed(_of_another)]),
    "post: an id that is none": ("post", [sapi.changed(_no_id)]),
    "poll: 500 three times": ("poll", [sapi.status(500)] * 3),
    "poll: 503, Retry-After": ("poll", [sapi.status(503, Retry_After="0")]),
    "poll: 429": ("poll", [sapi.status(429)]),
    "poll: reset": ("poll", [sapi.reset]),
    "poll: silence": ("poll", [sapi.hang(1.0)]),
    "poll: no JSON": ("poll", [sapi.garbage]),
    "poll: other type": ("poll", [sapi.wrong_type]),
    "poll: cut off": ("poll", [sapi.half]),
    "poll: empty": ("poll", [sapi.changed(lambda _: [])]),
    "answer: 500": ("answer", [sapi.status(500)]),
    "answer: 503, Retry-After": ("answer", [sapi.status(503, Retry_After="0")]),
    "answer: reset": ("answer", [sapi.reset]),
    "answer: silence": ("answer", [sapi.hang(1.0)]),
    "answer: no JSON": ("answer", [sapi.garbage]),
    "answer: cut off": ("answer", [sapi.half]),
    "answer: flipped bit": ("answer", [_damaged(_flip)]),
    "answer: wrong energy": ("answer", [_damaged(_wrong_energy)]),
    "answer: lost row": ("answer", [_damaged(_lost_row)]),
    "answer: other number of reads": ("answer", [_damaged(_other_reads)]),
    "answer: no energies": ("answer", [_damaged(_no_energies)]),
    "answer: no base64": ("answer", [_damaged(_no_base64)]),
    "answer: other qubits": ("answer", [_damaged(_other_qubits)]),
    "answer: NaN": ("answer", [_damaged(_not_a_number)]),
    "answer: negative occurrences": ("answer", [_damaged(_negative)]),
    "answer: energy off by little": ("answer", [_damaged(_nearly_right_energy)]),
    "solvers: 500": ("solvers", [sapi.status(500)]),
    "solvers: reset": ("solvers", [sapi.reset]),
    "solvers: cut off": ("solvers", [sapi.half]),
    "solvers: no JSON": ("solvers", [sapi.garbage]),
}


@pytest.mark.parametrize("case", GOT_OVER)
def test_faults_are_got_over(
    server: Sapi, send: Callable[..., Submission], best: float, case: str
) -> None:
    where, faults = GOT_OVER[case]
    server.fail(where, *faults)
    _check_result(send(), best)
    assert len(server.problems) == 1
    assert not server.faults[where]  # the fault did happen
    if where == "answer":  # and was noticed
        assert server.count("answer") == 1 + len(faults)


def test_lists_may_fail_while_a_job_is_looked_up(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    server.fail("post", sapi.reset_after)
    server.fail("list", sapi.status(500), sapi.reset, sapi.garbage)
    _check_result(send(), best)
    assert len(server.problems) == 1


def test_a_job_that_is_listed_late_is_not_sent_again(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    server.fail("post", sapi.reset_after)
    server.fail("list", *[sapi.changed(lambda _: [])] * 2)
    _check_result(send(), best)
    assert len(server.problems) == 1 and server.count("post") == 1


def test_labels_are_compared_exactly(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    """The server matches parts of labels: a job of another label must not be adopted."""

    def longer(handler: sapi.Handler, process: sapi.Process) -> None:
        process()
        next(iter(server.problems.values()))["label"] += "0"
        handler.cut_off()

    server.fail("post", longer)
    _check_result(send(), best)
    assert server.count("post") == 2 and len(server.problems) == 2


def test_ids_that_are_none_are_not_used(server: Sapi, send: Callable[..., Submission]) -> None:
    server.fail("post", sapi.reset_after)
    server.fail("list", sapi.changed(_no_id))
    with pytest.raises(LeapError, match="an id that is none"):
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
    _check_result(send(), best)
    assert server.count("answer") == 1


def test_polls_that_never_say_anything(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    server.fail("poll", sapi.changed(lambda _: []), times=200)
    _check_result(send(timeout=0.5), best)


def test_downloads_have_a_limit(server: Sapi, qubo: Qubo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_LARGEST_ANSWER", 400)
    with pytest.raises(LeapError, match="more than 400 bytes"):
        qcompile.submit(qubo, solver_type="nl", patience=QUICK)


def test_pauses_grow() -> None:
    assert list(islice(Patience().pauses(), 7)) == [1, 2, 4, 8, 16, 30, 30]


def test_what_failures_mean() -> None:
    import requests

    # only a bad certificate is certain: other trouble may come after the request was read
    assert retry._failure(requests.exceptions.SSLError("x")).kind == retry.UNKNOWN
    bad = requests.exceptions.SSLError(ssl.SSLCertVerificationError("expired"))
    assert retry._failure(bad).kind == retry.REJECTED
    assert retry._failure(TypeError("x")).kind == retry.OURS
    assert retry._words(ValueError("a\x1b[2Jb\nc")) == "a?[2Jb c"


def test_hybrid_uploads_get_over_faults(server: Sapi, qubo: Qubo, best: float) -> None:
    server.fail("upload", sapi.reset, sapi.status(500))
    _check_result(qcompile.submit(qubo, solver_type="hybrid", patience=QUICK), best)
    assert len(server.problems) == 1


@pytest.mark.parametrize("fault", [sapi.half, sapi.status(500), sapi.reset])
def test_nonlinear_downloads_get_over_faults(server: Sapi, qubo: Qubo, fault: sapi.Fault) -> None:
    def cut(handler: sapi.Handler, process: sapi.Process) -> None:
        _, _, content = process()
        handler.answer(200, "application/octet-stream", content[: len(content) // 2])

    server.fail("download", cut if fault is sapi.half else fault)
    found = qcompile.submit(qubo, solver_type="nl", patience=QUICK)
    assert found.samples is not None and len(server.problems) == 1


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
    assert _retry_after("soon") is None and _retry_after(None) is None


def test_polls_are_a_second_apart(server: Sapi, send: Callable[..., Submission]) -> None:
    server.pending_polls = 3
    send(patience=Patience(first=0.02))
    times = server.times("poll")
    assert len(times) == 4
    assert min(np.diff(times)) >= 0.99


# --- faults that end a submission ------------------------------------------------------------


def test_no_access(server: Sapi, send: Callable[..., Submission], best: float) -> None:
    """Nothing is lost: with a good token the job goes on."""
    server.fail("post", sapi.status(401, "Invalid token"))
    with pytest.raises(LeapError, match=r"401, access refused.*not sent.*qcompile resume") as error:
        send()
    assert error.value.code == 401
    assert not server.problems
    _check_result(qcompile.resume(_only_job().id, patience=QUICK), best)
    assert len(server.problems) == 1


def test_a_slow_server_is_not_paid_twice(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    """It says nothing within the time of a request, and lists the job only after that."""

    def slow(handler: sapi.Handler, process: sapi.Process) -> None:
        time.sleep(QUICK.request + 0.15)
        process()
        handler.cut_off()

    server.fail("post", slow)
    _check_result(send(), best)
    assert len(server.problems) == 1 and server.count("post") == 1


def test_strays_are_found_and_cancelled(
    server: Sapi, send: Callable[..., Submission], best: float, caplog: pytest.LogCaptureFixture
) -> None:
    """Listed after the grace period only: sent twice, but not paid twice."""

    def late(handler: sapi.Handler, process: sapi.Process) -> None:
        hidden = server.count("post") < 2
        handler.reply((200, "sapi.problems+json", []) if hidden else process())

    server.pending_polls = 2
    server.fail("post", sapi.reset_after)
    server.fail("list", late, times=100)
    _check_result(send(patience=replace(QUICK, grace=0.1, most=0.02)), best)
    first, second = server.problems.values()
    assert (first["status"], second["status"]) == ("CANCELLED", "COMPLETED")
    assert "carry the label" in caplog.text


def test_a_refusal_does_not_undo_an_earlier_doubt(
    server: Sapi, send: Callable[..., Submission]
) -> None:
    server.pending_polls = 10**6
    server.fail("post", sapi.reset_after, sapi.status(401))
    server.fail("list", sapi.changed(lambda _: []), times=12)
    with pytest.raises(LeapError, match="may be on the server"):
        send(patience=replace(QUICK, grace=0.1, most=0.02))
    server.faults.clear()
    assert _only_job().stage == "sent"
    assert qcompile.cancel(_only_job(), patience=QUICK) == ["cancelled"]
    assert [p["status"] for p in server.problems.values()] == ["CANCELLED"]


def test_a_server_that_changes_labels(
    server: Sapi, send: Callable[..., Submission], best: float, caplog: pytest.LogCaptureFixture
) -> None:
    def shorter(handler: sapi.Handler, process: sapi.Process) -> None:
        code, kind, content = process()
        number = content[0]["id"]
        server.problems[number]["label"] = "something shorter"
        handler.reply((code, kind, [server.status(number)]))

    server.fail("post", shorter)
    _check_result(send(), best)
    assert len(server.problems) == 1 and "another label" in caplog.text


def test_a_reply_that_cannot_be_read_is_not_followed_by_another_request(
    server: Sapi, send: Callable[..., Submission]
) -> None:
    server.fail("post", lambda handler, _: handler.answer(200, "text/html", b"<html>hello"))
    with pytest.raises(LeapError, match=r"not listed.*may be on the server"):
        send()
    assert server.count("post") == 1


def test_answers_that_were_paid_for_come_first(
    server: Sapi, send: Callable[..., Submission]
) -> None:
    """The second of three parts is refused: the first is fetched, and the rest can be given up."""
    server.solvers["Mock_Advantage"]["properties"]["num_reads_range"] = [1, 20]
    server.fail("post", lambda handler, process: handler.reply(process()))
    server.fail("post", sapi.status(400, "quota exceeded"))
    with pytest.raises(LeapError, match=r"quota exceeded; 1 of 3 parts are answered.*cancel"):
        send(reads=60)
    assert qcompile.cancel(_only_job()) == ["answered", "cancelled", "cancelled"]
    found = qcompile.resume(_only_job())
    assert found.samples is not None and found.samples.occurrences.sum() == 20


@pytest.mark.parametrize("kind", ["hybrid", "nl"])
def test_uploads_that_are_gone_are_repeated(server: Sapi, qubo: Qubo, kind: str) -> None:
    server.fail("post", sapi.status(401))
    with pytest.raises(LeapError):
        qcompile.submit(qubo, solver_type=kind, patience=QUICK)
    server.fail("post", sapi.status(404, "problem data does not exist"))
    found = qcompile.resume(_only_job(), patience=QUICK)
    assert found.samples is not None and len(server.problems) == 1


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
    _check_result(found, best)
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


def test_a_reply_that_drips(server: Sapi, send: Callable[..., Submission], best: float) -> None:
    """A byte now and then is no reply: every request has a time of its own."""

    def drip(handler: sapi.Handler, process: sapi.Process) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/vnd.dwave.sapi.problems+json; version=3.0")
        handler.send_header("Content-Length", "1000000")
        handler.end_headers()
        while True:  # until the client hangs up
            handler.wfile.write(b" ")
            time.sleep(0.05)

    server.fail("poll", drip)
    _check_result(send(), best)
    assert server.count("poll") == 2


def test_local_mistakes_are_not_blamed_on_the_server(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DWAVE_API_SOLVER", '{"order_by": 5, "qpu": true}')
    with pytest.raises((InputError, LeapError), match=r"order_by|TypeError"):
        send()


def test_too_many_problems_for_a_job(server: Sapi, send: Callable[..., Submission]) -> None:
    server.solvers["Mock_Advantage"]["properties"]["num_reads_range"] = [1, 1]
    with pytest.raises(InputError, match="at most --num-reads 1000"):
        send(reads=1001)
    assert not server.problems
    assert send(reads=10**3, dry_run=True).cost["problems"] == 1000


def test_many_problems_are_polled_in_pieces(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_MOST_POLLED", 2)
    server.solvers["Mock_Advantage"]["properties"]["num_reads_range"] = [1, 12]
    found = send(reads=60)
    assert found.samples is not None and found.samples.occurrences.sum() == 60
    assert server.count("poll") == 3


@pytest.mark.parametrize("time_", [-5.0, float("nan"), 1e9])
def test_annealing_times_that_make_no_sense(
    server: Sapi, send: Callable[..., Submission], time_: float
) -> None:
    with pytest.raises(InputError, match=r"annealing time|not a number|cannot be sent"):
        send(dry_run=True, parameters={"annealing_time": time_})


def test_a_refused_problem_is_not_repeated(server: Sapi, send: Callable[..., Submission]) -> None:
    server.fail("post", sapi.status(400, "num_reads out of range"))
    with pytest.raises(LeapError, match=r"400, num_reads out of range; it was not sent"):
        send()
    assert server.count("post") == 1 and not server.problems


def test_a_failed_problem(server: Sapi, send: Callable[..., Submission]) -> None:
    server.fate = "FAILED"
    with pytest.raises(LeapError, match=r"Internal SAPI error 1234.*it is over"):
        send()
    assert _only_job().stage == "failed"
    with pytest.raises(LeapError, match="Internal SAPI error 1234"):
        qcompile.resume(_only_job(), patience=QUICK)
    assert len(server.problems) == 1


def test_cancelled_by_somebody_else(server: Sapi, send: Callable[..., Submission]) -> None:
    server.fate = "CANCELLED"
    with pytest.raises(LeapError, match="cancelled on the server"):
        send()
    assert _only_job().stage == "cancelled"


def test_one_part_of_several_fails(
    server: Sapi, send: Callable[..., Submission], caplog: pytest.LogCaptureFixture
) -> None:
    server.solvers["Mock_Advantage"]["properties"]["num_reads_range"] = [1, 30]
    sent = send(reads=60, wait=False)
    assert sent.job is not None
    first = next(iter(server.problems.values()))
    first["status"] = "FAILED"
    found = qcompile.resume(sent.job, patience=QUICK)
    assert found.samples is not None and found.samples.occurrences.sum() == 30
    assert "part 1 failed: Internal SAPI error 1234" in caplog.text


def test_an_id_that_nobody_knows(server: Sapi, send: Callable[..., Submission]) -> None:
    sent = send(wait=False)
    assert sent.job is not None
    server.problems.clear()
    with pytest.raises(LeapError, match="404") as error:
        qcompile.resume(sent.job, patience=QUICK)
    assert error.value.code == 404
    assert qcompile.cancel(sent.job, patience=QUICK) == ["cancelled"]


def test_answers_that_stay_damaged_are_kept_and_refused(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    server.fail("answer", _damaged(_flip), times=3)
    with pytest.raises(LeapError, match=r"cannot be trusted: .*its spins have.*on the server as"):
        send()
    job = _only_job()
    assert (job.folder / "answer-1.json.damaged").exists()
    assert not (job.folder / "answer-1.json").exists()
    _check_result(qcompile.resume(job, patience=QUICK), best)
    assert len(server.problems) == 1


def test_silence_ends_at_the_deadline(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    server.pending_polls = 10**6
    with pytest.raises(LeapError, match=r"no answer after .* s \(pending\).*on the server as"):
        send(timeout=0.3)
    server.problems[next(iter(server.problems))]["polls"] = 0
    _check_result(qcompile.resume(_only_job(), patience=QUICK), best)
    assert len(server.problems) == 1


@pytest.mark.parametrize("where", ["post", "poll", "answer", "solvers"])
def test_trouble_that_does_not_end(
    server: Sapi, send: Callable[..., Submission], best: float, where: str
) -> None:
    server.fail(where, sapi.status(500), times=200)
    with pytest.raises(LeapError, match="gave up after"):
        send()
    server.faults.clear()
    if where == "solvers":
        assert not list_jobs()
    else:
        _check_result(qcompile.resume(_only_job(), patience=QUICK), best)
        assert len(server.problems) == 1


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


# --- the working graph ------------------------------------------------------------------------


def _kill_qubit(server: Sapi, chains: Embedding) -> int:
    """Let a qubit of the chains die, as after a new calibration."""
    qubits = server.solvers["Mock_Advantage"]["properties"]["qubits"]
    whole = sorted({*qubits, 3, 8})
    dead = chains.chains[0][0]
    server.add_qpu("Mock_Advantage", "pegasus", (3,), dead=(3, 8))
    known = server.solvers["Mock_Advantage"]["properties"]["qubits"]
    assert dead in known and whole
    properties = server.solvers["Mock_Advantage"]["properties"]
    properties["qubits"] = [q for q in known if q != dead]
    properties["couplers"] = [pair for pair in properties["couplers"] if dead not in pair]
    server.solvers["Mock_Advantage"]["identity"]["version"]["graph_id"] = "another"
    return dead


def test_given_chains_that_no_longer_serve(
    server: Sapi,
    send: Callable[..., Submission],
    chains: Embedding,
    best: float,
    caplog: pytest.LogCaptureFixture,
) -> None:
    dead = _kill_qubit(server, chains)
    found = send()
    _check_result(found, best)
    assert f"qubit {dead}" in caplog.text and "as it is now" in caplog.text
    assert found.job is not None
    used = {q for chain in found.job.embedding(found.job.parts[0]).chains for q in chain}
    assert dead not in used


def test_the_graph_changes_between_look_up_and_request(
    server: Sapi,
    send: Callable[..., Submission],
    chains: Embedding,
    best: float,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def change(handler: sapi.Handler, process: sapi.Process) -> None:
        _kill_qubit(server, chains)
        handler.reply(process())

    server.fail("post", change)
    _check_result(send(), best)
    assert "changed its working graph" in caplog.text
    assert len(server.problems) == 1 and server.count("post") == 2


def test_the_graph_changes_before_a_resume(
    server: Sapi, send: Callable[..., Submission], chains: Embedding, best: float
) -> None:
    server.fail("post", sapi.status(401))
    with pytest.raises(LeapError):
        send()
    _kill_qubit(server, chains)
    _check_result(qcompile.resume(_only_job(), patience=QUICK), best)


def test_the_solver_may_be_gone_when_the_answer_is_fetched(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    sent = send(wait=False)
    del server.solvers["hybrid_bqm"]
    solver = server.solvers.pop("Mock_Advantage")
    server.solvers["Other"] = {**solver, "identity": {"name": "Other"}}
    first = next(iter(server.problems))
    server.problems[first]["status"] = "COMPLETED"
    server.problems[first]["answer"] = None
    server.solvers["Mock_Advantage"] = solver
    del server.problems[first]["answer"]
    server.answered(first)
    del server.solvers["Mock_Advantage"]
    assert sent.job is not None
    _check_result(qcompile.resume(sent.job, patience=QUICK), best)


def test_chains_of_an_earlier_job_are_reused(
    server: Sapi, qubo: Qubo, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = qcompile.submit(qubo, reads=READS, patience=QUICK)
    monkeypatch.setattr(
        "qcompile.leap.chains.find_chains", lambda *_: pytest.fail("searched for chains again")
    )
    second = qcompile.submit(qubo, reads=READS, patience=QUICK)
    assert first.job is not None and second.job is not None
    ours = [found.job.embedding(found.job.parts[0]).chains for found in (first, second)]  # type: ignore[union-attr]
    assert ours[0] == ours[1]


# --- one job, one bill ------------------------------------------------------------------------


def test_a_twin_is_refused(server: Sapi, send: Callable[..., Submission], best: float) -> None:
    server.pending_polls = 10**6
    sent = send(wait=False)
    assert sent.job is not None
    with pytest.raises(InputError, match=f"job {sent.job.id} asks for the same.*--again"):
        send(wait=False)
    assert len(server.problems) == 1
    send(wait=False, reads=READS + 1)  # asks for something else
    send(wait=False, again=True)
    assert len(server.problems) == 3


def test_other_problems_and_solvers_are_no_twins(
    server: Sapi, send: Callable[..., Submission], qubo: Qubo, chains: Embedding
) -> None:
    server.pending_polls = 10**6
    send(wait=False)
    other = replace(qubo, linear=qubo.linear * 2)
    qcompile.submit(other, reads=READS, embedding=chains, patience=QUICK, wait=False)
    server.add_qpu("Other", "pegasus", (3,))
    send(wait=False, solver="Other")
    assert len(server.problems) == 3


def test_a_job_is_worked_on_alone_from_the_start(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    post = client.Leap.post

    def meddling(self: Any, *given: Any) -> Any:
        for work in (qcompile.resume, qcompile.cancel):
            with pytest.raises(LeapError, match="another qcompile"):
                work(_only_job(), patience=QUICK)
        return post(self, *given)

    monkeypatch.setattr(client.Leap, "post", meddling)
    send()
    assert len(server.problems) == 1


@pytest.mark.parametrize("sent", ["some day", "2999-01-01T00:00:00+00:00"])
def test_a_clock_that_was_set_back(
    server: Sapi, send: Callable[..., Submission], best: float, sent: str
) -> None:
    """It is looked for all the same, but not for ever."""
    server.fail("post", sapi.reset_after)
    server.fail("list", sapi.status(500), times=200)
    with pytest.raises(LeapError, match="may be on the server"):
        send()
    server.faults.clear()
    job = _only_job()
    job.record(job.parts[0], sent=sent)
    server.fail("list", sapi.changed(lambda _: []))
    _check_result(qcompile.resume(job, patience=QUICK), best)
    assert len(server.problems) == 1
    job.record(job.parts[0], sent=sent, stage="sent", id=None)
    server.problems.clear()
    _check_result(qcompile.resume(job, patience=QUICK), best)
    assert len(server.problems) == 1


def test_cancelled_parts_are_never_sent(server: Sapi, send: Callable[..., Submission]) -> None:
    server.solvers["Mock_Advantage"]["properties"]["num_reads_range"] = [1, 30]
    server.fail("post", lambda handler, process: handler.reply(process()), sapi.status(401))
    with pytest.raises(LeapError):
        send(reads=60)
    assert _only_job().stage == "ready"  # that of the part that is furthest behind
    next(iter(server.problems.values()))["status"] = "COMPLETED"
    assert qcompile.cancel(_only_job(), patience=QUICK) == ["answered", "cancelled"]
    found = qcompile.resume(_only_job(), patience=QUICK)
    assert found.samples is not None and found.samples.occurrences.sum() == 30
    assert len(server.problems) == 1


def test_another_account_is_not_asked(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch, best: float
) -> None:
    """All accounts of a region share an address; another one does not see the job."""
    server.pending_polls = 1
    sent = send(wait=False)
    assert sent.job is not None
    monkeypatch.setenv("DWAVE_API_TOKEN", "DEV-another-account-0123456789")
    for work in (qcompile.resume, qcompile.cancel):
        with pytest.raises(InputError, match="another token"):
            work(sent.job, patience=QUICK)
    assert [p["status"] for p in server.problems.values()] == ["PENDING"]
    text = (sent.job.folder / "job.json").read_text()
    assert TOKEN not in text and sent.job.account in text
    # a token that was renewed
    monkeypatch.setattr(sapi, "TOKEN", "DEV-another-account-0123456789")
    _check_result(qcompile.resume(sent.job, patience=QUICK, same_account=True), best)


def test_the_profile_is_remembered(
    server: Sapi,
    send: Callable[..., Submission],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    best: float,
) -> None:
    config = tmp_path / "dwave.conf"
    config.write_text(f"[first]\ntoken = DEV-of-somebody-else\n\n[mine]\ntoken = {TOKEN}\n")
    monkeypatch.setenv("DWAVE_CONFIG_FILE", str(config))
    monkeypatch.delenv("DWAVE_API_TOKEN")
    sent = send(profile="mine", wait=False)
    assert sent.job is not None
    _check_result(qcompile.resume(sent.job.id, patience=QUICK), best)


def test_labels_of_others_are_not_touched(server: Sapi, send: Callable[..., Submission]) -> None:
    """A job folder from elsewhere must not adopt, or cancel, work that is not its own."""
    sent = send(wait=False)
    assert sent.job is not None
    path = sent.job.folder / "job.json"
    content = json.loads(path.read_text())
    content["parts"][0]["label"] = "production"
    path.write_text(json.dumps(content))
    with pytest.raises(FormatError, match="not a part of this job"):
        qcompile.resume(sent.job.id, patience=QUICK)


def test_the_way_on_works_from_another_folder(
    server: Sapi, send: Callable[..., Submission], tmp_path: Path, best: float
) -> None:
    server.fail("post", sapi.status(401))
    with pytest.raises(LeapError, match=r"go on with: qcompile resume (.*)$") as caught:
        send(jobs=tmp_path / "else where")
    name = shlex.split(str(caught.value).split("qcompile resume ")[-1])[0]
    _check_result(qcompile.resume(name, patience=QUICK), best)


def test_a_folder_that_cannot_be_locked(server: Sapi, send: Callable[..., Submission]) -> None:
    sent = send()
    assert sent.job is not None
    (sent.job.folder / "lock").unlink()
    (sent.job.folder / "lock").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        qcompile.resume(sent.job)


def test_cancel_asks_nobody_else(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.pending_polls = 10**6
    send(wait=False)
    with Sapi() as elsewhere:
        monkeypatch.setenv("DWAVE_API_ENDPOINT", f"{elsewhere.url}/sapi/v2/")
        with pytest.raises(InputError, match="was made for"):
            qcompile.cancel(_only_job(), patience=QUICK)
    assert _only_job().stage == "waiting"


def test_two_at_once_do_not_work_on_a_job(server: Sapi, send: Callable[..., Submission]) -> None:
    sent = send(wait=False)
    assert sent.job is not None
    with sent.job.locked(), pytest.raises(LeapError, match="another qcompile is at work"):
        qcompile.resume(sent.job.id, patience=QUICK)


def test_two_problems_with_our_label(
    server: Sapi, send: Callable[..., Submission], best: float, caplog: pytest.LogCaptureFixture
) -> None:
    """Should never be; if it is, the younger one is cancelled."""

    def twice(handler: sapi.Handler, process: sapi.Process) -> None:
        process()
        process()
        handler.cut_off()

    server.pending_polls = 1
    server.fail("post", twice)
    _check_result(send(), best)
    first, second = server.problems.values()
    assert (first["status"], second["status"]) == ("COMPLETED", "CANCELLED")
    assert "2 problems carry the label" in caplog.text


def test_resume_of_a_finished_job_needs_no_network(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    done = send()
    assert done.job is not None
    server.requests.clear()
    _check_result(qcompile.resume(done.job.id, patience=QUICK), best)
    assert not server.requests


def test_another_region_is_not_asked(
    server: Sapi,
    send: Callable[..., Submission],
    monkeypatch: pytest.MonkeyPatch,
    best: float,
) -> None:
    """There the label is not known, and the job would be sent a second time."""
    server.fail("post", sapi.after(lambda: None))
    server.fail("list", sapi.status(500), times=200)
    with pytest.raises(LeapError, match="may be on the server"):
        send()
    server.faults.clear()
    with Sapi() as elsewhere:
        monkeypatch.setenv("DWAVE_API_ENDPOINT", f"{elsewhere.url}/sapi/v2/")
        with pytest.raises(InputError, match="was made for"):
            qcompile.resume(_only_job(), patience=QUICK)
        assert not elsewhere.problems
    monkeypatch.setenv("DWAVE_API_ENDPOINT", f"{server.url}/sapi/v2/")
    _check_result(qcompile.resume(_only_job(), patience=QUICK), best)
    assert len(server.problems) == 1


def test_cancel(server: Sapi, send: Callable[..., Submission]) -> None:
    server.pending_polls = 10**6
    sent = send(wait=False)
    assert sent.job is not None
    assert qcompile.cancel(sent.job.id, patience=QUICK) == ["cancelled"]
    assert [p["status"] for p in server.problems.values()] == ["CANCELLED"]
    with pytest.raises(LeapError, match="cancelled on the server"):
        qcompile.resume(sent.job.id, patience=QUICK)


def test_cancel_what_was_never_sent(server: Sapi, send: Callable[..., Submission]) -> None:
    server.fail("post", sapi.status(401))
    with pytest.raises(LeapError):
        send()
    assert qcompile.cancel(_only_job(), patience=QUICK) == ["cancelled"]
    with pytest.raises(LeapError, match="cancelled before it was sent"):
        qcompile.resume(_only_job(), patience=QUICK)
    assert not server.problems


def test_cancel_what_may_have_been_sent(server: Sapi, send: Callable[..., Submission]) -> None:
    server.pending_polls = 10**6
    server.fail("post", sapi.reset_after)
    server.fail("list", sapi.status(500), times=200)
    with pytest.raises(LeapError, match="may be on the server"):
        send()
    server.faults.clear()
    assert qcompile.cancel(_only_job(), patience=QUICK) == ["cancelled"]
    assert [p["status"] for p in server.problems.values()] == ["CANCELLED"]


def test_what_has_run_is_not_cancelled(
    server: Sapi, send: Callable[..., Submission], best: float
) -> None:
    sent = send(wait=False)
    assert sent.job is not None
    next(iter(server.problems.values()))["status"] = "COMPLETED"
    assert qcompile.cancel(sent.job, patience=QUICK) == ["waiting"]
    _check_result(qcompile.resume(sent.job, patience=QUICK), best)


# --- job folders ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["job.json", "problem.npz", "embedding.json"])
def test_damaged_folders_are_told(server: Sapi, send: Callable[..., Submission], name: str) -> None:
    server.pending_polls = 10**6
    sent = send(wait=False)
    assert sent.job is not None
    path = sent.job.folder / name
    path.write_bytes(path.read_bytes()[:-20])
    server.problems[next(iter(server.problems))]["polls"] = 0
    with pytest.raises((FormatError, LeapError, InputError), match=name):
        qcompile.resume(sent.job.id, patience=QUICK)
    assert len(server.problems) == 1


def test_a_changed_problem_is_not_used(
    server: Sapi, send: Callable[..., Submission], qubo: Qubo
) -> None:
    sent = send(wait=False)
    assert sent.job is not None
    qcompile.save_qubo(replace(qubo, offset=qubo.offset + 1), sent.job.folder / "problem.npz")
    with pytest.raises(LeapError, match="changed since the job was made"):
        qcompile.resume(sent.job, patience=QUICK)


@pytest.mark.parametrize(
    "change",
    [
        {"embedding": "../../../etc/passwd"},
        {"stage": "unheard of"},
        {"id": 7},
        {"id": "../../x"},
        {"version": 99},
        None,
    ],
)
def test_a_damaged_record_of_a_part_is_no_end(
    server: Sapi,
    send: Callable[..., Submission],
    best: float,
    caplog: pytest.LogCaptureFixture,
    change: dict[str, Any] | None,
) -> None:
    """The part may have been sent: it is looked up by its label."""
    sent = send(wait=False)
    assert sent.job is not None
    path = sent.job.folder / "part-1.json"
    good = json.loads(path.read_text())
    path.write_text("" if change is None else json.dumps({**good, **change}))
    assert _only_job().stage == "sent"  # it may have been
    send(reads=READS + 1, wait=False)  # and does not hinder others
    _check_result(qcompile.resume(sent.job.id, patience=QUICK), best)
    assert len(server.problems) == 2 and "part-1.json" in caplog.text


def test_jobs_that_are_none(server: Sapi) -> None:
    for name in ("../x", "*", "", "no-such"):
        with pytest.raises(InputError):
            load_job(name)


def test_jobs_are_found_by_the_beginning_of_their_id(
    server: Sapi, send: Callable[..., Submission]
) -> None:
    first, second = send(), send()
    assert first.job is not None and second.job is not None
    assert load_job(first.job.id[:-2]).id == first.job.id
    with pytest.raises(InputError, match="2 jobs begin so"):
        load_job(first.job.id[:6])
    assert load_job(second.job.folder).id == second.job.id


def test_drafts_are_no_jobs(server: Sapi, send: Callable[..., Submission], tmp_path: Path) -> None:
    job = send().job
    assert job is not None
    place = tmp_path / "jobs"
    shutil.copytree(job.folder, place / ".draft-new")
    (place / ".draft-old").mkdir()
    os.utime(place / ".draft-old", (0, 0))
    assert len(list_jobs()) == 1
    send()
    assert [path.name for path in place.glob(".draft-*")] == [".draft-new"]
    assert place.stat().st_mode & 0o077 == 0  # nobody else's business


def test_a_disk_that_cannot_be_written_is_told_before_anything_is_sent(
    server: Sapi, send: Callable[..., Submission], tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(InputError, match="jobs cannot be kept there"):
        send(jobs=blocked / "jobs")
    assert not server.problems


def test_an_id_that_cannot_be_noted_is_said(
    server: Sapi, send: Callable[..., Submission], best: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = Job.record

    def full(self: Job, part: Any, **changes: Any) -> Any:
        if "id" in changes:
            raise InputError("part-1.json: cannot be written (No space left on device)")
        return record(self, part, **changes)

    monkeypatch.setattr(Job, "record", full)
    with pytest.raises(LeapError, match=r"on the server as 00000000-aaaa.*No space left"):
        send()
    monkeypatch.undo()


# --- the token --------------------------------------------------------------------------------


class _Everything(logging.Handler):
    """Keeps every record as a handler would print it, and the record itself."""

    def __init__(self) -> None:
        super().__init__(level=0)
        self.text: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.text.append(self.format(record))
        self.text.append(repr(record.__dict__))


@pytest.fixture
def everything() -> Iterator[_Everything]:
    root = logging.getLogger()
    handler = _Everything()
    levels = {
        name: logging.getLogger(name).level for name in ("", "dwave", "dwave.cloud", "urllib3")
    }
    for name in levels:
        logging.getLogger(name).setLevel(1)
    root.addHandler(handler)
    yield handler
    root.removeHandler(handler)
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)


def _all_files(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


@pytest.mark.parametrize(
    "case", ["post: reset after", "poll: no JSON", "answer: flipped bit", "post: 429"]
)
def test_the_token_is_in_no_log_and_no_file(
    server: Sapi,
    send: Callable[..., Submission],
    everything: _Everything,
    tmp_path: Path,
    case: str,
) -> None:
    where, faults = GOT_OVER[case]
    server.fail(where, *faults)
    found = send()
    assert server.tokens == {TOKEN}  # it was used all the same
    assert len(everything.text) > 20  # and Ocean did talk
    assert not any(TOKEN in text for text in everything.text)
    assert TOKEN.encode() not in _all_files(tmp_path)
    assert TOKEN.encode() not in pickle.dumps(found)


@pytest.mark.parametrize("where", ["solvers", "post", "poll", "answer"])
@pytest.mark.parametrize("fault", [sapi.status(401, TOKEN), sapi.status(400, f"<{TOKEN}>")])
def test_the_token_is_in_no_error(
    server: Sapi,
    send: Callable[..., Submission],
    everything: _Everything,
    where: str,
    fault: sapi.Fault,
) -> None:
    """Not even where the server repeats it, nor in the causes, locals or pickles of the error."""
    server.fail(where, fault, times=5)
    with pytest.raises(LeapError) as caught:
        send()
    error: BaseException | None = caught.value
    assert TOKEN.encode() not in pickle.dumps(error)
    seen = []
    while error is not None:
        seen.append(error)
        assert type(error).__module__.startswith("qcompile")
        shown = traceback.TracebackException.from_exception(error, capture_locals=True)
        ours = [frame for frame in shown.stack if "/tests/" not in frame.filename]
        text = str(error) + repr([frame.locals for frame in ours])
        assert TOKEN not in text
        error = error.__cause__ or error.__context__
    assert seen and not any(TOKEN in text for text in everything.text)


def test_the_token_of_a_configuration_file(
    server: Sapi,
    send: Callable[..., Submission],
    everything: _Everything,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Read from dwave.conf by profile: the client logs it before anybody else knows it."""
    monkeypatch.setattr(redaction, "_words", set())
    monkeypatch.delenv("DWAVE_API_TOKEN")
    monkeypatch.delenv("DWAVE_API_ENDPOINT")
    config = tmp_path / "dwave.conf"
    config.write_text(
        f"[defaults]\nendpoint = {server.url}/sapi/v2/\n\n[mine]\ntoken = {TOKEN}\n"
        "solver = Mock_Advantage\n"
    )
    monkeypatch.setenv("DWAVE_CONFIG_FILE", str(config))
    with pytest.raises(InputError, match="profile"):
        send(profile="yours")
    found = send(profile="mine")
    assert found.samples is not None
    assert not any(TOKEN in text for text in everything.text)
    assert any("withheld" in text for text in everything.text)


def test_log_records_are_cleaned(everything: _Everything) -> None:
    redaction.keep_secret(TOKEN)
    log = logging.getLogger("dwave.cloud")
    _complain(log, TOKEN)
    log.info("%d", TOKEN)  # cannot be formatted: logging would print the arguments
    with redaction.withholding():
        _complain(log, "a token that is not known yet")
    text = "".join(everything.text)
    assert "it broke" in text and "***" in text
    assert TOKEN not in text and "not known yet" not in text


def test_exceptions_of_others_are_left_alone() -> None:
    """Handlers of the application may look into them."""
    records: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = records.append  # type: ignore[method-assign, assignment]
    log = logging.getLogger("somebody.else")
    log.addHandler(handler)
    redaction.keep_secret(TOKEN)
    _complain(log, "nothing secret")
    _complain(log, TOKEN)
    log.removeHandler(handler)
    assert records[0].exc_info is not None and records[1].exc_info is None


def _complain(log: logging.Logger, text: str) -> None:
    try:
        raise ValueError(text)
    except ValueError:
        log.exception("it broke")


def test_passwords_in_addresses(server: Sapi, monkeypatch: pytest.MonkeyPatch) -> None:
    assert client._plain("https://me:pa55@h:1/x?token=1") == "https://h:1/x/"
    monkeypatch.setenv("DWAVE_API_PROXY", "http://me:pr0xy-w0rd@127.0.0.1:9")
    with client.connect(patience=QUICK) as line:
        assert redaction.scrub("pr0xy-w0rd") == "***"
        line.endpoint = line.endpoint.replace("http:", "https:")
        place = f"{server.url}/sapi/v2/problems/x/answer/data/"
        answer = {"format": "binary-ref", "url": place, "timing": {}, "shape": {}}
        with pytest.raises(LeapError, match="another server"):
            line.download(answer)


def test_without_a_token(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DWAVE_API_TOKEN")
    with pytest.raises(InputError, match=r"no API token.*dwave setup"):
        send()


def test_a_line_is_not_pickled(server: Sapi) -> None:
    with client.connect(patience=QUICK) as line:
        with pytest.raises(TypeError, match="not for pickling"):
            pickle.dumps(line)
        assert TOKEN not in repr(line) + repr(vars(line))


def test_the_token_is_not_sent_in_the_clear(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DWAVE_API_ENDPOINT", "http://example.com/sapi/v2/")
    with pytest.raises(InputError, match="not https"):
        send()


# --- Ocean's configuration --------------------------------------------------------------------


def test_regions(
    server: Sapi, send: Callable[..., Submission], monkeypatch: pytest.MonkeyPatch, best: float
) -> None:
    monkeypatch.delenv("DWAVE_API_ENDPOINT")
    monkeypatch.delenv("DWAVE_LEAP_API_ENDPOINT")
    _check_result(send(region="test-1"), best)
    with pytest.raises(InputError, match="nowhere"):
        send(region="nowhere")
    # Ocean would fall back to the public cloud of North America without a word
    server.fail("regions", sapi.status(500), times=20)
    with pytest.raises(InputError, match="no other one is taken"):
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


def test_wishes_are_checked(server: Sapi, send: Callable[..., Submission], qubo: Qubo) -> None:
    for options, text in (
        ({"reads": 0}, "0 reads"),
        ({"label": ""}, "label"),
        ({"label": "a\x00b"}, "label"),
        ({"timeout": 0.0}, "timeout"),
        ({"repair": "pray"}, "repair"),
        ({"parameters": {"colour": 1}}, "has no parameter 'colour'"),
        ({"parameters": {"num_reads": 1}}, "num_reads among the parameters"),
        ({"time_limit": 5.0}, "for hybrid solvers"),
        ({"solver_type": "hybrid", "time_limit": 1.0}, "at least 3"),
        ({"solver_type": "hybrid", "time_limit": 1e9}, "allows 86400"),
    ):
        with pytest.raises(InputError, match=text):
            send(**options)
    assert not server.problems
    empty = Pubo.from_dict({(): 1.0})
    with pytest.raises(InputError, match="without variables"):
        qcompile.submit(empty, patience=QUICK)


# --- answers and models against other routes ---------------------------------------------------


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
    read = answers.read_qpu_answer(answer, embedded, READS)
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


@pytest.mark.parametrize(
    ("options", "space"),
    [
        ({"order": 3}, "weights"),
        ({"order": 1}, "weights"),
        ({"order": 3, "l0": 0.01}, "bits"),
        ({"order": 4, "omega": 0.1}, "bits"),
        ({"order": 6, "omega": 0.1}, "bits"),
    ],
)
def test_nonlinear_models_are_the_polynomial(options: dict[str, Any], space: str) -> None:
    """Every assignment, through a file and the solver's own arithmetic."""
    features = 3 if "l0" not in options else 2
    pubo = qcompile.compile(
        "breast-cancer", bits=2, scale="standard", features=features, bias=False, **options
    ).pubo
    problem = to_nonlinear(pubo)
    assert problem.space == space
    model = Model.from_file(io.BytesIO(problem.to_file()))
    (decision,) = model.iter_decisions()
    bits = np.array(list(np.ndindex(*(2,) * pubo.variables)), dtype=np.int8)
    with model.lock():
        model.states.resize(len(bits))
        for i, value in enumerate(problem.decision_of(bits)):
            decision.set_state(i, value)
        energies = [float(model.objective.state(i)) for i in range(len(bits))]
        stream = io.BytesIO()
        model.states.into_file(stream)
    np.testing.assert_allclose(energies, pubo.energies(bits), rtol=1e-9, atol=1e-12)
    stream.seek(0)
    assert np.array_equal(problem.read_states(stream), bits)


def test_nonlinear_models_allow_the_levels_of_the_grid_only(qubo: Qubo) -> None:
    from qcompile.leap.nonlinear import nonlinear

    (decision,) = nonlinear(qubo).model.iter_decisions()
    encoding = qubo.encoding
    assert encoding is not None
    bits = np.array(list(np.ndindex(*(2,) * qubo.logical)), dtype=np.int8)
    levels = np.rint(encoding.decode(bits) / encoding.step)
    for bound, expected in (
        (decision.lower_bound(), levels.min(axis=0)),
        (decision.upper_bound(), levels.max(axis=0)),
    ):
        assert np.array_equal(np.broadcast_to(bound, encoding.features), expected)


def test_a_wrong_nonlinear_model_is_not_sent() -> None:
    pubo = Pubo.from_dict({(0, 1, 2): 2.0, (0,): -1.0})
    other = Pubo.from_dict({(0, 1, 2): 2.0, (0,): -1.001, (2,): 0.0})
    problem = to_nonlinear(pubo)
    with pytest.raises(InputError, match="differs from the polynomial"):
        check_nonlinear(replace(problem, pubo=other))


# --- the command line --------------------------------------------------------------------------


@pytest.fixture
def file(qubo: Qubo, tmp_path: Path) -> str:
    path = tmp_path / "qubo.json"
    qcompile.save_qubo(qubo, path)
    return str(path)


def test_commands(
    server: Sapi, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], best: float
) -> None:
    assert main(["jobs"]) == 0
    assert "no jobs in" in capsys.readouterr().out
    assert main(["submit", file, "-n", "60", "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "Mock_Advantage (qpu)" in shown and "60 in 1 problem(s)" in shown
    assert main(["submit", file, "-n", "60"]) == 2
    assert "add --yes" in capsys.readouterr().err and not server.problems
    model, samples = tmp_path / "model.json", tmp_path / "samples.json"
    given = ["-n", "60", "-l", "mine", "--yes", "-o", str(model), "--samples", str(samples)]
    assert main(["submit", file, *given]) == 0
    out, err = capsys.readouterr()
    assert "qubits" in err and f"{best}"[:6] in out
    assert qcompile.load_classifier(model).weights.any()
    assert main(["decode", str(samples), "--problem", file]) == 0
    capsys.readouterr()
    assert main(["jobs", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["stage"], row["label"], row["reads"]) == ("done", "mine", 60)
    assert main(["jobs", row["job"][:-1]]) == 0
    assert "00000000-aaaa" in capsys.readouterr().out
    assert main(["predict", str(model), "breast-cancer"]) == 0
    capsys.readouterr()


def test_the_commands_of_the_readme(
    server: Sapi,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """From account to classifier; the first one is Ocean's and asks for the token."""
    text = (Path(__file__).parent.parent / "README.md").read_text()
    block = text.split("## On the real machine")[1].split("```")[1]
    setup, *commands = [line.split("#")[0].strip() for line in block.strip().splitlines()]
    assert setup == "dwave setup" and len(commands) == 4
    server.add_qpu("Mock_Advantage", "pegasus", (6,))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", _Agreeing())
    for command in commands:
        name, *arguments = command.split()
        assert name == "qcompile" and main(arguments) == 0, capsys.readouterr().err
    labels = capsys.readouterr().out.split()[-569:]
    assert len(server.problems) == 1
    assert set(labels) == {"0", "1"}


class _Agreeing(io.StringIO):
    """A person at a terminal who says yes, or something else."""

    def __init__(self, words: str = "y\n") -> None:
        super().__init__(words)

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("words", ["\n", "no\n", ""])
def test_who_does_not_agree_pays_nothing(
    server: Sapi,
    file: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: str,
) -> None:
    monkeypatch.setattr("sys.stdin", _Agreeing(words))
    assert main(["submit", file, "-n", "60"]) == 2
    assert "nothing was sent" in capsys.readouterr().err and not server.problems


def test_options_reach_the_submission(
    server: Sapi, file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server.pending_polls = 10**6
    given = ["submit", file, "-n", "60", "--yes", "--no-wait"]
    assert [main(given), main(given), main([*given, "--again"])] == [0, 2, 0]
    seen = []

    def noted(*_: Any, **options: Any) -> Any:
        seen.append(options["patience"].grace)
        raise InputError("enough")

    monkeypatch.setattr("qcompile.leap.submission.submit", noted)
    assert main(["submit", file, "--grace", "7"]) == 2
    assert seen == [7.0]
    capsys.readouterr()


def test_commands_after_an_interruption(
    server: Sapi, file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.pending_polls = 10**6
    assert main(["submit", file, "-n", "60", "--yes", "--no-wait"]) == 0
    capsys.readouterr()
    job = _only_job()
    assert main(["resume", job.id, "--timeout", "0.5"]) == 3
    err = capsys.readouterr().err
    assert f"go on with: qcompile resume {job.id}" in err and len(err.splitlines()) == 1

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(client.Leap, "statuses", interrupted)
        assert main(["resume", job.id]) == 130
    assert "it is on the server as 00000000-aaaa" in capsys.readouterr().err
    assert main(["cancel", job.id]) == 0
    assert "cancelled" in capsys.readouterr().out
    assert main(["resume", job.id]) == 3
    assert main(["submit", file, "--no-wait", "-o", "x.json"]) == 2
    assert main(["submit", file, "--param", "colour=1", "--yes"]) == 2
    assert main(["submit", file, "--chain-strength", "sweep"]) == 2
    assert main(["resume", "no-such-job"]) == 2
    capsys.readouterr()


def test_the_network_is_closed_to_tests() -> None:
    import socket

    for where in (("192.0.2.1", 443), ("2001:db8::1", 443)):
        family = socket.AF_INET6 if ":" in where[0] else socket.AF_INET
        with socket.socket(family) as probe, pytest.raises(no_network.NetworkReached):
            probe.connect(where)
    with pytest.raises(no_network.NetworkReached):
        socket.getaddrinfo("cloud.dwavesys.com", 443)
