"""Laws for every estimator over random schemes, sizes, pools and weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import truerank as tr
from truerank.outcomes.schemes import Scheme

# Outcomes at random are not what draws give.
pytestmark = pytest.mark.filterwarnings("ignore::truerank.errors.FitWarning")

DISTRIBUTIONS = (
    "mle",
    "mle(steps=3)",
    "mes",
    "bv",
    "bv(gamma=1)",
    "bv-mle",
    "mn-mle",
    "mn-mes",
    "smooth",
)
FUNCTIONS = ("naive", "rank-estimate", "cls")


@st.composite
def tables(draw):
    """RankCounts of one or two designs with random outcomes and weights."""
    parts = []
    for _ in range(draw(st.integers(1, 2))):
        replacement = draw(st.booleans())
        pools = draw(st.lists(st.integers(4, 60), min_size=1, max_size=3, unique=True))
        if draw(st.booleans()):
            ladder = sorted(draw(st.sets(st.integers(2, 40), min_size=2, max_size=3)))
            scheme, size = Scheme(replacement, tuple(ladder), draw(st.integers(1, 2))), 0
        else:
            size = draw(st.integers(2, 30 if replacement else min(pools)))
            scheme = Scheme(replacement)
        for pool in pools:
            sizes, ranks = scheme.outcomes(pool, size)
            pick = draw(st.lists(st.integers(0, sizes.size - 1), min_size=1, max_size=8))
            weight = draw(st.lists(st.floats(0.01, 100), min_size=len(pick), max_size=len(pick)))
            parts.append(
                tr.RankCounts.from_outcomes(
                    scheme,
                    n_items=pool,
                    sample_size=sizes[pick],
                    sampled_rank=ranks[pick],
                    weight=weight,
                )
            )
    return sum(parts)


@pytest.mark.parametrize("estimator", DISTRIBUTIONS)
@given(counts=tables())
def test_masses_sum_to_one_and_metrics_follow_from_them(estimator, counts):
    # A prior that vanishes where an exact rank was seen rules that outcome out (pseudo-inverse).
    assume(not (estimator.startswith("mn") and counts.is_exact.any()))
    largest = int(counts.n_items.max())
    metrics = tr.metrics.parse(["recall"], k=range(1, largest + 1))
    est = tr.estimate(counts, metrics, estimator=estimator)
    recall = np.array([est[m].value for m in metrics])
    # Linear solves drop adaptive outcomes that no longer matter.
    linear = counts.adaptive and not estimator.startswith(("mle", "mes", "smooth"))
    tolerance = 1e-6 if linear else 1e-9
    assert recall[-1] == pytest.approx(1.0, abs=tolerance)
    assert est.distribution.cdf(np.arange(1, largest + 1)) == pytest.approx(recall, abs=1e-6)
    if estimator.startswith(("mle", "mes", "bv(gamma=1)", "smooth")):
        assert (np.diff(recall) >= -1e-12).all()
        assert est.distribution.negative_mass == 0


@pytest.mark.parametrize("estimator", FUNCTIONS)
@given(counts=tables())
def test_gains_fall_so_metrics_are_ordered(estimator, counts):
    # With replacement a sample may be larger than the pool, and a naive rank beyond it.
    assume(counts.sampled_rank.max() <= counts.n_items.max())
    largest = int(counts.n_items.max())
    wanted = [f"{name}@1,{largest}" for name in ("recall", "ap", "ndcg")]
    est = tr.estimate(counts, wanted, estimator=estimator)
    first, last = est["recall@1"].value, est[f"recall@{largest}"].value
    assert first <= last + 1e-9
    assert last == pytest.approx(1.0, abs=1e-6)
    assert est[f"ap@{largest}"].value <= est[f"ndcg@{largest}"].value + 1e-9


@pytest.mark.parametrize("estimator", ["mle", "mes", "bv", "bv-mle", "cls", "rank-estimate"])
@given(counts=tables(), factor=st.floats(0.1, 10))
def test_only_relative_weights_matter(estimator, counts, factor):
    scaled = tr.RankCounts._build(
        counts.schemes,
        counts.scheme,
        counts.n_items,
        counts.sample_size,
        counts.sampled_rank,
        counts.weight * factor,
    )
    metrics = ["recall@2", "ap"]
    one, two = (tr.estimate(c, metrics, estimator=estimator) for c in (counts, scaled))
    for metric in metrics:
        assert two[metric].value == pytest.approx(one[metric].value, abs=1e-6)


@given(counts=tables())
def test_posterior_and_plain_agree_at_the_maximum_of_the_likelihood(counts):
    """At a converged fit one more E-step changes nothing."""
    metrics = ["recall@2", "ndcg"]
    plain, posterior = (
        tr.estimate(counts, metrics, estimator="mle(steps=None)", support="full", plug_in=p)
        for p in ("plain", "posterior")
    )
    assert plain.converged
    for metric in metrics:
        assert plain[metric].value == pytest.approx(posterior[metric].value, abs=1e-3)
