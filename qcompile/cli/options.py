"""Options that several commands share, and functions that evaluate them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

from qcompile.cli.parsing import UsageError
from qcompile.files.machines import load_machine
from qcompile.reduction.cover import METHODS
from qcompile.report.page import check_ending
from qcompile.runtime import cluster
from qcompile.solvers.solve import SOLVERS
from qcompile.stages.labels import RowLabel
from qcompile.stages.machine import Machine
from qcompile.stages.preparation import SCALINGS

__all__ = [
    "add_dask_option",
    "add_data_options",
    "add_loss_options",
    "add_machine_options",
    "add_qubo_options",
    "add_reads_option",
    "add_report_option",
    "add_solver_options",
    "chain_strength",
    "dask_cluster",
    "grouped",
    "machine_of",
    "names_machine",
    "page_of",
]


def add_data_options(
    command: argparse.ArgumentParser, *, scale: str = "robust", bias: bool = True
) -> None:
    """Add the options for reading and preparing data, with the defaults of `scale` and `bias`."""
    group = command.add_argument_group("data")
    group.add_argument(
        "--label",
        type=_column,
        metavar="COLUMN",
        help="label column of a table, by name or number (label, target, class or y, else the "
        "last)",
    )
    group.add_argument(
        "--missing",
        default="refuse",
        metavar="HOW",
        help="missing values of a table: refuse, mean, median, or a number to fill in (refuse)",
    )
    group.add_argument(
        "--one-hot",
        action="store_true",
        help="make a feature of 0 and 1 of each text in the text columns of a table",
    )
    group.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="COLUMN",
        help="leave out this column of a table; may be repeated",
    )
    group.add_argument(
        "--positive",
        type=_row_label,
        metavar="LABEL",
        help="label of the positive class; all others are negative",
    )
    group.add_argument("--rows", type=int, metavar="M", help="use at most M rows")
    group.add_argument(
        "--index-base",
        type=int,
        choices=(0, 1),
        help="lowest feature index of the file (0 if it is used, else 1)",
    )
    group.add_argument(
        "--num-features",
        type=int,
        metavar="N",
        help="number of features of the file (its largest index)",
    )
    group.add_argument("--shuffle", action="store_true", help="shuffle the rows, before --rows")
    group.add_argument(
        "--noise", type=float, default=0.0, metavar="P", help="flip this share of the labels (0)"
    )
    group.add_argument(
        "--features", type=int, metavar="K", help="keep the K features most useful for the labels"
    )
    group.add_argument(
        "--scale", choices=SCALINGS, default=scale, help=f"how to scale the features ({scale})"
    )
    group.add_argument(
        "--no-bias",
        dest="bias",
        action="store_false",
        default=bias,
        help="append no constant feature" + ("" if bias else " (default)"),
    )
    # last, so that messages name this one of the two
    group.add_argument(
        "--bias",
        action="store_true",
        default=bias,
        help="append a feature that is always 1" + (" (default)" if bias else ""),
    )
    group.add_argument("--seed", type=int, default=0, help="random seed (0)")


def _column(text: str) -> str | int:
    """Return the number of a column, or its name."""
    return int(text) if text.removeprefix("-").isdecimal() else text


def _row_label(text: str) -> RowLabel:
    """Return a label: a number, or a text of a table."""
    try:
        return float(text)
    except ValueError:
        return text


def add_loss_options(command: argparse.ArgumentParser, *, l2: bool = True) -> None:
    """Add the options for the loss; without `l2` the command has its own."""
    group = command.add_argument_group("loss")
    group.add_argument(
        "--order", type=int, metavar="K", help="degree of the loss: 1, 3, 4, 5, 6, 7 or 8 (3)"
    )
    _add_old_name(group, "--fit", "fit_to", choices=("risk", "loss"))
    group.add_argument(
        "--fit-to",
        choices=("risk", "loss"),
        default="risk",
        help="what a loss of odd order is fitted to (risk)",
    )
    group.add_argument("--omega", type=float, help="leading coefficient of even orders (1)")
    group.add_argument(
        "--coefficients",
        type=_numbers,
        metavar="A0,A1,...",
        help="use these coefficients instead of a fit",
    )
    group.add_argument(
        "--prior-std", type=float, metavar="S", help="standard deviation of the weights (1)"
    )
    if l2:
        group.add_argument(
            "--l2",
            type=float,
            help="weight of the regulariser (so that the weights just reach their range; with "
            "--prior-std 1 / (S² rows) for odd orders, 0 for even ones)",
        )
    _add_old_name(group, "--range", "weight_range")
    group.add_argument(
        "--weight-range",
        default="auto",
        metavar="R",
        help="largest weight in units of --prior-std (auto)",
    )


def add_reads_option(group: Any, *, default: int | None, help: str) -> None:
    """Add --reads, which had another name."""
    _add_old_name(group, "--num-reads", "reads", type=int)
    group.add_argument("-n", "--reads", type=int, default=default, metavar="N", help=help)


def _add_old_name(group: Any, name: str, dest: str, **how: Any) -> None:
    """Add the name of an option in earlier versions, which help and completion do not show."""
    group.add_argument(name, dest=dest, default=argparse.SUPPRESS, help=argparse.SUPPRESS, **how)


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected numbers like 0.5,-1,0,0.2") from None


def add_dask_option(command: argparse.ArgumentParser, work: str) -> None:
    """Add --dask; `work` says what is done on the cluster."""
    command.add_argument(
        "--dask",
        nargs="?",
        const="local",
        type=_dask_address,
        metavar="ADDRESS",
        help=f"{work} on the workers of this Dask scheduler (without ADDRESS: of a local cluster)",
    )


def _dask_address(text: str) -> str:
    address = text.rstrip("/")
    found = re.fullmatch(r"((tcp|tls|ws|wss|ucx)://)?[^\s/*]+:([0-9]{1,5})", address)
    if address != "local" and not (found and int(found[3]) < 65536):
        raise argparse.ArgumentTypeError(
            f"found {text!r}; expected an address such as tcp://host:8786; for a local cluster "
            "write --dask last, or --dask=local"
        )
    return address


@contextmanager
def dask_cluster(options: argparse.Namespace) -> Iterator[None]:
    """Run the work inside on the cluster that --dask asks for, if it does."""
    if options.dask is None:
        yield
        return
    with cluster.connected(options.dask) as client, cluster.using(client):
        yield


def grouped(kind: type, options: argparse.Namespace) -> Any:
    """Return a dataclass filled with the options of the same names."""
    return kind(**{f.name: getattr(options, f.name) for f in fields(kind)})


def add_machine_options(command: argparse.ArgumentParser, *, default: str | None) -> None:
    """Add the options for a machine and its dead qubits and couplers."""
    group = command.add_argument_group("machine")
    group.add_argument(
        "--machine",
        metavar="NAME",
        default=default,
        help="a machine of `qcompile machines`, or a TOML file"
        + (f" ({default})" if default else ""),
    )
    group.add_argument(
        "--yield",
        dest="yield_",
        metavar="SHARE",
        help="share of the qubits that work, drawn at random; or 'published': as many qubits and "
        "couplers as the manufacturer states",
    )
    group.add_argument(
        "--yield-seed", type=int, default=0, metavar="S", help="random seed for --yield (0)"
    )
    group.add_argument(
        "--dead-qubits", type=_qubits, default=[], metavar="Q,...", help="qubits that do not work"
    )
    group.add_argument(
        "--dead-couplers",
        type=_couplers,
        default=[],
        metavar="Q-Q,...",
        help="couplers that do not work",
    )


def names_machine(options: argparse.Namespace) -> bool:
    """Whether the options name a machine or mark parts of one as dead."""
    return any((options.machine, options.yield_, options.dead_qubits, options.dead_couplers))


def machine_of(options: argparse.Namespace, known: Machine | None = None) -> Machine:
    """Return the machine that the options name, otherwise `known` or the default."""
    machine = known if known is not None and options.machine is None else None
    machine = machine or load_machine(options.machine)
    if options.dead_qubits or options.dead_couplers:
        machine = machine.without(options.dead_qubits, options.dead_couplers)
    if options.yield_ is not None:
        machine = machine.with_yield(_share(options.yield_), seed=options.yield_seed)
    return machine


def _qubits(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected qubits like 3,17,250") from None


def _couplers(text: str) -> list[tuple[int, int]]:
    try:
        pairs = [part.split("-") for part in text.split(",")]
        return [(int(a), int(b)) for a, b in pairs]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected couplers like 3-17,4-9") from None


def _share(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def chain_strength(text: str) -> float | str:
    """Return a chain strength: a method or a number."""
    if text in ("torque", "scaled", "sweep"):
        return text
    try:
        return float(text)
    except ValueError:
        raise UsageError(
            f"--chain-strength {text!r}; expected torque, scaled, sweep or a number above 0"
        ) from None


def add_qubo_options(command: argparse.ArgumentParser) -> None:
    """Add the options for quadratization and for writing the QUBO."""
    qubo = command.add_argument_group("qubo")
    qubo.add_argument(
        "--cover",
        choices=METHODS,
        default="auto",
        help="how to choose the products to replace (auto)",
    )
    qubo.add_argument(
        "--strength",
        type=float,
        default=1.0,
        metavar="F",
        help="factor for the gate strengths, for experiments (1)",
    )
    qubo.add_argument(
        "--max-ancillas",
        type=int,
        metavar="K",
        help="leave out small terms until K ancillas are enough",
    )
    qubo.add_argument(
        "--compress",
        type=float,
        nargs="?",
        const=True,
        default=False,
        metavar="SHARE",
        help="leave out terms below the machine's precision; the minimum stays, and every "
        "assignment keeps SHARE of its height above it (0.9)",
    )
    qubo.add_argument(
        "--time-limit",
        type=float,
        default=60.0,
        metavar="S",
        help="time limit in seconds of the search for few ancillas (60)",
    )
    qubo.add_argument(
        "--effort",
        type=float,
        default=1.0,
        metavar="F",
        help="factor for the work spent on fewer ancillas (1)",
    )
    qubo.add_argument(
        "--compare-dimod", action="store_true", help="also count the ancillas that dimod would use"
    )
    qubo.add_argument(
        "--drop-offset", action="store_true", help="omit the offset in .coo and .qubo files"
    )


def add_report_option(group: Any) -> None:
    """Add --report."""
    group.add_argument("--report", metavar="FILE", help="write an HTML report about the run")


def page_of(options: argparse.Namespace) -> list[str]:
    """Return the page that --report asks for, as a list of at most one path."""
    if options.report is None:
        return []
    check_ending(options.report)
    return [options.report]


class Suggested(tuple[str, ...]):
    """Words that completion offers for an option; any other one is checked by the command."""

    __slots__ = ()

    def __contains__(self, word: object) -> bool:
        return True


def add_solver_options(
    command: argparse.ArgumentParser, *, seed: bool, rounds: bool = False
) -> None:
    """Add the options for the solver; with `rounds` there may be many problems to solve."""
    group = command.add_argument_group("solver")
    if rounds:
        group.add_argument(
            "--solver",
            choices=Suggested((*SOLVERS, "descent")),
            metavar="NAME",
            help="solver to use: anneal, or another of `solve`, or descent; with --on leap the "
            "name of a QPU (anneal; Ocean's choice)",
        )
    else:
        group.add_argument(
            "--solver", choices=SOLVERS, default="anneal", help="solver to use (anneal)"
        )
    add_reads_option(
        group,
        default=None if rounds else 100,
        help="number of reads, or of restarts (100" + ("; anneal in rounds: 8)" if rounds else ")"),
    )
    group.add_argument(
        "--keep",
        type=int,
        default=50,
        metavar="K",
        help="keep at most the K lowest distinct states (50)",
    )
    group.add_argument("--sweeps", type=int, metavar="N", help="sweeps per read (auto)")
    add_dask_option(command, "run restarts and settings of --cv" if not seed else "run restarts")
    if seed:
        group.add_argument("--seed", type=int, default=0, help="random seed (0)")
