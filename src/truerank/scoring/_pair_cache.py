"""Scored pairs on disk, so that a broken run goes on without paying for them again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank._types import IntArray
from truerank.errors import InputError, TruerankError

_FORMAT = 1  # PRAGMA user_version of our files
_APPLICATION = 0x7472_7363  # "trsc"; PRAGMA application_id, tells our files from others
_WAIT = 60.0  # seconds to wait for another process's write


class PairCache:
    """Scores by (user id, item id), one SQLite file for each ``name`` in ``folder``.

    Ids are kept as text, so 7 and "7" are one user. A batch is stored in one transaction and
    forced to disk: a killed process loses the batch under way and nothing else. Several processes
    may share the folder; of two scores for one pair the first stands. The file is opened at first
    use and once more after a fork.
    """

    def __init__(self, folder: Any, name: Any) -> None:
        if not isinstance(folder, (str, os.PathLike)) or not os.fspath(folder):
            raise InputError(f"cache is {folder!r}; it must be the path of a folder")
        if not isinstance(name, str) or not name.strip():
            raise InputError(
                f"name is {name!r}; a cache needs the name of the model with its version, such as "
                'name="cross-encoder v2": scores kept under one name are never used for another'
            )
        slug = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:40]
        digest = hashlib.sha256(name.encode()).hexdigest()[:10]
        self.name = name
        self.path = Path(folder) / f"{slug}-{digest}.sqlite"
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._process = 0
        self._finalizer: weakref.finalize[..., Any] | None = None

    def find(
        self, users: npt.NDArray[Any], lengths: IntArray, items: npt.NDArray[Any]
    ) -> npt.NDArray[np.float64]:
        """Scores of pairs, NaN where there is none: ``lengths[k]`` items for ``users[k]``."""
        scores = np.full(items.size, np.nan)
        ends = np.cumsum(lengths).tolist()
        with self._transaction("BEGIN") as connection:
            begin = 0
            for user, end in zip(_texts(users), ends, strict=True):
                # CROSS JOIN fixes the order: one look-up by primary key for each wanted item.
                found = connection.execute(
                    "SELECT wanted.key, pairs.score FROM json_each(?) AS wanted CROSS JOIN pairs "
                    "ON pairs.user = ? AND pairs.item = wanted.value",
                    (json.dumps(_texts(items[begin:end])), user),
                ).fetchall()
                if found:
                    at, values = zip(*found, strict=True)
                    scores[begin + np.array(at)] = values
                begin = end
        return scores

    def add(self, batches: list[tuple[npt.NDArray[Any], npt.NDArray[Any], Any]]) -> None:
        """Store batches of user ids (B,), item ids (B, n) and scores (B, n) in one transaction."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            for users, items, scores in batches:
                connection.executemany(
                    "INSERT OR IGNORE INTO pairs VALUES (?, ?, ?)",
                    zip(
                        _texts(np.repeat(users, items.shape[1])),
                        _texts(items.ravel()),
                        scores.ravel().tolist(),
                        strict=True,
                    ),
                )

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._finalizer is not None:
            self._finalizer()
        self._connection = None

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "name": self.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.path, self.name = state["path"], state["name"]
        self._lock = threading.Lock()
        self._connection, self._finalizer, self._process = None, None, 0

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._lock, self._sqlite_errors():
            connection = self._open()
            connection.execute(begin)
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # the first error is the one to tell
                    connection.execute("ROLLBACK")
                raise

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None and self._process == os.getpid():
            return self._connection
        if self._connection is not None and self._finalizer is not None:
            self._finalizer.detach()  # the parent's connection: not ours to use or close
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"cache {str(self.path.parent)!r} is no usable folder: {error}"
            ) from None
        connection = sqlite3.connect(
            self.path, timeout=_WAIT, isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        self._connection, self._process = connection, os.getpid()
        self._finalizer = weakref.finalize(self, connection.close)
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA cache_size = -65536")  # kB
        connection.execute("BEGIN IMMEDIATE")  # one process at a time makes the tables
        if _pragma(connection, "application_id") == 0 and not _tables(connection):
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {_FORMAT}")
            connection.execute("CREATE TABLE scorer (name TEXT NOT NULL)")
            connection.execute("INSERT INTO scorer VALUES (?)", (self.name,))
            connection.execute(
                "CREATE TABLE pairs (user TEXT NOT NULL, item TEXT NOT NULL, score REAL NOT NULL, "
                "PRIMARY KEY (user, item)) WITHOUT ROWID"
            )
        connection.execute("COMMIT")
        found = _pragma(connection, "application_id"), _pragma(connection, "user_version")
        if found != (_APPLICATION, _FORMAT):
            raise TruerankError(
                f"{self.path} is no cache of scored pairs of this version of truerank; move it "
                "away or give another folder as cache="
            )
        (name,) = connection.execute("SELECT name FROM scorer").fetchone()
        if name != self.name:
            raise TruerankError(f"{self.path} holds scores of {name!r}, not of {self.name!r}")
        state = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if state != "ok":
            raise sqlite3.DatabaseError(state)
        # Readers and the writer do not wait for each other. Where the file system has no shared
        # memory SQLite stays with its journal, which is slower and as safe.
        with contextlib.suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA journal_mode = WAL")

    @contextlib.contextmanager
    def _sqlite_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error) or "busy" in str(error):
                raise TruerankError(
                    f"the cache {self.path} has been in use by another process for {_WAIT:g} s; "
                    "try again when that one is done"
                ) from error
            raise TruerankError(
                f"the cache {self.path} cannot be used: {error}; look at the disk's space and the "
                "folder's permissions"
            ) from error
        except sqlite3.DatabaseError as error:
            raise TruerankError(
                f"the cache {self.path} is damaged: {error}; restore it from a copy, or move it "
                "away to start again (its pairs are then scored once more)"
            ) from error


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _tables(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def _texts(ids: npt.NDArray[Any]) -> list[str]:
    return [str(value) for value in ids.tolist()]
