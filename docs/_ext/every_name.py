"""Warn of public names of qcompile that the API reference leaves out."""

from __future__ import annotations

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

import qcompile

__all__ = ["setup"]


def _check(app: Sphinx, env: BuildEnvironment) -> None:
    told = env.get_domain("py").data["objects"]
    for name in qcompile.__all__:
        if f"qcompile.{name}" not in told:
            logging.getLogger(__name__).warning("qcompile.%s is not in docs/api", name)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect with Sphinx."""
    app.connect("env-check-consistency", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
