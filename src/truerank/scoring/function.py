"""Any Python function as a scorer, above all slow and costly ones."""

from __future__ import annotations

import inspect
import threading
import time
from collections import abc
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _arguments, _checks
from truerank._types import FloatArray, IntArray
from truerank.designs.purse import Purse
from truerank.errors import InputError, OutOfBudget, TruerankError
from truerank.scoring._asking import Asking
from truerank.scoring._calls import completed, within
from truerank.scoring._ids import Ids
from truerank.scoring._pair_cache import PairCache
from truerank.scoring._partial import arrived as arrived_of
from truerank.scoring._rectangles import rectangles
from truerank.scoring.scorer import Scorer

_LONGEST_PAUSE = 60.0  # seconds


class Callable(Scorer):
    """Any function as a scorer: a cross-encoder, a language model, an HTTP service.

    ``function(user_ids, item_ids)`` gets the ids of B users, shape (B,), and of n items for each,
    shape (B, n), as numpy arrays of the ids that you know, and returns scores of shape (B, n),
    higher is better. Only pairs without a score are asked for, each once. The items of a user stand
    in one row, in the order of the catalogue (so the place of an item does not give away the
    target), and all users of a call have equally many: users with another number of missing items
    go into other calls, and a user with more than ``batch_pairs`` into several. No user occurs
    twice in a call.

    Scores that did not arrive are NaN or None, or None for all of a user's; a row may also be too
    short, and so may the whole answer. What did arrive is kept, and only the rest is asked for
    again, within ``retries``; an answer with too few rows counts as none.

    A pair's score must depend on that pair alone. A list-wise ranker, whose scores depend on the
    other items of the list, is no scorer in this sense.

    Parameters
    ----------
    function : callable
        Takes (user_ids, item_ids) and returns scores, as above.
    item_ids : array-like, optional
        The ids of the catalogue. Give this or ``n_items``.
    n_items : int, optional
        The number of items, if they are known as 0 to n_items - 1.
    user_ids : array-like, optional
        The ids of all users; needed if they are not whole numbers from 0 on.
    batch_pairs : int
        Largest number of pairs in one call. Under a budget a call takes a sixteenth of all its
        pairs at most, so that the budget outlasts a few calls that fail.
    cache : str or path, optional
        A folder that keeps scored pairs. A run that broke off, or a second evaluation, asks only
        for pairs that have no score under ``name``. Each batch is safe on disk when the next
        begins. Processes that share a folder ask for no pair that another is asking for; a
        damaged block of the file costs its own pairs only.
    name : str, optional
        Name and version of the model in the cache. Change it whenever the scores change.
    retries : int
        How often what a call left open (it raised, timed out or answered in part) is asked for
        again.
    backoff : float
        Seconds before the first retry, doubled for each further one, at most a minute.
    timeout : float, optional
        Seconds that a call may take. Calls then run in threads of their own, which are left behind
        if they hang: threads cannot be stopped.
    concurrency : int
        Number of calls at once, in threads: for functions that wait for others, such as a web
        service. The function must then be safe to call from several threads. Scores do not depend
        on it.
    time_limit : float, optional
        Seconds for all calls together, from the first one on. No call is begun after that, and the
        run ends with an error; with a ``cache`` the next run goes on there. For an evaluation that
        plans to fit into a time, see ``Auto(seconds=...)``.

    Attributes
    ----------
    calls : int
        Calls of the function so far, failed ones included.
    asked_pairs : int
        Pairs that the function was called with, those of failed calls included.
    asked_seconds : float
        Seconds that its answers took.
    scored_pairs : int
        Pairs that the function has scored.
    cached_pairs : int
        Pairs that were found in the cache instead.

    Examples
    --------
    >>> def closeness(user_ids, item_ids):
    ...     return -np.abs(item_ids - user_ids[:, None])
    >>> scorer = tr.scoring.Callable(closeness, n_items=5)
    >>> scorer.score(np.array([3]), np.array([[0, 3, 4]])).tolist()
    [[-3.0, 0.0, -1.0]]
    >>> scorer.calls, scorer.scored_pairs
    (1, 3)
    """

    def __init__(
        self,
        function: abc.Callable[[npt.NDArray[Any], npt.NDArray[Any]], Any],
        *,
        item_ids: Any = None,
        n_items: int | None = None,
        user_ids: Any = None,
        batch_pairs: int = 4096,
        cache: Any = None,
        name: str | None = None,
        retries: int = 3,
        backoff: float = 0.5,
        timeout: float | None = None,
        concurrency: int = 1,
        time_limit: float | None = None,
    ) -> None:
        _arguments.check(Callable.__init__, locals())
        _check_function(function)
        self.function = function
        self.user_ids = Ids("user", None, user_ids)
        self.item_ids = catalogue(item_ids, n_items)
        self.batch_pairs = _checks.integer(batch_pairs, "batch_pairs", low=1)
        self.retries = _checks.integer(retries, "retries", low=0)
        self.backoff = _checks.real(backoff, "backoff", low=0.0)
        self.timeout = (
            None if timeout is None else _checks.real(timeout, "timeout", low=0.0, open_low=True)
        )
        self.concurrency = _checks.integer(concurrency, "concurrency", low=1, high=1024)
        self.time_limit = (
            None
            if time_limit is None
            else _checks.real(time_limit, "time_limit", low=0.0, open_low=True)
        )
        self._began: float | None = None  # the first call
        if cache is None and name is not None:
            raise InputError(
                f"name is {_checks.shown(name)} but there is no cache=; give both or neither"
            )
        self._cache = None if cache is None else PairCache(cache, name)
        self.calls = self.asked_pairs = self.scored_pairs = self.cached_pairs = 0
        self.asked_seconds = 0.0
        self._sleep: abc.Callable[[float], None] = time.sleep
        self._lock = threading.Lock()

    def score(self, users: IntArray, items: IntArray) -> FloatArray:
        return self._ask(users, items, Purse(), lambda pairs, scores: None)

    def _ask(
        self,
        users: IntArray,
        items: IntArray,
        purse: Purse,
        rescue: abc.Callable[[IntArray, FloatArray], None],
    ) -> FloatArray:
        """`score`, every attempt at a call paid for from a purse.

        If it breaks off, ``rescue`` gets what was answered before: sorted pairs, as
        user * n_items + item, and their scores.
        """
        users, items = np.asarray(users), np.asarray(items)
        if items.ndim != 2 or users.shape != items.shape[:1]:
            raise InputError(f"users {users.shape} and items {items.shape} must be (B,) and (B, n)")
        if items.size and not 0 <= items.min() <= items.max() < self.n_items:
            raise InputError(f"item rows must be from 0 to {self.n_items - 1}")
        # Distinct pairs, by user and item: what is asked for does not depend on the order.
        distinct, place = np.unique(users, return_inverse=True)
        pair, back = np.unique(place[:, None] * self.n_items + items, return_inverse=True)
        user, item = np.divmod(pair, self.n_items)
        scores = self._known(distinct, user, item)
        missing = np.flatnonzero(np.isnan(scores))
        most = purse.call_size(self.batch_pairs)
        calls = [missing[at] for at in rectangles(user[missing], most)]
        whose = distinct[user]
        asking = Asking(self, whose, item, scores, purse)
        begin = time.perf_counter()
        try:
            for batch in completed(calls, asking.answer, self.concurrency):
                asking.keep([claim for _, claim in batch])
        except BaseException:
            asking.keep()
            kept = ~np.isnan(scores)
            rescue(whose[kept] * self.n_items + item[kept], scores[kept])
            raise
        finally:
            asking.release()
            self.asked_seconds += max(0.0, time.perf_counter() - begin - asking.waited)
        return np.asarray(scores[back].reshape(items.shape))

    def _is_cached(self, users: IntArray, items: IntArray) -> npt.NDArray[np.bool_]:
        """Which pairs the cache on disk has a score for; users and items of shape (n_pairs,)."""
        if self._cache is None:
            return np.zeros(users.size, dtype=np.bool_)
        order = np.argsort(users, kind="stable")
        distinct, lengths = np.unique(users, return_counts=True)
        found = np.empty(users.size)
        found[order] = self._cache.find(
            self.user_ids.values(distinct), lengths, self.item_ids.values(items[order])
        )
        return ~np.isnan(found)

    def close(self) -> None:
        """Close the cache's file; the next use opens it again.

        Examples
        --------
        >>> scorer = tr.scoring.Callable(lambda users, items: items, n_items=5)
        >>> scorer.close()
        """
        if self._cache is not None:
            self._cache.close()

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def _known(self, distinct: IntArray, user: IntArray, item: IntArray) -> npt.NDArray[np.float64]:
        """Scores from the cache, NaN where there is none."""
        if self._cache is None:
            return np.full(item.size, np.nan)
        lengths = np.bincount(user, minlength=distinct.size)
        scores = self._cache.find(
            self.user_ids.values(distinct), lengths, self.item_ids.values(item)
        )
        with self._lock:
            self.cached_pairs += int(np.count_nonzero(~np.isnan(scores)))
        return scores

    def _fill(
        self,
        scores: npt.NDArray[np.float64],
        at: IntArray,
        whose: IntArray,
        item: IntArray,
        purse: Purse,
        arrived: abc.Callable[[IntArray], None],
    ) -> None:
        """Ask for the pairs ``at``, users by items; again for what is missing, as agreed.

        Scores are written where they belong as they arrive, so that an error loses none of them.
        """
        failure: BaseException | None = None
        lack = ""
        for attempt in range(self.retries + 1):
            if attempt:
                self._pause(attempt - 1)
            open_ = at.ravel()[np.isnan(scores[at.ravel()])]
            for part in rectangles(whose[open_], open_.size):
                place = open_[part]
                failure, lack = self._attempt(
                    scores, place, whose, item, purse, again=attempt > 0, before=failure
                )
                arrived(place[~np.isnan(scores[place])])
            if not np.isnan(scores[at]).any():
                return
        times = "once" if self.retries == 0 else f"{self.retries + 1} times"
        open_ = at[np.isnan(scores[at]).any(axis=1)]
        users = self.user_ids.values(whose[open_[:, 0]])
        if failure is None:
            raise InputError(
                f"{self._who(users)} gave no full answer, tried {times}: {lack}; such scores "
                f"cannot be ranked. {self._kept}"
            )
        raise TruerankError(
            f"the scoring function failed for {_some(users, 'user')} with {at.shape[1]} items "
            f"each, tried {times}: {type(failure).__name__}: {failure}. {self._kept}"
        ) from failure

    def _attempt(
        self,
        scores: npt.NDArray[np.float64],
        place: IntArray,
        whose: IntArray,
        item: IntArray,
        purse: Purse,
        *,
        again: bool,
        before: BaseException | None,
    ) -> tuple[BaseException | None, str]:
        """One call: why it failed, or what its answer lacks."""
        user_ids = self.user_ids.values(whose[place[:, 0]])
        item_ids = self.item_ids.values(item[place])
        self._check_time()
        try:
            purse.pay(place.size, again=again)
        except OutOfBudget as error:
            raise error from before
        with self._lock:
            self.calls += 1
            self.asked_pairs += place.size
        try:
            answer = within(
                # Copies: the function may change what it is given.
                lambda: self.function(user_ids.copy(), item_ids.copy()),
                self.timeout,
            )
            values, lack = arrived_of(
                answer,
                item_ids.shape,
                self._who(user_ids),
                where=lambda at: f"for user {user_ids[at[0]]}, item {item_ids[at]}",
            )
        except InputError as error:  # would be the same again
            raise InputError(f"{error}. {self._kept}") from error.__cause__
        except (Exception, SystemExit) as error:  # the latter too is a failure of the function
            purse.lose(place.size)
            return error, ""
        scores[place] = values
        here = int(np.count_nonzero(~np.isnan(values)))
        if here < place.size:
            purse.lose(place.size - here)
        purse.receive(here)
        with self._lock:
            self.scored_pairs += here
        return None, lack

    def _who(self, user_ids: npt.NDArray[Any]) -> str:
        return f"the scoring function, asked for {_some(user_ids, 'user')},"

    def _pause(self, n_failures: int) -> None:
        """Before the next attempt, as long as the time limit has it."""
        pause = min(self.backoff * 2.0 ** min(n_failures, 60), _LONGEST_PAUSE)
        if self.time_limit is not None and self._began is not None:
            pause = min(pause, max(0.0, self._began + self.time_limit - time.perf_counter()))
        self._sleep(pause)

    def _check_time(self) -> None:
        """Raise if no further call may be begun."""
        with self._lock:
            if self._began is None:
                self._began = time.perf_counter()
            spent = time.perf_counter() - self._began
        if self.time_limit is not None and spent > self.time_limit:
            raise TruerankError(
                f"time_limit is {self.time_limit:g} s, and {spent:.3g} s have passed since the "
                f"first call, with {self.scored_pairs:,} pairs scored: give more time, or a "
                f"smaller budget. {self._kept}"
            )

    @property
    def _kept(self) -> str:
        """A sentence on what becomes of the pairs scored so far, for messages."""
        if self._cache is None:
            return "Scored pairs are not kept; with cache= and name= the next run would go on here"
        return (
            f"Pairs scored so far are kept in {self._cache.path}: run again with the same cache= "
            "and name= and only the others are asked for"
        )


def catalogue(item_ids: Any, n_items: int | None) -> Ids:
    """The items of a scorer that cannot tell by itself how many there are."""
    if item_ids is None and n_items is None:
        raise InputError("give item_ids= or n_items=: ranking needs to know the whole catalogue")
    if n_items is not None:
        n_items = _checks.integer(n_items, "n_items", low=2, why="ranking needs two")
    ids = Ids("item", n_items, item_ids)
    if ids.n_rows is None or ids.n_rows < 2:
        raise InputError(f"item_ids has {ids.n_rows} ids; ranking needs at least 2 items")
    return ids


def _some(ids: npt.NDArray[Any], kind: str) -> str:
    """ "user 3", "users 3, 5, 8" or "40 users (3, 5, 8, 9, 12, ...)"."""
    shown = ", ".join(map(str, ids[:5].tolist()))
    if ids.size == 1:
        return f"{kind} {shown}"
    return f"{kind}s {shown}" if ids.size <= 5 else f"{ids.size} {kind}s ({shown}, ...)"


def _check_function(function: Any) -> None:
    if not callable(function):
        raise InputError(f"function is a {type(function).__name__}; it must be callable")
    call = getattr(function, "__call__", None)  # noqa: B004 - the method itself, for its kind
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call):
        raise InputError(
            "function is a coroutine function; wrap it so that it waits for its result: "
            "lambda users, items: asyncio.run(function(users, items))"
        )
