"""Run a notebook in a kernel of its own and write it with its outputs: IN.ipynb OUT.ipynb.

A program of its own, because a kernel's client leaves sockets behind when it ends.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import nbclient
import nbformat
from jupyter_client.manager import AsyncKernelManager


def run(source: Path, target: Path) -> None:
    """Run all cells; an error in one of them is raised."""
    notebook = nbformat.read(source, as_version=4)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)  # the kernel's sockets are made here; no port is opened
        kernel = AsyncKernelManager(kernel_name="python3", transport="ipc")
        nbclient.NotebookClient(notebook, km=kernel, timeout=900).execute()
        os.chdir("/")
    nbformat.write(notebook, target)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    run(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
