"""Exact counts for factors that live on a GPU: products are made and counted there by torch.

As in `_tiles` a product decides only where its rounding error cannot matter; pairs in between are
scored again by `lane_dot`. The counts are those of the processor, whatever the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from truerank._types import IntArray
from truerank.scoring._blocks import Blocks
from truerank.scoring._count import kernels
from truerank.scoring._tiles import bounds
from truerank.scoring.factors import Factors, row_norms
from truerank.scoring.task import Task

_SCORES = 2**26  # held at a time: 256 MB of float32


def count(scorer: Factors, task: Task, advance: Callable[[int], None]) -> tuple[IntArray, IntArray]:
    """Pool items that score above each target, and those that tie with it, (n_rows,) each."""
    import torch

    def there(array: Any) -> Any:
        return torch.tensor(array, device=scorer.device)

    inner = kernels(task.n_users * task.catalogue)
    items, longest = there(scorer.item_factors), float(row_norms(scorer.item_factors).max())
    above, tied = np.zeros((2, task.n_rows), dtype=np.int64)
    users, size = Blocks(task), max(1, _SCORES // task.catalogue)
    for begin in range(0, task.n_users, size):
        block = users[begin : begin + size]
        vectors = scorer.user_factors[block.user]
        targets = bounds(scorer.item_factors, task, block, vectors, inner)
        doubt = targets.slope * longest + targets.fixed
        with _full_precision(torch):
            scores = there(vectors) @ items.T
        user, item = task.left_out_of(block.row[block.layers[0]])
        scores[there(user), there(item)] = -torch.inf
        for layer in block.layers:
            own = targets.score[layer]
            low, high = (
                there((own + way * doubt[layer]).astype(vectors.dtype))[:, None]
                for way in (-1.0, 1.0)
            )
            part = scores[: own.size]
            over = part > high
            at, near = (one.cpu().numpy() for one in ((part >= low) & ~over).nonzero(as_tuple=True))
            again = inner.scores(vectors, at, scorer.item_factors, near)
            targets.above[layer] = over.sum(1).cpu().numpy()
            targets.above[layer] += np.bincount(at[again > own[at]], minlength=own.size)
            targets.tied[layer] = np.bincount(at[again == own[at]], minlength=own.size)
        above[block.row], tied[block.row] = targets.above, targets.tied
        advance(block.row.size)
    return above, tied


@contextmanager
def _full_precision(torch: Any) -> Iterator[None]:
    """Products in single precision, not in TF32 or bfloat16 that a program may have allowed."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
