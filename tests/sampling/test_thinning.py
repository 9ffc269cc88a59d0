"""Negatives drawn by known probabilities: thinned to uniform ones, exactly."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

import truerank as tr
from truerank import InputError
from truerank.designs import Frozen, FrozenNegatives, Probability

Q = (Fraction(6, 10), Fraction(2, 10), Fraction(1, 10), Fraction(1, 10))


def thinned_law(n_draws: int, above: set[int]) -> dict[tuple[int, int], Fraction]:
    """P(kept, above the target) by enumeration of all draws and of what is kept of them."""
    least = min(Q)
    law: dict[tuple[int, int], Fraction] = {}
    for drawn in itertools.product(range(len(Q)), repeat=n_draws):
        for keep in itertools.product((False, True), repeat=n_draws):
            chance = Fraction(1)
            for item, kept in zip(drawn, keep, strict=True):
                stays = least / Q[item]
                chance *= Q[item] * (stays if kept else 1 - stays)
            left = [item for item, kept in zip(drawn, keep, strict=True) if kept]
            key = len(left), sum(item in above for item in left)
            law[key] = law.get(key, Fraction(0)) + chance
    return law


def binomial(n: int, k: int, p: Fraction) -> Fraction:
    return comb(n, k) * p**k * (1 - p) ** (n - k)


@pytest.mark.parametrize("above", [set(), {0}, {3}, {0, 2}, {1, 2, 3}])
def test_by_enumeration_what_is_left_is_uniform(above: set[int]) -> None:
    share = len(Q) * min(Q)  # of draws that are kept
    theta = Fraction(len(above), len(Q))
    for n_draws in (1, 2, 3):
        law = thinned_law(n_draws, above)
        for kept in range(n_draws + 1):
            for rank in range(kept + 1):
                expected = binomial(n_draws, kept, share) * binomial(kept, rank, theta)
                assert law.get((kept, rank), 0) == expected


def test_by_enumeration_without_replacement_it_is_not() -> None:
    """Of two draws, one kept: the likeliest item with chance 0.0375, the rarest with 0.204."""
    alone = [Fraction(0)] * 4
    for first, second in itertools.permutations(range(4), 2):
        chance = Q[first] * Q[second] / (1 - Q[first])
        stays = [min(Q) / Q[item] for item in (first, second)]
        alone[first] += chance * stays[0] * (1 - stays[1])
        alone[second] += chance * stays[1] * (1 - stays[0])
    assert [float(one) for one in alone] == pytest.approx(
        [0.0375, 0.1875, 0.2042, 0.2042], abs=1e-4
    )


def drawn(
    n_users: int, q: np.ndarray, n_negatives: int, seed: int, target: int = 0
) -> FrozenNegatives:
    """Negatives of one target for all users, with replacement by q, the target left out."""
    rng = np.random.default_rng(seed)
    p = np.where(np.arange(q.size) == target, 0.0, q)
    negative = rng.choice(q.size, size=n_users * n_negatives, p=p / p.sum())
    return FrozenNegatives(
        np.arange(n_users),
        np.full(n_users, target),
        np.arange(n_users + 1) * n_negatives,
        negative,
        True,
    )


def test_counts_follow_the_law() -> None:
    """Chi-square of all (size, rank) against binomial sizes and ranks."""
    n_users, n_negatives = 60_000, 6
    q = np.array([1.0, 6.0, 2.0, 1.0, 1.0])  # the target is item 0; its score is third
    scores = np.tile([0.5, 0.9, 0.1, 0.7, 0.2], (n_users, 1))
    negatives = drawn(n_users, q, n_negatives, seed=1)
    design = Frozen(negatives, probability=Probability(np.arange(5), q))
    scorer, test = tr.scoring.Dense(scores), (np.arange(n_users), np.zeros(n_users, dtype=int))
    counts = tr.count(scorer, test, design, seed=3)
    share, theta = 4 * 1.0 / 10.0, 0.5  # two of the four others are above
    seen = {
        (int(n) - 1, int(r) - 1): w
        for n, r, w in zip(counts.sample_size, counts.sampled_rank, counts.weight, strict=True)
    }
    statistic, cells = 0.0, 0
    for kept in range(1, n_negatives + 1):
        for rank in range(kept + 1):
            size = float(binomial(n_negatives, kept, Fraction(share).limit_denominator(100)))
            expected = (
                n_users * size * comb(kept, rank) * theta**rank * (1 - theta) ** (kept - rank)
            )
            statistic += (seen.get((kept, rank), 0) - expected) ** 2 / expected
            cells += 1
    assert chi2.sf(statistic, cells - 1) > 1e-4
    assert counts.schemes[0].replacement
    # A user of 60,000 in (1 - 0.4)^6 = 4.7 % is left without negatives.
    assert counts.n_users == pytest.approx(n_users * (1 - 0.6**6), rel=5e-3)


def made(n_users: int = 300, n_items: int = 60, n_negatives: int = 40) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(0)
    q = np.exp(rng.normal(scale=0.7, size=n_items))
    scorer = tr.scoring.Dense(rng.random((n_users, n_items)))
    test = (np.arange(n_users), np.zeros(n_users, dtype=int))
    return scorer, test, q, drawn(n_users, q, n_negatives, seed=2)


def test_what_is_kept_depends_on_seed_and_user_alone() -> None:
    scorer, test, q, negatives = made()
    design = Frozen(negatives, probability=dict(enumerate(q)))
    whole = tr.count(scorer, test, design, seed=4)
    rows = np.random.default_rng(5).permutation(300)
    parts = [
        tr.count(scorer, (test[0][part], test[1][part]), design, seed=4)
        for part in (rows[:100], rows[100:])
    ]
    assert sum(parts) == whole
    assert tr.count(scorer, test, design, seed=5) != whole
    table = tr.rank(scorer, test, design, seed=4)
    assert table.num_rows == whole.n_users
    # Only ratios of probabilities matter.
    times = Frozen(negatives, probability=dict(enumerate(1000 * q)))
    assert tr.count(scorer, test, times, seed=4) == whole


def test_several_models_meet_the_same() -> None:
    scorer, test, q, negatives = made(n_negatives=12)
    other = tr.scoring.Dense(np.random.default_rng(9).random((300, 60)))
    design = Frozen(negatives, probability=dict(enumerate(q)))
    both = tr.count({"A": scorer, "B": other}, test, design, seed=4)
    assert both["A"] == tr.count(scorer, test, design, seed=4)
    assert both["B"] == tr.count(other, test, design, seed=4)


def test_the_card_says_how_many_are_left(tmp_path: Any) -> None:
    scorer, test, q, negatives = made(n_negatives=12)
    probability = Probability(np.arange(60), q)
    found = tr.evaluate(
        scorer, test, Frozen(negatives, probability=probability), metrics="auc", confidence=None
    )
    card = found.protocol
    assert card["effective_negatives"] == pytest.approx(12 * probability.share_kept, rel=0.2)
    assert card["users_without_negatives"] == 300 - found.counts.n_users
    assert found.cost < 300 * 13  # what is thinned out is not scored
    tr.report.write({"model": found}, tmp_path / "report.html")
    assert "thinned to" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_designs_with_probabilities_go_to_json_and_back(tmp_path: Any) -> None:
    import pandas as pd

    _, _, q, negatives = made()
    negatives.save(tmp_path / "n.parquet")
    path = tmp_path / "q.csv"
    pd.DataFrame({"item_id": np.arange(60), "probability": q}).to_csv(path, index=False)
    design = Frozen(tmp_path / "n.parquet", probability=path, drop_targets=True)
    again = tr.designs.from_json(design.to_json())
    assert again == design
    assert again.drop_targets
    path.write_text(path.read_text().replace("\n0,", "\n0,9", 1))
    with pytest.raises(InputError, match="has other content than the design was written for"):
        tr.designs.from_json(design.to_json())
    with pytest.raises(InputError, match="were in no file"):
        tr.designs.from_dict(
            Frozen(FrozenNegatives.load(tmp_path / "n.parquet"), probability={0: 1}).to_dict()
        )


def test_bad_probabilities() -> None:
    scorer, test, q, negatives = made()
    good = dict(enumerate(q))
    for probability, message in (
        (good | {3: -1.0}, "probability of item 3 is -1; it must be at least 0"),
        (good | {3: np.nan}, "probability is nan at row 3"),
        ({}, "probability has 0 items"),
        (([1], [2]), "give a pandas, polars or pyarrow table"),
    ):
        with pytest.raises(InputError, match=message):
            Frozen(negatives, probability=probability)
    with pytest.raises(InputError, match="item 1 more than once"):
        Probability([1, 1], [0.5, 0.5])
    for probability, message in (
        ({k: v for k, v in good.items() if k != 7}, "1 items have no probability .the first: 7"),
        (good | {3: 0.0}, "1 of 60 items have probability 0: they are never among the negatives"),
        (good | {3: 1e-4}, r"of 40 negatives per target 0.0\d are left as a uniform sample; at"),
    ):
        with pytest.raises(InputError, match=message):
            tr.count(scorer, test, Frozen(negatives, probability=probability))
    without = FrozenNegatives(
        np.array([0]), np.array([0]), np.array([0, 2]), np.array([1, 2]), False
    )
    with pytest.raises(InputError, match="drawn without replacement: then no thinning makes them"):
        Frozen(without, probability=good)


def test_drop_targets() -> None:
    rng = np.random.default_rng(3)
    scorer = tr.scoring.Dense(rng.random((3, 20)))
    negatives = FrozenNegatives(
        np.arange(3),
        np.array([4, 5, 6]),
        np.array([0, 3, 6, 9]),
        np.array([4, 1, 2, 7, 8, 9, 1, 6, 3]),
        False,
    )
    test = ([0, 1, 2], [4, 5, 6])
    with pytest.raises(InputError, match=r"2 frozen negatives are targets .*drop_targets=True"):
        tr.count(scorer, test, Frozen(negatives))
    found = tr.evaluate(
        scorer, test, Frozen(negatives, drop_targets=True), metrics="auc", confidence=None
    )
    assert found.protocol["dropped_targets"] == 2
    table = tr.rank(scorer, test, Frozen(negatives, drop_targets=True))
    assert table["sample_size"].to_pylist() == [3, 4, 3]
    with pytest.raises(InputError, match="1 frozen negatives are targets or training items"):
        tr.count(scorer, test, Frozen(negatives, drop_targets=True), train=([1], [8]))
    with pytest.raises(InputError, match="drop_targets is 'yes'; it must be True or False"):
        Frozen(negatives, drop_targets="yes")


def test_usual_probabilities() -> None:
    train = ([0, 0, 1, 2], [5, 6, 5, 9])
    q = Probability.popularity(train, alpha=0.5, add=1, item_ids=[4, 5, 6, 9])
    assert q.probability == pytest.approx(np.sqrt([1, 3, 2, 2]))
    by_rank = Probability.log_uniform([5, 6, 9, 4])  # TensorFlow's law, by rank from 0
    law = np.log((np.arange(4) + 2) / (np.arange(4) + 1))
    assert by_rank.of_items(np.array([5, 6, 9, 4])) == pytest.approx(law)
    assert Probability.popularity(train).share_kept == pytest.approx(3 * 1 / 4)
