"""Scores of implicit's models, against implicit."""

import numpy as np
import pytest
import scipy.sparse
from libraries import N_ITEMS, N_USERS, check_consistent, interactions, library

from truerank.errors import InputError
from truerank.scoring.adapters import from_implicit

implicit = library("implicit")
library("implicit.evaluation")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the library

FACTORS = {
    "als": lambda: implicit.als.AlternatingLeastSquares(factors=8, iterations=3, random_state=0),
    "bpr": lambda: implicit.bpr.BayesianPersonalizedRanking(
        factors=8, iterations=3, random_state=0, num_threads=1
    ),
    "lmf": lambda: implicit.lmf.LogisticMatrixFactorization(
        factors=8, iterations=3, random_state=0, num_threads=1
    ),
}
NEIGHBOURS = {
    "item-item": lambda: implicit.nearest_neighbours.ItemItemRecommender(K=4),
    "cosine": lambda: implicit.nearest_neighbours.CosineRecommender(K=4),
    "tf-idf": lambda: implicit.nearest_neighbours.TFIDFRecommender(K=4),
    "bm25": lambda: implicit.nearest_neighbours.BM25Recommender(K=4),
}


@pytest.fixture(scope="module")
def data():
    users, items = interactions()
    user_ids, user = np.unique(users, return_inverse=True)
    item_ids, item = np.unique(items, return_inverse=True)
    weight = np.random.default_rng(0).integers(1, 5, user.size).astype(np.float32)
    matrix = scipy.sparse.csr_matrix((weight, (user, item)), shape=(N_USERS, N_ITEMS))
    return matrix, user_ids, item_ids


def fitted(make, matrix):
    model = make()
    model.fit(matrix, show_progress=False)
    return model


def recommended(model, matrix):
    """implicit's own scores of all items, 0 where it recommends nothing."""
    scores = np.zeros(matrix.shape)
    for user in range(matrix.shape[0]):
        ids, values = model.recommend(
            user, matrix[user], N=N_ITEMS, filter_already_liked_items=False
        )
        scores[user, ids] = values
    return scores


@pytest.mark.parametrize("name", [*FACTORS, *NEIGHBOURS])
def test_scores_are_implicits(data, name):
    matrix, user_ids, item_ids = data
    if name == "item-item":
        matrix = matrix.astype(np.float64)  # this one takes no other
    model = fitted((FACTORS | NEIGHBOURS)[name], matrix)
    given = matrix if name in NEIGHBOURS else None
    scorer = from_implicit(model, given, user_ids=user_ids, item_ids=item_ids)
    expected = recommended(model, matrix)
    np.testing.assert_allclose(scorer.score_all(np.arange(N_USERS)), expected, rtol=1e-5, atol=1e-6)
    users = np.array([user_ids[17], user_ids[3]])
    items = np.array([[item_ids[5], item_ids[20]], [item_ids[0], item_ids[5]]])
    rows = scorer.user_ids.rows(users, "test")
    columns = scorer.item_ids.rows(items.ravel(), "test").reshape(items.shape)
    np.testing.assert_allclose(
        scorer.score(rows, columns),
        [expected[17, [5, 20]], expected[3, [0, 5]]],
        rtol=1e-5,
        atol=1e-6,
    )
    check_consistent(scorer)


def test_some_items_have_no_neighbour_and_tie_at_zero(data):
    matrix, _, _ = data
    few = matrix.copy()
    few.data[:] = 1
    few = scipy.sparse.csr_matrix(few.multiply(np.arange(N_ITEMS) < 12))
    few.eliminate_zeros()
    model = fitted(NEIGHBOURS["cosine"], few)
    scores = from_implicit(model, few).score_all(np.arange(N_USERS))
    assert (scores[:, 12:] == 0).all()
    assert (scores[:, :12] > 0).any()


def test_implicits_precision_is_the_hit_rate_of_exact_ranks(data):
    """With one test item each, and training items left out."""
    matrix, _, _ = data
    rng = np.random.default_rng(1)
    train = matrix.tolil()
    targets = np.array([rng.choice(matrix[user].indices) for user in range(N_USERS)])
    train[np.arange(N_USERS), targets] = 0
    train = train.tocsr()
    train.eliminate_zeros()
    test = scipy.sparse.csr_matrix(
        (np.ones(N_USERS, np.float32), (np.arange(N_USERS), targets)), shape=matrix.shape
    )
    model = fitted(FACTORS["als"], train)
    found = implicit.evaluation.ranking_metrics_at_k(model, train, test, K=5, show_progress=False)
    scores = from_implicit(model).score_all(np.arange(N_USERS)).astype(np.float64)
    scores[train.toarray() > 0] = -np.inf
    own = scores[np.arange(N_USERS), targets]
    ranks = 1 + (scores > own[:, None]).sum(axis=1)
    assert found["precision"] == pytest.approx((ranks <= 5).mean())
    assert found["ndcg"] == pytest.approx(np.where(ranks <= 5, 1 / np.log2(ranks + 1), 0).mean())


def test_implicits_metrics_with_several_test_items(data):
    """Hits over min(K, test items), both added up over users; users without test items skipped."""
    matrix, _, _ = data
    model = fitted(FACTORS["als"], matrix)
    rng = np.random.default_rng(2)
    n_test = np.resize([0, 1, 2, 7], N_USERS)
    items = [rng.choice(N_ITEMS, n, replace=False) for n in n_test]
    rows = np.repeat(np.arange(N_USERS), n_test)
    ones = np.ones(rows.size, np.float32)
    test = scipy.sparse.csr_matrix((ones, (rows, np.concatenate(items))), shape=matrix.shape)
    nothing = scipy.sparse.csr_matrix(matrix.shape, dtype=np.float32)
    found = implicit.evaluation.ranking_metrics_at_k(model, nothing, test, K=5, show_progress=False)
    order = np.argsort(-from_implicit(model).score_all(np.arange(N_USERS)), axis=1)[:, :5]
    hit = np.array([np.isin(order[user], items[user]) for user in range(N_USERS)])
    best = np.minimum(n_test, 5)
    assert found["precision"] == pytest.approx(hit.sum() / best.sum())
    some = n_test > 0
    gain = 1 / np.log2(np.arange(2, 7))
    ndcg = (hit @ gain)[some] / np.cumsum(gain)[best[some] - 1]
    assert found["ndcg"] == pytest.approx(ndcg.mean())
    precision = np.cumsum(hit, axis=1) / np.arange(1, 6)
    ap = (precision * hit).sum(axis=1)[some] / best[some]
    assert found["map"] == pytest.approx(ap.mean())


def test_what_is_missing_is_said(data):
    matrix, _, _ = data
    with pytest.raises(InputError, match="neither factors nor similarities: fit it first"):
        from_implicit(FACTORS["als"]())
    model = fitted(NEIGHBOURS["cosine"], matrix)
    with pytest.raises(InputError, match="give the sparse matrix user_items"):
        from_implicit(model)
    with pytest.raises(InputError, match=r"user_items has 10 items; .* was fitted on 25"):
        from_implicit(model, matrix[:, :10])
    with pytest.raises(InputError, match="user_ids has 3 ids; there are 40 users"):
        from_implicit(model, matrix, user_ids=["a", "b", "c"])
