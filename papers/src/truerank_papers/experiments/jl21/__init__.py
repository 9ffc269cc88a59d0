"""Jin, Li et al. 2021: learn the distribution of ranks by likelihood or entropy."""

from __future__ import annotations

from truerank_papers.experiments.models import SHORTENED
from truerank_papers.experiments.registry import Paper
from truerank_papers.models import MultiVAE

PAPER = Paper(
    key="jl21",
    title="On Estimating Recommendation Evaluation Metrics under Sampling",
    citation="Ruoming Jin, Dong Li, Benjamin Mudrak, Jing Gao and Zhi Liu, AAAI 2021",
    about=(
        "The paper's tables are in per mille, and its targets are ranked among all items, "
        "training items included. Its n = 100 counts the target; samples are drawn with "
        "replacement.",
        "Neither the hyper-parameters of the models nor their seeds are printed, so that our "
        "models need not be the paper's: where their exact columns differ, so does everything that "
        "follows. Ours have the defaults of `tr.models` and `truerank_papers.models`; for time, "
        "MultiVAE on catalogues of 10,000 items and more learns in "
        f"{SHORTENED.epochs} epochs of batches of {SHORTENED.batch_size}, not "
        f"{MultiVAE.epochs} of {MultiVAE.batch_size}. What can be compared is the bias, estimate "
        "minus exact.",
    ),
)
