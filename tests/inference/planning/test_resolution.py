"""Which K a sample resolves, and the sentences that say so."""

from __future__ import annotations

import numpy as np
import pytest

import truerank as tr
from truerank import InputError, estimators, metrics
from truerank.inference.intervals.error_law import error_law
from truerank.inference.planning.simulate import Design, sampled_counts
from truerank.outcomes.schemes import Scheme

N_ITEMS = 4000


def _counts(size: int, n_items: int = N_ITEMS, n_users: int = 2000) -> tr.RankCounts:
    rng = np.random.default_rng(2)
    rank = np.ceil(n_items * rng.random(n_users) ** 3).astype(np.int64)
    return sampled_counts(rank, np.full(n_users, n_items), Design(Scheme(False), size), rng)


def _errors(counts, name, cuts):
    """Relative errors one K at a time."""
    smooth = estimators.get("smooth")
    found = []
    for cut in cuts:
        wanted = metrics.parse(f"{name}@{cut}")
        fit = smooth.fit(counts, metrics=wanted, support="auto", plug_in="plain")
        total = error_law(counts, fit, fit, smooth, wanted).total[0]
        found.append(total / fit.values[wanted[0].key])
    return np.array(found)


def test_the_smallest_k_is_where_the_error_comes_down_to_the_one_asked_for():
    counts = _counts(100)
    k = tr.estimate(counts).resolution(error=0.05)
    assert 10 < k < 400
    # Fits of one K differ from those of many a little: their grids do.
    assert _errors(counts, "recall", [round(k / 1.25)])[0] > 0.05 * 0.97
    assert (_errors(counts, "recall", [k, 2 * k, 4 * k]) < 0.05 * 1.03).all()


def test_smaller_errors_and_samples_resolve_less():
    est = tr.estimate(_counts(100), confidence=None)
    cuts = [est.resolution(error=error) for error in (0.02, 0.05, 0.1)]
    assert cuts == sorted(cuts, reverse=True)
    assert cuts[0] > cuts[2]
    assert tr.estimate(_counts(400)).resolution() < est.resolution()
    assert est.resolution(metric="hr@7") == est.resolution(metric=metrics.Metric("recall"))


def test_exact_ranks_resolve_every_k():
    est = tr.estimate(_counts(300, n_items=300, n_users=50), estimator="naive")
    assert est.resolution(error=1e-6) == 1


def test_a_head_that_is_not_seen_leaves_ap_unresolved_at_every_k():
    est = tr.estimate(_counts(20), ["ap", "auc", "recall@1", "recall@2000"])
    assert est.resolution(metric="ap", error=0.02) is None
    assert est.verdict("auc") is None
    assert est.verdict("recall@2000") is None
    assert tr.estimate(_counts(20), "ap", confidence=None).verdict("ap") is None


def test_the_verdict_names_what_is_resolved_and_what_would_resolve():
    est = tr.estimate(_counts(20), ["recall@1", "ap"])
    assert not est["recall@1"].resolvable
    said = est.verdict("recall@1", error=0.1)
    larger = est.resolution(error=0.1)
    assert said.startswith(
        f"recall@1: not resolved by 19 negatives out of 4,000 items; recall@{larger} is. "
        "For recall@1 to 10 %, sample adaptively up to "
    )
    options = {"metric": "recall@1", "error": 0.1, "confidence": None, "kinds": ["adaptive"]}
    (best,) = tr.plan(like=est, **options)
    assert said.endswith(
        f"up to {best.largest_sample:,} (about {best.pairs_per_user:,.0f} scored items a user)."
    )
    few = tr.estimate(_counts(5, n_items=60, n_users=100), "ap")
    few = few.verdict("ap", error=1e-9)
    assert few.endswith("For ap to 1e-07 %, rank all items: no sample of fewer reaches that.")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metric": "auc"}, "auc has no cut-off"),
        ({"metric": "recal"}, "recal"),
        ({"error": 0.0}, "error is 0.0"),
    ],
)
def test_what_has_no_resolution(arguments, message):
    with pytest.raises(InputError, match=message):
        tr.estimate(_counts(20), confidence=None).resolution(**arguments)
    mapped = tr.estimate(_counts(20), "recall@1", estimator="mapped", confidence=None)
    with pytest.raises(InputError, match="'mapped' is not defined for ndcg"):
        mapped.resolution(metric="ndcg")
