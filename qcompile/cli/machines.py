"""The command `machines`."""

from __future__ import annotations

import argparse
from typing import Any

from qcompile.cli.output import FORMATS, show_rows
from qcompile.cli.parsing import add_command
from qcompile.embedding.capacity import largest_bits
from qcompile.embedding.preflight import most_bits
from qcompile.files.machines import catalogue, load_machine
from qcompile.runtime.progress import bar
from qcompile.runtime.timing import passing
from qcompile.stages.machine import Machine

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add `machines`."""
    command = add_command(commands, "machines")
    command.add_argument(
        "machine", metavar="NAME", nargs="?", help="name of a machine, or a TOML file"
    )
    command.add_argument(
        "--format", choices=FORMATS, default="text", help="text, markdown, csv or json"
    )
    command.set_defaults(run=_run_machines)


def _run_machines(options: argparse.Namespace) -> None:
    if options.machine is not None:
        with bar("make graphs"), passing("make graphs"):
            row = _describe(load_machine(options.machine))
        if options.format == "text" and not options.json:  # some machines lack some ranges
            row = {name: value for name, value in row.items() if value is not None}
        show_rows([row], options)
        return
    names = ("name", "topology", "shape", "qubits", "couplers", "working_qubits", "title")
    with bar("make graphs"), passing("make graphs"):
        rows = [_describe(machine) for machine in catalogue().values()]
    show_rows([{name: row[name] for name in names} for row in rows], options)


def _describe(machine: Machine) -> dict[str, Any]:
    return {
        "name": machine.name,
        "title": machine.title,
        "topology": machine.topology,
        "shape": "x".join(map(str, machine.shape)),
        "qubits": len(machine.nodes),
        "couplers": len(machine.edges),
        "working_qubits": machine.qubits,
        "working_couplers": machine.couplers,
        "h_range": machine.h_range,
        "j_range": machine.j_range,
        "extended_j_range": machine.extended_j_range,
        "per_qubit_coupling_range": machine.per_qubit_coupling_range,
        "per_group_coupling_range": machine.per_group_coupling_range,
        "annealing_time_range_us": machine.annealing_time_range,
        "fast_anneal_time_range_us": machine.fast_anneal_time_range,
        "h_gain_schedule_range": machine.h_gain_schedule_range,
        "num_reads_range": machine.num_reads_range,
        "problem_run_duration_range_us": machine.problem_run_duration_range,
        "precision_h_and_j": machine.precision,
        **_describe_facts(machine),
        "complete_cubic_bits_likely_to_fit": largest_bits(machine),
        "complete_cubic_bits_at_most_by_any_method": most_bits(machine),
        "graph_id": machine.graph_id,
        "source": machine.source,
        "date": machine.date,
    }


def _describe_facts(machine: Machine) -> dict[str, Any]:
    """Return the published times and temperatures of a machine; None where there are none."""
    times, heat = machine.timing, machine.temperature
    return {
        "times_of": times and times.solver,
        "programming_time_us": times and times.programming,
        "programming_thermalization_us": times and times.thermalization,
        "readout_time_range_us": times and (times.shortest_readout, times.longest_readout),
        "delay_time_per_read_us": times and times.delay,
        "default_annealing_time_us": times and times.annealing_time,
        "qubit_temperature_mk": heat and heat.millikelvin,
        "effective_temperature": heat and heat.effective,
        "effective_temperature_at_critical_point": heat and heat.effective_at_critical_point,
    }
