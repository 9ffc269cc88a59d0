"""Sampled ranks: uniform negatives of a fixed size, adaptive ones, shared and frozen ones."""

from truerank.designs import Adaptive, make_ladder
from truerank.sampling._design import Sampled
from truerank.sampling._sample import rank_among, sample
from truerank.sampling._sizes import sample_size_of
from truerank.sampling.adaptive import adaptive_counts, count_adaptive
from truerank.sampling.blocks import SharedBlocks
from truerank.sampling.fixed import (
    NEGATIVES,
    check_negatives,
    count_fixed,
    sampled_counts,
    sampled_ranks,
)
from truerank.sampling.frozen import FrozenNegatives, freeze

__all__ = [
    "NEGATIVES",
    "Adaptive",
    "FrozenNegatives",
    "Sampled",
    "SharedBlocks",
    "adaptive_counts",
    "check_negatives",
    "count_adaptive",
    "count_fixed",
    "freeze",
    "make_ladder",
    "rank_among",
    "sample",
    "sample_size_of",
    "sampled_counts",
    "sampled_ranks",
]
