"""`estimate` and its result."""

from __future__ import annotations

import json

import numpy as np
import pytest

import truerank as tr
from truerank.inference import columns


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(0)
    ranks = 1 + rng.binomial(49, rng.beta(0.4, 1.5, 1000))
    return tr.RankCounts.from_ranks(ranks, n_items=2000, sample_size=50)


def test_result(counts):
    est = tr.estimate(counts, ["recall@1,10", "NDCG@10", "hit@10", "mrr", "map", "auc"])
    assert list(est) == [
        *("recall@1", "recall@10", "ndcg@10", "hit_rate@10"),
        *("mrr", "ap", "auc"),
    ]
    assert est["hr@10"] is est["hit_rate@10"] is est["HIT@10"]
    assert est["rr"] is est["mrr"]
    assert est["MAP"] is est["ap"]
    # One target per user: what differs by the number of targets does not differ.
    assert est["hit_rate@10"].value == est["recall@10"].value
    assert est["mrr"].value == est["ap"].value
    assert est["recall@10"].naive == pytest.approx(
        counts.weight[counts.sampled_rank <= 10].sum() / 1000
    )
    assert est["recall@10"].value < est["recall@10"].naive
    assert est["recall@10"].low < est["recall@10"].value < est["recall@10"].high
    assert est.converged
    assert est.n_iter > 1
    stopped = tr.estimate(counts, "recall@10", estimator="mle")
    assert stopped.n_iter == 100
    assert stopped.converged is None  # stopped on purpose, neither converged nor failed
    assert "recall@10" in repr(est)
    with pytest.raises(KeyError, match="recall@20"):
        est["recall@20"]


def test_tables(counts):
    est = tr.estimate(counts, "recall@1,10")
    frame = est.to_pandas()
    assert frame["metric"].tolist() == ["recall@1", "recall@10"]
    assert frame["value"].tolist() == [r.value for r in est.values()]
    content = json.loads(json.dumps(est.to_dict()))
    assert (content["estimator"], content["scope"]) == ("smooth", "these-users")
    assert content["results"] == json.loads(json.dumps(est.rows()))
    assert list(est.rows()[1]) == ["metric", "estimator", *(c.name for c in columns.COLUMNS)]
    head, rule, first, second = est.to_markdown().splitlines()
    assert head == "| metric | naive | corrected | interval |"
    assert rule.count("---") == 4
    assert f"{est['recall@10'].value:.4f}" in second
    assert "<td>recall@1</td>" in est._repr_html_()
    assert first.split(" | ")[2].endswith("?") != est["recall@1"].resolvable


def test_a_column_is_one_line_of_one_list(counts, monkeypatch):
    """Added to the list, it is in rows, data frames, Markdown and notebooks."""
    more = columns.Column("share", "of naive", lambda one, digits: f"{one.value / one.naive:.1%}")
    monkeypatch.setattr(tr.Estimate, "share", property(lambda one: one.value / one.naive), False)
    for name in ("COLUMNS", "SHOWN"):
        monkeypatch.setattr(columns, name, (*getattr(columns, name), more))
    est = tr.estimate(counts, "recall@10")
    share = est["recall@10"].value / est["recall@10"].naive
    assert est.rows()[0]["share"] == est.to_pandas()["share"][0] == share
    assert est.to_dict()["results"][0]["share"] == share
    assert est.to_markdown().splitlines()[0].endswith("| of naive |")
    assert f"<td>{share:.1%}</td>" in est._repr_html_()


def test_distribution(counts):
    est = tr.estimate(counts, "recall@1,10")
    assert est.distribution.cdf([1, 10]) == pytest.approx(
        [est["recall@1"].value, est["recall@10"].value]
    )
    assert est.distribution.cdf(2000) == pytest.approx(1.0)
    assert est.distribution.pmf([1]) == pytest.approx([est["recall@1"].value])
    for name in ("naive", "mapped", "rank-estimate", "cls"):
        assert tr.estimate(counts, "recall@10", estimator=name).distribution is None


def test_own_metric(counts):
    metric = tr.Metric("decay", function=lambda rank: np.exp(-rank / 5), k=20)
    est = tr.estimate(counts, [metric, "recall@20"], support="full")
    by_hand = est.distribution.pmf(np.arange(1, 21)) @ np.exp(-np.arange(1, 21) / 5)
    assert est["decay@20"].value == pytest.approx(by_hand)
    assert est[metric].value == est["decay@20"].value


@pytest.mark.filterwarnings("ignore::truerank.errors.FitWarning")  # no sample is like that
def test_strays_are_flagged_and_clipped_on_request():
    """All users last in their sample: bv's polynomial dips below zero at small K."""
    counts = tr.RankCounts.from_ranks([3] * 50, n_items=300, sample_size=20, replacement=True)
    raw = tr.estimate(counts, "recall@10", estimator="bv(gamma=0.001)")
    assert raw["recall@10"].value < 0
    assert raw["recall@10"].out_of_range
    assert raw.distribution.negative_mass > 0
    clipped = tr.estimate(counts, "recall@10", estimator="bv(gamma=0.001)", clip=True)
    assert clipped["recall@10"].value == 0
    assert clipped["recall@10"].out_of_range
    assert not tr.estimate(counts, "recall@10")["recall@10"].out_of_range


def test_several_targets_count_a_user_once():
    """Two users: one with ranks 1 and 9, one with rank 4, of 10; everything known exactly."""
    arguments = {"user_ids": [7, 7, 8], "item_ids": [1, 2, 1]}
    among = {"n_items": 10, "rank_among": "negatives"}
    counts = tr.RankCounts.from_exact_ranks([1, 9, 4], **arguments, **among)
    found = tr.estimate(counts, ["recall@5", "ndcg@5", "precision@5"])
    assert found["recall@5"].value == pytest.approx((1 / 2 + 1) / 2)
    ideal = 1 + 1 / np.log2(3)
    assert found["ndcg@5"].value == pytest.approx((1 / ideal + 1 / np.log2(5)) / 2)
    assert found["precision@5"].value == pytest.approx((1 / 5 + 1 / 5) / 2)
    counts = tr.RankCounts.from_exact_ranks([1, 2, 4], **arguments, **among)
    by_hand = (2 / 5 + 1 / 5) / 2
    assert tr.estimate(counts, "precision@5")["precision@5"].value == pytest.approx(by_hand)
    # The same as positions in one list, which also holds the other target.
    listed = tr.RankCounts.from_exact_ranks(
        [1, 3, 4], **arguments, n_items=[11, 11, 10], rank_among="list"
    )
    assert tr.estimate(listed, "precision@5")["precision@5"].value == pytest.approx(by_hand)


@pytest.mark.parametrize("name", tr.estimators.REGISTRY)
@pytest.mark.parametrize("rank", [1, 50])
def test_perfect_and_hopeless_models(name, rank):
    counts = tr.RankCounts.from_ranks([rank] * 500, n_items=2000, sample_size=50)
    est = tr.estimate(counts, "recall@100", estimator=name)
    value = est["recall@100"].value
    assert np.isfinite(value)
    blind = 1.0 if name == "naive" else 0.0  # k is beyond the sample: every naive user is a hit
    assert value > 0.8 if rank == 1 else value == pytest.approx(blind, abs=0.2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metrics": "recal@10"}, "did you mean 'recall'"),
        ({"metrics": "recall@0"}, "k of recall is 0"),
        ({"metrics": "recall@2001"}, "k is 2001 in recall@2001; the largest pool has 2000 items"),
        ({"metrics": "recall@ten"}, "k is 'ten'"),
        ({"metrics": []}, "metrics is empty"),
        ({"metrics": "precision"}, "precision needs a cut-off"),
        ({"estimator": "best"}, "unknown estimator 'best'"),
        ({"estimator": "mapped", "metrics": "ndcg@10"}, "not defined for ndcg@10"),
        ({"support": "half"}, "support is 'half'"),
        ({"plug_in": "median"}, "unknown plug_in 'median'"),
        ({"confidence": 95}, "confidence is 95; it must lie between 0 and 1"),
        ({"confidence": 1.0}, "confidence is 1.0"),
        ({"scope": "users"}, "unknown scope"),
        ({"population_size": 3}, "population_size is 3; it must be at least"),
    ],
)
def test_bad_input(counts, arguments, message):
    with pytest.raises(tr.InputError) as caught:
        tr.estimate(counts, **arguments)
    assert message in str(caught.value)


def test_counts_of_another_type():
    with pytest.raises(tr.InputError, match="from_table"):
        tr.estimate([1, 2, 3])


def test_intervals_of_some_metrics_alone():
    counts = tr.RankCounts.from_ranks(
        [1, 2, 3, 5, 9, 1, 4, 7] * 5, n_items=500, sample_size=20, replacement=False
    )
    every = tr.estimate(counts, ["recall@5", "recall@50", "auc"])
    some = every.with_intervals_of(["recall@50"])
    assert [one.value for one in some.values()] == [one.value for one in every.values()]
    assert some["recall@5"].low is None
    assert some["recall@50"].low == pytest.approx(every["recall@50"].low)
    assert [metric.key for metric in some.fitted.metrics] == ["recall@50"]
    again = some.again("auc", confidence=0.5)
    assert again["auc"].value == pytest.approx(every["auc"].value, rel=1e-3)
    half = again["auc"].high - again["auc"].low
    assert half == pytest.approx(0.329 * (every["auc"].high - every["auc"].low), rel=0.05)
    none = tr.estimate(counts, "auc", confidence=None)
    assert none.with_intervals_of("auc")["auc"].low is None
    assert none.fitted is None
