"""What truerank raises and warns about."""

from __future__ import annotations

__all__ = [
    "AssumptionWarning",
    "ConvergenceWarning",
    "FitWarning",
    "InputError",
    "MissingExtraError",
    "TruerankError",
    "TruerankWarning",
]

_LONGEST = 1500  # characters of a message


class TruerankError(Exception):
    """Base of every error that truerank raises on purpose.

    Examples
    --------
    >>> from truerank.errors import TruerankError
    >>> try:
    ...     tr.metrics.parse("recal@10")
    ... except TruerankError as error:
    ...     print(error)
    unknown metric 'recal'; did you mean 'recall'? (known: recall, recall_min, ...)
    """

    def __str__(self) -> str:
        return _one_line(super().__str__())


def _one_line(message: str) -> str:
    """A message on one line; of a long one, its beginning and its end, where the remedy is."""
    line = " ".join(part.strip() for part in message.splitlines())
    if len(line) <= _LONGEST:
        return line
    return f"{line[: _LONGEST // 2]} ... {line[-_LONGEST // 3 :]}"


class InputError(TruerankError, ValueError):
    """The input cannot be used as given; the message names the thing, its value and its bound.

    It is a ValueError too.

    Examples
    --------
    >>> tr.RankCounts.from_ranks([0, 3], num_negatives=99, n_items=3706)
    Traceback (most recent call last):
    ...
    truerank.errors.InputError: sampled_rank is 0 at row 0: these look like 0-based ranks; ...
    """


class MissingExtraError(TruerankError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it.

    It is an ImportError too.

    Examples
    --------
    >>> from truerank.errors import MissingExtraError
    >>> issubclass(MissingExtraError, ImportError)
    True
    """


class OutOfBudget(TruerankError):  # for truerank itself, which asks for less then
    """A call would take more pairs than are left of a budget."""


class TruerankWarning(UserWarning):
    """Base of every warning that truerank gives.

    Examples
    --------
    Turn all of them into errors:

    >>> import warnings
    >>> from truerank.errors import TruerankWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", TruerankWarning)
    ...     counts = tr.RankCounts.from_ranks([1, 3], num_negatives=9, n_items=3706)
    """


class AssumptionWarning(TruerankWarning):
    """Something was assumed that changes the numbers; the message says how to state it.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as given:
    ...     warnings.simplefilter("always")
    ...     counts = tr.RankCounts.from_ranks([1, 3], num_negatives=99, n_items=500)
    >>> given[0].category.__name__
    'AssumptionWarning'
    """


class ConvergenceWarning(TruerankWarning):
    """A fit stopped before it converged; its numbers may be off.

    Examples
    --------
    >>> import warnings
    >>> counts = tr.RankCounts.from_ranks([1, 3, 9], num_negatives=9, n_items=3706)
    >>> with warnings.catch_warnings(record=True) as given:
    ...     warnings.simplefilter("always")
    ...     fit = tr.mapping.fit_beta(counts, steps=1)
    >>> given[0].category.__name__
    'ConvergenceWarning'
    """


class FitWarning(TruerankWarning):
    """The ranks do not look like what they are said to be; estimates from them mislead.

    Examples
    --------
    Ranks that someone made up, each 300 times:

    >>> import warnings
    >>> counts = tr.RankCounts.from_ranks([1, 3, 17, 54] * 300, num_negatives=99, n_items=3706)
    >>> with warnings.catch_warnings(record=True) as given:
    ...     warnings.simplefilter("always")
    ...     est = tr.estimate(counts, "recall@10")
    >>> given[0].category.__name__, est.fit_test.fits
    ('FitWarning', False)
    """


def __dir__() -> list[str]:
    return sorted(__all__)
