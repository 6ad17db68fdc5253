"""Trainings on a QPU through the real client, against a solver API on loopback with its faults."""

from __future__ import annotations

import logging
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qcompile
from qcompile import (
    Dataset,
    InputError,
    LeapError,
    LeapMachine,
    Trained,
    TrainingJob,
    cancel,
    list_jobs,
    load_classifier,
    resume,
)
from qcompile.files.samples import load_samples
from qcompile.stages.step import Step
from qcompile.training import rounds as rounds_module
from qcompile.training.inner import Place
from tests import sapi
from tests.leap.faults import GOT_OVER
from tests.leap.jobs import QUICK
from tests.sapi import Sapi

READS = 50
REPORTED = 0.02  # seconds of QPU access time that the server reports for so many reads


@pytest.fixture(scope="module")
def rows() -> Dataset:
    return qcompile.prepare(qcompile.read("breast-cancer"), scale="robust", bias=True, features=5)


def train(rows: Dataset, rounds: int | qcompile.RoundOptions | None = 3, **options: Any) -> Trained:
    machine = LeapMachine(**{"patience": QUICK, "timeout": 20.0, **options})
    return qcompile.train(rows, machine=machine, rounds=rounds, reads=READS, seed=1)


def go_on(job: TrainingJob, **options: Any) -> Trained:
    found = resume(job, patience=QUICK, timeout=20.0, **options)
    assert isinstance(found, Trained)
    return found


def only_training() -> TrainingJob:
    (job,) = list_jobs()
    assert isinstance(job, TrainingJob)
    return job


def weights_of(found: Trained) -> bytes:
    return found.classifier.weights.tobytes()


@pytest.fixture(scope="module")
def expected(rows: Dataset, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The weights after three rounds, without any trouble."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with Sapi() as server, pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment(str(folder)).items():
            patch.setenv(name, value)
        return weights_of(train(rows))


def test_a_training_is_one_job_with_a_problem_for_each_round(server: Sapi, rows: Dataset) -> None:
    found = train(rows, 40)
    job = only_training()
    assert found.job == job and job.stage == "done" and job.progress.ended == found.ended
    assert len(server.problems) == len(found.rounds) == job.progress.rounds > 5
    assert all(own["params"] == {"num_reads": READS} for own in server.problems.values())
    assert job.progress.seconds == pytest.approx(REPORTED * len(found.rounds))
    assert job.progress.objective == found.objective
    here = qcompile.train(rows, solver="exact", seed=1)  # all steps are tried
    assert found.objective < here.objective + 1e-3
    assert (load_classifier(job.folder / "model.json").weights == found.classifier.weights).all()
    asked = len(server.requests)
    again = go_on(job)
    assert weights_of(again) == weights_of(found) and len(server.requests) == asked


def test_parts_and_sparse_rows_are_kept_in_the_folder(server: Sapi) -> None:
    data = qcompile.read("breast-cancer")
    machine = LeapMachine(patience=QUICK)
    found = qcompile.train(
        data, machine=machine, rounds=2, reads=20, features=4, validation=0.2, test=0.2, seed=3
    )
    assert found.job is not None
    parts = found.job.rows()
    assert {name: len(part) for name, part in parts.items()} == {
        "train": 341,
        "validation": 114,
        "test": 114,
    }
    assert parts["test"].error(found.classifier.weights) == found.errors["test"]
    again = go_on(found.job)
    assert (again.errors, weights_of(again)) == (found.errors, weights_of(found))


@pytest.mark.parametrize(
    "fault",
    [
        "post: reset after",
        "post: 500 after it was done",
        "post: reset before",
        "poll: cut off",
        "answer: flipped bit",
        "answer: reset",
    ],
)
def test_faults_of_the_server_change_nothing(
    server: Sapi, rows: Dataset, expected: bytes, fault: str
) -> None:
    where, faults = GOT_OVER[fault]
    server.fail(where, lambda handler, process: handler.reply(process()))  # the first round
    server.fail(where, *faults)
    assert weights_of(train(rows)) == expected
    assert server.billed == len(server.problems) == 3


@pytest.mark.parametrize("budget", [0.019, 0.02, 0.0381, 0.0382, 0.1])
def test_the_budget_is_kept_by_what_the_server_reports(
    server: Sapi, rows: Dataset, budget: float
) -> None:
    costs: list[Any] = []

    def confirm(cost: Any) -> bool:
        costs.append(cost)
        return True

    machine = LeapMachine(budget=f"{budget * 1000:g}ms", patience=QUICK)
    found = qcompile.train(rows, machine=machine, rounds=20, reads=READS, seed=1, confirm=confirm)
    (cost,) = costs
    each = cost.seconds_per_round
    assert 0.018 < each < REPORTED and cost.seconds == pytest.approx(20 * each)
    # the last round was sent when what was reported and its estimate were within the budget
    paid = 1 + int((budget - each) / REPORTED)
    assert len(found.rounds) == server.billed == paid and found.ended == "budget"
    assert any("budget=" in note for note in found.notes)
    assert found.job is not None
    more = go_on(found.job, budget="500ms", wait=True)
    assert more.rounds[: len(found.rounds)] and len(more.rounds) > len(found.rounds)
    assert server.billed == len(more.rounds)


def test_a_budget_below_one_round_sends_nothing(server: Sapi, rows: Dataset) -> None:
    with pytest.raises(InputError, match=r"budget 0.01 s; one round takes 0.0181\d* s"):
        train(rows, budget="10ms")
    server.solvers["Mock_Advantage"]["properties"].pop("problem_timing_data")
    with pytest.raises(InputError, match="states no timing"):
        train(rows, budget=1.0)
    assert not server.problems and list_jobs() == []


def test_nothing_is_sent_if_the_cost_is_refused(server: Sapi, rows: Dataset) -> None:
    with pytest.raises(InputError, match="not confirmed"):
        qcompile.train(rows, machine="leap", reads=READS, confirm=lambda cost: False)
    assert not server.problems and list_jobs() == []


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"l2": "cv"}, "pay for a training of every fold"),
        ({"l2": [0.1, 0.01]}, "pay for a training of every fold"),
        ({"order": 3}, "submit()"),
        ({"sweeps": 10}, "sweeps= with a QPU"),
        ({"solver": "neal"}, "solver neal with machine="),
        ({"solver": LeapMachine(solver="other")}, "another one as solver="),
        ({"rounds": qcompile.RoundOptions(degree=3)}, "needs ancillas"),
        ({"block": 40}, "takes up to"),
        ({"reads": 0}, "0 reads"),
        ({"copies": 0}, "0 copies"),
    ],
)
def test_what_a_training_on_leap_does_not_do(
    server: Sapi, rows: Dataset, options: dict[str, Any], reason: str
) -> None:
    wide = qcompile.prepare(qcompile.read("breast-cancer")) if "block" in options else rows
    with pytest.raises(InputError) as told:
        qcompile.train(wide, machine="leap", **options)
    assert reason in str(told.value) and "\n" not in str(told.value)
    assert not server.problems and list_jobs() == []
    with pytest.raises(InputError, match="leave out machine="):
        qcompile.train(rows, machine="pegasus4", solver="leap")


def offline(server: Sapi, after: int) -> None:
    """Let the solver vanish once so many problems were sent."""

    def vanish(handler: Any, process: Any) -> None:
        server.solvers.pop("Mock_Advantage", None)
        handler.reply(process())

    for _ in range(after):
        server.fail("post", lambda handler, process: handler.reply(process()))
    server.fail("post", vanish)


def test_a_solver_that_goes_offline_is_replaced_by_another(server: Sapi, rows: Dataset) -> None:
    server.add_qpu("Small", "chimera", (1,), dead=())  # four bits: blocks
    offline(server, 2)
    with pytest.raises(LeapError) as told:
        train(rows, 40, solver="Mock_Advantage")
    job = only_training()
    text = str(told.value)
    assert "no solver online" in text and "2 rounds kept, F 0.0" in text and "\n" not in text
    assert f"qcompile resume {job.name} (on another solver: solver=NAME)" in text
    before = load_classifier(job.folder / "model.json")
    with pytest.raises(LeapError, match="no solver online"):
        go_on(job)
    with pytest.raises(LeapError, match="no solver online"):
        go_on(job, solver="Nowhere")
    assert job.progress.solver == "Mock_Advantage"
    found = go_on(job, solver="Small")
    assert [own.weights for own in found.rounds[:4]] == [6, 6, 4, 4]
    assert found.objective < float(before.source.objective or 0)
    used = [own["solver"]["name"] for own in server.problems.values()]
    assert used[:4] == ["Mock_Advantage"] * 2 + ["Small"] * 2 and server.billed == len(found.rounds)
    assert job.progress.solver == "Small"
    asked = len(server.requests)
    assert weights_of(go_on(job)) == weights_of(found) and len(server.requests) == asked


def test_a_round_that_waits_for_a_solver_is_moved_to_another(server: Sapi, rows: Dataset) -> None:
    server.add_qpu("Other", "pegasus", (3,), dead=(5,))
    server.pending_polls = 10**6
    with pytest.raises(LeapError, match="no answer after"):
        train(rows, solver="Mock_Advantage", timeout=1.0)
    server.pending_polls = 0
    found = go_on(only_training(), solver="Other")
    states = [(own["solver"]["name"], own["status"]) for own in server.problems.values()]
    assert states == [("Mock_Advantage", "CANCELLED")] + [("Other", "COMPLETED")] * 3
    assert len(found.rounds) == server.billed == 3


def test_a_round_that_has_run_is_not_sent_to_another_solver(
    server: Sapi, rows: Dataset, expected: bytes
) -> None:
    server.add_qpu("Other", "pegasus", (3,), dead=(3, 8))  # the same graph
    server.pending_polls = 10**6
    with pytest.raises(LeapError, match="no answer after"):
        train(rows, solver="Mock_Advantage", timeout=1.0)
    (only,) = server.problems.values()
    only["status"], server.pending_polls = "COMPLETED", 0
    found = go_on(only_training(), solver="Other")
    assert len(found.rounds) == server.billed == len(server.problems) == 3
    assert weights_of(found) == expected


def test_a_failed_round_is_made_again_by_resume(
    server: Sapi, rows: Dataset, expected: bytes
) -> None:
    server.outcome = "FAILED"
    with pytest.raises(LeapError, match=r"Internal SAPI error.*0 rounds kept.*qcompile resume"):
        train(rows)
    server.outcome = "COMPLETED"
    assert weights_of(go_on(only_training())) == expected
    assert server.billed == 3 and len(server.problems) == 4


def test_ctrl_c_keeps_the_best_and_says_how_to_go_on(
    server: Sapi, rows: Dataset, expected: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    def interrupt(done: int, total: int | None) -> None:
        if done == 2:
            raise KeyboardInterrupt

    machine = LeapMachine(patience=QUICK)
    with caplog.at_level(logging.WARNING):
        found = qcompile.train(
            rows, machine=machine, rounds=3, reads=READS, seed=1, progress=interrupt
        )
    job = only_training()
    assert found.ended == "interrupted" and len(found.rounds) == 2
    assert f"continue with: qcompile resume {job.name}" in caplog.text
    assert job.stage == "ready" and job.progress.rounds == 2
    assert weights_of(go_on(job)) == expected and server.billed == 3


def test_ctrl_c_before_the_first_answer_says_how_to_go_on(
    server: Sapi, rows: Dataset, expected: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr("qcompile.leap.submission.collect", interrupt)
        with pytest.raises(KeyboardInterrupt):
            train(rows)
    job = only_training()
    assert f"qcompile resume {job.name}" in caplog.text and job.stage == "waiting"
    assert weights_of(go_on(job)) == expected and server.billed == 3


def test_a_training_that_is_not_finished_is_not_begun_again(server: Sapi, rows: Dataset) -> None:
    offline(server, 1)
    with pytest.raises(LeapError):
        train(rows)
    server.add_qpu("Mock_Advantage", "pegasus", (3,))
    with pytest.raises(InputError, match=r"is the same training and is not finished.*resume"):
        train(rows)
    assert only_training() and len(server.problems) == 1
    (unfinished,) = list_jobs()
    train(rows, 2)  # another one
    assert train(rows, again=True).job is not None
    cancel(unfinished, patience=QUICK)
    train(rows)
    assert len(list_jobs()) == 4


def test_a_problem_that_was_sent_is_not_computed_again(
    server: Sapi, rows: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another computer may round the same sums otherwise."""
    found = train(rows)
    assert found.job is not None
    fit = rounds_module._fit

    def slightly_different(*given: Any) -> Any:
        made = fit(*given)
        return replace(made, first=made.first * (1 + 1e-9), constant=made.constant + 1e-12)

    monkeypatch.setattr(rounds_module, "_fit", slightly_different)
    assert weights_of(go_on(found.job)) == weights_of(found)


def test_a_cancelled_training_makes_no_more_rounds(
    server: Sapi, rows: Dataset, expected: bytes
) -> None:
    offline(server, 1)
    with pytest.raises(LeapError):
        train(rows)
    job = only_training()
    server.add_qpu("Mock_Advantage", "pegasus", (3,))
    assert cancel(job, patience=QUICK) == ["cancelled"]
    found = go_on(job)
    assert found.ended == "cancelled" and len(found.rounds) == 1 == server.billed
    assert load_classifier(job.folder / "model.json").weights.tobytes() == weights_of(found)
    assert cancel(job, patience=QUICK) == ["cancelled"]


def test_a_cancelled_round_that_has_run_is_still_used(server: Sapi, rows: Dataset) -> None:
    server.pending_polls = 10**6
    with pytest.raises(LeapError, match="no answer after"):
        train(rows, timeout=1.0)
    (only,) = server.problems.values()
    only["status"] = "COMPLETED"
    job = only_training()
    assert cancel(job, patience=QUICK) == ["cancelled"]
    found = go_on(job)
    assert found.ended == "cancelled" and len(found.rounds) == server.billed == 1


def test_a_lost_record_and_a_lost_answer_are_made_again(
    server: Sapi, rows: Dataset, expected: bytes
) -> None:
    job = train(rows).job
    assert job is not None
    (job.folder / "progress.json").write_text("{")
    (job.folder / "model.json").unlink()
    (job.folder / "rounds" / "1-0002" / "answer-1.json").write_text("?")
    assert job.progress.rounds == 0
    assert weights_of(go_on(job)) == expected and job.progress.rounds == 3
    assert server.billed == len(server.problems) == 3


def test_a_changed_folder_and_a_copy_are_refused(
    server: Sapi, rows: Dataset, tmp_path: Path, expected: bytes
) -> None:
    offline(server, 1)
    with pytest.raises(LeapError):
        train(rows)
    server.add_qpu("Mock_Advantage", "pegasus", (3,))
    job = only_training()
    shutil.copytree(job.folder, tmp_path / "copy")
    with pytest.raises(LeapError, match="is a copy of"):
        resume(tmp_path / "copy", patience=QUICK)
    shutil.copytree(job.folder / "rounds" / "1-0001", job.folder / "rounds" / "1-0003")
    with pytest.raises(LeapError, match="not a round of job"):
        go_on(job)
    shutil.rmtree(job.folder / "rounds" / "1-0003")
    kept = (job.folder / "rows.npz").read_bytes()
    (job.folder / "rows.npz").write_bytes(kept[:-1] + b"?")
    with pytest.raises(LeapError, match="changed since the job was created"):
        go_on(job)
    (job.folder / "rows.npz").write_bytes(kept)
    shutil.move(job.folder, tmp_path / "moved")  # a folder that is moved is no copy
    found = resume(tmp_path / "moved", patience=QUICK)
    assert isinstance(found, Trained) and weights_of(found) == expected and server.billed == 3


def test_another_account_is_refused(
    server: Sapi, rows: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    offline(server, 1)
    with pytest.raises(LeapError):
        train(rows)
    monkeypatch.setenv("DWAVE_API_TOKEN", "DEV-another0123456789")
    with pytest.raises(LeapError, match="submitted with another token"):
        go_on(only_training())
    assert server.billed == 1


def test_more_starts_and_the_default_number_of_rounds(server: Sapi, rows: Dataset) -> None:
    costs: list[Any] = []

    def confirm(cost: Any) -> bool:
        costs.append(cost)
        return len(costs) > 1

    with pytest.raises(InputError, match="not confirmed"):
        qcompile.train(rows, machine="leap", confirm=confirm, block=2)
    assert (costs[0].rounds, costs[0].blocks, costs[0].reads) == (40 * 3, 3, 100)
    machine = LeapMachine(patience=QUICK)
    found = qcompile.train(rows, machine=machine, rounds=2, starts=2, reads=READS, confirm=confirm)
    assert [(own.start, own.number) for own in found.rounds] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert costs[1].rounds == server.billed == 4 and found.job is not None
    assert weights_of(go_on(found.job)) == weights_of(found) and server.billed == 4


def test_no_file_of_a_training_holds_the_token(server: Sapi, rows: Dataset) -> None:
    job = train(rows, 1).job
    assert job is not None
    files = [path for path in job.folder.rglob("*") if path.is_file()]
    assert len(files) > 8
    assert not [path for path in files if sapi.TOKEN.encode() in path.read_bytes()]


def test_settings_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"budget": "2 hours"}, "expected seconds such as 2s, 500ms or 1.5"),
        ({"budget": 0}, "expected seconds above 0"),
        ({"budget": "-1s"}, "expected seconds"),
        ({"budget": float("nan")}, "expected seconds"),
        ({"label": " "}, "printable characters"),
        ({"solver": "a\nb"}, "printable characters"),
        ({"timeout": 0.0}, "timeout 0"),
        ({"chain_strength": "sweep"}, "pays for many runs"),
    ]
    for options, reason in wrong:
        with pytest.raises(InputError, match=reason):
            LeapMachine(**options)
    texts: dict[str | float, float] = {"2s": 2.0, "500ms": 0.5, "1.5": 1.5, " 3 S ": 3.0, 4: 4.0}
    for text, seconds in texts.items():
        assert LeapMachine(budget=text).seconds == seconds
    function: Callable[..., Any] = LeapMachine
    assert function() == LeapMachine() and hash(LeapMachine()) == hash(LeapMachine())
    assert np.isfinite(LeapMachine().timeout)


# --- several step sizes in one anneal -----------------------------------------------------------


def objective_of(rows: Dataset, weights: Any, price: float) -> float:
    """F of weights, from the rows one by one."""
    total = 0.0
    for x, label in zip(np.asarray(rows.x).tolist(), rows.y.tolist(), strict=True):
        length = math.sqrt(math.fsum(v * v for v in x))
        margin = label * math.fsum(v * w for v, w in zip(x, weights, strict=True)) / length
        total += math.erfc(margin / math.sqrt(2)) / 2
    return total / len(rows) + price / 2 * math.fsum(w * w for w in weights)


def sizes(rounds: int = 3) -> qcompile.RoundOptions:
    return qcompile.RoundOptions(rounds=rounds, copies=3)


@pytest.fixture(scope="module")
def expected_of_copies(rows: Dataset, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The weights after three rounds of three step sizes, without any trouble."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with Sapi() as server, pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment(str(folder)).items():
            patch.setenv(name, value)
        return weights_of(train(rows, sizes()))


def test_step_sizes_are_annealed_together_and_billed_once(server: Sapi, rows: Dataset) -> None:
    machine = LeapMachine(patience=QUICK)
    costs: list[Any] = []

    def confirm(cost: Any) -> bool:
        costs.append(cost)
        return True

    found = qcompile.train(
        rows, machine=machine, rounds=sizes(20), reads=READS, seed=1, confirm=confirm
    )
    job = only_training()
    assert len(server.problems) == len(found.rounds) == job.progress.rounds == server.billed
    assert job.progress.seconds == pytest.approx(REPORTED * len(found.rounds))
    (cost,) = costs
    (round_one, *_) = job.attempts(Place(0, 0))
    chains = round_one.embeddings(round_one.parts[0])
    used = [qubit for copy in chains for chain in copy.chains for qubit in chain]
    assert (cost.copies, cost.qubits) == (3, len(used)) and len(set(used)) == len(used)
    steps = [qubo.encoding for qubo in round_one.qubos()]
    radii = [step.radius for step in steps if isinstance(step, Step)]
    first = found.rounds[0].radius
    assert radii == pytest.approx([first / 2, first, 2 * first])
    # what came back are the steps of each size, judged by F itself
    reached = []
    for number, step in enumerate(steps, 1):
        name = "samples.json" if number == 1 else f"samples-{number}.json"
        problem = round_one.problem(number)
        samples = load_samples(round_one.folder / name, problem)
        weights = problem.decode(samples.bits[:8])
        reached.append(min(objective_of(rows, w, found.l2 or 0.0) for w in weights))
        assert len(weights) and isinstance(step, Step)
    assert found.rounds[0].objective == pytest.approx(min(reached), rel=1e-9)
    here = qcompile.train(rows, solver="exact", seed=1)
    assert found.objective < here.objective + 1e-3
    asked = len(server.requests)
    again = go_on(job)
    assert weights_of(again) == weights_of(found) and len(server.requests) == asked
    assert [own.objective for own in again.rounds] == [own.objective for own in found.rounds]


@pytest.mark.parametrize("fault", ["post: reset after", "poll: cut off", "answer: flipped bit"])
def test_faults_of_the_server_change_nothing_with_step_sizes(
    server: Sapi, rows: Dataset, expected_of_copies: bytes, fault: str
) -> None:
    where, faults = GOT_OVER[fault]
    server.fail(where, lambda handler, process: handler.reply(process()))
    server.fail(where, *faults)
    assert weights_of(train(rows, sizes())) == expected_of_copies
    assert server.billed == len(server.problems) == 3


def test_a_lost_answer_and_lost_samples_of_step_sizes_are_made_again(
    server: Sapi, rows: Dataset, expected_of_copies: bytes
) -> None:
    job = train(rows, sizes()).job
    assert job is not None
    place = job.folder / "rounds" / "1-0002"
    (place / "answer-1.json").write_text("?")
    for path in place.glob("samples*.json"):
        path.unlink()
    assert weights_of(go_on(job)) == expected_of_copies
    assert server.billed == len(server.problems) == 3
    (place / "problem-2.npz").write_bytes((place / "problem.npz").read_bytes())
    with pytest.raises(LeapError, match="changed since the job was created"):
        go_on(job)


def test_step_sizes_move_to_the_present_graph_and_to_another_solver(
    server: Sapi, rows: Dataset
) -> None:
    server.add_qpu("Other", "pegasus", (3,), dead=(5,))
    offline(server, 1)
    with pytest.raises(LeapError, match="no solver online"):
        train(rows, sizes(), solver="Mock_Advantage")
    found = go_on(only_training(), solver="Other")
    assert server.billed == len(found.rounds) == 3
    assert [own["solver"]["name"] for own in server.problems.values()][1:] == ["Other"] * 2


def test_more_step_sizes_than_fit_take_smaller_blocks_or_are_refused(
    server: Sapi, rows: Dataset
) -> None:
    server.add_qpu("Small", "chimera", (2,), dead=())
    machine = LeapMachine(solver="Small", patience=QUICK)
    found = qcompile.train(rows, machine=machine, rounds=sizes(2), reads=READS, seed=1)
    assert 1 <= found.rounds[0].weights < rows.features and server.billed == 2
    options = qcompile.RoundOptions(copies=16, block=4)
    with pytest.raises(InputError, match="Small with 16 copies takes up to 2 weights") as told:
        qcompile.train(rows, machine=machine, rounds=options, reads=READS)
    assert "\n" not in str(told.value) and server.billed == 2
