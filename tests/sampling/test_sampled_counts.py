"""Counts of fixed designs: their laws at known global ranks, ties, several targets, bad input."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from laws import N_USERS, p_value, same_for_all, sample

import truerank as tr
from truerank import InputError
from truerank.designs import Fixed
from truerank.designs.fixed import sample_size_of
from truerank.outcomes.schemes import Scheme, log_probability
from truerank.scoring.dense import Dense
from truerank.scoring.factors import Factors
from truerank.scoring.function import Callable
from truerank.scoring.task import prepare


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(
    ("n_items", "global_rank", "sample_size"),
    [(5, 3, 4), (12, 2, 7), (12, 12, 12), (300, 40, 20), (300, 1, 50), (300, 150, 250)],
)
def test_ranks_are_hypergeometric_or_binomial(n_items, global_rank, sample_size, replacement):
    scorer, test = same_for_all(n_items, global_rank)
    design = Fixed(sample_size=sample_size, replacement=replacement)
    counts = tr.count(scorer, test, design, seed=1)
    scheme = Scheme(replacement)
    assert p_value(counts, scheme, global_rank, n_items, sample_size) > 1e-4


def test_the_check_has_power():
    """Samples without replacement are not binomial; a rank off by one shows too."""
    scorer, test = same_for_all(60, 20)
    counts = tr.count(scorer, test, Fixed(sample_size=30), seed=1)
    assert p_value(counts, Scheme(False), 20, 60, 30) > 1e-4
    assert p_value(counts, Scheme(True), 20, 60, 30) < 1e-4
    assert p_value(counts, Scheme(False), 21, 60, 30) < 1e-4


@pytest.mark.parametrize("replacement", [True, False])
def test_training_items_leave_the_pool(replacement):
    """Items 0, 2, ..., 18 are known to all: the target at 30 has 20 items above it, not 30."""
    scorer, test = same_for_all(50, 31)
    train = np.repeat(test[0], 10), np.tile(np.arange(0, 20, 2), N_USERS)
    design = Fixed(sample_size=12, replacement=replacement)
    counts = tr.count(scorer, test, design, train=train, seed=2)
    assert set(counts.n_items.tolist()) == {40}
    assert p_value(counts, Scheme(replacement), 21, 40, 12) > 1e-4


@pytest.mark.parametrize("replacement", [True, False])
def test_random_ties_are_a_random_order_of_the_items(replacement):
    """3 items above, 4 tied: the rank in the pool is 4 to 8, each alike, and the same for a user.

    With replacement an item drawn twice goes above or below the target twice, as the law has it.
    """
    scores = np.array([3.0, 3, 3, 2, 2, 2, 2, 2, 1, 1])
    scorer = Dense(np.broadcast_to(scores, (N_USERS, 10)))
    test = np.arange(N_USERS), np.full(N_USERS, 5)
    design = Fixed(sample_size=6, replacement=replacement)
    counts = tr.count(scorer, test, design, ties="random", seed=3)
    assert p_value(counts, Scheme(replacement), np.arange(4, 9), 10, 6) > 1e-4


def test_spread_ties_are_the_mean_over_random_ones():
    """Without replacement the law is exact: hypergeometric, averaged over the tied ranks."""
    scores = np.array([3.0, 2, 2, 2, 2, 1, 1])
    scorer = Dense(np.broadcast_to(scores, (N_USERS, 7)))
    test = np.arange(N_USERS), np.full(N_USERS, 2)
    counts = tr.count(scorer, test, Fixed(sample_size=4), seed=4)
    expected = np.exp(
        log_probability(
            Scheme(False), np.arange(2, 6), n_items=7, sample_size=4, sampled_rank=np.arange(1, 5)
        )
    ).mean(axis=1)
    share = np.bincount(counts.sampled_rank, counts.weight)[1:] / N_USERS
    # A spread weight varies less than a draw of the rank would.
    assert np.abs(share - expected).max() < 4 * np.sqrt(0.25 / N_USERS)


@pytest.mark.parametrize("scorer_of", [Dense, lambda s: Factors(s[:, :1], np.ones((40, 1)))])
def test_a_constant_scorer_has_every_rank_alike(scorer_of):
    scorer = scorer_of(np.zeros((50, 40)))
    test = np.arange(50), np.arange(50) % 40
    for size in (2, 13, 40):
        counts = tr.count(scorer, test, Fixed(sample_size=size))
        assert counts.sampled_rank.tolist() == list(range(1, size + 1))
        assert counts.weight == pytest.approx(np.full(size, 50 / size))
        naive = tr.estimate(counts, "hr@10", estimator="naive")["hr@10"].value
        assert naive == pytest.approx(float(Fraction(min(10, size), size)))


@pytest.mark.parametrize("scorer_of", [Dense, lambda s: Factors(s[:, :1], np.ones((40, 1)))])
def test_a_constant_scorer_with_replacement_has_every_global_rank_alike(scorer_of):
    """An item drawn twice is one item: the binomial law, averaged over all global ranks."""
    scorer = scorer_of(np.zeros((50, 40)))
    test = np.arange(50), np.arange(50) % 40
    for size in (2, 13, 40):
        counts = tr.count(scorer, test, Fixed(sample_size=size, replacement=True))
        law = np.exp(
            log_probability(
                Scheme(True),
                np.arange(1, 41),
                n_items=40,
                sample_size=size,
                sampled_rank=np.arange(1, size + 1),
            )
        ).mean(axis=1)
        assert counts.sampled_rank.tolist() == list(range(1, size + 1))
        assert counts.weight == pytest.approx(50 * law)


@pytest.mark.parametrize(
    ("ties", "expected"), [("optimistic", {1}), ("pessimistic", {9}), ("mid", {5})]
)
def test_other_ties(ties, expected):
    scorer = Dense(np.zeros((20, 30)))
    test = np.arange(20), np.arange(20)
    counts = tr.count(scorer, test, Fixed(sample_size=9), ties=ties)
    assert set(counts.sampled_rank.tolist()) == expected


@pytest.mark.parametrize("ties", ["spread", "optimistic", "pessimistic", "mid"])
def test_the_whole_pool_gives_exact_ranks(ties):
    """Whole numbers: no rounding on either side. Several targets, pools that differ."""
    rng = np.random.default_rng(0)
    scorer = Factors(*(rng.integers(-3, 4, (n, 6)).astype(np.float32) for n in (60, 40)))
    user = np.repeat(np.arange(60), 3)
    chosen = np.stack([rng.permutation(40) for _ in range(60)])
    test = user, chosen[:, :3].ravel()
    known = chosen[:, 3:10]
    for users in (np.arange(30), np.arange(30, 60)):
        here = np.isin(user, users)
        part = test[0][here], test[1][here]
        n_known = 4 if users[0] else 7
        train = np.repeat(users, n_known), known[users, :n_known].ravel()
        pool = 40 - n_known - 2
        sampled = tr.count(scorer, part, Fixed(sample_size=pool), train=train, ties=ties)
        assert sampled == tr.count(scorer, part, train=train, ties=ties)


def test_ids_of_items_and_users_may_be_numbers_or_text():
    rng = np.random.default_rng(0)
    factors = [rng.standard_normal((n, 4)) for n in (80, 60)]
    users, items = rng.permutation(1000)[:80], rng.permutation(1000)[:60]
    test = users, items[rng.integers(0, 60, 80)]
    numbers = Factors(*factors, user_ids=users, item_ids=items)
    texts = Factors(*factors, user_ids=users.astype(str), item_ids=items.astype(str))
    as_text = tuple(part.astype(str) for part in test)
    alone, shared = Fixed(sample_size=20), Fixed(sample_size=20, shared_by=64)
    for design, ties in ((alone, "spread"), (shared, "spread"), (alone, "random")):
        one = tr.count(numbers, test, design, seed=5, ties=ties)
        assert one == tr.count(texts, as_text, design, seed=5, ties=ties)


def test_num_negatives_do_not_count_the_target():
    scorer, test = same_for_all(50, 10, n_users=100)
    one = tr.count(scorer, test, Fixed(num_negatives=9))
    assert one == tr.count(scorer, test, Fixed(sample_size=10))
    assert set(one.sample_size.tolist()) == {10}
    assert (sample_size_of(100, None), sample_size_of(None, 100)) == (100, 101)


def test_a_user_with_several_targets_is_one_user():
    scorer, _ = same_for_all(50, 1, n_users=10)
    user = np.array([0, 0, 0, 0, 1, 2])
    counts = tr.count(scorer, (user, np.array([1, 2, 3, 4, 5, 6])), Fixed(sample_size=5))
    assert counts.n_users == 3
    assert counts.total_weight == counts.squared_weight == 6
    assert set(counts.n_items.tolist()) == {47, 50}
    several = counts.n_items == 47
    assert (counts.n_targets == np.where(several, 4, 1)).all()
    # Scores fall with the item: target 1 is the best of user 0.
    assert sorted(counts.place[several].tolist()) == [1, 2, 3, 4]
    assert (counts.place[~several] == 1).all()
    assert len(set(counts.block[several].tolist())) == 1
    assert (counts.block[~several] == 0).all()


def test_a_model_asked_pair_by_pair_has_the_same_counts():
    """And is asked for each pair once, the target with its negatives."""
    scorer, test = same_for_all(80, 30, n_users=300)
    asked = Callable(lambda users, items: -items.astype(float), n_items=80)
    counts = tr.count(asked, test, Fixed(sample_size=20))
    assert counts == tr.count(scorer, test, Fixed(sample_size=20))
    assert asked.scored_pairs == 300 * 20


def test_cost_is_reported(monkeypatch):
    scorer, test = same_for_all(80, 2, n_users=300)
    task = prepare(scorer, test)
    for numba in ("0", "1"):
        monkeypatch.setenv("TRUERANK_NUMBA", numba)
        found = sample(scorer, task, ladder=(10, 20), ties="random")
        assert set(found.sample_size.tolist()) == {10, 20}
        assert found.pairs == found.sample_size.sum()


def test_small_pools_are_named():
    scorer, test = same_for_all(30, 10, n_users=8)
    train = np.full(15, 6), np.arange(10, 25)
    with pytest.raises(InputError, match=r"sample_size is 20, but 1 of 8 users .* user 6 .* 15"):
        tr.count(scorer, test, Fixed(sample_size=20), train=train)
    tr.count(scorer, test, Fixed(sample_size=20, replacement=True), train=train)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample_size": 2.5}, "sample_size is 2.5"),
        ({"num_negatives": "many"}, "num_negatives is 'many'"),
        ({"sample_size": 5, "replacement": "yes"}, "replacement is 'yes'"),
        ({"sample_size": 5, "draw": None}, "draw is None"),
        ({"sample_size": 5, "draw": "uniforms"}, "did you mean 'uniform'"),
    ],
)
def test_bad_designs(options, message):
    with pytest.raises(InputError, match=message):
        Fixed(**options)


@pytest.mark.parametrize(
    ("options", "message"), [({"progress": 3}, "progress is 3"), ({"seed": "x"}, "seed is 'x'")]
)
def test_bad_options(options, message):
    scorer, test = same_for_all(30, 10, n_users=8)
    for verb in (tr.count, tr.rank):
        with pytest.raises(InputError, match=message):
            verb(scorer, test, Fixed(sample_size=5), **options)


def test_bad_scores():
    def wrong_shape(users, items):
        return np.zeros(3)

    scorer, test = same_for_all(30, 10, n_users=8)
    with pytest.raises(InputError, match="shape"):
        tr.count(Callable(wrong_shape, n_items=30), test, Fixed(sample_size=5))
    with pytest.raises(InputError, match="train"):
        tr.count(scorer, test, Fixed(sample_size=5), train=test)
    tr.count(scorer, test, Fixed(sample_size=5), train=test, keep_target=True)


def test_ranks_are_the_counts_user_by_user():
    rng = np.random.default_rng(5)
    users, items = (rng.standard_normal((n, 6)).astype(np.float32) for n in (80, 200))
    names = np.array([f"i{item}" for item in range(200)])
    scorer = Factors(users, items, item_ids=names)
    test = np.arange(80)[::-1], names[rng.integers(200, size=80)]
    for shared_by in (None, 64):
        design = Fixed(num_negatives=30, shared_by=shared_by)
        table = tr.rank(scorer, test, design, seed=3)
        assert table.column_names == ["user_id", "item_id", "rank", "sample_size", "n_items"]
        assert table["user_id"].to_pylist() == test[0].tolist()
        assert table["item_id"].to_pylist() == test[1].tolist()
        counts = tr.count(scorer, test, design, seed=3, ties="random")
        assert tr.RankCounts.from_table(table, replacement=False) == counts.pooled()
    with pytest.raises(
        InputError, match=r"ties='spread' .* gives counts, not ranks.* truerank.count"
    ):
        tr.rank(scorer, test, design, ties="spread")


def test_ranks_pair_models():
    rng = np.random.default_rng(5)
    users, items = (rng.standard_normal((n, 6)).astype(np.float32) for n in (300, 200))
    test = (
        np.arange(300),
        np.argsort(-(users @ items.T + rng.gumbel(size=(300, 200))), axis=1)[:, 0],
    )
    noisy = items + 0.5 * rng.standard_normal(items.shape).astype(np.float32)
    models = {"whole": Factors(users, items), "noisy": Factors(users, noisy)}
    ranks = {name: tr.rank(m, test, Fixed(num_negatives=50)) for name, m in models.items()}
    found = tr.compare(ranks, "recall@10", replacement=False, scope="population")
    assert found.paired
    assert found["whole", "noisy"].reduction > 0


@pytest.mark.parametrize("design", [np.ones((3, 2)), 7, None])
def test_what_is_no_design(design):
    scorer, test = same_for_all(12, 2)
    for verb in (tr.count, tr.rank, tr.evaluate):
        with pytest.raises(InputError, match=r"design is .*Fixed\(num_negatives=99\)"):
            verb(scorer, test, design)
