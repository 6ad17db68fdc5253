"""Faults of a server that a submission gets over by itself."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import numpy as np

from tests import sapi


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
    "post: invalid id": ("post", [sapi.changed(_no_id)]),
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
