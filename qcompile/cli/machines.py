"""The commands `machines` and `embed`."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from qcompile.cli.expected import describe_expected
from qcompile.cli.options import add_machine_options, chain_strength, machine_of
from qcompile.cli.output import FORMATS, show, show_rows
from qcompile.cli.parsing import NOT_PROVED, UsageError, add_command
from qcompile.cli.wording import in_options
from qcompile.data.replay import recorded_rows
from qcompile.embedding.capacity import largest_bits
from qcompile.embedding.chain_strength import StrengthTrial, sweep
from qcompile.embedding.embed import EMBED_METHODS, PREFERENCES, embed
from qcompile.embedding.preflight import least_qubits, most_bits, preflight
from qcompile.embedding.quality import quality
from qcompile.files import atomic, embedding
from qcompile.files.interchange import load_problem
from qcompile.files.machines import catalogue, load_machine
from qcompile.reduction.quadratize import quadratize
from qcompile.report import plot
from qcompile.runtime.progress import bar
from qcompile.runtime.timing import passing
from qcompile.stages.machine import Machine
from qcompile.stages.qubo import Qubo

__all__ = ["add_commands"]


def add_commands(commands: Any) -> None:
    """Add `machines` and `embed`."""
    _add_machines_command(commands)
    _add_embed_command(commands)


def _add_machines_command(commands: Any) -> None:
    command = add_command(
        commands,
        "machines",
        summary="list the known annealers, or show one",
        example="""
            qcompile machines advantage
            qcompile machines --format markdown
        """,
        takes_data=False,
    )
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


def _add_embed_command(commands: Any) -> None:
    command = add_command(
        commands,
        "embed",
        summary="embed a QUBO on the qubits of a machine",
        example="""
            qcompile embed qubo.json --machine advantage -o embedding.json
            qcompile embed qubo.json --machine pegasus4 --chain-strength sweep --reads 20
            qcompile embed qubo.json --machine chimera4 --preflight
        """,
        takes_data=False,
    )
    command.add_argument(
        "qubo", metavar="QUBO", help="a qubo file, or a pubo file, which is quadratized first"
    )
    command.add_argument("-o", "--output", metavar="FILE", help="write the embedding as JSON")
    command.add_argument(
        "--target", metavar="FILE", help="write the problem on the qubits (dimod .json or .bqm)"
    )
    command.add_argument("--plot", metavar="FILE", help="plot the chains (.png .svg .pdf)")
    command.add_argument(
        "--reuse", metavar="FILE", help="check and use this embedding instead of searching"
    )
    command.add_argument(
        "--preflight",
        action="store_true",
        help="only check whether it can fit and what would; exit 1 if it cannot",
    )
    search = command.add_argument_group("search")
    search.add_argument(
        "--method", choices=EMBED_METHODS, default="auto", help="search method (auto)"
    )
    search.add_argument(
        "--prefer",
        choices=PREFERENCES,
        default="balanced",
        help="few qubits, short chains, or few qubits without long chains (balanced)",
    )
    search.add_argument("--tries", type=int, default=4, metavar="N", help="number of searches (4)")
    search.add_argument(
        "--time-limit", type=float, default=60.0, metavar="S", help="time limit in seconds (60)"
    )
    search.add_argument(
        "--effort",
        type=float,
        default=1.0,
        metavar="X",
        help="factor for the work of improving chains (1)",
    )
    search.add_argument("--seed", type=int, default=0, help="random seed (0)")
    chains = command.add_argument_group("chains")
    chains.add_argument(
        "--chain-strength",
        default="torque",
        metavar="S",
        help="torque (uniform torque compensation), scaled, a number, or sweep to try several on a "
        "simulated annealer (torque)",
    )
    chains.add_argument(
        "--reads",
        type=int,
        default=50,
        metavar="N",
        help="reads per chain strength of a sweep (50)",
    )
    add_machine_options(command, default=None)
    command.set_defaults(run=_run_embed)


def _run_embed(options: argparse.Namespace) -> int:
    written = [path for path in (options.output, options.target, options.plot) if path]
    atomic.check_outputs(written, inputs=(options.qubo, options.reuse, options.machine))
    if options.preflight and written:
        raise UsageError(
            "--preflight: there is nothing to write; leave out -o, --target and --plot"
        )
    if options.plot:
        plot.check_ending(options.plot)
        plot.check_library()
    if options.target:
        embedding.check_target_ending(options.target)
    strength = chain_strength(options.chain_strength)
    with passing("read"):
        problem = load_problem(options.qubo)
        qubo = problem if isinstance(problem, Qubo) else quadratize(problem)
    reused = None if options.reuse is None else embedding.load_embedding(options.reuse)
    machine = machine_of(options, None if reused is None else reused.machine)
    if options.preflight:
        with bar("preflight"), passing("preflight"):
            report = preflight(qubo, machine, clique=True)
        figures = report.to_dict() | {"advice": in_options(report.message, options)}
        if not report.hybrid and not options.json:
            del figures["exceeds_hybrid"]
        show({"machine": machine.name, **figures}, options)
        return NOT_PROVED if report.impossible else 0
    with bar("embed"), passing("embed"):
        embedded = embed(
            qubo,
            machine,
            method=options.method,
            prefer=options.prefer,
            seed=options.seed,
            tries=options.tries,
            time_limit=options.time_limit,
            effort=options.effort,
            chain_strength="torque" if strength == "sweep" else strength,
            embedding=reused,
        )
    trials: list[StrengthTrial] = []
    if strength == "sweep":
        with bar("sweep"), passing("sweep chain strengths"):
            embedded, trials = sweep(embedded, reads=options.reads, seed=options.seed)
    with bar("write"), passing("write"), atomic.all_or_nothing():
        if options.output:
            embedding.save_embedding(embedded.embedding, options.output)
        if options.target:
            embedding.save_target(embedded, options.target)
        if options.plot:
            plot.plot_embedding(embedded.embedding, options.plot)
    found = quality(embedded)
    figures = {**found.to_dict(), "qubits_at_least": least_qubits(qubo, machine)}
    with bar("expected loss"):
        figures |= describe_expected(embedded, options, partial(recorded_rows, qubo))
    if not options.json:
        figures["chain_lengths"] = ", ".join(f"{n}: {c}" for n, c in found.chains_by_length)
        figures |= {_strength_name(trial): _in_words(trial) for trial in trials}
        figures = {name: value for name, value in figures.items() if value is not None}
    elif trials:
        figures["sweep"] = [trial.to_dict() for trial in trials]
    show(figures, options, written=written)
    return 0


def _strength_name(trial: StrengthTrial) -> str:
    return f"sweep at strength {trial.chain_strength:.4g}"


def _in_words(trial: StrengthTrial) -> str:
    return (
        f"mean energy {trial.mean_energy:.6g}, lowest {trial.lowest_energy:.6g}, "
        f"chains broken {trial.chain_break_fraction:.1%}"
    )
