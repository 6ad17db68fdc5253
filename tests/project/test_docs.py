"""Every snippet of docs/ runs, in order, each page in a folder of its own; links lead somewhere.

```python blocks are doctests, ```console blocks are qcompile commands after "$ ", with the output
where it is shown, and ```sh blocks are commands alone. A block that cannot run here has a comment
<!-- not run: why --> just above it and is listed as skipped.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import runpy
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import qcompile
from qcompile.cli.app import main

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
RUN = ("python", "console", "sh")
SHOWN = ("text", "toml", "json", "math")  # nothing to run
NOT_RUN = re.compile(r"<!-- not run: (.+) -->")
EXITS = re.compile(r"\s+# exits with (\d+)$")


@dataclass(frozen=True)
class Block:
    """A fenced block: what it is in, where it stands, and why it is not run, if so."""

    page: str
    line: int
    language: str
    text: str
    reason: str | None

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


def blocks_of(text: str, page: str) -> list[Block]:
    found: list[Block] = []
    lines = text.splitlines()
    start: int | None = None
    for number, line in enumerate(lines):
        if not line.startswith("```"):
            continue
        if start is None:
            start = number
            continue
        above = NOT_RUN.fullmatch(lines[start - 1]) if start else None
        body = "\n".join(lines[start + 1 : number]) + "\n"
        language = lines[start][3:].strip()
        found.append(Block(page, start + 1, language, body, above and above.group(1)))
        start = None
    assert start is None, f"{page}: a block is not closed"
    return found


PAGES = {path.name: path.read_text() for path in sorted(DOCS.glob("*.md"))}
BLOCKS = [block for page, text in PAGES.items() for block in blocks_of(text, page)]


def commands_of(block: Block) -> list[tuple[str, str]]:
    """Return the commands of a block with the output that is shown."""
    found: list[tuple[str, str]] = []
    for line in block.text.splitlines():
        if block.language == "sh" and line.strip() and not line.startswith("#"):
            found.append((line, ""))
        elif line.startswith("$ "):
            found.append((line[2:], ""))
        elif found and block.language == "console":
            found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
    return found


def run_command(line: str, shown: str, place: str) -> None:
    """Run one command as a shell would; > writes a file."""
    exits = EXITS.search(line)
    words = shlex.split(line, comments=True)
    assert words[0] == "qcompile", f"{place}: only qcompile is run here, not {words[0]}"
    target = None
    if ">" in words:
        place_of = words.index(">")
        target, words = words[place_of + 1], words[:place_of]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(words[1:])
        except SystemExit as stop:
            code = int(stop.code or 0)
    got = out.getvalue() + err.getvalue()
    expected = int(exits.group(1)) if exits else 0
    assert code == expected, f"{place}: {line}: exit code {code}\n{got}"
    if target is not None:
        Path(target).write_text(out.getvalue())
    checker = doctest.OutputChecker()
    if shown and not checker.check_output(shown, got, FLAGS):
        pytest.fail(f"{place}: {line}\nshown:\n{shown}\nfound:\n{got}")


def run_python(block: Block, names: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(block.text, names, block.place, block.page, 0)
    assert test.examples, f"{block.place}: no >>> in it, so that nothing would run"
    told = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(test, out=told.write, clear_globs=False)
    assert not runner.failures, f"{block.place}\n{told.getvalue()}"
    names.update(test.globs)


@pytest.mark.slow
@pytest.mark.parametrize("page", list(PAGES))
def test_snippets_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QCOMPILE_JOBS", str(tmp_path / "jobs"))
    monkeypatch.setenv("QCOMPILE_MEMORY", "")  # a page may set it; it is put back afterwards
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in BLOCKS:
        if block.page != page or block.reason is not None:
            continue
        if block.language == "python":
            run_python(block, names)
        elif block.language in RUN:
            lines = commands_of(block)
            assert lines, f"{block.place}: no command in it"
            for line, shown in lines:
                run_command(line, shown, block.place)


@pytest.mark.slow
@pytest.mark.parametrize(
    "block", [b for b in BLOCKS if b.reason is not None], ids=lambda block: str(block.place)
)
def test_blocks_that_are_not_run_say_why(block: Block) -> None:
    assert block.reason is not None and block.reason.startswith("needs ")
    for line, _ in commands_of(block):
        words = shlex.split(line, comments=True)
        if words[0] == "qcompile":  # not run, but it must be a command that there is
            from qcompile.cli.app import _parser

            _parser().parse_args(words[1:])
    pytest.skip(f"{block.place}: {block.reason}")


@pytest.mark.slow
def test_every_block_says_what_it_is() -> None:
    strange = [b.place for b in BLOCKS if b.language not in (*RUN, *SHOWN)]
    assert strange == []
    assert sum(b.language in RUN and b.reason is None for b in BLOCKS) > 30


def slug(heading: str) -> str:
    """Return the anchor that GitHub makes of a heading."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def without_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S)


def anchors_of(text: str) -> set[str]:
    lines = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M).splitlines()
    return {slug(line.lstrip("#")) for line in lines if re.match(r"#{1,6} ", line)}


def broken_links(page: Path, text: str) -> list[str]:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        if not path.exists() or (anchor and anchor not in anchors_of(path.read_text())):
            broken.append(target)
    return broken


@pytest.mark.slow
@pytest.mark.parametrize("page", list(PAGES))
def test_links_lead_somewhere(page: str) -> None:
    assert broken_links(DOCS / page, PAGES[page]) == []


@pytest.mark.slow
def test_a_broken_link_would_be_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A heading, with `code`!\n[a](#a-heading-with-code) [b](#no) [c](no.md)\n")
    assert broken_links(page, page.read_text()) == ["#no", "no.md"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "benchmarks/README.md"])
def test_links_of_other_pages_lead_somewhere(name: str) -> None:
    assert broken_links(ROOT / name, (ROOT / name).read_text()) == []


def section(heading: str) -> list[Block]:
    """Return the blocks of a section of README."""
    text = (ROOT / "README.md").read_text()
    return blocks_of(text.split(f"\n## {heading}\n")[1].split("\n## ")[0], f"README, {heading}")


def test_the_command_tour_of_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = section("Command tour")
    commands = commands_of(block)
    assert len(commands) == 14
    for line, shown in commands:
        run_command(line, shown, block.place)


def test_the_readme_is_short() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.split()) <= 1000
    assert max(map(len, text.splitlines())) <= 100


def long_lines(text: str) -> list[str]:
    """Return the lines of prose over 100 columns; tables, code and formulas may be wider."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    wide = [line for line in prose.splitlines() if len(line) > 100]
    return [line for line in wide if not line.startswith(("|", "$$"))]


@pytest.mark.parametrize(
    "name", [*(f"docs/{page}" for page in PAGES), "CONTRIBUTING.md", "benchmarks/README.md"]
)
def test_lines_of_prose_are_short(name: str) -> None:
    assert long_lines((ROOT / name).read_text()) == []
    assert long_lines(f"{'word ' * 30}\n") != []


def test_the_architecture_page_shows_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (layers,) = [c["layers"] for c in contracts["contracts"] if c["type"] == "layers"]
    shown = [b.text.split("\n")[:-1] for b in BLOCKS if b.page == "architecture.md"]
    assert shown == [layers]
    packages = {path.parent.name for path in (ROOT / "qcompile").glob("*/__init__.py")}
    assert set(re.findall(r"^\| `(\w+)` \|", PAGES["architecture.md"], re.M)) >= packages


def test_the_architecture_page_names_modules_that_exist() -> None:
    named = re.findall(r"`([\w/]+\.(?:py|toml|md))`", PAGES["architecture.md"])
    missing = [n for n in named if not (ROOT / n).exists() and not (ROOT / "qcompile" / n).exists()]
    assert len(named) > 40 and missing == []


def test_every_page_is_in_the_index() -> None:
    index = PAGES["README.md"]
    assert [name for name in PAGES if name != "README.md" and name not in index] == []


@pytest.mark.slow
def test_wrong_output_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_command("qcompile data --list", "breast-cancer  Wisconsin...", "here")
    with pytest.raises(pytest.fail.Exception):
        run_command("qcompile data --list", "something else", "here")
    with pytest.raises(AssertionError):
        run_command("qcompile data none.svm", "", "here")
    (block,) = blocks_of("```python\n>>> 1 + 1\n3\n```\n", "page")
    with pytest.raises(AssertionError):
        run_python(block, {})


@pytest.mark.slow
def test_every_command_is_in_the_docs() -> None:
    from tests.cli.lines import commands

    every = "\n".join(PAGES.values())
    assert [name for name in commands() if f"qcompile {name}" not in every] == []


def names_told() -> list[str]:
    """Give the names that the pages of docs/api explain."""
    pages = "\n".join(path.read_text() for path in sorted((DOCS / "api").glob("*.rst")))
    return re.findall(r"^\.\. (?:auto(?:class|exception|function)|py:data):: (\S+)$", pages, re.M)


def test_every_public_name_is_in_the_reference_once() -> None:
    assert sorted(names_told()) == sorted(qcompile.__all__)


def extension(name: str) -> dict[str, Any]:
    return runpy.run_path(str(DOCS / "_ext" / f"{name}.py"))


@pytest.mark.parametrize(
    ("plain", "rest"),
    [
        ("Weights reach range_ · s, |x|* too.", r"Weights reach range\_ · s, \|x\|\* too."),
        ("`keep` and ``Pubo.dropped``.", "``keep`` and ``Pubo.dropped``."),
        ('"discard"s `x`s.', '"discard"s ``x``\\ s.'),
        ("See `solve`.", "See :py:obj:`solve <qcompile.solve>`."),
        (
            "`qcompile.a.solve`, `x.solve`",
            ":py:obj:`qcompile.solve <qcompile.solve>`, ``x.solve``",
        ),
        ("Count.\n\n>>> a_b\n1\n", "Count.\n\n>>> a_b\n1"),
        ("Like so:\n>>> a_b\n1", "Like so:\n\n>>> a_b\n1"),
        ("Form:\n\n        a_b  c\n", "Form:\n\n::\n\n        a_b  c"),
    ],
)
def test_docstrings_become_rest(plain: str, rest: str) -> None:
    assert extension("plain_docstrings")["as_rest"](plain, {"solve"}) == rest


def test_signatures_are_as_written() -> None:
    signature_of = extension("plain_docstrings")["signature_of"]
    arguments, result = signature_of("function", qcompile.add_noise)
    assert (arguments, result) == ("(data: Dataset, share: float, *, seed: int = 0)", "Dataset")
    arguments, result = signature_of("class", qcompile.Dataset)
    assert "source: Source = Source(), weights:" in arguments and result == ""


def test_links_out_of_the_docs_become_downloads() -> None:
    for_the_site = extension("repository_pages")["for_the_site"]
    given = "[a](../README.md#two) [b](../tests) [c](faq.md)\n```python\n>>> 1\n1\n\n```\n"
    told = "[a](path:../README.md) b [c](faq.md)\n```python\n>>> 1\n1\n```\n"
    assert for_the_site(given, DOCS) == told
