"""The section of a rehearsal: what a simulated machine with errors makes of the problem."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from qcompile.rehearsal.record import Figure, Rehearsal, StrengthRehearsed
from qcompile.report.elements import figure, lead, table
from qcompile.report.markup import Markup

__all__ = ["rehearsal_section"]


def rehearsal_section(found: Rehearsal) -> Iterable[Markup]:
    """Yield what was simulated, the figures of the chosen strengths, and all that were tried."""
    yield lead(
        f"No real machine was used. {found.draws} draws of the control errors of {found.machine} "
        f"(h ± {found.sigma_h:g}, J ± {found.sigma_j:g} in its units; {found.errors_source}), "
        f"{found.reads} reads each, by {found.engine} with {found.sweeps} sweeps on "
        f"{found.qubits:,} qubits, longest chain {found.longest_chain}. Best known energy "
        f"{found.best_energy:.6g}, by {found.best_by}. Figures are the mean over the draws ± their "
        "standard deviation."
    )
    head = ["", *(f"inverse temperature {beta:.3g}" for beta in found.betas)]
    yield figure("At the best chain strength", table(_rows(found), head))
    yield figure(
        "Lowest energy above the best, by chain strength", table(_by_strength(found), head)
    )
    sources = zip(found.betas, found.beta_sources, strict=True)
    said = "; ".join(f"{beta:.4g} ({source})" for beta, source in sources)
    yield lead(f"Inverse temperatures in the machine's units: {said}.")


def _rows(found: Rehearsal) -> list[Sequence[str]]:
    """Return the figures of the chosen strengths, one column for each temperature."""
    chosen = found.chosen

    def row(name: str, words: Callable[[StrengthRehearsed], str]) -> list[str]:
        return [name, *map(words, chosen)]

    rows = [
        row("chain strength", lambda one: f"{one.chain_strength:.4g}"),
        row("reads in the best state", lambda one: _share(one.best)),
        row("broken chains", lambda one: _share(one.broken)),
        row("mean energy above the best", lambda one: _above(one.mean_above, found.span)),
        row("lowest energy above the best", lambda one: _above(one.lowest_above, found.span)),
        row("reads for the best state (99%)", lambda one: _count(one.reads_for_best)),
        row(f"reads to within {found.tolerance:.2g} of it", lambda one: _count(one.reads_within)),
    ]
    if found.best_error is not None:
        rows.append(row("cost in classification error", lambda one: _cost(one.error_above)))
    return [tuple(cells) for cells in rows]


def _by_strength(found: Rehearsal) -> list[Sequence[str]]:
    """Return what each chain strength that was tried leads to."""
    rows: list[Sequence[str]] = []
    for strength in sorted({one.chain_strength for one in found.tried}):
        tried = [one for one in found.tried if one.chain_strength == strength]
        rows.append((f"{strength:.4g}", *(_above(one.lowest_above, found.span) for one in tried)))
    return rows


def _share(value: Figure) -> str:
    return f"{value.mean:.1%} ± {value.spread:.1%}"


def _above(value: Figure, span: float) -> str:
    share = f" ({value.mean / span:.2%} of the span)" if span else ""
    return f"{value.mean:.3g} ± {value.spread:.2g}{share}"


def _cost(value: Figure | None) -> str:
    return "not known" if value is None else f"{value.mean:+.4f} ± {value.spread:.4f}"


def _count(count: int | None) -> str:
    return "not known" if count is None else f"{count:,}"
