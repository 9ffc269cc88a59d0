"""Draw docs/images/flip.png: the models of `truerank demo`, sampled and global."""

from pathlib import Path

import truerank as tr
from truerank.data import synthetic

data = synthetic.catalogue(seed=0)
drawn = synthetic.negatives(data, num_negatives=99, seed=0)
found, exact = {}, {}
for model in synthetic.models(data, seed=0):
    ranks = synthetic.exact_ranks(model, data.targets)
    exact[model.name] = float((ranks <= 10).mean())
    sampled = synthetic.sampled_ranks(model, data.targets, drawn)
    counts = tr.RankCounts.from_ranks(
        sampled, n_items=data.n_items, num_negatives=99, replacement=False
    )
    found[model.name] = tr.estimate(counts, "recall@10")
ax = tr.plot.naive_vs_corrected(found, exact=exact)
ax.figure.set_size_inches(7.5, 4.2)
ax.set_title("recall@10: the sample and the catalogue disagree on the best model")
ax.figure.savefig(Path(__file__).with_suffix(".png"), dpi=150)
