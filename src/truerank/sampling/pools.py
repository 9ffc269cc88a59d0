"""Whether pools are large enough for a sample."""

from __future__ import annotations

import numpy as np

from truerank.errors import InputError
from truerank.scoring.task import Task


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
