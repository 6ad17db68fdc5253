"""RESULTS.md and a picture from the CSV files; ratios first."""

from __future__ import annotations

import csv
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["PARTS", "write"]

PARTS = ("reductions", "exactness", "samplers", "embeddings")
Rows = list[dict[str, str]]

_HEAD = """# qcompile beside its peers

Made by `python -m benchmarks.peers` (peers: `pip install -e '.[bench]'`); this page and the picture
are written from the CSV files beside it. All of a table were measured in one run on one machine,
each peer in a process of its own, with its own defaults. Read the ratios: they are peer over
qcompile, so above 1 means that qcompile does better. Versions: {versions}.
"""

_NOTES = {
    "reductions": """## Reduction to a QUBO

From a dictionary of terms to each library's finished model, best of three. Memory is above what
the process held before. An empty row names what went wrong. dimod wants a strength from its caller:
1.0, as Ocean's composite. Strengths that keep the minimum cost dynamic range: compare it with the
next table.""",
    "exactness": """## Are minima kept?

Random problems with each library's defaults, judged by looking at all assignments: the reduced
problem has the same minimum, and reaches it only where the polynomial does. Problems of more than
22 variables after reduction are not judged.""",
    "samplers": """## Samplers

Complete cubics with normal coefficients; seconds until the lowest known energy is reached with
99% probability, median of three problems, sweeps tuned on one grid, one thread each. A read of ours
ends in the lowest state it passed, one of the others in its last. `inf`: never reached.""",
    "embeddings": """## Embeddings

The same QUBO on the same whole graph with the same time budget, fewest qubits of three seeds.
minorminer stops when it has found one; qcompile searches on, within the budget.""",
}


def write(folder: Path) -> None:
    """Write the page and the picture."""
    parts = [_HEAD.format(versions=_versions())]
    for part in PARTS:
        rows = _read(folder / f"{part}.csv")
        if rows:
            parts.append(f"{_NOTES[part]}\n\n{_table(rows)}")
    if _draw(folder):
        parts.insert(1, "![ratios](ratios.png)\n")
    (folder / "RESULTS.md").write_text("\n".join(parts) + "\n")
    print(f"written {folder / 'RESULTS.md'}")


def _versions() -> str:
    found = []
    for name in (
        "dimod",
        "pyqubo",
        "qubovert",
        "amplify",
        "openjij",
        "dwave-samplers",
        "minorminer",
    ):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} not installed")
    return ", ".join(found)


def _read(path: Path) -> Rows:
    if not path.exists():
        return []
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def _table(rows: Rows) -> str:
    """Ratios come first after what was measured."""
    names = list(rows[0])
    texts = [n for n in names if n in ("problem", "problems", "peer", "machine", "method", "bits",
                                       "sampler")]  # fmt: skip
    ratios = [n for n in names if n.startswith("times_")]
    rest = [n for n in names if n not in texts + ratios and n != "trouble"]
    order = [*texts, *ratios, *rest] + (["trouble"] if any(r.get("trouble") for r in rows) else [])
    lines = [order, ["---"] * len(order)]
    lines += [[_shown(row.get(name) or "") for name in order] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _shown(text: str) -> str:
    try:
        return text if text.isdigit() else f"{float(text):.3g}"
    except ValueError:
        return text


def _draw(folder: Path) -> bool:
    """Ancillas and seconds of the peers over ours, complete cubics against N."""
    rows = [
        row
        for row in _read(folder / "reductions.csv")
        if row["problem"].startswith("complete cubic") and not row["trouble"]
    ]
    if not rows:
        return False
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4))
    for peer in dict.fromkeys(row["peer"] for row in rows):
        own = [row for row in rows if row["peer"] == peer]
        sizes = [int(row["problem"].split("=")[1]) for row in own]
        for axis, name in zip(axes, ("times_ancillas", "times_seconds"), strict=True):
            axis.plot(sizes, [float(row[name]) for row in own], "o-", label=peer, markersize=4)
    for axis, title in zip(axes, ("ancillas", "seconds"), strict=True):
        axis.set(xlabel="bits of a complete cubic", title=f"{title}, peer over qcompile")
        axis.set_yscale("log")
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(folder / "ratios.png", dpi=110, metadata={"Software": None})
    plt.close(figure)
    return True
