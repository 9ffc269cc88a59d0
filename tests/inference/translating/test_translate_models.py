"""`translate`: models side by side, KR20's example, and values that contradict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank.errors import AssumptionWarning

METRICS = ("auc", "ap", "ndcg", "recall@10")
# KR20 table 1: global ranks of five instances among 10,000 items, and the metrics printed.
RANKS = {
    "A": [100, 100, 100, 100, 100],
    "B": [40, 40, 8437, 9266, 4482],
    "C": [212, 2, 743, 5342, 1548],
}
EXACT = {
    "A": (0.990, 0.010, 0.150, 0.000),
    "B": (0.555, 0.010, 0.122, 0.000),
    "C": (0.843, 0.101, 0.208, 0.200),
}
# KR20 table 2: the same with 99 sampled negatives, means of 1,000 runs.
SAMPLED = {
    "A": ("0.990", "0.630", "0.724", "1.000"),
    "B": ("0.555", "0.336", "0.444", "0.400"),
    "C": ("0.843", "0.325", "0.460", "0.567"),
}


def translated(n_users: int | None) -> tr.Translation:
    published = {name: dict(zip(METRICS, row, strict=True)) for name, row in SAMPLED.items()}
    return tr.translate(published, n_items=10_000, num_negatives=99, n_users=n_users)


@pytest.fixture(scope="module")
def kr20() -> tr.Translation:
    return translated(5 * 1000)  # instances times runs


def outside(found: tr.Translation) -> list[tuple[str, str]]:
    """Models and metrics whose exact value is not between the bounds."""
    missed = []
    for name, ranks in RANKS.items():
        counts = tr.RankCounts.from_exact_ranks(ranks, n_items=10_000)
        exact = tr.estimate(counts, METRICS, estimator="naive")
        for metric, printed in zip(METRICS, EXACT[name], strict=True):
            value = exact[metric].value
            assert value == pytest.approx(printed, abs=5.1e-4)  # half a printed digit
            bounds = found[name, metric]
            missed += [] if bounds.low <= value <= bounds.high else [(name, metric)]
    return missed


def test_kr20_table_1_lies_within_what_table_2_permits(kr20: tr.Translation) -> None:
    assert outside(kr20) == []
    # Means of 5,000 draws are no expectations: taken as such, they exclude the truth.
    assert outside(translated(None)) == [("A", "auc")]


def test_kr20_the_order_may_flip_but_for_auc(kr20: tr.Translation) -> None:
    verdicts = {(c.model, c.other, c.metric): c for c in kr20.comparisons}
    assert len(verdicts) == 3 * len(METRICS)
    for (model, other, metric), found in verdicts.items():
        one, two = (SAMPLED[m][METRICS.index(metric)] for m in (model, other))
        assert found.published_first == (model if one > two else other)
        assert found.flip == ("no" if metric == "auc" else "yes")
        assert found.global_first == (found.published_first if metric == "auc" else None)
    found = verdicts["A", "C", "ap"]
    assert [side.model for side in found.examples] == ["A", "C"]
    assert [side.value for side in found.examples] == [kr20["A", "ap"].low, kr20["C", "ap"].high]
    assert str(found).startswith("ap: yes; sampled ap puts A ahead, but C may lead by up to 0.2")


def verdict(a: dict[str, str], b: dict[str, str], metric: str, **options: Any) -> Any:
    given = {"n_items": 1000, "sample_size": 50, **options}
    (found,) = tr.translate({"A": a, "B": b}, metric, **given).comparisons
    return found


def test_verdicts() -> None:
    found = verdict({"auc": "0.80"}, {"auc": "0.79"}, "auc")
    assert (found.flip, found.published_first, found.global_first) == ("no", "A", None)  # may tie
    found = verdict({"auc": "0.79"}, {"auc": "0.81"}, "auc")
    assert (found.flip, found.published_first, found.global_first) == ("no", "B", "B")
    assert str(found) == "auc: no; sampled auc puts B ahead, and A cannot lead."
    assert (found.low, found.high) == pytest.approx((-0.03, -0.01), abs=1e-6)

    found = verdict({"auc": "0.80"}, {"auc": "0.80"}, "auc")
    assert (found.flip, found.published_first, found.examples) == ("cannot tell", None, ())
    assert str(found) == (
        "auc: cannot tell; the published values do not order A and B, and either may lead."
    )
    # Rounded differently, one may be the other.
    assert verdict({"auc": "0.80"}, {"auc": "0.804"}, "auc").flip == "cannot tell"
    # No metric in common, yet the order is certain.
    found = verdict({"auc": "0.90"}, {"recall@1": "0.01", "auc@50": "0.1"}, "auc")
    assert (found.flip, found.judges) == ("cannot tell", ())


def test_an_order_that_must_flip() -> None:
    # A: never first, always second of two. B: first in 3 of 10, else last; by recall@1 B is
    # ahead, by recall@2 A. Exact ranks, so that nothing is left open.
    exact = {"n_items": 10, "sample_size": 10, "replacement": False}
    a = {"recall@1": "0.00", "recall@2": "1.00"}
    b = {"recall@1": "0.30", "auc": "0.30"}
    found = verdict(a, b, "recall@2", **exact)
    assert (found.flip, found.published_first, found.global_first) == ("yes", "B", "A")
    assert str(found).startswith(
        "recall@2: yes; sampled recall@1 puts B ahead, but A must lead, by 0.6"
    )
    # With sampled recall@2 of both, that decides.
    found = verdict(a, {**b, "recall@2": "0.30"}, "recall@2", **exact)
    assert (found.flip, found.published_first, found.judges) == ("no", "A", ("recall@2",))
    # Users have one target: the hit rate is recall, whoever calls it so.
    found = verdict(
        {"recall@1": "0.00", "hr@2": "1.00"}, {**b, "recall@2": "0.30"}, "recall@2", **exact
    )
    assert (found.flip, found.published_first, found.judges) == ("no", "A", ("hit_rate@2",))
    # Published metrics that disagree do not order.
    found = verdict({**a, "ap": "0.500"}, {**b, "ap": "0.370"}, "recall@2", **exact)
    assert (found.flip, found.global_first) == ("cannot tell", "A")


def test_flips_are_shown_by_distributions() -> None:
    found = verdict({"hr@5": "0.62"}, {"hr@5": "0.58"}, "recall@5")
    assert found.flip == "yes"
    behind, ahead = found.examples
    assert behind.example.cdf(5) == pytest.approx(behind.value, abs=1e-6)
    assert ahead.example.cdf(5) == pytest.approx(ahead.value, abs=1e-6)
    assert ahead.value - behind.value == pytest.approx(-found.low, abs=1e-9)


@pytest.mark.parametrize(
    ("published", "options", "message"),
    [
        (
            {"hr@10": "0.62", "ndcg@10": "0.70"},
            {},
            r"no distribution of global ranks fits hit_rate@10=0.62 and ndcg@10=0.70, to "
            r"rounding: given (ndcg@10=0.70, sampled hit_rate@10 can be from 0.6950 to 1.0000, "
            r"not 0.62|hit_rate@10=0.62, sampled ndcg@10 can be from 0.\d+ to 0.6250, not 0.70)$",
        ),
        (  # each pair is fine: ap between 0 and recall@1 + (1 - recall@1)/2
            {"hr@1": "0.200", "ap": "0.650"},
            {},
            r"sampled (ap can be from 0.\d+ to 0.\d+, not 0.650|hit_rate@1 can .*, not 0.200)$",
        ),
        (
            {"A": {"hr@10": "0.62"}, "B": {"hr@10": "0.62", "hr@5": "0.70"}},
            {},
            r"fits hit_rate@10=0.62 and hit_rate@5=0.70 of B, to rounding",
        ),
        (
            {"hr@10": "0.05"},
            {"decreasing": True},
            r"no decreasing distribution .* sampled hit_rate@10 can be from 0.1\d* to 1.0000, "
            r"not 0.05$",
        ),
        (
            {"hr@10": "0.62", "ndcg@10": "0.90"},
            {"n_users": 1000},
            r"to rounding and noise: given",
        ),
        (
            {"hr@1": "0.20", "hr@2": "0.10", "hr@5": "0.90", "hr@6": "0.80"},
            {},
            r"several cannot hold; the nearest values that fit are hit_rate@1 0.\d+, hit_rate@2",
        ),
    ],
)
def test_contradictions_name_the_value(
    published: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(tr.InputError, match=message):
        tr.translate(published, n_items=3706, sample_size=100, **options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sampled": {"hr@10": 1}}, "is '1'; write the decimals that were published, as in 1.000"),
        ({"sampled": {"hr@10": "62"}}, "is 62; it must be from 0 to 1, or in percent"),
        ({"sampled": {"hr@10": "1.2"}}, "sampled hit_rate@10 is 1.2; it must be from 0 to 1"),
        ({"sampled": {"p@10": "0.62"}}, "sampled precision@10 is 0.62; it must be from 0 to 0.1"),
        ({"sampled": {"hr@10": "-0.1"}}, "is -0.1; it must be from 0 to 1"),
        ({"sampled": {"hr@10": "-0.001"}}, "is -0.001; it must be from 0 to 1"),
        ({"sampled": {"hr@10": "many"}}, "is 'many'; it must be a number such as 0.62 or 62.0%"),
        ({"sampled": {"hr@10": "nan"}}, "is 'nan'; it must be a number"),
        ({"sampled": {"hr@10": None}}, "is 'None'; it must be a number"),
        ({"sampled": {"hr@10": True}}, "is 'True'; it must be a number"),
        ({"sampled": {"A": {"hr@10": "x"}}}, "sampled hit_rate@10 of A is 'x'"),
        ({"sampled": {"hr@200": "0.62"}}, "k is 200 in sampled hit_rate@200; .* sample_size=100"),
        ({"sampled": {"hr@1,2": "0.62"}}, "sampled metric 'hr@1,2' is several"),
        ({"sampled": {"rr@5": "0.6", "MRR@5": "0.6"}}, "sampled mrr@5 is given twice"),
        ({"sampled": {"hitt@10": "0.62"}}, "did you mean 'hit'"),
        ({"sampled": {}}, "sampled is {}; give a dict"),
        ({"sampled": 0.62}, "sampled is 0.62; give a dict"),
        ({"sampled": {"A": {}}}, "sampled is empty for A"),
        ({"sampled": {"A": {"hr@1": "0.6"}, "hr@1": "0.6"}}, "mixes values and models"),
        ({"sampled": {1: {"auc": "0.6"}, "1": {"auc": "0.6"}}}, r"models are \[1, '1'\]; their"),
        ({"sampled": {"hr@100": "0.62"}}, "sampled hit_rate@100 is 0.62; it must be from 1 to 1"),
        ({"metrics": "recall@5000"}, "k is 5000 in recall@5000; the pool has 3706 items"),
        ({"n_items": 1}, "n_items is 1; it must be at least 2"),
        ({"sample_size": 1}, "sample_size is 1; it must be at least 2"),
        ({"num_negatives": 99}, "both given; give one"),
        ({"sample_size": 4000, "replacement": False}, "sample_size is 4000 at row 0"),
        ({"replacement": "yes"}, "replacement is 'yes'; it must be True or False"),
        ({"n_users": 0}, "n_users is 0; it must be at least 1"),
        ({"confidence": 0}, "confidence is 0; it must be above 0"),
        ({"confidence": 1.0}, "confidence is 1; it must be below 1"),
        ({"decreasing": "yes"}, "decreasing is 'yes'; it must be True or False"),
    ],
)
def test_bad_input(arguments: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"sampled": {"hr@10": "0.62"}, "n_items": 3706, "sample_size": 100}
    with pytest.raises(tr.InputError, match=message):
        tr.translate(**(given | arguments))


def test_replacement_is_asked_for_where_it_matters() -> None:
    with pytest.warns(AssumptionWarning, match="replacement is not said") as caught:
        tr.translate({"hr@10": "0.62"}, n_items=300, sample_size=100)
    assert caught[0].filename == __file__


def test_one_negative_and_huge_pools() -> None:
    (found,) = tr.translate({"auc": "0.900"}, n_items=2, sample_size=2, replacement=False).bounds
    assert (found.low, found.high) == pytest.approx((0.8995, 0.9005), abs=1e-6)
    (found,) = tr.translate({"hr@10": "0.62"}, n_items=10**9, sample_size=100).bounds
    assert (found.low, found.high) == pytest.approx((0.0, 0.625), abs=1e-6)
    assert np.isfinite(found.high_example.share).all()
