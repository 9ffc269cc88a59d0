"""Scores of LensKit's pipelines, against LensKit."""

import numpy as np
import pandas as pd
import pytest
from libraries import N_ITEMS, check_consistent, interactions, library, rows_of

import truerank as tr
from truerank.errors import InputError
from truerank.scoring.adapters import from_lenskit

lenskit = library("lenskit")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the library


def models():
    from lenskit.als import BiasedMFScorer, ImplicitMFScorer
    from lenskit.basic import BiasScorer, PopScorer
    from lenskit.knn import ItemKNNScorer, UserKNNScorer

    return {
        "implicit-mf": lambda: ImplicitMFScorer(embedding_size=4, epochs=3),
        "biased-mf": lambda: BiasedMFScorer(embedding_size=4, epochs=3),
        "bias": lambda: BiasScorer(),
        "popularity": lambda: PopScorer(),
        "item-knn": lambda: ItemKNNScorer(max_nbrs=5, min_nbrs=2, feedback="implicit"),
        "user-knn": lambda: UserKNNScorer(max_nbrs=3, min_nbrs=2, feedback="implicit"),
    }


@pytest.fixture(scope="module")
def data():
    users, items = interactions()
    ratings = np.random.default_rng(0).integers(1, 6, users.size).astype(float)
    table = pd.DataFrame({"user_id": users, "item_id": items, "rating": ratings})
    return lenskit.data.from_interactions_df(table)


def trained(model, data):
    pipeline = lenskit.topn_pipeline(model)
    pipeline.train(data)
    return pipeline


@pytest.mark.parametrize("name", list(models()))
def test_scores_are_lenskits(data, name):
    pipeline = trained(models()[name](), data)
    scorer = from_lenskit(pipeline, data)
    users, items = data.users.ids()[5:12].tolist(), data.items.ids()[::-2].tolist()
    scores = scorer.score(*rows_of(scorer, users, items))
    own = np.stack([lenskit.score(pipeline, user, items).scores() for user in users])
    scored = ~np.isnan(own)
    np.testing.assert_allclose(scores[scored], own[scored], rtol=1e-5, atol=1e-6)
    check_consistent(scorer)


def test_the_order_is_that_of_recommend(data):
    pipeline = trained(models()["implicit-mf"](), data)
    scorer = from_lenskit(pipeline, data)
    for user in data.users.ids()[:5].tolist():
        row = scorer.user_ids.rows([user], "test")
        ranked = scorer.item_ids.values(np.argsort(-scorer.score_all(row)[0]))
        items = lenskit.recommend(pipeline, user, n=N_ITEMS, items=data.items.ids())
        assert ranked.tolist() == items.ids().tolist()


def sparse_data():
    """Two groups of items that no user has both of: no neighbours across."""
    table = pd.DataFrame(
        {
            "user_id": [1, 1, 1, 2, 2, 3, 3, 3, 4, 4, 5],
            "item_id": [10, 11, 12, 10, 11, 20, 21, 22, 20, 21, 22],
        }
    )
    return lenskit.data.from_interactions_df(table)


def test_items_without_a_score_rank_last_and_tie():
    data = sparse_data()
    pipeline = trained(models()["item-knn"](), data)
    scorer = from_lenskit(pipeline, data)
    users, items = rows_of(scorer, [1, 2, 5], data.items.ids())
    scores = scorer.score(users, items)
    own = np.stack([lenskit.score(pipeline, user, data.items.ids()).scores() for user in (1, 2, 5)])
    missing = np.isnan(own)
    assert missing.any(axis=1).all()
    assert (~missing).any()
    for row in range(3):
        unscored = scores[row][missing[row]]
        assert len(set(unscored)) == 1
        if not missing[row].all():
            assert unscored[0] < scores[row][~missing[row]].min()
    with pytest.raises(InputError, match=r"LensKit's pipeline returned .* NaN"):
        from_lenskit(pipeline, data, unscored="error").score(users, items)


def test_definitions_of_lenskits_metrics():
    """The discount is log2(rank), at least 1, unless told; recall divides by min(k, test items)."""
    from lenskit.data import ItemList
    from lenskit.metrics import NDCG, LogRankWeight, Recall

    items = ItemList([1, 2, 3, 4, 5], ordered=True)
    for rank in range(1, 6):
        test = ItemList([rank])
        own = NDCG(n=5).measure_list(items, test)
        assert own == pytest.approx(1 / max(1, np.log2(rank)))
        ours = NDCG(n=5, weight=LogRankWeight(offset=1)).measure_list(items, test)
        assert ours == pytest.approx(1 / np.log2(rank + 1))
    assert Recall(n=2).measure_list(items, ItemList([2, 3, 4])) == pytest.approx(1 / 2)


def test_another_component_can_be_asked(data):
    pipeline = lenskit.pipeline.predict_pipeline(models()["biased-mf"]())
    pipeline.train(data)
    scorer = from_lenskit(pipeline, data, component="rating-predictor")
    users, items = data.users.ids()[:3].tolist(), data.items.ids()[:4].tolist()
    own = np.stack([lenskit.predict(pipeline, user, items).scores() for user in users])
    scores = scorer.score(*rows_of(scorer, users, items))
    np.testing.assert_allclose(scores, own, rtol=1e-5)


def test_unscored_is_last_or_error(data):
    with pytest.raises(InputError, match="unknown unscored 'first'"):
        from_lenskit(None, data, unscored="first")


def test_several_targets_are_evaluated_as_by_lenskit(data):
    """A third of each user's items held out; LensKit's lists and metrics."""
    from lenskit.data import ItemList, from_interactions_df
    from lenskit.metrics import NDCG, Hit, LogRankWeight, Precision, Recall, RecipRank

    users, items = interactions()
    table = pd.DataFrame({"user_id": users, "item_id": items})
    held = np.random.default_rng(1).random(len(table)) < 1 / 3
    train, test = table[~held], table[held]
    dataset = from_interactions_df(train)
    pipeline = trained(models()["implicit-mf"](), dataset)
    counts = tr.count(from_lenskit(pipeline, dataset), test, train=train)
    assert counts.n_targets.max() > 1
    lists = {
        user: (lenskit.recommend(pipeline, user, n=N_ITEMS), ItemList(own["item_id"].tolist()))
        for user, own in test.groupby("user_id")
    }
    for k in (1, 3, 10):
        theirs = {
            f"recall_min@{k}": Recall(n=k),
            f"precision@{k}": Precision(n=k),
            f"hit_rate@{k}": Hit(n=k),
            f"mrr@{k}": RecipRank(n=k),
            f"ndcg@{k}": NDCG(n=k, weight=LogRankWeight(offset=1)),
        }
        for key, metric in theirs.items():
            own = np.mean([metric.measure_list(*pair) for pair in lists.values()])
            value = tr.estimate(counts, key, confidence=None)[key].value
            assert own == pytest.approx(value, abs=1e-9), key
