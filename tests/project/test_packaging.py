"""What is installed is what is imported, and says the same of itself everywhere."""

from __future__ import annotations

import ast
import configparser
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import qcompile

ROOT = Path(__file__).parents[2]
# Where the name of what is imported is not that of the package.
PACKAGES = {"sklearn": "scikit-learn", "neal": "dwave-neal", "dwave.cloud": "dwave-cloud-client"}
# Named by the users of the project; it stands for dwave-samplers' annealer, under its older name.
GIVEN = {"dwave-neal"}
OPTIONAL = {"dask", "distributed"}


@pytest.fixture(scope="module")
def setup() -> configparser.ConfigParser:
    found = configparser.ConfigParser()
    found.read(ROOT / "setup.cfg", encoding="utf-8")
    return found


def names_in(lines: str) -> set[str]:
    return {re.split(r"[\s<>=]", line)[0] for line in lines.split("\n") if line.strip()}


def imported(file: Path) -> Iterator[str]:
    """Return what a file imports from others, also inside of functions."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            names = [node.module]
        else:
            continue
        for name in names:
            top, *rest = name.split(".")
            if top not in sys.stdlib_module_names and top != "qcompile":
                module = f"{top}.{rest[0]}" if top == "dwave" else top
                yield PACKAGES.get(module, module.replace(".", "-").replace("_", "-"))


def test_what_is_required_is_what_is_imported(setup: configparser.ConfigParser) -> None:
    required = names_in(setup["options"]["install_requires"])
    used = {name for file in (ROOT / "qcompile").rglob("*.py") for name in imported(file)}
    assert used - OPTIONAL == required - GIVEN
    assert required >= GIVEN
    assert names_in(setup["options.extras_require"]["dask"]) == OPTIONAL


def test_developers_can_build_the_docs(setup: configparser.ConfigParser) -> None:
    extras = setup["options.extras_require"]
    assert names_in(extras["dev"]) > names_in(extras["docs"])


def test_the_version_is_in_one_place(setup: configparser.ConfigParser) -> None:
    assert setup["metadata"]["version"] == "attr: qcompile._version.__version__"
    written = [
        file.relative_to(ROOT)
        for file in [*ROOT.glob("*.toml"), *ROOT.glob("*.cf*"), *(ROOT / "qcompile").rglob("*.py")]
        if f'"{qcompile.__version__}"' in file.read_text(encoding="utf-8")
    ]
    assert written == [Path("qcompile/_version.py")]
