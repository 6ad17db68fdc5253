"""A connection to Leap, as Ocean is configured, to one solver, by single requests.

Ocean's own futures poll in background threads and do not tell if the outcome of a request is
unknown. Here every request is made once, in the calling thread, through the client's REST layer
(`dwave.cloud.api`), so that a job folder can be written before and after each request.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any, TypeVar
from urllib.parse import urlsplit

import orjson

from qcompile.errors import FormatError, InputError, LeapError, MemoryLimitError
from qcompile.files.machines import machine_from_sampler
from qcompile.leap.deadline import Deadline
from qcompile.leap.http import guard_session
from qcompile.leap.records import PROBLEM_ID, Solver
from qcompile.leap.redaction import keep_secret, scrub, withholding
from qcompile.leap.retry import REJECTED, UNKNOWN, Failure, Patience, ask, attempt, refuse_late
from qcompile.runtime.text import one_line
from qcompile.stages.machine import Machine

__all__ = [
    "PROBLEM_TYPES",
    "SOLVER_TYPES",
    "Leap",
    "Listed",
    "connect",
    "described_by_server",
]


SOLVER_TYPES = ("qpu", "hybrid", "nl")
PROBLEM_TYPES = {"qpu": "ising", "hybrid": "bqm", "nl": "nl"}

# The solver that is used if none is named: Ocean's own choices.
_CHOICES: dict[str, dict[str, Any]] = {
    "qpu": {"qpu": True, "order_by": "-num_active_qubits"},
    "hybrid": {"supported_problem_types__contains": "bqm", "order_by": "-properties.version"},
    "nl": {"supported_problem_types__contains": "nl", "order_by": "-properties.version"},
}
_MOST_FOUND = 100  # problems with one label
_MOST_POLLED = 100  # ids in one address
_UPLOAD_PART = 5 << 20  # bytes, as Ocean uploads them
# Visible characters without quotes and backslashes, which messages would show in another form.
_TOKEN = re.compile(r"[!#-&(-\[\]-_a-~]+")
_LOOPBACK = ("127.0.0.1", "localhost", "::1")

T = TypeVar("T")


@dataclass(frozen=True, order=True)
class Listed:
    """A problem on the server; the older of two problems is the lesser one."""

    submitted: str
    id: str
    status: str


class Leap:
    """An open connection to one region of Leap, as one user; see `connect`."""

    def __init__(
        self, client: Any, solver_type: str, patience: Patience, deadline: Deadline
    ) -> None:
        from dwave.cloud import api

        self.solver_type = solver_type
        self.patience = patience
        self.deadline = deadline
        self.endpoint = _plain(str(client.config.endpoint))
        self._client = client
        # the session repeats nothing: the caller decides whether a request may be repeated
        self._problems = api.Problems.from_config(
            client.config, retry={"total": 0}, compress_qpu_problem_data=True
        )
        guard_session(self._problems.session, lambda: min(patience.request, deadline.left))
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

    def _ask(self, call: Callable[[], T], what: str, *, give_up: float | None = None) -> T:
        """Repeat a request until it succeeds; see `ask`."""
        return ask(call, self.patience, what, deadline=self.deadline, give_up=give_up)

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

        found = self._ask(fetch, "the list of solvers")
        if found is None:
            raise InputError(self._not_found())
        with described_by_server():
            problem = _mismatch(found, self.solver_type)
        if problem:
            raise InputError(f"solver {one_line(found.name)}: {problem}")
        return found

    def _not_found(self) -> str:
        known = self._ask(lambda: self._client.get_solvers(refresh=True), "the list of solvers")
        with described_by_server():
            fitting = sorted(one_line(s.name) for s in known if not _mismatch(s, self.solver_type))
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
        with described_by_server():
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
        what = "uploading the problem"
        size = {"size": len(content)}
        started = self._ask(lambda: self._upload("POST", "", json=size), what)
        name = _checked_id(started.get("id"))
        marks: list[bytes] = []
        for number, start in enumerate(range(0, len(content), _UPLOAD_PART), 1):
            part = content[start : start + _UPLOAD_PART]
            marks.append(hashlib.md5(part, usedforsecurity=False).digest())
            headers = {
                "Content-MD5": base64.b64encode(marks[-1]).decode(),
                "Content-Type": "application/octet-stream",
            }
            place = f"/{name}/part/{number}"
            self._ask(
                lambda place=place, part=part, headers=headers: self._upload(  # type: ignore[misc]
                    "PUT", place, data=part, headers=headers
                ),
                what,
            )
        whole = hashlib.md5(b"".join(marks), usedforsecurity=False).hexdigest()
        self._ask(lambda: self._upload("POST", f"/{name}/combine", json={"checksum": whole}), what)
        return name

    def _upload(self, method: str, place: str, **content: Any) -> dict[str, Any]:
        """Make one request of an upload, and return the reply."""
        reply = self._problems.session.request(method, f"../bqm/multipart{place}", **content)
        found = orjson.loads(reply.content)
        if not isinstance(found, dict):
            raise ValueError("expected an object")
        return found

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
        with self.deadline.waiting():
            replies, failure = attempt(lambda: self._problems.submit_problems([job]))
        if failure is not None:
            return None, failure
        if not replies or len(replies) != 1:
            text = f"a reply for {len(replies or [])} problems, not 1"
            return None, Failure(UNKNOWN, text, replied=True)
        reply = replies[0]
        if isinstance(reply, models.ProblemSubmitError):
            return None, Failure(REJECTED, one_line(f"{reply.error_code}, {reply.error_msg}"))
        if not PROBLEM_ID.fullmatch(reply.id):
            return None, Failure(UNKNOWN, "a reply with an invalid problem id", replied=True)
        if reply.label != label:
            text = f"a reply for the label {one_line(reply.label)!r}"
            return str(reply.id), Failure(UNKNOWN, text, replied=True)
        return str(reply.id), None

    def listed(self, label: str) -> list[Listed]:
        """Return the problems with exactly this label, the oldest first."""
        query = {"label": label, "max_results": _MOST_FOUND}
        found = self._ask(
            lambda: _rows(self._get("", query, "problems"), "id", "label", "submitted_on"),
            "looking up the job by its label",
        )
        # the server also returns longer labels that contain this one
        return sorted(_listed(row) for row in found if row["label"] == label)

    def listed_as(self, problem: str, label: str) -> Listed | None:
        """Return a problem as the list will have it, or None if it has another label."""
        found = self.answer(problem)
        return _listed(found) if found.get("label") == label else None

    def statuses(self, ids: Sequence[str], most: float | None = None) -> dict[str, str]:
        """Return the status of each problem; the server holds the request until one changes.

        It holds it for `most` seconds, if that is less than `patience.hold`.

        A poll waits here until `patience.poll` seconds after the last one. After failures it is
        repeated until the deadline, or for `patience.give_up` seconds if there is none.
        """
        known: dict[str, str] = {}
        left = self.deadline.left
        limited = left < float("inf")
        limits = [] if most is None else [int(most) or 1]
        if limited:  # the reply needs some of the time that is left
            limits.append(max(0, int(left - 1)))
        hold = min([self.patience.hold, *limits])
        for start in range(0, len(ids), _MOST_POLLED):
            some = ids[start : start + _MOST_POLLED]
            # the first change of any problem ends the wait for all
            query = {"id": ",".join(some), "timeout": hold if start == 0 else 0}
            self.await_poll()
            self._last_poll = time.monotonic()
            found = self._ask(
                lambda query=query: _rows(self._get("", query, "problems"), "id", "status"),  # type: ignore[misc]
                "asking for the status of the job",
                give_up=left if limited else None,
            )
            known |= {str(row["id"]): str(row["status"]) for row in found if row["id"] in some}
        return known

    def await_poll(self) -> None:
        """Wait until the next poll is allowed."""
        self.deadline.pause(self._last_poll + self.patience.poll - time.monotonic())

    def answer(self, problem: str) -> dict[str, Any]:
        """Fetch the status and the answer of a problem, again if the reply cannot be read."""
        found = self._ask(
            lambda: _rows([self._get(problem, {}, "problem")], "id", "status")[0],
            "fetching the answer",
        )
        if found["id"] != problem:
            raise LeapError(f"fetching the answer: the server sent that of {one_line(found['id'])}")
        return found

    def _get(self, path: str, query: Mapping[str, Any], kind: str) -> Any:
        """Return a reply in JSON.

        Ocean's models are not used: they refuse valid answers that lack optional fields.
        """
        media = f"application/vnd.dwave.sapi.{kind}+json"
        return orjson.loads(self._read(path, query, media, accept_version="~=3.0"))

    def _read(self, path: str, query: Mapping[str, Any], media: str, **accept: Any) -> bytes:
        """Return a whole reply."""
        session = self._problems.session
        if accept:
            accept["ask_version"] = "3.0.0"
        session.set_accept(media_type=media, **accept)
        try:
            return bytes(session.get(path, params=dict(query)).content)
        finally:
            session.unset_accept()

    def download(self, answer: Mapping[str, Any]) -> bytes:
        """Fetch the binary part of an answer, from the server of the problem only."""
        from dwave.cloud.api import constants, models

        reference, failure = attempt(
            lambda: models.UnstructuredProblemAnswerBinaryRef.model_validate(dict(answer))
        )
        if reference is None or failure is not None:
            raise LeapError("fetching the answer: the server does not say where it is")
        # it raises ValueError for some addresses
        address, _ = attempt(lambda: str(self._problems.session.create_url(reference.url)))
        if address is None or not _is_plain(address) or _place(address) != _place(self.endpoint):
            raise LeapError("the answer is on another server; the token is not sent there")
        if reference.auth_method != constants.BinaryRefAuthMethod.SAPI_TOKEN:
            raise LeapError(
                f"fetching the answer needs {one_line(reference.auth_method)!r}; not supported"
            )
        return self._ask(
            lambda: self._read(reference.url, {}, "application/octet-stream"),
            "fetching the answer",
        )

    def cancel(self, ids: Sequence[str]) -> None:
        """Ask for problems to be cancelled; `statuses` tells whether they were."""
        self._ask(lambda: self._problems.cancel_problems(list(ids)), "cancelling the job")

    def refuse_late(self, what: str) -> None:
        """Raise LeapError if no time is left for a request."""
        refuse_late(self.deadline, what)


@contextmanager
def described_by_server() -> Iterator[None]:
    """Turn every error that the description of a solver can cause into one line."""
    reason = ""
    try:
        yield
    except (InputError, LeapError, MemoryLimitError):
        raise
    except FormatError as error:
        reason = str(error)
    except Exception as error:  # Ocean's code may raise anything at a damaged description
        reason = f"{type(error).__name__}: {error}"
    else:
        return
    raise LeapError(
        f"the server's description of the solver is invalid ({one_line(scrub(reason))})"
    )


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
    timeout: float | None = None,
) -> Iterator[Leap]:
    """Connect to Leap as Ocean is configured: dwave.conf, DWAVE_* variables, profile, region.

    All requests and pauses together take at most `timeout` seconds, if it is given.
    """
    if solver_type not in SOLVER_TYPES:
        raise InputError(f"solver type {solver_type!r}; expected one of {', '.join(SOLVER_TYPES)}")
    own: dict[str, Any] = {"profile": profile, "region": region}
    if solver is not None:
        own["solver"] = solver
    elif solver_type != "qpu":  # ignore a QPU that dwave.conf names
        own["solver"] = _CHOICES[solver_type]
    waiting = patience or Patience()
    deadline = Deadline() if timeout is None else Deadline(timeout)

    def allowed() -> float:
        return min(waiting.request, deadline.left)

    with withholding():
        client, failure = attempt(lambda: _client(solver_type, own, deadline, allowed))
    if client is None:
        assert failure is not None
        raise InputError(_configuration_error(failure.detail or failure.text))
    try:
        connection = Leap(client, solver_type, waiting, deadline)
    except BaseException:
        client.close(wait=False)
        raise
    try:
        yield connection
    finally:
        connection.close()


def _client(
    solver_type: str, own: Mapping[str, Any], deadline: Deadline, allowed: Callable[[], float]
) -> Any:
    """Return Ocean's client, after checking that its address is that of the region."""
    from dwave.cloud.client import Client
    from dwave.cloud.config import load_config
    from dwave.cloud.config.models import validate_config_v1
    from dwave.cloud.regions import resolve_endpoints

    class StrictClient(Client):  # type: ignore[misc]
        """Ocean's client with guarded sessions."""

        def create_session(self) -> Any:
            session = super().create_session()
            guard_session(session, allowed)
            return session

        @property
        def solvers_session(self) -> Any:
            made = getattr(self, "_solvers_session", None) is None
            found = super().solvers_session
            if made:
                guard_session(found.session, allowed)
            return found

    raw = load_config(**own)
    token = str(raw.get("token") or "").strip()
    keep_secret(token, raw.get("token"), urlsplit(raw.get("proxy") or "").password)
    if token and not _TOKEN.fullmatch(token):
        raise ValueError(
            "the API token has a blank, a quote or another character that no token has; copy it "
            "again from Leap"
        )
    if raw.get("token") and not token:
        raise ValueError("API token not defined")
    config = validate_config_v1({**raw, "client": None, "token": token})
    if _names_region(config):
        with deadline.waiting():
            config.endpoint = _endpoint_of_region(config, allowed)
    config = resolve_endpoints(config)
    _check_address(str(config.endpoint), config.proxy)
    return StrictClient.from_config(
        **{k: v for k, v in own.items() if k != "region"},
        client="base",
        endpoint=config.endpoint,
        token=token or None,
        connection_close=solver_type != "qpu",
        defaults={"solver": _CHOICES[solver_type], "http_retry_total": 0},
    )


def _names_region(config: Any) -> bool:
    """Whether the address of the region is to be looked up, as Ocean itself decides it."""
    from dwave.cloud.config import constants

    if config.endpoint or config.leap_api_endpoint:
        return False
    config.region = config.region or constants.DEFAULT_REGION
    place = config.metadata_api_endpoint or constants.DEFAULT_METADATA_API_ENDPOINT
    usual = (constants.DEFAULT_REGION, constants.DEFAULT_METADATA_API_ENDPOINT)
    return (config.region, place) != usual


def _endpoint_of_region(config: Any, allowed: Callable[[], float]) -> str:
    """Look up the address of a region. Ocean itself would use the default region if that fails."""
    from dwave.cloud import api

    place = config.metadata_api_endpoint
    _check_address(str(place), config.proxy)
    # the token is not needed there
    with api.Regions.from_config(
        config.model_copy(update={"token": None}), retry={"total": 0}
    ) as found:
        guard_session(found.session, allowed)
        regions, failure = attempt(found.list_regions)
    if failure is not None:
        raise ValueError(
            f"region {config.region} could not be looked up ({failure.text}), and no other one is "
            "used"
        )
    known = {region.code: region.endpoint for region in regions or ()}
    if config.region not in known:
        raise ValueError(
            f"region {config.region!r} is unknown; expected one of {', '.join(sorted(known))}"
        )
    return str(known[config.region])


def _check_address(endpoint: str, proxy: str | None) -> None:
    """Raise ValueError for an address that would expose the token."""
    import requests

    if not _is_plain(endpoint):
        raise ValueError(
            f"endpoint {_plain(endpoint)}: expected https://HOST/PATH without user, password, "
            "blanks or backslashes"
        )
    scheme, host, _ = _place(endpoint)
    if scheme == "https":
        return
    if host not in _LOOPBACK:
        raise ValueError(f"endpoint {_plain(endpoint)}: not https, the token would be exposed")
    around = requests.utils.get_environ_proxies(endpoint)
    if proxy or requests.utils.select_proxy(endpoint, around):
        raise ValueError(
            f"endpoint {_plain(endpoint)}: a proxy is configured and would read the token; set "
            f"NO_PROXY={host} and remove proxy from dwave.conf"
        )


# Libraries differ in how they read any other address.
_ADDRESS = re.compile(
    r"https?://(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?"
    r"(?:/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?"
)


def _is_plain(address: str) -> bool:
    """Whether every library reads an address in the same way."""
    if not _ADDRESS.fullmatch(address):
        return False
    port = address.split("/")[2].rpartition(":")[2]
    return not port.isdigit() or 0 < int(port) < 1 << 16


def _place(address: str) -> tuple[str, str, int]:
    """Return scheme, host and port of a plain address."""
    parts = urlsplit(address)
    port = (443 if parts.scheme == "https" else 80) if parts.port is None else parts.port
    return parts.scheme, parts.hostname or "", port


def _plain(endpoint: str) -> str:
    """Return an address without user, password or query."""
    try:
        parts = urlsplit(endpoint)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "(unreadable)"
    host = f"[{host}]" if ":" in host else host
    place = host if port is None else f"{host}:{port}"
    return one_line(f"{parts.scheme}://{place}{parts.path.rstrip('/')}/")


def _configuration_error(reason: str) -> str:
    if "token not defined" in reason:
        return (
            "no API token: set DWAVE_API_TOKEN, or run `dwave setup` once (it writes dwave.conf); "
            "without an account: solve(problem), or rehearse(problem)"
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
