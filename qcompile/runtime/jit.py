"""Compile kernels: the one place that sets how. Importing it imports numba."""

import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core import event

__all__ = ["jit"]


_log = logging.getLogger("qcompile")

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


class _FirstTime(event.Listener):  # type: ignore[misc]
    """Says once that kernels are being compiled; those that were kept on disk are not."""

    told = False

    def on_start(self, found: Any) -> None:
        kernel = getattr(found.data.get("dispatcher"), "py_func", None)
        if self.told or not getattr(kernel, "__module__", "").startswith("qcompile."):
            return
        self.told = True
        _log.info("compiling kernels, which takes some seconds; they are kept for later runs")

    def on_end(self, found: Any) -> None:
        """Do nothing."""


_first_time = _FirstTime()
event.register("numba:compile", _first_time)


def jit(function: Kernel) -> Kernel:
    """Compile a kernel on first use; it releases the interpreter's lock while it runs."""
    try:
        compiled = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # there is no folder in which the compiled code can be kept
        compiled = numba.njit(nogil=True)(function)
    return cast(Kernel, compiled)
