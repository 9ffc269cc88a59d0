"""Krichene & Rendle 2020: sampled metrics are inconsistent, and three corrections."""

from __future__ import annotations

from truerank_papers.experiments.registry import Paper

PAPER = Paper(
    key="kr20",
    title="On Sampled Metrics for Item Recommendation",
    citation="Walid Krichene and Steffen Rendle, KDD 2020",
    about=(
        "The paper's m counts sampled negatives: its m = 100 is a sample size of 101 here. Its "
        "samples are drawn with replacement from the items that are not the target, training "
        "items left out, so that every user has a pool of its own size.",
    ),
)
