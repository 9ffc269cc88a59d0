"""RecTools: vector models by their vectors, all others by what they recommend."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _arguments
from truerank._types import IntArray
from truerank.errors import InputError
from truerank.scoring.adapters._rows import Rows, unscored_last
from truerank.scoring.factors import Factors
from truerank.scoring.scorer import Scorer
from truerank.scoring.weights import ItemWeights


def from_rectools(model: Any, dataset: Any) -> Scorer:
    """A fitted model of RecTools as a scorer, with the external ids of its dataset.

    Models with vectors (ALS, BPR, LightFM, PureSVD) become factors; item-KNN is computed from
    its similarities and the dataset's weighted interactions; all others (EASE, popularity, SASRec,
    BERT4Rec) are asked to recommend every item. Items that the model does not recommend at all
    rank below those that it does, tied.

    Parameters
    ----------
    model : rectools.models.base.ModelBase
        A fitted model.
    dataset : rectools.dataset.Dataset
        What you would hand to ``model.recommend``.

    Returns
    -------
    Scorer
        For :func:`truerank.rank`, :func:`truerank.count` and :func:`truerank.evaluate`.

    Raises
    ------
    InputError
        If the model is not fitted, scores at random, or does not rank by its scores.

    Notes
    -----
    RecTools' NDCG divides by an ideal list of k hits unless ``divide_by_achievable=True``. Users
    are the hot ones, with interactions in the dataset. Its EASE (0.19) multiplies by the transpose
    of the paper's matrix, so other EASEs rank differently.

    Examples
    --------
    >>> import pandas as pd
    >>> from rectools.dataset import Dataset
    >>> from rectools.models import PopularModel
    >>> table = pd.DataFrame({"user_id": [1, 1, 2], "item_id": [7, 8, 7], "weight": 1.0})
    >>> dataset = Dataset.construct(table.assign(datetime="2026-01-01"))
    >>> scorer = tr.scoring.adapters.from_rectools(PopularModel().fit(dataset), dataset)
    >>> scorer.score_all(np.array([0])).tolist()
    [[2.0, 1.0]]
    """
    _arguments.check(from_rectools, locals())
    who = f"RecTools' {type(model).__name__}"
    if not getattr(model, "is_fitted", False):
        raise InputError(f"{who} is not fitted")
    if type(model).__name__ == "RandomModel":
        raise InputError(f"{who} scores at random; there is nothing to evaluate")
    if hasattr(model, "get_vectors"):
        return _vectors(model, dataset)
    user_ids = dataset.user_id_map.external_ids[: dataset.n_hot_users]
    item_ids = dataset.item_id_map.external_ids[: dataset.n_hot_items]
    similarity = getattr(getattr(model, "model", None), "similarity", None)
    if similarity is not None:
        user_items = dataset.get_user_item_matrix(include_weights=True)
        return ItemWeights(user_items, similarity, user_ids=user_ids, item_ids=item_ids)

    def rows(users: IntArray) -> npt.NDArray[Any]:
        return _recommended(model, dataset, users, item_ids, who)

    return Rows(
        rows,
        who=who,
        n_users=user_ids.size,
        n_items=item_ids.size,
        user_ids=user_ids,
        item_ids=item_ids,
    )


def _vectors(model: Any, dataset: Any) -> Factors:
    takes_dataset = "dataset" in inspect.signature(model.get_vectors).parameters
    users, items = model.get_vectors(dataset) if takes_dataset else model.get_vectors()
    # RecTools ranks in single precision.
    users, items = np.asarray(users, np.float32), np.asarray(items, np.float32)
    ids = {
        "user_ids": dataset.user_id_map.external_ids[: users.shape[0]],
        "item_ids": dataset.item_id_map.external_ids[: items.shape[0]],
    }
    distance = getattr(model.u2i_dist, "name", str(model.u2i_dist))
    if distance == "EUCLIDEAN":
        # The nearer the better: -|u - v|^2 = 2 u.v - |v|^2 - |u|^2, and |u| changes no rank.
        return Factors(2 * users, items, item_biases=-(items**2).sum(axis=1), **ids)
    if distance not in ("DOT", "COSINE"):
        raise InputError(f"RecTools' distance {distance} is not known here")
    return Factors(users, items, cosine=distance == "COSINE", **ids)


def _recommended(
    model: Any, dataset: Any, users: IntArray, item_ids: npt.NDArray[Any], who: str
) -> npt.NDArray[Any]:
    """Scores of all items by ``model.recommend``, shape (n_users, n_items)."""
    distinct, back = np.unique(users, return_inverse=True)
    table = model.recommend(
        users=dataset.user_id_map.convert_to_external(distinct),
        dataset=dataset,
        k=item_ids.size,
        filter_viewed=False,
    )
    user = np.searchsorted(distinct, dataset.user_id_map.convert_to_internal(table["user_id"]))
    item = dataset.item_id_map.convert_to_internal(table["item_id"])
    score = table["score"].to_numpy()
    rises = (np.diff(score) > 0) & (np.diff(user) == 0)
    if rises.any():
        first = table["user_id"].iloc[int(rises.argmax())]
        raise InputError(
            f"{who} does not rank by its scores (for user {first}, to begin with), so that they "
            "cannot stand for its ranking"
        )
    scores = np.full((distinct.size, item_ids.size), np.nan)
    known = item < item_ids.size
    scores[user[known], item[known]] = score[known]
    return unscored_last(scores)[back]
