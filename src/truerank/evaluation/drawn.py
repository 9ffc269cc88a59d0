"""How negatives were drawn, by what is seen of them: uniformly, by popularity, or otherwise.

Under uniform draws item i is expected e_i = sum of n_u / (N - left out of u) times, over the users
u whose pool it is in, n_u being the user's negatives. Two tests:

- by popularity: d_i is Poisson with mean proportional to e_i (count_i + 1)^alpha; alpha = 0 if
  draws are uniform, and its score test sees a trend, up or down;
- of every departure: the sum of (d_i - e_i)^2 / e_i, whose mean is the number of items and whose
  variance is the sum of 2 + 1 / e_i. Draws without replacement vary less, so that it is safe.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank._types import FloatArray
from truerank.evaluation.negatives import Negatives

NEGLIGIBLE = 0.02  # of relative variation beyond chance: no harm to any estimate
_LEAST = 400  # negatives, below which nothing can be told
_STEPS = 50

Pairs = tuple[npt.NDArray[Any], npt.NDArray[Any]]


@dataclass(frozen=True)
class Drawn:
    """How negatives were drawn.

    Attributes
    ----------
    p_value : float
        The chance of such a departure from uniform draws, the smaller of both tests doubled.
    by_popularity : bool
        Whether popularity explains the better part of it.
    alpha : float
        The power of (count + 1) that fits best.
    lift : float
        How many times as often as expected the most popular twentieth of items is drawn.
    spread : float
        Relative standard deviation of the chances of items, beyond what chance explains.
    never : int
        Items that are expected five times or more and never occur.
    excess : int
        Negatives that are drawn beyond what is expected of their items.
    """

    p_value: float
    by_popularity: bool
    alpha: float
    lift: float
    spread: float
    never: int
    excess: int


def look(negatives: Negatives, catalogue: npt.NDArray[Any], train: Pairs | None) -> Drawn | None:
    """How negatives were drawn from a sorted catalogue; None if they are too few to tell.

    Parameters
    ----------
    negatives : Negatives
        All of items of the catalogue.
    catalogue : array
        All items, sorted.
    train : pair of arrays or None
        Training data: popularity, and what is left out of users' pools.

    Returns
    -------
    Drawn or None
        What was found.
    """
    if negatives.item.size < _LEAST or catalogue.size < 2:
        return None
    from scipy.special import ndtr

    seen = np.bincount(np.searchsorted(catalogue, negatives.item), minlength=catalogue.size)
    expected = _expected(negatives, catalogue, train)
    count = np.zeros(catalogue.size, dtype=np.int64)
    if train is not None:
        known = train[1][np.isin(train[1], catalogue)]
        count = np.bincount(np.searchsorted(catalogue, known), minlength=catalogue.size)
    possible = expected > 1e-9
    drawn, mean = seen[possible].astype(np.float64), expected[possible]
    mean = mean * (drawn.sum() / mean.sum())
    level = np.log(count[possible] + 1.0)
    # Score test of alpha = 0, and the alpha that fits best.
    centred = level - (mean @ level) / mean.sum()
    varies = float(mean @ centred**2)
    trend = abs(float(drawn @ centred)) / np.sqrt(varies) if varies > 0 else 0.0
    alpha = _alpha(drawn, mean, level) if varies > 0 else 0.0
    dispersion = float(((drawn - mean) ** 2 / mean).sum())
    z = (dispersion - mean.size) / np.sqrt((2.0 + 1.0 / mean).sum())
    p_value = 2.0 * min(2.0 * float(ndtr(-trend)), float(ndtr(-z)))
    beyond = (dispersion - mean.size) / mean.sum()  # sum of e (rel. deviation)^2 over sum of e
    fitted = mean * np.exp(alpha * centred)
    fitted *= drawn.sum() / fitted.sum()
    left = float((((drawn - fitted) ** 2 - fitted) / mean).sum()) / mean.sum()
    top = np.argsort(-level, kind="stable")[: max(1, mean.size // 20)]
    return Drawn(
        min(p_value, 1.0),
        trend > 5.0 and left < 0.5 * beyond,
        alpha,
        float(drawn[top].sum() / mean[top].sum()),
        float(np.sqrt(max(beyond, 0.0))),
        int(((drawn == 0) & (mean >= 5.0)).sum()),
        int(np.maximum(drawn - mean, 0.0).sum()),
    )


def _expected(negatives: Negatives, catalogue: npt.NDArray[Any], train: Pairs | None) -> FloatArray:
    """How often each item is expected under uniform draws from users' pools."""
    n_negatives = np.diff(negatives.start).astype(np.float64)
    users, row_user = np.unique(negatives.user_id, return_inverse=True)
    pairs = [(row_user, negatives.target)]
    if train is not None and not _kept_training(negatives, train):
        mine = np.isin(train[0], users)
        pairs.append((np.searchsorted(users, train[0][mine]), train[1][mine]))
    user = np.concatenate([one for one, _ in pairs])
    item = np.concatenate([one for _, one in pairs])
    inside = np.isin(item, catalogue)
    code = np.unique(user[inside] * catalogue.size + np.searchsorted(catalogue, item[inside]))
    user, place = code // catalogue.size, code % catalogue.size
    pool = catalogue.size - np.bincount(user, minlength=users.size)
    chance = np.bincount(row_user, n_negatives, minlength=users.size) / np.maximum(pool, 1)
    return np.asarray(
        chance.sum() - np.bincount(place, chance[user], minlength=catalogue.size), dtype=np.float64
    )


def _kept_training(negatives: Negatives, train: Pairs) -> bool:
    """Whether training items of the users were not left out: some are among the negatives."""
    users = np.unique(np.concatenate([negatives.user_id, train[0]]), return_inverse=True)[1]
    items = np.unique(np.concatenate([negatives.item, train[1]]), return_inverse=True)[1]
    n_rows, width = negatives.user_id.size, int(items.max(initial=0)) + 1
    drawn = users[:n_rows][negatives.row] * width + items[: negatives.item.size]
    known = users[n_rows:] * width + items[negatives.item.size :]
    return float(np.isin(drawn, known).mean()) > 1e-3


def _alpha(drawn: FloatArray, mean: FloatArray, level: FloatArray) -> float:
    """The alpha of d ~ Poisson(c mean exp(alpha level)), by Newton's method."""
    alpha = 0.0
    target = float(drawn @ level) / float(drawn.sum())
    for _ in range(_STEPS):
        weight = mean * np.exp(alpha * (level - level.max()))
        weight /= weight.sum()
        centre = float(weight @ level)
        spread = float(weight @ (level - centre) ** 2)
        if spread <= 1e-12:
            break
        step = float(np.clip((target - centre) / spread, -1.0, 1.0))
        alpha += step
        if abs(step) < 1e-6:
            break
    return alpha
