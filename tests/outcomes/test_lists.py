"""Lists that end before their target: the law of "rank > m", and counts from answers in lists."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truerank as tr
from truerank import InputError, RankCounts, Scheme, estimate
from truerank.errors import AssumptionWarning
from truerank.outcomes.schemes import log_probability


@pytest.mark.parametrize("replacement", [False, True])
@pytest.mark.parametrize("seen", [0, 1, 2, 3, 4])
def test_the_law_by_enumeration(seen: int, replacement: bool) -> None:
    """All draws of 4 of 6 negatives, ranks beyond ``seen`` taken together."""
    every = itertools.product(range(6), repeat=4)
    draws = np.array([d for d in every if replacement or len(set(d)) == 4])
    scheme = Scheme(replacement=replacement, seen=seen)
    sizes, outcomes = scheme.outcomes(7, 5)
    assert sizes.tolist() == [5] * outcomes.size
    for rank in range(1, 8):
        found = np.exp(
            log_probability(scheme, [rank], n_items=7, sample_size=5, sampled_rank=outcomes)
        )[:, 0]
        sampled = 1 + (draws < rank - 1).sum(axis=1)
        coded = np.minimum(sampled, seen + 1)
        wanted = [(coded == outcome).mean() for outcome in outcomes.tolist()]
        assert found == pytest.approx(wanted, abs=1e-12)
        assert found.sum() == pytest.approx(1.0, abs=1e-12)


def test_schemes_are_named_sorted_and_checked() -> None:
    scheme = Scheme(replacement=False, seen=5)
    assert scheme.name == "without:seen=5"
    assert Scheme.parse(scheme.name) == scheme
    assert sorted([Scheme(), Scheme(seen=7), Scheme(seen=2)])[0].seen == 2
    with pytest.raises(InputError, match="seen is -1"):
        Scheme(seen=-1)
    with pytest.raises(InputError, match="give one of them"):
        Scheme(ladder=(10, 20), seen=3)
    for text in ("with:seen=", "with:seen=2:3", "with:10,20:seen=2"):
        with pytest.raises(InputError, match="scheme is"):
            Scheme.parse(text)
    with pytest.raises(InputError, match="sampled_rank is 7 at row 1; seen=5 ranks were seen"):
        scheme.check(np.array([90, 90]), np.array([20, 20]), np.array([6, 7]))


CANDIDATES = ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize(
    ("answer", "rank", "seen", "warns"),
    [
        (["a", "b", "c", "d", "e"], 3, None, False),
        (["c"], 1, 1, False),
        (["a", "c"], 2, 2, False),
        (["a", "b"], 3, 2, False),  # beyond the second: one of 3, 4 and 5
        (["a", "b", "d", "e"], 5, None, False),  # only the last place is left
        ([], 1, 0, False),
        (None, 1, 0, False),
        (["x", "a", "c"], 2, 2, True),
        (["a", "a", "c", "a"], 2, 2, True),
        (["x", "y"], 1, 0, True),
    ],
)
def test_answers_by_hand(answer: Any, rank: int, seen: int | None, warns: bool) -> None:
    def count() -> RankCounts:
        return RankCounts.from_lists([answer], [CANDIDATES], ["c"], n_items=900)

    if warns:
        with pytest.warns(AssumptionWarning, match="of 1 answers"):
            counts = count()
    else:
        counts = count()
    assert counts.sampled_rank.tolist() == [rank]
    assert counts.schemes == (Scheme(seen=seen),)
    named = answer is not None and "c" in answer
    assert counts.is_censored.tolist() == [not named and seen is not None]


def answered(
    rank: np.ndarray, seen: np.ndarray, n: int, pool: int, missing: Any = "censored"
) -> RankCounts:
    """Item r - 1 is the target of who ranks it r; lists name the first ``seen``."""
    lists = [list(range(m)) for m in seen.tolist()]
    candidates = [list(range(n))] * rank.size
    return RankCounts.from_lists(
        lists, candidates, (rank - 1).tolist(), n_items=pool, replacement=False, missing=missing
    )


def drawn(seed: int = 0, n_users: int = 1500, n: int = 20, pool: int = 2000) -> Any:
    rng = np.random.default_rng(seed)
    world = np.random.default_rng(77)
    exact = 1 + (world.beta(0.3, 2.5, n_users) * (pool - 1)).astype(np.int64)
    rank = 1 + rng.hypergeometric(exact - 1, pool - exact, n - 1)
    return exact, rank, rng.choice([3, 5, 10, 20], n_users)


def test_counts_add_up_save_and_are_those_of_ranks_where_lists_are_whole(tmp_path: Path) -> None:
    _, rank, seen = drawn()
    whole = answered(rank, np.full(rank.size, 20), 20, 2000)
    assert whole == RankCounts.from_ranks(rank, sample_size=20, n_items=2000, replacement=False)
    assert not whole.censored
    counts = answered(rank, seen, 20, 2000)
    parts = [answered(rank[at], seen[at], 20, 2000) for at in (slice(0, 400), slice(400, None))]
    assert parts[0] + parts[1] == counts
    counts.save(tmp_path / "counts.parquet")
    assert RankCounts.load(tmp_path / "counts.parquet") == counts
    beyond = float(((rank > seen) & (seen < 19)).mean())
    assert counts.weight[counts.is_censored].sum() / counts.n_users == pytest.approx(beyond)
    assert f"{100 * beyond:.0f} % beyond the end of their lists" in repr(counts)
    assert estimate(counts, "recall@100").fit_test is not None


@pytest.mark.filterwarnings("ignore::truerank.errors.FitWarning")
def test_estimates_see_through_the_end_of_lists() -> None:
    """95 % intervals over 40 redraws: fewer than 32 hits have a chance of 1 in 1,000.

    Missing targets taken as the last of all are refuted by the same check.
    """
    metrics = ["recall@100", "recall@500", "auc"]
    exact, _, _ = drawn()
    true = estimate(RankCounts.from_exact_ranks(exact, n_items=2000), metrics)
    hits = {"censored": dict.fromkeys(metrics, 0), "last": dict.fromkeys(metrics, 0)}
    for seed in range(40):
        _, rank, seen = drawn(seed)
        for missing, found in hits.items():
            counts = answered(rank, seen, 20, 2000, missing)
            one = estimate(counts, metrics)
            for name in metrics:
                low, high = one[name].low, one[name].high
                assert low is not None
                assert high is not None
                found[name] += low <= true[name].value <= high
    assert min(hits["censored"].values()) >= 32, hits
    assert hits["last"]["auc"] == 0


@pytest.mark.parametrize("estimator", ["mle", "mes", "bv-mle", "mn-mle", "cls", "bv"])
def test_every_estimator_that_asks_the_law_takes_them(estimator: str) -> None:
    _, rank, seen = drawn()
    seen[:50] = 0  # refused
    counts = answered(rank, seen, 20, 2000)
    found = estimate(counts, ["recall@500", "mr"], estimator=estimator)
    for one in found.values():
        assert one.low is not None
        assert one.low <= one.value <= (one.high or 0.0)
    if estimator in ("mle", "bv-mle", "mn-mle"):
        whole = answered(rank, np.full(rank.size, 20), 20, 2000)
        near = estimate(whole, "recall@500", estimator=estimator)["recall@500"]
        assert found["recall@500"].value == pytest.approx(near.value, rel=0.05)


def test_naive_spreads_what_was_not_seen() -> None:
    counts = RankCounts.from_lists([["a"]], [CANDIDATES], ["c"], n_items=900)
    naive = estimate(counts, ["recall@3", "mr"], estimator="naive", confidence=None)
    assert naive["recall@3"].value == pytest.approx(2 / 4)  # ranks 2 to 5
    assert naive["mr"].value == pytest.approx(3.5)


@pytest.mark.parametrize("estimator", ["rank-estimate", "mapped", "wmle"])
def test_estimators_that_need_ranks_say_so(estimator: str) -> None:
    counts = RankCounts.from_lists([["a"]], [CANDIDATES], ["c"], n_items=900)
    with pytest.raises(InputError, match=f"{estimator} needs ranks; some of these lists ended"):
        estimate(counts, "recall@10", estimator=estimator)
    with pytest.raises(InputError, match="beta@P needs ranks"):
        tr.mapping.fit_beta(counts)


def test_models_whose_lists_end_differently_compare() -> None:
    _, rank, seen = drawn()
    worse = np.minimum(rank + 3, 20)
    models = {"a": answered(rank, seen, 20, 2000), "b": answered(worse, seen[::-1], 20, 2000)}
    assert tr.compare(models, "auc").best == "a"


def test_exact_lists_that_end_early() -> None:
    """All items are candidates: what is in the list is exact, what is not lies beyond it."""
    counts = RankCounts.from_lists(
        [[3, 1], [2, 0], None], [range(6)] * 3, [1, 5, 4], n_items=6, replacement=False
    )
    assert counts.is_exact.sum() == 1
    assert counts.is_censored.sum() == 2
    for estimator in ("smooth", "mle", "bv"):
        found = estimate(counts, "recall@2", estimator=estimator)["recall@2"]
        assert 0.3 < found.value < 0.7


@pytest.mark.parametrize(
    ("answers", "candidates", "targets", "options", "message"),
    [
        ([["a"]], [CANDIDATES], ["c", "d"], {}, "there are 1 answers, 1 lists of candidates and 2"),
        ([], [], [], {}, "answers is empty"),
        ([["a"]], [CANDIDATES], ["x"], {}, "row 0: target 'x' is not among its candidates"),
        ([["a"]], [["a", "a", "c"]], ["c"], {}, "row 0: a candidate occurs twice"),
        ([["a"]], [["c"]], ["c"], {}, "row 0 has 1 candidates"),
        (["a > b > c"], [CANDIDATES], ["c"], {}, "row 0 is a text"),
        ([3], [CANDIDATES], ["c"], {}, "row 0: answer is 3; it must be a list of item ids"),
        ([float("nan")], [CANDIDATES], ["c"], {}, "row 0: answer is nan; .* None for a refusal"),
        ([[["a"]]], [CANDIDATES], ["c"], {}, r"row 0: answer is \[\['a'\]\]"),
        ([["a"]], [None], ["c"], {}, "row 0: candidates is None"),
        ([["a"]], [CANDIDATES], ["c"], {"missing": "drop"}, "unknown missing 'drop'"),
        ([["a"]], [CANDIDATES], ["c"], {"n_items": 4, "replacement": False}, "sample_size is 5"),
    ],
)
def test_bad_answers_are_refused(
    answers: Any, candidates: Any, targets: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        RankCounts.from_lists(answers, candidates, targets, **({"n_items": 900} | options))
