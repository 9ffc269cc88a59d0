"""Comparisons: what pairing may and may not do, coverage over redraws, and what must be refused."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import truerank as tr
from truerank.errors import InputError
from truerank.inference import verdicts
from truerank.inference.comparing import _covariance
from truerank.inference.comparing.compare import compare_all
from truerank.inference.planning.simulate import sampled_ranks
from truerank.outcomes.schemes import Scheme

N_ITEMS, N_USERS = 300, 800
REDRAWS = 50


def global_ranks(n_users: int = N_USERS, seed: int = 0, together: float = 0.8) -> np.ndarray:
    """Two models' ranks of the same users, (2, n_users): recall@K is about (K/N)^0.4, (K/N)^0.5."""
    rng = np.random.default_rng(seed)
    own = rng.standard_normal((3, n_users))
    level = stats.norm.cdf(together * own[2] + np.sqrt(1 - together**2) * own[:2])
    return np.ceil(N_ITEMS * level ** np.array([[2.5], [2.0]])).astype(np.int64)


def table(rank: np.ndarray, sample_size: int = N_ITEMS) -> pd.DataFrame:
    return pd.DataFrame({"user_id": np.arange(rank.size), "rank": rank}).assign(
        sample_size=sample_size, n_items=N_ITEMS
    )


def sampled(ranks: np.ndarray, size: int, seed: int, *, shared: bool) -> list[np.ndarray]:
    """Sampled ranks of two models, among negatives of their own or the same ones."""
    rng = np.random.default_rng([seed, 7])
    above = ranks - 1
    if not shared:
        return [1 + rng.hypergeometric(a, N_ITEMS - 1 - a, size - 1) for a in above]
    # Above both targets as many as can be: the models' lists agree, but for where targets stand.
    both = above.min(axis=0)
    one = above.max(axis=0) - both
    in_both = rng.hypergeometric(both, N_ITEMS - 1 - both, size - 1)
    in_one = rng.hypergeometric(one, N_ITEMS - 1 - both - one, size - 1 - in_both)
    return [1 + in_both + np.where(a > both, in_one, 0) for a in above]


def both(first, second, metric="recall@20", **options):
    options = {"replacement": False, **options}
    return tr.compare({"A": first, "B": second}, metric, **options)


def test_exact_ranks_of_paired_users_by_hand():
    """Population: the differences of gains are a sample; these users: there is nothing to doubt."""
    a, b = global_ranks()
    gain = (a <= 20) * 1.0 - (b <= 20)
    found = both(table(a), table(b), scope="population")["A", "B"]
    assert found.value == pytest.approx(gain.mean())
    assert found.std_error == pytest.approx(gain.std(ddof=1) / np.sqrt(N_USERS))
    half = 1.959964 * found.std_error
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half))
    assert found.correlation == pytest.approx(np.corrcoef(a <= 20, b <= 20)[0, 1])
    alone = np.var(a <= 20, ddof=1) + np.var(b <= 20, ddof=1)
    assert found.reduction == pytest.approx(1 - np.var(gain, ddof=1) / alone)
    these = both(table(a), table(b))["A", "B"]
    assert (these.low, these.high) == pytest.approx((found.value, found.value))
    assert (these.p_value, these.win_probability, these.reduction) == (0.0, 1.0, None)
    z, sign, wilcoxon = found.tests
    square = stats.chi2_contingency(
        [[(a <= 20).sum(), (a > 20).sum()], [(b <= 20).sum(), (b > 20).sum()]], correction=False
    )
    assert (z.name, z.p_value) == ("two-sample z", pytest.approx(square.pvalue))
    exact = stats.binomtest(int((gain > 0).sum()), int((gain != 0).sum()))
    assert sign.p_value == pytest.approx(exact.pvalue)
    assert wilcoxon.p_value == pytest.approx(stats.wilcoxon(gain, method="approx").pvalue)
    welch = both(table(a), table(b), "ndcg@20")["A", "B"].tests[0]
    gains = [np.where(r <= 20, 1 / np.log2(r + 1), 0) for r in (a, b)]
    assert welch.p_value == pytest.approx(stats.ttest_ind(*gains, equal_var=False).pvalue)


@pytest.mark.parametrize("estimator", ["smooth", "bv"])
@pytest.mark.parametrize("size", [N_ITEMS, 60])
@pytest.mark.parametrize("sign", [1, -1])
def test_pairing_narrows_exactly_when_gains_vary_together(estimator, size, sign):
    a, b = global_ranks(together=0.9)
    if sign < 0:  # who is served well by one model is served badly by the other
        a, b = a[np.argsort(a)], b[np.argsort(-b)]
    a, b = sampled(np.stack([a, b]), size, 1, shared=False)
    options = {"scope": "population", "estimator": estimator}
    paired = both(table(a, size), table(b, size), **options)["A", "B"]
    apart = both(table(a, size), table(b, size), unpaired=True, **options)["A", "B"]
    assert np.sign(paired.correlation) == np.sign(paired.reduction) == sign
    assert (paired.std_error < apart.std_error) == (sign > 0)
    assert paired.value == pytest.approx(apart.value)
    assert (apart.paired, apart.reduction, apart.correlation) == (False, None, None)


def test_covariance_by_gains_and_by_resampled_users_agree():
    """Of a linear estimator, for which both ways are open."""
    a, b = sampled(global_ranks(), 60, 1, shared=True)
    paired = tr.PairedCounts.from_tables({"A": table(a, 60), "B": table(b, 60)}, replacement=False)
    metric, estimator = tr.Metric("recall", 20), tr.estimators.BV()
    options = {"metrics": [metric], "support": "auto", "plug_in": "plain"}
    fits = {model: estimator.fit(paired[model], **options) for model in "AB"}
    (fast,) = _covariance.total_covariances("AB", paired, fits, estimator, [metric], "auto", 0)
    slow = _covariance._by_resampling("AB", paired, estimator, metric, "auto", seed=0)
    np.testing.assert_allclose(fast, slow, rtol=0.25)  # 200 resamples


def test_an_estimator_without_gains_is_paired_by_resampled_users():
    a, b = (table(np.minimum(rank, 20)[:40], 20) for rank in global_ranks(together=0.9))
    found = both(a, b, "recall@20", estimator="mle", scope="population")["A", "B"]
    assert found.correlation > 0
    assert found.reduction > 0
    assert found.tests == ()


def test_for_these_users_only_what_negatives_share_cancels():
    ranks = global_ranks(together=0.9)
    own = sampled(ranks, 60, 1, shared=False)
    same = sampled(np.stack([ranks[0], ranks[0]]), 60, 1, shared=True)
    apart = both(table(own[0], 60), table(own[1], 60), estimator="bv")["A", "B"]
    assert apart.correlation > 0.3
    assert apart.reduction == 0.0  # users' ranks are what they are
    alike = both(table(same[0], 60), table(same[1], 60), estimator="bv")["A", "B"]
    assert alike.value == 0.0
    assert alike.reduction == pytest.approx(1.0)
    assert (alike.p_value, alike.win_probability) == (1.0, 0.5)


def check_coverage(found: list, truth: float, *, at_least: bool = False) -> None:
    """Of intervals at 95 %, and of squared errors in standard errors: 1 on average."""
    n = len(found)
    inside = np.mean([one.low <= truth <= one.high for one in found])
    square = np.mean([((one.value - truth) / one.std_error) ** 2 for one in found])
    assert inside >= 0.95 - 3.5 * np.sqrt(0.05 * 0.95 / n)
    assert square <= 1 + 3.5 * np.sqrt(2 / n)
    assert at_least or square >= 1 - 3.5 * np.sqrt(2 / n)


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
def test_differences_for_these_users_are_covered(shared):
    """Over redraws of the negatives: 95 % with a model's own, at least that with shared ones."""
    ranks = global_ranks()
    found = []
    for seed in range(REDRAWS):
        a, b = sampled(ranks, 60, seed, shared=shared)
        found.append(both(table(a, 60), table(b, 60), estimator="bv")["A", "B"])
    truth = (ranks[0] <= 20).mean() - (ranks[1] <= 20).mean()
    check_coverage(found, truth, at_least=shared)


def test_differences_for_the_population_are_covered():
    """Over redraws of users and negatives, ranked among shared ones."""
    everyone = global_ranks(400_000, seed=5)
    options = {"estimator": "bv", "scope": "population"}
    found = []
    for seed in range(REDRAWS):
        a, b = sampled(global_ranks(400, seed=[seed, 9]), 60, seed, shared=True)
        found.append(both(table(a, 60), table(b, 60), **options)["A", "B"])
    check_coverage(found, (everyone[0] <= 20).mean() - (everyone[1] <= 20).mean())


def test_a_finite_population():
    a, b = sampled(global_ranks(), 60, 0, shared=False)
    errors = [
        both(table(a, 60), table(b, 60), scope=scope, population_size=population_size)[
            "A", "B"
        ].std_error
        for scope, population_size in [
            ("these-users", None),
            ("population", N_USERS),
            ("population", 2 * N_USERS),
            ("population", None),
        ]
    ]
    assert errors[0] == pytest.approx(errors[1])
    assert errors[1] < errors[2] < errors[3]


def test_three_models_their_ranking_and_adjusted_p_values():
    a, b = global_ranks()
    models = {"worse": table(b), "best": table(a), "like best": table(np.roll(a, 1))}
    options = {"replacement": False, "scope": "population"}
    found = tr.compare(models, "recall@20", **options)
    assert [one.place for one in found.ranking] == [1, 2, 3]
    assert found.ranking[-1].model == "worse"
    assert (found.ranking[-1].best_place, found.ranking[-1].worst_place) == (3, 3)
    assert {(one.best_place, one.worst_place) for one in found.ranking[:2]} == {(1, 2)}
    assert sum(one.best_probability for one in found.ranking) == pytest.approx(1.0)
    assert found.ranking[0].best_probability == pytest.approx(0.5, abs=0.02)
    assert found.best is None
    assert found.verdict.startswith("Not decided on recall@20")
    p = np.array([one.p_value for one in found.differences])
    np.testing.assert_allclose(
        [one.p_bonferroni for one in found.differences], np.minimum(3 * p, 1)
    )
    assert all(one.p_value <= one.p_holm <= one.p_bonferroni for one in found.differences)
    there, back = found["best", "worse"], found["worse", "best"]
    assert (back.value, back.low, back.high) == (-there.value, -there.high, -there.low)
    assert back.win_probability == pytest.approx(1 - there.win_probability)
    assert back.p_value == there.p_value
    assert back.reversed() == there
    only = tr.compare(models, "recall@20", baseline="worse", **options)
    assert len(only.differences) == 2
    assert "best and like best are better than worse" in only.verdict or (
        "like best and best are better than worse" in only.verdict
    )
    two = tr.compare({"A": table(a), "B": table(b)}, "recall@20", **options)
    assert two.best == "A"
    assert two.verdict.startswith("A is better than B on recall@20: +0.")
    assert "takes" in two.how
    assert "Paired: the same 800 users" in two.how
    assert two.verdict in repr(two)
    assert list(two.to_pandas()["model"]) == ["A"]


def two_models(naive_first: str) -> dict[str, tr.RankCounts]:
    """A is the better one at 20; whether uncorrected recall says so depends on the samples."""
    a, b = sampled(global_ranks(), 60, 0, shared=False)
    one = tr.RankCounts.from_ranks(a, n_items=N_ITEMS, sample_size=60, replacement=False)
    if naive_first == "A":
        two = tr.RankCounts.from_ranks(b, n_items=N_ITEMS, sample_size=60, replacement=False)
    else:  # a smaller sample flatters
        (_, b) = sampled(global_ranks(), 15, 0, shared=False)
        two = tr.RankCounts.from_ranks(b, n_items=N_ITEMS, sample_size=15, replacement=False)
    return {"A": one, "B": two}


def test_the_verdict_has_three_parts():
    """What is so and how sure; what uncorrected numbers say; what to do next."""
    sure = tr.compare(two_models("A"), "recall@20")
    (one,) = sure.differences
    assert sure.verdict == (
        f"A is better than B on recall@20: {one.value:+.4f} against B (95 % interval "
        f"{one.low:+.4f} to {one.high:+.4f}). The sampled ranks as they are put A first, too."
    )
    other = tr.compare(two_models("B"), "recall@20", unpaired=True)
    leader, second = other.ranking
    assert (
        f"The sampled ranks as they are would have put {second.model} first ({second.naive:.4f} "
        f"against {leader.naive:.4f} for {leader.model})."
    ) in other.verdict
    counts = two_models("A")["A"]
    open_ = tr.compare({"A": counts, "same": counts}, "recall@20")
    assert open_.verdict.startswith(
        "Not decided on recall@20: A leads same, but that may be chance"
    )
    assert open_.verdict.endswith("To tell them apart, use more negatives, or adaptive sampling.")
    wide = tr.compare({"A": counts, "same": counts}, "recall@20", scope="population")
    assert wide.verdict.endswith(
        "To tell them apart, use more users, more negatives, or adaptive sampling."
    )
    head = tr.compare(two_models("A"), "recall@1")
    assert not all(one.resolvable for one in head.differences)
    assert head.verdict.endswith(verdicts.caution(adaptive=False))
    users, items = np.random.default_rng(0).standard_normal((2, 300, 8), dtype=np.float32)
    scorer, test = tr.scoring.Factors(users, items), (np.arange(300), np.arange(300))
    adaptive = {
        name: tr.count(scorer, test, "adaptive(budget=40)", seed=seed)
        for seed, name in enumerate("AB")
    }
    for metric in ("recall@20", "recall@1"):
        said = tr.compare(adaptive, metric, unpaired=True).verdict
        assert "adaptive sampling" not in said
        assert said.endswith("se a larger budget.")
    mixed = tr.compare({"A": adaptive["A"], "B": counts}, "recall@1", unpaired=True).verdict
    assert mixed.endswith("Use more negatives, or adaptive sampling.")
    assert not re.search(r"Holm|\bp\b", sure.verdict + open_.verdict)  # details stand below


def test_a_comparison_is_a_table():
    found = tr.compare(two_models("A"), "recall@20")
    content = json.loads(json.dumps(found.to_dict()))
    assert content["verdict"] == found.verdict
    assert content["ranking"][0]["naive"] == found.ranking[0].naive
    assert found.rows()[0]["metric"] == "recall@20"
    assert "tests" not in found.rows()[0]
    head, _, first, _ = found.to_markdown().splitlines()
    assert head.startswith("| place | model | recall@20 | 95 % interval | naive |")
    assert first.startswith("| 1 | A | ")
    assert found.verdict in found._repr_html_()
    assert "Possible places of each model (95 %, Holm-corrected)." in found._repr_html_()


def test_several_metrics_take_one_fit_per_model(monkeypatch):
    fits = []
    fit = tr.estimators.Smooth.fit

    def counted(self, counts, **options):
        fits.append(options["metrics"])
        return fit(self, counts, **options)

    monkeypatch.setattr(tr.estimators.Smooth, "fit", counted)
    compare_all(two_models("A"), ["recall@20", "ndcg@20", "ap"])
    assert len(fits) == 2


def test_inputs_of_every_kind_agree(tmp_path):
    a, b = sampled(global_ranks(), 60, 0, shared=True)
    first, second = table(a, 60), table(b, 60)
    want = both(first, second)
    shuffled = second.sample(frac=1.0, random_state=0)
    assert both(first, shuffled) == want
    first.to_parquet(tmp_path / "a.parquet")
    assert both(tmp_path / "a.parquet", second) == want
    paired = tr.PairedCounts.from_tables({"A": first, "B": second}, replacement=False)
    assert tr.compare(paired, "recall@20") == want
    joined = pd.concat([first.assign(model="A"), second.assign(model="B")])
    assert tr.compare(joined, "recall@20", replacement=False) == want
    assert tr.PairedCounts.from_table(joined, replacement=False) == paired
    counts = {m: tr.RankCounts.from_table(t, replacement=False) for m, t in
              {"A": first, "B": second}.items()}  # fmt: skip
    unpaired = tr.compare(counts, "recall@20")
    assert not unpaired.paired
    assert unpaired.how == "Unpaired: counts do not say which rank is whose."
    found = both(first, second, unpaired=True)
    assert found.differences == unpaired.differences
    estimates = {model: tr.estimate(one, "recall@20") for model, one in counts.items()}
    assert tr.compare(estimates, "recall@20") == unpaired
    alone = both(first.drop(columns="user_id"), second)
    assert alone.how == "Unpaired: A has no column user_id."
    counts["A"].save(tmp_path / "counts.parquet")
    mixed = both(tmp_path / "counts.parquet", second)
    assert mixed.differences == unpaired.differences


def test_paired_counts_add_up():
    a, b = sampled(global_ranks(), 60, 0, shared=True)
    tables = {"A": table(a, 60), "B": table(b, 60)}
    whole = tr.PairedCounts.from_tables(tables, replacement=False)
    parts = [
        tr.PairedCounts.from_tables({m: t[which] for m, t in tables.items()}, replacement=False)
        for which in (slice(0, 300), slice(300, None))
    ]
    assert sum(parts) == parts[1] + parts[0] == whole
    assert whole != parts[0]
    assert whole.n_outcomes < N_USERS
    for model, one in tables.items():
        assert whole[model] == tr.RankCounts.from_table(one, replacement=False)
    assert repr(whole).startswith("PairedCounts(A, B; 800 users")
    with pytest.raises(KeyError, match="there are: A, B"):
        whole["C"]
    turned = tr.PairedCounts.from_tables({"B": tables["B"], "A": tables["A"]}, replacement=False)
    assert whole + turned == whole + whole
    ranks = dict(zip("AB", map(table, global_ranks()), strict=True))
    exact = tr.PairedCounts.from_tables(ranks, replacement=False)
    mixed = whole + exact
    assert mixed["A"] == whole["A"] + exact["A"]


def test_several_targets_are_paired_by_blocks_and_repeated_draws_matched():
    rows = pd.DataFrame({"user_id": [1, 1, 2, 3], "item_id": [7, 8, 7, 9], "rank": [1, 5, 2, 30]})
    other = rows.assign(rank=[3, 1, 1, 9]).iloc[::-1]
    options = {
        "n_items": 40, "sample_size": 40, "replacement": False, "rank_among": "negatives"
    }  # fmt: skip
    with pytest.raises(InputError, match="count each model on its own"):
        tr.PairedCounts.from_tables({"A": rows, "B": other}, **options)
    found = tr.compare({"A": rows, "B": other}, "recall@2", **options)
    assert found.paired
    assert found["A", "B"].value == pytest.approx((0.5 + 1) / 3 - (0.5 + 1) / 3)
    draws = pd.DataFrame({"user_id": [1, 1, 2, 2], "rank": [1, 2, 3, 1]})
    twice = tr.PairedCounts.from_tables(
        {"A": draws, "B": draws}, n_items=400, sample_size=10, repeats="draws"
    )
    assert (twice.n_users, twice.sample_size.tolist()) == (2, [[19, 19], [19, 19]])


def _refused(first, second, message, **options):
    with pytest.raises(InputError, match=message):
        both(first, second, **options)
    assert not both(first, second, unpaired=True, **options).paired


def test_models_ranked_otherwise_are_refused_unless_asked_for():
    a, b = global_ranks(100)
    one, two = table(a), table(b)
    _refused(one, two.iloc[1:], "1 of the 100 users of A are not in B, such as user 0; .*unpaired")
    _refused(one.iloc[1:], two, "1 of the 100 users of B are not in A, such as user 0; .*unpaired")
    smaller = two.assign(n_items=299, sample_size=299, rank=np.minimum(b, 299))
    _refused(one, smaller, "n_items is 300 for A and 299 for B at the user of row 0 of A")
    fewer = table(np.minimum(b, 60), 60)
    _refused(one, fewer, "sample_size is 300 for A and 60 for B")
    counts = [tr.RankCounts.from_table(t, replacement=False) for t in (one, two.iloc[1:], smaller)]
    for other, message in [
        (counts[1], "A has 100 users and B 99"),
        (counts[2], "n_items is 299 for 0 users of A and 100 of B"),
    ]:
        with pytest.raises(InputError, match=message):
            tr.compare({"A": counts[0], "B": other}, "recall@5")
        assert tr.compare({"A": counts[0], "B": other}, "recall@5", unpaired=True)
    drawn = tr.RankCounts.from_ranks(a, n_items=9000, sample_size=300)
    with pytest.raises(
        InputError, match=r"scheme is without for A and with for B; .*unpaired=True"
    ):
        tr.compare({"A": counts[0], "B": drawn}, "recall@5")


def test_bad_input():
    a, b = table(global_ranks(50)[0]), table(global_ranks(50)[1])
    for message, call in {
        "models are A; a comparison needs two": lambda: tr.compare({"A": a}, "recall@5"),
        "which is several": lambda: both(a, b, "recall@1,5"),
        "unknown baseline 'C'": lambda: both(a, b, baseline="C"),
        "unknown scope 'all'": lambda: both(a, b, scope="all"),
        "confidence is 2": lambda: both(a, b, confidence=2),
        "population_size is 10; it must be at least the 50": lambda: both(a, b, population_size=10),
        "unknown option 'estimater'": lambda: both(a, b, estimater="bv"),
        "k is 500 in recall@500": lambda: both(a, b, "recall@500"),
        "'mapped' is not defined for ndcg@5": lambda: both(a, b, "ndcg@5", estimator="mapped"),
        "at least 2 are needed": lambda: both(a.iloc[:1], b.iloc[:1]),
        "ids of one kind": lambda: both(a, b.assign(user_id=b.user_id.astype(str))),
        "n_items is given, but counts carry that": lambda: tr.compare(
            tr.PairedCounts.from_tables({"A": a, "B": b}, replacement=False), n_items=5
        ),
        "B has no column item_id": lambda: both(a.assign(item_id=1), b),
        "A has no column rank": lambda: both(a.drop(columns="rank"), b),
    }.items():
        with pytest.raises(InputError, match=message):
            call()
    with pytest.raises(KeyError, match="there are: A and B"):
        both(a, b)["A", "C"]


def test_several_metrics_at_once_are_each_alone():
    ranks = sampled(global_ranks(), 60, 0, shared=False)
    models = {name: table(rank, 60) for name, rank in zip("AB", ranks, strict=True)}
    both_at_once = compare_all(models, ["recall@20", "auc"], replacement=False)
    assert [one.metric for one in both_at_once] == ["recall@20", "auc"]
    for one in both_at_once:
        alone = tr.compare(models, one.metric, replacement=False)
        assert [s.model for s in one.ranking] == [s.model for s in alone.ranking]
        for mine, other in zip(one.differences, alone.differences, strict=True):
            assert mine.value == pytest.approx(other.value, rel=1e-3)
            assert mine.std_error == pytest.approx(other.std_error, rel=2e-2)
            assert [test.name for test in mine.tests] == [test.name for test in other.tests]


def test_adaptive_ladders_that_a_budget_cut_may_be_compared():
    rng = np.random.default_rng(0)
    counts = {}
    for name, ladder in {"a": (20, 40, 80), "b": (20, 40, 70)}.items():
        rank = np.ceil(500 * rng.random(300) ** 2)
        drawn = sampled_ranks(
            rank.astype(int), np.full(300, 500), Scheme(False, ladder), np.zeros(300, int), rng
        )
        counts[name] = tr.RankCounts.from_outcomes(
            drawn[0], n_items=500, sample_size=drawn[1], sampled_rank=drawn[2], weight=np.ones(300)
        )
    assert len(tr.compare(counts, "recall@10").ranking) == 2
    fixed = tr.RankCounts.from_ranks(np.ones(300, int), n_items=500, sample_size=20)
    with pytest.raises(tr.InputError, match="scheme is"):
        tr.compare({"a": counts["a"], "fixed": fixed}, "recall@10")


def _many(n_models, seed=0):
    """Models whose sampled ranks get a little worse from one to the next."""
    rng = np.random.default_rng(seed)
    found = {}
    for number in range(n_models):
        above = rng.binomial(49, rng.random(60) ** (3.0 - 1.5 * number / n_models))
        found[f"m{number}"] = tr.RankCounts.from_ranks(above + 1, n_items=1000, sample_size=50)
    return found


def test_listing_fewer_pairs_changes_no_number():
    models = _many(7)
    every = tr.compare(models, "recall@100", pairs="all")
    best = tr.compare(models, "recall@100", pairs="best")
    assert len(every.differences) == every.n_tested == best.n_tested == 21
    leader = every.ranking[0].model
    assert best.differences == tuple(one for one in every.differences if one.model == leader)
    assert best.ranking == every.ranking
    assert best.verdict == every.verdict
    with pytest.raises(KeyError, match='pairs="all"'):
        best[every.ranking[1].model, every.ranking[2].model]
    assert "all 21 pairs" in repr(best)


def test_all_pairs_are_listed_up_to_twenty_models():
    few, many = (tr.compare(_many(number), "recall@100", estimator="bv") for number in (20, 21))
    assert (len(few.differences), few.n_tested) == (190, 190)
    assert (len(many.differences), many.n_tested) == (20, 210)


def test_pairs_and_baseline_exclude_each_other():
    with pytest.raises(InputError, match="give one of them"):
        tr.compare(_many(3), "recall@100", baseline="m1", pairs="all")
    with pytest.raises(InputError, match="pairs"):
        tr.compare(_many(3), "recall@100", pairs="some")


def test_naive_values_that_are_printed_alike_tell_nothing_apart():
    found = tr.compare(two_models("A"), "recall@20", unpaired=True)
    leader, second = found.ranking
    alike = replace(leader, naive=0.99991), replace(second, naive=0.99994)
    assert replace(found, ranking=alike).parts.usual == (
        f"The sampled ranks as they are do not tell {second.model} and {leader.model} apart "
        "(0.9999 each)."
    )
