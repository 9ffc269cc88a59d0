"""Types that several rooms share: arrays, and the closed sets of strings that options take."""

from __future__ import annotations

import os
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.floating[Any]]

# The path of a file.
PathLike: TypeAlias = str | os.PathLike[str]
# The rank of a target among items of the very same score.
Ties: TypeAlias = Literal["spread", "random", "mid", "optimistic", "pessimistic"]
# Who an estimate is about: the users that were evaluated, or those that they are a sample of.
Scope: TypeAlias = Literal["these-users", "population"]
# What an interval is about: all that is known of the error, or the drawn negatives and users alone.
IntervalKind: TypeAlias = Literal["total", "sampling"]
# How a metric is read off an estimated distribution of ranks.
PlugIn: TypeAlias = Literal["plain", "posterior"]
# The grid of ranks that a distribution lives on.
SupportName: TypeAlias = Literal["auto", "full"]
# What several targets of one user are ranked among: its non-targets, or one list with all of them.
RankAmong: TypeAlias = Literal["negatives", "list"]
# What several rows of one user are, where no item tells.
Repeats: TypeAlias = Literal["targets", "draws"]
# What a test holds against equality: any difference, or the first of two being the smaller, larger.
Alternative: TypeAlias = Literal["two-sided", "less", "greater"]
# Whether two models may change places.
Pairs: TypeAlias = Literal["auto", "best", "all"]

Flip: TypeAlias = Literal["yes", "no", "cannot tell"]
# Whether users' training items were left out of the items that their targets are ranked among.
TrainingItems: TypeAlias = Literal["left-out", "kept"]
# How bad a finding of an audit is.
Level: TypeAlias = Literal["error", "warning", "ok"]
# Designs that plans and frontiers weigh.
PlannedDesign: TypeAlias = Literal["adaptive", "lj24", "fixed", "exact"]
FrontierDesign: TypeAlias = Literal["adaptive", "fixed"]
