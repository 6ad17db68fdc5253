"""The limits of Leap's hybrid solvers, as the catalogue has them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from qcompile.errors import FormatError
from qcompile.files.machines import hardware_folder, read_toml
from qcompile.stages.hybrid import HybridLimits

__all__ = ["hybrid_limits"]


@functools.cache
def hybrid_limits() -> HybridLimits:
    """Return the published limits of the hybrid solvers.

    >>> hybrid_limits().bqm_biases
    200000000
    """
    content = read_toml(hardware_folder() / "hybrid.toml")
    source = content.get("source", {})
    return HybridLimits(
        bqm_variables=_count(content, "bqm", "variables"),
        bqm_biases=_count(content, "bqm", "biases"),
        cqm_variables=_count(content, "cqm", "variables"),
        cqm_biases=_count(content, "cqm", "biases"),
        nl_nodes=_count(content, "nl", "nodes"),
        nl_state_bytes=_count(content, "nl", "state_bytes"),
        source=str(source.get("name", "")),
        date=str(source.get("date", "")),
    )


def _count(content: Mapping[str, Any], table: str, key: str) -> int:
    value = content.get(table, {}).get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise FormatError(f"hybrid.toml: {table}.{key} is {value!r}; expected a whole number")
    return value
