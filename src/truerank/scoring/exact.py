"""Exact ranks: every target among all items of its pool."""

from __future__ import annotations

from truerank import progress as _progress
from truerank._types import IntArray
from truerank.progress import Progress
from truerank.scoring import _device, _tiles, _whole
from truerank.scoring.factors import Factors
from truerank.scoring.scorer import Scorer
from truerank.scoring.task import Task


def count(scorer: Scorer, task: Task, *, progress: Progress = None) -> tuple[IntArray, IntArray]:
    """Items of its pool that score above each target, and that tie with it: int64, (n_rows,) each.

    The target itself is not counted. What is counted does not depend on which other users are in
    the task, nor on threads or libraries.
    """
    with _progress.reporting(progress, task.n_rows, "ranking") as advance:
        if isinstance(scorer, Factors) and scorer.is_matrix:
            if scorer.device is not None:
                return _device.count(scorer, task, advance)
            return _tiles.count(scorer, task, advance)
        return _whole.count(scorer, task, advance)
