"""A monitor on real training runs: which epoch it selects, when it stops, what an epoch costs.

    python -m benchmarks.monitor --write docs/monitor.md

Needs torch, and torchmetrics for the last table; `make integration-torchmetrics` installs both. It
takes about a quarter of an hour of one core; ``--cache`` keeps what is finished.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

import truerank as tr
from benchmarks._report import machine

DATA = Path(__file__).parents[2] / "shared" / "data" / "ml-1m"
EPOCHS, WIDTH, BATCH, RATE, DECAY = 30, 16, 8192, 0.005, 0.01
METRIC = "ndcg@10"
EXACT = "`seconds=2`: exact"
WITHIN = 0.01
MIB = 2**20


@dataclass(frozen=True)
class Problem:
    """Interactions as row numbers."""

    train: tuple[Any, Any]
    test: tuple[Any, Any]
    n_users: int
    n_items: int

    @classmethod
    def read(cls, folder: Path) -> Problem:
        """MovieLens 1M, the last item of each user held out."""
        parts = [pq.read_table(folder / f"{name}.parquet") for name in ("train", "test")]
        ids = [
            np.unique(np.concatenate([part[name].to_numpy() for part in parts]))
            for name in ("user_id", "item_id")
        ]
        train, test = (
            tuple(
                np.searchsorted(known, part[name].to_numpy())
                for known, name in zip(ids, ("user_id", "item_id"), strict=True)
            )
            for part in parts
        )
        return cls(train, test, ids[0].size, ids[1].size)


def train_bpr(problem: Problem, seed: int) -> Iterator[tr.scoring.Factors]:
    """Matrix factorisation by BPR and Adam in torch, an epoch at a time."""
    import torch

    torch.set_num_threads(1)
    source = torch.Generator().manual_seed(seed)
    users, items = (
        torch.nn.Parameter(0.1 * torch.randn(rows, WIDTH, generator=source))
        for rows in (problem.n_users, problem.n_items)
    )
    steps = torch.optim.Adam([users, items], lr=RATE)
    user, liked = (torch.from_numpy(part) for part in problem.train)
    for _ in range(EPOCHS):
        order = torch.randperm(user.numel(), generator=source)
        other = torch.randint(problem.n_items, (user.numel(),), generator=source)
        for rows in order.split(BATCH):
            vector = users[user[rows]]
            ahead = (vector * (items[liked[rows]] - items[other[rows]])).sum(1)
            loss = torch.nn.functional.softplus(-ahead).mean()
            loss = loss + DECAY * vector.square().sum(1).mean()
            steps.zero_grad()
            loss.backward()
            steps.step()
        yield tr.scoring.Factors(users.detach().numpy().copy(), items.detach().numpy().copy())


@dataclass(frozen=True)
class Run:
    """What a monitor did in one training run: the last epoch, the one selected, its loss."""

    stopped: int
    selected: int
    loss: float
    seconds: float


def watch(problem: Problem, scorers: list[Any], exact: Any, **options: Any) -> Run:
    """Give a monitor the epochs until it says stop."""
    monitor = tr.Monitor(problem.test, train=problem.train, metrics=[METRIC], **options)
    begin = time.process_time()
    for epoch, scorer in enumerate(scorers, start=1):
        monitor.update(scorer, epoch=epoch)
        if monitor.should_stop:
            break
    seconds = (time.process_time() - begin) / epoch
    assert monitor.best_epoch is not None
    loss = 1.0 - exact[monitor.best_epoch - 1] / max(exact)
    return Run(epoch, monitor.best_epoch, float(loss), seconds)


def sampled_argmax(problem: Problem, scorers: list[Any], exact: Any, seed: int) -> Run:
    """What people do: the metric among 100 new negatives each epoch, patience 3, uncorrected."""
    best, selected, waited, begin = -1.0, 0, 0, time.process_time()
    for epoch, scorer in enumerate(scorers, start=1):
        design = tr.designs.Fixed(num_negatives=100)
        counts = tr.count(
            scorer, problem.test, design, train=problem.train, seed=1000 * seed + epoch
        )
        value = tr.estimate(counts, METRIC, estimator="naive", confidence=None)[METRIC].value
        waited += 1
        if value > best:
            best, selected, waited = value, epoch, 0
        if waited >= 3:
            break
    seconds = (time.process_time() - begin) / epoch
    return Run(epoch, selected, float(1.0 - exact[selected - 1] / max(exact)), seconds)


def summary(name: str, runs: list[Run]) -> str:
    """One row of the table."""
    losses = np.array([run.loss for run in runs])
    good = int((losses <= WITHIN).sum())
    stops = np.array([run.stopped for run in runs])
    return (
        f"| {name} | {good} of {len(runs)} | {100 * losses.mean():.1f} % | "
        f"{100 * losses.max():.1f} % | {np.median(stops):.0f} ({stops.min()} to {stops.max()}) | "
        f"{np.median([run.seconds for run in runs]):.2f} s |"
    )


def cpu(function: Callable[[], Any]) -> float:
    """CPU seconds of the second call: the first may compile."""
    function()
    begin = time.process_time()
    function()
    return time.process_time() - begin


def by_torchmetrics(problem: Problem, scorer: Any, batch: int = 512) -> tuple[float, int]:
    """Its own retrieval metric on all items, training items left out, and the bytes of its state.

    Batches of users, as a validation loop gives them; it keeps all scores until `compute`.
    """
    import torch
    from torchmetrics.retrieval import RetrievalNormalizedDCG

    metric = RetrievalNormalizedDCG(top_k=10)
    rows = np.argsort(problem.test[0])
    user, item = problem.train
    for begin in range(0, rows.size, batch):
        at = rows[begin : begin + batch]
        users = problem.test[0][at]
        scores = scorer.score_all(users)
        kept = np.ones(scores.shape, dtype=bool)
        seen = np.isin(user, users)
        kept[np.searchsorted(users, user[seen]), item[seen]] = False
        target = np.zeros(scores.shape, dtype=bool)
        target[np.arange(at.size), problem.test[1][at]] = True
        index = np.broadcast_to(begin + np.arange(at.size)[:, None], scores.shape)
        metric.update(
            torch.from_numpy(scores[kept]),
            torch.from_numpy(target[kept]),
            indexes=torch.from_numpy(index[kept]),
        )
    states = (metric.preds, metric.target, metric.indexes)
    size = sum(one.numel() * one.element_size() for state in states for one in state)
    return float(metric.compute()), size


def chosen(problem: Problem, scorer: Any) -> str:
    """The design that two seconds per epoch are enough for, on this machine."""
    monitor = tr.Monitor(problem.test, train=problem.train, metrics=[METRIC], seconds=2)
    monitor.update(scorer)
    return repr(monitor.design)


def one_training(problem: Problem, training: int, budgets: list[int]) -> dict[str, Any]:
    """A training and all that watch it, as plain data."""
    scorers = list(train_bpr(problem, training))
    ranks = [tr.count(one, problem.test, "exact", train=problem.train) for one in scorers]
    exact = [tr.estimate(one, METRIC, confidence=None)[METRIC].value for one in ranks]
    runs = {
        EXACT: [watch(problem, scorers, exact, design="exact")],
        'exact, `scope="these-users"`': [
            watch(problem, scorers, exact, design="exact", scope="these-users")
        ],
    }
    for budget in budgets:
        design = f"adaptive(budget={budget})"
        watched = watch(problem, scorers, exact, design=design, seed=training)
        runs[f'`design="{design}"`'] = [watched]
    runs["100 new negatives every epoch, uncorrected"] = [
        sampled_argmax(problem, scorers, exact, training)
    ]
    return {
        "exact": exact,
        "runs": {name: [asdict(run) for run in of] for name, of in runs.items()},
    }


def all_trainings(problem: Problem, asked: argparse.Namespace) -> list[dict[str, Any]]:
    """Those that the cache holds, and the others."""
    known: dict[str, Any] = {}
    if asked.cache is not None and asked.cache.is_file():
        known = json.loads(asked.cache.read_text(encoding="utf-8"))
    found = []
    for training in range(asked.trainings):
        budgets = asked.budgets if training < asked.sampled else []
        key = f"{training}, budgets {budgets}"
        if key not in known:
            known[key] = one_training(problem, training, budgets)
            if asked.cache is not None:
                asked.cache.write_text(json.dumps(known), encoding="utf-8")
        found.append(known[key])
    return found


def page(asked: argparse.Namespace) -> str:
    """All tables."""
    problem = Problem.read(asked.data)
    trainings = all_trainings(problem, asked)
    rows: dict[str, list[Run]] = {}
    for one in trainings:
        for name, runs in one["runs"].items():
            rows.setdefault(name, []).extend(Run(**run) for run in runs)
    curve = trainings[0]["exact"]
    scorer = next(train_bpr(problem, 0))  # any will do to time it
    options: dict[str, Any] = {"train": problem.train, "metrics": METRIC}
    ours = tr.evaluate(scorer, problem.test, "exact", **options)
    theirs, size = by_torchmetrics(problem, scorer)
    if abs(ours[METRIC].value - theirs) > 1e-5:
        raise AssertionError(f"{METRIC} is {ours[METRIC].value} here, {theirs} by torchmetrics")
    epochs = train_bpr(problem, 0)
    times = {
        "an epoch of the training": cpu(lambda: next(epochs)),
        "`Monitor.update`, exact, with a comparison": np.median([r.seconds for r in rows[EXACT]]),
        "`tr.evaluate`, exact": cpu(lambda: tr.evaluate(scorer, problem.test, "exact", **options)),
        "torchmetrics `RetrievalNormalizedDCG`": cpu(lambda: by_torchmetrics(problem, scorer)),
    }
    return PAGE.format(
        n_trainings=asked.trainings, n_sampled=min(asked.sampled, asked.trainings), epochs=EPOCHS,
        width=WIDTH, users=problem.n_users,
        items=problem.n_items, chosen=chosen(problem, scorer), within=100 * WITHIN,
        state=size / MIB, machine=machine()["CPU"], best=int(np.argmax(curve)) + 1,
        runs="\n".join(summary(name, runs) for name, runs in rows.items()),
        curve=", ".join(f"{value:.4f}" for value in curve),
        times="\n".join(f"| {name} | {seconds:.2f} |" for name, seconds in times.items()),
    )  # fmt: skip


PAGE = """# Which epoch a monitor selects

Written by `python -m benchmarks.monitor --write docs/monitor.md`; do not edit by hand. How to use
a monitor: [a training loop](how-to/training.md).

Matrix factorisation by BPR ({width} dimensions, Adam, in torch) is trained for {epochs} epochs on
MovieLens 1M ({users:,} users, {items:,} items, the last item of each user held out), {n_trainings}
times with a seed of its own, which is also the seed of the negatives. Monitors with a budget watch
the first {n_sampled} trainings, the others all of them, with a patience of 3. The loss is that of
the selected epoch's exact ndcg@10 against the best of all {epochs} epochs.

| monitor | within {within:g} % of best | mean loss | largest loss | last epoch | CPU per epoch |
| --- | --- | --- | --- | --- | --- |
{runs}

Ranking all items is quick here: what `seconds=2` has chosen is `{chosen}`. An epoch is then really
worse only if other users would see that, too. With `scope="these-users"` every loss counts against
the patience, which is what early stopping usually does: it ends at the first epochs that are
unlucky. `adaptive(budget=100)` scores 100 of {items:,} items per user, as it would be for a model
that is slow to score; its CPU time here is mostly that of the estimates. Its negatives are the same
in every epoch, and still its error is larger than the differences between good epochs: give it more
if 1 % matters. The last row is what people do.

Exact ndcg@10 of the epochs of the first training, the best of which is epoch {best}: {curve}.

## Time per epoch

CPU seconds, for all {users:,} users and all {items:,} items. torchmetrics gives the same value
from the same scores, those of training items left out, in batches of 512 users; until `compute` it
keeps {state:,.0f} MiB. {machine}.

| | seconds |
| --- | --- |
{times}
"""


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--trainings", type=int, default=20)
    parser.add_argument("--sampled", type=int, default=5, help="trainings that are sampled, too")
    parser.add_argument("--budgets", type=int, nargs="*", default=[100])
    parser.add_argument("--write", type=Path)
    parser.add_argument("--cache", type=Path, help="a JSON file that keeps finished trainings")
    asked = parser.parse_args()
    text = page(asked)
    if asked.write is None:
        print(text)
    else:
        asked.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
