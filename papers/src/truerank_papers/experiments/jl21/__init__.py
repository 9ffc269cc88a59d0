"""Jin, Li et al. 2021: learn the distribution of ranks by likelihood or entropy."""

from __future__ import annotations

from truerank_papers.experiments.registry import Paper

PAPER = Paper(
    key="jl21",
    title="On Estimating Recommendation Evaluation Metrics under Sampling",
    citation="Ruoming Jin, Dong Li, Benjamin Mudrak, Jing Gao and Zhi Liu, AAAI 2021",
    about=(
        "The paper's tables are in per mille, and its targets are ranked among all items, "
        "training items too: with both, item-KNN on ml-1m comes out at 42.7 where 42.72 is "
        "printed. Its n = 100 counts the target; samples are drawn with replacement.",
        "Neither the hyper-parameters of the models nor their seeds are printed, so all models "
        "but item-KNN on ml-1m are others than the paper's: their exact columns differ, and with "
        "them everything that follows. Ours have the defaults of `tr.models`; for time, MultiVAE "
        "on catalogues of 10,000 items and more learns in ten epochs of batches of 100, not fifty "
        "of 500. What can be compared is the bias, estimate less exact.",
    ),
)
