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
from truerank_papers.experiments.run import Run, Settings


@dataclass(frozen=True)
class Outcome:
    """What became of one experiment: a result, or ``skipped`` says why there is none."""

    experiment: Experiment
    result: Result | None = None
    seconds: float = 0.0
    skipped: str = ""
    left_out: Sequence[str] = ()  # files that could not be written


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
) -> Iterator[Outcome]:
    """Regenerate one table or figure, those of a paper, or all; outcomes as they come.

    An experiment asked for by name raises if its data are missing; others are skipped.

    Parameters
    ----------
    paper, name
        ``"kr20"`` and ``"table3"``; all of a paper without a name; ``"all"`` papers.
    data
        A folder with a folder for each dataset, by its name in `truerank.data`.
    out
        Where results go.
    cache
        Where models, ranks and finished repeats are kept; ``out/.cache`` by default.
    repeats
        Instead of the paper's own number.
    """
    if repeats is not None:
        _checks.integer(repeats, "repeats", low=2)
    _checks.integer(seed, "seed", low=0, high=2**63 - 1)
    if data is not None and not data.is_dir():
        raise InputError(f"--data is {data}; it must be a folder with a folder for each dataset")
    settings = Settings(data, cache or out / ".cache", repeats, seed, progress)
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
