"""`sample`: draw negatives for every test row and count those above its target."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from truerank import designs
from truerank import progress as _progress
from truerank._types import IntArray
from truerank.errors import InputError
from truerank.outcomes.schemes import Scheme
from truerank.progress import Progress
from truerank.rng import Keys
from truerank.sampling import _batched, _fused, _tie_modes
from truerank.sampling._design import Design, Sampled
from truerank.scoring.scorer import Scorer
from truerank.scoring.task import Task


def sample(
    scorer: Scorer,
    task: Task,
    *,
    ladder: Sequence[int],
    hits: int | Sequence[int] = 1,
    budget: float | None = None,
    replacement: bool = False,
    seed: int = 0,
    ties: str = "count",
    stream_keys: Keys | None = None,
    progress: Progress = None,
) -> Sampled:
    """Draw uniform negatives from each row's pool.

    The same seed draws the same negatives for every scorer.

    Parameters
    ----------
    ladder
        Sample sizes, increasing. A row moves on to the next while fewer than ``hits`` negatives
        are above its target; without replacement no further than its pool. One size is a fixed
        sample.
    budget
        Negatives a row, in the mean over all, at the most; it may cut the ladder short.
    ties
        ``"count"`` (for a fixed sample) counts them apart; ``"random"``, ``"optimistic"`` and
        ``"pessimistic"`` break them as they come, see `truerank.sampling._tie_modes`.
    stream_keys
        Keys of the streams, one a row, instead of the users' own: equal keys share a stream.
    progress
        None shows a bar on a terminal if it takes long, False nothing; a function is called with
        (rows done, rows in all).
    """
    mode = _tie_modes.code(ties)
    if mode == _tie_modes.COUNT and len(ladder) > 1:
        raise InputError("ties='count' is for one sample size: a stopping rule needs them broken")
    keys = task.keys(seed)
    design = Design(
        Scheme(replacement, tuple(ladder), hits),  # type: ignore[arg-type] # it checks
        None if budget is None else designs.check_budget(budget),
        mode,
        keys if stream_keys is None else stream_keys,
        _tie_modes.keys(keys),
    )
    found = _fused.matrices(scorer, task.n_rows * design.scheme.ladder[0])
    with _progress.reporting(progress, task.n_rows, "sampling") as advance:
        if found is None:
            return _batched.sample(scorer, task, design, advance)
        if stream_keys is not None and len(ladder) == 1 and not found[2]:
            return _fused.sample_shared(found, scorer, task, design, advance)
        return _fused.sample(found, scorer, task, design, advance)


def rank_among(
    scorer: Scorer,
    task: Task,
    start: IntArray,
    negatives: IntArray,
    *,
    seed: int = 0,
    ties: str = "count",
    progress: Progress = None,
) -> Sampled:
    """Rank each row's target among the item rows negatives[start[row]:start[row + 1]]."""
    mode = _tie_modes.code(ties)
    tie_keys = _tie_modes.keys(task.keys(seed))
    found = _fused.matrices(scorer, int(start[-1]))
    negatives = np.ascontiguousarray(negatives, dtype=np.int64)
    with _progress.reporting(progress, task.n_rows, "ranking") as advance:
        if found is None:
            return _batched.given(scorer, task, start, negatives, mode, tie_keys, advance)
        return _fused.given(found, scorer, task, start, negatives, mode, tie_keys, advance)
