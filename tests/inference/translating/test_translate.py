"""`translate`: bounds against fractions, vertices, and programs solved by others."""

from __future__ import annotations

import html
import itertools
import json
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import truerank as tr
from truerank.inference.translating import _published, _rank_program
from truerank.metrics import parse
from truerank.outcomes import schemes

LOOSE = 1e-7  # what fits is found to fit: bounds give way by 1e-8 of a metric's best


def sampled_gains(name: str, n_items: int, sample_size: int, replacement: bool) -> np.ndarray:
    """E[gain of the sampled rank | global rank] for every global rank, shape (n_items,)."""
    (metric,) = parse(name)
    outcomes = np.arange(1, sample_size + 1)
    log_p = schemes.log_probability(
        schemes.Scheme(replacement),
        np.arange(1, n_items + 1),
        n_items=n_items,
        sample_size=sample_size,
        sampled_rank=outcomes,
    )
    return metric.gain(outcomes, sample_size) @ np.exp(log_p)


def interval(text: str) -> tuple[float, float]:
    digits = len(text.partition(".")[2])
    return float(text) - 0.5 * 10.0**-digits, float(text) + 0.5 * 10.0**-digits


def gains(name: str, n_items: int) -> np.ndarray:
    (metric,) = parse(name)
    return metric.gain(np.arange(1, n_items + 1), n_items)


def on_every_rank(example: Any, n_items: int) -> np.ndarray:
    """The pmf of an example, shape (n_items,)."""
    return np.diff(example.cdf(np.arange(n_items + 1)))


def test_three_items_by_hand() -> None:
    # Sample of 2: rank 1 stays first, rank 2 with chance 1/2, rank 3 never.
    # Sampled recall@1 = p1 + p2/2, which 0.5 puts between 9/20 and 11/20.
    for replacement in (True, False):
        found = tr.translate(
            {"hr@1": "0.5"}, "recall@1,2", n_items=3, sample_size=2, replacement=replacement
        )
        bounds = [(b.low, b.high) for b in found.bounds]
        # p = (0, 9/10.., ..); p = (11/20, 0, 9/20); p = (9/20, 0, 11/20); p = (0, 1, 0)
        assert bounds == [
            pytest.approx((0, 11 / 20), abs=LOOSE),
            pytest.approx((9 / 20, 1), abs=LOOSE),
        ]


def test_three_items_decreasing_by_hand() -> None:
    # Mixtures q of (1,0,0), (1/2,1/2,0), (1/3,1/3,1/3): sampled recall@1 = q1 + 3/4 q2 + 1/2 q3,
    # at most 11/20. recall@1 = q1 + q2/2 + q3/3: most at q = (1/10, 0, 9/10), 1/10 + 3/10.
    # recall@2 = q1 + q2 + 2/3 q3: most at q = (0, 1/5, 4/5), 1/5 + 8/15.
    found = tr.translate(
        {"hr@1": "0.5"}, "recall@1,2", n_items=3, sample_size=2, replacement=True, decreasing=True
    )
    bounds = [(b.low, b.high) for b in found.bounds]
    assert bounds == [
        pytest.approx((1 / 3, 2 / 5), abs=LOOSE),
        pytest.approx((2 / 3, 11 / 15), abs=LOOSE),
    ]
    assert found.bound("recall@2").high_example.rank == (2, 3)
    assert found.bound("recall@2").high_example.share == pytest.approx((1 / 5, 4 / 5), abs=1e-6)
    assert str(found.bound("recall@2").high_example) == (
        "20.0 % of users over ranks 1 to 2, 80.0 % over 1 to 3"
    )


def test_replacement_by_hand() -> None:
    # N=4, n=3. Recall@1 of ranks 1..4 is 1, 4/9, 1/9, 0 with replacement and 1, 1/3, 0, 0
    # without. Least recall@2 for a sampled 7/20: a at rank 1, the rest at rank 3, so that
    # a + (1-a)/9 = 7/20, a = 43/160; without replacement a = 7/20.
    for replacement, least in ((True, 43 / 160), (False, 7 / 20)):
        found = tr.translate(
            {"hr@1": "0.4"}, "recall@2", n_items=4, sample_size=3, replacement=replacement
        )
        assert found.bound("hr@2").low == pytest.approx(least, abs=LOOSE)


def test_exact_ranks_leave_only_the_rounding() -> None:
    published = {"hr@2": "0.40", "ndcg@5": "0.350", "auc": "0.61"}
    found = tr.translate(published, n_items=9, sample_size=9, replacement=False)
    for (name, text), bounds in zip(published.items(), found.bounds, strict=True):
        assert bounds.metric == name.replace("hr", "recall")  # with one target they are one
        # Where several values bind, less than the rounding may be left.
        low, high = interval(text)
        assert low - LOOSE <= bounds.low <= bounds.high <= high + LOOSE
    (alone,) = tr.translate({"hr@2": "0.40"}, n_items=9, sample_size=9, replacement=False).bounds
    assert (alone.low, alone.high) == pytest.approx((0.395, 0.405), abs=LOOSE)


def vertices(rows: np.ndarray, ends: list[tuple[float, float]]) -> np.ndarray:
    """Every vertex of {p >= 0, sum p = 1, low <= rows p <= high}, by trying all bases."""
    found = []
    n_items = rows.shape[1]
    for sides in itertools.product((None, 0, 1), repeat=len(ends)):
        tight = [i for i, side in enumerate(sides) if side is not None]
        for at in itertools.combinations(range(n_items), len(tight) + 1):
            square = np.concatenate([np.ones((1, len(at))), rows[np.ix_(tight, at)]])
            if abs(np.linalg.det(square)) < 1e-12:
                continue
            p = np.zeros(n_items)
            p[list(at)] = np.linalg.solve(square, [1.0, *(ends[i][sides[i] or 0] for i in tight)])
            inside = [
                lo - 1e-9 <= v <= hi + 1e-9 for v, (lo, hi) in zip(rows @ p, ends, strict=True)
            ]
            if p.min() >= -1e-9 and all(inside):
                found.append(p)
    return np.array(found)


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("decreasing", [True, False])
def test_vertices_by_brute_force(replacement: bool, decreasing: bool) -> None:
    n_items, sample_size = 8, 4
    published = {"recall@1": "0.41", "ap@2": "0.53", "auc": "0.6"}
    rows = np.stack([sampled_gains(m, n_items, sample_size, replacement) for m in published])
    targets = ["recall@2", "ndcg@3", "ap", "precision@2"]
    costs = np.stack([gains(m, n_items) for m in targets])
    if decreasing:  # in terms of the uniform distributions on 1..j
        step = np.arange(1, n_items + 1)
        rows, costs = np.cumsum(rows, axis=1) / step, np.cumsum(costs, axis=1) / step
    corners = vertices(rows, [interval(text) for text in published.values()])
    assert len(corners) > 5
    values = costs @ corners.T
    found = tr.translate(
        published,
        targets,
        n_items=n_items,
        sample_size=sample_size,
        replacement=replacement,
        decreasing=decreasing,
    )
    assert [b.low for b in found.bounds] == pytest.approx(values.min(axis=1), abs=1e-6)
    assert [b.high for b in found.bounds] == pytest.approx(values.max(axis=1), abs=1e-6)


@pytest.mark.parametrize("decreasing", [True, False])
@pytest.mark.parametrize("replacement", [True, False])
def test_programs_by_cvxpy(decreasing: bool, replacement: bool) -> None:
    import cvxpy as cp

    n_items, sample_size = 250, 20
    published = {"recall@3": "0.47", "ndcg@3": "0.36", "ap": "0.38"}
    p = cp.Variable(n_items, nonneg=True)
    constraints = [cp.sum(p) == 1]
    for metric, text in published.items():
        low, high = interval(text)
        value = sampled_gains(metric, n_items, sample_size, replacement) @ p
        constraints += [value >= low, value <= high]
    if decreasing:
        constraints.append(p[:-1] >= p[1:])
    targets = ["recall@5", "ndcg@10", "auc"]
    found = tr.translate(
        published,
        targets,
        n_items=n_items,
        sample_size=sample_size,
        replacement=replacement,
        decreasing=decreasing,
    )
    for target in targets:
        cost = gains(target, n_items) @ p
        low = cp.Problem(cp.Minimize(cost), constraints).solve(solver=cp.CLARABEL)
        high = cp.Problem(cp.Maximize(cost), constraints).solve(solver=cp.CLARABEL)
        assert (found.bound(target).low, found.bound(target).high) == pytest.approx(
            (low, high), abs=1e-6
        )


@pytest.mark.parametrize("decreasing", [True, False])
def test_all_columns_at_once_give_the_same(decreasing: bool) -> None:
    n_items, sample_size = 3706, 100
    published = {"recall@10": "0.62", "ndcg@10": "0.36"}
    rows = np.stack([sampled_gains(m, n_items, sample_size, True) for m in published])
    cost = gains("recall@10", n_items)
    if decreasing:
        step = np.arange(1, n_items + 1)
        rows, cost = np.cumsum(rows, axis=1) / step, np.cumsum(cost) / step
    low, high = np.array([interval(text) for text in published.values()]).T
    ends = [
        sign
        * linprog(
            sign * cost,
            A_ub=np.concatenate([rows, -rows]),
            b_ub=np.concatenate([high, -low]),
            A_eq=np.ones((1, n_items)),
            b_eq=[1.0],
        ).fun
        for sign in (1, -1)
    ]
    (found,) = tr.translate(
        published,
        "recall@10",
        n_items=n_items,
        sample_size=sample_size,
        decreasing=decreasing,
    ).bounds
    assert (found.low, found.high) == pytest.approx(tuple(ends), abs=1e-6)


@pytest.mark.parametrize("decreasing", [True, False])
@pytest.mark.parametrize(
    ("n_items", "sample_size", "replacement"),
    [(4000, 100, True), (4000, 1000, False), (2500, 2499, False), (40_000, 100, True)],
)
def test_grid_against_every_rank(
    monkeypatch: pytest.MonkeyPatch,
    n_items: int,
    sample_size: int,
    replacement: bool,
    decreasing: bool,
) -> None:
    """The grid's bounds lie inside the full ones, by no more than 1e-6."""

    def bounds() -> np.ndarray:
        found = tr.translate(
            {"hr@10": "0.620", "ndcg@10": "0.360", "auc": "0.880"},
            ["recall@10,50,1500", "ndcg@100", "ap", "auc"],
            n_items=n_items,
            sample_size=sample_size,
            replacement=replacement,
            decreasing=decreasing,
        )
        return np.array([(b.low, b.high) for b in found.bounds]).T

    if n_items * sample_size > _rank_program.FULL_ENTRIES:  # all ranks would be left to the grid
        monkeypatch.setattr(_rank_program, "FULL_ENTRIES", n_items * sample_size)
    low, high = bounds()
    monkeypatch.setattr(_rank_program, "FULL_ENTRIES", 0)
    grid_low, grid_high = bounds()
    assert np.abs(grid_low - low).max() < 1e-6
    assert np.abs(grid_high - high).max() < 1e-6


@pytest.mark.parametrize("replacement", [True, False])
def test_the_truth_lies_between(replacement: bool) -> None:
    rng = np.random.default_rng(3)
    n_items, sample_size = 400, 30
    for trial in range(12):
        p = rng.dirichlet(np.full(n_items, 0.05))
        decreasing = bool(trial % 2)
        if decreasing:
            p = np.sort(p)[::-1]
        names = rng.choice(["hr@1", "hr", "ndcg@5", "mrr", "auc", "p@3"], 3, replace=False).tolist()
        published = {
            name: f"{sampled_gains(name, n_items, sample_size, replacement) @ p:.3f}"
            for name in names
        }
        targets = ["recall@1", "recall@20", "ndcg@10", "ap", "auc"]
        found = tr.translate(
            published,
            targets,
            n_items=n_items,
            sample_size=sample_size,
            replacement=replacement,
            decreasing=decreasing,
        )
        for target in targets:
            assert found.bound(target).low - LOOSE <= gains(target, n_items) @ p
            assert gains(target, n_items) @ p <= found.bound(target).high + LOOSE


@pytest.mark.parametrize("decreasing", [True, False])
def test_examples_fit_and_attain_the_bounds(decreasing: bool) -> None:
    published = {"hr@10": "0.62", "ndcg@10": "0.36", "mrr": "0.30"}
    found = tr.translate(
        published, ["recall@10", "ap"], n_items=3706, sample_size=100, decreasing=decreasing
    )
    for bounds in found.bounds:
        for end, example in ((bounds.low, bounds.low_example), (bounds.high, bounds.high_example)):
            p = on_every_rank(example, 3706)
            assert p.min() >= 0
            assert p.sum() == pytest.approx(1, abs=1e-12)
            if decreasing:
                assert np.diff(p).max() <= 1e-15
            for name, text in published.items():
                low, high = interval(text)
                assert low - LOOSE <= sampled_gains(name, 3706, 100, True) @ p <= high + LOOSE
            assert gains(bounds.metric, 3706) @ p == pytest.approx(end, abs=1e-6)


def test_more_knowledge_means_narrower_bounds() -> None:
    def width(published: dict[str, str], **options: Any) -> float:
        (b,) = tr.translate(published, "recall@20", n_items=3706, sample_size=100, **options).bounds
        return b.high - b.low

    one = {"hr@10": "0.62"}
    two = {**one, "ndcg@10": "0.36"}
    widths = [
        width(two, n_users=100),
        width(two, n_users=100, confidence=0.5),
        width(two, n_users=10_000),
        width(two),
        width({"hr@10": "0.620", "ndcg@10": "0.360"}),
        width({"hr@10": "0.620", "ndcg@10": "0.360"}, decreasing=True),
    ]
    assert widths == sorted(widths, reverse=True)
    assert len(set(widths)) == len(widths)
    assert width(two) < width(one)
    assert width(two, n_users=2**53) == pytest.approx(width(two), abs=1e-5)


def test_noise_is_bernsteins_at_the_largest_variance_that_fits() -> None:
    n_users, n_items, sample_size = 500, 400, 20
    (value,) = tr.translate(
        {"hr@3": "0.05"}, n_items=n_items, sample_size=sample_size, n_users=n_users
    ).published
    mean = sampled_gains("hr@3", n_items, sample_size, True)
    worst = -linprog(
        -mean * (1 - mean),
        A_ub=np.stack([mean, -mean]),
        b_ub=[value.high + value.noise, value.noise - value.low],
        A_eq=np.ones((1, n_items)),
        b_eq=[1.0],
    ).fun
    # exp(-M t^2 / (2 (V + t/3))) is half of 5 %, as nearly as the rounds went on for.
    odds = n_users * value.noise**2 / (2 * (worst + value.noise / 3))
    assert odds == pytest.approx(np.log(2 / 0.05), rel=5e-3)
    assert odds >= np.log(2 / 0.05) * (1 - 1e-9)


def test_noise_is_hoeffdings_where_that_is_less() -> None:
    (value,) = tr.translate({"hr@3": "0.50"}, n_items=400, sample_size=20, n_users=50).published
    assert value.noise == pytest.approx(np.sqrt(np.log(2 / 0.05) / (2 * 50)))


def test_noise_covers_redraws() -> None:
    """At least as often as promised, jointly for two values; a quarter of it would not."""
    rng = np.random.default_rng(11)
    n_items, sample_size, n_users = 500, 20, 200
    rank = np.minimum(rng.geometric(0.02, n_users), n_items)
    seen = {"recall@2": lambda r: r <= 2, "ap": lambda r: 1 / r}
    mean = {m: sampled_gains(m, n_items, sample_size, True)[rank - 1].mean() for m in seen}
    draws = 1 + rng.binomial(sample_size - 1, (rank - 1) / (n_items - 1), (2000, n_users))
    values = {m: gain(draws).mean(axis=1) for m, gain in seen.items()}
    truth = (rank <= 10).mean()
    least = dict.fromkeys(seen, np.inf)
    for i in range(10):
        found = tr.translate(
            {m: f"{values[m][i]:.4f}" for m in seen},
            "recall@10",
            n_items=n_items,
            sample_size=sample_size,
            n_users=n_users,
        )
        assert found.bound("recall@10").low <= truth <= found.bound("recall@10").high
        least = {v.metric: min(v.noise, least[v.metric]) for v in found.published}
    for share, enough in ((1.0, True), (0.25, False)):
        inside = [np.abs(values[m] - mean[m]) <= share * least[m] for m in seen]
        assert (np.all(inside, axis=0).mean() >= 0.95) == enough


def test_decimals_say_the_rounding() -> None:
    def read(value: Any) -> tuple[float, float]:
        found = tr.translate({"hr@10": value}, n_items=3706, sample_size=100)
        (published,) = found.published
        return published.low, published.high

    assert read("0.62") == pytest.approx((0.615, 0.625))
    assert read("0.620") == pytest.approx((0.6195, 0.6205))
    assert read(".6") == pytest.approx((0.55, 0.65))
    assert read("62.0%") == read(" 62.0 % ") == read("0.620")
    assert read("62%") == read(0.62) == read(np.float32(0.62)) == read(Decimal("0.62"))
    assert read("6.2e-1") == read("0.62")
    assert read("1.000") == pytest.approx((0.9995, 1.0005))


def test_mapped_cut_offs() -> None:
    found = tr.translate(
        {"ndcg@10": "0.36", "hr@10": "0.62", "mrr@5": "0.3"}, n_items=3706, sample_size=100
    )
    cuts = {(m.metric, m.mapping): m.global_k for m in found.mapped}
    assert len(cuts) == 3 * len(tr.mapping.USUAL)
    for (metric, name), cut in cuts.items():
        k = int(metric.partition("@")[2])
        assert cut == float(tr.mapping.get(name)(k, n_items=3706, sample_size=100))
    assert found.sentences == [
        "Sampled recall@10 is about global recall@356 (bound) to recall@363 (beta 0.5); "
        "linear 338, beta(1) 372.",
        "Sampled ap@5 reaches to about global rank 168 (bound) to 178 (beta 0.5); "
        "linear 151, beta(1) 186.",
    ]


def test_own_metrics() -> None:
    own = tr.Metric("decay", 20, lambda rank: np.exp(-rank / 5))
    found = tr.translate({"hr@10": "0.62", own: "0.21"}, own, n_items=5000, sample_size=50)
    assert 0 <= found.bound(own).low < found.bound(own).high <= np.exp(-1 / 5)


def test_result(monkeypatch: pytest.MonkeyPatch) -> None:
    found = tr.translate(
        {"A": {"hr@10": "0.62"}, "B": {"hr@10": "0.58"}},
        ["recall@10", "auc"],
        n_items=3706,
        sample_size=100,
    )
    assert found.bound(("B", "hr@10")) is found.bounds[2]
    assert found["B", "hr@10"] is found.estimates[2]
    with pytest.raises(KeyError, match="of which model"):
        _ = found["recall@10"]
    with pytest.raises(KeyError, match="was not translated; there are: A: recall@10"):
        _ = found["A", "ndcg@10"]
    frame = found.to_pandas()
    assert list(frame.columns) == ["model", "metric", "value", "low", "high"]
    assert [row["low"] for row in found.rows()] == frame["low"].tolist()
    content = json.loads(json.dumps(found.to_dict()))
    assert (content["n_items"], content["comparisons"][0]["flip"]) == (3706, "yes")
    assert content["bounds"][0]["low_example"]["rank"] == list(found.bounds[0].low_example.rank)
    assert found.to_markdown().splitlines()[0] == "| model | metric | value | low | high |"
    assert found.sentences[0] in html.unescape(found._repr_html_())
    lines = repr(found).splitlines()
    assert lines[0] == "Translation · pool of 3,706 items · samples of 100, with replacement"
    assert "A: recall@10=0.62" in lines[1]
    assert lines[2].split()[:2] == ["A:", "recall@10"]
    assert tr.Translation is type(found)


def test_windows_lose_nothing() -> None:
    metrics = parse(["recall@10", "ndcg", "auc"])
    for sample_size, replacement in ((1000, True), (900, False), (1490, False), (1500, False)):
        scheme = schemes.Scheme(replacement)
        mean, variance = np.split(
            _published.moments(metrics, scheme, 1500, sample_size)(np.arange(1.0, 1501.0)), 2
        )
        for metric, row, spread in zip(metrics, mean, variance, strict=True):
            plain = sampled_gains(metric.key, 1500, sample_size, replacement)
            # Log-gammas near 1e4 carry rounding errors of some 1e-12 into the probabilities.
            assert row == pytest.approx(plain, abs=1e-11)
            assert spread[0] == spread[-1] == 0.0
