"""Li, Jin et al. 2024: estimators with learnt priors, adaptive samples, samples of users."""

from __future__ import annotations

from truerank_papers.experiments.registry import Paper

PAPER = Paper(
    key="lj24",
    title="On Item-Sampling Evaluation for Recommender System",
    citation="Dong Li, Ruoming Jin, Zhenming Liu, Bin Ren, Jing Gao and Zhi Liu, TORS 2024",
    about=(
        "The paper's datasets, pinterest-20, yelp and ml-20m, are in the tables for those who have "
        "them; where they are not at hand, their rows hold the printed numbers alone, and the same "
        "experiments run on ml-1m and citeulike, which the paper does not have: a comparison of "
        "patterns. Targets are ranked among all items; n counts the target; samples are drawn with "
        "replacement; models have the defaults of `tr.models`.",
        "In the authors' public code the prior of `bv-mes`, `bv-mle`, `mn-mes` and `mn-mle` is the "
        "mean of what `mes` or `mle` find in all 100 repeats, which nobody has who has one sample. "
        "Both stand here side by side: plain, with the prior from the same sample, and *all "
        "repeats*, with the averaged one, which is what the printed columns are set beside.",
        "`smooth` is not in the paper.",
    ),
)
