"""Ctrl-C while the package is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# Python that gets Ctrl-C at the moment when numpy is first imported.
INTERRUPTED = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
sys.argv[:] = [{name!r}, 'data', '--list']
import qcompile.__main__
"""


def test_ctrl_c_during_the_start_is_one_line() -> None:
    for name in ("qcompile", "/usr/bin/qcompile", "/lib/qcompile/__main__.py"):
        code = INTERRUPTED.format(name=name)
        found = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert (found.returncode, found.stderr) == (130, "qcompile: interrupted\n")


def test_python_m_qcompile_is_the_command_too(tmp_path: Path) -> None:
    """The same with -m, by a file that Python runs at its start."""
    finder = INTERRUPTED.partition("sys.argv")[0]
    (tmp_path / "sitecustomize.py").write_text(finder)
    root = str(Path(__file__).parent.parent)
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"}
    found = subprocess.run(
        [sys.executable, "-m", "qcompile", "data", "--list"],
        capture_output=True, text=True, check=False, env=environment,
    )  # fmt: skip
    assert (found.returncode, found.stderr) == (130, "qcompile: interrupted\n")


def test_a_program_that_imports_qcompile_keeps_its_signals() -> None:
    for name in ("program.py", "-c", "/srv/qcompile/app.py"):
        code = (
            f"import signal, sys; sys.argv[0] = {name!r}; import qcompile\n"
            "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
        )
        subprocess.run([sys.executable, "-c", code], check=True)
    started = (
        "import signal, sys\n"
        "def own(number, frame): pass\n"
        "signal.signal(signal.SIGINT, own)\n"
        "sys.argv[0] = 'qcompile'\n"
        "from qcompile.cli import main\n"
        "main(['data', '--list', '-q'])\n"
        "assert signal.getsignal(signal.SIGINT) is own\n"
    )
    subprocess.run([sys.executable, "-c", started], check=True)


def test_a_command_that_runs_gets_ctrl_c_as_python_does() -> None:
    code = (
        "import signal, sys; sys.argv[0] = 'qcompile'\n"
        "from qcompile.cli import main\n"
        "assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler\n"
        "main(['data', '--list', '-q'])\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
