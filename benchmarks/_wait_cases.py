"""What users may wait for: files to start from, and a command or some Python for each wait."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ML_1M = Path(__file__).parents[2] / "shared" / "data" / "ml-1m"


@dataclass(frozen=True)
class Wait:
    """A wait and its goal.

    ``command`` are arguments of ``truerank``, or one string of Python that may use ``cpu()``, the
    processor seconds so far, and sets ``answer``. ``unit`` is "s" for processor seconds and "x" for
    a ratio that the Python finds itself. ``threads`` are those of BLAS.
    """

    name: str
    goal: float
    command: tuple[str, ...] | str
    make: Callable[[Path], object] = field(default=lambda folder: None)
    megabytes: float | None = None
    unit: str = "s"
    threads: int = 1
    data: Path | None = None


def power_law(n_items: int, n_users: int, seed: int = 1, power: float = 0.2) -> NDArray[np.int64]:
    """Global ranks with recall@K = (K / N)^power."""
    rng = np.random.default_rng(seed)
    return np.ceil(n_items * rng.random(n_users) ** (1.0 / power)).astype(np.int64)


def sampled(rank: NDArray[np.int64], n_items: int, seed: int = 2) -> NDArray[np.int64]:
    """Ranks among 99 negatives drawn with replacement."""
    rng = np.random.default_rng(seed)
    return 1 + rng.binomial(99, (rank - 1) / (n_items - 1))


def one_model(n_items: int, n_users: int = 10_000) -> Callable[[Path], object]:
    """A file of ranks: ``r<N>.csv``."""

    def make(folder: Path) -> None:
        rank = sampled(power_law(n_items, n_users), n_items)
        rows = "".join(f"{user},{one}\n" for user, one in enumerate(rank.tolist()))
        (folder / f"r{n_items}.csv").write_text("user_id,rank\n" + rows)

    return make


def models(number: int, n_users: int, n_items: int = 3706) -> Callable[[Path], object]:
    """A file with a column model: ``m<number>.parquet``, of the same users."""

    def make(folder: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        rng = np.random.default_rng(0)
        taste = rng.random(n_users)
        tables = []
        for model in range(number):
            mixed = np.where(rng.random(n_users) < 0.7, taste, rng.random(n_users))
            power = 0.25 + 0.1 * model / number
            rank = np.ceil(n_items * mixed ** (1 / power)).astype(np.int64)
            ranks = sampled(rank, n_items, seed=model)
            columns = {"user_id": np.arange(n_users), "rank": ranks}
            columns["model"] = np.full(n_users, f"model-{model:04}")
            tables.append(pa.table(columns))
        pq.write_table(pa.concat_tables(tables), folder / f"m{number}.parquet")

    return make


def factors(folder: Path) -> None:
    """U.npy and V.npy of ml-1m, by some steps of iALS."""
    from dataclasses import replace

    import pyarrow.parquet as pq

    from truerank.models import IALS

    train, test = (pq.read_table(ML_1M / f"{part}.parquet") for part in ("train", "test"))
    fitted = replace(IALS.kr20_x(), iterations=3, tolerance=None).fit(
        train, user_ids=test["user_id"], item_ids=test["item_id"], seed=0, progress=False
    )
    np.save(folder / "U.npy", fitted.user_factors)
    np.save(folder / "V.npy", fitted.item_factors)
    for name, ids in (("user", fitted.user_ids), ("item", fitted.item_ids)):
        known = ids.values(np.arange(ids.n_rows)).tolist()
        (folder / f"{name}s.csv").write_text("\n".join([f"{name}_id", *map(str, known)]) + "\n")


def long_csv(folder: Path) -> None:
    """Ten million ranks."""
    rank = sampled(power_law(100_000, 10_000_000), 100_000)
    import pyarrow as pa
    import pyarrow.csv

    pa.csv.write_csv(pa.table({"user_id": np.arange(rank.size), "rank": rank}), folder / "long.csv")


def pools(folder: Path) -> None:
    """A million rows with 1e5 pools."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    pool = rng.integers(100_000, 200_000, 1_000_000)
    rank = 1 + rng.binomial(99, rng.random(pool.size) ** 5)
    table = {"rank": rank, "n_items": pool, "sample_size": np.full(pool.size, 100)}
    pq.write_table(pa.table(table), folder / "pools.parquet")


def outcomes(folder: Path) -> None:
    """A million distinct outcomes: each user has a pool of its own."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    pool = np.arange(100_000, 1_100_000)
    rank = 1 + rng.binomial(99, rng.random(pool.size) ** 5)
    table = {"rank": rank, "n_items": pool, "sample_size": np.full(pool.size, 100)}
    pq.write_table(pa.table(table), folder / "outcomes.parquet")


def many_sizes(folder: Path) -> None:
    """A million distinct outcomes in samples of 900 sizes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    pool = np.arange(100_000, 1_100_000)
    size = rng.integers(100, 1000, pool.size)
    rank = 1 + rng.binomial(size - 1, rng.random(pool.size) ** 5)
    table = {"rank": rank, "n_items": pool, "sample_size": size}
    pq.write_table(pa.table(table), folder / "sizes.parquet")


def long_parquet(folder: Path) -> None:
    """A hundred million ranks."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("rank", pa.int32())])
    with pq.ParquetWriter(folder / "long.parquet", schema) as file:
        for seed in range(100):
            rank = sampled(power_law(100_000, 1_000_000, seed), 100_000, seed)
            file.write_table(pa.table({"rank": rank.astype(np.int32)}))


_TABLES = """
import numpy as np, truerank as tr
rng = np.random.default_rng(0)
tables = []
for number in range(221):
    n_items = int(rng.integers(500, 20000))
    rank = np.ceil(n_items * rng.random(300) ** 4)
    above = rng.binomial(99, (rank - 1) / (n_items - 1))
    tables.append(tr.RankCounts.from_ranks(above + 1, n_items=n_items, sample_size=100))
begin = cpu()
for one in tables:
    found = tr.estimate(one, ["recall@10", "ndcg@10"], estimator="{}", progress=False)
    found["recall@10"].low
answer = cpu() - begin
"""
_FITS = """
import numpy as np, truerank as tr
rng = np.random.default_rng(0)
begin = cpu()
for number in range(40):
    rank = np.ceil(3706 * rng.random(500) ** 4)
    above = rng.binomial(99, (rank - 1) / 3705)
    counts = tr.RankCounts.from_ranks(above + 1, n_items=3706, sample_size=100)
    tr.estimate(counts, "recall@10")["recall@10"].low
answer = cpu() - begin
"""
_UNIQUE = """
import time
import numpy as np, truerank as tr
ranks = np.random.default_rng(0).integers(1, 101, 1_000_000)
def best(call):
    times = []
    for _ in range(9):
        begin = time.process_time(); call(); times.append(time.process_time() - begin)
    return min(times)
ours = best(lambda: tr.RankCounts.from_ranks(ranks, n_items=3706, sample_size=100))
answer = ours / best(lambda: np.unique(ranks, return_counts=True))
"""
_FIRST = """
import time
import numpy as np, truerank as tr, scipy.special
tr.estimate
counts = tr.RankCounts.from_ranks([1, 1, 2, 5, 20] * 100, num_negatives=99, n_items=3706)
times = []
for _ in range(8):
    begin = cpu(); tr.estimate(counts, "recall@10", confidence=None); times.append(cpu() - begin)
answer = times[0] - min(times[1:])
"""
_OWN_POOLS = """
import numpy as np, pyarrow.parquet as pq, truerank as tr
train = pq.read_table("{folder}/train.parquet")
test = pq.read_table("{folder}/test.parquet")
users, seen = np.unique(train["user_id"].to_numpy(), return_counts=True)
pool = {catalogue} - seen[np.searchsorted(users, test["user_id"].to_numpy())]
rng = np.random.default_rng(0)
rank = np.ceil(pool * rng.random(pool.size) ** 4)
above = rng.binomial(99, (rank - 1) / (pool - 1))
counts = tr.RankCounts.from_ranks(above + 1, n_items=pool, sample_size=100, replacement=True)
tr.estimate(counts.select(np.arange(counts.n_outcomes) < 50), "recall@10")["recall@10"].low
metrics = ["recall@10", "ndcg@10", "ap", "auc"]
begin = cpu(); found = tr.estimate(counts, metrics); value = cpu() - begin
begin = cpu(); found["recall@10"].low; interval = cpu() - begin
answer = {answer}
"""


_USERS = """
import numpy as np, truerank as tr
rng = np.random.default_rng(0)
users = rng.standard_normal((1_000_000, 64), dtype=np.float32)
items = rng.standard_normal((10_000, 64), dtype=np.float32)
test = dict(user_id=np.arange(1_000_000), item_id=rng.integers(0, 10_000, 1_000_000))
import pandas as pd
scorer, test = tr.scoring.Factors(users, items), pd.DataFrame(test)
begin = cpu()
tr.count(scorer, test, {design}, seed=0)
answer = cpu() - begin
"""
_GATHER = """
from benchmarks import sampled
lines = {line.name: line for line in sampled._speed(sampled.MIDDLE, goals=False)}
answer = 1 / lines[f"99 negatives, {sampled.MIDDLE}, without, two threads"].ratio
"""
_PRODUCT = """
from benchmarks import exact
(line,) = [line for line in exact._speed(exact.SIZES[0]) if line.name.endswith("numpy")]
answer = 1 / line.ratio
"""


def own_pools(dataset: str, catalogue: int, answer: str) -> str:
    """Users with pools of their own, as where training items are left out."""
    folder = ML_1M.with_name(dataset)
    return _OWN_POOLS.format(folder=folder, catalogue=catalogue, answer=answer)


SAMPLES = ("--n-items", "3706", "--sample-size", "100")


def estimate(n_items: int, *more: str) -> tuple[str, ...]:
    """The command for ``r<N>.csv``."""
    where = ("--n-items", str(n_items), "--sample-size", "100")
    return ("estimate", f"r{n_items}.csv", *where, *more)


EVALUATE = (
    *("evaluate", "--user-factors", "U.npy", "--item-factors", "V.npy", "--users-file"),
    *("users.csv", "--items", "items.csv", "--test", str(ML_1M / "test.parquet")),
    *("--train", str(ML_1M / "train.parquet"), "--design", "fixed(num_negatives=99)"),
)
SIZES = (5_000, 10_000_000, 100_000_000, 1_000_000_000)

WAITS: dict[str, Wait] = {
    **{
        f"estimate-{n:.0e}": Wait(
            f"`truerank estimate`, text with verdicts, N = {n:.0e}", 1.2, estimate(n), one_model(n)
        )
        for n in SIZES
    },
    "estimate-50": Wait(
        "`truerank estimate --by model`, 50 models",
        3.0,
        ("estimate", "m50.parquet", "--by", "model", *SAMPLES),
        models(50, 6040),
    ),
    "evaluate": Wait("`truerank evaluate`, sampled, ml-1m", 3.0, EVALUATE, factors, data=ML_1M),
    "report-3": Wait(
        "`truerank report`, 3 models of 6,040 users",
        5.0,
        ("report", "m3.parquet", *SAMPLES, "-o", "r3.html"),
        models(3, 6040),
    ),
    "report-50": Wait(
        "`truerank report`, 50 models of 6,040 users",
        12.0,
        ("report", "m50.parquet", *SAMPLES, "-o", "r50.html"),
        models(50, 6040),
    ),
    "plan-1e6": Wait(
        "`truerank plan`, 1e6 items, 1e5 users",
        4.0,
        ("plan", "--n-items", "1000000", "--n-users", "100000"),
    ),
    "plan-1e9": Wait(
        "`truerank plan`, 1e9 items, 1e6 users",
        10.0,
        ("plan", "--n-items", "1000000000", "--n-users", "1000000"),
    ),
    "compare-1000": Wait(
        "`truerank compare`, 1,000 models of 1,000 users",
        20.0,
        ("compare", "m1000.parquet", *SAMPLES, "--json", "-o", "c.json"),
        models(1000, 1000),
        megabytes=1000,
    ),
    "cls-221": Wait("cls on 221 small tables, with intervals", 20.0, _TABLES.format("cls")),
    "mes-221": Wait("mes on 221 small tables, with intervals", 20.0, _TABLES.format("mes")),
    "csv-1e7": Wait(
        "`truerank estimate`, CSV of 1e7 ranks",
        6.0,
        ("estimate", "long.csv", "--n-items", "100000", "--sample-size", "100"),
        long_csv,
        megabytes=500,
    ),
    "pools-1e5": Wait(
        "`truerank estimate`, 1e6 rows with 1e5 pools",
        5.0,
        ("estimate", "pools.parquet"),
        pools,
        megabytes=700,
    ),
    "outcomes-1e6": Wait(
        "`truerank estimate`, 1e6 distinct outcomes, one sample size",
        5.0,
        ("estimate", "outcomes.parquet"),
        outcomes,
        megabytes=700,
    ),
    "sizes-1e6": Wait(
        "`truerank estimate`, 1e6 distinct outcomes, 900 sample sizes",
        5.0,
        ("estimate", "sizes.parquet"),
        many_sizes,
        megabytes=700,
    ),
    "parquet-1e8": Wait(
        "`truerank estimate`, Parquet of 1e8 ranks",
        13.0,
        ("estimate", "long.parquet", "--n-items", "100000", "--sample-size", "100"),
        long_parquet,
        megabytes=340,
    ),
    **{
        f"users-1e6-{design.split()[0]}": Wait(
            f"`tr.count`, a million users x 10,000 items, {design}, two threads",
            goal,
            _USERS.format(design=designs),
            threads=2,
        )
        for design, designs, goal in (
            ("99 negatives", "tr.designs.Fixed(num_negatives=99)", 5.6),
            ("adaptive within 100", "tr.designs.Adaptive(budget=100)", 16.5),
        )
    },
    "threads-1": Wait("40 small fits with intervals, one BLAS thread", 7.3, _FITS),
    "threads-2": Wait("40 small fits with intervals, two BLAS threads", 7.3, _FITS, threads=2),
    "unique": Wait("`RankCounts.from_ranks` of 1e6 ranks, times np.unique", 2.0, _UNIQUE, unit="x"),
    "gather": Wait(
        "99 negatives, 40,000 items, two threads, times numpy's gather and einsum",
        1 / 8,
        _GATHER,
        unit="x",
        threads=2,
    ),
    "product": Wait(
        "exact ranks without numba, 6,040 x 3,706, times the bare product", 1.3, _PRODUCT, unit="x"
    ),
    "first-fit": Wait("first fit of a process, beyond a later one", 0.05, _FIRST),
    "interval-ml-1m": Wait(
        "interval of smooth, own pools, ml-1m",
        0.3,
        own_pools("ml-1m", 3706, "interval"),
        data=ML_1M,
    ),
    "interval-toys": Wait(
        "interval of smooth, own pools, toys, times the value",
        3.0,
        own_pools("toys", 11924, "interval / value"),
        unit="x",
        data=ML_1M.with_name("toys"),
    ),
}
