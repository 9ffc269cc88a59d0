from __future__ import annotations

import numpy as np
from scipy import sparse

from truerank.evaluation import rank
from truerank.models import Popularity


def test_counts_users_of_an_item(small):
    scorer = Popularity().fit(sparse.csr_array(small))
    np.testing.assert_array_equal(
        scorer.score_all(np.arange(40)), np.broadcast_to(small.sum(axis=0), small.shape)
    )


def test_ranks_by_hand():
    # Items 0, 1, 2, 3 were had by 3, 2, 1 and 0 users.
    train = ([0, 1, 2, 0, 1, 0], [0, 0, 0, 1, 1, 2])
    scorer = Popularity().fit(train, n_items=4)
    # User 2 has had item 0; of 1, 2 and 3, item 2 is second.
    assert rank(scorer, ([2], [2]), train=train)["rank"].to_pylist() == [2]
    assert rank(scorer, ([2], [2]))["rank"].to_pylist() == [3]
