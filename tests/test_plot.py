"""What figures show: lines, bands, labels and the numbers in them."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest

import truerank as tr
from truerank.inference import curves
from truerank.inference.planning.frontier import Frontier, FrontierPoint

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")
from matplotlib import pyplot  # noqa: E402


@pytest.fixture(scope="module")
def models() -> dict[str, tr.Estimates]:
    found = {}
    for seed, (name, power) in enumerate({"one": 3.0, "two": 2.0}.items()):
        rng = np.random.default_rng(seed)
        rank = np.ceil(1000 * rng.random(800) ** power).astype(int)
        above = rng.hypergeometric(rank - 1, 1000 - rank, 49)
        counts = tr.RankCounts.from_ranks(
            above + 1, n_items=1000, sample_size=50, replacement=False
        )
        found[name] = tr.estimate(counts, ["recall@10", "ndcg@10"])
    return found


@pytest.fixture(autouse=True)
def _closed():
    yield
    pyplot.close("all")


def band(collection) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x, low and high of what fill_between drew."""
    points = collection.get_paths()[0].vertices
    x = np.unique(points[:, 0])
    ends = [points[points[:, 0] == at, 1] for at in x]
    return x, np.array([e.min() for e in ends]), np.array([e.max() for e in ends])


def test_recall_curves_with_bands(models) -> None:
    ax = tr.plot.recall_curve(models, largest=50)
    assert [line.get_label() for line in ax.lines] == ["one", "two"]
    assert ax.get_xscale() == "log"
    assert "recall@K" in ax.get_ylabel()
    want = curves.curve(models["two"], largest=50)
    np.testing.assert_array_equal(ax.lines[1].get_xdata(), want.k)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), want.value)
    x, low, high = band(ax.collections[1])
    np.testing.assert_allclose(x, want.k)
    np.testing.assert_allclose(low, want.low)
    np.testing.assert_allclose(high, want.high)
    one, two = ax.lines
    assert one.get_color() != two.get_color()
    assert one.get_linestyle() != two.get_linestyle()
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"one", "two"}


def test_one_model_has_no_legend_and_no_band_without_intervals(models) -> None:
    ax = tr.plot.recall_curve(models["one"].again("recall@10", confidence=None), metric="ndcg")
    assert ax.get_legend() is None
    assert not ax.collections
    assert "ndcg@K" in ax.get_ylabel()


def test_an_axes_of_ones_own(models) -> None:
    _, mine = pyplot.subplots()
    assert tr.plot.rank_distribution(models["one"], ax=mine) is mine
    assert len(pyplot.get_fignums()) == 1


def test_rank_distributions(models) -> None:
    want = curves.rank_curve(models["one"])
    cdf = tr.plot.rank_distribution(models, kind="cdf")
    np.testing.assert_allclose(cdf.lines[0].get_ydata(), want.cdf)
    np.testing.assert_allclose(band(cdf.collections[0])[2], want.cdf_high)
    pmf = tr.plot.rank_distribution(models, kind="pmf")
    np.testing.assert_allclose(pmf.lines[0].get_xdata(), want.middle)
    np.testing.assert_allclose(pmf.lines[0].get_ydata() * want.width, want.mass)
    assert pmf.get_yscale() == "log"
    with pytest.raises(tr.InputError, match="unknown kind 'hist'"):
        tr.plot.rank_distribution(models, kind="hist")


def test_mappings(models) -> None:
    ax = tr.plot.mapping(models["one"], mappings=["linear", "beta(1)"])
    assert len(ax.lines) == 3
    want = curves.mapped_curve(models["one"].counts, "beta(1)")
    np.testing.assert_allclose(ax.lines[2].get_xdata(), want.global_k)
    np.testing.assert_allclose(ax.lines[2].get_ydata(), want.recall)
    assert "beta(1)" in ax.lines[2].get_label()
    exact = tr.estimate(tr.RankCounts.from_exact_ranks([1, 2, 3, 4] * 10, n_items=100))
    with pytest.raises(tr.InputError, match="no samples of one size"):
        tr.plot.mapping(exact)


def test_comparisons(models) -> None:
    found = tr.compare({name: one.counts for name, one in models.items()}, "recall@50")
    ax = tr.plot.comparison(found)
    (one,) = found.differences
    interval, value, zero = ax.lines
    np.testing.assert_allclose(interval.get_xdata(), [one.low, one.high])
    np.testing.assert_allclose(value.get_xdata(), [one.value])
    np.testing.assert_allclose(zero.get_xdata(), [0.0, 0.0])
    assert ax.get_yticklabels()[0].get_text() == f"{one.model} − {one.other}"
    assert "recall@50" in ax.get_xlabel()
    with pytest.raises(tr.InputError, match="it must be Comparison"):
        tr.plot.comparison({})


def test_frontiers(models) -> None:
    points = (
        FrontierPoint("adaptive", 50.0, 0.1),
        FrontierPoint("adaptive", 100.0, 0.05),
        FrontierPoint("fixed", 50.0, 0.3),
        FrontierPoint("fixed", 100.0, 0.2),
    )
    one = models["one"]
    ax = tr.plot.frontier(one, found=Frontier("recall@10", points))
    adaptive, fixed, here = ax.lines
    assert [line.get_label() for line in ax.lines] == ["adaptive", "fixed", "this sample"]
    assert here.get_xdata()[0] == pytest.approx(50.0)  # 49 negatives and the target
    error = one["recall@10"].total_error / one["recall@10"].value
    assert here.get_ydata()[0] == pytest.approx(error)
    # The curve of its own design goes through this one; the other is moved as far.
    ends = fixed.get_xdata()[[0, -1]]
    np.testing.assert_allclose(ends, [50.0, 100.0])
    np.testing.assert_allclose(fixed.get_ydata()[[0, -1]], [error, error * 0.2 / 0.3])
    np.testing.assert_allclose(adaptive.get_ydata()[[0, -1]], [error / 3.0, error / 6.0])
    assert len(ax.collections) == 2  # bands
    assert ax.get_figure() is not None
    ax.get_figure().canvas.draw()
    assert "100" in [label.get_text() for label in ax.get_xticklabels()]


def test_what_is_no_estimate_is_said() -> None:
    with pytest.raises(tr.InputError, match="models is of type list"):
        tr.plot.recall_curve([1, 2])
    with pytest.raises(tr.InputError, match="models is empty"):
        tr.plot.recall_curve({})


def test_a_missing_extra_is_named(models, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"plots need matplotlib, .*: pip install matplotlib"):
        tr.plot.recall_curve(models)


def test_koren_curve_by_hand() -> None:
    """Ranks 1, 2, 4 and 9 of 10: a quarter of the users more at each of these tenths."""
    counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)
    ax = tr.plot.normalised_rank(tr.estimate(counts, "recall@1"))
    curve, chance = ax.lines
    upto = dict(zip(np.round(curve.get_xdata()), curve.get_ydata(), strict=True))
    assert upto[0.0] == 0.0
    assert upto[100.0] == pytest.approx(1.0)
    assert (ax.get_xlim(), ax.get_ylim()) == ((0.0, 100.0), (0.0, 1.0))
    for share, users in ((10.0, 0.25), (20.0, 0.5), (40.0, 0.75), (90.0, 1.0)):
        if share in upto:
            assert upto[share] == pytest.approx(users)
    assert (chance.get_label(), list(chance.get_ydata())) == ("at random", [0.0, 1.0])


def test_koren_curve_is_the_distribution_of_ranks(models) -> None:
    ax = tr.plot.normalised_rank(models, largest=0.02)
    assert [line.get_label() for line in ax.lines] == ["one", "two", "at random"]
    want = curves.rank_curve(models["two"])
    x, y = ax.lines[1].get_data()
    assert x[-1] >= 2.0 > x[-2]
    np.testing.assert_allclose(x[1:], 100 * want.upto[: x.size - 1] / 1000)
    np.testing.assert_allclose(y[1:], want.cdf[: x.size - 1])
    assert len(ax.collections) == 2
    with pytest.raises(tr.InputError, match="largest is 0; it must be above 0 and at most 1"):
        tr.plot.normalised_rank(models, largest=0)


def test_naive_vs_corrected_draws_both_sides(models):
    ax = tr.plot.naive_vs_corrected(models, exact={"one": 0.2})
    shown = {text.get_text() for text in ax.texts}
    for name, found in models.items():
        assert f"{name}  {found['recall@10'].naive:.3f}" in shown
        assert f"{found['recall@10'].value:.3f}  {name}" in shown
    assert ax.get_title() == "recall@10"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["exact"]


def test_naive_vs_corrected_of_another_metric(models):
    ax = tr.plot.naive_vs_corrected(models, metric="recall@5")
    assert ax.get_title() == "recall@5"
    assert ax.get_legend() is None


@pytest.mark.parametrize(
    ("exact", "message"),
    [({"three": 0.2}, "three"), ([0.2], "must map models"), ({"one": "high"}, "exact of one")],
)
def test_naive_vs_corrected_takes_exact_values_of_its_models(models, exact, message):
    with pytest.raises(tr.InputError, match=message):
        tr.plot.naive_vs_corrected(models, exact=exact)


def test_labels_that_would_overlap_are_moved_apart():
    heights = tr.plot._apart([0.5, 0.51, 0.9, 0.5])
    order = np.argsort([0.5, 0.51, 0.9, 0.5], kind="stable")
    assert (np.diff(np.array(heights)[order]) >= 0.07 - 1e-12).all()


def test_the_legend_of_one_model_has_no_empty_name(models):
    ax = tr.plot.mapping(models["one"], mappings=["linear"])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["estimated", "linear"]


def test_history() -> None:
    test = np.arange(60), np.arange(60)
    monitor = tr.Monitor(test, design="fixed(num_negatives=20)", metrics=["recall@10", "auc"])
    with pytest.raises(tr.InputError, match="no epoch yet"):
        tr.plot.history(monitor)
    scores = np.random.default_rng(0).random((60, 300))
    for gain in (0.0, 0.5, 0.4):
        monitor.update(tr.scoring.Dense(scores + gain * np.eye(60, 300)))
    ax = tr.plot.history(monitor)
    rows = [row for row in monitor.rows() if row["metric"] == "recall@10"]
    assert ax.lines[0].get_ydata().tolist() == [row["value"] for row in rows]
    assert [line.get_xdata()[0] for line in ax.lines[-1:]] == [monitor.best_epoch]
    assert "auc" in tr.plot.history(monitor.history, metric="auc").get_ylabel()
    with pytest.raises(tr.InputError, match="unknown metric"):
        tr.plot.history(monitor, metric="ndcg@10")
    with pytest.raises(tr.InputError, match="type dict"):
        tr.plot.history({})


def test_labels_of_twelve_models_do_not_cover_each_other() -> None:
    rng = np.random.default_rng(0)
    found = {
        f"model {number}": tr.estimate(
            tr.RankCounts.from_ranks(
                1 + rng.binomial(49, rng.beta(0.4, 2.0, size=300)),
                num_negatives=49,
                n_items=900,
                replacement=True,
            ),
            "recall@10",
        )
        for number in range(12)
    }
    ax = tr.plot.naive_vs_corrected(found)
    for side in ("right", "left"):
        heights = sorted(text.get_position()[1] for text in ax.texts if text.get_ha() == side)
        assert len(heights) == 12
        assert min(np.diff(heights)) > 0.069
        assert heights[0] > -0.1
        assert heights[-1] < 1.12


@pytest.fixture(scope="module")
def twelve() -> dict[str, tr.RankCounts]:
    rng = np.random.default_rng(0)
    return {
        f"a model of quite a long name {number}": tr.RankCounts.from_ranks(
            1 + rng.binomial(49, rng.beta(0.4, 2.0 + number / 4, size=300)),
            num_negatives=49,
            n_items=900,
            replacement=True,
        )
        for number in range(12)
    }


@pytest.mark.parametrize("kind", ["naive_vs_corrected", "comparison", "recall_curve", "mapping"])
def test_nothing_is_cut_or_covered_at_twelve_models(twelve, kind) -> None:
    if kind == "comparison":
        ax = tr.plot.comparison(tr.compare(twelve, "recall@10"))
        labels = ax.get_yticklabels()
        assert len(labels) == 66
    else:
        found = {name: tr.estimate(one, "recall@10") for name, one in twelve.items()}
        ax = getattr(tr.plot, kind)(found)
        legend = ax.get_legend()
        labels = ax.texts if legend is None else legend.get_texts()
    figure = ax.figure
    figure.canvas.draw()
    width, height = figure.get_size_inches() * figure.dpi
    ends = ax.get_xticklabels() if kind == "naive_vs_corrected" else [ax.xaxis.label]
    boxes = [label.get_window_extent() for label in [*labels, *ends]]
    assert min(box.x0 for box in boxes) >= 0
    assert max(box.x1 for box in boxes) <= width
    assert min(box.y0 for box in boxes) >= 0
    assert max(box.y1 for box in boxes) <= height
    drawn = sorted((label.get_window_extent() for label in labels), key=lambda box: box.y0)
    columns = [[box for box in drawn if (box.x0 > width / 2) == right] for right in (True, False)]
    for column in columns:
        assert all(below.y1 <= above.y0 + 1 for below, above in itertools.pairwise(column))
    if kind in ("recall_curve", "mapping"):
        assert len(labels) == 12 + (kind == "mapping") * 4
        assert min(box.x0 for box in drawn) > ax.get_window_extent().x1
