"""Scores of RecTools' models, against RecTools."""

import importlib.util

import numpy as np
import pandas as pd
import pytest
from libraries import N_ITEMS, N_USERS, check_consistent, interactions, library, rows_of

import truerank as tr
from truerank.errors import InputError
from truerank.scoring.adapters import from_rectools

rectools = library("rectools")
library("rectools.models")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the library

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("pytorch_lightning") is None,
    reason="rectools[torch] is not installed",
)


def knn():
    from implicit.nearest_neighbours import CosineRecommender

    return rectools.models.ImplicitItemKNNWrapperModel(CosineRecommender(K=4))


def als():
    from implicit.als import AlternatingLeastSquares

    return rectools.models.ImplicitALSWrapperModel(
        AlternatingLeastSquares(factors=6, iterations=2, random_state=0)
    )


def bpr():
    from implicit.bpr import BayesianPersonalizedRanking

    return rectools.models.ImplicitBPRWrapperModel(
        BayesianPersonalizedRanking(factors=6, iterations=2, random_state=0, num_threads=1)
    )


def sasrec():
    from rectools.models import SASRecModel

    return SASRecModel(n_factors=8, n_blocks=1, n_heads=1, epochs=1, session_max_len=10)


MODELS = {
    "als": als,
    "bpr": bpr,
    "svd": lambda: rectools.models.PureSVDModel(factors=4),
    "ease": lambda: rectools.models.EASEModel(regularization=10.0),
    "knn": knn,
    "popular": lambda: rectools.models.PopularModel(),
}


@pytest.fixture(scope="module")
def data():
    users, items = interactions()
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "user_id": users,
            "item_id": items,
            "weight": rng.integers(1, 4, users.size).astype(float),
            "datetime": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(rng.permutation(users.size), unit="h"),
        }
    )
    return rectools.dataset.Dataset.construct(table)


def check_against_recommend(scorer, model, data):
    """Scores of recommended items are RecTools', and the others rank below them."""
    users = data.user_id_map.external_ids[[7, 0, 21]].tolist()
    items = data.item_id_map.external_ids[::-1].tolist()
    scores = pd.DataFrame(scorer.score(*rows_of(scorer, users, items)), users, items)
    table = model.recommend(users=users, dataset=data, k=N_ITEMS, filter_viewed=False)
    for user, own in table.groupby("user_id"):
        mine = scores.loc[user]
        np.testing.assert_allclose(mine[own["item_id"]], own["score"], rtol=1e-4, atol=1e-5)
        rest = mine.drop(own["item_id"])
        assert len(set(rest)) <= 1
        assert len(rest) == 0 or rest.iloc[0] < mine[own["item_id"]].min()
    return scores


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_rectools(data, name):
    model = MODELS[name]().fit(data)
    scorer = from_rectools(model, data)
    assert (scorer.user_ids.n_rows, scorer.n_items) == (N_USERS, N_ITEMS)
    check_against_recommend(scorer, model, data)
    check_consistent(scorer)


@needs_torch
def test_scores_of_a_transformer_are_rectools(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # it leaves logs in the current folder
    model = sasrec().fit(data)
    scorer = from_rectools(model, data)
    check_against_recommend(scorer, model, data)


def test_scores_of_lightfm_are_rectools(data):
    lightfm = pytest.importorskip("lightfm", reason="rectools[lightfm] is not installed")
    inner = lightfm.LightFM(no_components=4, loss="warp", random_state=0)
    model = rectools.models.LightFMWrapperModel(inner, epochs=3, num_threads=1).fit(data)
    scorer = from_rectools(model, data)
    check_against_recommend(scorer, model, data)
    check_consistent(scorer)


@pytest.mark.parametrize("distance", ["DOT", "COSINE", "EUCLIDEAN"])
def test_every_distance_ranks_as_rectools(data, distance):
    from rectools.models.rank import Distance

    model = MODELS["svd"]().fit(data)
    model.u2i_dist = Distance[distance]
    scorer = from_rectools(model, data)
    table = model.recommend(
        users=data.user_id_map.external_ids, dataset=data, k=N_ITEMS, filter_viewed=False
    )
    for user, own in table.groupby("user_id"):
        scores = scorer.score_all(scorer.user_ids.rows([user], "test"))[0]
        ranked = scorer.item_ids.values(np.argsort(-scores, kind="stable"))
        assert ranked.tolist() == own["item_id"].tolist()


def test_items_that_are_never_recommended_rank_last(data):
    """Only what was bought in the last hours is popular."""
    model = rectools.models.PopularModel(period=pd.Timedelta(hours=20)).fit(data)
    scorer = from_rectools(model, data)
    scores = check_against_recommend(scorer, model, data)
    assert (scores.iloc[0] == 0).any()  # below the one purchase of the least popular


def test_the_ideal_of_ndcg_has_k_hits_unless_told():
    """A single target at rank 3, and one that is not recommended."""
    from rectools.metrics import MAP, NDCG

    recommended = pd.DataFrame(
        {"user_id": [1] * 5 + [2] * 5, "item_id": list(range(5)) * 2, "rank": [1, 2, 3, 4, 5] * 2}
    )
    test = pd.DataFrame({"user_id": [1, 2], "item_id": [2, 9]})
    ideal = (1 / np.log2(np.arange(2, 7))).sum()
    assert NDCG(k=5).calc(recommended, test) == pytest.approx(0.5 / ideal / 2)
    achievable = NDCG(k=5, divide_by_achievable=True)
    assert achievable.calc(recommended, test) == pytest.approx(0.5 / 2)
    assert MAP(k=5).calc(recommended, test) == pytest.approx(1 / 3 / 2)


def test_models_without_a_fixed_score_are_refused(data):
    with pytest.raises(InputError, match="scores at random; there is nothing to evaluate"):
        from_rectools(rectools.models.RandomModel(random_state=0).fit(data), data)
    with pytest.raises(InputError, match="RecTools' EASEModel is not fitted"):
        from_rectools(MODELS["ease"](), data)


def test_scores_that_do_not_rank_are_refused(data):
    model = MODELS["popular"]().fit(data)
    recommend = model.recommend
    model.recommend = lambda **options: recommend(**options).assign(score=lambda t: -t["score"])
    with pytest.raises(InputError, match="PopularModel does not rank by its scores"):
        from_rectools(model, data).score_all(np.arange(3))


def test_several_targets_are_evaluated_as_by_rectools(data):
    """A third of each user's items held out; RecTools' lists and metrics."""
    from rectools.metrics import MAP, MRR, NDCG, HitRate, Precision, Recall

    table = data.get_raw_interactions()
    held = np.random.default_rng(1).random(len(table)) < 1 / 3
    train, test = table[~held], table[held & table["item_id"].isin(table[~held]["item_id"])]
    dataset = rectools.dataset.Dataset.construct(train)
    test = test[test["user_id"].isin(train["user_id"])]
    model = MODELS["ease"]().fit(dataset)
    users = test["user_id"].unique()
    recommended = model.recommend(users=users, dataset=dataset, k=N_ITEMS, filter_viewed=True)
    counts = tr.count(from_rectools(model, dataset), test, train=train)
    assert counts.n_targets.max() > 1
    for k in (1, 3, 10):
        theirs = {
            f"recall@{k}": Recall(k=k),
            f"precision@{k}": Precision(k=k),
            f"hit_rate@{k}": HitRate(k=k),
            f"mrr@{k}": MRR(k=k),
            f"ap_all@{k}": MAP(k=k),
            f"ndcg@{k}": NDCG(k=k, divide_by_achievable=True),
        }
        for key, metric in theirs.items():
            value = tr.estimate(counts, key, confidence=None)[key].value
            assert metric.calc(recommended, test) == pytest.approx(value, abs=1e-9), key
