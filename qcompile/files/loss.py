"""Losses to JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from qcompile.files.atomic import write_atomically
from qcompile.files.guarded import (
    check_header,
    explained,
    finite,
    header_of,
    number,
    read_json,
    whole_number,
)
from qcompile.stages.loss import Loss
from qcompile.stages.preparation import Preparation

__all__ = ["load_loss", "loss_from_dict", "loss_to_dict", "save_loss"]


def save_loss(
    loss: Loss,
    path: str | Path,
    *,
    preparation: Preparation | None = None,
    source: Mapping[str, Any] | None = None,
) -> None:
    """Write a loss as JSON."""
    content = {
        **header_of("loss"),
        **loss_to_dict(loss),
        "preparation": None if preparation is None else preparation.to_dict(),
        "source": dict(source or {}),
    }
    with write_atomically(path) as stream:
        stream.write(orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def load_loss(path: str | Path) -> Loss:
    """Read a loss that `save_loss` wrote."""
    with explained(path):
        content = read_json(path)
        check_header(content, "loss")
        return loss_from_dict(content)


def loss_to_dict(loss: Loss) -> dict[str, Any]:
    """Return the loss as a record for a file."""
    return {
        "order": loss.order,
        "coefficients": list(loss.coefficients),
        "fit": loss.fit,
        "prior_std": loss.prior_std,
        "range": loss.range_,
        "zeta": loss.zeta,
        "l2": loss.l2,
        "omega": loss.omega,
        "notes": list(loss.notes),
    }


def loss_from_dict(values: Mapping[str, Any]) -> Loss:
    """Return the loss of a record that `loss_to_dict` made."""
    finite(values["zeta"])  # for people; it follows from the others
    whole_number(values["order"])
    return Loss(
        coefficients=tuple(number(a) for a in values["coefficients"]),
        fit=str(values["fit"]),
        prior_std=number(values["prior_std"]),
        range_=number(values["range"]),
        l2=number(values["l2"]),
        omega=None if values["omega"] is None else finite(values["omega"]),
        notes=tuple(str(note) for note in values["notes"]),
    )
