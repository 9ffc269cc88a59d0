"""``truerank evaluate``: global metrics of a model, exactly or by sampling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from truerank.cli import _results
from truerank.cli._answers import Answers
from truerank.cli._engine import Engine
from truerank.cli._groups import command
from truerank.cli._model import ModelOptions
from truerank.cli._options import OUTPUT, Output, check_counts_path, option
from truerank.cli._protocol import Protocol

HELP = """Global metrics of a model: exact where that is affordable, sampled where it is not.

\b
truerank evaluate --user-factors U.npy --item-factors V.npy \\
    --test test.parquet --train train.parquet
truerank evaluate --scores S.npy --test test.csv --design adaptive
truerank evaluate --scorer my_module:score --items items.csv --test test.csv \\
    --cache scored/ --name my-model-v3 --budget 200
truerank evaluate --engine spark --master yarn --test users/ \\
    --item-factors V.npy --design exact

Tests and training data are tables of user_id and item_id; ids are row numbers of the matrices \
unless --users-file and --items name them in order. On Spark the test may hold users with their \
vectors (user_id, item_id, vector and, to leave items out, train), and the model be item vectors.
"""

DATA = "The data"


@command
def evaluate(
    *,
    test: Path = option(..., "Targets: user_id, item_id.", "FILE", panel=DATA),
    train: Path | None = option(
        None, "Items to leave out of each user's ranking: user_id, item_id.", "FILE", panel=DATA
    ),
    model: ModelOptions,
    protocol: Protocol,
    engine: Engine,
    answers: Answers,
    save_counts: Path | None = option(
        None,
        "Save the counts with the protocol card: estimate reads them again.",
        "FILE.parquet",
        panel=OUTPUT,
        writes=True,
    ),
    output: Output,
) -> None:
    """Run ``truerank evaluate``."""
    wanted, chosen = answers.wanted(), answers.chosen()
    check_counts_path(save_counts)
    asked: dict[str, Any] = {
        "train": train,
        "metrics": wanted,
        "estimator": next(iter(chosen.values())),
        "confidence": None,  # intervals come with the estimates below
        **protocol.arguments(),
    }
    if engine.on_spark():
        from truerank import spark

        engine.start()
        found = spark.evaluate(test, model.on_spark(), **asked)
    else:
        from truerank import evaluation

        found = evaluation.evaluate(model.build(), test, **asked)
    if save_counts is not None:
        found.save(save_counts)
    options = {**answers.intervals(), "population_size": found.protocol["population_size"]}
    if found.protocol["users"] < found.protocol["population_size"]:
        options.setdefault("scope", "population")  # all users of the test
    runs = answers.run({"": found.counts}, **options)
    _results.write(
        output,
        runs,
        wanted,
        more={key: value for key, value in found.to_dict().items() if key != "results"},
        before=found.reason,
        after=found.cost_line,
    )
