"""Tables 4, 5, 8 and 9: mean relative errors of recall and ndcg at 1 to 50."""

from __future__ import annotations

import numpy as np

from truerank import metrics as metrics_module
from truerank._types import FloatArray
from truerank.estimators.mle import STEPS_ADAPTIVE
from truerank_papers.datasets import NAMED
from truerank_papers.experiments import words
from truerank_papers.experiments.lj24._shared import (
    ALL,
    DATASETS,
    ESTIMATORS,
    LEARNT,
    METRICS,
    PRINTED,
    PRIORS,
    START,
    STOP,
    TOP,
    adaptive_estimates,
    beside_averaged,
    exact,
    fixed_estimates,
    larger,
    number,
    relative_error,
)
from truerank_papers.experiments.lj24.protocol import coverage, left_out
from truerank_papers.experiments.models import exact_ranks
from truerank_papers.experiments.published import Numbers
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.registry import experiment
from truerank_papers.experiments.results import Result, Table
from truerank_papers.experiments.run import Run

USERS = (1000, 5000, 10_000)


@experiment("lj24", "table4", "Errors of recall@1 to 50, n = 100", any_of=DATASETS)
def table4(run: Run) -> Result:
    """Fixed samples of 100."""
    ours: Numbers = {}
    for dataset in run.at_hand():
        for model, ranks in exact_ranks(run, dataset).items():
            truth = exact(ranks)
            for name, values in fixed_estimates(run, dataset, model, ranks, 100).items():
                ours[dataset, model, name] = number(relative_error(values, truth))
    table = Table.beside("table4", beside_averaged(run.published()), ours)
    notes = [_gain(ours), _against(ours, ESTIMATORS), *_worse_than_mle(run, ours)]
    tables = [table]
    small = [dataset for dataset in run.at_hand() if dataset not in PRINTED]
    if small:
        apart, intervals = left_out(run), coverage(run)
        tables += [apart, intervals]
        notes += [
            "The second table is not in the paper: the same with training items left out, as "
            f"`tr.evaluate` does when it is given them. There {_less(apart)}. The third, "
            "not in the paper either, has how often intervals of 95 percent by `smooth` hold the "
            f"exact value; in the mean {_mean_share(intervals)}. An interval that the sample's own "
            "model finds cannot tell that the model is wrong where no sample has been.",
            f"{_sizes(small)}, the paper's datasets "
            f"{words.between([NAMED[name].n_users for name in PRINTED], 0)}: deviations here are "
            "larger for that alone.",
        ]
    return Result(tuple(tables), notes=tuple(notes))


def _sizes(datasets: list[str]) -> str:
    """The numbers of users, in words."""
    return words.listed([f"{name} has {NAMED[name].n_users:,} users" for name in datasets])


def _worse_than_mle(run: Run, ours: Numbers) -> list[str]:
    """Where `smooth` errs more than `mle`, and what to make of it."""
    rows = dict.fromkeys(key[:2] for key in ours)
    worse = []
    for dataset, model in rows:
        smooth, mle = (ours[dataset, model, name].value for name in ("smooth", "mle"))
        if smooth is not None and mle is not None and smooth > mle:
            worse.append(f"{model} on {dataset} ({smooth:.1f} and {mle:.1f} percent)")
    if not worse:
        return []
    blind = [
        f"{NAMED[name].n_items / 100:.0f} of {NAMED[name].n_items:,} ({name})"
        for name in run.at_hand()
    ]
    return [
        f"`smooth` errs more than `mle` in {words.share(len(worse), len(rows), 'rows')}: "
        f"{', '.join(worse)}. Samples of 100 items say next to nothing about the order of the "
        f"first N/100 ranks, {words.listed(blind)}. There `smooth` goes on as the ranks behind "
        "suggest, while `mle`, stopped early, stays near its even start. The paper's protocol "
        "ranks training items, too; where they take the top places and targets are spread evenly "
        "behind them (figure 4), the second is nearer. Larger and adaptive samples see more of the "
        "top (table 5)."
    ]


def _less(table: Table) -> str:
    """How `smooth` does beside `mle`, in words."""
    rows = {cell.key[:2] for cell in table.cells}
    better = [row for row in rows if _ours(table, row, "smooth") < _ours(table, row, "mle")]
    means = {name: np.mean([_ours(table, row, name) for row in rows]) for name in ("mle", "smooth")}
    return (
        f"`smooth` errs less than `mle` in {len(better)} of {len(rows)} rows, "
        f"{means['smooth']:.1f} and {means['mle']:.1f} percent in the mean"
    )


def _ours(table: Table, row: tuple[str, ...], name: str) -> float:
    value = table[*row, name].ours
    assert value is not None
    return value


def _mean_share(table: Table) -> str:
    """The mean of a table of shares by its first key, in words."""
    rows = dict.fromkeys(cell.key[0] for cell in table.cells)
    shares = {row: [cell.ours or 0.0 for cell in table.cells if cell.key[0] == row] for row in rows}
    return " and ".join(f"{np.mean(share):.0f} percent with {row}" for row, share in shares.items())


@experiment("lj24", "table5", "Errors with adaptive samples", any_of=DATASETS)
def table5(run: Run) -> Result:
    """Fixed samples of 500 beside samples that grow to 3200."""
    columns = [name for name in ESTIMATORS if name.startswith(("bv-", "mn-"))]
    columns += ["smooth", "adaptive mle", "adaptive smooth"]
    ours: Numbers = {}
    grew = []
    for dataset in run.at_hand():
        means = []
        for model, ranks in exact_ranks(run, dataset).items():
            truth = exact(ranks)
            found = fixed_estimates(run, dataset, model, ranks, larger(dataset))
            grown, sizes = adaptive_estimates(run, dataset, model, ranks)
            found |= grown
            for name in columns:
                if name == "adaptive mle":
                    ours[dataset, model, "adaptive size"] = number(sizes)
                ours[dataset, model, name] = number(relative_error(found[name], truth))
            means.append(float(sizes.mean()))
        n_items = NAMED[dataset].n_items
        grew.append(
            f"{words.between(means, 0)} items in the mean on {dataset}, where the largest, "
            f"{min(STOP, n_items):,}, is {100 * min(STOP, n_items) / n_items:.0f} percent of the "
            "catalogue"
        )
    table = Table.beside("table5", beside_averaged(run.published()), ours)
    return Result(
        (table,),
        notes=(
            f"Adaptive samples begin with {START}, which the paper does not print, and double to "
            f"{STOP:,} at most; `adaptive mle` is {STEPS_ADAPTIVE} steps of EM. By model, samples "
            f"grow to {'; '.join(grew)}.",
            f"`smooth` is fitted to the fixed samples of {larger('ml-1m')}, `adaptive smooth` to "
            "the adaptive ones, both the same as the paper's estimators have. "
            + _against(ours, columns),
        ),
    )


def _mean_errors(ours: Numbers, name: str) -> FloatArray:
    return np.array([one.value for key, one in ours.items() if key[-1] == name])


def _gain(ours: Numbers) -> str:
    """What the averaged prior gains, in words."""
    priors = {name: float(_mean_errors(ours, name).mean()) for name in PRIORS}
    own = {name: float(_mean_errors(ours, name).mean()) for name in LEARNT}
    averaged = {name: float(_mean_errors(ours, name + ALL).mean()) for name in LEARNT}
    better = [name for name, error in own.items() if error < min(priors.values())]
    parts = [f"`{name}` {own[name]:.1f} and {averaged[name]:.1f}" for name in LEARNT]
    return (
        "An averaged prior is free of the noise of one sample's `mes` or `mle`, and who has one "
        "sample cannot have it. Mean errors over our rows with the own and with the averaged "
        f"prior, percent: {', '.join(parts)}; the priors themselves: {words.numbered(priors, 1)}. "
        f"With the own prior, {words.share(len(better), len(own), 'estimators')} err less in the "
        "mean than the better of the two."
    )


def _against(ours: Numbers, names: list[str] | tuple[str, ...]) -> str:
    """How often smooth errs least, in a sentence."""
    known = [name for name in names if not name.endswith((ALL, "size"))]
    errors = np.stack([_mean_errors(ours, name) for name in known])  # (n_estimators, n_rows)
    smooth = [i for i, name in enumerate(known) if name.endswith("smooth")]
    best = int(np.isin(errors.argmin(axis=0), smooth).sum())
    means = ", ".join(f"`{name}` {row.mean():.1f}" for name, row in zip(known, errors, strict=True))
    return (
        f"Of what one sample gives, `smooth` errs least in {best} of {errors.shape[1]} of our "
        f"rows; means over rows in percent: {means}."
    )


def _users(run: Run, metric: str) -> Result:
    """Tables 8 and 9."""
    ours: Numbers = {}
    at_hand = run.at_hand()
    for dataset in run.at_hand():
        for model, ranks in exact_ranks(run, dataset).items():
            truth, key = exact(ranks), (dataset, model)
            for n in (100, 500):
                found = fixed_estimates(run, dataset, model, ranks, n)
                for name in ("mn-mes", f"mn-mes{ALL}", "smooth"):
                    column = f"{name.removesuffix(ALL)} n={n}{ALL * name.endswith(ALL)}"
                    ours[*key, column] = number(relative_error(found[name], truth, metric))
            grown, sizes = adaptive_estimates(run, dataset, model, ranks)
            ours[*key, "adaptive size"] = number(sizes)
            for name, values in grown.items():
                ours[*key, name] = number(relative_error(values, truth, metric))
            for m in USERS:
                if m < ranks.n_users:
                    values = sampled_users(run, f"LJ24 {dataset} {model} users={m}", ranks, m)
                    ours[*key, f"{m:,} users"] = number(relative_error(values, truth, metric))
    return Result(
        (Table.beside(run.experiment.name, beside_averaged(run.published()), ours),),
        notes=(
            "Item samples say something about every user, by a part of the items; samples of users "
            f"say everything about some. {_sizes(at_hand)}: a sample of nearly all of them errs "
            "little for that alone, and there is none of more.",
            f"Sizes are not costs: {USERS[0]:,} users ranked among all items cost as much as all "
            f"users with samples of {_equal_cost(at_hand)}.",
            *_displaced(run),
        ),
    )


def _equal_cost(datasets: list[str]) -> str:
    """The sizes of item samples of all users that cost as much as the smallest user sample."""
    sizes = [f"{USERS[0] * NAMED[d].n_items / NAMED[d].n_users:,.0f} items ({d})" for d in datasets]
    return words.listed(sizes)


def _displaced(run: Run) -> list[str]:
    rows = {key[:2] for key, one in run.published().numbers.items() if one.note}
    if not rows:
        return []
    where = ", ".join(f"{model} on {dataset}" for dataset, model in sorted(rows))
    return [
        f"In our text of the paper some cells stand out of order ({where}). None is lost: adaptive "
        "sizes and errors stand in table 5 too, and the others are told apart by their order."
    ]


def sampled_users(run: Run, what: str, ranks: GlobalRanks, n_users: int) -> FloatArray:
    """Draw users without replacement and compute their exact metrics.

    Parameters
    ----------
    run
        The run; it keeps finished repeats.
    what
        Name of the repeats, as for `Run.repeated`.
    ranks
        Exact ranks of a model.
    n_users
        Number of users per draw.

    Returns
    -------
    ndarray
        Shape (repeats, n_metrics).
    """
    gain = np.stack(
        [metric.gain(np.arange(1, TOP + 1), TOP) for metric in metrics_module.parse(METRICS)]
    )

    def draw(first: int, last: int) -> FloatArray:
        found = []
        for rng in run.rngs(what, first, last):
            some = rng.choice(ranks.n_users, size=n_users, replace=False)
            part = GlobalRanks(ranks.above[some], ranks.tied[some], ranks.n_items[some])
            found.append(gain @ part.pmf()[:TOP])
        return np.stack(found)

    return run.repeated(
        what, draw, key=["users", ranks.digest, n_users, list(METRICS)], repeats=run.repeats()
    )


@experiment("lj24", "table8", "Errors of recall@1 to 50, items or users sampled", any_of=DATASETS)
def table8(run: Run) -> Result:
    """Recall."""
    return _users(run, "recall")


@experiment("lj24", "table9", "Errors of ndcg@1 to 50, items or users sampled", any_of=DATASETS)
def table9(run: Run) -> Result:
    """NDCG."""
    return _users(run, "ndcg")
