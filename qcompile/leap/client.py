"""A connection to Leap, as Ocean is configured, to one solver, by single requests.

Ocean's own futures poll in background threads and do not tell if the outcome of a request is
unknown. Here every request is made once, in the calling thread, through the client's REST layer
(`dwave.cloud.api`), so that a job folder can be written before and after each request.
"""

from __future__ import annotations

import hmac
import io
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import orjson

from qcompile.errors import InputError, LeapError
from qcompile.files.machines import machine_from_sampler
from qcompile.leap.records import PROBLEM_ID, Solver
from qcompile.leap.redaction import keep_secret, scrub, withholding
from qcompile.leap.retry import REJECTED, UNKNOWN, Failure, Patience, ask, attempt
from qcompile.stages.machine import Machine

__all__ = ["PROBLEM_TYPES", "SOLVER_TYPES", "Leap", "Listed", "connect"]


SOLVER_TYPES = ("qpu", "hybrid", "nl")
PROBLEM_TYPES = {"qpu": "ising", "hybrid": "bqm", "nl": "nl"}

# The solver that is used if none is named: Ocean's own choices.
_CHOICES: dict[str, dict[str, Any]] = {
    "qpu": {"qpu": True, "order_by": "-num_active_qubits"},
    "hybrid": {"supported_problem_types__contains": "bqm", "order_by": "-properties.version"},
    "nl": {"supported_problem_types__contains": "nl", "order_by": "-properties.version"},
}
_CONNECT = 10.0  # seconds
_LARGEST_ANSWER = 1 << 30  # bytes
# An upload is many requests, which the client repeats by itself: allow as many times `give_up`.
_UPLOADS = 10
_MOST_FOUND = 100  # problems with one label
_MOST_POLLED = 100  # ids in one address
_CHUNK = 1 << 16


@dataclass(frozen=True, order=True)
class Listed:
    """A problem on the server; the older of two problems is the lesser one."""

    submitted: str
    id: str
    status: str


class Leap:
    """An open connection to one region of Leap, as one user; see `connect`."""

    def __init__(self, client: Any, solver_type: str, patience: Patience) -> None:
        from dwave.cloud import api

        self.solver_type = solver_type
        self.patience = patience
        self.endpoint = _plain(str(client.config.endpoint))
        self._client = client
        # the session repeats nothing: the caller decides whether a request may be repeated
        self._problems = api.Problems.from_config(
            client.config,
            retry={"total": 0},
            timeout=(_CONNECT, patience.request),
            compress_qpu_problem_data=True,
        )
        self._problems.session.max_redirects = 0
        self._last_poll = float("-inf")

    def __repr__(self) -> str:
        return f"Leap({self.endpoint!r}, {self.solver_type!r})"

    def __reduce__(self) -> Any:
        raise TypeError("a connection to Leap cannot be pickled: it holds the token")

    def fingerprint(self, job: str) -> str:
        """Return a mark of the account: a digest of the token, keyed with the job's id."""
        token = str(self._client.config.token).encode()
        return hmac.new(f"qcompile {job}".encode(), token, "sha256").hexdigest()[:24]

    def close(self) -> None:
        """Close the connection."""
        self._problems.close()
        self._client.close(wait=False)

    # --- the solver -----------------------------------------------------------------------

    @cached_property
    def solver(self) -> Any:
        """The solver that the configuration or the caller names, as it was when first used."""
        from dwave.cloud.exceptions import SolverNotFoundError

        def fetch() -> Any:
            # a solver that is missing is not a failure of the request: do not repeat it
            try:
                return self._client.get_solver(refresh=True)
            except SolverNotFoundError:
                return None

        found = ask(fetch, self.patience, "the list of solvers")
        if found is None:
            raise InputError(self._not_found())
        problem = _mismatch(found, self.solver_type)
        if problem:
            raise InputError(f"solver {found.name}: {problem}")
        return found

    def _not_found(self) -> str:
        known = ask(
            lambda: self._client.get_solvers(refresh=True), self.patience, "the list of solvers"
        )
        fitting = sorted(s.name for s in known if not _mismatch(s, self.solver_type))
        wanted = {k: v for k, v in (self._client.config.solver or {}).items() if k != "order_by"}
        offered = ", ".join(fitting) or "none"
        return (
            f"no solver online for {wanted}; of type {self.solver_type} there are: {offered} "
            "(name one with solver=, or choose another solver_type= or profile=)"
        )

    def refresh(self) -> None:
        """Fetch the solver anew when it is next used: its working graph may have changed."""
        self.__dict__.pop("solver", None)
        self.__dict__.pop("machine", None)

    @cached_property
    def machine(self) -> Machine:
        """The working graph and the ranges of a QPU."""
        solver = self.solver
        return machine_from_sampler(
            SimpleNamespace(
                properties=solver.properties,
                nodelist=sorted(solver.nodes),
                edgelist=sorted(solver.undirected_edges),
            )
        )

    @property
    def identity(self) -> Solver:
        """The name and the version of the solver."""
        return Solver.from_dict(self.solver.identity.dict())

    # --- problems -------------------------------------------------------------------------

    def encode(
        self, fields: Mapping[int, float], couplings: Mapping[tuple[int, int], float]
    ) -> dict[str, Any]:
        """Return an Ising problem in the solver's order of qubits and couplers."""
        from dwave.cloud.coders import encode_problem_as_qp

        return dict(encode_problem_as_qp(self.solver, fields, couplings, 0.0, True))

    def upload(self, content: bytes) -> str:
        """Upload the data of a problem for a hybrid solver, which is not billed; return its id."""
        found, failure = attempt(
            lambda: self._client.upload_problem_encoded(io.BytesIO(content)).result(
                timeout=_UPLOADS * self.patience.give_up
            )
        )
        if failure is not None:
            raise LeapError(f"uploading the problem: {failure.text}")
        return _checked_id(found)

    def post(
        self, data: Mapping[str, Any], parameters: Mapping[str, Any], label: str
    ) -> tuple[str | None, Failure | None]:
        """Submit one problem, once, and return its id or the failure.

        Both are returned if the server replied with an id, but for another label.
        """
        from dwave.cloud.api import models

        class Job(models.ProblemJob):  # type: ignore[misc]
            """Leaves out what is None, as Ocean does: hybrid solvers have no version."""

            def model_dump(self, **options: Any) -> Any:
                return super().model_dump(**options, exclude_none=True)

        kind = PROBLEM_TYPES[self.solver_type]
        solver = dict(self.solver.identity.dict())
        job = Job(data=dict(data), params=dict(parameters), solver=solver, type=kind, label=label)
        replies, failure = attempt(lambda: self._problems.submit_problems([job]))
        if failure is not None:
            return None, failure
        if not replies or len(replies) != 1:
            text = f"a reply for {len(replies or [])} problems, not 1"
            return None, Failure(UNKNOWN, text, replied=True)
        reply = replies[0]
        if isinstance(reply, models.ProblemSubmitError):
            return None, Failure(REJECTED, scrub(f"{reply.error_code}, {reply.error_msg}"))
        if not PROBLEM_ID.fullmatch(reply.id):
            return None, Failure(UNKNOWN, "a reply with an invalid problem id", replied=True)
        if reply.label != label:
            text = f"a reply for the label {scrub(str(reply.label))!r}"
            return str(reply.id), Failure(UNKNOWN, text, replied=True)
        return str(reply.id), None

    def listed(self, label: str) -> list[Listed]:
        """Return the problems with exactly this label, the oldest first."""
        query = {"label": label, "max_results": _MOST_FOUND}
        found = ask(
            lambda: _rows(self._get("", query, "problems"), "id", "label", "submitted_on"),
            self.patience,
            "looking up the job by its label",
        )
        # the server also returns longer labels that contain this one
        return sorted(_listed(row) for row in found if row["label"] == label)

    def listed_as(self, problem: str, label: str) -> Listed | None:
        """Return a problem as the list will have it, or None if it has another label."""
        found = self.answer(problem)
        return _listed(found) if found.get("label") == label else None

    def statuses(
        self, ids: Sequence[str], left: float | None = None, most: float | None = None
    ) -> dict[str, str]:
        """Return the status of each problem; the server holds the request until one changes.

        It holds it for `most` seconds, if that is less than `patience.hold`.

        A poll waits here until `patience.poll` seconds after the last one. After failures it is
        repeated for `left` seconds.
        """
        known: dict[str, str] = {}
        limits = (limit for limit in (left, most) if limit is not None)
        hold = min([self.patience.hold, *(int(limit) or 1 for limit in limits)])
        for start in range(0, len(ids), _MOST_POLLED):
            some = ids[start : start + _MOST_POLLED]
            # the first change of any problem ends the wait for all
            query = {"id": ",".join(some), "timeout": hold if start == 0 else 0}
            time.sleep(max(0.0, self._last_poll + self.patience.poll - time.monotonic()))
            self._last_poll = time.monotonic()
            found = ask(
                lambda query=query: _rows(self._get("", query, "problems"), "id", "status"),  # type: ignore[misc]
                self.patience,
                "asking for the status of the job",
                give_up=None if left is None else max(left, self.patience.give_up),
            )
            known |= {str(row["id"]): str(row["status"]) for row in found if row["id"] in some}
        return known

    def answer(self, problem: str) -> dict[str, Any]:
        """Fetch the status and the answer of a problem, again if the reply cannot be read."""
        found = ask(
            lambda: _rows([self._get(problem, {}, "problem")], "id", "status")[0],
            self.patience,
            "fetching the answer",
        )
        if found["id"] != problem:
            raise LeapError(
                f"fetching the answer: the server sent that of {scrub(str(found['id']))}"
            )
        return found

    def _get(self, path: str, query: Mapping[str, Any], kind: str) -> Any:
        """Return a reply in JSON.

        Ocean's models are not used: they refuse valid answers that lack optional fields.
        """
        media = f"application/vnd.dwave.sapi.{kind}+json"
        return orjson.loads(self._read(path, query, media, accept_version="~=3.0"))

    def _read(self, path: str, query: Mapping[str, Any], media: str, **accept: Any) -> bytes:
        """Return a whole reply, within the limits on its time and size."""
        session = self._problems.session
        deadline = time.monotonic() + self.patience.request
        if accept:
            accept["ask_version"] = "3.0.0"
        session.set_accept(media_type=media, **accept)
        try:
            with session.get(path, params=dict(query), stream=True) as response:
                with _cut_off_at(deadline, response):
                    content = bytearray()
                    for chunk in response.iter_content(_CHUNK):
                        content += chunk
                        if len(content) > _LARGEST_ANSWER:
                            raise ValueError(f"it exceeds {_LARGEST_ANSWER} bytes")
                return bytes(content)
        finally:
            session.unset_accept()

    def download(self, answer: Mapping[str, Any]) -> bytes:
        """Fetch the binary part of an answer, from the server of the problem only."""
        from dwave.cloud.api import constants, models

        reference = models.UnstructuredProblemAnswerBinaryRef.model_validate(dict(answer))
        address = urlsplit(self._problems.session.create_url(reference.url))
        home = urlsplit(self.endpoint)
        if (address.scheme, address.netloc) != (home.scheme, home.netloc):
            raise LeapError("the answer is on another server; the token is not sent there")
        if reference.auth_method != constants.BinaryRefAuthMethod.SAPI_TOKEN:
            raise LeapError(f"fetching the answer needs {reference.auth_method!r}; not supported")
        return ask(
            lambda: self._read(reference.url, {}, "application/octet-stream"),
            self.patience,
            "fetching the answer",
        )

    def cancel(self, ids: Sequence[str]) -> None:
        """Ask for problems to be cancelled; `statuses` tells whether they were."""
        ask(
            lambda: self._problems.cancel_problems(list(ids)),
            self.patience,
            "cancelling the job",
        )


@contextmanager
def _cut_off_at(deadline: float, response: Any) -> Iterator[None]:
    """End a reply at a deadline; the timeout of a socket starts anew with every byte."""
    end = getattr(response.raw, "shutdown", response.raw.close)
    timer = threading.Timer(max(0.0, deadline - time.monotonic()), end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _rows(reply: Any, *names: str) -> list[dict[str, Any]]:
    """Return a reply that is a list of objects with these fields, or raise ValueError."""
    if not isinstance(reply, list) or not all(
        isinstance(row, dict) and all(name in row for name in names) for row in reply
    ):
        raise ValueError(f"expected {', '.join(names)}")
    return reply


@contextmanager
def connect(
    solver_type: str = "qpu",
    *,
    solver: str | None = None,
    profile: str | None = None,
    region: str | None = None,
    patience: Patience | None = None,
) -> Iterator[Leap]:
    """Connect to Leap as Ocean is configured: dwave.conf, DWAVE_* variables, profile, region."""
    if solver_type not in SOLVER_TYPES:
        raise InputError(f"solver type {solver_type!r}; expected one of {', '.join(SOLVER_TYPES)}")
    own: dict[str, Any] = {"profile": profile, "region": region}
    if solver is not None:
        own["solver"] = solver
    elif solver_type != "qpu":  # ignore a QPU that dwave.conf names
        own["solver"] = _CHOICES[solver_type]
    with withholding():
        waiting = patience or Patience()
        client, failure = attempt(lambda: _client(solver_type, own, waiting.request))
    if client is None:
        assert failure is not None
        raise InputError(_configuration_error(failure.detail or failure.text))
    try:
        connection = Leap(client, solver_type, waiting)
    except BaseException:
        client.close(wait=False)
        raise
    try:
        yield connection
    finally:
        connection.close()


def _client(solver_type: str, own: Mapping[str, Any], request: float) -> Any:
    """Return Ocean's client, after checking that its address is that of the region."""
    from dwave.cloud.client import Client
    from dwave.cloud.config import load_config
    from dwave.cloud.config.models import validate_config_v1
    from dwave.cloud.regions import resolve_endpoints

    class StrictClient(Client):  # type: ignore[misc]
        """Follows no redirect, which would send the token to another host."""

        def create_session(self) -> Any:
            session = super().create_session()
            session.max_redirects = 0
            return session

        @property
        def solvers_session(self) -> Any:
            found = super().solvers_session
            found.session.max_redirects = 0
            return found

    raw = load_config(**own)
    keep_secret(raw.get("token"), urlsplit(raw.get("proxy") or "").password)
    asked = raw.get("region")
    config = resolve_endpoints(validate_config_v1({**raw, "client": None}))
    if asked and not raw.get("endpoint") and config.region != asked:
        raise ValueError(f"region {asked} could not be looked up, and no other one is used")
    _check_address(str(config.endpoint))
    return StrictClient.from_config(
        **{k: v for k, v in own.items() if k != "region"},
        client="base",
        endpoint=config.endpoint,
        connection_close=solver_type != "qpu",
        defaults={
            "solver": _CHOICES[solver_type],
            "request_timeout": (_CONNECT, request),
            "http_retry_total": 0,
        },
    )


def _check_address(endpoint: str) -> None:
    parts = urlsplit(endpoint)
    if parts.scheme != "https" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        raise ValueError(f"endpoint {_plain(endpoint)}: not https, the token would be exposed")


def _plain(endpoint: str) -> str:
    """Return an address without user, password or query."""
    parts = urlsplit(endpoint)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    place = host if parts.port is None else f"{host}:{parts.port}"
    return f"{parts.scheme}://{place}{parts.path.rstrip('/')}/"


def _configuration_error(reason: str) -> str:
    if "token not defined" in reason:
        return (
            "no API token: set DWAVE_API_TOKEN, or run `dwave setup` once (it writes dwave.conf); "
            'without an account: solve(problem), or solve(problem, solver="mock")'
        )
    return f"Ocean's configuration: {reason} (look at it with: dwave config inspect)"


def _mismatch(solver: Any, solver_type: str) -> str:
    """Return why a solver cannot take problems of a type, or an empty text."""
    types = set(getattr(solver, "supported_problem_types", None) or [])
    wanted = PROBLEM_TYPES[solver_type]
    if wanted not in types:
        return f"takes problems of type {', '.join(sorted(types)) or 'unknown'}, not {wanted}"
    if solver_type == "qpu":
        kind = solver.properties.get("topology", {}).get("type")
        if kind not in ("chimera", "pegasus", "zephyr"):
            return f"has topology {kind!r}; expected chimera, pegasus or zephyr"
    return ""


def _listed(row: Mapping[str, Any]) -> Listed:
    return Listed(str(row.get("submitted_on")), _checked_id(row["id"]), str(row.get("status")))


def _checked_id(found: Any) -> str:
    if not isinstance(found, str) or not PROBLEM_ID.fullmatch(found):
        raise LeapError("the server returned an invalid problem id")
    return found
