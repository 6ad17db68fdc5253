"""Parameters that had another name in earlier versions: the old name still works, and warns."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

__all__ = ["renamed", "renamed_fields"]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_T = TypeVar("_T")


def renamed(**names: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Let a function take parameters by their old names, with a DeprecationWarning.

    >>> @renamed(shrink="prune")
    ... def compile(*, prune=False):
    ...     return prune
    >>> with warnings.catch_warnings(action="ignore"):
    ...     compile(shrink=True)
    True
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @functools.wraps(function)
        def call(*args: _P.args, **given: _P.kwargs) -> _R:
            for old in [name for name in given if name in names]:
                _warn(old, names[old], depth=3)
                # both are given by `dataclasses.replace`, which adds the present value of the new
                given[names[old]] = given.pop(old)
            return function(*args, **given)

        return call

    return decorate


def renamed_fields(**names: str) -> Callable[[type[_T]], type[_T]]:
    """Let a dataclass take and show fields by their old names, with a DeprecationWarning."""

    def decorate(kind: type[_T]) -> type[_T]:
        made: Any = kind
        made.__init__ = renamed(**names)(made.__init__)
        for old, new in names.items():
            setattr(kind, old, property(functools.partial(_old_field, old=old, new=new)))
        return kind

    return decorate


def _old_field(record: Any, *, old: str, new: str) -> Any:
    _warn(old, new, depth=3)
    return getattr(record, new)


def _warn(old: str, new: str, *, depth: int) -> None:
    warnings.warn(f"{old}= is deprecated: use {new}=", DeprecationWarning, stacklevel=depth)
