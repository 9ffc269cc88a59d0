"""A synthetic catalogue whose truth is known, and three models that score it.

Users and items have latent tastes, items a Zipf popularity. A user's utility for an item is
strength * taste . taste + log popularity, and the held-out target is drawn from its softmax. A
model scores by factors (the popularity is one of them), so that score = user . item for all.
Whole histories are drawn from the same utilities, for models that have to learn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from truerank import _arguments, _checks
from truerank._types import FloatArray, IntArray
from truerank.data.interactions import Interactions
from truerank.errors import InputError

__all__ = [
    "Catalogue",
    "SyntheticModel",
    "catalogue",
    "exact_ranks",
    "interactions",
    "models",
    "negatives",
    "sampled_ranks",
]

N_TASTES = 24
STRENGTH = 3.0  # of tastes beside popularity
ZIPF_OFFSET = 60.0  # popularity is 1 / (offset + place): a head flatter than the pure law's
KNOWN_SHARE = 0.3  # of the users, to the specialist
HISTORY_SPREAD = 1.0  # standard deviation of the log of a history's length, as in ml-1m
NOISE = 2.0  # of the generalist's view of a user, in standard deviations of a taste

_BLOCK = 512  # users scored at a time
_CATALOGUE, _MODELS, _NEGATIVES, _HISTORIES = range(4)  # streams of random numbers under one seed


@dataclass(frozen=True)
class Catalogue:
    """Users and items with known utilities, and one held-out target per user.

    Attributes
    ----------
    user_factors : ndarray of float, shape (n_users, n_factors)
        Vectors of the users; their products with those of the items are the true utilities.
    item_factors : ndarray of float, shape (n_items, n_factors)
        Vectors of the items.
    targets : ndarray of int, shape (n_users,)
        The held-out item of each user, a row of ``item_factors``.

    Examples
    --------
    >>> shop = tr.data.synthetic.catalogue(n_users=100, n_items=500, seed=0)
    >>> shop.user_factors.shape, shop.item_factors.shape, shop.targets.shape
    ((100, 25), (500, 25), (100,))
    """

    user_factors: FloatArray
    item_factors: FloatArray
    targets: IntArray

    @property
    def n_users(self) -> int:
        """Number of users.

        Examples
        --------
        >>> tr.data.synthetic.catalogue(n_users=100, n_items=500).n_users
        100
        """
        return len(self.user_factors)

    @property
    def n_items(self) -> int:
        """Number of items: the pool that a target is ranked among, itself included.

        Examples
        --------
        >>> tr.data.synthetic.catalogue(n_users=100, n_items=500).n_items
        500
        """
        return len(self.item_factors)


@dataclass(frozen=True)
class SyntheticModel:
    """A recommender of a synthetic catalogue: score = user_factors . item_factors.

    Attributes
    ----------
    name : str
        Its name.
    user_factors : ndarray of float, shape (n_users, n_factors)
        Vectors of the users.
    item_factors : ndarray of float, shape (n_items, n_factors)
        Vectors of the items.

    Examples
    --------
    >>> shop = tr.data.synthetic.catalogue(n_users=100, n_items=500, seed=0)
    >>> model = tr.data.synthetic.models(shop)[0]
    >>> scorer = tr.scoring.Factors(model.user_factors, model.item_factors)
    >>> scorer.n_items
    500
    """

    name: str
    user_factors: FloatArray
    item_factors: FloatArray


def catalogue(*, n_users: int = 4000, n_items: int = 5000, seed: int = 0) -> Catalogue:
    """Draw users, items and one target per user.

    Parameters
    ----------
    n_users : int
        Number of users.
    n_items : int
        Number of items.
    seed : int
        Seed of all random draws.

    Returns
    -------
    Catalogue
        With the true utilities.

    Examples
    --------
    >>> tr.data.synthetic.catalogue(n_users=4, n_items=500, seed=0).targets.tolist()
    [69, 398, 131, 383]
    """
    _arguments.check(catalogue, locals())
    _checks.integer(n_users, "n_users", low=1)
    _checks.integer(n_items, "n_items", low=2)
    rng = _rng(seed, _CATALOGUE)
    popularity = 1.0 / (ZIPF_OFFSET + np.arange(n_items))
    tastes = rng.standard_normal((n_items, N_TASTES)) / np.sqrt(N_TASTES)
    items = np.column_stack([tastes, np.log(popularity / popularity.sum())])
    users = np.column_stack([STRENGTH * rng.standard_normal((n_users, N_TASTES)), np.ones(n_users)])
    targets = np.empty(n_users, dtype=np.int64)
    for block in _blocks(n_users):
        utility = users[block] @ items.T
        # The largest of utility + Gumbel noise is a draw from the softmax.
        noise = -np.log(rng.standard_exponential(utility.shape))
        targets[block] = np.argmax(utility + noise, axis=1)
    return Catalogue(users, items, targets)


def interactions(
    data: Catalogue, *, per_user: float = 40.0, at_least: int = 5, seed: int = 0
) -> Interactions:
    """Draw histories of a catalogue's users, for models that have to learn.

    A user's items are drawn from the softmax of the utilities one after the other, each at most
    once; the targets play no part. Lengths are log-normal: few users have long histories.

    Parameters
    ----------
    data : Catalogue
        Users, items and utilities.
    per_user : float
        Median length of a history.
    at_least : int
        Shortest length; the longest is half the catalogue.
    seed : int
        Seed of all random draws.

    Returns
    -------
    Interactions
        By user, in order of time.

    Examples
    --------
    >>> shop = tr.data.synthetic.catalogue(n_users=100, n_items=500, seed=0)
    >>> tr.data.synthetic.interactions(shop, per_user=10).n_users
    100
    """
    _arguments.check(interactions, locals())
    longest = data.n_items // 2
    _checks.integer(at_least, "at_least", low=1, high=longest, why="half the items")
    _checks.real(per_user, "per_user", low=at_least, high=longest)
    rng = _rng(seed, _HISTORIES)
    drawn = per_user * np.exp(HISTORY_SPREAD * rng.standard_normal(data.n_users))
    length = np.clip(drawn.astype(np.int64), at_least, longest)
    items = []
    for block in _blocks(data.n_users):
        utility = data.user_factors[block] @ data.item_factors.T
        # In falling order of utility + Gumbel noise: successive draws without replacement.
        order = np.argsort(np.log(rng.standard_exponential(utility.shape)) - utility, axis=1)
        items += [row[:n] for row, n in zip(order, length[block], strict=True)]
    user_id = np.repeat(np.arange(data.n_users), length)
    begin = np.repeat(np.cumsum(length) - length, length)
    return Interactions(
        user_id, np.concatenate(items), np.arange(user_id.size) - begin, name="synthetic"
    )


def models(data: Catalogue, *, seed: int = 0) -> tuple[SyntheticModel, ...]:
    """Three models of a catalogue: ``specialist``, ``generalist`` and ``popularity``.

    The specialist knows the tastes of a part of the users and guesses for the others. The
    generalist has a blurred idea of every user. Popularity ranks alike for all.

    Parameters
    ----------
    data : Catalogue
        Users, items and utilities.
    seed : int
        Seed of all random draws.

    Returns
    -------
    tuple of SyntheticModel
        The three models.

    Examples
    --------
    >>> shop = tr.data.synthetic.catalogue(n_users=100, n_items=500, seed=0)
    >>> [model.name for model in tr.data.synthetic.models(shop)]
    ['specialist', 'generalist', 'popularity']
    """
    _arguments.check(models, locals())
    rng = _rng(seed, _MODELS)
    truth = data.user_factors
    strangers = rng.random(data.n_users) >= KNOWN_SHARE
    specialist = truth.copy()
    specialist[strangers, :-1] = STRENGTH * rng.standard_normal((strangers.sum(), N_TASTES))
    specialist[strangers, -1] = 0.0  # not even what is popular
    generalist = truth.copy()
    generalist[:, :-1] += NOISE * STRENGTH * rng.standard_normal((data.n_users, N_TASTES))
    generalist[:, :-1] /= 1.0 + NOISE**2  # the best guess of a taste seen through such noise
    popularity = np.zeros_like(truth)
    popularity[:, -1] = 1.0
    factors = {"specialist": specialist, "generalist": generalist, "popularity": popularity}
    return tuple(SyntheticModel(name, users, data.item_factors) for name, users in factors.items())


def negatives(data: Catalogue, *, num_negatives: int, seed: int = 0) -> IntArray:
    """Draw negatives for each user, without replacement and never the target.

    Parameters
    ----------
    data : Catalogue
        Users, items and targets.
    num_negatives : int
        Negatives per user.
    seed : int
        Seed of all random draws.

    Returns
    -------
    ndarray of int, shape (n_users, num_negatives)
        Rows of ``item_factors``; for all models the same, as in a real comparison.

    Examples
    --------
    >>> shop = tr.data.synthetic.catalogue(n_users=100, n_items=500, seed=0)
    >>> tr.data.synthetic.negatives(shop, num_negatives=20).shape
    (100, 20)
    """
    _arguments.check(negatives, locals())
    _checks.integer(num_negatives, "num_negatives", low=1, high=data.n_items - 1)
    rng = _rng(seed, _NEGATIVES)
    others = data.n_items - 1
    drawn = np.stack(
        [rng.choice(others, num_negatives, replace=False, shuffle=False) for _ in data.targets]
    )
    return np.asarray(drawn + (drawn >= data.targets[:, None]), dtype=np.int64)


def exact_ranks(model: SyntheticModel, targets: IntArray) -> IntArray:
    """Global rank of each user's target: its rank among all items.

    Scores are continuous, so ties do not occur.

    Parameters
    ----------
    model : SyntheticModel
        The model that scores.
    targets : ndarray of int, shape (n_users,)
        The target of each user.

    Returns
    -------
    ndarray of int, shape (n_users,)
        Ranks, 1-based.

    Examples
    --------
    >>> shop = tr.data.synthetic.catalogue(n_users=100, n_items=500, seed=0)
    >>> specialist, *others = tr.data.synthetic.models(shop)
    >>> ranks = tr.data.synthetic.exact_ranks(specialist, shop.targets)
    >>> round(float(np.mean(ranks <= 10)), 2)
    0.27
    """
    _arguments.check(exact_ranks, locals())
    ranks = np.empty(len(targets), dtype=np.int64)
    for block in _blocks(len(targets)):
        scores = model.user_factors[block] @ model.item_factors.T
        target = np.take_along_axis(scores, targets[block, None], axis=1)
        ranks[block] = 1 + (scores > target).sum(axis=1)
    return ranks


def sampled_ranks(model: SyntheticModel, targets: IntArray, drawn: IntArray) -> IntArray:
    """Sampled rank of each user's target: its rank among drawn negatives.

    Parameters
    ----------
    model : SyntheticModel
        The model that scores.
    targets : ndarray of int, shape (n_users,)
        The target of each user.
    drawn : ndarray of int, shape (n_users, num_negatives)
        The negatives of each user, as `negatives` gives them.

    Returns
    -------
    ndarray of int, shape (n_users,)
        Ranks, 1-based, from 1 to ``num_negatives`` + 1.

    Examples
    --------
    >>> shop = tr.data.synthetic.catalogue(n_users=100, n_items=500, seed=0)
    >>> specialist, *others = tr.data.synthetic.models(shop)
    >>> drawn = tr.data.synthetic.negatives(shop, num_negatives=20)
    >>> ranks = tr.data.synthetic.sampled_ranks(specialist, shop.targets, drawn)
    >>> round(float(np.mean(ranks <= 10)), 2)
    0.65
    """
    _arguments.check(sampled_ranks, locals())
    if drawn.ndim != 2 or len(drawn) != len(targets):
        raise InputError(
            f"drawn has shape {drawn.shape}; it must have a row for each of {len(targets)} targets"
        )
    ranks = np.empty(len(targets), dtype=np.int64)
    for block in _blocks(len(targets)):
        users = model.user_factors[block, :, None]
        items = np.column_stack([targets[block], drawn[block]])
        scores = (model.item_factors[items] @ users)[:, :, 0]
        ranks[block] = 1 + (scores[:, 1:] > scores[:, :1]).sum(axis=1)
    return ranks


def _blocks(n_users: int) -> Iterator[slice]:
    for start in range(0, n_users, _BLOCK):
        yield slice(start, min(start + _BLOCK, n_users))


def _rng(seed: Any, stream: int) -> np.random.Generator:
    return np.random.default_rng([_checks.integer(seed, "seed", low=0), stream])


def __dir__() -> list[str]:
    return sorted(__all__)
