"""Spark against one process on the same Parquet file, and ranks files larger than memory.

    python -m benchmarks.spark --users 1000000 --items 100000 --ranks 100000000

Both sides read the file, draw 99 negatives per user and count. Memory is what the processes that
count hold at their peak: Spark's Python workers, and the process that reads the ranks.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import truerank as tr
from truerank import engines
from truerank.scoring import Factors

WIDTH = 64
NEGATIVES = 99
DESIGN = tr.designs.Fixed(num_negatives=NEGATIVES)
ROUNDS = 3
_STEP = 100_000  # users or ranks written at a time

_ESTIMATE = """
import sys, time
from pathlib import Path
import truerank as tr
tr.RankCounts.from_ranks([1], sample_size=100, n_items=10**6)
start = time.perf_counter()
counts = tr.RankCounts.from_table(sys.argv[1], sample_size=100, n_items=10**6)
seconds = time.perf_counter() - start
value = tr.estimate(counts, metrics=["recall@10"], confidence=None)["recall@10"].value
peak = int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) / 1024
print(seconds, peak, counts.n_users, value)
"""


def write_users(path: Path, n_users: int, n_items: int) -> None:
    """Users with vectors and a target, in row groups of 100,000."""
    rng = np.random.default_rng(0)
    schema = pa.schema(
        [("user_id", pa.int64()), ("item_id", pa.int64()), ("vector", pa.list_(pa.float32()))]
    )
    with pq.ParquetWriter(path, schema, compression="none") as file:
        for begin in range(0, n_users, _STEP):
            n = min(_STEP, n_users - begin)
            vectors = rng.standard_normal(n * WIDTH, dtype=np.float32)
            offsets = pa.array(np.arange(n + 1, dtype=np.int32) * WIDTH)
            columns = [
                pa.array(np.arange(begin, begin + n)),
                pa.array(rng.integers(0, n_items, n)),
                pa.ListArray.from_arrays(offsets, pa.array(vectors)),
            ]
            file.write_table(pa.Table.from_arrays(columns, schema=schema))


def write_ranks(path: Path, n_rows: int, *, users: bool) -> None:
    """Ranks among 100; with ``users``, the rows of each are far apart."""
    rng = np.random.default_rng(0)
    names = ["rank", "user_id"] if users else ["rank"]
    schema = pa.schema([(name, pa.int64()) for name in names])
    with pq.ParquetWriter(path, schema) as file:
        for begin in range(0, n_rows, _STEP):
            n = min(_STEP, n_rows - begin)
            columns = [pa.array(rng.geometric(0.05, n).clip(max=100))]
            if users:
                columns.append(pa.array(np.arange(begin, begin + n) % (n_rows // 2)))
            file.write_table(pa.Table.from_arrays(columns, schema=schema))


def local(path: Path, items: np.ndarray) -> tr.RankCounts:
    """All in one process, on all cores."""
    table = pq.read_table(path)
    users = table["vector"].combine_chunks().flatten().to_numpy().reshape(-1, WIDTH)
    ids = table["user_id"].to_numpy()
    scorer = Factors(users, items, user_ids=ids)
    test = (ids, table["item_id"].to_numpy())
    return tr.count(scorer, test, DESIGN, progress=False)


def on_one_core(path: Path, items: np.ndarray) -> tr.RankCounts:
    """All in one process, on one core."""
    import numba

    numba.set_num_threads(1)
    try:
        return local(path, items)
    finally:
        numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)


def batched(path: Path, items: np.ndarray) -> tr.RankCounts:
    """One process too, by the kernel that Spark runs."""
    count = engines.Kernel(items, DESIGN)
    batches = pq.ParquetFile(path).iter_batches(batch_size=_STEP)
    return engines.add_up(count(batch) for batch in batches)


class Peak:
    """The largest memory of the Python workers below this process, in MB, while it watches."""

    def __init__(self) -> None:
        self.megabytes = 0.0
        self._over = threading.Event()

    def _watch(self) -> None:
        while not self._over.wait(0.1):
            self.megabytes = max(self.megabytes, sum(_workers()) / 1024)

    @contextlib.contextmanager
    def watching(self) -> Iterator[Peak]:
        thread = threading.Thread(target=self._watch)
        thread.start()
        try:
            yield self
        finally:
            self._over.set()
            thread.join()


def _workers() -> Iterator[int]:
    """Resident kB that is not shared, of each Python worker of ours."""
    parent: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent[int(entry.parent.name)] = int(entry.read_text().rpartition(")")[2].split()[1])
    for pid in parent:
        above, at = [], pid
        while at in parent and len(above) < 50:
            at = parent[at]
            above.append(at)
        with contextlib.suppress(OSError):
            if os.getpid() in above and b"pyspark" in Path(f"/proc/{pid}/cmdline").read_bytes():
                status = Path(f"/proc/{pid}/smaps_rollup").read_text()
                if "java" not in Path(f"/proc/{pid}/comm").read_text():
                    yield int(status.partition("\nPss:")[2].split()[0])


def timed(function, *arguments):
    """(what it returns, seconds)."""
    start = time.perf_counter()
    return function(*arguments), time.perf_counter() - start


def users_part(folder: Path, n_users: int, n_items: int, cores: int) -> bool:
    """Time and memory at a tenth of the users and at all."""
    items = np.random.default_rng(1).standard_normal((n_items, WIDTH), dtype=np.float32)
    session = tr.spark.session(
        f"local[{cores},4]", spark_ui_enabled="false", spark_driver_memory="2g"
    )
    session.sparkContext.setLogLevel("OFF")

    mapped = folder / "items.npy"
    np.save(mapped, items)

    def count(users: Any) -> tr.RankCounts:
        return tr.spark.count(tr.spark.Users(users, distinct=True), mapped, DESIGN)

    def frame(path: Path) -> tr.RankCounts:
        return count(session.read.parquet(str(path)))

    small = folder / "warm.parquet"
    write_users(small, 20_000, n_items)  # compiles, starts workers
    local(small, items), frame(small), count(small)
    same = True
    for n in (n_users // 10, n_users):
        path = folder / f"{n}.parquet"
        write_users(path, n, n_items)
        ways = {"frame": frame, "path": count, "local": functools.partial(local, items=items),
                "alone": functools.partial(on_one_core, items=items),
                "batches": functools.partial(batched, items=items)}  # fmt: skip
        best, found = dict.fromkeys(ways, np.inf), {}
        for _ in range(ROUNDS):  # in turns, so that all meet the same luck
            for name, way in ways.items():
                found[name], seconds = timed(way, path)
                best[name] = min(best[name], seconds)
                same &= found[name] == found["frame"]
        with Peak().watching() as peak:  # by itself: to look takes time from those looked at
            same &= count(path) == frame(path)
        print(
            f"{n:,} users x {n_items:,} items x {WIDTH}, {NEGATIVES} negatives, best of {ROUNDS}: "
            f"Spark on {cores} cores {best['path']:.1f} s (a DataFrame: {best['frame']:.1f} s); "
            f"one process {best['local']:.1f} s, one core {best['alone']:.1f} s, in batches "
            f"{best['batches']:.1f} s; ratios {best['path'] / best['local']:.2f}, "
            f"{best['path'] / best['alone']:.2f}, {best['path'] / best['batches']:.2f}; Python "
            f"workers hold {peak.megabytes:.0f} MB; counts {'the same' if same else 'DIFFER'}",
            flush=True,
        )
        path.unlink()
    session.stop()
    return same


def ranks_part(folder: Path, n_rows: int) -> None:
    """Time and peak memory of the estimate, in a process of its own."""
    for users in (False, True):
        for n in (n_rows // 10, n_rows):
            path = folder / "ranks.parquet"
            write_ranks(path, n, users=users)
            done = subprocess.run(
                [sys.executable, "-c", _ESTIMATE, str(path)],
                check=True, capture_output=True, text=True,
            )  # fmt: skip
            seconds, peak, n_users, value = map(float, done.stdout.split())
            print(
                f"estimate from {n:,} ranks{' with user ids' if users else ''}: counted in "
                f"{seconds:.1f} s, peak {peak:.0f} MB in all; {n_users:,.0f} users, "
                f"recall@10 {value:.4g}",
                flush=True,
            )
            path.unlink()


def main() -> int:
    """0 if all counts are the same."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark", description=__doc__)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--ranks", type=int, default=10_000_000)
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ranks_part(Path(folder), options.ranks)
        return int(not users_part(Path(folder), options.users, options.items, options.cores))


if __name__ == "__main__":
    sys.exit(main())
