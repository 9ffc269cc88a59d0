"""Scores of Cornac's models, against Cornac."""

import numpy as np
import pytest
from libraries import N_ITEMS, N_USERS, check_consistent, interactions, library, rows_of

from truerank.errors import InputError
from truerank.scoring.adapters import from_cornac

cornac = library("cornac")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the library

MODELS = {
    "mf": lambda: cornac.models.MF(k=4, max_iter=5, seed=0, verbose=False),
    "bpr": lambda: cornac.models.BPR(k=4, max_iter=5, seed=0, num_threads=1, verbose=False),
    "pop": lambda: cornac.models.MostPop(),
    "item-knn": lambda: cornac.models.ItemKNN(k=5, similarity="cosine", verbose=False),
    "user-knn": lambda: cornac.models.UserKNN(k=5, similarity="pearson", verbose=False),
}


def triples():
    users, items = interactions()
    ratings = np.random.default_rng(0).integers(1, 6, users.size).astype(float)
    return list(zip(users.tolist(), items.tolist(), ratings.tolist(), strict=True))


def fitted(name, data):
    return MODELS[name]().fit(data)


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_cornacs(name):
    data = cornac.data.Dataset.from_uir(triples(), seed=0)
    model = fitted(name, data)
    scorer = from_cornac(model)
    users, items = list(data.uid_map)[5:9], list(data.iid_map)[::-1]
    own = np.array([[model.score(data.uid_map[u])[data.iid_map[i]] for i in items] for u in users])
    np.testing.assert_array_equal(scorer.score(*rows_of(scorer, users, items)), own)
    one = model.score(data.uid_map[users[2]], data.iid_map[items[3]])
    assert own[2, 3] == pytest.approx(float(one), rel=1e-5)
    check_consistent(scorer)


def test_the_order_is_that_of_recommend():
    data = cornac.data.Dataset.from_uir(triples(), seed=0)
    model = fitted("mf", data)
    scorer = from_cornac(model)
    for user in list(data.uid_map)[:5]:
        scores = scorer.score_all(scorer.user_ids.rows([user], "test"))[0]
        ranked = scorer.item_ids.values(np.argsort(-scores))
        assert ranked.tolist() == model.recommend(user)


@pytest.mark.parametrize("name", ["bpr", "pop"])
def test_items_that_only_the_test_has_are_left_out_unless_wanted(name):
    split = triples()
    only_in_test = {item for _, item, _ in split[:3]}
    train = [row for row in split if row[1] not in only_in_test]
    test = [row for row in split if row[1] in only_in_test]
    method = cornac.eval_methods.BaseMethod.from_splits(train, test, exclude_unknowns=False)
    model = fitted(name, method.train_set)
    known = from_cornac(model)
    assert known.n_items == N_ITEMS - len(only_in_test)
    with pytest.raises(InputError, match="unknown to the scorer"):
        known.item_ids.rows([test[0][1]], "test")
    every = from_cornac(model, exclude_unknowns=False)
    assert (every.n_items, every.user_ids.n_rows) == (N_ITEMS, N_USERS)
    users = np.arange(N_USERS)
    scores = every.score_all(users)
    np.testing.assert_array_equal(scores[:, : known.n_items], known.score_all(users))
    own = [model.rank(user, np.arange(N_ITEMS))[1] for user in users]
    np.testing.assert_array_equal(scores, own)
    if name == "pop":  # knows nothing of them
        np.testing.assert_array_equal(scores[:, known.n_items :], scores.min())


def test_cornacs_own_metrics_are_those_of_exact_ranks():
    """Recall and NDCG of Cornac with one test item each."""
    rows = triples()
    last = {user: index for index, (user, _, _) in enumerate(rows)}
    test = [rows[index] for index in last.values()]
    train = [row for index, row in enumerate(rows) if index not in set(last.values())]
    method = cornac.eval_methods.BaseMethod.from_splits(train, test, rating_threshold=0.0)
    model = fitted("mf", method.train_set)
    found, _ = cornac.eval_methods.base_method.ranking_eval(
        model,
        [cornac.metrics.Recall(k=5), cornac.metrics.NDCG(k=5)],
        method.train_set,
        method.test_set,
        rating_threshold=0.0,
    )
    scorer = from_cornac(model)
    users = scorer.user_ids.rows([user for user, _, _ in test], "test")
    targets = scorer.item_ids.rows([item for _, item, _ in test], "test")
    scores = scorer.score_all(users)
    scores[method.train_set.csr_matrix.toarray()[users] > 0] = -np.inf
    own = scores[np.arange(users.size), targets]
    ranks = 1 + (scores > own[:, None]).sum(axis=1)
    gain = np.where(ranks <= 5, 1 / np.log2(ranks + 1), 0)
    assert found == pytest.approx([(ranks <= 5).mean(), gain.mean()])


def test_a_model_that_is_not_fitted_is_refused():
    with pytest.raises(InputError, match="Cornac's MF is not fitted"):
        from_cornac(MODELS["mf"]())
