"""LensKit (2025 and later): the scorer of a pipeline."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from truerank import _arguments
from truerank._types import IntArray
from truerank.errors import InputError, MissingExtraError
from truerank.scoring.adapters._rows import Rows, unscored_last
from truerank.scoring.scorer import Scorer

Unscored: TypeAlias = Literal["last", "error"]


def from_lenskit(
    pipeline: Any, dataset: Any, *, component: str = "scorer", unscored: Unscored = "last"
) -> Scorer:
    """A trained pipeline of LensKit as a scorer, with the ids of its training data.

    Parameters
    ----------
    pipeline : lenskit.pipeline.Pipeline
        The pipeline, after ``pipeline.train(dataset)``.
    dataset : lenskit.data.Dataset
        The dataset it was trained on: its items are the catalogue.
    component : str
        The component that scores; ``"rating-predictor"`` for predictions with their fallbacks.
    unscored : {"last", "error"}
        Items that LensKit gives no score, such as those without neighbours: ``"last"`` ranks them
        below every scored item, tied, since LensKit never recommends them; ``"error"`` raises.

    Returns
    -------
    Scorer
        For :func:`truerank.rank`, :func:`truerank.count` and :func:`truerank.evaluate`.

    Raises
    ------
    MissingExtraError
        If LensKit is not installed.

    Notes
    -----
    LensKit looks up a user's history in its training data, so users that the pipeline was not
    trained on are unknown here. Its recall divides by min(k, number of test items). Test items that
    it was not trained on count as misses there; here they are an error, so remove them or count
    them yourself. Its ALS rounds differently for short and long lists of items: here every user's
    whole catalogue is scored, always.

    Examples
    --------
    >>> import lenskit, lenskit.basic, pandas as pd
    >>> table = pd.DataFrame({"user_id": [1, 1, 2], "item_id": [7, 8, 7]})
    >>> dataset = lenskit.data.from_interactions_df(table)
    >>> pipeline = lenskit.topn_pipeline(lenskit.basic.PopScorer(score="count"))
    >>> pipeline.train(dataset)
    >>> scorer = tr.scoring.adapters.from_lenskit(pipeline, dataset)
    >>> scorer.score_all(np.array([0])).tolist()
    [[2.0, 1.0]]
    """
    _arguments.check(from_lenskit, locals())
    try:
        import lenskit
        from lenskit.data import ItemList
    except ImportError as error:
        raise MissingExtraError(
            "this adapter needs LensKit 2025.1 or later: pip install lenskit"
        ) from error
    if unscored not in ("last", "error"):
        raise InputError(f"unscored is {unscored!r}; it must be 'last' or 'error'")
    user_ids, item_ids = dataset.users.ids(), dataset.items.ids()
    every = ItemList(item_ids, vocabulary=dataset.items)

    def rows(users: IntArray) -> npt.NDArray[Any]:
        scores = [
            lenskit.score(pipeline, user, every, component=component).scores()
            for user in user_ids[users].tolist()
        ]
        matrix = np.stack(scores) if scores else np.empty((0, len(item_ids)))
        return unscored_last(matrix) if unscored == "last" else matrix

    return Rows(
        rows,
        who="LensKit's pipeline",
        n_users=len(user_ids),
        n_items=len(item_ids),
        user_ids=user_ids,
        item_ids=item_ids,
    )
