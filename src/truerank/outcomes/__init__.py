"""The waist: outcomes of sampled evaluations with their weights, and how they are read and kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truerank import _lazy

if TYPE_CHECKING:
    from truerank.outcomes.counts import RankCounts as RankCounts
    from truerank.outcomes.paired import PairedCounts as PairedCounts
    from truerank.outcomes.schemes import Scheme as Scheme
else:
    __getattr__, __dir__, __all__ = _lazy.attach(
        __name__, {"PairedCounts": "paired", "RankCounts": "counts", "Scheme": "schemes"}
    )
