"""The same counts on Spark: a kernel on every partition, one small aggregation.

The only file that imports pyspark. Nothing is collected but counts, no vectors are shuffled, and
tasks that are run again return the same: counts are returned values, never side effects.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from truerank.engines import kernels
from truerank.engines.batches import KEYS, SUMS, add_up, gathered, whole_users
from truerank.engines.kernels import Kernel
from truerank.errors import InputError, MissingExtraError, TruerankError
from truerank.outcomes import _ranks, tables
from truerank.outcomes.counts import RankCounts

_PACKED = ", ".join(
    [f"{name} {'string' if name == 'scheme' else 'bigint'}" for name in KEYS]
    + [f"{name} double" for name in SUMS]
)
_RANKS = ("sampled_rank", "sample_size", "num_negatives", "n_items", "user_id", "item_id", "weight")
_OURS = re.compile(r"truerank\.errors\.InputError: (.*?)(?:\n\s*\n|\n\s+at |\Z)", re.DOTALL)

Run = Callable[[Iterator[Any]], Iterator[Any]]


def sampled_counts(
    users: Any, model: Any, *, distinct_users: bool = False, **options: Any
) -> RankCounts:
    """`truerank.sampled_counts` of a Spark DataFrame with one row a user.

    Parameters
    ----------
    users
        A DataFrame, or the path of a Parquet file or folder that every executor can read (faster:
        Python workers then read it themselves, and no vector goes by Java). Its columns are
        ``user_id`` (integers or strings), ``item_id`` (the target, or an array of all the user's
        targets), ``vector`` (an array of floats or doubles; not needed if the model is a scorer)
        and, if there is one, ``train`` (an array of items to leave out of the user's pool; none if
        null).
    model
        Item vectors, shape (n_items, d), as a numpy array, which is broadcast, or as the path of
        an .npy file that every executor can read, which is memory-mapped; or any
        `scoring.Scorer` that pickles.
    distinct_users
        Say True if you know that no user has two rows. If not, a first job checks it, which
        shuffles user ids (and nothing else).
    options
        As in `truerank.sampled_counts`: ``sample_size`` or ``num_negatives``, ``replacement``,
        ``seed``, ``ties``, ``negatives`` (``SharedBlocks`` with ``n_blocks``), ``keep_target``;
        ``item_ids``, ``item_biases`` and ``cosine`` of item vectors (`scoring.Factors`); and
        ``columns``, our names to those of the DataFrame: ``{"vector": "features"}``.
    """
    return _count(users, kernels.sampled(model, **options), distinct_users=distinct_users)


def adaptive_counts(
    users: Any, model: Any, *, distinct_users: bool = False, **options: Any
) -> RankCounts:
    """`truerank.adaptive_counts` of a Spark DataFrame with one row a user, up to a ``stop``.

    ``users``, ``model``, ``distinct_users`` and the options for items and columns as in
    `sampled_counts`, the others as in `truerank.adaptive_counts`. A ``budget`` is refused: under
    one, how far a user goes depends on all others.
    """
    return _count(users, kernels.adaptive(model, **options), distinct_users=distinct_users)


def exact_counts(
    users: Any, model: Any, *, distinct_users: bool = False, **options: Any
) -> RankCounts:
    """`truerank.exact_counts` of a Spark DataFrame with one row a user.

    ``users``, ``model``, ``distinct_users`` and the options for items and columns as in
    `sampled_counts`; also ``ties``, ``seed`` and ``keep_target``.
    """
    return _count(users, kernels.exact(model, **options), distinct_users=distinct_users)


def rank_counts(
    ranks: Any,
    *,
    columns: Mapping[str, str] | None = None,
    distinct_users: bool = False,
    **options: Any,
) -> RankCounts:
    """`RankCounts.from_table` of a Spark DataFrame, one row a rank.

    Parameters
    ----------
    ranks
        A DataFrame with the columns that `RankCounts.from_table` reads.
    distinct_users
        Say True if you know that no user has two rows: nothing is shuffled then but counts. If
        not, and there is a column ``user_id``, rows are brought together by user.
    columns, options
        As in `RankCounts.from_table`.
    """
    _check_frame(ranks)
    names = _rank_columns(ranks, columns)
    if "model" in names:
        _check_one_model(ranks, names.pop("model"))
    if distinct_users:  # ids would only say once more that each row is another user
        names = {role: name for role, name in names.items() if role not in ("user_id", "item_id")}
    frame = ranks.select(*(ranks[name].alias(role) for role, name in names.items()))
    together = "user_id" in names
    if together:
        frame = frame.repartition("user_id").sortWithinPartitions("user_id")
    counts = _run(frame, kernels.ranks(**options), by="user_id" if together else None)
    if options.get("replacement") is None:
        _ranks.warn_if_replacement_matters(counts.sample_size, counts.n_items)
    return counts


def session(master: str = "local[*,4]", **config: Any) -> Any:
    """A SparkSession, made or found; ``config`` are settings, with ``_`` for ``.``.

    ``local[2,4]`` runs on two cores and tries a task up to four times; ``local[2]`` would fail as
    soon as one worker dies.
    """
    spark = _pyspark()
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and (Path(home) / "bin" / "java").exists()):
        raise TruerankError(
            "Spark needs Java 17 or newer, and there is no java on the PATH nor in JAVA_HOME; on "
            "Debian or Ubuntu: apt-get install openjdk-17-jre-headless"
        )
    builder = spark.SparkSession.builder.master(master).appName("truerank")
    if master.startswith("local"):  # workers of this very Python, which has what we need
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        # Counts are small: Spark's 200 pieces of what is shuffled take longer than the counts.
        builder = builder.config("spark.sql.shuffle.partitions", "4")
    for name, value in config.items():
        builder = builder.config(name.replace("_", "."), value)
    return builder.getOrCreate()


def frame(table: Any) -> Any:
    """A pyarrow Table as a DataFrame of the session there is, or of a local one."""
    return _session().createDataFrame(table)


def _count(users: Any, kernel: Kernel, *, distinct_users: bool) -> RankCounts:
    pieces = None
    if isinstance(users, (str, os.PathLike)):
        frame, pieces = _session().read.parquet(str(users)), _Pieces(str(users))
    else:
        _check_frame(users)
        frame = users
    wanted = ["user_id", "item_id"] + ["vector"] * kernel.model.needs_vectors
    there = frame.columns
    for name in wanted:
        if kernel.columns[name] not in there:
            raise InputError(
                f"the DataFrame has no column {kernel.columns[name]} ({name}); found: "
                f"{', '.join(there)}; for other names say columns="
            )
    if kernel.columns["train"] in there:
        wanted.append("train")
    columns = [kernel.columns[name] for name in wanted]
    frame = frame.select(*columns)
    if kernel.model.needs_vectors:
        _check_vectors(frame, kernel.columns["vector"])
    if not distinct_users:
        _check_distinct(frame, kernel.columns["user_id"])
    if pieces is None:
        return _run(frame, kernel)
    pieces.columns = columns
    return _run(pieces.numbers(frame.sparkSession), kernel, read=pieces.batches)


def _run(
    frame: Any, kernel: Callable[[Any], Any], *, by: str | None = None, read: Run = iter
) -> RankCounts:
    """Count every partition and add up; with ``by``, rows are sorted by it and users kept whole.

    ``read`` turns the batches that Spark sends into those that are counted.
    """
    from pyspark.sql import functions as f

    by_reference = not isinstance(kernel, Kernel) or kernel.model.needs_vectors
    shared = _context(frame).broadcast(kernel if by_reference else _ByValue(kernel))
    try:
        parts = frame.mapInArrow(_mapper(shared, by, read), _PACKED)
        totals = parts.groupBy(*KEYS).agg(*(f.sum(name).alias(name) for name in SUMS))
        return add_up(_collected(totals))
    finally:
        shared.unpersist()


class _Pieces:
    """Row groups of Parquet files, which workers read by themselves: no vector goes by Java."""

    def __init__(self, path: str) -> None:
        import pyarrow as pa
        import pyarrow.dataset as ds

        try:
            dataset = ds.dataset(path, format="parquet")
            self._places = [
                (fragment.path, group.id)
                for fragment in dataset.get_fragments()
                for group in fragment.row_groups
            ]
        except (OSError, ValueError, pa.ArrowException) as error:
            raise InputError(f"{path} cannot be read as Parquet: {error}") from None
        if not self._places:
            raise InputError(f"{path} has no rows; there is nothing to count")
        self._files = dataset.filesystem
        self.columns: list[str] = []

    def numbers(self, session: Any) -> Any:
        """A DataFrame with the number of each row group, a few of them a partition."""
        n_tasks = 16 * session.sparkContext.defaultParallelism  # few groups each: even loads
        return session.range(0, len(self._places), 1, min(n_tasks, len(self._places)))

    def batches(self, numbers: Iterator[Any]) -> Iterator[Any]:
        """The rows of the row groups whose numbers come in."""
        import pyarrow.parquet as pq

        for batch in numbers:
            for number in batch["id"].to_pylist():
                path, group = self._places[number]
                with pq.ParquetFile(path, filesystem=self._files) as file:
                    yield from file.iter_batches(2**16, row_groups=[group], columns=self.columns)


class _ByValue:
    """Pickles with the code of functions made in a script or a notebook, as scorers hold them."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __reduce__(self) -> tuple[Any, ...]:
        from pyspark import cloudpickle

        return cloudpickle.loads, (cloudpickle.dumps(self.value),)


def _mapper(shared: Any, by: str | None, read: Run) -> Run:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        # Spark runs a task a core: no threads of our own beside them.
        threads = os.environ.get("OMP_NUM_THREADS", "1")
        os.environ.setdefault("NUMBA_NUM_THREADS", threads)
        kernel = shared.value  # kept by the worker from task to task
        rows = gathered(read(batches))
        for table in rows if by is None else whole_users(rows, by):
            yield from kernel(table).to_batches()

    return run


def _collected(frame: Any) -> Any:
    """A small DataFrame as a pyarrow Table; errors of ours raised in workers as they were."""
    from pyspark.errors import PySparkException

    try:
        return frame.toArrow()
    except PySparkException as error:
        if found := _OURS.search(str(error)):
            raise InputError(" ".join(found.group(1).split())) from None
        raise


def _pyspark() -> Any:
    try:
        import pyspark.sql
    except ImportError as error:
        raise MissingExtraError(
            "Spark needs pyspark 4: pip install truerank[spark] (and Java 17 or newer)"
        ) from error
    return pyspark.sql


def _session() -> Any:
    """The session there is, or a local one."""
    return _pyspark().SparkSession.getActiveSession() or session()


def _check_frame(frame: Any) -> None:
    if not isinstance(frame, _pyspark().DataFrame):
        raise InputError(
            f"the rows are a {type(frame).__name__}; give a Spark DataFrame, or use the functions "
            "of the same names without .spark"
        )


def _context(frame: Any) -> Any:
    try:
        return frame.sparkSession.sparkContext
    except Exception as error:  # Spark Connect has none
        raise InputError(
            "this session has no SparkContext to broadcast with (Spark Connect); use a classic one"
        ) from error


def _check_vectors(frame: Any, column: str) -> None:
    found = frame.schema[column].dataType.simpleString()
    if found not in ("array<float>", "array<double>"):
        advice = "; pyspark.ml.functions.vector_to_array turns it into one"
        raise InputError(
            f"column {column} is of type {found}; it must be array<float> or array<double>"
            + (advice if found == "vector" else "")
        )


def _check_distinct(frame: Any, user: str) -> None:
    twice = frame.groupBy(user).count().where("count > 1").limit(1).collect()
    if twice:
        raise kernels.several_rows(twice[0][0])


def _rank_columns(frame: Any, columns: Mapping[str, str] | None) -> dict[str, str]:
    """Role -> column, of the columns that are needed."""
    import pyarrow as pa

    empty = tables.read(pa.table({name: pa.array([], pa.null()) for name in frame.columns}))
    found = {}
    for role in (*_RANKS, "model"):
        name = tables.column_name(empty, role, columns)
        if name is not None:
            if name not in frame.columns:
                raise empty.missing(name)
            found[role] = name
    if "sampled_rank" not in found:
        raise empty.missing("rank", "sampled_rank")
    if "user_id" not in found:
        found.pop("item_id", None)  # an item without its user tells nothing
    return found


def _check_one_model(frame: Any, column: str) -> None:
    models = [str(row[0]) for row in frame.select(column).distinct().limit(2).collect()]
    if len(models) > 1:
        raise InputError(
            f"column {column} holds several models, such as {' and '.join(sorted(models))}; count "
            "each on its own: filter the DataFrame first"
        )
