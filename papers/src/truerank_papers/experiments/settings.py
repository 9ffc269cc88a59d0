"""What all experiments of a call have in common."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from truerank.progress import Progress
from truerank_papers import datasets
from truerank_papers.experiments.registry import Experiment


@dataclass(frozen=True)
class Settings:
    """What all experiments of a call have in common.

    Parameters
    ----------
    data
        Folder of datasets, a folder for each; None if there is none.
    cache
        Folder for fitted models, exact ranks and finished repeats.
    repeats
        Number of repeats; None for as many as the paper has.
    seed
        Seed of all random draws.
    progress
        As for `truerank.models.Model.fit`.
    fit
        Whether models that were not fitted yet are fitted; else they are left out.
    """

    data: Path | None
    cache: Path
    repeats: int | None = None
    seed: int = 0
    progress: Progress = None
    fit: bool = True

    def has(self, dataset: str) -> bool:
        """Tell whether a dataset is at hand.

        Parameters
        ----------
        dataset
            Its name.

        Returns
        -------
        bool
            Whether the folder of data has a folder of that name.
        """
        return self.data is not None and (self.data / dataset).is_dir()

    def missing(self, experiment: Experiment) -> str | None:
        """Tell which data an experiment lacks.

        Parameters
        ----------
        experiment
            The experiment.

        Returns
        -------
        str or None
            A sentence that names them and where to get them; None if all it needs is at hand.
        """
        lacking = [name for name in experiment.data if not self.has(name)]
        joint = "and"
        if not lacking and experiment.any_of and not any(map(self.has, experiment.any_of)):
            lacking, joint = list(experiment.any_of), "or"
        if not lacking:
            return None
        where = "no folder is given by --data" if self.data is None else f"not in {self.data}"
        sources = "; ".join(
            f"{name}: {datasets.NAMED[name].source}" if name in datasets.NAMED else name
            for name in lacking
        )
        return (
            f"{experiment} needs {f' {joint} '.join(lacking)} ({where}): put train.parquet and "
            f"test.parquet, or what truerank_papers.datasets.load takes, into "
            f"{f' {joint} '.join(f'DIR/{name}' for name in lacking)}. Where from: {sources}"
        )
