"""Calls that may fail or hang: again after a pause, given up after a time, several at once."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


class CallTimeout(Exception):
    """A call did not come back in time."""


def within(function: Callable[[], Result], seconds: float | None) -> Result:
    """``function()``, or CallTimeout after ``seconds``.

    A thread cannot be stopped: a call that hangs is left behind in a daemon thread, which does not
    keep the process alive, and whatever it still returns is dropped.
    """
    if seconds is None:
        return function()
    outcome: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            outcome.put((function(), None))
        except BaseException as error:
            outcome.put((None, error))

    threading.Thread(target=run, name="truerank-call", daemon=True).start()
    try:
        result, error = outcome.get(timeout=seconds)
    except queue.Empty:
        raise CallTimeout(f"no answer within {seconds:g} s") from None
    if error is not None:
        raise error
    return result  # type: ignore[no-any-return]


def completed(
    tasks: Sequence[Task], work: Callable[[Task], Result], concurrency: int
) -> Iterator[list[tuple[Task, Result]]]:
    """Do ``work`` on every task in up to ``concurrency`` threads; yield what is done, as it is.

    After a first error no further task is begun; those under way are waited for and yielded, then
    the error is raised. With one thread the work is done in the caller's.
    """
    if concurrency == 1 or len(tasks) <= 1:
        for task in tasks:
            yield [(task, work(task))]
        return
    todo: queue.SimpleQueue[Task] = queue.SimpleQueue()
    for task in tasks:
        todo.put(task)
    n_workers = min(concurrency, len(tasks))
    done: queue.SimpleQueue[_Outcome[Task, Result]] = queue.SimpleQueue()
    stop = threading.Event()
    # A worker goes on when the caller is done with its last result: what a killed process loses
    # is one task a worker, however slow the caller is.
    go_on = [threading.Semaphore(0) for _ in range(n_workers)]

    def worker(number: int) -> None:
        while not stop.is_set():
            try:
                task = todo.get_nowait()
            except queue.Empty:
                break
            try:
                done.put(_Outcome(number, done=(task, work(task))))
            except BaseException as error:
                stop.set()
                done.put(_Outcome(number, error=error))
                break
            go_on[number].acquire()
        done.put(_Outcome(number, ended=True))

    for number in range(n_workers):
        threading.Thread(
            target=worker, args=(number,), name=f"truerank-worker-{number}", daemon=True
        ).start()
    running, first_error = n_workers, None
    try:
        while running:
            outcomes = list(_waiting(done))
            running -= sum(outcome.ended for outcome in outcomes)
            errors = [outcome.error for outcome in outcomes if outcome.error is not None]
            first_error = first_error or (errors[0] if errors else None)
            ready = [outcome for outcome in outcomes if outcome.done is not None]
            if ready:
                yield [outcome.done for outcome in ready if outcome.done is not None]
            for outcome in ready:
                go_on[outcome.worker].release()
    finally:  # also when the caller breaks off
        stop.set()
        for semaphore in go_on:
            semaphore.release()
    if first_error is not None:
        raise first_error


@dataclass(frozen=True)
class _Outcome(Generic[Task, Result]):
    """What a worker has to say: a task is done, or failed, or it has ended."""

    worker: int
    done: tuple[Task, Result] | None = None
    error: BaseException | None = None
    ended: bool = False


def _waiting(source: queue.SimpleQueue[Result]) -> Iterator[Result]:
    """What is in the queue now, and at least one."""
    yield source.get()
    while True:
        try:
            yield source.get_nowait()
        except queue.Empty:
            return
