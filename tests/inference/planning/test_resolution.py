"""Which K a sample resolves, and the sentences that say so."""

from __future__ import annotations

import re

import numpy as np
import pytest

import truerank as tr
from truerank import InputError, estimators, metrics
from truerank.designs import Fixed
from truerank.inference import verdicts
from truerank.inference.intervals.error_law import error_law
from truerank.inference.planning.remedies import remedies
from truerank.inference.planning.simulate import simulated_counts

N_ITEMS = 4000


def _counts(size: int, n_items: int = N_ITEMS, n_users: int = 2000) -> tr.RankCounts:
    rng = np.random.default_rng(2)
    rank = np.ceil(n_items * rng.random(n_users) ** 3).astype(np.int64)
    return simulated_counts(rank, np.full(n_users, n_items), Fixed(sample_size=size), rng)


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


def test_the_verdict_has_three_parts():
    est = tr.estimate(_counts(20), ["recall@1", "ap"])
    found = est["recall@1"]
    assert not found.resolvable
    so, naive, then = re.split(r"(?<=\.) (?=[TU])", est.verdict("recall@1", error=0.1))
    assert so == (
        "recall@1 is not resolved: 19 negatives out of 4,000 items are too few to settle it, and "
        f"the answer, {found.value:.4f} [{found.low:.4f}, {found.high:.4f}], depends mostly on "
        "assumptions."
    )
    assert naive == f"The sampled ranks as they are would say {found.naive:.4f}."
    cut = re.fullmatch(
        r"Use more negatives, or adaptive sampling; within 10 %, this sample settles recall@K from "
        r"about K = (\d+)\.",
        then,
    )
    # The posterior alone, on a grid: near what redrawn evaluations say.
    assert int(cut[1]) == pytest.approx(est.resolution(error=0.1), rel=0.25)
    assert est.verdict("ap").endswith("Use more negatives, or adaptive sampling.")
    assert est.verdicts == {key: est.verdict(key) for key in ("recall@1", "ap")}
    assert est["ap"].verdict == est.verdicts["ap"]
    both = est.verdict()
    assert both.startswith("recall@1 and ap are not resolved: 19 negatives out of 4,000 items")
    assert both in repr(est)
    assert both in est._repr_html_()


def test_other_estimators_are_told_of_smooth():
    said = tr.estimate(_counts(20), "recall@1", estimator="bv").verdict()
    assert said.endswith("Use the estimator smooth, more negatives, or adaptive sampling.")
    rng = np.random.default_rng(2)
    rank = np.ceil(N_ITEMS * rng.random(2000) ** 3).astype(np.int64)
    design = tr.designs.Adaptive(budget=20, start=8)
    counts = simulated_counts(rank, np.full(2000, N_ITEMS), design, rng)
    assert "Use a larger budget" in tr.estimate(counts, "recall@1").verdict()


def test_verdicts_fit_and_simulate_nothing(monkeypatch):
    """All of them cost less than the estimate: no fit, no redraw, no plan."""
    est = tr.estimate(_counts(20), ["recall@1,2,5", "ndcg@1,2,5", "ap"])
    assert not est["recall@1"].resolvable  # the intervals are known now

    def refuse(*_, **__):
        raise AssertionError("a verdict asked for a fit or a simulation")

    monkeypatch.setattr(estimators.Smooth, "fit", refuse)
    monkeypatch.setattr("truerank.inference.intervals.error_law.RankedUsers", refuse)
    monkeypatch.setattr("truerank.inference.planning.simulate.sampled_ranks", refuse)
    calls = []
    settled = verdicts.settled
    monkeypatch.setattr(
        "truerank.inference.estimates.settled",
        lambda *given, **options: calls.append(given) or settled(*given, **options),
    )
    assert len(est.verdicts) == 7
    assert len(calls) == 1  # for all metrics at once


def test_plans_for_what_is_not_resolved():
    est = tr.estimate(_counts(20), ["recall@1", "recall@2000"])
    (key, found), *more = remedies(est, error=0.1).items()
    assert (key, more) == ("recall@1", [])
    options = {"metric": "recall@1", "error": 0.1, "designs": ["adaptive"], "fewer_users": False}
    (best,) = tr.plan(like=est, **options)
    assert found[0] == best
    assert found.advice() == (
        f"For recall@1 within 10 %: {best.design!r}, about {best.pairs_per_user:,.0f} scored pairs "
        "per user."
    )
    few = tr.estimate(_counts(3, n_items=60, n_users=30), "ap")
    assert remedies(few, error=1e-9)["ap"].advice() == (
        "For ap within 1e-07 %: rank all items; no smaller sample that was simulated reaches that."
    )
    assert remedies(tr.estimate(_counts(20), "recall@1", confidence=None)) == {}


def test_one_mark_and_one_wording():
    assert verdicts.LEGEND.startswith(f"{verdicts.MARK} {verdicts.NOT_RESOLVED}: ")
    assert verdicts.caution(adaptive=False) == (
        "The sample is too small to settle this; the answer depends mostly on assumptions. Use "
        "more negatives, or adaptive sampling."
    )
    assert verdicts.caution(adaptive=True).endswith("on assumptions. Use a larger budget.")


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
