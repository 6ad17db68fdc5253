"""Show docstrings that are plain text with `code` in backticks, as they are written here.

Sphinx takes docstrings for reStructuredText, where `range_` is a link and `|x|` a substitution.
Here only backticks, doctests and blank lines mean something. Code that is a public name
becomes a link to it.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.inspect import TypeAliasForwardRef, stringify_signature

import qcompile

__all__ = ["as_rest", "setup", "signature_of"]

CODE = re.compile(r"``(.+?)``|`([^`]+)`", re.DOTALL)
MARKUP = re.compile(r"([\\*_|`])")
LINKED = re.compile(r"(?:qcompile\.)?(?:[a-z_]+\.)*(\w+)(?:\(\))?")


def as_rest(text: str, names: Collection[str] = ()) -> str:
    """Return a docstring without its indentation as reStructuredText, with links to `names`."""
    return "\n\n".join(_paragraphs(text, names))


def _paragraphs(text: str, names: Collection[str]) -> Iterator[str]:
    for paragraph in re.split(r"\n[ \t]*\n", text.strip("\n")):
        # a doctest may follow its sentence without a blank line
        prompt = re.search(r"^ *>>> ", paragraph, re.MULTILINE)
        end = prompt.start() if prompt else len(paragraph)
        told = paragraph[:end].rstrip("\n")
        if told:
            indented = all(line.startswith("    ") for line in told.split("\n"))
            yield f"::\n\n{told}" if indented else _inline(told, names)
        if prompt:
            yield paragraph[end:]


def _inline(text: str, names: Collection[str]) -> str:
    """Escape what is not code, and mark what is."""
    done, parts = 0, []
    for code in CODE.finditer(text):
        parts.append(MARKUP.sub(r"\\\1", text[done : code.start()]))
        # markup ends at a word's end only; a backslash and a space stand for nothing
        parts.append("\\ " if text[: code.start()][-1:].isalnum() else "")
        parts.append(_code(" ".join((code[1] or code[2]).split()), names))
        parts.append("\\ " if text[code.end() :][:1].isalnum() else "")
        done = code.end()
    parts.append(MARKUP.sub(r"\\\1", text[done:]))
    return "".join(parts)


def _code(code: str, names: Collection[str]) -> str:
    found = LINKED.fullmatch(code)
    if found and found[1] in names and (code == found[1] or code.startswith("qcompile.")):
        # where in the package it is defined is nobody's concern
        shown = f"qcompile.{found[1]}" if "." in code else code
        return f":py:obj:`{shown} <qcompile.{found[1]}>`"
    return f"``{code}``"


class _Made:
    """A default that is made anew for each object."""

    def __init__(self, factory: Any) -> None:
        self.factory = factory

    def __repr__(self) -> str:
        return f"{getattr(self.factory, '__name__', 'new')}()"


def signature_of(what: str, thing: Any) -> tuple[str, str] | None:
    """Return arguments and result with the types as the source has them, or None.

    Sphinx would write `Floats` out as numpy's arrays of arrays of types.
    """
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return None
    made: Mapping[str, Any] = {}
    if dataclasses.is_dataclass(thing):
        made = {field.name: field.default_factory for field in dataclasses.fields(thing)}
    arguments = [
        p.replace(default=_Made(made[p.name])) if repr(p.default) == "<factory>" else p
        for p in found.parameters.values()
    ]
    if what == "method" and arguments and arguments[0].name == "self":
        arguments = arguments[1:]
    result = found.return_annotation
    if what in ("class", "exception") or result is inspect.Signature.empty:
        result = ""
    text = stringify_signature(found.replace(parameters=arguments), show_return_annotation=False)
    return text, result if isinstance(result, str) else inspect.formatannotation(result)


def _signature(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, arguments: str, result: str
) -> tuple[str, str] | None:
    return signature_of(what, thing) if what not in ("data", "property", "attribute") else None


def _docstring(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    try:
        own = set(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        own = set()
    names = set(qcompile.__all__) - own - {name.rpartition(".")[2]}
    lines[:] = as_rest("\n".join(lines), names).split("\n")


def _skip(app: Sphinx, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what others add, and keep the types of properties as the source has them."""
    function = getattr(thing, "fget", None) or getattr(thing, "func", None)
    written = getattr(function, "__annotations__", {}).get("return")
    if function is not None and isinstance(written, str):
        function.__annotations__["return"] = TypeAliasForwardRef(written)
    # scikit-learn makes these for every estimator, with a text of its own
    return True if re.fullmatch(r"set_\w+_request", name) else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect with Sphinx."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-signature", _signature)
    app.connect("autodoc-process-docstring", _docstring)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
