"""RankCounts: the distinct outcomes of a sampled evaluation, with their weights.

It is all an estimator ever sees, it is small, and it adds up across files, users and machines.
"""

from __future__ import annotations

from truerank.outcomes._columns import MAX_REPLICATES
from truerank.outcomes._saving import Saving, is_saved
from truerank.outcomes._tabular import Tabular

__all__ = ["MAX_REPLICATES", "RankCounts", "is_saved"]


class RankCounts(Tabular, Saving):
    """Distinct outcomes (scheme, n_items, sample_size, sampled_rank) and their weights.

    Build one with :meth:`from_ranks`, :meth:`from_table`, :meth:`from_exact_ranks` or
    :meth:`load`; add them with ``+``. All arrays are of shape (n_outcomes,), sorted by outcome.

    Attributes
    ----------
    schemes
        The sampling schemes that occur, sorted; ``scheme`` indexes them.
    replicate
        0 for users sampled independently of all others. Users who shared their negatives carry
        the number (1 to 100) of their replicate group, the unit that is independent of others.
    weight
        Users (or shares of them) with each outcome, above 0.
    n_users
        What metrics are divided by: the number of users, or the sum of given weights.
    squared_weight
        Sum over independent sampled ranks of their squared weight; it gives the effective
        number of users.
    """
