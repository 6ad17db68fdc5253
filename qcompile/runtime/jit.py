"""Compile kernels: the one place that sets how. Importing it imports numba."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["jit"]


Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def jit(function: Kernel) -> Kernel:
    """Compile a kernel on first use; it releases the interpreter's lock while it runs."""
    try:
        compiled = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # there is no folder in which the compiled code can be kept
        compiled = numba.njit(nogil=True)(function)
    return cast(Kernel, compiled)
