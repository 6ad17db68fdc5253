"""The record of a compressed QUBO in its file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qcompile.errors import FormatError
from qcompile.files.guarded import as_record, finite
from qcompile.files.pubo import whole
from qcompile.stages.compression import Compression

__all__ = ["compression_from_dict", "compression_to_dict"]


def compression_to_dict(kept: Compression | None) -> dict[str, Any]:
    """Return the key of a compressed QUBO; other files do not have it."""
    if kept is None:
        return {}
    return {"compression": {"minimiser": list(kept.minimiser), "share": kept.share}}


def compression_from_dict(known: Mapping[str, Any], logical: int) -> Compression | None:
    """Return the record of a compressed QUBO, or None; raise FormatError if it is not valid."""
    if "compression" not in known:
        return None
    found = as_record(known["compression"])
    bits, share = whole(found["minimiser"]).tolist(), finite(found["share"])
    if len(bits) != logical or not {*bits} <= {0, 1}:
        raise FormatError(f"the minimiser of a compression is not {logical} bits")
    if not 0 < share <= 1:
        raise FormatError(f"a compression keeps {share:g} of heights; expected above 0, at most 1")
    return Compression(tuple(bits), share)
