"""implicit: matrix factorisation and item-item neighbours."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _arguments
from truerank.errors import InputError
from truerank.scoring.factors import Factors
from truerank.scoring.scorer import Scorer
from truerank.scoring.weights import ItemWeights


def from_implicit(
    model: Any, user_items: Any = None, *, user_ids: Any = None, item_ids: Any = None
) -> Scorer:
    """A fitted model of implicit as a scorer.

    Parameters
    ----------
    model : implicit.recommender_base.RecommenderBase
        ALS, BPR or logistic MF (on CPU or GPU): their dot products. Item-item models (cosine,
        TF-IDF, BM25): the sum of similarities to the user's items.
    user_items : scipy sparse matrix, shape (n_users, n_items), optional
        What you would hand to ``model.recommend``, weights included. Needed for item-item models
        and ignored by factor models.
    user_ids : array-like, optional
        The ids of the rows that the model was fitted on; row numbers if not given.
    item_ids : array-like, optional
        The ids of the columns that the model was fitted on; column numbers if not given.

    Returns
    -------
    Scorer
        For :func:`truerank.rank`, :func:`truerank.count` and :func:`truerank.evaluate`.

    Raises
    ------
    InputError
        If the model is not fitted, or ``user_items`` is missing or of another shape.

    Notes
    -----
    implicit knows row numbers only, so give ``user_ids`` and ``item_ids`` if your test has other
    ids. Its ``precision`` divides the hits of all users by min(K, number of test items), which
    others call truncated recall; its ``map`` and ``ndcg`` take an ideal list of min(K, number of
    test items); its ``auc`` looks at the first K items only. Item-item models recommend no items
    without a neighbour among the user's: here these tie, with score 0.

    Examples
    --------
    >>> from implicit.nearest_neighbours import CosineRecommender
    >>> from scipy import sparse
    >>> matrix = sparse.csr_matrix([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    >>> model = CosineRecommender(K=2)
    >>> model.fit(matrix, show_progress=False)
    >>> scorer = tr.scoring.adapters.from_implicit(model, matrix, item_ids=["a", "b", "c"])
    >>> scorer.n_items
    3
    """
    _arguments.check(from_implicit, locals())
    who = f"implicit's {type(model).__name__}"
    similarity = getattr(model, "similarity", None)
    if similarity is not None:
        if not hasattr(user_items, "tocsr"):
            raise InputError(
                f"{who} scores by the user's own items: give the sparse matrix user_items, "
                "(n_users, n_items), as for model.recommend"
            )
        if user_items.shape[1] != similarity.shape[0]:
            raise InputError(
                f"user_items has {user_items.shape[1]} items; {who} was fitted on "
                f"{similarity.shape[0]}"
            )
        return ItemWeights(user_items, similarity, user_ids=user_ids, item_ids=item_ids)
    users, items = getattr(model, "user_factors", None), getattr(model, "item_factors", None)
    if users is None or items is None:
        raise InputError(
            f"{who} has neither factors nor similarities: fit it first (of an approximate model "
            "give the model inside it)"
        )
    return Factors(_on_host(users), _on_host(items), user_ids=user_ids, item_ids=item_ids)


def _on_host(factors: Any) -> npt.NDArray[Any]:
    """Factors as a numpy array; those of GPU models have to be fetched."""
    return np.asarray(factors.to_numpy() if hasattr(factors, "to_numpy") else factors)
