"""Files whose maker changed a field and then recomputed every digest and the fingerprint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qcompile import (
    Dataset,
    Pubo,
    Qubo,
    compile,
    discretize,
    discretize_step,
    fit_around,
    load_qubo,
    quadratize,
    restore,
    save_qubo,
    verify,
)
from qcompile.data.prepare import from_arrays, prepare
from qcompile.errors import FormatError
from qcompile.stages.arrays import frozen
from qcompile.stages.compression import Compression
from qcompile.stages.encoding import Encoding
from qcompile.stages.step import Step


@dataclass(frozen=True)
class Case:
    """A problem with the rows that it was compiled from."""

    data: Dataset
    pubo: Pubo
    qubo: Qubo


OPTIONS: dict[str, dict[str, Any]] = {
    "cubic": {"order": 3, "bits": 2},
    "one bit": {"order": 3, "bits": 1},
    "linear": {"order": 1, "bits": 2},
    "order 4": {"order": 4, "bits": 1},
    "order 6": {"order": 6, "bits": 1},
    "l0": {"order": 3, "bits": 2, "l0": 0.05},
    "pruned": {"order": 3, "bits": 3},
    "truncated": {"order": 3, "bits": 2, "max_ancillas": 2},
    "compressed": {"order": 3, "bits": 2, "compress": 0.5},
    "threshold": {"order": 3, "bits": 2, "threshold": 3e-3},
    "greedy": {"order": 3, "bits": 2, "cover": "greedy"},
}


@cache
def _case(name: str) -> Case:
    rng = np.random.default_rng(7)
    x = rng.normal(size=(60, 5)) + 1.0
    y = np.where(x @ [1.0, -1.0, 0.5, 0.2, 0.0] + 0.3 * rng.normal(size=60) > 0.7, 2.0, 1.0)
    data = prepare(from_arrays(x, y), scale="standard", features=3, bias=True)
    if name.startswith("step"):
        fit = fit_around(data, [1.0, -0.5, 0.25, 0.1], 0.5, degree=3 if "3" in name else 2, l2=0.1)
        pubo = discretize_step(fit, 0.3, 2 if "levels" in name else None)
        return Case(data, pubo, quadratize(pubo))
    made = compile(data, weight_range=1.0, prior_std=1.0, anyway=True, **OPTIONS[name])
    if name == "pruned":
        bounds = ((-3, 0), (0, 2), (-1, 1), (1, 3))
        levels = Encoding(4, 3, made.loss.zeta, bounds=bounds)
        pubo = discretize(made.moments, made.loss, 3, encoding=levels)
        return Case(data, pubo, quadratize(pubo))
    return Case(data, made.pubo, made.quadratize())


NAMES = [*OPTIONS, "step", "step of degree 3", "step of levels"]
SHARES = (1e-9, 1e-4, 0.5, -2.0)  # how much of a number is added to it

Forged = list[tuple[str, Qubo]]


def _origin(qubo: Qubo, **changed: Any) -> Qubo:
    return replace(qubo, origin=replace(qubo.origin, **changed))


def _moved(values: Any, at: int, share: float) -> Any:
    made = np.array(values, dtype=np.float64)
    made[at] += share * max(abs(made[at]), 1e-3)
    return frozen(made)


def _coefficients(qubo: Qubo) -> Forged:
    made: Forged = [("linear negated", replace(qubo, linear=frozen(-qubo.linear)))]
    for share in SHARES:
        made.append((f"offset {share}", replace(qubo, offset=qubo.offset + share)))
        for at in (0, qubo.logical - 1):
            linear = replace(qubo, linear=_moved(qubo.linear, at, share))
            made.append((f"linear {at} {share}", linear))
            bought = _origin(linear, dropped=qubo.dropped + 10.0)
            made.append((f"linear {at} {share} and dropped", bought))
        if len(qubo.quadratic):
            changed = replace(qubo, quadratic=_moved(qubo.quadratic, 0, share))
            made.append((f"quadratic {share}", changed))
    return made


def _record(qubo: Qubo) -> Forged:
    made: Forged = []
    for dropped in (1e-6, 1.0):
        made.append((f"dropped {dropped}", _origin(qubo, dropped=qubo.dropped + dropped)))
    made.append(("l0", _origin(qubo, l0=qubo.l0 + 0.01)))
    made.append(("rows", _origin(qubo, source=replace(qubo.source, rows=59))))
    assert qubo.encoding is not None
    for share in (1e-9, 1e-4, 0.5):
        zeta = replace(qubo.encoding, zeta=qubo.encoding.zeta * (1 + share))
        made.append((f"zeta {share}", _origin(qubo, encoding=zeta)))
        if qubo.loss is not None:
            loss = replace(qubo.loss, range_=qubo.loss.range_ * (1 + share))
            made.append((f"range {share}", _origin(qubo, loss=loss)))
            made.append((f"zeta and range {share}", _origin(qubo, encoding=zeta, loss=loss)))
            l2 = replace(qubo.loss, l2=qubo.loss.l2 * (1 + share) + 1e-6)
            made.append((f"l2 {share}", _origin(qubo, loss=l2)))
            for p, value in enumerate(qubo.loss.coefficients):
                if value:
                    values = list(qubo.loss.coefficients)
                    values[p] *= 1 + share
                    other = replace(qubo.loss, coefficients=tuple(values))
                    made.append((f"a_{p} {share}", _origin(qubo, loss=other)))
        if qubo.around is not None:
            for field in ("width", "smoothing", "l2"):
                value = getattr(qubo.around, field) * (1 + share)
                around = replace(qubo.around, **{field: value})
                made.append((f"{field} {share}", _origin(qubo, around=around)))
    return made + _encodings(qubo, qubo.encoding)


def _encodings(qubo: Qubo, encoding: Encoding) -> Forged:
    made: Forged = []
    if isinstance(encoding, Step):
        centre = (encoding.centre[0] + 1e-4, *encoding.centre[1:])
        made.append(("centre", _origin(qubo, encoding=replace(encoding, centre=centre))))
        if encoding.directions is not None:
            ways = (-encoding.directions[0], *encoding.directions[1:])
            made.append(("directions", _origin(qubo, encoding=replace(encoding, directions=ways))))
    elif encoding.bounds is not None:
        bounds = list(encoding.bounds)
        low, high = bounds[0]
        step = 1 if high < 4 else -1  # levels of three bits are -3 to 4
        bounds[0] = (low + step, high + step)
        made.append(("bounds", _origin(qubo, encoding=replace(encoding, bounds=tuple(bounds)))))
    return made


def _preparations(qubo: Qubo) -> Forged:
    known = qubo.preparation
    assert known is not None and known.columns is not None
    assert known.center is not None and known.scale is not None
    order = np.arange(len(known.columns))
    order[:2] = 1, 0
    others = [c for c in range(known.raw_features) if c not in known.columns.tolist()]
    changed: dict[str, dict[str, Any]] = {
        "labels exchanged": {"positive": known.negative, "negative": known.positive},
        "columns exchanged": {"columns": known.columns[order]},
        "columns and scales exchanged": {
            "columns": known.columns[order],
            "center": known.center[order],
            "scale": known.scale[order],
        },
        "another column": {"columns": np.array([others[0], *known.columns[1:]])},
        "centre": {"center": _moved(known.center, 0, 1e-4)},
        "scale": {"scale": _moved(known.scale, 0, 1e-4)},
        "scale turned round": {"scale": -known.scale},
        "unit norm": {"unit_norm": True},
    }
    made = {name: replace(known, **values) for name, values in changed.items()}
    return [(name, _origin(qubo, preparation=p)) for name, p in made.items()]


def _raw(case: Case) -> Dataset:
    """Return the rows as they were before any preparation, with their own labels."""
    rng = np.random.default_rng(7)
    x = rng.normal(size=(60, 5)) + 1.0
    known = case.data.preparation
    return from_arrays(x, known.labels(case.data.y))


def _sealed(qubo: Qubo, folder: Path) -> Any:
    """Write with new digests and the fingerprint of what is there, and read it back."""
    save_qubo(qubo, folder / "forged.npz", pubo=restore(qubo))
    return load_qubo(folder / "forged.npz")


@pytest.mark.parametrize("name", NAMES)
def test_good_files_are_proved(name: str, tmp_path: Path) -> None:
    case = _case(name)
    qubo, reference = _sealed(case.qubo, tmp_path)
    for data in (case.data, _raw(case)):
        found = verify(qubo, pubo=case.pubo, reference=reference, data=data)
        assert found.holds, found.checks


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("forge", [_coefficients, _record, _preparations])
def test_no_forged_file_agrees_with_the_data(
    forge: Callable[[Qubo], Forged], name: str, tmp_path: Path
) -> None:
    case = _case(name)
    raw = _raw(case)
    passed = []
    for number, (label, forged) in enumerate(forge(case.qubo)):
        # files take most of the time; the record in memory is the same
        back, reference = _sealed(forged, tmp_path) if number % 8 == 0 else (forged, None)
        for data in (case.data, raw):
            if verify(back, reference=reference, data=data, seed=number).holds:
                passed.append(label)
    assert not passed


def test_what_needs_no_data_is_found_without() -> None:
    qubo = _case("cubic").qubo
    assert qubo.encoding is not None and qubo.loss is not None
    charged = _case("l0").qubo
    wrong = {
        "zeta": _origin(qubo, encoding=replace(qubo.encoding, zeta=2 * qubo.encoding.zeta)),
        "order": _origin(qubo, loss=replace(qubo.loss, coefficients=qubo.loss.coefficients[:2])),
        "offset": replace(qubo, offset=qubo.offset + 1e-6),
        "dropped": _origin(qubo, dropped=1e-9),
        "error": replace(qubo, error=1e-3),
        "l0": _origin(qubo, l0=0.1),
        "another l0": _origin(charged, l0=charged.l0 * 1.001),
        "no l0": _origin(charged, l0=0.0),
    }
    for name, forged in wrong.items():
        assert "record" in verify(forged).failed, name
    assert "truncation" in verify(replace(_case("truncated").qubo, error=1e-9)).failed


def test_no_forged_claim_about_the_minimum_is_proved(tmp_path: Path) -> None:
    case = _case("compressed")
    kept, left_out = case.qubo.compression, case.qubo.truncated
    assert kept is not None and left_out is not None
    plain = quadratize(case.pubo)
    for at in range(case.qubo.logical):
        bits = list(kept.minimiser)
        bits[at] = 1 - bits[at]
        forged = replace(case.qubo, compression=replace(kept, minimiser=tuple(bits)))
        assert verify(_sealed(forged, tmp_path)[0]).failed == ("minimum",)
    for changed in ({"share": 1.1}, {"share": 0.0}, {"share": -1.0}, {"minimiser": (0, 1)}):
        forged = replace(case.qubo, compression=replace(kept, **changed))
        assert verify(forged).failed == ("minimum",), changed
    assert verify(replace(plain, compression=kept)).failed == ("minimum",)
    with pytest.raises(FormatError, match=r"compression keeps 1\.1 of heights"):
        _sealed(replace(case.qubo, compression=replace(kept, share=1.1)), tmp_path)


def test_what_was_left_out_must_leave_the_minimum(tmp_path: Path) -> None:
    pubo = Pubo.from_dict({(0,): -1.0, (1,): -2.0, (0, 1): 2.5, (0, 2): -0.1, (2,): 0.05})
    tried: list[tuple[dict[tuple[int, ...], float], bool]]
    tried = [({(0, 2): -0.1}, True), ({(1,): -1.5}, False)]
    for gone, holds in tried:
        left_out = Pubo.from_dict(gone, variables=3)
        claim = Compression((0, 1, 0), 0.5)
        made = replace(
            quadratize(pubo - left_out), truncated=left_out, error=2.0, compression=claim
        )
        back, reference = _sealed(made, tmp_path)
        failed = verify(back, pubo=pubo, reference=reference).failed
        assert failed == (() if holds else ("minimum",))


def test_the_record_is_that_of_the_polynomial() -> None:
    case = _case("cubic")
    for label, forged in _preparations(case.qubo):
        assert verify(forged, pubo=case.pubo).failed == ("record",), label
