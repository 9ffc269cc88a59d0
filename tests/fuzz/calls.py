"""A call of every public function that works; the fuzzer then changes one argument of it.

Not here: the classes of results, which truerank makes itself, and the methods that estimators,
scorers, designs and schemes have for truerank to call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tests.fuzz import world

import truerank as tr

Call = tuple[Callable[..., Any], Mapping[str, Any]]

SAMPLED = {"sample_size": 10, "n_items": 500, "replacement": False}
QUICK = {"metrics": ["recall@10"], "confidence": None}


def calls(folder: Path) -> dict[str, Call]:
    """By public name: what is called and with what."""
    paths = world.files(folder)
    counts, table, frozen = world.counts(), world.ranks_table(), world.frozen()
    one = table[table["model"] == "a"].drop(columns="model")
    metric = tr.Metric("recall", 10)
    scheme = tr.Scheme(replacement=False)
    u, v = world.factors()
    data = world.catalogue()
    synthetic = tr.data.synthetic.models(data)[0]
    drawn = tr.data.synthetic.negatives(data, num_negatives=5)
    interactions = world.interactions()
    split = interactions.leave_one_out("last")
    est = world.estimates()
    distribution, posterior = est.distribution, est.posterior
    weights = np.eye(world.N_ITEMS)
    from scipy import sparse

    history = sparse.csr_matrix(np.eye(world.N_USERS, world.N_ITEMS))
    evaluated = {
        "train": world.train(),
        "ties": "spread",
        "seed": 0,
        "keep_target": False,
        "keep_train": False,
    }
    estimated = {"scope": "these-users", "seed": 0}
    return {
        # -- verbs
        "estimate": (
            lambda **said: _use(tr.estimate(**said)),
            {"counts": counts, "metrics": ["recall@10"], "estimator": "smooth", "confidence": 0.9,
             "population_size": None, "interval": "total", "support": "auto", "plug_in": "plain",
             "clip": False, "progress": None, **estimated},
        ),
        "estimate mle": (
            lambda **said: _use(tr.estimate(**said)),
            {"counts": counts, "metrics": "recall@10", "estimator": "mle", "confidence": 0.9,
             "population_size": 100, "scope": "population", "seed": 0},
        ),
        "compare": (
            tr.compare,
            {"models": world.paired(), "metric": "recall@10", "estimator": "smooth",
             "confidence": 0.9, "population_size": None, "baseline": "a", "unpaired": False,
             "support": "auto", "progress": None, **estimated},
        ),
        "compare tables": (
            tr.compare,
            {"models": table, "metric": "recall@10", "by": "model", "sample_size": 10,
             "n_items": 500, "replacement": False, "columns": {"model": "model"}},
        ),
        "count": (
            tr.count,
            {"scorer": world.dense(), "test": world.test(), "design": "exact", "baseline": None,
             "progress": None, **evaluated},
        ),
        "rank": (
            tr.rank,
            {"scorer": world.dense(), "test": world.test(), "design": tr.designs.Fixed(
                num_negatives=5), "progress": None, **evaluated, "ties": "random"},
        ),
        "evaluate": (
            tr.evaluate,
            {"scorer": world.dense(), "test": world.test(), "design": "exact", "scope": None,
             "progress": None, "estimator": "smooth", **QUICK, **evaluated},
        ),
        "evaluate auto": (
            tr.evaluate,
            {"scorer": world.dense(), "test": world.test(), "design": "auto", **QUICK},
        ),
        "audit": (
            tr.audit,
            {"negatives": frozen, "test": world.test(), "train": world.train(), "counts": counts,
             "scores": world.scores(), "item_ids": np.arange(world.N_ITEMS)},
        ),
        "plan": (
            tr.plan,
            {"n_items": 300, "n_users": 100, "metric": "recall@10", "error": 0.2, "like": 0.3,
             "designs": ["exact"], "fewer_users": False, "estimator": "smooth", "confidence": 0.9,
             "scope": "these-users", "models": 1, "seed": 0, "progress": None},
        ),
        "translate": (
            tr.translate,
            {"sampled": {"hr@10": 0.6}, "metrics": "recall@10", "n_items": 500, "sample_size": 100,
             "num_negatives": None, "replacement": False, "n_users": 1000, "runs": 1,
             "training_items": "left-out", "confidence": 0.9, "decreasing": False,
             "progress": None},
        ),
        # -- counts
        "RankCounts.from_ranks": (
            tr.RankCounts.from_ranks,
            {"ranks": [1, 2, 3], "num_negatives": None, "ladder": None, "hits": 1,
             "user_ids": [1, 2, 3], "item_ids": [1, 2, 3], "weights": [1, 1, 1],
             "scores": [1.0, 2.0, 3.0], "rank_among": None, "repeats": None,
             "shared_negatives": None, "place": None, "n_targets": None, "offset": None,
             **SAMPLED},
        ),
        "RankCounts.from_ranks targets": (
            tr.RankCounts.from_ranks,
            {"ranks": [1, 2, 3], "user_ids": ["a", "a", "b"], "item_ids": [1, 2, 3],
             "rank_among": "negatives", "shared_negatives": True, **SAMPLED},
        ),
        "RankCounts.from_exact_ranks": (
            tr.RankCounts.from_exact_ranks,
            {"ranks": [1, 2, 3], "n_items": 500, "user_ids": [1, 2, 3], "item_ids": None,
             "weights": None, "rank_among": None, "repeats": None},
        ),
        "RankCounts.from_outcomes": (
            tr.RankCounts.from_outcomes,
            {"scheme": scheme, "n_items": 500, "sample_size": 10, "sampled_rank": [1, 2],
             "weight": [1, 2], "replicate": None, "place": None, "n_targets": None,
             "offset": None, "block": None, "n_users": None, "squared_weight": None},
        ),
        "RankCounts.from_table": (
            tr.RankCounts.from_table,
            {"table": one, "num_negatives": None, "ladder": None, "hits": 1, "rank_among": None,
             "repeats": None, "shared_negatives": None, "columns": None, **SAMPLED},
        ),
        "RankCounts.by_model": (
            tr.RankCounts.by_model, {"table": table, "by": "model", **SAMPLED},
        ),
        "RankCounts.from_columns": (
            tr.RankCounts.from_columns,
            {"table": counts.to_arrow(), "n_users": 60.0, "squared_weight": 60.0},
        ),
        "RankCounts.load": (tr.RankCounts.load, {"path": paths["counts.parquet"]}),
        "RankCounts.save": (counts.save, {"path": folder / "x.parquet", "notes": None}),
        "RankCounts.as_users": (counts.as_users, {"n_users": 10.0}),
        "RankCounts.of_replicate": (counts.of_replicate, {"group": 0}),
        "RankCounts.reweighted": (counts.reweighted, {"weight": np.ones(counts.n_outcomes)}),
        "RankCounts.select": (counts.select, {"which": counts.sampled_rank > 1}),
        "PairedCounts.from_table": (
            tr.PairedCounts.from_table, {"table": table, "by": "model", "columns": None, **SAMPLED},
        ),
        "PairedCounts.from_tables": (
            tr.PairedCounts.from_tables, {"models": {"a": one, "b": one}, **SAMPLED},
        ),
        "PairedCounts.load": (tr.PairedCounts.load, {"path": paths["paired.parquet"]}),
        "PairedCounts.save": (world.paired().save, {"path": folder / "y.parquet"}),
        "PairedCounts.joint_counts": (
            world.paired().joint_counts, {"first": "a", "second": "b"},
        ),
        "PairedCounts.outcomes": (world.paired().outcomes, {"model": "a"}),
        "PairedCounts.spread": (world.paired().spread, {"model": "a"}),
        "Scheme": (tr.Scheme, {"replacement": True, "ladder": (10, 20), "hits": 1}),
        "Scheme.parse": (tr.Scheme.parse, {"name": "without"}),
        # -- results
        "Estimates.again": (est.again, {"metrics": "recall@20"}),
        "Estimates.verdict": (est.verdict, {"metric": "recall@10", "error": 0.1}),
        "Estimates.resolution": (
            est.resolution, {"error": 0.3, "metric": "recall", "seed": 0, "progress": None},
        ),
        "Estimates.with_intervals_of": (est.with_intervals_of, {"metrics": "recall@10"}),
        "Comparison.sure": (
            world.comparison().sure, {"difference": world.comparison().differences[0]},
        ),
        "Plan.get": (world.plan().get, {"name": "exact"}),
        "Plan.half_width": (world.plan().half_width, {"error": 0.1}),
        "Translation.bound": (world.translation().bound, {"key": ("a", "recall@10")}),
        # -- metrics, mapping
        "Metric": (tr.Metric, {"name": "recall", "k": 10, "function": None}),
        "Metric.gain": (
            metric.gain,
            {"rank": [1, 2], "n_items": 500, "place": 1, "n_targets": 1, "offset": 0},
        ),
        "Metric.shape": (
            metric.shape,
            {"rank": [1, 2], "n_items": 500, "place": 1, "n_targets": 1, "offset": 0},
        ),
        "Metric.ideal": (metric.ideal, {"n_targets": 2}),
        "Metric.share": (metric.share, {"n_targets": 2}),
        "metrics.parse": (tr.metrics.parse, {"metrics": "recall", "k": 10}),
        "metrics.key": (tr.metrics.key, {"metric": "hr@10"}),
        "metrics.ap_found": (
            tr.metrics.ap_found, {"ranks": tr.rank(world.dense(), world.test()), "k": 3},
        ),
        "metrics.share": (tr.metrics.share, {"above": 1, "upto": 10}),
        "mapping.beta": (
            tr.mapping.beta, {"k": [1, 2], "n_items": 500, "sample_size": 10, "a": 0.5},
        ),
        "mapping.bound": (tr.mapping.bound, {"k": [1, 2], "n_items": 500, "sample_size": 10}),
        "mapping.linear": (tr.mapping.linear, {"k": [1, 2], "n_items": 500, "sample_size": 10}),
        "mapping.get": (tr.mapping.get, {"name": "bound", "counts": counts}),
        "mapping.fit_beta": (
            tr.mapping.fit_beta, {"counts": counts, "start": 0.5, "tolerance": 1e-6, "steps": 50},
        ),
        # -- data
        "data.read": (
            tr.data.read,
            {"source": world.train(), "format": None, "columns": {"user_id": "user_id"},
             "min_rating": None, "name": "x"},
        ),
        "data.read_split": (tr.data.read_split, {"folder": paths["split"], "name": None}),
        "data.Interactions": (
            tr.data.Interactions,
            {"user_id": [1, 2], "item_id": ["a", "b"], "timestamp": [1, 2], "name": "x"},
        ),
        "data.Split": (
            tr.data.Split,
            {"train": split.train, "test": split.test, "name": "x", "protocol": {}},
        ),
        "data.Split.drop_unseen": (split.drop_unseen, {"users": True, "items": True}),
        "data.Split.save": (split.save, {"folder": folder / "other"}),
        "data.Interactions.k_core": (interactions.k_core, {"k": 1, "items": None}),
        "data.Interactions.leave_k_out": (
            interactions.leave_k_out, {"k": 1, "how": "last", "seed": 0, "too_few": "train"},
        ),
        "data.Interactions.leave_one_out": (
            interactions.leave_one_out, {"how": "random", "seed": 0, "too_few": "train"},
        ),
        "data.Interactions.split_by_time": (
            interactions.split_by_time, {"time": 10, "share": None},
        ),
        "data.Interactions.split_per_user": (
            interactions.split_per_user,
            {"share": 0.5, "how": "random", "seed": 0, "too_few": "train"},
        ),
        "data.Interactions.split_random": (interactions.split_random, {"share": 0.5, "seed": 0}),
        "data.Interactions.save": (interactions.save, {"path": folder / "z.parquet"}),
        "data.Interactions.take": (interactions.take, {"rows": [0, 1]}),
        "data.Card.quantiles": (tr.data.Card.quantiles, {"counts": [1, 2, 3]}),
        "data.synthetic.catalogue": (
            tr.data.synthetic.catalogue, {"n_users": 20, "n_items": 30, "seed": 0},
        ),
        "data.synthetic.models": (tr.data.synthetic.models, {"data": data, "seed": 0}),
        "data.synthetic.exact_ranks": (
            tr.data.synthetic.exact_ranks, {"model": synthetic, "targets": data.targets},
        ),
        "data.synthetic.interactions": (
            tr.data.synthetic.interactions,
            {"data": data, "per_user": 6.0, "at_least": 2, "seed": 0},
        ),
        "data.synthetic.negatives": (
            tr.data.synthetic.negatives, {"data": data, "num_negatives": 5, "seed": 0},
        ),
        "data.synthetic.sampled_ranks": (
            tr.data.synthetic.sampled_ranks,
            {"model": synthetic, "targets": data.targets, "drawn": drawn},
        ),
        # -- designs
        "designs.Adaptive": (
            tr.designs.Adaptive,
            {"users": None, "stratified": False, "budget": 20, "start": 8, "growth": 1.5,
             "hits": 1, "stop": None, "replacement": False, "draw": tr.designs.Uniform()},
        ),
        "designs.LJ24": (
            tr.designs.LJ24,
            {"users": None, "stratified": False, "budget": None, "start": 8, "growth": 2.0,
             "hits": 1, "stop": 0.1, "replacement": False, "draw": tr.designs.Uniform()},
        ),
        "designs.Auto": (
            tr.designs.Auto,
            {"users": None, "stratified": False, "error": 0.1, "budget": None, "seconds": None},
        ),
        "designs.Exact": (tr.designs.Exact, {"users": None, "stratified": False}),
        "designs.Fixed": (
            tr.designs.Fixed,
            {"users": None, "stratified": False, "num_negatives": 5, "sample_size": None,
             "replacement": False, "shared_by": None, "draw": tr.designs.Uniform()},
        ),
        "designs.Frozen": (
            tr.designs.Frozen,
            {"negatives": frozen, "users": None, "stratified": False, "probability": None,
             "drop_targets": False},
        ),
        "designs.FrozenNegatives": (
            tr.designs.FrozenNegatives,
            {"user_id": frozen.user_id, "item_id": frozen.item_id, "start": frozen.start,
             "negative": frozen.negative, "replacement": False, "seed": 0, "protocol": {},
             "path": None},
        ),
        "designs.FrozenNegatives.load": (
            tr.designs.FrozenNegatives.load, {"path": paths["negatives.parquet"]},
        ),
        "designs.FrozenNegatives.read": (
            tr.designs.FrozenNegatives.read,
            {"path": paths["negatives.parquet"], "replacement": False},
        ),
        "designs.FrozenNegatives.from_ncf": (
            tr.designs.FrozenNegatives.from_ncf,
            {"path": paths["ncf.test.negative"], "replacement": False},
        ),
        "designs.FrozenNegatives.of_users": (
            frozen.of_users, {"user_ids": np.arange(world.N_USERS)},
        ),
        "designs.FrozenNegatives.save": (frozen.save, {"path": folder / "n.parquet"}),
        "designs.Probability": (
            tr.designs.Probability,
            {"item_id": np.arange(3), "probability": np.full(3, 1 / 3), "path": None},
        ),
        "designs.Probability.of": (
            tr.designs.Probability.of, {"source": paths["probability.csv"]},
        ),
        "designs.Probability.log_uniform": (
            tr.designs.Probability.log_uniform, {"item_ids": [1, 2, 3]},
        ),
        "designs.Probability.popularity": (
            tr.designs.Probability.popularity,
            {"train": world.train(), "alpha": 1.0, "add": 0.0, "item_ids": None},
        ),
        "designs.Probability.of_items": (
            tr.designs.Probability.log_uniform([1, 2, 3]).of_items, {"item_ids": np.array([1, 2])},
        ),
        "designs.get": (tr.designs.get, {"design": "adaptive(budget=100)"}),
        "designs.from_dict": (tr.designs.from_dict, {"options": {"name": "exact"}}),
        "designs.from_json": (tr.designs.from_json, {"text": '{"name": "exact"}'}),
        "designs.Adaptive.ladder": (tr.designs.Adaptive().ladder, {"catalogue": 500}),
        # -- estimators
        "estimators.get": (tr.estimators.get, {"estimator": "bv(gamma=0.1)"}),
        "estimators.describe": (tr.estimators.describe, {"estimator": tr.estimators.BV()}),
        "estimators.BV": (_fitting("BV"), {"prior": None, "gamma": 0.1}),
        "estimators.CLS": (_fitting("CLS"), {"nonnegative": False, "prior": None}),
        "estimators.MES": (_fitting("MES"), {"eta": 0.01}),
        "estimators.MLE": (_fitting("MLE"), {"steps": 5, "tolerance": 1e-6}),
        "estimators.WMLE": (
            _fitting("WMLE"), {"steps": 5, "tolerance": 1e-6, "decay": "ndcg", "c": 10.0},
        ),
        "estimators.MN": (_fitting("MN"), {"prior": "mle"}),
        "estimators.Mapped": (_fitting("Mapped"), {"mapping": "bound"}),
        "estimators.RankEstimate": (_fitting("RankEstimate"), {"interpolate": False}),
        "estimators.Smooth": (_fitting("Smooth"), {"n_functions": None}),
        "estimators.Estimator.supports": (tr.estimators.Naive().supports, {"metric": metric}),
        "estimators.RankDistribution.cdf": (distribution.cdf, {"k": [1, 10]}),
        "estimators.RankDistribution.pmf": (distribution.pmf, {"k": [1, 10]}),
        "estimators.RankDistribution.expect": (distribution.expect, {"metrics": [metric]}),
        "estimators.RankDistribution.masses_on": (
            distribution.masses_on, {"support": distribution.support},
        ),
        "estimators.Support.locate": (distribution.support.locate, {"rank": [1, 10]}),
        "estimators.Posterior.covariance": (
            posterior.covariance, {"metrics": [metric], "scope": "these-users"},
        ),
        "estimators.Posterior.variance": (
            posterior.variance, {"metrics": [metric], "scope": "these-users"},
        ),
        "estimators.Posterior.mean": (
            posterior.mean, {"metrics": [metric], "scope": "these-users"},
        ),
        "estimators.Posterior.distribution": (
            posterior.distribution, {"scope": "these-users"},
        ),
        "estimators.Posterior.draw": (
            posterior.draw,
            {"n_draws": 3, "rng": np.random.default_rng(0), "scope": "these-users"},
        ),
        "estimators.Posterior.gains": (
            posterior.gains, {"outcomes": counts, "metrics": [metric]},
        ),
        "estimators.diagnostics.error_bound": (
            tr.estimators.diagnostics.error_bound,
            {"counts": counts, "metric": "recall@10", "estimator": "bv", "support": "auto"},
        ),
        "estimators.diagnostics.sampled_recall_variance": (
            tr.estimators.diagnostics.sampled_recall_variance,
            {"distribution": distribution, "k": 5, "sample_size": 10, "n_users": 60.0,
             "replacement": True},
        ),
        # -- models and scorers
        **{
            f"models.{kind.__name__}": (_fitted(kind), options)
            for kind, options in (
                (tr.models.ALS, {"dimensions": 2, "regularisation": 0.1, "observed_weight": 1.0,
                                 "iterations": 2}),
                (tr.models.EASE, {"regularisation": 5.0, "precision": "float32"}),
                (tr.models.IALS, {"dimensions": 2, "regularisation": 1.0,
                                  "unobserved_weight": 0.2, "iterations": 2, "tolerance": None}),
                (tr.models.ItemKNN, {"neighbours": 5, "column_neighbours": None, "exponent": 1.0,
                                     "keep_self": False, "scale_rows": False}),
            )
        },
        "models.Model.fit": (
            tr.models.Popularity().fit,
            {"train": world.train(), "user_ids": None, "item_ids": None, "n_users": 8,
             "n_items": 30, "seed": 0, "progress": None},
        ),
        "models.fit_cached": (
            tr.models.fit_cached,
            {"model": tr.models.Popularity(), "train": world.train(), "folder": folder / "cache",
             "user_ids": None, "item_ids": None, "n_users": 8, "n_items": 30, "seed": 0},
        ),
        "scoring.Dense": (
            lambda **said: _score(tr.scoring.Dense(**said)),
            {"scores": world.scores(), "user_ids": None, "item_ids": None},
        ),
        "scoring.Factors": (
            lambda **said: _score(tr.scoring.Factors(**said)),
            {"user_factors": u, "item_factors": v, "item_biases": np.zeros(world.N_ITEMS),
             "cosine": False, "user_ids": None, "item_ids": None},
        ),
        "scoring.Factors.with_users": (
            tr.scoring.Factors(u, v).with_users, {"user_factors": u, "user_ids": None},
        ),
        "scoring.ItemWeights": (
            lambda **said: _score(tr.scoring.ItemWeights(**said)),
            {"history": history, "weights": weights, "user_ids": None, "item_ids": None},
        ),
        "scoring.Callable": (
            lambda **said: _score(tr.scoring.Callable(**said)),
            {"function": _scored, "item_ids": None, "n_items": 30, "user_ids": None,
             "batch_pairs": 4096, "cache": None, "name": None, "retries": 1, "backoff": 0.0,
             "timeout": None, "concurrency": 1},
        ),
        "sampling.freeze": (
            tr.sampling.freeze,
            {"scorer": world.dense(), "test": world.test(),
             "design": tr.designs.Fixed(num_negatives=3), "train": None, "seed": 0,
             "keep_target": False},
        ),
        # -- what is shown
        "report.render": (
            tr.report.render,
            {"models": {"a": counts}, "title": "x", "metrics": "recall@10", "estimator": "smooth",
             "confidence": 0.9, "scope": "these-users", "population_size": None,
             "unpaired": False, "audit": None, "seed": 0, "progress": None},
        ),
        "report.write": (
            tr.report.write, {"models": {"a": counts}, "path": folder / "r.html",
                              "metrics": "recall@10"},
        ),
    }  # fmt: skip


def _use(est: Any) -> None:
    """Read what is found only when it is asked for."""
    for one in est.values():
        assert one.low is None or one.low <= one.high
    est.to_dict()


def _fitting(name: str) -> Callable[..., Any]:
    def fit(**options: Any) -> Any:
        estimator = getattr(tr.estimators, name)(**options)
        return tr.estimate(world.counts(), "recall@10", estimator=estimator, confidence=None)

    return fit


def _fitted(kind: Any) -> Callable[..., Any]:
    return lambda **options: kind(**options).fit(world.train())


def _score(scorer: Any) -> Any:
    return tr.count(scorer, world.test(), "exact")


def _scored(users: Any, items: Any) -> Any:
    return (np.asarray(users)[:, None] * 7 + np.asarray(items) * 3) % 11
