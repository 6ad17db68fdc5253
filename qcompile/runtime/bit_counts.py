"""The number of ones of a 64-bit word, for kernels: one instruction, also of whole vectors."""

from typing import Any

from numba.core import types
from numba.extending import intrinsic

__all__ = ["ones"]


@intrinsic  # type: ignore[untyped-decorator]
def ones(context: Any, word: Any) -> Any:
    """Return how many bits of a word are set."""

    def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), code
