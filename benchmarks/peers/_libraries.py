"""How each library evaluates the same factors: its documented way, as fast as it lets us."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.peers import _recbole
from benchmarks.peers._problem import DIMENSIONS, THREADS, K, Problem, Ways, values


@dataclass(frozen=True)
class Peer:
    """``prepare`` does what needs doing once per model or data set, and is not timed."""

    name: str
    library: str  # to import
    distribution: str  # to ask for the version
    how: str
    prepare: Callable[[Problem], Ways]
    most_scores: float = 1e18  # users x items that it can stand
    exact: bool = True


def _blas(threads: int) -> Any:
    import threadpoolctl

    return threadpoolctl.threadpool_limits(threads, user_api="blas")


def _implicit(problem: Problem) -> Ways:
    from implicit.cpu.als import AlternatingLeastSquares
    from implicit.evaluation import ranking_metrics_at_k

    with _blas(1):  # else it warns
        model = AlternatingLeastSquares(factors=DIMENSIONS)
    model.user_factors, model.item_factors = problem.user_factors, problem.item_factors
    train, test = problem.matrix(problem.train), problem.matrix(problem.test)

    def evaluate(threads: int) -> dict[str, float]:
        model.num_threads = threads
        with _blas(1):
            found = ranking_metrics_at_k(
                model, train, test, K=K, show_progress=False, num_threads=threads
            )
        return values(found["precision"], found["ndcg"], found["map"])

    return {f"{n} threads": functools.partial(evaluate, n) for n in sorted({1, THREADS})}


def _rectools(problem: Problem) -> Ways:
    import pandas as pd
    from rectools.dataset import Dataset
    from rectools.metrics import MRR, NDCG, Recall, calc_metrics
    from rectools.models import PureSVDModel

    train = pd.DataFrame(dict(zip(("user_id", "item_id"), problem.train, strict=True)))
    test = pd.DataFrame(dict(zip(("user_id", "item_id"), problem.test, strict=True)))
    dataset = Dataset.construct(train.assign(weight=1.0, datetime=pd.Timestamp("2024-01-01")))
    model = PureSVDModel(factors=DIMENSIONS)
    model.user_factors = problem.user_factors[dataset.user_id_map.external_ids]
    model.item_factors = problem.item_factors[dataset.item_id_map.external_ids]
    model.is_fitted = True
    metrics = {
        "recall": Recall(k=K),
        "ndcg": NDCG(k=K, divide_by_achievable=True),
        "mrr": MRR(k=K),
    }
    users = test["user_id"].to_numpy()

    def evaluate(threads: int) -> dict[str, float]:
        model.recommend_n_threads = threads
        with _blas(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            recommended = model.recommend(users=users, dataset=dataset, k=K, filter_viewed=True)
            found = calc_metrics(metrics, recommended, test)
        return values(found["recall"], found["ndcg"], found["mrr"])

    return {f"{n} threads": functools.partial(evaluate, n) for n in sorted({1, THREADS})}


def _ranx(problem: Problem) -> Ways:
    import ranx

    names = np.array([str(item) for item in range(problem.n_items)])
    users = [str(user) for user in range(problem.n_users)]
    qrels = ranx.Qrels({u: {t: 1} for u, t in zip(users, names[problem.target], strict=True)})
    train = problem.matrix(problem.train)
    items = problem.item_factors.T

    def best(begin: int, block: int) -> tuple[Any, Any]:
        scores = problem.user_factors[begin : begin + block] @ items
        known = train[begin : begin + block]
        scores[
            np.repeat(np.arange(scores.shape[0]), np.diff(known.indptr)), known.indices
        ] = -np.inf
        top = np.argpartition(scores, -K, axis=1)[:, -K:]
        return names[top], np.take_along_axis(scores, top, axis=1).astype(np.float64)

    def evaluate(block: int) -> dict[str, float]:
        run = {}
        for begin in range(0, problem.n_users, block):
            for row, (item, score) in enumerate(zip(*best(begin, block), strict=True), begin):
                run[users[row]] = dict(zip(item.tolist(), score.tolist(), strict=True))
        metrics = [f"recall@{K}", f"ndcg@{K}", f"mrr@{K}"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = ranx.evaluate(qrels, ranx.Run(run), metrics)
        return values(*(found[metric] for metric in metrics))

    return {f"blocks of {n} users": functools.partial(evaluate, n) for n in (128, 512)}


def _lenskit(problem: Problem) -> Ways:
    import lenskit
    import pandas as pd
    from lenskit.als import ImplicitMFScorer
    from lenskit.batch import recommend
    from lenskit.data import ItemListCollection, from_interactions_df
    from lenskit.metrics import NDCG, Recall, RecipRank, RunAnalysis
    from lenskit.metrics.ranking import LogRankWeight

    train = pd.DataFrame(dict(zip(("user_id", "item_id"), problem.train, strict=True)))
    test = pd.DataFrame(dict(zip(("user_id", "item_id"), problem.test, strict=True)))
    data = from_interactions_df(train)
    model = ImplicitMFScorer(embedding_size=DIMENSIONS, epochs=1, user_embeddings="prefer")
    pipeline = lenskit.topn_pipeline(model, n=K)
    pipeline.train(data)
    scorer = pipeline.node("scorer").component
    scorer.user_embeddings = problem.user_factors[data.users.ids()]
    scorer.item_embeddings = problem.item_factors[data.items.ids()]
    truth = ItemListCollection.from_df(test, ["user_id"])
    users = test["user_id"].tolist()
    weight = LogRankWeight(offset=1)  # else the discount is log2(rank), and 1 for ranks 1 and 2

    def evaluate(jobs: int) -> dict[str, float]:
        measures = RunAnalysis()
        for metric in (Recall(n=K), NDCG(n=K, weight=weight), RecipRank(n=K)):
            measures.add_metric(metric)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            lists = recommend(pipeline, users, n=K, n_jobs=jobs)
            found = measures.measure(lists, truth).list_summary()["mean"]
        return values(found[f"Recall@{K}"], found[f"NDCG@{K}"], found[f"RecipRank@{K}"])

    return {f"{n} processes": functools.partial(evaluate, n) for n in sorted({1, THREADS})}


def _full_sort(problem: Problem) -> Ways:
    return _recbole.ways(problem, mode="full", batches={"batches of 4,096 scores": 4096})


def _full_sort_best(problem: Problem) -> Ways:
    width = problem.n_items + 1
    return _recbole.ways(
        problem, mode="full", batches={f"{n} users a batch": n * width for n in (32, 128, 512)}
    )


def _uni99(problem: Problem) -> Ways:
    batches = {f"batches of {n:,} pairs": n for n in (4096, 65_536)}
    return _recbole.ways(problem, mode="uni99", batches=batches)


SMALL = 1e8
PEERS = (
    Peer(
        "implicit",
        "implicit",
        "implicit",
        "`ranking_metrics_at_k(model, train, test, K=10, num_threads=)`, which calls "
        "`model.recommend` for batches of users; the factors stand in an ALS model; BLAS on one "
        "thread, as it asks for; the faster of one and two threads of its own",
        _implicit,
    ),
    Peer(
        "RecTools",
        "rectools",
        "rectools",
        "`model.recommend(users, dataset, k=10, filter_viewed=True)` of a PureSVD model that holds "
        "the factors, then `calc_metrics` with Recall, NDCG (divide_by_achievable) and MRR; the "
        "faster of one and two threads",
        _rectools,
        most_scores=SMALL,
    ),
    Peer(
        "ranx",
        "ranx",
        "ranx",
        "numpy scores blocks of users on two threads, masks training items and takes the first ten "
        "by `argpartition`; then `ranx.Run` from a dict and `ranx.evaluate`; the faster of blocks "
        "of 128 and 512; `Qrels` are made beforehand",
        _ranx,
        most_scores=SMALL,
    ),
    Peer(
        "RecBole full sort",
        "recbole",
        "recbole",
        '`trainer.evaluate(test_data)` of BPR with the factors, mode "full", the default '
        "`eval_batch_size`",
        _full_sort,
        most_scores=SMALL,
    ),
    Peer(
        "RecBole full sort, best batch",
        "recbole",
        "recbole",
        "the same with `eval_batch_size` for 32, 128 or 512 users, whichever is fastest",
        _full_sort_best,
        most_scores=SMALL,
    ),
    Peer(
        "RecBole uni99",
        "recbole",
        "recbole",
        'the same with mode "uni99": 99 negatives per user; the faster of 4,096 and 65,536 pairs a '
        "batch",
        _uni99,
        most_scores=SMALL,
        exact=False,
    ),
    Peer(
        "LensKit",
        "lenskit",
        "lenskit",
        "`lenskit.batch.recommend(pipeline, users, n=10, n_jobs=)` of a top-N pipeline whose "
        'ImplicitMF scorer holds the factors (`user_embeddings="prefer"`), then `RunAnalysis` with '
        "Recall, NDCG (`LogRankWeight(offset=1)`) and RecipRank; the faster of one and two "
        "processes",
        _lenskit,
        most_scores=SMALL,
    ),
)
