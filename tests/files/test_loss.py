from __future__ import annotations

from pathlib import Path

from qcompile import fit_loss, moments_of
from qcompile.data.read import read
from qcompile.files.loss import load_loss, save_loss


def test_a_loss_comes_back_from_its_file(tmp_path: Path) -> None:
    loss = fit_loss(moments_of(read("synthetic:examples=20,features=2"), 3))
    save_loss(loss, tmp_path / "loss.json")
    assert load_loss(tmp_path / "loss.json") == loss
