"""The public names: what type checkers read is what a program gets."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

import qcompile


def _declared() -> dict[str, str]:
    """Return the module of each name that type checkers see."""
    tree = ast.parse(Path(qcompile.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {
        alias.name: str(node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_each_name_is_imported_from_the_module_that_type_checkers_read() -> None:
    declared = _declared()
    assert sorted([*declared, "__version__"]) == sorted(qcompile.__all__)
    for name, module in declared.items():
        assert getattr(qcompile, name) is getattr(import_module(module), name), name


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'compiles'"):
        qcompile.compiles  # noqa: B018
