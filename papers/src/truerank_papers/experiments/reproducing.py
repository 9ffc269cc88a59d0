"""Run experiments one after another and write what they give."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from truerank import _checks
from truerank.errors import InputError
from truerank.progress import Progress
from truerank_papers.experiments import experiments, pages
from truerank_papers.experiments.registry import Experiment
from truerank_papers.experiments.results import Result
from truerank_papers.experiments.run import Run
from truerank_papers.experiments.settings import Settings


@dataclass(frozen=True)
class Outcome:
    """What became of one experiment.

    Parameters
    ----------
    experiment
        Which one.
    result
        What it gave; None if it was skipped.
    seconds
        How long it took.
    skipped
        Why it was skipped.
    left_out
        Why files could not be written, a sentence each.
    """

    experiment: Experiment
    result: Result | None = None
    seconds: float = 0.0
    skipped: str = ""
    left_out: Sequence[str] = ()


def reproduce(
    paper: str = "all",
    name: str | None = None,
    *,
    data: Path | None = None,
    out: Path,
    cache: Path | None = None,
    repeats: int | None = None,
    seed: int = 0,
    progress: Progress = None,
    fit: bool = True,
) -> Iterator[Outcome]:
    """Regenerate one table or figure, those of a paper, or all, and write them.

    Parameters
    ----------
    paper
        Key of a paper, such as ``"kr20"``, or ``"all"``.
    name
        One table or figure, such as ``"table3"``; all of the paper if it is None.
    data
        A folder with a folder for each dataset, by its name (see `truerank_papers.datasets`).
    out
        Folder for the results.
    cache
        Folder for models, ranks and finished repeats; ``out/.cache`` by default.
    repeats
        Number of repeats; that of the paper by default.
    seed
        Seed of all random draws.
    progress
        As for `truerank.models.Model.fit`.
    fit
        Whether models that were not fitted yet are fitted; else they are left out of the tables,
        which say so.

    Yields
    ------
    Outcome
        What became of each experiment, as it finishes. One whose data are missing is skipped.

    Raises
    ------
    InputError
        If an option is impossible, there is no such experiment, or the data of an experiment that
        was asked for by name are missing.
    """
    if repeats is not None:
        _checks.integer(repeats, "repeats", low=2)
    _checks.integer(seed, "seed", low=0, high=2**63 - 1)
    if data is not None and not data.is_dir():
        raise InputError(f"--data is {data}; it must be a folder with a folder for each dataset")
    settings = Settings(data, cache or out / ".cache", repeats, seed, progress, fit)
    for experiment in experiments(None if paper.lower() == "all" else paper, name):
        missing = settings.missing(experiment)
        if missing and name is not None:
            raise InputError(missing)
        if missing:
            yield Outcome(experiment, skipped=missing)
            continue
        begin = time.perf_counter()
        run = Run(experiment, settings)
        result = experiment.function(run)
        left_out = pages.write(run, result, out)
        yield Outcome(experiment, result, time.perf_counter() - begin, left_out=left_out)
