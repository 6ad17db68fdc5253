"""Tables of openml.org, fetched by scikit-learn."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Any

from qcompile.errors import InputError
from qcompile.runtime.text import one_line
from qcompile.stages.frame import Frame, frame_of

__all__ = ["fetched", "is_openml"]


_log = logging.getLogger("qcompile")
_PREFIX = "openml:"


def is_openml(source: str | Path) -> bool:
    """Whether a source names a table of openml.org, as in ``openml:credit-g``."""
    return isinstance(source, str) and source.startswith(_PREFIX)


def fetched(source: str) -> Frame:
    """Return a table of openml.org: ``openml:NAME``, ``openml:NAME/VERSION`` or ``openml:ID``.

    scikit-learn fetches it over the network, checks its digest, and keeps it in its data folder.
    """
    from sklearn.datasets import fetch_openml

    name, _, version = source.removeprefix(_PREFIX).partition("/")
    if not name or (version and not version.isdecimal()):
        raise InputError(f"{source}: expected openml:NAME, openml:NAME/VERSION or openml:NUMBER")
    which: dict[str, Any] = {"data_id": int(name)} if name.isdecimal() else {"name": name}
    if version:
        which["version"] = int(version)
    _log.info("%s: fetching it from openml.org, unless an earlier copy is there", source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of retries; the error below tells the reason
            found = fetch_openml(**which, as_frame=True, parser="auto")
    except ImportError:
        raise InputError(f"{source}: reading it needs pandas: pip install pandas") from None
    except Exception as error:  # whatever the network and its libraries raise
        raise InputError(
            f"{source}: cannot be fetched from openml.org ({one_line(error)[:200]}); expected a "
            "connection to the network and the name of a set there"
        ) from None
    frame = frame_of(found.frame, source)
    target = found.target_names or []
    return Frame(
        frame.name, frame.names, frame.rows, frame.convert,
        label=target[0] if len(target) == 1 else None,
    )  # fmt: skip
