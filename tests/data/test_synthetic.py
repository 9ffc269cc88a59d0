from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from truerank.data import synthetic
from truerank.errors import InputError


@pytest.fixture(scope="module")
def data() -> synthetic.Catalogue:
    return synthetic.catalogue(n_users=700, n_items=300, seed=1)


@pytest.fixture(scope="module")
def models(data: synthetic.Catalogue) -> dict[str, synthetic.SyntheticModel]:
    return {model.name: model for model in synthetic.models(data, seed=1)}


def rank_by_loop(model: synthetic.SyntheticModel, user: int, target: int, others: Any) -> int:
    """One more than the number of other items that score above the target."""
    score = [float(model.user_factors[user] @ item) for item in model.item_factors]
    return 1 + sum(score[item] > score[target] for item in others if item != target)


def test_shapes(data: synthetic.Catalogue) -> None:
    assert (data.n_users, data.n_items) == (700, 300)
    assert data.targets.shape == (700,)
    assert data.targets.min() >= 0
    assert data.targets.max() < 300


def test_exact_ranks_equal_a_loop(
    data: synthetic.Catalogue, models: dict[str, synthetic.SyntheticModel]
) -> None:
    users = [0, 1, 511, 512, 699]  # on both sides of a block's edge
    for model in models.values():
        ranks = synthetic.exact_ranks(model, data.targets)
        expected = [rank_by_loop(model, u, data.targets[u], range(300)) for u in users]
        assert ranks[users].tolist() == expected


def test_sampled_ranks_equal_a_loop(
    data: synthetic.Catalogue, models: dict[str, synthetic.SyntheticModel]
) -> None:
    drawn = synthetic.negatives(data, num_negatives=20, seed=2)
    users = [0, 1, 511, 512, 699]
    for model in models.values():
        ranks = synthetic.sampled_ranks(model, data.targets, drawn)
        expected = [rank_by_loop(model, u, data.targets[u], drawn[u]) for u in users]
        assert ranks[users].tolist() == expected


def test_all_items_sampled_give_the_exact_rank(
    data: synthetic.Catalogue, models: dict[str, synthetic.SyntheticModel]
) -> None:
    drawn = synthetic.negatives(data, num_negatives=299)
    for model in models.values():
        exact = synthetic.exact_ranks(model, data.targets)
        assert np.array_equal(synthetic.sampled_ranks(model, data.targets, drawn), exact)


def test_negatives_are_distinct_and_never_the_target(data: synthetic.Catalogue) -> None:
    drawn = synthetic.negatives(data, num_negatives=99)
    assert drawn.shape == (700, 99)
    assert (np.diff(np.sort(drawn, axis=1), axis=1) > 0).all()
    assert not (drawn == data.targets[:, None]).any()
    assert drawn.min() == 0
    assert drawn.max() == 299


def test_every_other_item_is_drawn_alike() -> None:
    data = synthetic.catalogue(n_users=6000, n_items=12, seed=3)
    drawn = synthetic.negatives(data, num_negatives=4, seed=3)
    seen = np.zeros((6000, 12), dtype=bool)
    np.put_along_axis(seen, drawn, True, axis=1)
    for item in range(12):
        may = data.targets != item
        share = seen[may, item].mean()
        assert share == pytest.approx(4 / 11, abs=5 * np.sqrt(4 / 11 * 7 / 11 / may.sum()))


def test_targets_follow_the_softmax_of_the_utilities() -> None:
    data = synthetic.catalogue(n_users=5000, n_items=10, seed=4)
    utility = data.user_factors @ data.item_factors.T
    share = np.exp(utility - utility.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    expected = share.sum(axis=0)
    found = np.bincount(data.targets, minlength=10)
    assert np.all(np.abs(found - expected) < 5 * np.sqrt((share * (1 - share)).sum(axis=0)))
    # Nor do users of one item get each other's: the log-likelihood is what it should be.
    surprise = -np.log(share[np.arange(5000), data.targets])
    entropy = -(share * np.log(share)).sum(axis=1)
    assert surprise.mean() == pytest.approx(entropy.mean(), abs=5 * surprise.std() / np.sqrt(5000))


def test_the_head_of_the_catalogue_is_popular(data: synthetic.Catalogue) -> None:
    assert (data.targets < 30).sum() > 2 * (data.targets >= 270).sum()


def test_specialist_leads_at_the_top_and_generalist_by_auc() -> None:
    data = synthetic.catalogue(n_users=1500, n_items=2000, seed=5)
    ranks = {m.name: synthetic.exact_ranks(m, data.targets) for m in synthetic.models(data, seed=5)}
    top = {name: (rank <= 10).mean() for name, rank in ranks.items()}
    auc = {name: (2000 - rank).mean() / 1999 for name, rank in ranks.items()}
    assert top["specialist"] > 1.2 * top["generalist"] > top["popularity"]
    assert auc["generalist"] > auc["popularity"] > auc["specialist"] > 0.5


def test_seeds_decide_everything(data: synthetic.Catalogue) -> None:
    again = synthetic.catalogue(n_users=700, n_items=300, seed=1)
    other = synthetic.catalogue(n_users=700, n_items=300, seed=2)
    assert np.array_equal(again.targets, data.targets)
    assert not np.array_equal(other.targets, data.targets)
    drawn = [synthetic.negatives(data, num_negatives=9, seed=seed) for seed in (1, 1, 2)]
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_users": 0}, "n_users is 0"),
        ({"n_items": 1}, "n_items is 1"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 0.5}, "seed is 0.5"),
    ],
)
def test_impossible_catalogues(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        synthetic.catalogue(**options)


@pytest.mark.parametrize("number", [0, 300])
def test_impossible_numbers_of_negatives(data: synthetic.Catalogue, number: int) -> None:
    with pytest.raises(InputError, match=f"num_negatives is {number}; it must be from 1 to 299"):
        synthetic.negatives(data, num_negatives=number)


def test_histories_are_successive_draws_from_the_softmax() -> None:
    data = synthetic.catalogue(n_users=4000, n_items=10, seed=6)
    drawn = synthetic.interactions(data, per_user=2.0, at_least=2, seed=6)
    assert drawn.timestamp is not None
    assert len(drawn.distinct()) == len(drawn)
    utility = data.user_factors @ data.item_factors.T
    first = drawn.take(drawn.timestamp == 0)
    second = drawn.take(drawn.timestamp == 1)
    assert first.user_id.tolist() == second.user_id.tolist() == list(range(4000))
    for part in (first, second):
        share = np.exp(utility - utility.max(axis=1, keepdims=True))
        share /= share.sum(axis=1, keepdims=True)
        found = np.bincount(part.item_id, minlength=10)
        spread = np.sqrt((share * (1 - share)).sum(axis=0))
        assert np.all(np.abs(found - share.sum(axis=0)) < 5 * spread)
        utility[np.arange(4000), part.item_id] = -np.inf  # not again


def test_history_lengths() -> None:
    data = synthetic.catalogue(n_users=3000, n_items=400, seed=7)
    card = synthetic.interactions(data, per_user=20.0, at_least=5, seed=7).card()
    assert card.per_user[0] == 5
    assert card.per_user[2] == pytest.approx(20, abs=2)
    assert card.per_user[-1] == 200
    with pytest.raises(InputError, match=r"at_least is 201; .*\(half the items"):
        synthetic.interactions(data, at_least=201)
    with pytest.raises(InputError, match="per_user is 4"):
        synthetic.interactions(data, per_user=4.0, at_least=5)


def test_models_learn_from_histories() -> None:
    import truerank as tr

    data = synthetic.catalogue(n_users=800, n_items=400, seed=8)
    split = synthetic.interactions(data, per_user=25.0, seed=8).leave_one_out("last")
    recall = {}
    for model in (tr.models.Popularity(), tr.models.EASE()):
        scorer = model.fit(split.train, item_ids=split.item_ids)
        ranks = tr.rank(scorer, split.test, train=split.train)["rank"].to_numpy()
        recall[type(model).__name__] = (ranks <= 10).mean()
    assert recall["EASE"] > 1.5 * recall["Popularity"] > 1.5 * 10 / 400
