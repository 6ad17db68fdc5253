"""The one place that knows how kernels are compiled. Importing it imports numba."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["jit"]


Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def jit(function: Kernel) -> Kernel:
    """Compile a kernel on first use; it releases the interpreter's lock while it runs."""
    try:
        compiled = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder can be written to keep the compiled code
        compiled = numba.njit(nogil=True)(function)
    return cast(Kernel, compiled)
