"""The run of one experiment: its data, exact ranks and repeats, kept as they are found."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from truerank import data, estimators
from truerank import metrics as metrics_module
from truerank import progress as _progress
from truerank._types import FloatArray
from truerank.designs import Design
from truerank.errors import InputError, MissingExtraError
from truerank.metrics import MetricLike
from truerank.models import Model, fit_cached
from truerank.models._base import read
from truerank.models.cache import kept_path
from truerank.outcomes.counts import RankCounts
from truerank.scoring import task
from truerank.scoring.exact import count
from truerank_papers import datasets
from truerank_papers.experiments import parts
from truerank_papers.experiments.published import Published, published
from truerank_papers.experiments.ranks import GlobalRanks
from truerank_papers.experiments.registry import Experiment
from truerank_papers.experiments.settings import Settings
from truerank_papers.models import checkpoints


@dataclass(frozen=True)
class Run:
    """What the function of an experiment is given.

    Parameters
    ----------
    experiment
        The experiment that is run.
    settings
        What it has in common with others.
    record
        Collects what the result depends on: hashes of the data, models, the number of repeats.
    """

    experiment: Experiment
    settings: Settings
    record: dict[str, Any] = field(default_factory=dict)

    @property
    def seed(self) -> int:
        """Seed of all random draws."""
        return self.settings.seed

    def repeats(self, paper: int = 100) -> int:
        """Tell how many repeats to draw.

        Parameters
        ----------
        paper
            The paper's own number.

        Returns
        -------
        int
            As many as were asked for, else the paper's number.
        """
        wanted = self.settings.repeats or paper
        self.record["repeats"] = wanted
        return wanted

    def at_hand(self) -> list[str]:
        """List those of the experiment's ``any_of`` datasets that are at hand.

        Returns
        -------
        list of str
            Their names.
        """
        return [name for name in self.experiment.any_of if self.settings.has(name)]

    def published(self, name: str | None = None) -> Published:
        """Read the paper's printed numbers.

        Parameters
        ----------
        name
            A table of the paper; that of this experiment by default.

        Returns
        -------
        Published
            The numbers.
        """
        return published(self.experiment.paper, name or self.experiment.name)

    def split(self, dataset: str) -> data.Split:
        """Read a dataset.

        Parameters
        ----------
        dataset
            Its name.

        Returns
        -------
        Split
            Training and held-out interactions.
        """
        if self.settings.data is None:
            raise InputError(f"{self.experiment} needs {dataset}: give a folder of data")
        split, content = _load(dataset, self.settings.data / dataset)
        self._note("data", dataset, content)
        return split

    def ranks(
        self,
        dataset: str,
        models: Mapping[str, Model[Any]],
        *,
        leave_out: bool,
    ) -> dict[str, GlobalRanks]:
        """Fit models and rank the held-out items; what was done before is read.

        Parameters
        ----------
        dataset
            Name of the dataset.
        models
            The models by name.
        leave_out
            Whether training items are left out of the ranking.

        Returns
        -------
        dict
            Exact ranks by the name of the model. Models whose library is missing are left out,
            and the record says so.
        """
        self.split(dataset)
        content = self.record["data"][dataset]
        found = {}
        for name, model in models.items():
            key = [content, type(model).__name__, repr(model), leave_out, self.seed]
            digest = parts.digest(key, type(model).fit, type(model)._fit)
            place = self.settings.cache / "ranks" / f"{name}-{digest}.npz"
            if not (self.settings.fit or place.exists() or self._is_fitted(dataset, model)):
                self._note("left out", f"{name} on {dataset}", "it was not fitted (--no-fit)")
                continue
            try:
                arrays = parts.kept_arrays(place, partial(self._rank, dataset, model, leave_out))
            except MissingExtraError as error:
                self._note("left out", name, str(error))
                continue
            self._note("models", f"{dataset} {name}", repr(model))
            found[name] = GlobalRanks(arrays["above"], arrays["tied"], arrays["n_items"])
        return found

    def fitted(self, dataset: str, model: Model[Any]) -> Any:
        """Fit a model; one that was fitted before is read, and a training that was stopped goes on.

        Parameters
        ----------
        dataset
            Name of the dataset.
        model
            The hyper-parameters.

        Returns
        -------
        Scorer
            The fitted model.
        """
        split = self.split(dataset)
        with checkpoints(self.settings.cache / "training"):
            return fit_cached(
                model,
                split.train,
                folder=self.settings.cache / "models",
                user_ids=split.user_ids,
                item_ids=split.item_ids,
                seed=self.seed,
                progress=self.settings.progress,
            )

    def _is_fitted(self, dataset: str, model: Model[Any]) -> bool:
        """Whether a model was fitted to a dataset before, and kept."""
        split = self.split(dataset)
        data = read(split.train, user_ids=split.user_ids, item_ids=split.item_ids)
        return kept_path(self.settings.cache / "models", model, data, self.seed).exists()

    def _rank(self, dataset: str, model: Model[Any], leave_out: bool) -> dict[str, Any]:
        split = self.split(dataset)
        scorer = self.fitted(dataset, model)
        plan = task.prepare(scorer, split.test, train=split.train if leave_out else None)
        above, tied = count(scorer, plan, progress=self.settings.progress)
        return {"above": above, "tied": tied, "n_items": plan.n_items}

    def repeated(
        self,
        what: str,
        function: Callable[[int, int], FloatArray],
        *,
        key: Any,
        repeats: int,
        part: int = parts.PART,
    ) -> FloatArray:
        """Repeat something, in parts that are kept.

        Parameters
        ----------
        what
            Name for the progress bar and the folder; experiments that share it share the repeats.
        function
            ``function(first, last)`` gives an array of shape (last - first, ...), which depends on
            ``key``, the seed and the numbers of the repeats only.
        key
            What the numbers depend on, JSON-like. The seed, the code of the estimators and the
            file of ``function`` are added.
        repeats
            Number of repeats.
        part
            Number of repeats that are worked on, kept and at worst lost together.

        Returns
        -------
        ndarray
            Shape (repeats, ...).
        """
        content = parts.digest([key, self.seed, parts.code_digest()], function)
        folder = self.settings.cache / "parts" / f"{what.replace(' ', '-')}-{content}"
        with _progress.reporting(self.settings.progress, repeats, what) as advance:
            return parts.in_parts(folder, repeats, function, part=part, advance=advance)

    def redrawn(
        self,
        what: str,
        ranks: GlobalRanks,
        *,
        estimators: Sequence[str],
        metrics: Sequence[MetricLike],
        repeats: int,
        design: Design,
        part: int = parts.PART,
    ) -> FloatArray:
        """Sample evaluations of known ranks and estimate metrics from each.

        Parameters
        ----------
        what
            As for `repeated`; it also chooses the random numbers.
        ranks
            The exact ranks of a model.
        estimators
            Their names.
        metrics
            Such as ``"recall@10"``.
        repeats
            Number of evaluations.
        design
            How negatives are sampled.
        part
            As for `repeated`.

        Returns
        -------
        ndarray
            Shape (repeats, n_estimators, n_metrics).
        """
        return self.repeated(
            what,
            lambda first, last: estimates(
                ranks, design, estimators, metrics, self.rngs(what, first, last)
            ),
            key=[ranks.digest, repr(design), list(estimators), list(map(str, metrics))],
            repeats=repeats,
            part=part,
        )

    def rngs(self, what: str, first: int, last: int) -> list[np.random.Generator]:
        """Make the random generators of repeats.

        Parameters
        ----------
        what
            Name of the repeats.
        first, last
            Numbers of the first repeat, 0-based, and of the one after the last.

        Returns
        -------
        list of Generator
            One per repeat; each depends on the seed, ``what`` and its number.
        """
        word = zlib.crc32(what.encode())
        return [np.random.default_rng([self.seed, word, repeat]) for repeat in range(first, last)]

    def _note(self, kind: str, name: str, value: str) -> None:
        self.record.setdefault(kind, {})[name] = value


def estimates(
    ranks: GlobalRanks,
    design: Design,
    wanted_estimators: Sequence[str | estimators.Estimator],
    metrics: Sequence[MetricLike],
    rngs: Sequence[np.random.Generator],
) -> FloatArray:
    """Sample evaluations of known ranks and estimate metrics from each.

    Parameters
    ----------
    ranks
        The exact ranks of a model.
    design
        How negatives are sampled.
    wanted_estimators
        By name or as objects.
    metrics
        Such as ``"recall@10"``.
    rngs
        A generator for each evaluation.

    Returns
    -------
    ndarray
        Shape (n_evaluations, n_estimators, n_metrics).
    """
    return refit(*ranks.sampled(design, rngs), wanted_estimators, metrics)


def refit(
    outcomes: RankCounts,
    weight: FloatArray,
    wanted_estimators: Sequence[str | estimators.Estimator],
    metrics: Sequence[MetricLike],
) -> FloatArray:
    """Estimate metrics from several evaluations of the same outcomes.

    Parameters
    ----------
    outcomes
        All outcomes that occur.
    weight
        How often each occurs in each evaluation, shape (n_evaluations, n_outcomes).
    wanted_estimators
        By name or as objects.
    metrics
        Such as ``"recall@10"``.

    Returns
    -------
    ndarray
        Shape (n_evaluations, n_estimators, n_metrics).
    """
    wanted = metrics_module.parse(metrics)
    return np.stack(
        [
            estimators.get(name).refit(
                outcomes, weight, metrics=wanted, support="auto", plug_in="plain"
            )
            for name in wanted_estimators
        ],
        axis=1,
    )


@lru_cache(maxsize=1)  # experiments on one dataset follow one another
def _load(dataset: str, folder: Path) -> tuple[data.Split, str]:
    """A dataset and the digest of its content."""
    known = dataset in datasets.NAMED
    split = datasets.load(dataset, folder) if known else data.read_split(folder, name=dataset)
    ids = (split.train.user_id, split.train.item_id, split.test.user_id, split.test.item_id)
    return split, parts.array_digest(*ids)
