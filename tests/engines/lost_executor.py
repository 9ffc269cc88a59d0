"""Run by test_spark: a cluster of two executors, one of which is killed while it counts."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import truerank as tr
from truerank.scoring import Callable

N_USERS, N_ITEMS = 400, 50
DESIGN = tr.designs.Fixed(sample_size=10)


def slow(users, items):
    time.sleep(0.05)  # so that the job takes some seconds
    return (users[:, None] * 31 + items * 17) % 101


def descendants(pid: int) -> list[int]:
    """All processes below this one."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            after = entry.read_text().rpartition(")")[2].split()
        except OSError:  # gone meanwhile
            continue
        children.setdefault(int(after[1]), []).append(int(entry.parent.name))
    found, todo = [], [pid]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def executors() -> list[int]:
    """Our own executor processes."""
    found = []
    for pid in descendants(os.getpid()):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if b"CoarseGrainedExecutorBackend" in command and b"java" in command.split(b"\0")[0]:
            found.append(pid)
    return found


def main() -> None:
    import pyspark

    os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
    os.environ.setdefault("SPARK_SCALA_VERSION", "2.13")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SPARK_WORKER_DIR"] = folder
        here = os.pathsep.join(map(str, [Path(__file__).parent, *sys.path]))
        session = tr.spark.session(
            "local-cluster[2,1,1024]",
            spark_ui_enabled="false",
            spark_driver_host="127.0.0.1",
            spark_sql_shuffle_partitions="2",
            spark_executorEnv_PYTHONPATH=here,
            spark_executor_memory="512m",
        )
        session.sparkContext.setLogLevel("OFF")
        scorer = Callable(slow, n_items=N_ITEMS, batch_pairs=40)
        users, targets = np.arange(N_USERS), np.arange(N_USERS) % N_ITEMS
        rows = list(zip(users.tolist(), targets.tolist(), strict=True))
        frame = session.createDataFrame(
            session.sparkContext.parallelize(rows, 16), "user_id long, item_id long"
        )
        answer = []
        job = threading.Thread(
            target=lambda: answer.append(
                tr.spark.count(tr.spark.Users(frame, distinct=True), tr.spark.Items(scorer), DESIGN)
            )
        )
        job.start()
        tracker = session.sparkContext.statusTracker()
        killed = 0
        while job.is_alive() and not killed:
            stages = [tracker.getStageInfo(i) for i in tracker.getActiveStageIds()]
            if any(stage and stage.numCompletedTasks >= 2 for stage in stages):
                os.kill(executors()[0], signal.SIGKILL)
                killed = 1
            time.sleep(0.1)
        job.join()
        expected = tr.count(Callable(parity, n_items=N_ITEMS), (users, targets), DESIGN)
        print("killed", killed, "same", answer == [expected])
        session.stop()


def parity(users, items):
    return (users[:, None] * 31 + items * 17) % 101


if __name__ == "__main__":
    main()
