"""The token is in no log, no file and no error."""

from __future__ import annotations

import logging
import pickle
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from qcompile import InputError, LeapError, Submission
from qcompile.leap import client, redaction
from tests import sapi
from tests.leap.faults import GOT_OVER
from tests.leap.jobs import QUICK
from tests.sapi import TOKEN, Sapi


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
    monkeypatch.setenv("DWAVE_API_ENDPOINT", f"{server.url}/sapi/v2/".replace("http:", "https:"))
    with client.connect(patience=QUICK) as connection:
        assert redaction.scrub("pr0xy-w0rd") == "***"
        place = f"{server.url}/sapi/v2/problems/x/answer/data/"
        answer = {"format": "binary-ref", "url": place, "timing": {}, "shape": {}}
        with pytest.raises(LeapError, match="another server"):
            connection.download(answer)
