"""The likelihood in parts is the likelihood."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank.estimators import likelihood as module
from truerank.estimators.support import compressed


def test_parts_are_dense_rows_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    sampled = tr.RankCounts.from_ranks(
        rng.integers(1, 21, 300), n_items=rng.integers(50, 90, 300), sample_size=20,
        replacement=False,
    )  # fmt: skip
    exact = tr.RankCounts.from_exact_ranks(rng.integers(1, 41, 30), n_items=40)
    counts = sampled + exact
    support = compressed(90, sharpness=20.0)
    whole = module.likelihood(counts, support)
    monkeypatch.setattr(module, "_DENSE_UP_TO", 7 * support.n_points)
    parts = list(module.in_parts(counts, support))
    assert len(parts) == -(-counts.n_outcomes // 7)
    assert all(isinstance(part.matrix, np.ndarray) for _, part in parts)
    np.testing.assert_allclose(np.concatenate([part.matrix for _, part in parts]), whole.matrix)
    known = np.concatenate([part.exact_rank for _, part in parts])
    np.testing.assert_array_equal(known, whole.exact_rank)
    covered = np.concatenate([np.arange(counts.n_outcomes)[rows] for rows, _ in parts])
    np.testing.assert_array_equal(covered, np.arange(counts.n_outcomes))
    # What rests on them does not change either.
    fit = tr.estimate(counts, ["recall@10", "auc"]).posterior
    wanted = tr.metrics.parse(["recall@10", "auc"])
    in_small = fit.gains(counts, wanted)
    monkeypatch.undo()
    np.testing.assert_allclose(in_small, fit.gains(counts, wanted), rtol=1e-9, atol=1e-12)
