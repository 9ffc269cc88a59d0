"""The class behind `truerank.integrations.torchmetrics.ranks`; loaded with torchmetrics only."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch  # noqa: TID253
import torchmetrics  # noqa: TID253

from truerank import _checks, estimators
from truerank import metrics as metrics_module
from truerank._types import IntArray
from truerank.errors import InputError
from truerank.inference.estimates import Estimates, estimate
from truerank.outcomes._spreading import spread
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme


class SampledRanks(torchmetrics.Metric):
    """Users by sampled rank: one state of fixed size, summed over processes."""

    full_state_update = False
    is_differentiable = False
    state: torch.Tensor

    def __init__(
        self,
        *,
        num_negatives: int,
        n_items: int,
        metrics: Any,
        estimator: Any,
        replacement: bool,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.sample_size = 1 + _checks.integer(num_negatives, "num_negatives", low=1)
        self.n_items = _checks.integer(n_items, "n_items", low=2)
        self.scheme = Scheme(replacement)
        if not replacement and self.sample_size > self.n_items:
            raise InputError(
                f"num_negatives is {num_negatives}; without replacement it must be at most "
                f"n_items - 1 = {self.n_items - 1}"
            )
        self.metrics = metrics_module.parse(metrics)
        self.estimator = estimators.get(estimator)
        empty = torch.zeros(self.sample_size, dtype=torch.float64)
        self.add_state("state", default=empty, dist_reduce_fx="sum")

    @property
    def higher_is_better(self) -> bool | None:
        """Whether large values are good; None if that differs by metric."""
        lower = {metric.lower_is_better for metric in self.metrics}
        return None if len(lower) > 1 else not lower.pop()

    def set_dtype(self, dst_type: Any) -> SampledRanks:
        """Nothing: counts are exact in double precision alone, whatever scores are in."""
        return self

    def update(self, scores: Any = None, *, ranks: Any = None) -> None:
        """Count scores, (B, 1 + num_negatives) with the target first, or ranks, (B,)."""
        if (scores is None) == (ranks is None):
            raise InputError("give scores, or ranks=, and not both")
        if ranks is not None:
            self._add(self._given(torch.as_tensor(ranks)))
            return
        above, tied = self._places(torch.as_tensor(scores))
        self._add(above[tied == 0])
        if bool((tied > 0).any()):
            self._share(above[tied > 0].cpu().numpy(), tied[tied > 0].cpu().numpy())

    def _add(self, above: torch.Tensor) -> None:
        self.state += torch.bincount(above, minlength=self.sample_size).to(self.state)

    def _share(self, above: IntArray, tied: IntArray) -> None:
        """Users' weights go to the ranks from above + 1 to above + tied + 1, as in `RankCounts`."""
        pool, size = (np.full(above.size, n) for n in (self.n_items, self.sample_size))
        *_, rank, share = spread(
            above, tied, pool, size, np.ones(above.size), replacement=self.scheme.replacement
        )
        weight = np.bincount(rank - 1, share, minlength=self.sample_size)
        self.state += torch.from_numpy(weight).to(self.state)

    def _places(self, scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if scores.ndim != 2 or scores.shape[1] != self.sample_size:
            raise InputError(
                f"scores has shape {tuple(scores.shape)}; expected (users, {self.sample_size}), "
                "the target first"
            )
        if bool(torch.isnan(scores).any()):
            raise InputError("scores has NaN; a model that fails has no rank")
        target, others = scores[:, :1], scores[:, 1:]
        return (others > target).sum(1), (others == target).sum(1)

    def _given(self, ranks: torch.Tensor) -> torch.Tensor:
        whole = ranks.to(torch.int64)
        if ranks.ndim != 1 or ranks.dtype == torch.bool or not bool((whole == ranks).all()):
            raise InputError(
                f"ranks is {ranks.dtype} of shape {tuple(ranks.shape)}; expected whole numbers, "
                "(users,)"
            )
        outside = (whole < 1) | (whole > self.sample_size)
        if bool(outside.any()):
            raise InputError(
                f"ranks holds {int(whole[outside][0])}; ranks are 1-based, from 1 to "
                f"{self.sample_size}"
            )
        return whole - 1

    @property
    def counts(self) -> RankCounts:
        """The outcomes so far."""
        weight = self.state.cpu().numpy()
        rank = np.flatnonzero(weight > 1e-12)
        if not rank.size:
            raise InputError("no ranks were counted yet; call update first")
        return RankCounts.from_outcomes(
            self.scheme,
            n_items=np.full(rank.size, self.n_items),
            sample_size=np.full(rank.size, self.sample_size),
            sampled_rank=rank + 1,
            weight=weight[rank],
            n_users=float(weight.sum()),
            squared_weight=float(weight.sum()),  # users have a weight of 1 each
        )

    def estimates(self, **options: Any) -> Estimates:
        """The metrics with intervals; options as in `truerank.estimate`."""
        return estimate(self.counts, self.metrics, estimator=self.estimator, **options)

    def compute(self) -> dict[str, torch.Tensor]:
        """The metrics of the whole catalogue by name."""
        found = self.estimates(confidence=None)
        return {
            name: torch.tensor(one.value, device=self.state.device) for name, one in found.items()
        }
