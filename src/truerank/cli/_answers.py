"""What to estimate and by what: options that several commands share, and the estimating."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from truerank.cli import _names
from truerank.cli._options import ANSWERS, option
from truerank.cli._results import Run
from truerank.progress import reporting

if TYPE_CHECKING:
    from truerank.estimators import Estimator
    from truerank.metrics import Metric
    from truerank.outcomes.counts import RankCounts

SCOPES = ("these-users", "population")
INTERVALS = ("total", "sampling")
METRICS = "Metrics with their cut-offs, as in recall@1,5,10: {metrics} (hr, mrr, ...). Repeatable."
SCOPE = (
    "Whom the answer is for: the users evaluated (these-users, the default), or all users that "
    "they are a sample of."
)


@dataclass(frozen=True)
class Answers:
    """Options that say what to estimate and by what."""

    PANEL: ClassVar[str] = ANSWERS

    estimator: list[str] | None = option(
        None,
        'One of {estimators}; the first unless stated. Options as in "bv(gamma=0.1)". Repeatable.',
        "NAME",
        short="-e",
        suggest=_names.estimators,
    )
    metrics: list[str] | None = option(None, METRICS, "NAME@K", short="-m", suggest=_names.metrics)
    confidence: float = option(
        0.95,
        "Confidence of the intervals; 0 for none, which is quicker for mle, mes and the other "
        "estimators by EM.",
        "SHARE",
    )
    scope: str | None = option(None, SCOPE, known=SCOPES)
    interval: str | None = option(
        None,
        "What intervals are about: all that is known of the error (total, the default), or the "
        "scatter of drawn negatives and users alone.",
        known=INTERVALS,
    )
    plan: bool = option(
        False,
        "Also simulate which samples would settle the metrics that this one does not; takes a "
        "while.",
    )

    def wanted(self) -> tuple[Metric, ...]:
        """The metrics, read."""
        from truerank.inference.estimates import DEFAULT_METRICS
        from truerank.metrics import parse

        return parse(split_metrics(self.metrics or DEFAULT_METRICS))

    def chosen(self) -> dict[str, Estimator]:
        """The estimators by their descriptions."""
        from truerank import estimators
        from truerank.inference.estimates import DEFAULT_ESTIMATOR

        # Commas part estimators too, but not inside the parentheses of options.
        parts = [
            part
            for name in self.estimator or [DEFAULT_ESTIMATOR]
            for part in re.split(r",(?![^(]*\))", name)
        ]
        distinct = dict.fromkeys(estimators.get(part) for part in parts)
        return {estimators.describe(one): one for one in distinct}

    def intervals(self) -> dict[str, Any]:
        """--confidence, --scope and --interval as arguments of estimate."""
        asked = said(scope=self.scope, interval=self.interval)
        return {"confidence": self.confidence or None, **asked}

    def run(self, counts: Mapping[str, RankCounts], **options: Any) -> list[Run]:
        """Every model's metrics by every estimator, with intervals and verdicts."""
        from truerank.inference.estimates import Estimates, estimate

        wanted, chosen = self.wanted(), self.chosen()
        runs = []
        with reporting(None, len(counts) * len(chosen), "estimating") as advance:
            for model, one_model in counts.items():
                results: dict[str, Estimates] = {}
                for name, one in chosen.items():
                    # Without a single metric it is defined for, the library says so.
                    defined = [metric for metric in wanted if one.supports(metric)] or wanted
                    results[name] = estimate(one_model, defined, estimator=one, **options)
                    results[name].verdict()  # found when asked for: now, under the bar
                    advance(1)
                naive = estimate(one_model, wanted, estimator="naive", confidence=None)
                runs.append(self._planned(Run(model, one_model, naive, results)))
        return runs

    def _planned(self, run: Run) -> Run:
        """With what would settle the metrics that are not resolved, if that is asked for."""
        if not self.plan:
            return run
        from truerank.inference.planning.remedies import remedies

        return replace(run, plans=remedies(run.main))


@dataclass(frozen=True)
class CompareOptions:
    """Options of commands that look at several models by one estimator."""

    PANEL: ClassVar[str] = ANSWERS

    by: str | None = option(
        None,
        "One file holds all models: the column that tells them apart; model unless stated.",
        "COLUMN",
    )
    metrics: list[str] | None = option(None, METRICS, "NAME@K", short="-m", suggest=_names.metrics)
    estimator: str = option(
        "smooth", "As in truerank estimate.", "NAME", short="-e", suggest=_names.estimators
    )
    scope: str | None = option(None, SCOPE, known=SCOPES)
    confidence: float = option(0.95, "Confidence of the intervals.", "SHARE")
    unpaired: bool = option(False, "Compare as if each model had users of its own.")

    def options(self) -> dict[str, Any]:
        """Those that compare and report take as they are."""
        return {
            "estimator": self.estimator,
            "confidence": self.confidence,
            "unpaired": self.unpaired,
            **said(scope=self.scope),
        }


def said(**options: Any) -> dict[str, Any]:
    """Those that were given."""
    return {name: value for name, value in options.items() if value is not None}


def split_metrics(names: Sequence[str]) -> list[str]:
    """``["recall@1,5,ndcg@10"]`` as two: a comma before a letter starts a new metric."""
    return [one for name in names for one in re.split(r",\s*(?=[A-Za-z])", name)]
