"""Estimators by name, their options, and how bad ones are refused."""

from __future__ import annotations

import pytest

import truerank as tr
from truerank.estimators import BV, CLS, MES, MLE, MN, WMLE, describe, get


def test_every_published_name_is_known():
    names = ["naive", "mapped", "rank-estimate", "cls", "bv", "mle", "wmle", "mes"]
    names += ["bv-mle", "bv-mes", "mn-mle", "mn-mes", "smooth"]
    assert list(tr.estimators.REGISTRY) == names


@pytest.mark.parametrize("name", tr.estimators.REGISTRY)
def test_name_and_description_agree(name):
    assert describe(get(name)) == name


@pytest.mark.parametrize(
    ("text", "estimator"),
    [
        ("bv(gamma=0.1)", BV(gamma=0.1)),
        (" BV( gamma = 0.1 ) ", BV(gamma=0.1)),
        ("bv_mle", BV(prior="mle")),
        ("bv-mle(gamma=0.5)", BV(gamma=0.5, prior=MLE())),
        ("mn-mes", MN(prior=MES())),
        ("mle(steps=None, tolerance=1e-4)", MLE(steps=None, tolerance=1e-4)),
        ("wmle(decay='ap', c=2)", WMLE(decay="ap", c=2)),
        ("cls(nonnegative=True)", CLS(nonnegative=True)),
        ("cls(prior='mle')", CLS(prior=MLE())),
    ],
)
def test_options(text, estimator):
    assert get(text) == estimator
    assert get(describe(estimator)) == estimator


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mlle", "did you mean 'mle'"),
        ("bv(gama=0.1)", "did you mean 'gamma'"),
        ("bv(gamma=2)", "gamma is 2; it must be at least 0 and at most 1"),
        ("bv(gamma=-0.1)", "gamma is -0.1"),
        ("bv(gamma='x')", "gamma is 'x'"),
        ("bv(gamma=)", "cannot be read"),
        ("bv(0.1)", "cannot be read"),
        ("bv(gamma=0.1", "cannot be read"),
        ("bv(gamma=open('x'))", "cannot be read"),
        ("bv(prior='cls')", "it must be 'mle' or 'mes'"),
        ("cls(prior='naive')", "it must be 'mle' or 'mes'"),
        ("cls(nonnegative='yes')", "nonnegative is 'yes'; it must be True or False"),
        ("bv-mle(prior='mes')", "unknown option of bv-mle"),
        ("mle(steps=0)", "steps is 0"),
        ("mle(steps='all')", "steps is 'all'"),
        ("mes(eta=0)", "eta is 0"),
        ("wmle(decay='log')", "it must be 'ndcg' or 'ap'"),
        ("mapped(mapping='cubic')", "unknown mapping"),
        ("mapped(mapping='beta(0)')", "a is 0"),
        ("", "unknown estimator"),
    ],
)
def test_bad_names(text, message):
    with pytest.raises(tr.InputError) as caught:
        get(text)
    assert message in str(caught.value)


def test_other_types():
    with pytest.raises(tr.InputError, match="estimator is 3"):
        get(3)
    with pytest.raises(tr.InputError, match=r"prior is 0\.5; it must be"):
        BV(prior=0.5)


def test_own_decay():
    counts = tr.RankCounts.from_ranks([1, 1, 2, 5], n_items=500, sample_size=5)
    flat = tr.estimate(counts, "recall@5", estimator=WMLE(decay=lambda rank: rank * 0 + 3.0))
    plain = tr.estimate(counts, "recall@5", estimator="mle")
    assert flat["recall@5"].value == pytest.approx(plain["recall@5"].value, abs=1e-12)
    for bad in (lambda rank: -rank, lambda rank: 1.0, lambda rank: rank * 0):
        with pytest.raises(tr.InputError, match="wmle"):
            tr.estimate(counts, "recall@5", estimator=WMLE(decay=bad))
