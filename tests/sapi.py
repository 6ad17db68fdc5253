"""A small solver API on loopback: the REST protocol of Leap, with a knob for every fault.

It shares no code with qcompile: problems are read with the solver's own order of qubits and
couplers, and solved by dwave-samplers on a real topology with dead qubits.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import socket
import struct
import threading
import time
import zlib
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import dimod
import numpy as np
from dwave.optimization import Model
from dwave.samplers import SimulatedAnnealingSampler
from dwave.system.testing import MockDWaveSampler

TOKEN = "DEV-5ecre7c0ffee0123456789abcdef"
Reply = tuple[int, str, Any]
Process = Callable[[], Reply]
Fault = Callable[["Handler", Process], None]

_VENDOR = "application/vnd.dwave."
# The timing model that solvers publish, in microseconds.
TIMING = {
    "version": "1.0.0",
    "typical_programming_time": 14000.0,
    "reverse_annealing_with_reinit_prog_time_delta": 0.0,
    "reverse_annealing_without_reinit_prog_time_delta": 0.0,
    "default_programming_thermalization": 1000.0,
    "default_annealing_time": 20.0,
    "readout_time_model": "pwl_log_log",
    "readout_time_model_parameters": [0.0, 3.0, 1.0, 2.0],
    "qpu_delay_time_per_sample": 20.0,
    "reverse_annealing_with_reinit_delay_time_delta": 0.0,
    "reverse_annealing_without_reinit_delay_time_delta": 0.0,
    "decorrelation_max_nominal_anneal_time": 2000.0,
    "decorrelation_time_range": [500.0, 10000.0],
    "default_readout_thermalization": 0.0,
}


class Sapi:
    """The server: what it holds, what it was asked, and how it is to misbehave."""

    def __init__(self, topology: str = "pegasus", shape: tuple[int, ...] = (3,)) -> None:
        self.problems: dict[str, dict[str, Any]] = {}
        self.uploads: dict[str, bytearray] = {}
        self.requests: list[tuple[float, str, str]] = []
        self.tokens: set[str | None] = set()
        self.faults: dict[str, list[Fault]] = defaultdict(list)
        self.pending_polls = 0
        self.list_lag = 0.0  # seconds until a problem is listed under its label
        self.outcome = "COMPLETED"
        self.lock = threading.RLock()
        self.solvers: dict[str, dict[str, Any]] = {}
        self.add_qpu("Mock_Advantage", topology, shape)
        self._add_hybrid("hybrid_bqm", "bqm", {"minimum_time_limit": [[1, 3.0], [1000, 4.0]]})
        self._add_hybrid("hybrid_nl", "nl", {"min_time_limit": 5})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.sapi = self  # type: ignore[attr-defined]
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> Sapi:
        # poll often: closing a server waits for its loop
        loop = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        loop.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()

    def environment(self, home: str) -> dict[str, str]:
        """Return the variables that lead Ocean here and nowhere else."""
        return {
            "DWAVE_API_ENDPOINT": f"{self.url}/sapi/v2/",
            "DWAVE_METADATA_API_ENDPOINT": f"{self.url}/metadata/v1/",
            "DWAVE_LEAP_API_ENDPOINT": f"{self.url}/leap/api/",
            "DWAVE_API_TOKEN": TOKEN,
            "DWAVE_CONFIG_FILE": "",
            "DWAVE_CACHE_ENABLED": "false",
            "NO_PROXY": "127.0.0.1,localhost",
            "HOME": home,
            "XDG_DATA_HOME": f"{home}/data",
            "XDG_CONFIG_HOME": f"{home}/config",
            "XDG_CACHE_HOME": f"{home}/cache",
        }

    # --- what it offers ------------------------------------------------------------------

    def add_qpu(
        self, name: str, topology: str, shape: tuple[int, ...], dead: tuple[int, ...] = (3, 8)
    ) -> None:
        """Offer a QPU; `dead` counts among its qubits."""
        whole = MockDWaveSampler(topology_type=topology, topology_shape=list(shape))
        broken = [whole.nodelist[i] for i in dead]
        mock = MockDWaveSampler(
            topology_type=topology, topology_shape=list(shape), broken_nodes=broken
        )
        properties = {
            **mock.properties,
            "qubits": list(mock.nodelist),
            "couplers": [list(edge) for edge in mock.edgelist],
            "chip_id": name,
            "category": "qpu",
            "supported_problem_types": ["ising", "qubo"],
            "num_reads_range": [1, 1000],
            "problem_timing_data": TIMING,
            "parameters": {**mock.properties["parameters"], "fast_anneal": "missing in the mock"},
        }
        mark = hashlib.sha256(json.dumps(properties["couplers"]).encode()).hexdigest()[:10]
        identity = {"name": name, "version": {"graph_id": mark}}
        self.solvers[name] = _definition(identity, _plain(properties))

    def _add_hybrid(self, name: str, kind: str, more: dict[str, Any]) -> None:
        properties = {
            "category": "hybrid",
            "supported_problem_types": [kind],
            "parameters": {"time_limit": None},
            "version": "1.0",
            "maximum_time_limit_hrs": 24.0,
            "quota_conversion_rate": 1,
            **more,
        }
        self.solvers[name] = _definition({"name": name}, properties)

    # --- how it misbehaves ---------------------------------------------------------------

    def fail(self, where: str, *faults: Fault, times: int = 1) -> None:
        """Let the next requests of a kind fail, each in its way."""
        with self.lock:
            self.faults[where] += list(faults) * times

    def take_fault(self, where: str) -> Fault | None:
        with self.lock:
            waiting = self.faults[where]
            return waiting.pop(0) if waiting else None

    def count(self, where: str) -> int:
        return sum(kind == where for _, kind, _ in self.requests)

    @property
    def billed(self) -> int:
        """How many problems have run."""
        return sum(problem["status"] == "COMPLETED" for problem in self.problems.values())

    def times(self, where: str) -> list[float]:
        return [moment for moment, kind, _ in self.requests if kind == where]

    # --- problems ------------------------------------------------------------------------

    def submit(self, body: dict[str, Any]) -> dict[str, Any]:
        name = body["solver"]["name"]
        solver = self.solvers.get(name)
        if solver is None or body["solver"] != solver["identity"]:
            return {"error_code": 404, "error_msg": "Solver does not exist or is not supported"}
        refusal = _refusal(body, solver["properties"]) if body["type"] == "ising" else None
        if refusal is not None:
            return {"error_code": 400, "error_msg": refusal}
        with self.lock:
            number = f"{len(self.problems):08x}-aaaa-4bbb-8ccc-0123456789ab"
            self.problems[number] = {
                "id": number,
                "type": body["type"],
                "solver": body["solver"],
                "label": body.get("label"),
                "status": "PENDING",
                "submitted_on": datetime.now(UTC).isoformat(),
                "params": body["params"],
                "data": body["data"],
                "polls": self.pending_polls,
            }
            return self.status(number)

    def status(self, number: str, *, poll: bool = False) -> dict[str, Any]:
        with self.lock:
            problem = self.problems[number]
            if poll and problem["status"] == "PENDING":
                problem["polls"] -= 1
                if problem["polls"] < 0:
                    problem["status"] = self.outcome
            names = ("id", "type", "solver", "label", "status", "submitted_on")
            shown = {name: problem[name] for name in names}
            if problem["status"] == "FAILED":
                shown["error_message"] = "Internal SAPI error 1234"
            return shown

    def answered(self, number: str) -> dict[str, Any]:
        problem = self.problems[number]
        shown = self.status(number)
        if problem["status"] == "COMPLETED":
            if "answer" not in problem:
                problem["answer"] = self._solve(number, problem)
            shown["answer"] = dict(problem["answer"])
        return shown

    def cancel(self, number: str) -> dict[str, Any]:
        problem = self.problems.get(number)
        if problem is None:
            return {"error_code": 404, "error_msg": "Problem does not exist"}
        if problem["status"] != "PENDING":
            return {"error_code": 409, "error_msg": "Problem has been finished."}
        problem["status"] = "CANCELLED"
        return self.status(number)

    def _solve(self, number: str, problem: dict[str, Any]) -> dict[str, Any]:
        if problem["type"] == "ising":
            return self._anneal(problem)
        content = bytes(self.uploads[problem["data"]["data"]])
        if problem["type"] == "bqm":
            bqm = dimod.BinaryQuadraticModel.from_file(io.BytesIO(content))
            found = SimulatedAnnealingSampler().sample(bqm, num_reads=20, num_sweeps=200, seed=1)
            found.info.clear()
            found.info.update(qpu_access_time=30000, charge_time=3000000, run_time=2990000)
            return {"format": "bq", "data": found.to_serializable()}
        problem["states"] = _nonlinear_states(content)
        return {
            "format": "binary-ref",
            "auth_method": "sapi-token",
            "url": f"{self.url}/sapi/v2/problems/{number}/answer/data/",
            "timing": {"qpu_access_time": 20000, "charge_time": 5000000, "run_time": 4900000},
            "shape": {},
        }

    def _anneal(self, problem: dict[str, Any]) -> dict[str, Any]:
        properties = self.solvers[problem["solver"]["name"]]["properties"]
        bqm, active = _read_qp(problem["data"], properties)
        params = problem["params"]
        reads = int(params.get("num_reads", 1))
        pulled = bqm.copy()
        for qubit, flux in enumerate(params.get("flux_biases", ())):
            if flux:  # a positive flux holds a qubit at +1
                pulled.add_linear(qubit, -1e3 * float(np.sign(flux)))
        how: dict[str, Any] = {"num_sweeps": 200}
        if "initial_state" in params:  # cold: every read ends near it
            state = {q: params["initial_state"][q] for q in active}
            how = {"num_sweeps": 2, "initial_states": state, "beta_range": [50.0, 100.0]}
        found = SimulatedAnnealingSampler().sample(pulled, num_reads=reads, seed=7, **how)
        found = dimod.SampleSet.from_samples_bqm(found, bqm).aggregate()
        order = [list(found.variables).index(q) for q in active]
        rows = (np.asarray(found.record.sample)[:, order] > 0).astype(np.uint8)
        return {
            "format": "qp",
            "num_variables": properties["num_qubits"],
            "active_variables": _encoded(np.array(active, dtype="<i4")),
            "num_occurrences": _encoded(found.record.num_occurrences.astype("<i4")),
            "energies": _encoded(found.record.energy.astype("<f8")),
            "solutions": base64.b64encode(np.packbits(rows, axis=1).tobytes()).decode(),
            "timing": {"qpu_access_time": 100 * reads + 15000, "qpu_programming_time": 15000},
        }


def _definition(identity: dict[str, Any], properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "identity": identity,
        "status": "ONLINE",
        "description": "for tests",
        "avg_load": 0.1,
        "properties": properties,
    }


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=lambda x: list(x) if hasattr(x, "__iter__") else x))


def _encoded(array: Any) -> str:
    return base64.b64encode(array.tobytes()).decode()


def _read_qp(data: dict[str, Any], properties: dict[str, Any]) -> tuple[Any, list[int]]:
    lin = np.frombuffer(base64.b64decode(data["lin"]), dtype="<f8")
    quad = np.frombuffer(base64.b64decode(data["quad"]), dtype="<f8")
    fields = {
        q: float(h) for q, h in zip(properties["qubits"], lin, strict=True) if not np.isnan(h)
    }
    couplers = [(a, b) for a, b in properties["couplers"] if a in fields and b in fields]
    couplings = {pair: float(j) for pair, j in zip(couplers, quad, strict=True)}
    return dimod.BinaryQuadraticModel.from_ising(fields, couplings), sorted(fields)


def _refusal(body: dict[str, Any], properties: dict[str, Any]) -> str | None:
    """Say why a QPU does not take these parameters; a real one checks no less."""
    params, size = body["params"], properties["num_qubits"]
    strange = sorted(set(params) - set(properties["parameters"]))
    if strange:
        return f"unknown parameter {strange[0]}"
    bqm, active = _read_qp(body["data"], properties)
    schedule, state = params.get("anneal_schedule"), params.get("initial_state")
    reverse = bool(schedule) and schedule[0][1] == 1
    if reverse != (state is not None):
        return "reverse annealing needs an initial state and a schedule from s = 1"
    if state is not None:
        used = [q for q in range(size) if state[q] != 3]
        if len(state) != size or used != active or any(state[q] not in (-1, 1) for q in active):
            return "initial_state: expected -1 or 1 for every active qubit and 3 for others"
    if schedule:
        most = properties["max_anneal_schedule_points"] + reverse
        times = [point[0] for point in schedule]
        if len(schedule) > most or times != sorted(set(times)) or schedule[-1][1] != 1:
            return "invalid anneal_schedule"
    fast = params.get("fast_anneal", False)
    if fast and any(bqm.linear.values()):
        return "fast_anneal: h must be zero"
    low, high = properties["fast_anneal_time_range" if fast else "annealing_time_range"]
    if not low <= params.get("annealing_time", low) <= high:
        return "annealing_time out of range"
    if len(params.get("flux_biases", range(size))) != size:
        return "flux_biases: expected one for each qubit"
    low, high = properties["h_gain_schedule_range"]
    if not all(low <= gain <= high for _, gain in params.get("h_gain_schedule", ())):
        return "h_gain_schedule out of range"
    return None


def _nonlinear_states(content: bytes) -> bytes:
    """Draw assignments at random and keep the best twenty."""
    model = Model.from_file(io.BytesIO(content))
    (decision,) = model.iter_decisions()
    rng = np.random.default_rng(0)
    whole = decision.shape()[0]
    low = np.broadcast_to(getattr(decision, "lower_bound", lambda: 0)(), whole)
    high = np.broadcast_to(getattr(decision, "upper_bound", lambda: 1)(), whole)
    drawn = rng.integers(low.astype(int), high.astype(int) + 1, (300, whole))
    with model.lock():
        model.states.resize(len(drawn))
        for i, row in enumerate(drawn):
            decision.set_state(i, row)
        values = [float(model.objective.state(i)) for i in range(len(drawn))]
        best = drawn[np.argsort(values)[:20]]
        model.states.resize(len(best))
        for i, row in enumerate(best):
            decision.set_state(i, row)
        stream = io.BytesIO()
        model.states.into_file(stream)
    return stream.getvalue()


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    @property
    def sapi(self) -> Sapi:
        found: Sapi = self.server.sapi  # type: ignore[attr-defined]
        return found

    def do_GET(self) -> None:
        self._route("GET")

    def do_POST(self) -> None:
        self._route("POST")

    def do_PUT(self) -> None:
        self._route("PUT")

    def do_DELETE(self) -> None:
        self._route("DELETE")

    def _route(self, method: str) -> None:
        body = self._body()
        parts = urlsplit(self.path)
        query = {k: v[0] for k, v in parse_qs(parts.query).items()}
        place = [p for p in parts.path.split("/") if p]
        where, process = self._find(method, place, query, body)
        self.sapi.requests.append((time.monotonic(), where, self.path))
        self.sapi.tokens.add(self.headers.get("X-Auth-Token"))
        fault = self.sapi.take_fault(where)
        with contextlib.suppress(ConnectionError):
            if fault is not None:
                fault(self, process)
            elif where != "regions" and self.headers.get("X-Auth-Token") != TOKEN:
                self.answer(401, "text/plain", b"Invalid token")
            else:
                self.reply(process())

    def _body(self) -> bytes:
        content = b""
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                content += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        elif "Content-Length" in self.headers:
            content = self.rfile.read(int(self.headers["Content-Length"]))
        return zlib.decompress(content) if self.headers.get("Content-Encoding") else content

    def _find(
        self, method: str, place: list[str], query: dict[str, str], body: bytes
    ) -> tuple[str, Process]:
        sapi = self.sapi
        if place[:1] == ["metadata"]:
            region = {"code": "test-1", "name": "Test", "endpoint": f"{sapi.url}/sapi/v2/"}
            return "regions", lambda: (200, "metadata.regions+json; version=1.0", [region])
        rest = place[2:]
        if rest[:2] == ["solvers", "remote"]:
            return "solvers", lambda: _solvers(sapi, rest[2:])
        if rest[:2] == ["bqm", "multipart"]:
            return "upload", lambda: _upload(sapi, method, rest[2:], body)
        if rest == ["problems"] and method == "POST":
            return "post", lambda: _list([sapi.submit(item) for item in json.loads(body)])
        if rest == ["problems"] and method == "DELETE":
            return "cancel", lambda: _list([sapi.cancel(number) for number in json.loads(body)])
        if rest == ["problems"] and "id" in query:
            return "poll", lambda: _poll(sapi, query["id"].split(","))
        if rest == ["problems"]:
            return "list", lambda: _by_label(sapi, query.get("label", ""))
        if rest[:1] == ["problems"] and rest[2:] == ["answer", "data"]:
            states = sapi.problems[rest[1]].get("states", b"")
            return "download", lambda: (200, "application/octet-stream", states)
        if rest[:1] == ["problems"] and len(rest) == 2:
            return "answer", lambda: _problem(sapi, rest[1])
        return "other", lambda: (404, "text/plain", b"no such place")

    def reply(self, given: Reply) -> None:
        code, kind, content = given
        if not isinstance(content, bytes):
            content = json.dumps(content).encode()
        if "+json" in kind:
            kind = _VENDOR + (kind if "version" in kind else f"{kind}; version=3.0.0")
        self.answer(code, kind, content)

    def answer(
        self, code: int, kind: str, content: bytes, headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    def cut_off(self) -> None:
        """Reset the connection, as a crashing proxy does."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        # the files keep the socket open: end it below them
        self.connection.shutdown(socket.SHUT_RD)
        self.rfile.close()
        with contextlib.suppress(OSError):
            self.wfile.close()
        self.connection.close()


def _list(content: list[Any]) -> Reply:
    return 200, "sapi.problems+json", content


def _solvers(sapi: Sapi, name: list[str]) -> Reply:
    if not name:
        return 200, "sapi.solver-definition-list+json", list(sapi.solvers.values())
    if name[0] not in sapi.solvers:
        return 404, "text/plain", b"Solver does not exist"
    return 200, "sapi.solver-definition+json", sapi.solvers[name[0]]


def _upload(sapi: Sapi, method: str, place: list[str], body: bytes) -> Reply:
    kind = "application/json"
    if not place:
        number = f"upload-{len(sapi.uploads)}"
        sapi.uploads[number] = bytearray()
        return 200, kind, {"id": number}
    content = sapi.uploads[place[0]]
    if place[1] == "part":
        content[:] = body
        return 200, kind, {}
    if place[1] == "status":
        mark = hashlib.md5(bytes(content)).hexdigest()
        parts = [{"part_number": 1, "checksum": mark}] if content else []
        return 200, kind, {"status": "UPLOAD_IN_PROGRESS", "parts": parts}
    return 200, kind, {}


def _poll(sapi: Sapi, numbers: list[str]) -> Reply:
    if any(number not in sapi.problems for number in numbers):
        return 404, "text/plain", b"Problem does not exist"
    return _list([sapi.status(number, poll=True) for number in numbers])


def _by_label(sapi: Sapi, label: str) -> Reply:
    latest = (datetime.now(UTC) - timedelta(seconds=sapi.list_lag)).isoformat()
    found = [
        number
        for number, problem in sapi.problems.items()
        if label in (problem["label"] or "") and problem["submitted_on"] <= latest
    ]
    return _list([sapi.status(number) for number in found])


def _problem(sapi: Sapi, number: str) -> Reply:
    if number not in sapi.problems:
        return 404, "text/plain", b"Problem does not exist"
    return 200, "sapi.problem+json", sapi.answered(number)


# --- faults ------------------------------------------------------------------------------


def status(code: int, text: str = "trouble", **headers: str) -> Fault:
    """Answer with an error."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    def fault(handler: Handler, process: Process) -> None:
        handler.answer(code, "text/plain", text.encode(), named)

    return fault


def status_after(code: int) -> Fault:
    """Do what was asked, and answer with an error all the same."""

    def fault(handler: Handler, process: Process) -> None:
        process()
        handler.answer(code, "text/plain", b"trouble")

    return fault


def reset(handler: Handler, process: Process) -> None:
    """Break the connection before anything is done."""
    handler.cut_off()


def reset_after(handler: Handler, process: Process) -> None:
    """Do what was asked, then break the connection: the client cannot know."""
    process()
    handler.cut_off()


def hang(seconds: float, *, first: bool = True) -> Fault:
    """Say nothing for a long time."""

    def fault(handler: Handler, process: Process) -> None:
        if first:
            process()
        time.sleep(seconds)
        handler.cut_off()

    return fault


def garbage(handler: Handler, process: Process) -> None:
    """Do it, and answer with something that is no JSON."""
    code, kind, _ = process()
    handler.reply((code, kind, b"<html>502 Bad Gateway</html>"))


def wrong_type(handler: Handler, process: Process) -> None:
    """Do it, and answer as something else."""
    _, _, content = process()
    handler.answer(200, "text/html", json.dumps(content).encode())


def half_then(act: Callable[[], None]) -> Fault:
    """Send half of the reply, then let something happen."""

    def fault(handler: Handler, process: Process) -> None:
        code, kind, content = process()
        text = json.dumps(content).encode()
        handler.send_response(code)
        handler.send_header("Content-Type", f"{_VENDOR}{kind}; version=3.0.0")
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text[: len(text) // 2])
        handler.wfile.flush()
        act()
        handler.cut_off()

    return fault


half = half_then(lambda: None)


def after(act: Callable[[], None]) -> Fault:
    """Do what was asked, then let something happen before the reply."""

    def fault(handler: Handler, process: Process) -> None:
        process()
        act()
        handler.cut_off()

    return fault


def changed(change: Callable[[Any], Any]) -> Fault:
    """Do it, and change what is told."""

    def fault(handler: Handler, process: Process) -> None:
        code, kind, content = process()
        copy = json.loads(json.dumps(content))
        handler.reply((code, kind, change(copy)))

    return fault


def redirect(where: str) -> Fault:
    """Send the client elsewhere."""
    return status(307, Location=where)
