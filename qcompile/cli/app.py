"""The command line: thin, it only calls the passes and shows what they give."""

from __future__ import annotations

import argparse
import errno
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qcompile import _start
from qcompile._version import __version__
from qcompile.cli import completion as cli_completion
from qcompile.cli import hints as cli_hints
from qcompile.cli import leap as cli_leap
from qcompile.cli import machines as cli_machine
from qcompile.cli import quadratize as cli_pubo
from qcompile.cli import report as cli_report
from qcompile.cli import solve as cli_solve
from qcompile.cli.common import (
    BAD_INPUT,
    EXIT_CODES,
    FORMATS,
    GLOSSARY,
    INTERRUPTED,
    NOT_PROVED,
    UNFINISHED,
    Parser,
    Worded,
    add_command,
    add_dask_option,
    client_of,
    grouped,
    show,
    show_rows,
)
from qcompile.data import named_sets
from qcompile.data.rows import add_noise, read, shuffle, split
from qcompile.data.svmlight import shortest
from qcompile.embedding.capacity import largest_problems, physical_estimate
from qcompile.errors import InputError, LeapError, QcompileError
from qcompile.files import embedding as embedding_files
from qcompile.files import qubo as qubo_files
from qcompile.files import storage as files
from qcompile.files.interchange import read_pubo
from qcompile.pipeline import (
    Compiled,
    DataOptions,
    LossOptions,
    QuboOptions,
    compile,
    fit_loss_with,
    load_data,
    load_moments_of,
)
from qcompile.reduction.accounting import account, dimod_ancillas
from qcompile.reduction.estimate import estimate, paper_table
from qcompile.report.run import compiled_run
from qcompile.runtime.memory import human
from qcompile.runtime.progress import bar
from qcompile.runtime.timing import passing
from qcompile.stages.artifacts import SCALINGS, Dataset, Loss, Moments, Preparation, Pubo, Qubo
from qcompile.verification.verify import Check, verify

if TYPE_CHECKING:
    from qcompile.stages.classifier import Classifier

__all__ = ["main"]

_KINDS = {
    "moments": (".npz",),
    "loss": (".json",),
    "pubo": (".json", ".npz"),
    "qubo": qubo_files.ENDINGS,
}

_log = logging.getLogger("qcompile")

# The way from data to answers, then short cuts, the real machine, and what helps on the way.
_WAYS = {
    "Stages, in order": (
        "data", "loss", "compile", "verify", "embed", "solve", "decode", "predict"
    ),
    "The whole way at once": ("train",),
    "On the real machine, in place of embed, solve and decode": (
        "submit", "resume", "jobs", "cancel"
    ),
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; gives the exit code.

    0 done, 1 a check failed, 2 bad input, 3 Leap or a job there (the message says how to go on),
    130 interrupted.
    """
    _start.ready()
    _open_streams()
    try:
        return _run(arguments)
    except BrokenPipeError:
        # whoever read the output has gone: that is fine, but Python would complain at exit
        _forget_output()
        return 0
    except OSError as error:
        if not _is_about_output(error):
            raise
        _forget_output()
        why = "it is closed" if error.errno == errno.EBADF else error.strerror
        _complain(f"error: standard output cannot be written to: {why}")
        return BAD_INPUT


def _run(arguments: Sequence[str] | None) -> int:
    """Run the command; errors about the output are left to the caller."""
    try:
        parser = _parser()
        if not (sys.argv[1:] if arguments is None else arguments):
            parser.print_help(sys.stderr)
            return BAD_INPUT
        options = parser.parse_args(arguments)
    except SystemExit:
        sys.stdout.flush()  # help that nobody could read is no success
        raise
    logging.basicConfig(format="qcompile: %(message)s", force=True)
    logging.getLogger("qcompile").setLevel(_log_level(options))
    try:
        code = int(options.run(options) or 0)
        _flush()
    except QcompileError as error:
        advice = cli_hints.next_command(error, options, options.command)
        _complain(f"error: {error}{advice}")
        return UNFINISHED if isinstance(error, LeapError) else BAD_INPUT
    except MemoryError:
        _complain("error: out of memory; use fewer rows, features or bits")
        return BAD_INPUT
    except KeyboardInterrupt:
        _complain("interrupted; nothing half-written was left behind")
        return INTERRUPTED
    return code


def _flush() -> None:
    """Send out what was printed; a reader that has gone does not change what was found."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_output()


def _complain(text: str) -> None:
    with suppress(OSError):  # nobody can be told
        print(f"qcompile: {text}", file=sys.stderr)


def _open_streams() -> None:
    """Put something in the place of streams that the shell has closed (>&-)."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115, PTH123  # for as long as we run
    if sys.stdout is None:  # open for reading only: what is written fails, and is told
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123


def _is_about_output(error: OSError) -> bool:
    """Tell a full or closed standard output from other trouble, which names its file."""
    if error.filename is not None:
        return False
    try:
        sys.stdout.flush()
    except OSError:
        return True
    return error.errno in (errno.ENOSPC, errno.EBADF, errno.EIO, errno.EFBIG, errno.EDQUOT)


def _forget_output() -> None:
    """Let what was not written go, or Python would try again at exit and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _log_level(options: argparse.Namespace) -> int:
    if options.quiet:
        return logging.WARNING
    return logging.DEBUG if options.verbose else logging.INFO


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="qcompile",
        description="Compile the training of a robust binary classifier for a quantum annealer.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"qcompile {__version__}")
    commands = parser.add_subparsers(
        required=True, dest="command", metavar="COMMAND", parser_class=Parser
    )
    _add_data_command(commands)
    _add_loss_command(commands)
    _add_compile_command(commands)
    cli_pubo.add_commands(commands)
    _add_verify_command(commands)
    _add_estimate_command(commands)
    cli_machine.add_commands(commands)
    cli_solve.add_commands(commands, _add_data_options, _add_loss_options)
    cli_leap.add_commands(commands)
    cli_report.add_command_report(commands, _same_rows, cli_solve.prepared)
    cli_completion.add_commands(commands, parser)
    parser.epilog = "\n\n".join([*_ways(parser.commands()), _exit_codes()])
    return parser


def _ways(commands: dict[str, Parser]) -> Iterator[str]:
    """Show the commands in the order of their use, an example each."""
    placed = [name for names in _WAYS.values() for name in names]
    rest = tuple(name for name in commands if name not in placed)
    for title, names in {**_WAYS, "Besides": rest}.items():
        yield f"{title}:\n" + "\n".join(f"  {commands[name].examples[0]}" for name in names)


def _exit_codes() -> str:
    lines = [f"  {code:>3}  {meaning}" for code, meaning in EXIT_CODES.items()]
    kept = "       (embed, solve and train keep the best so far, say so, and exit with 0)"
    more = ["Each command: qcompile COMMAND --help", f"What the numbers mean: {GLOSSARY}"]
    return "\n".join(["Exit codes:", *lines, kept, "", *more])


def _add_data_command(commands: Any) -> None:
    command = add_command(
        commands,
        "data",
        summary="look at a data set, or write one as svmlight text",
        example="""
            qcompile data synthetic:features=4 --noise 0.1 --split 0.7 0.3 -o data.svm -o new.svm
            qcompile data breast-cancer -o data.svm
            qcompile data --list
        """,
    )
    command.add_argument("data", metavar="DATA", nargs="?")
    command.add_argument("--list", action="store_true", help="list the named sets")
    command.add_argument(
        "-o", "--output", action="append", default=[], metavar="FILE", help="write svmlight text"
    )
    command.add_argument(
        "--split", nargs="+", type=float, metavar="SHARE", help="deal rows out, one -o a share"
    )
    _add_data_options(command)
    command.set_defaults(run=_run_data)


def _add_loss_command(commands: Any) -> None:
    command = add_command(
        commands,
        "loss",
        summary="fit a polynomial loss to a data set",
        example="""
            qcompile loss data.svm --order 3 --plot loss.png
            qcompile loss data.svm --scale standard --order 6 --omega 0.1 -o loss.json
        """,
    )
    command.add_argument("data", metavar="DATA")
    command.add_argument("-o", "--output", metavar="FILE", help="write the loss as JSON")
    command.add_argument("--plot", metavar="FILE", help="draw it against 0-1 loss (.png .svg .pdf)")
    _add_data_options(command)
    _add_loss_options(command)
    command.set_defaults(run=_run_loss)


def _add_compile_command(commands: Any) -> None:
    command = add_command(
        commands,
        "compile",
        summary="turn a data set into a polynomial of weight bits and a QUBO",
        example="""
            qcompile compile data.svm --order 3 --bits 4 --emit qubo.json --emit pubo.json
            qcompile compile data.svm --features 4 --bits 2 --emit qubo.json --emit moments.npz
            qcompile compile breast-cancer --features 4 --bits 1 --emit qubo=problem.lp -v
        """,
    )
    command.add_argument("data", metavar="DATA")
    command.add_argument(
        "--emit",
        action="append",
        default=[],
        metavar="[KIND=]PATH",
        help="write an artifact; its kind (moments, loss, pubo, qubo) is in the file's name or "
        "before =; may be repeated; a qubo ends in .json, .npz, .bqm, .lp, .qubo or .coo",
    )
    cli_report.add_report_option(command)
    pubo = command.add_argument_group("bits")
    pubo.add_argument("--bits", type=int, default=4, metavar="D", help="bits of a weight (4)")
    pubo.add_argument("--l0", type=float, default=0.0, help="charge for each weight that is not 0")
    pubo.add_argument(
        "--threshold", type=float, default=0.0, metavar="C", help="drop terms of size up to C"
    )
    pubo.add_argument(
        "--prune", action="store_true", help="drop levels of weights that cannot be the best"
    )
    cli_pubo.add_qubo_options(command)
    _add_data_options(command)
    _add_loss_options(command)
    add_dask_option(command, "sum over the files")
    command.set_defaults(run=_run_compile)


def _add_verify_command(commands: Any) -> None:
    command = add_command(
        commands,
        "verify",
        summary="prove that a QUBO file is the problem that it claims to be",
        example="""
            qcompile verify qubo.json --data data.svm
            qcompile verify qubo.json --pubo pubo.json
            qcompile verify qubo.json --embedding embedding.json
        """,
        takes_data=False,
    )
    command.add_argument("qubo", metavar="QUBO", help="a .json or .npz file of qcompile")
    command.add_argument("--data", metavar="DATA", help="the data it was compiled from")
    command.add_argument("--pubo", metavar="FILE", help="the polynomial it was made of")
    command.add_argument(
        "--embedding", metavar="FILE", help="check that this embedding serves the problem"
    )
    command.add_argument(
        "--assignments", type=int, default=200, metavar="N", help="random ones for --data (200)"
    )
    command.add_argument("--seed", type=int, default=0, help="for the random assignments (0)")
    cli_machine.add_machine_options(command, default=None)
    command.set_defaults(run=_run_verify)


def _add_estimate_command(commands: Any) -> None:
    command = add_command(
        commands,
        "estimate",
        summary="say what a problem costs: without data of any size at once, with data counted",
        example="""
            qcompile estimate --order 3 --features 100 --bits 4
            qcompile estimate --machine advantage --features 12 --bits 2
            qcompile estimate --table paper --format csv
        """,
    )
    command.add_argument("data", metavar="DATA", nargs="?", help="count the terms of these data")
    command.add_argument("--table", choices=("paper",), help="the paper's table, computed")
    command.add_argument(
        "--format", choices=FORMATS, default="text", help="text, markdown, csv or json"
    )
    command.add_argument("--bits", type=int, default=4, metavar="D", help="bits of a weight (4)")
    cli_machine.add_machine_options(command, default=None)
    _add_data_options(command)
    _add_loss_options(command)
    command.set_defaults(run=_run_estimate)


def _add_data_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("data")
    group.add_argument(
        "--positive", type=float, metavar="LABEL", help="this class against the rest"
    )
    group.add_argument("--rows", type=int, metavar="M", help="use at most M rows")
    group.add_argument("--index-base", type=int, choices=(0, 1), help="first index of the file")
    group.add_argument(
        "--num-features", type=int, metavar="N", help="columns of the file (else its largest index)"
    )
    group.add_argument("--shuffle", action="store_true", help="mix the rows, before --rows")
    group.add_argument(
        "--noise", type=float, default=0.0, metavar="P", help="flip this share of the labels"
    )
    group.add_argument("--features", type=int, metavar="K", help="keep the K most useful features")
    group.add_argument("--scale", choices=SCALINGS, default="none", help="scaling of the features")
    group.add_argument("--bias", action="store_true", help="append a constant feature")
    group.add_argument("--seed", type=int, default=0, help="for whatever is random (0)")


def _add_loss_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("loss")
    group.add_argument("--order", type=int, metavar="K", help="1, 3, 4, 5, 6, 7 or 8 (3)")
    group.add_argument(
        "--fit", choices=("risk", "loss"), default="risk", help="what odd orders are fitted to"
    )
    group.add_argument("--omega", type=float, help="leading coefficient of even orders (1)")
    group.add_argument(
        "--coefficients", type=_numbers, metavar="A0,A1,...", help="a loss of your own"
    )
    group.add_argument("--prior-std", type=float, metavar="S", help="spread of the weights (1)")
    group.add_argument("--l2", type=float, help="regulariser (1 / (S² rows) for odd orders, or 0)")
    group.add_argument(
        "--range", dest="range_", default="auto", metavar="R", help="weights up to R·S (auto)"
    )


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected numbers like 0.5,-1,0,0.2") from None


def _run_data(options: argparse.Namespace) -> None:
    if options.list:
        _list_named_sets(options)
        return
    if options.data is None:
        raise InputError("no DATA; expected a file, - or a named set (qcompile data --list)")
    shares = options.split or [1.0]
    if options.output and len(options.output) != len(shares):
        raise InputError(f"{len(shares)} parts but {len(options.output)} files; give one -o a part")
    files.check_outputs(options.output, inputs=(options.data,))
    with bar("reading") as progress:
        data = load_data(options.data, grouped(DataOptions, options), progress=progress)
    parts = split(data, shares, seed=options.seed) if options.split else (data,)
    with bar("write"), passing("write"), files.all_or_nothing():
        for part, path in zip(parts, options.output, strict=False):
            files.save_svmlight(part, path)
    show(_describe_data(data), options, written=options.output)


def _list_named_sets(options: argparse.Namespace) -> None:
    """Name the sets: in JSON as values, since their names are no keys."""
    about = {name: _first_line(make) for name, make in named_sets.NAMES.items()}
    if options.json:
        show({"sets": [{"name": name, "about": text} for name, text in about.items()]}, options)
    else:
        show(about, options)


def _run_loss(options: argparse.Namespace) -> None:
    from qcompile.report import plot

    files.check_outputs(filter(None, (options.output, options.plot)), inputs=(options.data,))
    if options.plot:
        plot.check_ending(options.plot)
    wanted = grouped(LossOptions, options)
    with bar("reading") as progress:
        moments = load_moments_of(
            options.data, grouped(DataOptions, options), wanted, progress=progress
        )
    with bar("fit loss"), passing("fit loss"):
        loss = fit_loss_with(moments, wanted)
    written = [path for path in (options.output, options.plot) if path]
    with bar("write"), passing("write"), files.all_or_nothing():
        if options.output:
            files.save_loss(
                loss, options.output, preparation=moments.preparation, source=moments.source
            )
        if options.plot:
            plot.plot_losses({f"order {loss.order}, {_source_name(moments)}": loss}, options.plot)
    show({**_describe_moments(moments), **_describe_loss(loss)}, options, written=written)


def _run_compile(options: argparse.Namespace) -> None:
    emits = [_emission(text) for text in options.emit]
    pages = cli_report.page_of(options)
    files.check_outputs([*(path for _, path in emits), *pages], inputs=(options.data,))
    with client_of(options) as client, bar("reading") as progress:
        compiled = compile(
            options.data,
            bits=options.bits,
            l0=options.l0,
            threshold=options.threshold,
            shrink=options.prune,
            data=grouped(DataOptions, options),
            loss=grouped(LossOptions, options),
            qubo=grouped(QuboOptions, options),
            progress=progress,
            client=client,
        )
        wanted = not emits or bool(pages) or any(kind == "qubo" for kind, _ in emits)
        reduced = compiled.qubo if wanted else None
        with passing("write"), files.all_or_nothing():
            for kind, path in emits:
                _write_artifact(compiled, kind, path, drop_offset=options.drop_offset)
            for path in pages:
                cli_report.write_report(compiled_run(compiled), path)
    moments = compiled.moments
    summary = {
        **_describe_moments(moments),
        **_describe_loss(compiled.loss),
        **_describe_pubo(compiled.pubo),
    }
    if reduced is not None:
        summary |= _describe_qubo(reduced)
        if options.compare_dimod:
            summary["dimod ancillas"] = dimod_ancillas(compiled.pubo)
    show(summary, options, written=[*(path for _, path in emits), *pages])


def _write_artifact(compiled: Compiled, kind: str, path: str, *, drop_offset: bool) -> None:
    moments = compiled.moments
    if kind == "moments":
        files.save_moments(moments, path)
    elif kind == "loss":
        files.save_loss(compiled.loss, path, preparation=moments.preparation, source=moments.source)
    elif kind == "pubo":
        files.save_pubo(compiled.pubo, path)
    else:
        qubo_files.save_qubo(compiled.qubo, path, pubo=compiled.pubo, drop_offset=drop_offset)


def _run_verify(options: argparse.Namespace) -> int:
    with bar("read"):
        with passing("read"):
            qubo, reference = qubo_files.load_qubo(options.qubo)
            pubo = None if options.pubo is None else read_pubo(options.pubo)
            data = None if options.data is None else _same_rows(options.data, qubo)
        with passing("verify"):
            found = verify(
                qubo,
                pubo=pubo,
                reference=reference,
                data=data,
                assignments=options.assignments,
                seed=options.seed,
            )
        checks = list(found.checks)
        if options.embedding is not None:
            with passing("check the embedding"):
                checks.append(_check_embedding(options, qubo))
    holds = all(check.holds for check in checks)
    shown = {check.name: f"{'ok' if check.holds else 'FAILED'}: {check.detail}" for check in checks}
    algebra = any(check.name.startswith("algebra") for check in found.checks)
    if found.holds and not holds:
        shown["verdict"] = "the QUBO is proved, but this embedding does not serve it: embed again"
    elif data is not None and _only_rows_differ(found.checks, data, qubo):
        rows = f"{qubo.source.get('name', 'data')}, {qubo.source.get('rows', '?')} rows"
        shown["verdict"] = f"NOT proved: these are not the rows it was compiled from ({rows})"
    elif not holds:
        shown["verdict"] = "NOT proved: do not use this file"
    elif not algebra:
        shown["verdict"] = "the gates hold, but nothing says which polynomial was compiled"
    else:
        shown["verdict"] = "proved: the minimum over the ancillas is the polynomial, for all bits"
    show(shown, options)
    return 0 if holds else NOT_PROVED


def _only_rows_differ(checks: Sequence[Check], data: Dataset, qubo: Qubo) -> bool:
    """Say whether nothing is wrong but that the data are others than those on record."""
    if [check.name for check in checks if not check.holds] != ["data"]:
        return False
    known, given = qubo.source, data.source
    told = "sha256" if "sha256" in known and "sha256" in given else "name"
    return known.get(told) != given.get(told) or known.get("rows", len(data)) != len(data)


def _check_embedding(options: argparse.Namespace, qubo: Qubo) -> Check:
    """Check chains against the problem and the graph they were made for, or another machine's."""
    from qcompile.stages.embedded import check_embedding

    embedding = embedding_files.load_embedding(options.embedding)
    machine = cli_machine.machine_of(options, embedding.machine)
    try:
        check_embedding(embedding, qubo, machine)
    except InputError as error:
        return Check("embedding", False, str(error))
    size = f"{embedding.qubits} qubits of {machine.name}"
    return Check("embedding", True, f"{len(embedding.chains)} chains on {size}, all links there")


def _same_rows(source: str, qubo: Pubo | Qubo | Classifier) -> Dataset:
    """Read the rows that a problem was compiled from, prepared as then."""
    prepared, about = qubo.preparation, qubo.source
    if prepared is None:
        raise InputError("this QUBO does not say how its data were prepared")
    try:
        rows = None if about.get("rows") is None else int(about["rows"])
        data = read(
            source,
            positive=prepared.positive if prepared.negative is None else None,
            rows=None if "shuffle_seed" in about else rows,
            index_base=about.get("index_base"),
            num_features=None if named_sets.is_named(source) else prepared.raw_features,
            seed=int(about.get("seed", 0)),
        )
        if "shuffle_seed" in about:
            data = shuffle(data, seed=int(about["shuffle_seed"])).take(slice(rows))
        if "noise" in about:
            data = add_noise(data, float(about["noise"]), seed=int(about["noise_seed"]))
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"the QUBO's record of its data makes no sense ({error})") from None
    return Dataset(prepared.apply(data.x), data.y, prepared, data.source)


def _run_estimate(options: argparse.Namespace) -> None:
    if options.table:
        show_rows(paper_table(), options)
    elif options.data is not None:
        show_rows([_counted(options)], options)
    elif options.features is not None:
        with bar("estimate"), passing("estimate"):
            order = grouped(LossOptions, options).degree
            found = estimate(order, options.features, options.bits)
            physical = _on_machine(options, order, found.bits, found.ancillas)
        show_rows([found.to_dict() | physical], options)
    elif cli_machine.names_machine(options):
        with bar("estimate"), passing("estimate"):
            rows = largest_problems(cli_machine.machine_of(options))
        show_rows(rows, options)
    else:
        raise InputError(
            "give --features N (and --order, --bits), DATA, --table paper, or --machine NAME alone "
            "for the largest problems that fit"
        )


def _on_machine(
    options: argparse.Namespace, order: int, bits: int, ancillas: int
) -> dict[str, Any]:
    """Give the physical side of an estimate where a machine is named."""
    if not cli_machine.names_machine(options):
        return {}
    return physical_estimate(cli_machine.machine_of(options), order, bits, ancillas)


def _counted(options: argparse.Namespace) -> dict[str, Any]:
    """Compile the data and count, beside what a complete problem of that size would need."""
    with bar("reading") as progress:
        compiled = compile(
            options.data,
            bits=options.bits,
            data=grouped(DataOptions, options),
            loss=grouped(LossOptions, options),
            progress=progress,
        )
        compiled.qubo  # noqa: B018 - made now, while the bar is there
    complete = estimate(compiled.loss.order, compiled.moments.features, options.bits)
    return {
        "data": _source_name(compiled.moments),
        "features": compiled.moments.features,
        "bits_per_weight": options.bits,
        "bits": compiled.pubo.variables,
        **{f"terms_of_degree_{j}": count for j, count in enumerate(compiled.pubo.terms, 1)},
        "ancillas": len(compiled.qubo.ancillas),
        "ancillas_if_complete": complete.ancillas,
        "qubits": compiled.qubo.variables,
        "qubo_pairs": len(compiled.qubo.first),
        "cover": compiled.qubo.method,
        **_on_machine(
            options, compiled.loss.order, compiled.pubo.variables, len(compiled.qubo.ancillas)
        ),
    }


def _emission(text: str) -> tuple[str, str]:
    """Tell the kind of artifact from KIND=PATH or from the file's name."""
    kind, found, path = text.partition("=")
    if found and kind not in _KINDS and kind.isalpha():
        raise InputError(f"--emit {text}: no artifact {kind!r}; expected {', '.join(_KINDS)}")
    if not found or kind not in _KINDS:
        path = text
        named = [k for k in _KINDS if k in Path(text).name.lower()]
        if len(named) != 1:
            raise InputError(
                f"--emit {text}: which artifact? Name it {', '.join(_KINDS)} in the file's name, "
                f"or write KIND=PATH, as in pubo={text}"
            )
        kind = named[0]
    if path != "-" and Path(path).suffix not in _KINDS[kind]:
        raise InputError(f"--emit {text}: a {kind} file ends in {' or '.join(_KINDS[kind])}")
    if path == "-" and ".json" not in _KINDS[kind]:
        raise InputError(f"--emit {text}: {kind} is binary; expected a file name")
    return kind, path


def _first_line(function: Any) -> str:
    return str(function.__doc__).splitlines()[0]


def _source_name(moments: Moments) -> str:
    return str(moments.source.get("name", "data"))


def _label_map(preparation: Preparation) -> str:
    negative = preparation.negative
    rest = "all others" if negative is None else shortest(negative)
    return f"+1 is {shortest(preparation.positive)}, -1 is {rest}"


def _describe_data(data: Dataset) -> dict[str, Any]:
    return {
        "data": data.source.get("name", "data"),
        "rows": len(data),
        "features": data.features,
        "density": data.density,
        "labels": _label_map(data.preparation),
        "baseline error": data.baseline_error,
    }


def _describe_moments(moments: Moments) -> dict[str, Any]:
    described = {"data": _source_name(moments), "rows": moments.count, "features": moments.features}
    if moments.preparation is not None:
        described["labels"] = _label_map(moments.preparation)
    return described


def _describe_loss(loss: Loss) -> dict[str, Any]:
    described: dict[str, Any] = {"order": loss.order, "fit": loss.fit}
    described |= {f"a_{p}": a for p, a in enumerate(loss.coefficients)}
    if loss.omega is not None:
        described["omega"] = loss.omega
    described |= {"prior std": loss.prior_std, "range": loss.range_, "zeta": loss.zeta}
    described["l2"] = loss.l2
    for note in loss.notes:
        _log.warning("warning: %s", note)
    return described


def _describe_pubo(pubo: Pubo) -> dict[str, Any]:
    described: dict[str, Any] = {"variables": pubo.variables}
    described |= {f"terms of degree {j}": count for j, count in enumerate(pubo.terms, 1)}
    size = sum(a.nbytes for a in pubo.indices) + sum(a.nbytes for a in pubo.coefficients)
    described["memory"] = Worded(size, human(size), "bytes")
    if pubo.encoding is not None and pubo.encoding.bounds is not None:
        full = pubo.encoding.features * pubo.encoding.bits
        described["bits removed by pruning"] = full - pubo.encoding.variables
        if not pubo.variables:
            described["solved by pruning, weights"] = pubo.encoding.offsets.tolist()
    if pubo.dropped:
        described["dropped terms change energies by at most"] = pubo.dropped
    return described


def _describe_qubo(qubo: Qubo) -> dict[str, Any]:
    counted = account(qubo)
    return {name: value for name, value in counted.items() if value is not None}
