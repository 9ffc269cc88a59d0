"""RankCounts: the distinct outcomes of a sampled evaluation, with their weights.

It is all an estimator ever sees, it is small, and it adds up across files, users and machines.
"""

from __future__ import annotations

from truerank.outcomes._columns import MAX_REPLICATES
from truerank.outcomes._saving import Saving, is_saved
from truerank.outcomes._scored import Scored
from truerank.outcomes._tabular import Tabular

__all__ = ["MAX_REPLICATES", "RankCounts", "is_saved"]


class RankCounts(Tabular, Scored, Saving):
    """The distinct outcomes of an evaluation and how many users had each.

    An outcome is a (scheme, n_items, sample_size, sampled_rank) and, where users have several
    targets, the target's place among them and their number. Build counts with
    :meth:`from_ranks`, :meth:`from_table`, :meth:`from_scores`, :meth:`from_lists`,
    :meth:`from_exact_ranks` or :meth:`load`, and add them with ``+``. All arrays are of shape
    (n_outcomes,), sorted by outcome, and read-only.

    Attributes
    ----------
    schemes : tuple of Scheme
        The sampling schemes that occur, sorted; ``scheme`` indexes them.
    scheme : ndarray of int
        The scheme of each outcome, an index into ``schemes``.
    n_items : ndarray of int
        Size of the pool: the candidates a target is ranked among, itself included.
    sample_size : ndarray of int
        Candidates that were ranked, the target included; ``n_items`` if all of them were.
    sampled_rank : ndarray of int
        Rank of the target among these, 1-based: 1 means that none of them scored higher.
    replicate : ndarray of int
        0 for users whose negatives were drawn independently of all others. Users who shared
        negatives carry the number of their replicate group (1 to 100); groups are independent.
    place : ndarray of int
        Place of the target among those of its user, 1-based, the best first; 1 for one target.
    n_targets : ndarray of int
        Number of targets of the user.
    offset : ndarray of int
        Candidates known to be above the target that are neither targets nor in the pool.
    block : ndarray of int
        For users with several targets a block of users, 1 to 100: outcomes of one user are in one
        block. 0 for users with one target.
    weight : ndarray of float
        Number of targets (or sum of their users' weights) with each outcome, above 0.
    n_users : float
        What metrics are divided by: the number of users, or the sum of the given weights.
    squared_weight : float
        Sum of the squared weights of independent ranks; gives :attr:`effective_users`.
    n_dropped : int
        Rows of tables that had no rank and were left out: ``from_table(drop_missing=True)``.

    See Also
    --------
    truerank.estimate : Global metrics from counts.

    Examples
    --------
    >>> counts = tr.RankCounts.from_ranks([1, 3, 1], num_negatives=99, n_items=3706)
    >>> counts
    RankCounts(3 users; pools of 3,706 items; sample sizes 100; with replacement; 2 outcomes)
    >>> counts.sampled_rank.tolist(), counts.weight.tolist()
    ([1, 3], [2.0, 1.0])
    >>> more = tr.RankCounts.from_ranks([7], num_negatives=99, n_items=3706)
    >>> (counts + more).n_users
    4.0
    """
