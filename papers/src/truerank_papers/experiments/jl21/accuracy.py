"""Tables 2, 3, 6 and 7: estimates of metrics at 10 beside the exact ones, four datasets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from truerank.estimators import MES
from truerank.estimators.mle import STEPS_FIXED
from truerank.models import ItemKNN
from truerank_papers.experiments import words
from truerank_papers.experiments.jl21._shared import (
    ESTIMATORS,
    METRICS,
    SAMPLE_SIZE,
    estimates,
    exact,
)
from truerank_papers.experiments.models import exact_ranks
from truerank_papers.experiments.published import Number, Numbers, Published
from truerank_papers.experiments.registry import experiment
from truerank_papers.experiments.results import Result, Table
from truerank_papers.experiments.run import Run

AT_10 = tuple(m for m, metric in enumerate(METRICS) if metric.endswith("@10"))


def _accuracy(run: Run, dataset: str) -> Result:
    ranks = exact_ranks(run, dataset)
    values = estimates(run, dataset, ranks)
    ours: Numbers = {}
    for name, one in ranks.items():
        truth = exact(one)
        for m in AT_10:
            ours[name, METRICS[m], "exact"] = Number(float(truth[m]))
            for e, estimator in enumerate(ESTIMATORS):
                column = values[name][:, e, m]
                ours[name, METRICS[m], estimator] = Number(
                    float(column.mean()), float(column.std())
                )
    name, theirs = run.experiment.name, run.published()
    table = Table.beside(name, theirs, ours)
    bias = Table.beside(f"{name}-bias", _biases(theirs), _biased(ours))
    n_items = max(int(one.n_items.max()) for one in ranks.values())
    return Result(
        (table, bias),
        notes=(
            _settings(table),
            _weighted(table),
            f"`cls` hardly tells ranks below N/n, some {n_items / SAMPLE_SIZE:.0f} items here, "
            "from one another, and so depends on what a model does behind its top 10, where ours "
            "need not be the paper's.",
            "The second table has the bias of recall@10, which is what other models of the same "
            "kind can be compared by.",
            _ranking(bias),
            _furthest(table, bias, n_items),
        ),
    )


def _settings(table: Table) -> str:
    """What the estimators are set to, and whether that gives the printed rows of item-KNN."""
    fitted = ("mle", "mes")
    off = [
        abs(cell.in_sds)
        for cell in table.cells
        if cell.key[0] == "itemKNN" and cell.key[2] in fitted and cell.in_sds is not None
    ]
    exact = table["itemKNN", "recall@10", "exact"]
    text = (
        f"`mle` is {STEPS_FIXED} steps of EM, not its limit, and `mes` has eta = {MES().eta:g} on "
        "n times the squared distance, where the text has eta = 0.001 without n."
    )
    if not off or exact.ours is None or exact.published is None:
        return text
    return (
        f"{text} Item-KNN, whose exact recall@10 is {exact.ours:.2f} here and "
        f"{exact.published:.2f} in the paper, then lies within {max(off):.1f} printed standard "
        f"deviations of its printed rows by {words.code(fitted)}."
    )


def _weighted(table: Table) -> str:
    """How far `wmle` lies above the exact values, ours, and above `mle`, printed."""
    rows = dict.fromkeys(cell.key[:2] for cell in table.cells)
    ours, printed = [], []
    for row in rows:
        exact, plain, weighted = (table[*row, name] for name in ("exact", "mle", "wmle"))
        if weighted.ours is not None and exact.ours:
            ours.append(weighted.ours / exact.ours)
        if weighted.published is not None and plain.published:
            printed.append(100 * (weighted.published / plain.published - 1))
    return (
        "`wmle` is not reproducible from the text: with the printed weight, ndcg(r/10), estimates "
        f"are {words.between(ours, 1)} times the exact values, while the printed rows lie "
        f"{words.between(printed, 1)} percent above `mle`. Eq. 23 with such weights is biased for "
        "any sample size."
    )


def _furthest(table: Table, bias: Table, n_items: int) -> str:
    """The model whose bias of `mle` differs most from the printed one."""
    gaps = {
        cell.key[0]: abs(cell.difference)
        for cell in bias.cells
        if cell.key[1] == "mle" and cell.difference is not None
    }
    model = max(gaps, key=lambda name: gaps[name])
    exact, fitted = (table[model, "recall@10", name] for name in ("exact", "mle"))
    return (
        f"By the bias of `mle`, {model} differs most: the paper's `mle` says "
        f"{fitted.published:.1f} where {exact.published:.1f} is exact, ours {fitted.ours:.1f} "
        f"where {exact.ours:.1f} is. What a model does at its very top, {SAMPLE_SIZE - 1} "
        f"negatives of {n_items:,} items do not show."
    )


def _ranking(bias: Table) -> str:
    """Which estimators have the least bias, model by model, in both."""
    said, same, models = [], 0, 0
    for model in dict.fromkeys(cell.key[0] for cell in bias.cells):
        pairs = [
            (cell.key[1], abs(cell.ours), abs(cell.published))
            for cell in bias.cells
            if cell.key[0] == model and cell.key[1] != "wmle"
            if cell.ours is not None and cell.published is not None
        ]
        if pairs:
            ours, theirs = (
                [name for name, *_ in sorted(pairs, key=lambda pair: float(pair[at]))]
                for at in (1, 2)
            )
            models, same = models + 1, same + (set(ours[:2]) == set(theirs[:2]))
            said.append(f"{model} {', '.join(ours)} (published: {', '.join(theirs)})")
    return (
        "Estimators by the size of that bias, least first, `wmle` left out: "
        f"{'; '.join(said)}. The two least biased are the same in both for {same} of {models} "
        "models."
    )


def _biases(published: Published) -> Published:
    return Published(
        f"{published.source.split(':')[0]}: each estimate of recall@10 minus the exact value.",
        published.unit,
        ("model", "estimator"),
        _biased(published.numbers),
    )


def _biased(numbers: Mapping[tuple[str, ...], Number]) -> Numbers:
    """Estimate minus exact, recall@10."""
    found: Numbers = {}
    for (model, metric, estimator), number in numbers.items():
        truth = numbers[model, metric, "exact"].value
        if metric == "recall@10" and estimator != "exact":
            if number.value is None or truth is None:
                continue
            found[model, estimator] = Number(number.value - truth, number.sd)
    return found


@experiment("jl21", "table2", "Metrics at 10 on ml-1m, n = 100", data=["ml-1m"])
def table2(run: Run) -> Result:
    """On ml-1m."""
    result = _accuracy(run, "ml-1m")
    return replace(result, notes=(*result.notes, _by_column(run, result.tables[0])))


def _by_column(run: Run, table: Table) -> str:
    """What `cls` makes of another item-KNN, with the same exact recall@10 or nearly so."""
    model = ItemKNN.jl21()
    name = "itemKNN by column"
    turned = replace(model, neighbours=None, column_neighbours=model.neighbours)
    ranks = run.ranks("ml-1m", {name: turned}, leave_out=False)
    metric = METRICS.index("recall@10")
    found = estimates(run, "ml-1m", ranks)[name][:, ESTIMATORS.index("cls"), metric].mean()
    own, cls = (table["itemKNN", "recall@10", column] for column in ("exact", "cls"))
    return (
        f"Item-KNN with the {model.neighbours} neighbours taken by column has an exact recall@10 "
        f"of {exact(ranks[name])[metric]:.1f} instead of {own.ours:.1f}, and `cls` gives "
        f"{found:.1f} instead of {cls.ours:.1f}; {cls.published} is printed."
    )


@experiment("jl21", "table3", "Metrics at 10 on citeulike, n = 100", data=["citeulike"])
def table3(run: Run) -> Result:
    """On citeulike."""
    return _accuracy(run, "citeulike")


@experiment("jl21", "table6", "Metrics at 10 on pinterest-20, n = 100", data=["pinterest-20"])
def table6(run: Run) -> Result:
    """On pinterest-20."""
    return _accuracy(run, "pinterest-20")


@experiment("jl21", "table7", "Metrics at 10 on yelp, n = 100", data=["yelp"])
def table7(run: Run) -> Result:
    """On yelp."""
    return _accuracy(run, "yelp")
