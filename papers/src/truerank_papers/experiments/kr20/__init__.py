"""Krichene & Rendle 2020: sampled metrics are inconsistent, and three corrections."""

from __future__ import annotations

from truerank_papers.experiments.registry import Paper

PAPER = Paper(
    key="kr20",
    title="On Sampled Metrics for Item Recommendation",
    citation="Walid Krichene and Steffen Rendle, KDD 2020",
    about=(
        "The paper's m counts sampled negatives: its m = 100 is a sample size of 101 here. Its "
        "equations are those of draws with replacement, which the toy example (tables 1 and 2, "
        "figures 1 to 4) follows. Its experiments on MovieLens 1M (tables 3 and 4, figure 6) leave "
        "training items out, so that every user has a pool of its own size, and were drawn "
        "without replacement: its uncorrected figures fit that law and not the other (table 3).",
    ),
)
