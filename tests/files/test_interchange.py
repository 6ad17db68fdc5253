"""Polynomials of others, judged by their own energy functions over all assignments."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dimod
import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qcompile import FormatError, InputError, Pubo, QcompileError, quadratize
from qcompile.cli.app import main
from qcompile.files.interchange import read_pubo
from qcompile.files.interchange_out import FORMS, to_bqm, to_cimod, to_dimod, to_terms, write_pubo
from tests.by_brute_force import energy
from tests.strategies import Terms, terms

vartypes = st.sampled_from(["BINARY", "SPIN"])


def agrees(pubo: Pubo, polynomial: Mapping[tuple[Any, ...], float], vartype: str) -> None:
    labels = pubo.labels
    for bits in itertools.product((0, 1), repeat=pubo.variables):
        values = bits if vartype == "BINARY" else [2 * b - 1 for b in bits]
        state = dict(zip(labels, values, strict=True))
        assert pubo.energies([bits])[0] == energy(polynomial, state)


def same(one: Pubo, two: Pubo) -> None:
    assert one.to_dict() == two.to_dict()
    assert one.variables == two.variables
    assert one.labels == two.labels
    assert one.vartype == two.vartype


@settings(max_examples=60, deadline=None)
@given(terms(), vartypes)
def test_dictionaries_keep_every_energy_and_come_back(given: Terms, vartype: str) -> None:
    pubo = read_pubo(given, vartype=vartype)
    agrees(pubo, given, vartype)
    assert set(pubo.labels) == {label for term in given for label in term}
    back = to_terms(pubo)
    assert {frozenset(t): c for t, c in back.items() if c} == merged(given)
    wider = back | {(label,): back.get((label,), 0.0) for label in pubo.labels}
    same(read_pubo(wider, vartype=vartype), pubo)


def merged(given: Terms) -> dict[frozenset[Any], float]:
    sums: dict[frozenset[Any], float] = {}
    for term, value in given.items():
        sums[frozenset(term)] = sums.get(frozenset(term), 0.0) + value
    return {term: value for term, value in sums.items() if value}


@settings(max_examples=60, deadline=None)
@given(terms(), vartypes)
def test_dimods_polynomials_keep_every_energy_and_come_back(given: Terms, vartype: str) -> None:
    polynomial = dimod.BinaryPolynomial(given, vartype)
    pubo = read_pubo(polynomial)
    labels = pubo.labels
    for bits in itertools.product((0, 1), repeat=pubo.variables):
        values = bits if vartype == "BINARY" else [2 * b - 1 for b in bits]
        state = dict(zip(labels, values, strict=True))
        assert pubo.energies([bits])[0] == polynomial.energy(state)
    back = to_dimod(pubo)
    assert back.vartype is polynomial.vartype
    assert back.variables == polynomial.variables
    assert {t: c for t, c in back.items() if c} == {t: c for t, c in polynomial.items() if c}


@settings(max_examples=40, deadline=None)
@given(terms(degree=2), vartypes)
def test_dimods_quadratic_models_keep_every_energy_and_come_back(
    given: Terms, vartype: str
) -> None:
    bqm = dimod.BinaryQuadraticModel(vartype)
    for term, value in given.items():
        if len(term) == 2:
            bqm.add_quadratic(*term, value)
        elif term:
            bqm.add_linear(*term, value)
        else:
            bqm.offset += value
    pubo = read_pubo(bqm)
    assert len(pubo.labels) == bqm.num_variables
    agrees(pubo, given, vartype)
    back = to_bqm(pubo)
    for state in itertools.product((-1, 1) if vartype == "SPIN" else (0, 1), repeat=len(back)):
        sample = dict(zip(pubo.labels, state, strict=True))
        assert back.energy(sample) == bqm.energy(sample)
    if pubo.degree > 1:
        with pytest.raises(InputError, match="degree 3"):
            to_bqm(read_pubo({(0, 1, 2): 1.0}))


@settings(max_examples=60, deadline=None)
@given(terms(kinds=("numbers", "gaps", "texts", "rows")), vartypes)
def test_cimod_reads_what_we_write_and_we_read_what_it_writes(given: Terms, vartype: str) -> None:
    cimod = pytest.importorskip("cimod")
    model = cimod.BinaryPolynomialModel(given or {(): 0.0}, vartype)
    text = json.dumps(model.to_serializable())
    pubo = read_pubo(json.loads(text))
    same(read_pubo(model), pubo)
    if set(pubo.labels) == {label for term in given for label in term}:
        agrees(pubo, given, vartype)  # cimod forgets variables whose coefficients are 0
    theirs = cimod.BinaryPolynomialModel.from_serializable(json.loads(orjson.dumps(to_cimod(pubo))))
    assert str(theirs.vartype) == f"Vartype.{vartype}"
    labels = pubo.labels
    for bits in itertools.product((0, 1), repeat=pubo.variables):
        values = bits if vartype == "BINARY" else [2 * b - 1 for b in bits]
        state = dict(zip(labels, values, strict=True))
        mine = pubo.energies([bits])[0]
        if labels:
            assert theirs.energy(state) == model.energy(state) == mine


@pytest.mark.parametrize("vartype", ["BINARY", "SPIN"])
@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([0, 1, 2, 4], "INT"),
        (["a", "b", "c", "d"], "STRING"),
        ([[0, 1], [2, 3], [4, 5], [6, 7]], "INT_TUPLE_2"),
    ],
)
def test_text_that_cimod_wrote_is_read(vartype: str, labels: list[Any], kind: str) -> None:
    """As cimod of OpenJij 0.12.2 gave it; needs no cimod."""
    text = (
        '{"poly_key_distance_list": [[0, 3], [], [1], [0, 1, 2]], '
        '"poly_value_list": [1.0, 3.0, 2.0, -1.5], "type": "BinaryPolynomialModel", '
        f'"variables": {json.dumps(labels)}, "vartype": "{vartype}", '
        f'"index_type": "IndexType.{kind}"}}'
    )
    a, b, c, d = (tuple(label) if isinstance(label, list) else label for label in labels)
    polynomial: Terms = {(a, d): 1.0, (): 3.0, (b,): 2.0, (a, b, c): -1.5}
    pubo = read_pubo(json.loads(text))
    assert pubo.labels == [a, b, c, d]
    agrees(pubo, polynomial, vartype)
    own = json.loads(orjson.dumps(to_cimod(pubo)))
    theirs = json.loads(text)
    assert {k: v for k, v in own.items() if "poly" not in k} == {
        k: v for k, v in theirs.items() if "poly" not in k
    }


def test_cimod_takes_variables_in_any_order() -> None:
    cimod = pytest.importorskip("cimod")
    polynomial: Terms = {("z", "a", "m"): 2.0, ("u",): -1.0, ("z", "u"): 4.0, (): 3.0}
    listed = [[list(term), value] for term, value in polynomial.items()]
    content = to_cimod(read_pubo({"variables": list("zuma"), "terms": listed}))
    assert content["variables"] == list("zuma")
    model = cimod.BinaryPolynomialModel.from_serializable(content)
    for bits in itertools.product((0, 1), repeat=4):
        state = dict(zip("zuma", bits, strict=True))
        assert model.energy(state) == energy(polynomial, state)


@pytest.mark.parametrize("vartype", ["BINARY", "SPIN"])
@pytest.mark.parametrize("sparse", [False, True])
def test_quadratic_models_of_cimod_are_read(vartype: str, sparse: bool) -> None:
    cimod = pytest.importorskip("cimod")
    linear, quadratic = {"p": 1.0, "q": 0.0, "r": -4.0}, {("p", "q"): -3.0, ("q", "r"): 2.0}
    model = cimod.BinaryQuadraticModel(linear, quadratic, 0.5, vartype, sparse=sparse)
    polynomial: Terms = {(): 0.5, **{(k,): v for k, v in linear.items()}, **quadratic}
    agrees(read_pubo(model), polynomial, vartype)
    agrees(read_pubo(json.loads(json.dumps(model.to_serializable()))), polynomial, vartype)


def test_openjij_finds_the_same_minimum() -> None:
    openjij = pytest.importorskip("openjij")
    rng = np.random.default_rng(4)
    triples = itertools.combinations(range(6), 3)
    pubo = read_pubo({t: float(rng.integers(-9, 10)) for t in triples})
    lowest = min(pubo.energies(list(itertools.product((0, 1), repeat=6))))
    answer = openjij.SASampler().sample_hubo(to_terms(pubo), "BINARY", num_reads=20, seed=1)
    assert answer.first.energy == lowest


@settings(max_examples=80, deadline=None)
@given(terms(), vartypes, st.sampled_from(FORMS))
def test_files_come_back_exactly(
    tmp_path_factory: pytest.TempPathFactory, given: Terms, vartype: str, form: str
) -> None:
    pubo = read_pubo(given, vartype=vartype)
    path = tmp_path_factory.mktemp("files") / "pubo.json"
    try:
        write_pubo(pubo, path, form=form)
    except InputError:
        kinds = {type(label) for label in pubo.labels}
        assert (
            (form == "bqm" and pubo.degree > 2)
            or (form == "cimod" and (len(kinds) > 1 or tuple in kinds))
            or (form == "keys" and (tuple in kinds or {"10", "5"} & set(pubo.labels)))
        )
        assert not path.exists()
        return
    back = read_pubo(path)
    again = path.with_name("again.json")
    write_pubo(back, again, form=form)
    assert again.read_bytes() == path.read_bytes()
    agrees(back, given, vartype)
    same(back, pubo)


def test_coefficients_of_bits_keep_their_last_digit(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    names = [f"v{i}" for i in range(9)]
    pubo = read_pubo({t: float(rng.normal()) for t in itertools.combinations(names, 3)})
    for form in ("terms", "keys", "cimod", "qcompile"):
        write_pubo(pubo, tmp_path / "pubo.json", form=form)
        same(read_pubo(tmp_path / "pubo.json"), pubo)
    spins = read_pubo(to_terms(pubo, vartype="SPIN"), vartype="SPIN")
    for term, value in pubo.to_dict().items():  # here sums were rounded on the way
        assert spins.to_dict()[term] == pytest.approx(value, abs=1e-12)


def test_repeated_members_and_equal_terms_mean_what_they_say() -> None:
    twice = {(0, 0, 1): 2.0, (2, 2): 3.0, (0, 1): 1.0, (1, 0): 4.0, (1, 1, 1): 0.5, (2,): 0.0}
    for vartype in ("BINARY", "SPIN"):
        pubo = read_pubo(twice, vartype=vartype)
        assert pubo.variables == 3
        agrees(pubo, twice, vartype)


def test_labels_are_numbered_in_the_order_that_is_given_or_sorted() -> None:
    plain = [[["z", "a"], 1.0], [["m"], 2.0]]
    assert read_pubo(plain).labels == ["a", "m", "z"]
    assert read_pubo({"variables": ["z", "u", "m", "a"], "terms": plain}).labels == list("zuma")
    assert read_pubo({(2, 0): 1.0, (1,): 1.0}).labels == [0, 1, 2]
    assert "labels" not in read_pubo({(2, 0): 1.0, (1,): 1.0}).source


def test_the_order_does_not_depend_on_the_run(tmp_path: Path) -> None:
    code = (
        "import dimod, qcompile, sys\n"
        "terms = {('w', 'x', 'y'): 1.0, ('z', 'x'): 2.0, ((1, 'q'),): 3}\n"
        "p = dimod.BinaryPolynomial(terms, 'SPIN')\n"
        "qcompile.write_pubo(qcompile.read_pubo(p), sys.argv[1])"
    )
    texts = set()
    for seed in ("1", "2", "3"):
        path = tmp_path / f"{seed}.json"
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[2])}
        subprocess.run([sys.executable, "-c", code, str(path)], check=True, env=environment)
        texts.add(path.read_bytes())
    assert len(texts) == 1


CIMOD: dict[str, Any] = {
    "type": "BinaryPolynomialModel",
    "poly_key_distance_list": [[0, 1]],
    "poly_value_list": [1.0],
    "variables": [3, 8],
    "vartype": "BINARY",
    "index_type": "IndexType.INT",
}


BQM: dict[str, Any] = {
    "type": "BinaryQuadraticModel",
    "variable_type": "BINARY",
    "variable_labels": ["a", "b"],
    "offset": 0.0,
    "linear_biases": [1.0, 2.0],
    "quadratic_biases": [3.0],
    "quadratic_head": [0],
    "quadratic_tail": [1],
}


HOSTILE: list[tuple[Any, str]] = [
    ("", "damaged"),
    ("nonsense", "damaged"),
    ("[" * 5000, "damaged"),
    ("[" * 900 + "]" * 900, "term 0"),
    ("null", "expected a list"),
    ("17", "expected a list"),
    ('"0,1"', "expected a list"),
    ('{"0,1": NaN}', "damaged"),
    ('{"0,1": 1e999}', "damaged"),
    ('{"0,1": 1, "0,1": 2}', "is repeated"),
    ('{"terms": [], "terms": [[[0], 1]]}', "is repeated"),
    ('{"0,,1": 1}', "variables and commas"),
    ('{"0,99999999999999999999999": 1}', "whole number"),
    (f'{{"{"9" * 10000}": 1}}', "whole number"),
    ('{"0,1": "2"}', "finite number"),
    ('{"0,1": true}', "finite number"),
    ('{"0,1": [1]}', "finite number"),
    ('{"a\\nb": 1}', "printable"),
    ("[[[0, 1]]]", "term 0"),
    ("[[0, 1, 2.0]]", "term 0"),
    ("[[[0, 1], null]]", "finite number"),
    ("[[[0, 1.5], 1]]", "whole number"),
    ("[[[0, true], 1]]", "whole number"),
    ("[[[0, null], 1]]", "whole number"),
    ("[[[0, {}], 1]]", "whole number"),
    ("[[[0, []], 1]]", "whole number"),
    ("[[[[[0]], 1], 1]]", "whole number"),
    ("[[[0], 1e308], [[0], 1e308]]", "not finite"),
    ({"terms": [[[0, 60], 1.0]], "variables": [0]}, "missing from the list"),
    ({"terms": [[[0], 1.0]], "variables": [0, 1, 0]}, "listed twice"),
    ({"terms": [[[0], 1.0]], "variables": 10**12}, "list of labels"),
    ({"terms": [[[0], 1.0]], "vartype": "TERNARY"}, "BINARY or SPIN"),
    ({"terms": [[[0], 1.0]], "vartype": ["SPIN"]}, "BINARY or SPIN"),
    ({"terms": [[[0], 1.0]], "offset": 3}, "'offset' beside"),
    ({"terms": [[[0, 1], 1e308]], "vartype": "SPIN"}, "range of numbers"),
    ({"terms": [[list(range(25)), 1.0]], "vartype": "SPIN"}, "2\\^25"),
    ([[list(range(5000)), 1.0]], "5,000 variables"),
    ({"type": "SampleSet"}, "'SampleSet'"),
    ({"type": "qcompile.loss"}, "'qcompile.loss'"),
    ({"type": "BinaryPolynomialModel"}, "is missing"),
    (CIMOD | {"poly_key_distance_list": [[0, 10**12]]}, "list of 2 variables"),
    (CIMOD | {"poly_key_distance_list": [[0, -1]]}, "list of 2 variables"),
    (CIMOD | {"poly_key_distance_list": [[0, True]]}, "list of 2 variables"),
    (CIMOD | {"poly_key_distance_list": [0]}, "list of 2 variables"),
    (CIMOD | {"poly_key_distance_list": [], "variables": []}, "differ in length"),
    (
        CIMOD | {"poly_key_distance_list": [[0, 1], [1, 0]], "poly_value_list": [1.0, 2.0]},
        "is repeated",
    ),
    (CIMOD | {"variables": [3, 3]}, "listed twice"),
    (CIMOD | {"variables": {"3": 8}}, "list of labels"),
    (CIMOD | {"vartype": None}, "BINARY or SPIN"),
    (BQM | {"quadratic_head": [7]}, "list of 2 variables"),
    (BQM | {"quadratic_head": [0, 1]}, "differ in length"),
    (BQM | {"linear_biases": {"type": "array"}}, "plain lists"),
    (BQM | {"use_bytes": True}, "bytes"),
    (BQM | {"biases": [1.0] * 8}, "square"),
    (BQM | {"info": {"qcompile": {}}}, "already a QUBO of qcompile"),
    (BQM | {"offset": None}, "finite number"),
]


@pytest.mark.parametrize(("content", "message"), HOSTILE)
def test_files_that_make_no_sense_are_refused_in_one_line(
    content: Any, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "file.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(FormatError, match=message) as caught:
        read_pubo(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1 and len(str(caught.value)) < 400
    if "already a QUBO" not in message:
        assert main(["quadratize", str(path)]) == 2
        shown = capsys.readouterr()
        assert shown.err.startswith("qcompile: error: ") and shown.err.count("\n") == 1


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from([*CIMOD, *BQM, "terms", "0,1", "biases", "info"]), inner, max_size=5
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([{}, CIMOD, BQM]), json_values)
def test_any_json_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, base: dict[str, Any], content: Any
) -> None:
    if base and isinstance(content, dict):
        content = base | content
    path = tmp_path_factory.mktemp("any") / "file.json"
    path.write_text(json.dumps(content))
    try:
        pubo = read_pubo(path)
    except QcompileError as error:
        assert len(str(error).splitlines()) == 1
    else:
        assert np.isfinite(pubo.energies(np.zeros((1, pubo.variables)))).all()


def test_a_huge_number_as_label_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text("[[[1000000000000, 5, 2000000000], -2.5]]")
    pubo = read_pubo(path)
    assert pubo.variables == 3
    assert quadratize(pubo).variables == 4
    assert quadratize(pubo).labels == [5, 2 * 10**9, 10**12]
    own = {"type": "qcompile.pubo", "version": 1, "variables": 10**12, "terms": []}
    path.write_text(json.dumps(own))
    with pytest.raises(FormatError, match=r"^[^ ]*file\.json: 1e\+12 variables; expected"):
        read_pubo(path)


def test_objects_that_are_no_polynomials_are_refused() -> None:
    for thing in (3, None, {("a",): "1"}, {"ab": 1.0, ("a",): 2.0}, {(1.5,): 1.0}, {(None,): 1.0}):
        with pytest.raises(InputError):
            read_pubo(thing)
    with pytest.raises(InputError, match="states SPIN itself"):
        read_pubo(dimod.BinaryPolynomial({(0, 1): 1.0}, "SPIN"), vartype="BINARY")
    with pytest.raises(InputError, match="expected BINARY or SPIN"):
        read_pubo({(0,): 1.0}, vartype="spin")
    with pytest.raises(InputError, match="one of qcompile, terms"):
        write_pubo(read_pubo({(0,): 1.0}), "x.json", form="xml")
    with pytest.raises(InputError, match="labels of one kind"):
        to_cimod(read_pubo({("a", 1): 1.0}))


def test_bits_of_our_own_are_not_taken_for_spins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pubo = read_pubo({(0, 1): 1.0})
    write_pubo(pubo, tmp_path / "own.json", form="qcompile")
    for source in (pubo, tmp_path / "own.json"):
        with pytest.raises(InputError, match="of qcompile is BINARY"):
            read_pubo(source, vartype="SPIN")
        assert read_pubo(source, vartype="BINARY").to_dict() == pubo.to_dict()


def test_numbers_too_large_are_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(QcompileError):
        read_pubo({(0,): 10**400})
    for key in ("9" * 20, "9" * 30, str(2**63)):
        (tmp_path / "keys.json").write_text(json.dumps({key: 1.0}))
        with pytest.raises(QcompileError) as caught:
            read_pubo(tmp_path / "keys.json")
        assert "\n" not in str(caught.value)


def test_names_of_digits_are_not_merged_with_numbers(tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_text('{"01,1": 2.0, "-0": 1.0}')
    assert set(read_pubo(tmp_path / "keys.json").labels) == {"01", 1, 0}


@pytest.mark.parametrize("form", ["terms", "keys", "cimod", "bqm"])
def test_kinds_of_variables_that_are_none_are_refused(form: str, tmp_path: Path) -> None:
    pubo = read_pubo({(0, 1): 1.0})
    with pytest.raises(InputError, match="expected BINARY or SPIN"):
        write_pubo(pubo, tmp_path / "x.json", form=form, vartype="SPINS")
    assert not (tmp_path / "x.json").exists()
