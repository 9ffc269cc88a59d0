"""Scored pairs on disk, so that a broken run goes on without paying for them again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import threading
import time
import warnings
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _checks, _files
from truerank._types import IntArray
from truerank.errors import InputError, TruerankError, TruerankWarning
from truerank.scoring._pair_log import Locked, Log

_WAIT = 60.0  # seconds to wait for another process's reading or writing
_PATIENCE = 600.0  # seconds to wait for pairs that another process is scoring
_STEP = 0.02  # seconds between two looks at whether it is done
_NAME, _PAIRS = 1, 2  # kinds of blocks
_KEY = "<u8"  # two of them for a pair: 16 bytes of a hash of its ids
_BLOCK = 50_000  # pairs in a block at most: so many a damaged one costs
_RECENT = 1 << 16  # pairs that are sorted in together

# Users that this process asks for, by file: the thread, and how many calls hold each. Locks of
# files are those of the process, and do not keep its threads apart.
_threads: dict[str, dict[int, tuple[int, int]]] = {}
_late: dict[str, list[Log]] = {}  # to close once nobody asks: closing a file drops all its locks
_registry = threading.RLock()


def _forked() -> None:
    global _registry
    _registry = threading.RLock()
    _threads.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def _close(path: str, log: Log) -> None:
    with _registry:
        if _threads.get(path):
            _late.setdefault(path, []).append(log)
        else:
            log.close()


class PairCache:
    """Scores by (user id, item id), one file for each ``name`` in ``folder``, for its owner alone.

    Ids count as text, so 7 and "7" are one user. A batch is forced to disk in blocks with
    checksums: a killed process loses the batch under way, a damaged block its own pairs, and
    nothing else. Several processes may share the folder; of two scores for one pair the first
    stands, and none is asked for while another process is asking for it. The file is opened at
    first use.
    """

    def __init__(self, folder: Any, name: Any) -> None:
        if not isinstance(folder, (str, os.PathLike)) or not os.fspath(folder):
            raise InputError(f"cache is {_checks.shown(folder)}; it must be the path of a folder")
        if not isinstance(name, str) or not name.strip():
            raise InputError(
                f"name is {_checks.shown(name)}; a cache needs the name of the model with its "
                'version, such as name="cross-encoder v2": scores kept under one name are never '
                "used for another"
            )
        slug = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:40]
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
        self.__setstate__({"path": Path(folder) / f"{slug}-{digest}.pairs", "name": name})

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "name": self.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.path: Path = state["path"]
        self.name: str = state["name"]
        self._lock = threading.RLock()
        self._log: Log | None = None
        self._finalizer: weakref.finalize[..., Any] | None = None
        self._known = _Scores()
        self._told = 0  # damaged places that were warned of
        self._held: dict[int, int] = {}  # users' locks, and how many calls hold each
        self._process = os.getpid()

    def find(
        self, users: npt.NDArray[Any], lengths: IntArray, items: npt.NDArray[Any]
    ) -> npt.NDArray[np.float64]:
        """Scores of pairs, NaN where there is none: ``lengths[k]`` items for ``users[k]``."""
        with self._opened():
            return self._known.find(_keys(users, lengths, items))

    def add(self, batches: list[tuple[npt.NDArray[Any], npt.NDArray[Any], Any]]) -> None:
        """Store batches of user ids (B,), item ids (B, n) and scores (B, n); on disk on return."""
        keys, scores = [], []
        for users, items, values in batches:
            keys.append(_keys(users, np.full(users.size, items.shape[1]), items.ravel()))
            scores.append(np.asarray(values, dtype=np.float64).ravel())
        with self._opened() as log:
            self._append(log, np.concatenate(keys), np.concatenate(scores))

    @contextlib.contextmanager
    def claimed(self, users: npt.NDArray[Any]) -> Iterator[float]:
        """Keep other processes from asking for pairs of these users; yields the seconds waited.

        Whoever comes second waits, and finds the scores of the first in the file. A process that
        ends gives its users free; one that takes very long is not waited for.
        """
        waited = 0.0
        places = sorted({_place(user) for user in _texts(users)})  # in order: no two wait in turn
        taken: list[int] = []
        try:
            for place in places:
                while not (got := self._take(place)) and waited < _PATIENCE:
                    time.sleep(_STEP)
                    waited += _STEP
                if got:
                    taken.append(place)
            yield waited
        finally:
            for place in taken:
                self._give(place)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            if self._finalizer is not None:
                self._finalizer()
            self._log = None

    def _take(self, place: int) -> bool:
        with self._lock, _registry:
            self._after_fork()
            log = self._log or self._open()
            here = _threads.setdefault(os.path.realpath(self.path), {})
            thread, calls = here.get(place, (threading.get_ident(), 0))
            if thread != threading.get_ident() and not self._held.get(place):
                return False
            if not self._held.get(place) and not log.lock(place):
                return False
            self._held[place] = self._held.get(place, 0) + 1
            here[place] = thread, calls + 1
            return True

    def _give(self, place: int) -> None:
        with self._lock, _registry:
            self._after_fork()
            path = os.path.realpath(self.path)
            here = _threads.get(path, {})
            thread, calls = here.pop(place, (0, 0))
            if calls > 1:
                here[place] = thread, calls - 1
            left = self._held.pop(place, 0) - 1
            if left > 0:
                self._held[place] = left
            elif self._log is not None and calls <= 1:
                self._log.unlock(place)
            if not here:
                for log in _late.pop(path, []):
                    log.close()

    def _after_fork(self) -> None:
        if self._process != os.getpid():  # locks are the parent's, the file is both's
            self._process = os.getpid()
            self._held.clear()

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Log]:
        """The file, locked, all that others wrote known."""
        with self._lock, self._errors():
            log = self._log or self._open()
            with log.locked(_WAIT):
                if log.size == 0:
                    log.append(_NAME, [json.dumps({"name": self.name}).encode()])
                    self._import_sqlite(log)
                self._read(log)
                yield log

    def _open(self) -> Log:
        folder = self.path.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cache {str(folder)!r} is no usable folder: {error}") from None
        self._known, self._told = _Scores(), 0
        self._log = Log(self.path)
        path = os.path.realpath(self.path)
        self._finalizer = weakref.finalize(self, _close, path, self._log)
        _files.sync_folder(folder)
        return self._log

    def _read(self, log: Log) -> None:
        sound = False
        for kind, content in log.news():
            sound = True
            if kind == _NAME:
                self._check_name(content)
            elif kind == _PAIRS:
                n = len(content) // (16 + 8)
                keys = np.frombuffer(content, _KEY, 2 * n).reshape(n, 2)
                self._known.add(keys, np.frombuffer(content, "<f8", n, offset=16 * n))
        if len(log.damaged) == self._told:
            return
        if not sound and not self._known and not log.begins_with_a_mark():
            raise TruerankError(
                f"{self.path} is no cache of scored pairs of this version of truerank; move it "
                "away or give another folder as cache="
            )
        self._told = len(log.damaged)
        places = "one place" if self._told == 1 else f"{self._told} places"
        warnings.warn(
            f"the cache {self.path} is damaged in {places} ({sum(log.damaged):,} of {log.size:,} "
            "bytes); pairs that are lost are scored again",
            TruerankWarning,
            stacklevel=2,
        )

    def _check_name(self, content: bytes) -> None:
        name = json.loads(content)["name"]
        if name != self.name:
            self.close()
            raise TruerankError(f"{self.path} holds scores of {name!r}, not of {self.name!r}")

    def _append(self, log: Log, keys: npt.NDArray[Any], scores: npt.NDArray[np.float64]) -> None:
        blocks = []
        for begin in range(0, len(scores), _BLOCK):
            at = slice(begin, begin + _BLOCK)
            blocks.append(keys[at].astype(_KEY).tobytes() + scores[at].astype("<f8").tobytes())
        log.append(_PAIRS, blocks)
        self._known.add(keys, scores)

    def _import_sqlite(self, log: Log) -> None:
        """Take over what an earlier version kept under the name in a database."""
        old = self.path.with_suffix(".sqlite")
        if not old.exists():
            return
        import sqlite3

        try:
            with contextlib.closing(
                sqlite3.connect(f"{old.absolute().as_uri()}?mode=ro", uri=True)
            ) as database:
                rows = database.execute("SELECT user, item, score FROM pairs").fetchall()
        except sqlite3.Error as error:
            log.clear()
            raise TruerankError(
                f"the cache {old} is damaged: {error}; restore it from a copy, or move it away to "
                "start again (its pairs are then scored once more)"
            ) from error
        if rows:
            users, items, scores = (np.array(column) for column in zip(*rows, strict=True))
            self._append(log, _keys(users, np.ones(users.size, dtype=np.int64), items), scores)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except Locked:
            raise TruerankError(
                f"the cache {self.path} has been in use by another process for {_WAIT:g} s; "
                "try again when that one is done"
            ) from None
        except OSError as error:
            raise TruerankError(
                f"the cache {self.path} cannot be used: {error.strerror or error}; look at the "
                "disk's space and the folder's permissions"
            ) from error


class _Scores:
    """Scores in memory by the keys of their pairs; the first of a key stands."""

    def __init__(self) -> None:
        self._keys = np.empty((0, 2), np.uint64)  # sorted by their first half
        self._scores = np.empty(0)
        self._recent: list[tuple[npt.NDArray[Any], npt.NDArray[np.float64]]] = []
        self._n_recent = 0

    def __len__(self) -> int:
        return self._scores.size + self._n_recent

    def add(self, keys: npt.NDArray[Any], scores: npt.NDArray[np.float64]) -> None:
        """Know these, too."""
        self._recent.append((keys, scores))
        self._n_recent += len(scores)

    def find(self, keys: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """The score of each key, NaN where there is none."""
        if self._n_recent > max(_RECENT, self._scores.size // 8):
            parts = [(self._keys, self._scores), *self._recent]
            self._keys, self._scores = _sorted(parts)
            self._recent, self._n_recent = [], 0
        found = _look_up(self._keys, self._scores, keys)
        if self._recent:
            self._recent = [_sorted(self._recent)]
            missing = np.isnan(found)
            found[missing] = _look_up(*self._recent[0], keys[missing])
        return found


def _sorted(parts: list[tuple[npt.NDArray[Any], npt.NDArray[np.float64]]]) -> Any:
    keys = np.concatenate([keys.astype(np.uint64) for keys, _ in parts])
    scores = np.concatenate([scores for _, scores in parts])
    order = np.argsort(keys[:, 0], kind="stable")
    return keys[order], scores[order]


def _look_up(
    keys: npt.NDArray[Any], scores: npt.NDArray[np.float64], wanted: npt.NDArray[Any]
) -> npt.NDArray[np.float64]:
    found = np.full(len(wanted), np.nan)
    if not len(keys):
        return found
    wanted = wanted.astype(np.uint64)
    at = np.searchsorted(keys[:, 0], wanted[:, 0])
    open_ = np.arange(len(wanted))
    while open_.size:  # once, except for keys that begin alike
        open_ = open_[at[open_] < len(keys)]
        open_ = open_[keys[at[open_], 0] == wanted[open_, 0]]
        same = keys[at[open_], 1] == wanted[open_, 1]
        found[open_[same]] = scores[at[open_[same]]]
        open_ = open_[~same]
        at[open_] += 1
    return found


def _keys(users: npt.NDArray[Any], lengths: IntArray, items: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Keys of pairs, shape (n_pairs, 2): ``lengths[k]`` items for ``users[k]``."""
    blake2b, texts = hashlib.blake2b, _texts(items)
    digests: list[bytes] = []
    begin = 0
    for user, length in zip(_texts(users), np.asarray(lengths).tolist(), strict=True):
        head = f"{len(user)}:{user}:"
        digests += [
            blake2b((head + item).encode("utf-8", "surrogatepass"), digest_size=16).digest()
            for item in texts[begin : begin + length]
        ]
        begin += length
    return np.frombuffer(b"".join(digests), _KEY).reshape(-1, 2)


def _place(user: str) -> int:
    """The byte of the file that stands for a user in locks."""
    digest = hashlib.blake2b(user.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 3


def _texts(ids: npt.NDArray[Any]) -> list[str]:
    return [str(value) for value in ids.tolist()]
