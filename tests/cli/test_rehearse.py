from __future__ import annotations

import json
from pathlib import Path

import pytest

from qcompile.cli.app import main

QUICK = ["--machine", "chimera4", "--draws", "1", "-n", "5"]


def test_people_and_programs_get_the_same_figures(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["rehearse", "qubo.json", *QUICK, "--factors", "1"]
    capsys.readouterr()
    assert main([*line, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["betas"] == [2, 4, 8] and len(found["chosen"]) == 3
    assert "no temperature is published" in found["beta_sources"][0]
    assert main(line) == 0
    text = dict(row.split("  ", 1) for row in capsys.readouterr().out.splitlines())
    shares = [f"{one['share_in_best_state']['mean']:.4f}" for one in found["chosen"]]
    shown = text["share of reads in the best state"].split("|")
    assert [part.split()[0] for part in shown] == shares
    assert "none" in text["quantisation"] and "± 0.01" in text["control errors"]
    assert f"{found['best_energy']:.6g}" in text["best known energy"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("rehearse qubo.json --draws 0", "0 draws"),
        ("rehearse qubo.json --rounds 3", "--rounds is for the rehearsal of a training"),
        ("rehearse data.svm --compare-bits", "--compare-bits is for the rehearsal of a problem"),
        ("rehearse data.svm --beta 1,2", "a training is rehearsed at one"),
        ("rehearse qubo.json --beta x", "expected numbers"),
        ("rehearse qubo.json --beta 0", "beta 0.0; expected"),
        ("rehearse qubo.json --errors -1", "errors -1.0; expected"),
        ("rehearse qubo.json --chain-strength sweep", "--factors"),
        ("rehearse qubo.json --factors 0", "expected numbers above 0"),
        ("rehearse none.json", "none.json: no such file"),
        ("rehearse qubo.json --machine nobody", "nobody"),
    ],
)
def test_bad_input_is_one_line(
    line: str, said: str, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    try:
        code = main(line.split())
    except SystemExit as error:
        code = int(str(error.code))
    err = capsys.readouterr().err
    assert code == 2 and said in err and len(err.splitlines()) == 1, err


def test_problems_without_an_expected_loss_are_written_all_the_same(
    files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("huge.json").write_text(json.dumps({"a,b,c": -2e200, "a": 1e200}))
    assert main(["quadratize", "huge.json", "-o", "one.json"]) == 0
    assert "expected" not in capsys.readouterr().out
    monkeypatch.setattr("qcompile.cli.expected.MOST_COUPLINGS", 1)
    assert main(["quadratize", "pubo.json", "-o", "two.json"]) == 0
    assert "not computed above 1 couplings" in capsys.readouterr().out
    monkeypatch.setattr("qcompile.cli.expected.MOST_COUPLINGS", 1000)
    monkeypatch.setattr("qcompile.rehearsal.expected_loss.MOST_COUPLINGS", 1)
    assert main(["quadratize", "pubo.json", "-o", "three.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["expected_energy_loss"] is None


def test_compile_says_what_errors_cost_in_one_line(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["compile", "data.svm", "--bits", "2"]) == 0
    rows = capsys.readouterr().out.splitlines()
    (at,) = [i for i, row in enumerate(rows) if row.startswith("share of couplings below")]
    assert rows[at + 1].startswith("expected energy loss") and "advantage" in rows[at + 1]
    assert main(["compile", "data.svm", "--bits", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["expected_energy_loss"] >= 0 and found["expected_error_loss"] is not None


def test_a_page_shows_the_rehearsal(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["rehearse", "qubo.json", *QUICK, "--factors", "0.5,1", "--report", "page.html"]
    assert main([*line, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    page = Path("page.html").read_text()
    card = page.partition('id="rehearsal"')[2].partition("</section>")[0]
    assert "No real machine was used" in card and "inverse temperature 2" in card
    for one in found["chosen"]:
        assert f"{one['share_in_best_state']['mean']:.1%}" in card
        assert f"{one['chain_strength']:.4g}" in card
    assert len({one["chain_strength"] for one in found["tried"]}) == 2
    assert all(f"{one['lowest_energy_above_best']['mean']:.3g} ±" in card for one in found["tried"])
    assert main(["rehearse", "data.svm", *QUICK, "--report", "x.html"]) == 2
    assert "--report is for the rehearsal of a problem" in capsys.readouterr().err
    assert main([*line[:-1], "page.txt"]) == 2
    assert not Path("x.html").exists() and not Path("page.txt").exists()


def test_chains_are_rehearsed_on_their_own_machine(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["embed", "qubo.json", "--machine", "chimera4", "-o", "chains.json", "-q"]) == 0
    capsys.readouterr()
    line = ["rehearse", "qubo.json", "--embedding", "chains.json", "--draws", "1", "-n", "5"]
    assert main([*line, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["machine"] == "chimera4"
    assert main([*line, "--machine", "zephyr3"]) == 2
    assert "on machine zephyr3" in capsys.readouterr().err
