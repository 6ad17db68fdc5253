"""What is installed is what is imported, and says the same of itself everywhere."""

from __future__ import annotations

import ast
import configparser
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

import qcompile

ROOT = Path(__file__).parents[2]
# Where the name of what is imported is not that of the package.
PACKAGES = {"sklearn": "scikit-learn", "neal": "dwave-neal", "dwave.cloud": "dwave-cloud-client"}
# Named by the users of the project; it stands for dwave-samplers' annealer, under its older name.
GIVEN = {"dwave-neal"}
OPTIONAL = {
    "dask": {"dask", "distributed"},
    "onnx": {"onnx"},
    "plot": {"matplotlib"},
    "skops": {"skops"},
    "tables": {"pyarrow"},
}
# Subpackages that have the public name of a module of earlier versions, or the command.
EXPORTING = {"cli", "sklearn"}
# What pip must not be asked for: under the bare name the public index has another project. The
# name is in brackets of its own, so that the pattern does not find itself.
ANOTHER = re.compile(r"(?:qcompile)\[|pip3? install (?:-\S+ +)*['\"]?qcompile(?![-\w/])")


@pytest.fixture(scope="module")
def setup() -> configparser.ConfigParser:
    found = configparser.ConfigParser()
    found.read(ROOT / "setup.cfg", encoding="utf-8")
    return found


def names_in(lines: str) -> set[str]:
    given = (line.strip() for line in lines.split("\n"))
    return {re.split(r"[\s<>=]", line)[0] for line in given if line and line[0] != "#"}


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
    assert used - set().union(*OPTIONAL.values()) == required - GIVEN
    assert required >= GIVEN
    for extra, names in OPTIONAL.items():
        assert names_in(setup["options.extras_require"][extra]) == names
        assert names_in(setup["options.extras_require"]["dev"]) >= names


@pytest.mark.skipif("QCOMPILE_LOWEST" not in os.environ, reason="only in `make test-lowest`")
def test_what_is_tested_is_the_lowest_that_is_declared(setup: configparser.ConfigParser) -> None:
    """A floor that no other requirement lets in is one that nobody has tried."""
    declared = "\n".join(
        [
            setup["options"]["install_requires"],
            *(setup["options.extras_require"][extra] for extra in OPTIONAL),
        ]
    )
    lines = [line for line in map(str.strip, declared.split("\n")) if line and line[0] != "#"]
    wrong = {}
    for name, floor in (re.split(r"\s*>=\s*", line) for line in lines):
        if Version(version(name)) != Version(floor):
            wrong[name] = (floor, version(name))
    assert not wrong


def tracked() -> list[Path]:
    """Return the files under version control; without that, as in an archive, all but hidden."""
    if shutil.which("git") and (ROOT / ".git").exists():
        names = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.split("\0")
        return [ROOT / name for name in names if name and (ROOT / name).is_file()]
    return [
        path
        for path in ROOT.rglob("*")
        if path.is_file() and not any(p.startswith(".") for p in path.relative_to(ROOT).parts)
    ]


def test_no_hint_names_another_project_of_the_public_index(
    setup: configparser.ConfigParser,
) -> None:
    assert setup["metadata"]["name"] == "qcompile-anneal"
    bare = "qcompile"
    assert ANOTHER.search(f"pip install '{bare}[dask]'")
    assert ANOTHER.search(f"pip install --upgrade {bare}")
    assert not ANOTHER.search("pip install 'qcompile-anneal[dask]'")
    wrong = {
        str(path.relative_to(ROOT)): found.group()
        for path in tracked()
        if (found := ANOTHER.search(path.read_text(encoding="utf-8", errors="ignore")))
    }
    assert not wrong


def test_the_workflow_tries_every_python_that_is_declared(
    setup: configparser.ConfigParser,
) -> None:
    yaml: Any = pytest.importorskip("yaml")
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]
    declared = re.findall(r"Python :: (3\.\d+)", setup["metadata"]["classifiers"])
    assert jobs["all"]["strategy"]["matrix"]["python"] == declared
    steps = {name: [step.get("run") for step in job["steps"]] for name, job in jobs.items()}
    assert ".ci/run" in steps["all"]
    assert "make test-lowest" in steps["lowest"]
    assert "make quick" in steps["macos"]
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert [hook["id"] for hook in hooks[0]["hooks"]] == ["ruff", "ruff-format", "mypy"]


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


def test_every_subpackage_is_installed(setup: configparser.ConfigParser) -> None:
    listed = setup["options"]["packages"].split()
    found = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in (ROOT / "qcompile").rglob("__init__.py")
    }
    assert sorted(listed) == sorted({*found, "qcompile.hardware"})


def test_every_data_file_is_installed(setup: configparser.ConfigParser) -> None:
    patterns = {name: lines.split() for name, lines in setup["options.package_data"].items()}
    inside = [path for path in tracked() if (ROOT / "qcompile") in path.parents]
    data = [path for path in inside if path.suffix not in (".py", ".pyc", ".nbi", ".nbc")]
    assert any(path.suffix == ".css" for path in data)
    for path in data:
        package = ".".join(path.parent.relative_to(ROOT).parts)
        assert any(path.match(pattern) for pattern in patterns.get(package, ())), path


def test_no_subpackage_has_the_name_of_a_public_function() -> None:
    """Or `import qcompile.train as t` would give a function."""
    rooms = {path.parent.name for path in (ROOT / "qcompile").glob("*/__init__.py")}
    tops = {path.stem for path in (ROOT / "qcompile").glob("*.py")}
    assert not (rooms | tops) & set(qcompile.__all__)
    for room in rooms:
        assert not hasattr(qcompile, room) or sys.modules[f"qcompile.{room}"] is getattr(
            qcompile, room
        )


def test_subpackages_say_what_belongs_in_them_and_export_nothing() -> None:
    for path in (ROOT / "qcompile").glob("*/__init__.py"):
        tree = ast.parse(path.read_text())
        text = ast.get_docstring(tree) or ""
        assert "Belongs here:" in text and "Does not belong here:" in text, path
        assert len(tree.body) == 1 or path.parent.name in EXPORTING, path
