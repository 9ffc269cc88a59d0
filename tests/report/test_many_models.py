"""Reports of more models than `compare` lists all pairs of."""

from __future__ import annotations

import numpy as np

import truerank as tr
from truerank.inference.comparing.compare import MOST_IN_ALL_PAIRS


def test_a_report_has_every_pair(tmp_path):
    rng = np.random.default_rng(0)
    models = {
        f"m{number}": tr.RankCounts.from_ranks(
            1 + rng.binomial(19, rng.random(40) ** 2), n_items=200, sample_size=20, replacement=True
        )
        for number in range(MOST_IN_ALL_PAIRS + 1)
    }
    path = tmp_path / "report.html"
    tr.report.write(models, path, metrics="recall@10")
    assert "m20" in path.read_text()
