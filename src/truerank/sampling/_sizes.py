"""Sample sizes as users give them."""

from __future__ import annotations

import numpy as np

from truerank import _checks
from truerank.errors import InputError
from truerank.scoring.task import Task


def sample_size_of(sample_size: int | None = None, num_negatives: int | None = None) -> int:
    """The sample size, which counts the target, from whichever of the two is given."""
    if (sample_size is None) == (num_negatives is None):
        both = "both" if sample_size is not None else "neither"
        raise InputError(
            f"sample_size and num_negatives: {both} given; give one (the sample size counts the "
            "target, so 100 negatives are a sample size of 101)"
        )
    if sample_size is None:
        return _checks.integer(num_negatives, "num_negatives", low=1) + 1
    why = "it counts the target, so with one negative it is 2"
    return _checks.integer(sample_size, "sample_size", low=2, why=why)


def check_pools(task: Task, sample_size: int, *, replacement: bool) -> None:
    """Raise if a sample without replacement is larger than a user's pool."""
    small = task.n_items < sample_size
    if not replacement and small.any():
        row = int(np.argmax(small))
        n_users = int(np.unique(task.group[small]).size)
        raise InputError(
            f"sample_size is {sample_size}, but {n_users} of {task.n_users} users have smaller "
            f"pools, such as user {task.user_id[row]} with a pool of {task.n_items[row]} items, "
            "target included; sample less, or say replacement=True"
        )
