"""The same counts on Spark: a kernel on every partition, one small aggregation.

The only file that imports pyspark. Nothing is collected but counts, no vectors are shuffled, and
tasks that are run again return the same: counts are returned values, never side effects.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truerank import _arguments
from truerank.designs import Exact
from truerank.engines import kernels
from truerank.engines.batches import (
    KEYS,
    SUMS,
    Counted,
    added_up,
    gathered,
    whole_users,
)
from truerank.engines.items import Items
from truerank.engines.kernels import COLUMNS, Kernel
from truerank.errors import AssumptionWarning, InputError, MissingExtraError, TruerankError
from truerank.outcomes import _ranks, tables
from truerank.outcomes.counts import RankCounts

_PACKED = ", ".join(
    [f"{name} {'string' if name == 'scheme' else 'bigint'}" for name in KEYS]
    + [f"{name} double" for name in SUMS]
)
_RANKS = (
    "sampled_rank", "sample_size", "num_negatives", "n_items", "user_id", "item_id", "weight",
    "score", "place", "n_targets", "offset",
)  # fmt: skip
_OURS = re.compile(r"truerank\.errors\.InputError: (.*?)(?:\n\s*\n|\n\s+at |\Z)", re.DOTALL)

Run = Callable[[Iterator[Any]], Iterator[Any]]


class Users:
    """The users of an evaluation on Spark, one row per user.

    Parameters
    ----------
    source : DataFrame, str or path
        A Spark DataFrame, or the path of a Parquet file or folder that every executor can read
        (faster: Python workers then read it themselves, and no vector goes by Java). Its columns
        are ``user_id`` (integers or strings), ``item_id`` (the target, or an array of all the
        user's targets), ``vector`` (an array of floats or doubles; not needed if items are a
        scorer) and, if there is one, ``train`` (an array of items to leave out of the user's pool;
        none if null).
    columns : dict, optional
        Our names to those of the source: ``{"vector": "features"}``.
    distinct : bool, default False
        Whether it is known that no user has two rows. If not, a first job checks it, which shuffles
        user ids (and nothing else).

    Examples
    --------
    >>> from truerank.engines.spark import Users
    >>> Users("users.parquet", columns={"vector": "features"}).columns
    {'vector': 'features'}
    """

    def __init__(
        self,
        source: Any,
        *,
        columns: Mapping[str, str] | None = None,
        distinct: bool = False,
    ) -> None:
        self.source, self.columns, self.distinct = source, dict(columns or {}), distinct

    @classmethod
    def of(cls, source: Any) -> Users:
        """``source`` if these are users already, else `Users` of it.

        Parameters
        ----------
        source : Users, DataFrame, str or path
            What a verb was given.

        Returns
        -------
        Users
            The users.

        Examples
        --------
        >>> tr.spark.Users.of("users.parquet").source
        'users.parquet'
        """
        return source if isinstance(source, cls) else cls(source)


def is_rows(users: Any) -> bool:
    """Whether users are rows of Spark already, rather than a test as one machine has it."""
    return isinstance(users, (Users, _pyspark().DataFrame))


class Job:
    """Rows of users on Spark, and functions applied to all of them."""

    def __init__(self, users: Users, items: Items) -> None:
        names = {name: name for name in COLUMNS} | users.columns
        self._pieces = None
        if isinstance(users.source, (str, os.PathLike)):
            path = str(users.source)
            frame, self._pieces = _session().read.parquet(path), _Pieces(path)
        else:
            _check_frame(users.source)
            frame = users.source
        wanted = ["user_id", "item_id"] + ["vector"] * items.needs_vectors
        for name in wanted:
            if names[name] not in frame.columns:
                raise InputError(
                    f"the users have no column {names[name]} ({name}); found: "
                    f"{', '.join(frame.columns)}; for other names say Users(..., columns=)"
                )
        _warn_of_degrees(frame.columns, used=list(names.values()))
        self.leaves_out = names["train"] in frame.columns
        wanted += ["train"] * self.leaves_out
        columns = [names[name] for name in wanted]
        self._frame = frame.select(*columns)
        if items.needs_vectors:
            _check_vectors(self._frame, names["vector"])
        if not users.distinct:
            _check_distinct(self._frame, names["user_id"])
        if self._pieces is not None:
            self._pieces.columns = columns
        self._by_value = not items.needs_vectors

    def n_users(self) -> int:
        """Number of users, by a job of its own."""
        return int(self._frame.count())

    def counts(self, kernel: Kernel) -> Counted:
        """Counts of all users by a kernel, with what they took."""
        from pyspark.sql import functions as f

        with self._mapped(kernel, _PACKED) as parts:
            totals = parts.groupBy(*KEYS).agg(*(f.sum(name).alias(name) for name in SUMS))
            return added_up(_collected(totals))

    def tables(self, function: Any) -> list[Any]:
        """What a function of rows, which knows its ``schema``, gives for all of them."""
        with self._mapped(function, function.schema) as parts:
            return [_collected(parts)]

    def rows(self, kernel: Kernel) -> Any:
        """The rows of the users that a kernel evaluates, brought here: a pyarrow Table."""
        schema = self._frame.schema.simpleString().removeprefix("struct<")[:-1]
        with self._mapped(kernel.evaluated, schema.replace(":", " ")) as parts:
            return _collected(parts)

    def ranks(self, kernel: Kernel, table: Callable[[Any], Any]) -> Any:
        """A DataFrame of ranks, one row per target, by a function that makes tables of them."""
        types = dict(self._frame.dtypes)
        user, item = (types[kernel.columns[name]] for name in ("user_id", "item_id"))
        one = item.removeprefix("array<").removesuffix(">")
        rank = "double" if kernel.ties == "mid" else "bigint"
        schema = f"user_id {user}, item_id {one}, rank {rank}, sample_size bigint, n_items bigint"
        if one != item:  # users may have several targets
            table, schema = _Placed(table), f"{schema}, place bigint, n_targets bigint"
        if kernel.keep_train and not isinstance(kernel.design, Exact):
            schema = f"{schema}, offset bigint"
        return self._applied(self._shared(table), schema)

    @contextmanager
    def _mapped(self, function: Callable[[Any], Any], schema: str) -> Iterator[Any]:
        """A DataFrame of what a function gives for all rows; it lasts as long as the block."""
        shared = self._shared(function)
        try:
            yield self._applied(shared, schema)
        finally:
            shared.unpersist()

    def _shared(self, function: Callable[[Any], Any]) -> Any:
        value = _ByValue(function) if self._by_value else function
        return _context(self._frame).broadcast(value)

    def _applied(self, shared: Any, schema: str) -> Any:
        if self._pieces is None:
            return self._frame.mapInArrow(_mapper(shared, None, iter), schema)
        numbers = self._pieces.numbers(self._frame.sparkSession)
        return numbers.mapInArrow(_mapper(shared, None, self._pieces.batches), schema)


def from_table(
    ranks: Any,
    *,
    columns: Mapping[str, str] | None = None,
    distinct_users: bool = False,
    **options: Any,
) -> RankCounts:
    """`RankCounts.from_table` of a Spark DataFrame, one row per rank.

    Parameters
    ----------
    ranks : DataFrame
        With the columns that `RankCounts.from_table` reads.
    columns : dict, optional
        Our names to those of the DataFrame.
    distinct_users : bool, default False
        Whether it is known that no user has two rows: nothing is shuffled then but counts. If not,
        and there is a column ``user_id``, rows are brought together by user.
    **options
        As in `RankCounts.from_table`.

    Returns
    -------
    RankCounts
        Counts of all rows.

    Examples
    --------
    >>> tr.spark.from_table(frame, num_negatives=99, n_items=3706)  # doctest: +SKIP
    """
    _arguments.check(from_table, locals())
    _check_frame(ranks)
    if options.get("drop_missing"):
        raise InputError(
            "drop_missing is True; on Spark leave such rows out of the DataFrame: "
            "ranks.where('rank is not null')"
        )
    names = _rank_columns(ranks, columns)
    if "model" in names:
        _check_one_model(ranks, names.pop("model"))
    if distinct_users:  # ids would only say once more that each row is another user
        names = {role: name for role, name in names.items() if role not in ("user_id", "item_id")}
    frame = ranks.select(*(ranks[name].alias(role) for role, name in names.items()))
    together = "user_id" in names
    if together:
        frame = frame.repartition("user_id").sortWithinPartitions("user_id")
    counts = _count_ranks(frame, kernels.ranks(**options), "user_id" if together else None)
    if options.get("replacement") is None:
        _ranks.warn_if_replacement_matters(counts.sample_size, counts.n_items)
    return counts


def session(master: str = "local[*,4]", **config: Any) -> Any:
    """The current SparkSession, or a new one.

    Parameters
    ----------
    master : str, default "local[*,4]"
        Where Spark runs. ``local[2,4]`` runs on two cores and tries a task up to four times;
        ``local[2]`` would fail as soon as one worker dies.
    **config
        Settings of Spark, with ``_`` for ``.``: ``spark_driver_memory="4g"``.

    Returns
    -------
    SparkSession
        The session.

    Examples
    --------
    >>> session = tr.spark.session("local[2,4]")  # doctest: +SKIP
    """
    _arguments.check(session, locals())
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
    """A pyarrow Table as a Spark DataFrame, in the current session or a local one.

    Parameters
    ----------
    table : pyarrow.Table
        Rows.

    Returns
    -------
    DataFrame
        The same rows.

    Examples
    --------
    >>> tr.spark.frame(table)  # doctest: +SKIP
    """
    return _session().createDataFrame(table)


def _count_ranks(frame: Any, kernel: Callable[[Any], Any], by: str | None) -> RankCounts:
    """Count every partition and add up; with ``by``, rows are sorted by it and users kept whole."""
    from pyspark.sql import functions as f

    shared = _context(frame).broadcast(kernel)
    try:
        parts = frame.mapInArrow(_mapper(shared, by, iter), _PACKED)
        totals = parts.groupBy(*KEYS).agg(*(f.sum(name).alias(name) for name in SUMS))
        return added_up(_collected(totals)).counts
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


@dataclass(frozen=True)
class _Placed:
    """Ranks with columns about several targets, also where a batch has users with one alone."""

    table: Callable[[Any], Any]

    def __call__(self, rows: Any) -> Any:
        import pyarrow as pa

        found = self.table(rows)
        if found is None or "place" in found.column_names:
            return found
        one = pa.array([1] * len(found), pa.int64())
        at = found.column_names.index("n_items") + 1  # before what else there is
        return found.add_column(at, "n_targets", one).add_column(at, "place", one)


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
            found = kernel(table)
            if found is not None:
                yield from found.to_batches()

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
            "Spark needs pyspark 4, which truerank[spark] brings: pip install 'pyspark>=4' "
            "(and Java 17 or newer)"
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


def _warn_of_degrees(columns: Sequence[str], used: Sequence[str]) -> None:
    """As for a test on one machine, but for the number of degrees, which would take a job."""
    degrees = (*tables.COLUMNS["relevance"], *tables.COLUMNS["rating"])
    for name in columns:
        if name.lower() in degrees and name not in used:
            warnings.warn(
                f"the users have a column {name}; metrics are binary, and every target counts as "
                "one (without the column: no warning)",
                AssumptionWarning,
                stacklevel=2,
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
