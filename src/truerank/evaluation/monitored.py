"""What a monitor says of an epoch, and of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from truerank.inference import result
from truerank.inference.comparing.comparison import Comparison, Difference
from truerank.inference.estimates import FLAT, Estimate, Estimates
from truerank.inference.result import Result, plain
from truerank.inference.verdicts import MARK
from truerank.metrics import MetricLike

ROUNDING = 1e-12  # of metrics up to 1


@dataclass(frozen=True, repr=False)
class Epoch(Result):
    """One epoch as `truerank.Monitor` sees it: ``found["ndcg@10"].value``.

    Attributes
    ----------
    epoch : int
        Its number.
    estimates : Estimates
        The metrics with their intervals.
    comparisons : dict of str to Comparison
        By metric, the epoch against the best one before it; empty for the first.
    compared_with : int or None
        That best epoch; None for the first.
    best_epoch : int
        The best epoch so far, this one included, by the first metric.
    worse : int
        Epochs since the best one that are really worse than it.
    should_stop : bool
        Whether these are as many as the patience allows.
    cost : int
        Pairs scored, of all processes together.
    seconds : float
        Seconds that the update took, scoring and estimating.

    Examples
    --------
    >>> test = (np.arange(50), np.arange(50))
    >>> monitor = tr.Monitor(test, metrics=["recall@10"])
    >>> scores = np.random.default_rng(0).random((50, 400))
    >>> found = monitor.update(tr.scoring.Dense(scores))
    >>> found["recall@10"].value, found.difference
    (0.0, None)
    """

    epoch: int
    estimates: Estimates
    comparisons: Mapping[str, Comparison]
    compared_with: int | None
    best_epoch: int
    worse: int
    should_stop: bool
    cost: int
    seconds: float

    def __getitem__(self, metric: MetricLike) -> Estimate:
        return self.estimates[metric]

    @property
    def difference(self) -> Difference | None:
        """The first metric of this epoch less that of the best one before it.

        Returns
        -------
        Difference or None
            With ``.value``, ``.low`` and ``.high``; None for the first epoch.

        Examples
        --------
        >>> test = (np.arange(50), np.arange(50))
        >>> monitor = tr.Monitor(test, metrics=["recall@10"])
        >>> scores = np.random.default_rng(0).random((50, 400))
        >>> found = monitor.update(tr.scoring.Dense(scores))
        >>> better = monitor.update(tr.scoring.Dense(scores + np.eye(50, 400)))
        >>> round(better.difference.value, 2)
        1.0
        """
        return self._difference(next(iter(self.estimates)))

    @property
    def is_best(self) -> bool:
        """Whether this is the best epoch so far.

        Returns
        -------
        bool
            True for the first.

        Examples
        --------
        >>> test = (np.arange(50), np.arange(50))
        >>> scores = np.random.default_rng(0).random((50, 400))
        >>> tr.Monitor(test).update(tr.scoring.Dense(scores)).is_best
        True
        """
        return self.epoch == self.best_epoch

    def _difference(self, metric: str) -> Difference | None:
        if metric not in self.comparisons:
            return None
        return self.comparisons[metric][name(self.epoch), name(self.compared_with)]

    def rows(self) -> list[dict[str, Any]]:
        found = []
        for metric, one in self.estimates.items():
            off = self._difference(metric)
            found.append(
                {
                    "epoch": self.epoch,
                    "metric": metric,
                    "value": one.value,
                    "low": one.low,
                    "high": one.high,
                    "resolvable": one.resolvable,
                    "compared_with": self.compared_with,
                    "difference": None if off is None else off.value,
                    "difference_low": None if off is None else off.low,
                    "difference_high": None if off is None else off.high,
                    "real": None if off is None else is_real(off),
                    "best": self.is_best,
                    "worse": self.worse,
                    "cost": self.cost,
                    "seconds": self.seconds,
                }
            )
        return found

    def to_dict(self, *, flat: bool = False) -> dict[str, Any]:
        """Everything as plain data, ready for JSON or for an experiment tracker.

        Parameters
        ----------
        flat : bool, default False
            One level of names, ``ndcg@10/value`` and so on, with ``/difference`` and its ends.

        Returns
        -------
        dict
            Lists, dicts, texts, numbers, truth values and None; if flat, numbers and truth values
            by name, what is not known left out.

        Examples
        --------
        >>> monitor = tr.Monitor((np.arange(50), np.arange(50)), metrics="recall@10")
        >>> scores = np.random.default_rng(0).random((50, 400))
        >>> list(monitor.update(tr.scoring.Dense(scores)).to_dict(flat=True))[:2]
        ['recall@10/value', 'recall@10/low']
        """
        if flat:
            told = (*FLAT, "difference", "difference_low", "difference_high")
            state = {"best_epoch": self.best_epoch, "cost": self.cost, "seconds": self.seconds}
            return result.flat(self.rows(), told) | state
        content: dict[str, Any] = plain(
            {
                "epoch": self.epoch,
                "best_epoch": self.best_epoch,
                "should_stop": self.should_stop,
                "results": self.rows(),
            }
        )
        return content

    def _shown(self) -> Sequence[Mapping[str, str]]:
        return shown(self.rows())

    def __repr__(self) -> str:
        lines = []
        for row in self.rows():
            text = f"epoch {self.epoch}: {row['metric']} {_value(row)} {_interval(row)}"
            if row["difference"] is not None:
                text += f", {_difference(row)} against epoch {self.compared_with}"
            lines.append(text)
        if self.should_stop:
            lines.append(f"stop: epoch {self.best_epoch} is the best")
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class History(Result):
    """All epochs that a monitor has seen, one row per epoch and metric.

    Attributes
    ----------
    epochs : tuple of dict
        The rows: ``epoch``, ``metric``, ``value``, ``low``, ``high``, ``resolvable``;
        ``compared_with`` (the best epoch before), ``difference`` to it, ``difference_low``,
        ``difference_high`` and whether that is ``real``; whether it was the ``best`` so far, how
        many were ``worse`` since the best; ``cost`` and ``seconds``.
    best_epoch : int or None
        The best of them by the first metric; None before the first epoch.
    should_stop : bool
        Whether training should stop.
    design : str
        The design that all of them were ranked by, and why; empty before the first epoch.

    Examples
    --------
    >>> monitor = tr.Monitor((np.arange(50), np.arange(50)), metrics=["recall@10"])
    >>> scores = np.random.default_rng(0).random((50, 400))
    >>> found = monitor.update(tr.scoring.Dense(scores))
    >>> monitor.history.to_pandas()[["epoch", "metric", "value"]]
       epoch     metric  value
    0      1  recall@10    0.0
    """

    epochs: tuple[dict[str, Any], ...]
    best_epoch: int | None
    should_stop: bool
    design: str

    def rows(self) -> list[dict[str, Any]]:
        return [dict(row) for row in self.epochs]

    def to_dict(self) -> dict[str, Any]:
        content: dict[str, Any] = plain(self)
        return content

    def _headline(self) -> str:
        if self.best_epoch is None:
            return "No epoch yet"
        best = next(row for row in self.epochs if row["epoch"] == self.best_epoch)
        said = f"Best: epoch {self.best_epoch}, {best['metric']} {_value(best)} {_interval(best)}"
        return f"{said}; stop" if self.should_stop else said

    def _remarks(self) -> Sequence[str]:
        return [self.design] if self.design else []

    def _shown(self) -> Sequence[Mapping[str, str]]:
        return shown(self.epochs)

    def __repr__(self) -> str:
        return "\n".join(
            part for part in (self._headline(), self.to_markdown(), self.design) if part
        )


def name(epoch: int | None) -> str:
    """What an epoch is called in comparisons."""
    return f"epoch {epoch}"


def is_real(difference: Difference) -> bool:
    """Whether the interval of a difference leaves out 0, rounding errors apart."""
    return difference.low > ROUNDING or difference.high < -ROUNDING


def shown(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Rows of epochs as people read them."""
    return [
        {
            "epoch": f"{row['epoch']}{' (best)' if row['best'] else ''}",
            "metric": row["metric"],
            "value": _value(row),
            "interval": _interval(row),
            "against the best before": "" if row["difference"] is None else _difference(row),
        }
        for row in rows
    ]


def _value(row: Mapping[str, Any]) -> str:
    return f"{row['value']:.4f}{MARK if row['resolvable'] is False else ''}"


def _interval(row: Mapping[str, Any]) -> str:
    return f"[{row['low']:.4f}, {row['high']:.4f}]"


def _difference(row: Mapping[str, Any]) -> str:
    low, high = row["difference_low"], row["difference_high"]
    chance = "" if row["real"] else " (may be chance)"
    return f"{row['difference']:+.4f} [{low:+.4f}, {high:+.4f}]{chance}"
