"""Li, Jin et al. 2020: sampled recall@k is about global recall@f(k)."""

from __future__ import annotations

from truerank_papers.experiments.registry import Paper

PAPER = Paper(
    key="lj20",
    title="On Sampling Top-K Recommendation Evaluation",
    citation="Dong Li, Ruoming Jin, Jing Gao and Zhi Liu, KDD 2020",
    about=(
        "Sampled recall@k lies near global recall at some larger cut-off f(k), and the paper asks "
        "at which. Targets are ranked among all items, training items too, unless it says "
        "`actual`; n counts the target; a real f(k) is taken to the nearest whole rank, which is "
        "what the printed numbers fit. The paper has one sample of everything, we have means and "
        "standard deviations of 100.",
        "The hyper-parameters of the models are not printed, so ours, the defaults of `tr.models`, "
        "are others than the paper's: curves differ, distances between them can be compared. The "
        "sixth model, NGCF, is in table 3 only.",
    ),
)
