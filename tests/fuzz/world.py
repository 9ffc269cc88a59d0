"""A small world in which every public function can be called within milliseconds."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np

import truerank as tr

N_USERS, N_ITEMS = 8, 30


@functools.cache
def scores() -> Any:
    """Scores of all users for all items."""
    return np.random.default_rng(0).normal(size=(N_USERS, N_ITEMS))


@functools.cache
def test() -> Any:
    """One target per user."""
    import pandas as pd

    return pd.DataFrame({"user_id": range(N_USERS), "item_id": range(0, 2 * N_USERS, 2)})


@functools.cache
def train() -> Any:
    """Three training items per user."""
    import pandas as pd

    users = np.repeat(np.arange(N_USERS), 3)
    items = (2 * users + np.tile([5, 7, 11], N_USERS)) % N_ITEMS
    return pd.DataFrame({"user_id": users, "item_id": items})


@functools.cache
def factors() -> tuple[Any, Any]:
    """User and item vectors."""
    draw = np.random.default_rng(1)
    return draw.normal(size=(N_USERS, 3)), draw.normal(size=(N_ITEMS, 3))


@functools.cache
def ranks() -> Any:
    """Sampled ranks among 10 of 500."""
    return np.random.default_rng(2).geometric(0.4, 60).clip(1, 10)


@functools.cache
def ranks_table() -> Any:
    """The ranks of two models, user by user."""
    import pandas as pd

    draw = np.random.default_rng(3)
    users = np.tile(np.arange(60), 2)
    return pd.DataFrame(
        {
            "user_id": users,
            "item_id": users,
            "model": np.repeat(["a", "b"], 60),
            "rank": np.concatenate([ranks(), draw.geometric(0.3, 60).clip(1, 10)]),
        }
    )


@functools.cache
def counts() -> Any:
    """The counts of one model."""
    return tr.RankCounts.from_ranks(ranks(), sample_size=10, n_items=500, replacement=False)


@functools.cache
def paired() -> Any:
    """The counts of two."""
    return tr.PairedCounts.from_table(ranks_table(), sample_size=10, n_items=500, replacement=False)


@functools.cache
def estimates() -> Any:
    """The metrics of one model."""
    return tr.estimate(counts(), ["recall@10", "ndcg@10"])


@functools.cache
def comparison() -> Any:
    """Of two models."""
    return tr.compare(paired(), "recall@10")


@functools.cache
def interactions() -> Any:
    """Training data and targets together."""
    users, items = train()["user_id"].to_numpy(), train()["item_id"].to_numpy()
    return tr.data.Interactions(users, items, timestamp=np.arange(users.size))


@functools.cache
def catalogue() -> Any:
    """Synthetic data."""
    return tr.data.synthetic.catalogue(n_users=20, n_items=30)


@functools.cache
def dense() -> Any:
    """The scorer of `scores`."""
    return tr.scoring.Dense(scores())


@functools.cache
def frozen() -> Any:
    """Negatives of every target."""
    return tr.sampling.freeze(dense(), test(), tr.designs.Fixed(num_negatives=5))


@functools.cache
def plan() -> Any:
    """How to evaluate 30 items."""
    return tr.plan(300, 100, "recall@10", 0.2, designs=["exact"])


@functools.cache
def translation() -> Any:
    """Of two published values."""
    return tr.translate(
        {"a": {"hr@10": 0.6}, "b": {"hr@10": 0.5}},
        "recall@10",
        n_items=500,
        sample_size=100,
        replacement=False,
    )


def files(folder: Path) -> dict[str, Path]:
    """Files of every kind that truerank reads."""
    import pandas as pd

    found = {name: folder / name for name in (
        "ranks.csv", "ranks.parquet", "counts.parquet", "paired.parquet", "test.csv", "train.csv",
        "negatives.parquet", "S.npy", "U.npy", "V.npy", "items.csv", "users.csv", "notes.txt",
        "ranks.tsv", "ranks.csv.gz", "probability.csv", "evaluated.parquet", "published.csv",
        "split", "test.parquet", "ncf.test.negative",
    )}  # fmt: skip
    one = ranks_table()[ranks_table()["model"] == "a"].assign(sample_size=10, n_items=500)
    one = one.drop(columns="model")
    one.to_csv(found["ranks.csv"], index=False)
    one.to_csv(found["ranks.csv.gz"], index=False)
    one.to_csv(found["ranks.tsv"], index=False, sep="\t")
    ranks_table().assign(sample_size=10, n_items=500).to_parquet(found["ranks.parquet"])
    counts().save(found["counts.parquet"])
    paired().save(found["paired.parquet"])
    test().to_csv(found["test.csv"], index=False)
    test().to_parquet(found["test.parquet"])
    train().to_csv(found["train.csv"], index=False)
    frozen().save(found["negatives.parquet"])
    np.save(found["S.npy"], scores())
    np.save(found["U.npy"], factors()[0])
    np.save(found["V.npy"], factors()[1])
    pd.DataFrame({"item_id": range(N_ITEMS)}).to_csv(found["items.csv"], index=False)
    pd.DataFrame({"user_id": range(N_USERS)}).to_csv(found["users.csv"], index=False)
    uniform = pd.DataFrame({"item_id": range(N_ITEMS), "probability": 1 / N_ITEMS})
    uniform.to_csv(found["probability.csv"], index=False)
    pd.DataFrame({"model": ["a", "b"], "hr@10": [0.6, 0.5]}).to_csv(
        found["published.csv"], index=False
    )
    found["notes.txt"].write_text("nothing of interest\n", encoding="utf-8")
    found["ncf.test.negative"].write_text("(0,3)\t1\t2\n(1,4)\t5\t6\n", encoding="utf-8")
    tr.evaluate(dense(), test(), "exact", train=train()).save(found["evaluated.parquet"])
    interactions().leave_one_out("last").save(found["split"])
    return found
