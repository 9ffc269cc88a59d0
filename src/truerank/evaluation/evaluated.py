"""The result of `evaluate`: estimates, the counts behind them, the protocol and the cost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from truerank import _arguments, estimators
from truerank._types import PathLike
from truerank._version import __version__
from truerank.designs import Design, Exact
from truerank.estimators import Estimator
from truerank.inference.estimates import Estimate, Estimates
from truerank.inference.result import Result
from truerank.metrics import MetricLike
from truerank.outcomes import tables
from truerank.outcomes.counts import RankCounts

_PROTOCOL_KEY = b"truerank.protocol"


@dataclass(frozen=True, repr=False)
class Evaluation(Result, Mapping[str, Estimate]):
    """The result of an evaluation: estimates, protocol and cost.

    ``result["recall@10"].value`` as in `Estimates`.

    Attributes
    ----------
    estimates : Estimates
        The metrics with their intervals.
    counts : RankCounts
        The ranks they rest on.
    protocol : dict
        The protocol card: all that a reader needs to judge or repeat the evaluation.
    cost : int
        All pairs asked of the scorer, those of choosing a design and of retries included; answers
        from a scorer's cache are not asked for. Vectors and score matrices are not asked: there it
        is the number of scores computed.
    seconds : float
        Time that ranking took, estimating apart.

    Examples
    --------
    >>> scorer = tr.scoring.Dense(np.random.default_rng(0).random((50, 400)))
    >>> test = (np.arange(50), np.arange(50))
    >>> result = tr.evaluate(scorer, test, "fixed(num_negatives=19)", metrics="auc")
    >>> result.cost, result.pairs_per_user
    (1000, 20.0)
    """

    estimates: Estimates
    counts: RankCounts
    protocol: Mapping[str, Any]
    cost: int
    seconds: float

    def __getitem__(self, metric: MetricLike) -> Estimate:
        return self.estimates[metric]

    def __iter__(self) -> Iterator[str]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    @property
    def pairs_per_user(self) -> float:
        """Pairs asked of the scorer, averaged over users; what a budget bounds.

        Returns
        -------
        float
            ``cost`` over the number of users.

        Examples
        --------
        >>> scorer = tr.scoring.Dense(np.random.default_rng(0).random((50, 400)))
        >>> test = (np.arange(50), np.arange(50))
        >>> result = tr.evaluate(scorer, test, "fixed(num_negatives=19)", metrics="auc")
        >>> result.pairs_per_user
        20.0
        """
        return self.cost / int(self.protocol["users"])

    @property
    def reason(self) -> str:
        """Which design was carried out, and why.

        Returns
        -------
        str
            A sentence.

        Examples
        --------
        >>> scorer = tr.scoring.Dense(np.random.default_rng(0).random((50, 400)))
        >>> test = (np.arange(50), np.arange(50))
        >>> result = tr.evaluate(scorer, test, "fixed(num_negatives=19)", metrics="auc")
        >>> result.reason
        'Fixed(num_negatives=19), as asked for'
        """
        return str(self.protocol["reason"])

    @property
    def cost_line(self) -> str:
        """The cost in words.

        Returns
        -------
        str
            Pairs in all and per user, and the time they took.

        Examples
        --------
        >>> scorer = tr.scoring.Dense(np.random.default_rng(0).random((50, 400)))
        >>> test = (np.arange(50), np.arange(50))
        >>> result = tr.evaluate(scorer, test, "fixed(num_negatives=19)", metrics="auc")
        >>> result.cost_line[:39]
        '1,000 pairs scored (20.0 per user) in 0'
        """
        return (
            f"{self.cost:,} pairs scored ({self.pairs_per_user:,.1f} per user) in "
            f"{self.seconds:.1f} s"
        )

    def rows(self) -> list[dict[str, Any]]:
        return self.estimates.rows()

    def to_dict(self, *, flat: bool = False) -> dict[str, Any]:
        """Everything as plain data, ready for JSON or for an experiment tracker.

        Parameters
        ----------
        flat : bool, default False
            One level of names, as in :meth:`Estimates.to_dict`, with ``cost`` and ``seconds``.

        Returns
        -------
        dict
            Lists, dicts, texts, numbers, truth values and None; if flat, numbers and truth values
            by name, what is not known left out.

        Examples
        --------
        >>> scorer = tr.scoring.Dense(np.random.default_rng(0).random((50, 400)))
        >>> test = (np.arange(50), np.arange(50))
        >>> result = tr.evaluate(scorer, test, "exact", metrics="auc", confidence=None)
        >>> list(result.to_dict(flat=True))
        ['auc/value', 'cost', 'pairs_per_user', 'seconds']
        """
        _arguments.check(Evaluation.to_dict, locals())
        told = {
            "cost": self.cost,
            "pairs_per_user": self.pairs_per_user,
            "seconds": self.seconds,
        }
        if flat:
            return self.estimates.to_dict(flat=True) | told
        return {
            "protocol": dict(self.protocol),
            **told,
            **self.estimates.to_dict(),
        }

    def _ipython_key_completions_(self) -> list[str]:
        """Metrics, for the tab key in a notebook."""
        return list(self)

    def _headline(self) -> str:
        return self.reason

    def _remarks(self) -> list[str]:
        return [*self.estimates._remarks(), self.cost_line]

    def _shown(self) -> Sequence[Mapping[str, str]]:
        return self.estimates._shown()

    def save(self, path: PathLike) -> None:
        """Write the counts to Parquet with the protocol card in its metadata.

        Parameters
        ----------
        path : str or path
            A file name that ends in ``.parquet``; `read_protocol` reads the card again.

        Examples
        --------
        >>> scorer = tr.scoring.Dense(np.random.default_rng(0).random((50, 400)))
        >>> test = (np.arange(50), np.arange(50))
        >>> result = tr.evaluate(scorer, test, "fixed(num_negatives=19)", metrics="auc")
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.save(f"{folder}/counts.parquet")
        ...     tr.RankCounts.load(f"{folder}/counts.parquet").n_users
        50.0
        """
        _arguments.check(Evaluation.save, locals())
        self.counts.save(path, notes={_PROTOCOL_KEY: json.dumps(dict(self.protocol)).encode()})

    def __repr__(self) -> str:
        return f"{self.reason}\n{self.estimates!r}\n{self.cost_line}"


def read_protocol(path: Any) -> dict[str, Any] | None:
    """The protocol card of counts that :meth:`Evaluation.save` wrote.

    Parameters
    ----------
    path : str or path
        The Parquet file.

    Returns
    -------
    dict or None
        The card; None if the file has none.
    """
    found = tables.parquet_metadata(Path(path)).get(_PROTOCOL_KEY)
    return None if found is None else dict(json.loads(found))


def protocol_card(
    design: Design,
    reason: str,
    counts: RankCounts,
    *,
    catalogue: int,
    train: bool,
    keep_train: bool,
    n_users: int,
    population: int,
    targets: int,
    ties: str,
    seed: int,
    estimator: Estimator,
) -> dict[str, Any]:
    """All that a reader needs to know of how the numbers came about, the design first."""
    card: dict[str, Any] = {
        "design": design.to_dict(),
        "reason": reason,
        "n_items": catalogue,
        "pool_sizes": [int(counts.n_items.min()), int(counts.n_items.max())],
        "training_items_left_out": train and not keep_train,
        "users": n_users,
        "population_size": population,
        "targets": targets,
        "ties": ties,
        "seed": seed,
        "estimator": estimators.describe(estimator),
        "truerank": __version__,
    }
    if keep_train:
        card["training_items_kept"] = True
    if not isinstance(design, Exact):
        scheme = counts.schemes[0]  # a budget may have cut the ladder of the design
        card["replacement"] = scheme.replacement
        card["sample_sizes"] = list(scheme.ladder or np.unique(counts.sample_size).tolist())
        card["hits"] = scheme.hits if isinstance(scheme.hits, int) else list(scheme.hits)
    return card
