"""Tables of openml.org, with scikit-learn's fetcher replaced: no test has a network."""

from __future__ import annotations

from typing import Any
from urllib.error import URLError

import pandas as pd
import pytest
from sklearn import datasets
from sklearn.utils import Bunch

from qcompile import InputError, compile, read


def _fetched(**which: Any) -> Bunch:
    assert which["as_frame"] and (which.get("name") == "shapes" or which.get("data_id") == 31)
    frame = pd.DataFrame({"kind": ["round", "square"] * 4, "size": [1.0, 2.0] * 4, "last": 3.0})
    return Bunch(frame=frame, target_names=["kind"], version=which.get("version"))


@pytest.mark.parametrize("name", ["openml:shapes", "openml:shapes/2", "openml:31"])
def test_a_set_is_read_with_its_target(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(datasets, "fetch_openml", _fetched)
    found = read(name)
    assert found.preparation.names == ("size", "last")
    assert (found.preparation.negative, found.preparation.positive) == ("round", "square")
    assert dict(found.source) == {"name": name, "rows": 8}
    assert compile(name, bits=1, order=3).moments.count == 8


def test_no_network_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(**_: Any) -> Bunch:
        raise URLError("Name or service not known\nat all")

    monkeypatch.setattr(datasets, "fetch_openml", offline)
    with pytest.raises(InputError, match=r"openml:credit-g: cannot be fetched from") as no:
        read("openml:credit-g")
    assert "\n" not in str(no.value) and "network" in str(no.value)
    for name in ("openml:", "openml:a/b"):
        with pytest.raises(InputError, match="expected openml:NAME"):
            read(name)
