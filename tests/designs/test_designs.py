"""Designs as data: how they are written, named, compared, kept as JSON, and what they refuse."""

from __future__ import annotations

import dataclasses
import json
import pickle
import re

import numpy as np
import pytest

import truerank as tr
from truerank import InputError, designs
from truerank.designs import LJ24, Adaptive, Auto, Exact, Fixed, Frozen, FrozenNegatives, Uniform
from truerank.outcomes.schemes import Scheme

# The shortest way to write a design, which is also how it shows itself.
WRITTEN = {
    "Exact()": Exact(),
    "Exact(users=100)": Exact(users=100),
    "Exact(users=100, stratified=True)": Exact(users=100, stratified=True),
    "Fixed(num_negatives=99)": Fixed(num_negatives=99),
    "Fixed(num_negatives=1, replacement=True)": Fixed(sample_size=2, replacement=True),
    "Fixed(num_negatives=99, shared_by=64, users=5)": Fixed(
        num_negatives=99, shared_by=64, users=5
    ),
    "Adaptive()": Adaptive(budget=200),
    "Adaptive(budget=2)": Adaptive(budget=2),
    "Adaptive(budget=100.5, start=16, hits=3)": Adaptive(hits=3, start=16, budget=100.5),
    "Adaptive(budget=None, growth=2.0, stop=0.5)": Adaptive(budget=None, growth=2.0, stop=0.5),
    "Adaptive(stop=3200, replacement=True)": Adaptive(stop=3200, replacement=True),
    "LJ24()": LJ24(),
    "LJ24(budget=50, stop=0.15)": LJ24(budget=50, stop=0.15),
    "LJ24(start=32, growth=1.5, stop=None)": LJ24(start=32, growth=1.5, stop=None),
    "Auto()": Auto(error=0.05),
    "Auto(error=0.01)": Auto(error=0.01),
    "Auto(budget=100)": Auto(budget=100),
    "Auto(seconds=2.5, users=30)": Auto(seconds=2.5, users=30),
}


@pytest.mark.parametrize("text", WRITTEN)
def test_a_design_shows_itself_as_it_is_written(text):
    assert repr(WRITTEN[text]) == text
    assert eval(text, vars(designs)) == WRITTEN[text]


@pytest.mark.parametrize("text", WRITTEN)
def test_a_design_is_read_from_text(text):
    name, _, options = text.partition("(")
    for spelt in (name, name.lower(), name.upper()):
        assert designs.get(f"{spelt}({options}") == WRITTEN[text]
    assert designs.get(WRITTEN[text]) is WRITTEN[text]


@pytest.mark.parametrize("text", WRITTEN)
def test_a_design_goes_to_json_and_back(text):
    design = WRITTEN[text]
    assert designs.from_json(design.to_json()) == design
    assert designs.from_dict(json.loads(json.dumps(design.to_dict()))) == design
    assert design.to_dict()["name"] == design.name == designs.from_json(design.to_json()).name
    assert next(iter(design.to_dict())) == "name"
    assert "\n" not in design.to_json()
    # All options are there, also those at their defaults, which may change some day.
    options = {field.name for field in dataclasses.fields(design)} - {"sample_size"}
    assert set(design.to_dict()) == {"name"} | options


@pytest.mark.parametrize("text", WRITTEN)
def test_a_design_pickles_hashes_and_cannot_be_changed(text):
    design = WRITTEN[text]
    again = pickle.loads(pickle.dumps(design))
    assert again == design
    assert len({again, design}) == 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        design.users = 7
    assert dataclasses.replace(design, users=7).users == 7


def test_designs_that_differ_are_not_equal():
    assert len(set(WRITTEN.values())) == len(WRITTEN)
    texts = {design.to_json() for design in WRITTEN.values()}
    assert len(texts) == len(WRITTEN)
    # A name is part of a design: the same numbers by another name are another design.
    assert LJ24(budget=200, start=32, growth=1.5, stop=None) != Adaptive()


def test_names():
    assert [kind.name for kind in (Exact, Fixed, Adaptive, LJ24, Frozen, Auto)] == [
        "exact", "fixed", "adaptive", "lj24", "frozen", "auto",
    ]  # fmt: skip
    assert set(designs.REGISTRY) == {"exact", "fixed", "adaptive", "lj24", "frozen", "auto"}
    for name in ("exact", "adaptive", "lj24", "auto"):
        assert designs.get(name) == designs.REGISTRY[name]()


def test_every_encoding_of_a_size_is_the_same_design():
    """Negatives, or a sample that counts the target; in code, in text, in JSON."""
    same = [
        Fixed(num_negatives=99),
        Fixed(sample_size=100),
        Fixed(sample_size=100, num_negatives=99),
        Fixed(sample_size=np.int64(100)),
        designs.get("fixed(num_negatives=99)"),
        designs.get("Fixed(sample_size=100, draw='uniform')"),
        designs.from_dict({"name": "fixed", "sample_size": 100}),
        designs.from_json('{"name": "fixed", "num_negatives": 99, "draw": {"name": "uniform"}}'),
    ]
    assert len(set(same)) == 1
    assert {design.to_json() for design in same} == {same[0].to_json()}
    assert (same[0].sample_size, same[0].num_negatives) == (100, 99)
    assert same[0].draw == Uniform()


def test_numbers_of_numpy_become_plain():
    design = Adaptive(budget=np.int64(50), start=np.int32(8), users=np.int16(9))
    assert repr(design) == "Adaptive(budget=50, start=8, users=9)"
    assert design.to_json() == Adaptive(budget=50, start=8, users=9).to_json()
    fixed = Fixed(num_negatives=np.int64(9), replacement=np.bool_(True), shared_by=np.uint8(4))
    assert designs.from_json(fixed.to_json()) == fixed


def test_laws_and_costs():
    assert Exact().scheme(1000) == Scheme(replacement=False)
    assert Fixed(num_negatives=9, replacement=True).scheme(1000) == Scheme(replacement=True)
    assert Adaptive(stop=100).scheme(1000) == Scheme(False, (32, 48, 72, 100))
    assert LJ24(hits=2).scheme(1000) == Scheme(False, (100,), 2)
    with pytest.raises(InputError, match=r"Auto has no law of its own: truerank.evaluate"):
        Auto().scheme(1000)
    pairs = {design: design.pairs(500.0) for design in WRITTEN.values()}
    assert pairs[Exact()] == 500
    assert pairs[Fixed(num_negatives=99)] == 100
    assert pairs[Adaptive()] == 200
    assert pairs[Auto(budget=100)] == 100
    assert pairs[LJ24()] is pairs[Auto()] is None  # it depends
    assert Adaptive(budget=900).pairs(500.0) == 500
    # Of a user with three targets.
    assert Exact().pairs(500.0, 3) == 502
    assert Fixed(num_negatives=99).pairs(500.0, 3) == 102
    assert Adaptive(budget=900).pairs(500.0, 3) == 502


# -- frozen negatives --------------------------------------------------------------------------


@pytest.fixture
def drawn():
    scorer = tr.scoring.Dense(np.random.default_rng(0).random((20, 50)))
    test = np.arange(20), np.arange(20)
    return tr.sampling.freeze(scorer, test, Fixed(num_negatives=9), seed=7)


def test_frozen_negatives_in_a_file_go_to_json_and_back(drawn, tmp_path):
    path = tmp_path / "negatives.parquet"
    drawn.save(path)
    design = Frozen(drawn, users=5)
    card = design.to_dict()
    assert (card["negatives"], card["sha256"]) == (str(path), drawn.hash)
    again = designs.from_json(design.to_json())
    assert again == design
    assert hash(again) == hash(design)
    assert again.negatives.hash == drawn.hash
    assert again.users == 5
    for given in (path, str(path)):
        assert Frozen(given, users=5) == design
    assert designs.get(f"frozen(negatives={str(path)!r})") == Frozen(drawn)
    assert repr(design).startswith("Frozen(negatives=FrozenNegatives(20 test rows; 9 negatives")
    assert repr(design).endswith(", users=5)")
    assert design.pairs(50.0) == 10


def test_frozen_negatives_in_no_file_are_written_but_cannot_be_read(drawn):
    card = Frozen(drawn).to_dict()
    assert card["negatives"] is None
    assert card["sha256"] == drawn.hash
    with pytest.raises(InputError, match=r"were in no file.*save them with FrozenNegatives\.save"):
        designs.from_json(Frozen(drawn).to_json())


def test_a_file_of_other_content_is_noticed(drawn, tmp_path):
    path = tmp_path / "negatives.parquet"
    drawn.save(path)
    text = Frozen(path).to_json()
    scorer = tr.scoring.Dense(np.zeros((20, 50)))
    test = np.arange(20), np.arange(20)
    other = tr.sampling.freeze(scorer, test, Fixed(num_negatives=9), seed=8)
    other.save(path)
    message = f"{path} has other content .*{other.hash[:12]}.*{drawn.hash[:12]}.*restore that file"
    with pytest.raises(InputError, match=message):
        designs.from_json(text)
    kept = json.loads(text)
    del kept["sha256"]
    assert designs.from_dict(kept) == Frozen(other)
    path.unlink()
    with pytest.raises(InputError, match="does not exist"):
        designs.from_json(text)


@pytest.mark.parametrize("replacement", [True, False])
def test_text_files_of_negatives_go_to_json_and_back(tmp_path, replacement):
    path = tmp_path / "test.negative"
    path.write_text("(0,1)\t4\t5" + ("\t4\n" if replacement else "\n"))
    design = Frozen(FrozenNegatives.from_ncf(path, replacement=replacement))
    again = designs.from_json(design.to_json())
    assert again == design
    assert again.scheme(50) == Scheme(replacement)
    said = f"frozen(negatives={str(path)!r}, replacement={replacement})"
    assert designs.get(said) == design
    path.write_text("(0,1)\t4\t6\t7\n")
    with pytest.raises(InputError, match="has other content"):
        designs.from_json(design.to_json())


def test_frozen_designs_compare_by_what_is_drawn(drawn, tmp_path):
    drawn.save(tmp_path / "a.parquet")
    here = FrozenNegatives.load(tmp_path / "a.parquet")
    assert here == drawn
    assert Frozen(here) == Frozen(drawn)
    assert Frozen(here) != Frozen(drawn, users=3)
    assert Frozen(here.of_users(np.arange(3))) != Frozen(drawn)
    assert here != "a.parquet"


# -- bad input ---------------------------------------------------------------------------------

# Each names the thing, its value, the bound and the remedy.
BAD = {
    # A size, a budget or sharing with designs that cannot.
    "Exact(sample_size=100)": (
        r"sample_size is 100, but the design is exact, .* leave it out, or name .* has it: fixed$"
    ),
    "Exact(num_negatives=99)": r"num_negatives is 99, but the design is exact.*: fixed$",
    "Exact(budget=50)": r"budget is 50, but the design is exact.*: adaptive, lj24, auto$",
    "Adaptive(shared_by=64)": r"shared_by is 64, but the design is adaptive.*: fixed$",
    "Adaptive(num_negatives=99)": r"num_negatives is 99, but the design is adaptive.*: fixed$",
    "LJ24(shared_by=64)": r"shared_by is 64, but the design is lj24.*: fixed$",
    "Fixed(num_negatives=9, budget=50)": r"budget is 50, but the design is fixed.*auto$",
    "Fixed(num_negatives=9, stop=50)": r"stop is 50, but the design is fixed.*: adaptive, lj24$",
    "Auto(num_negatives=99)": r"num_negatives is 99, but the design is auto.*: fixed$",
    "Auto(start=99)": r"start is 99, but the design is auto.*: adaptive, lj24$",
    # Unknown options.
    "Fixed(num_negative=99)": (
        r"unknown option of fixed 'num_negative'; did you mean 'num_negatives'\? \(known: "
    ),
    "Adaptive(budgets=99)": r"unknown option of adaptive 'budgets'; did you mean 'budget'\?",
    "Exact(speed=3)": r"unknown option of exact 'speed' \(known: users, stratified\)",
    # Values.
    "Adaptive(budget=1.9)": (
        r"budget is 1.9 scored pairs per user; it must be at least 2, the target's own score and "
        r"one negative$"
    ),
    "Auto(budget=1)": r"budget is 1 scored pairs per user; it must be at least 2",
    "LJ24(budget=0)": r"budget is 0; it must be above 0",
    "Adaptive(budget='lots')": r"budget is 'lots'; it must be a number",
    "Auto(budget=100, seconds=3)": r"budget is 100 and seconds is 3; give one of them",
    "Auto(seconds=0)": r"seconds is 0; it must be above 0",
    "Auto(seconds=-1)": r"seconds is -1; it must be above 0",
    "Auto(error=0)": r"error is 0; it must be above 0",
    "Auto(error=5)": r"error is 5; it is a share of the metric below 1: 0.05 for 5 %",
    "Fixed()": r"sample_size and num_negatives: neither given; give one .*sample size of 101",
    "Fixed(sample_size=100, num_negatives=100)": (
        r"sample_size is 100 and num_negatives is 100; give one \(.* a sample size of 101\)"
    ),
    "Fixed(sample_size=1)": r"sample_size is 1; .*at least 2 \(it counts the target",
    "Fixed(num_negatives=0)": r"num_negatives is 0; it must be at least 1",
    "Fixed(num_negatives=99, shared_by=0)": r"shared_by is 0; it must be at least 1",
    "Fixed(num_negatives=99, replacement='no')": r"replacement is 'no'; it must be True or False",
    "Fixed(num_negatives=99, draw='popular')": r"unknown draw 'popular' \(known: uniform\)",
    "Fixed(num_negatives=99, draw={'name': 'uniform', 'power': 2})": (
        r"unknown option of uniform 'power'"
    ),
    "Adaptive(start=1)": r"start is 1; it must be at least 2 \(it counts the target\)",
    "Adaptive(growth=1)": r"growth is 1; it must be above 1",
    "Adaptive(hits=0)": r"hits is 0; it must be at least 1",
    "Adaptive(stop=8)": r"stop is 8; it must be at least 32 \(no less than start\)",
    "Exact(users=0)": r"users is 0; it must be at least 1",
    "Exact(users=2.5)": r"users is 2.5; it must be a whole number",
    "Exact(stratified=True)": r"stratified is True, but users is not given: how many users to take",
    "Exact(users=5, stratified='yes')": r"stratified is 'yes'; it must be True or False",
}


@pytest.mark.parametrize("text", BAD)
def test_what_contradicts_itself_is_refused_with_the_remedy(text):
    """The same in code, as text and as plain data."""
    name, _, options = text.partition("(")
    with pytest.raises(InputError, match=BAD[text]) as said:
        eval(text, vars(designs))
    with pytest.raises(InputError, match=re.escape(str(said.value))):
        designs.get(text)
    given = eval(f"dict({options}")
    with pytest.raises(InputError, match=re.escape(str(said.value))):
        designs.from_dict({"name": name.lower(), **given})
    assert len(str(said.value)) < 200


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exakt", r"unknown design 'exakt'; did you mean 'exact'\? \(known: exact, fixed, adapt"),
        ("adaptiv(budget=3)", "did you mean 'adaptive'"),
        ("lj2", "did you mean 'lj24'"),
        ("magic", r"unknown design 'magic' \(known: exact, fixed, adaptive, lj24, frozen, auto\)"),
        ("", "unknown design ''"),
        ("fixed(99)", r"design 'fixed\(99\)' cannot be read; write options as 'fixed\(num_neg"),
        ("fixed(num_negatives=99", "cannot be read"),
        ("fixed(num_negatives=99, num_negatives=9)", "cannot be read"),
        ("fixed(num_negatives=__import__('os').getpid())", "cannot be read"),
        ("frozen", r"frozen has no negatives.*frozen\(negatives='negatives.parquet'\)"),
        ("frozen(negatives=7)", "negatives is of type int; give FrozenNegatives or the path"),
        ("frozen(negatives='no/file.parquet')", "no/file.parquet does not exist"),
        ("frozen(negatives='no/file.txt')", "no/file.txt cannot be read"),
        ("frozen(negatives='n.parquet', budget=3)", "budget is 3, but the design is frozen"),
    ],
)
def test_text_that_is_no_design(text, message):
    with pytest.raises(InputError, match=message):
        designs.get(text)


@pytest.mark.parametrize("design", [None, 7, Fixed, {"name": "exact"}, ["exact"], Scheme()])
def test_what_is_no_design(design):
    kind = type(design).__name__
    with pytest.raises(
        InputError, match=rf"design is of type {kind}; .* or a name such as 'exact'"
    ):
        designs.get(design)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "the design is not JSON"),
        (None, "the design is not JSON"),
        ("[]", r"a design is a dict with a name, not \[\]"),
        ("{}", r"a design is a dict with a name, not \{\}"),
        ('{"name": 3}', "a design is a dict with a name"),
        ('{"name": "exactly"}', "did you mean 'exact'"),
        ('{"name": "fixed", "num_negatives": NaN}', "num_negatives is nan"),
        ('{"name": "fixed", "num_negatives": 9, "draw": 3}', "draw is 3"),
    ],
)
def test_json_that_is_no_design(text, message):
    with pytest.raises(InputError, match=message):
        designs.from_json(text)


def test_no_verb_scores_anything_for_a_design_that_cannot_be(tmp_path):
    asked = []
    scorer = tr.scoring.Callable(lambda users, items: asked.append(items), n_items=50)
    test = np.arange(20), np.arange(20)
    for verb in (tr.rank, tr.count, tr.evaluate):
        for design in ("exakt", "fixed", "exact(budget=5)", "adaptive(budget=1)", 7):
            with pytest.raises(InputError):
                verb(scorer, test, design)
        with pytest.raises(InputError, match="sample_size is 51, but 20 of 20 users"):
            verb(scorer, test, Fixed(sample_size=51))
        with pytest.raises(InputError, match="users is 21; the test has 20 users"):
            verb(scorer, test, Exact(users=21))
    for verb in (tr.rank, tr.count):
        with pytest.raises(InputError, match=r"design is Auto.*truerank.evaluate takes it.* Exact"):
            verb(scorer, test, "auto")
    with pytest.raises(InputError, match="the scorer is a Callable, whose pairs may cost money"):
        tr.evaluate(scorer, test)
    assert not asked
