"""``truerank evaluate``: global metrics of a model, exactly or by sampling."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truerank.cli import _output
from truerank.cli._answers import (
    Confidence,
    Cuts,
    Estimators,
    Metrics,
    Target,
    interval_options,
    parse_estimators,
    parse_metrics,
    run,
)
from truerank.cli._options import OUTPUT, Csv, Json, NumNegatives, SampleSize, integers
from truerank.cli._results import render
from truerank.errors import InputError

if TYPE_CHECKING:
    from truerank.evaluation import Evaluation
    from truerank.scoring import Scorer

HELP = """Global metrics of a model: exact where that is affordable, sampled where it is not.

\b
truerank evaluate --user-factors U.npy --item-factors V.npy \\
    --test test.parquet --train train.parquet
truerank evaluate --scores S.npy --test test.csv --mode adaptive -m recall@10,50
truerank evaluate --scorer my_module:score --items items.csv --test test.csv \\
    --cache scored/ --name my-model-v3 --budget 200

Tests and training data are tables of user_id and item_id; ids are row numbers of the matrices \
unless --users-file and --items name them in order.
"""

MODEL = "The model"
DATA = "The data"
HOW = "How to evaluate"


def evaluate(
    test: Annotated[
        Path,
        typer.Option(
            "--test", metavar="FILE", help="Targets: user_id, item_id.", rich_help_panel=DATA
        ),
    ],
    train: Annotated[
        Path | None,
        typer.Option(
            "--train",
            metavar="FILE",
            help="Items to leave out of each user's ranking: user_id, item_id.",
            rich_help_panel=DATA,
        ),
    ] = None,
    user_factors: Annotated[
        Path | None,
        typer.Option(
            "--user-factors", metavar="U.npy", help="One vector a user.", rich_help_panel=MODEL
        ),
    ] = None,
    item_factors: Annotated[
        Path | None,
        typer.Option(
            "--item-factors", metavar="V.npy", help="One vector an item.", rich_help_panel=MODEL
        ),
    ] = None,
    item_biases: Annotated[
        Path | None,
        typer.Option(
            "--item-biases", metavar="B.npy", help="One number an item.", rich_help_panel=MODEL
        ),
    ] = None,
    cosine: Annotated[
        bool, typer.Option("--cosine", help="Vectors scaled to unit length.", rich_help_panel=MODEL)
    ] = False,
    scores: Annotated[
        Path | None,
        typer.Option(
            "--scores", metavar="S.npy", help="Scores, users by items.", rich_help_panel=MODEL
        ),
    ] = None,
    scorer: Annotated[
        str | None,
        typer.Option(
            "--scorer",
            metavar="MODULE:FUNCTION",
            help="A Python function of (user_ids, item_ids 2-d) that returns scores.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    items: Annotated[
        Path | None,
        typer.Option(
            "--items",
            metavar="FILE",
            help="Item ids in the order of the matrix, or the catalogue of --scorer: item_id.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    users_file: Annotated[
        Path | None,
        typer.Option(
            "--users-file",
            metavar="FILE",
            help="User ids in the order of the matrix: user_id.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            "--cache",
            metavar="FOLDER",
            help="Keep what --scorer scored, so that a broken run resumes without paying again.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="Name and version of the model in the cache.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    mode: Annotated[
        str,
        typer.Option(
            "--mode",
            metavar="auto|exact|fixed|adaptive",
            help="auto times the scorer and takes the cheapest that meets --error or --budget.",
            rich_help_panel=HOW,
        ),
    ] = "auto",
    error: Annotated[
        float,
        typer.Option(
            "--error",
            metavar="SHARE",
            help="auto: relative error that the first metric may have.",
            rich_help_panel=HOW,
        ),
    ] = 0.05,
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget",
            metavar="PAIRS",
            help="Scored pairs a user in the mean, at the most, the target's own score not "
            "counted. auto is then exact if that is within it, else adaptive.",
            rich_help_panel=HOW,
        ),
    ] = None,
    sample_size: SampleSize = None,
    num_negatives: NumNegatives = None,
    design: Annotated[
        str | None,
        typer.Option(
            "--design",
            metavar="truerank|lj24",
            help="adaptive: ours, from 32 up to the whole pool within --budget (200 unless said), "
            "or LJ24's, from 100, doubling, to a tenth of the catalogue. The next four change it.",
            rich_help_panel=HOW,
        ),
    ] = None,
    start: Annotated[
        int | None,
        typer.Option("--start", help="adaptive: first sample size.", rich_help_panel=HOW),
    ] = None,
    stop: Annotated[
        float | None,
        typer.Option(
            "--stop",
            help="adaptive: largest sample size; below 1, a share of the catalogue.",
            rich_help_panel=HOW,
        ),
    ] = None,
    growth: Annotated[
        float | None,
        typer.Option(
            "--growth", help="adaptive: a sample size over the one before.", rich_help_panel=HOW
        ),
    ] = None,
    hits: Annotated[
        int | None,
        typer.Option(
            "--hits",
            help="adaptive: negatives above the target that end a user's sampling.",
            rich_help_panel=HOW,
        ),
    ] = None,
    replacement: Annotated[
        bool,
        typer.Option(
            "--replacement/--no-replacement",
            help="Whether an item may be drawn twice for a user.",
            rich_help_panel=HOW,
        ),
    ] = False,
    negatives: Annotated[
        str | None,
        typer.Option(
            "--negatives",
            metavar="KIND|FILE",
            help="per-user, shared-block, or a file of frozen ones: .parquet, or lines "
            "'(user,item) negative ...' separated by tabs.",
            rich_help_panel=HOW,
        ),
    ] = None,
    ties: Annotated[
        str | None,
        typer.Option(
            "--ties",
            metavar="POLICY",
            help="spread, random, mid, optimistic, pessimistic.",
            rich_help_panel=HOW,
        ),
    ] = None,
    users: Annotated[
        int | None,
        typer.Option(
            "--users", metavar="N", help="Evaluate a sample of N users.", rich_help_panel=HOW
        ),
    ] = None,
    stratified: Annotated[
        bool,
        typer.Option("--stratified", help="--users: stratified by activity.", rich_help_panel=HOW),
    ] = False,
    keep_target: Annotated[
        bool,
        typer.Option(
            "--keep-target",
            help="Rank targets that are training items of their user all the same.",
            rich_help_panel=HOW,
        ),
    ] = False,
    seed: Annotated[int, typer.Option("--seed", help="For all draws.", rich_help_panel=HOW)] = 0,
    estimator: Estimators = None,
    metrics: Metrics = None,
    k: Cuts = None,
    confidence: Confidence = 0.95,
    target: Target = None,
    save_counts: Annotated[
        Path | None,
        typer.Option(
            "--save-counts",
            metavar="FILE.parquet",
            help="Save the counts with the protocol card: estimate reads them again.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    json_: Json = False,
    csv_: Csv = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress bar.", rich_help_panel=OUTPUT)
    ] = False,
) -> None:
    """Run ``truerank evaluate``."""
    kind = _output.output_format(json_=json_, csv_=csv_)
    wanted = parse_metrics(metrics, integers(k, "--k"))
    chosen = parse_estimators(estimator)
    if save_counts is not None and save_counts.suffix not in (".parquet", ".pq"):
        raise InputError(f"--save-counts is {save_counts}; give it the ending .parquet")
    from truerank import evaluation

    model = _model(
        {"user_factors": user_factors, "item_factors": item_factors, "item_biases": item_biases},
        cosine=cosine,
        scores=scores,
        function=scorer,
        ids={"user_ids": _ids(users_file, "user_id"), "item_ids": _ids(items, "item_id")},
        cache=cache,
        name=name,
    )
    found = evaluation.evaluate(
        model,
        test,
        train=train,
        sampler=mode,
        metrics=wanted,
        estimator=next(iter(chosen.values())),
        seed=seed,
        sample_size=sample_size,
        num_negatives=num_negatives,
        design=design,
        start=start,
        stop=stop,
        growth=growth,
        hits=hits,
        replacement=replacement,
        ties=ties,
        negatives=_negatives(negatives, replacement=replacement),
        users=users,
        stratified=stratified,
        error=error,
        budget=budget,
        keep_target=keep_target,
        confidence=None,  # intervals come with the estimates below
        progress=False if quiet else None,
    )
    if save_counts is not None:
        found.save(save_counts)
    if target is None and users is not None:
        target = "population"  # all users of the test
    options = interval_options(confidence, target) | {"progress": False if quiet else None}
    _print(found, kind, wanted, chosen, options)


def _print(
    found: Evaluation,
    kind: str,
    wanted: Any,
    chosen: Mapping[str, Any],
    options: Mapping[str, Any],
) -> None:
    options = {**options, "population": found.protocol["population"]}
    runs = [run("", found.counts, wanted, chosen, options)]
    facts = {"protocol": dict(found.protocol), "cost": dict(found.cost)}
    text = render(kind, runs, wanted, by=None, clip=False, more=facts)
    if kind == "text":
        cost = found.cost
        text = f"{found.protocol['reason']}\n{text}" + (
            f"{cost['pairs']:,.0f} pairs scored ({cost['pairs_per_user']:,.0f} a target) in "
            f"{cost['seconds']:.1f} s\n"
        )
    _output.emit(text)


def _negatives(given: str | None, *, replacement: bool) -> Any:
    """What --negatives names: a kind, or the frozen ones of a file."""
    from truerank import sampling

    if given is None or given in sampling.NEGATIVES:
        return given
    path = Path(given)
    if not path.exists():
        kinds = " or ".join(sampling.NEGATIVES)
        raise InputError(f"--negatives is {given}: neither {kinds} nor a file that exists")
    if path.suffix in (".parquet", ".pq"):
        return sampling.FrozenNegatives.load(path)
    return sampling.FrozenNegatives.from_ncf(path, replacement=replacement)


def _model(
    factors: Mapping[str, Path | None],
    *,
    cosine: bool,
    scores: Path | None,
    function: str | None,
    ids: Mapping[str, Any],
    cache: Path | None,
    name: str | None,
) -> Scorer:
    """The scorer that the options name: exactly one."""
    from truerank import scoring

    vectors = factors["user_factors"] is not None or factors["item_factors"] is not None
    given = [vectors, scores is not None, function is not None]
    if sum(given) != 1:
        raise InputError(
            "give the model once: --user-factors with --item-factors, --scores, or --scorer "
            f"({'several are' if sum(given) else 'none is'} given)"
        )
    if cache is not None and function is None:
        raise InputError("--cache goes with --scorer: only its scores are worth keeping")
    if vectors:
        arrays = {key: None if path is None else _array(path) for key, path in factors.items()}
        for key in ("user_factors", "item_factors"):
            if arrays[key] is None:
                raise InputError(f"--{key.replace('_', '-')} is missing")
        users, items, biases = arrays.values()
        return scoring.Factors(users, items, item_biases=biases, cosine=cosine, **ids)
    if scores is not None:
        return scoring.Dense(_array(scores), **ids)
    if ids["item_ids"] is None:
        raise InputError("--items is missing: the catalogue that --scorer scores")
    assert function is not None
    return scoring.Callable(_function(function), cache=cache, name=name, **ids)


def _array(path: Path) -> Any:
    """A .npy file, memory-mapped."""
    import numpy as np

    if not path.exists():
        raise InputError(f"{path} does not exist")
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path} is not a readable .npy file: {error}") from None


def _ids(path: Path | None, column: str) -> Any:
    if path is None:
        return None
    from truerank import tables

    table = tables.read(path)
    name = table.find(column)
    if name is None:
        raise table.missing(column)
    return table.values(name)


def _function(spec: str) -> Any:
    """``module:function``, the current folder being on the path."""
    module_name, colon, attribute = spec.partition(":")
    if not (module_name and colon and attribute):
        raise InputError(f"--scorer is {spec!r}; write it as module:function")
    with contextlib.ExitStack() as stack:
        if "" not in sys.path:
            sys.path.insert(0, "")
            stack.callback(sys.path.remove, "")
        try:
            module = importlib.import_module(module_name)
        except ImportError as error:
            raise InputError(f"--scorer: cannot import {module_name}: {error}") from None
    found = getattr(module, attribute, None)
    if not callable(found):
        raise InputError(f"--scorer: {module_name} has no function {attribute}")
    return found
