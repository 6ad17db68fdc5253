"""What the programs share: where results go, CSV files with their origin, pictures, the facts."""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

from qcompile import __version__

__all__ = ["facts", "folder", "pyplot", "read_csv", "save_figure", "write_csv"]

_HERE = Path(__file__).parent


def facts(name: str) -> list[dict[str, str]]:
    """Read the paper's own numbers."""
    with (_HERE / "facts" / f"{name}.csv").open(newline="") as stream:
        return list(csv.DictReader(stream))


def folder(options: argparse.Namespace) -> Path:
    """Return the folder for results; quick runs have one of their own."""
    own = _HERE / ("quick" if options.quick else "results")
    place = Path(options.output) if options.output else own
    place.mkdir(parents=True, exist_ok=True)
    return place


def read_csv(name: str, options: argparse.Namespace) -> list[dict[str, str]]:
    """Return the rows of a table that was written before, or none."""
    path = folder(options) / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="") as stream:
        return list(csv.DictReader(line for line in stream if not line.startswith("#")))


def write_csv(name: str, rows: list[dict[str, Any]], options: argparse.Namespace) -> None:
    """Write rows, with seed, version and options in the first line."""
    path = folder(options) / f"{name}.csv"
    with path.open("w", newline="") as stream:
        stream.write(f"# qcompile {__version__}, seed {options.seed}, quick {options.quick}\n")
        writer = csv.DictWriter(stream, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"written {path}")


def pyplot() -> Any:
    """Give matplotlib without a screen."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def save_figure(figure: Any, name: str, options: argparse.Namespace) -> None:
    """Write a picture that is the same for the same numbers."""
    path = folder(options) / f"{name}.png"
    figure.tight_layout()
    figure.savefig(path, dpi=110, metadata={"Software": None})
    pyplot().close(figure)
    print(f"written {path}")
