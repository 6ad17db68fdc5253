"""Imports stand at the top of a module unless what they bring in is heavy."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import qcompile

PACKAGE = Path(qcompile.__file__).parent
# The modules that compile numba kernels import it through `jit`.
HEAVY = {"dask", "dimod", "distributed", "dwave", "matplotlib", "minorminer", "networkx", "numba",
         "rich", "scipy", "sklearn", "qcompile.runtime.jit"}  # fmt: skip
# What `qcompile --help` waits for imports no numpy at the top.
LIGHT = {"cli/app.py", "cli/hints.py"}


def file_of(module: str) -> Path:
    path = PACKAGE.parent / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def imported_by(statement: ast.stmt) -> list[str]:
    """Name the modules that a statement imports, those of ours in full."""
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    if isinstance(statement, ast.ImportFrom) and statement.module:
        inner = [f"{statement.module}.{alias.name}" for alias in statement.names]
        return [name if file_of(name).is_file() else statement.module for name in inner]
    return []


def late_imports() -> Iterator[tuple[str, str]]:
    """Yield the places of imports inside functions, and the modules of ours that they import."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for statement in ast.walk(function):
                    if isinstance(statement, ast.Import | ast.ImportFrom):
                        for name in imported_by(statement):
                            if name.startswith("qcompile"):
                                yield f"{path.relative_to(PACKAGE)}:{statement.lineno}", name


def is_heavy(module: str) -> bool:
    """Whether importing a module imports a heavy package."""
    names = [n for s in ast.parse(file_of(module).read_text()).body for n in imported_by(s)]
    return any(name in HEAVY or name.partition(".")[0] in HEAVY for name in names)


def is_late_for_help(place: str, module: str) -> bool:
    """Whether `qcompile --help` would wait for numpy if a module were imported at the top."""
    names = [n for s in ast.parse(file_of(module).read_text()).body for n in imported_by(s)]
    return place.partition(":")[0] in LIGHT and "numpy" in names


def test_only_heavy_modules_are_imported_inside_functions() -> None:
    found = list(late_imports())
    assert len(found) > 10
    assert [
        (place, name)
        for place, name in found
        if not (is_heavy(name) or is_late_for_help(place, name))
    ] == []


def test_modules_that_are_loaded_anyway_are_imported_at_the_top() -> None:
    code = "import sys, qcompile, qcompile.cli; print(*sys.modules)"
    listed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = set(listed.stdout.split())
    assert "qcompile.cli.app" in loaded
    assert [(place, name) for place, name in late_imports() if name in loaded] == []
