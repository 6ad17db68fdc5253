"""Make a page of each notebook in examples/, run anew, in docs/examples/made."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

__all__ = ["as_page", "setup"]

HERE = Path(__file__).parent


def as_page(notebook: dict[str, Any], name: str) -> tuple[str, dict[str, bytes]]:
    """Return the text of the page, and its pictures by the names of their files."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        code = "\n".join(line for line in source.split("\n") if not line.startswith("%"))
        parts.append(f"```python\n{code.strip()}\n```")
        for output in cell["outputs"]:
            if output["output_type"] == "stream":
                parts.append(f"```text\n{''.join(output['text']).rstrip()}\n```")
            elif "image/png" in output.get("data", {}):
                file = f"{name}_{len(pictures) + 1}.png"
                pictures[file] = base64.b64decode("".join(output["data"]["image/png"]))
                parts.append(f"![what the code above draws]({file})")
    return "\n\n".join(parts) + "\n", pictures


def _make(app: Sphinx) -> None:
    made = Path(app.srcdir) / "examples" / "made"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    for source in sorted((Path(app.srcdir).parent / "examples").glob("*.ipynb")):
        ran = made / source.name
        # the kernel imports the qcompile that the site is about
        there = {**os.environ, "PYTHONPATH": str(Path(app.srcdir).parent)}
        command = [sys.executable, str(HERE / "run_notebook.py"), str(source), str(ran)]
        done = subprocess.run(command, env=there, capture_output=True, text=True)
        if done.returncode:
            raise ExtensionError(f"{source.name} does not run:\n{done.stderr}")
        text, pictures = as_page(json.loads(ran.read_text(encoding="utf-8")), source.stem)
        ran.unlink()
        (made / f"{source.stem}.md").write_text(text, encoding="utf-8")
        for name, content in pictures.items():
            (made / name).write_bytes(content)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect with Sphinx."""
    app.connect("builder-inited", _make)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
