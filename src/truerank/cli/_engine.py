"""Where to evaluate: here, or on Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from truerank.cli._options import words
from truerank.errors import InputError

ENGINES = ("local", "spark")
WHERE = "Where to evaluate"


@dataclass(frozen=True)
class Engine:
    """Options of the engine."""

    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            metavar="local|spark",
            help="This machine, or Spark (the extra spark, and Java 17).",
            autocompletion=words(*ENGINES),
            rich_help_panel=WHERE,
        ),
    ] = "local"
    master: Annotated[
        str | None,
        typer.Option(
            "--master",
            metavar="MASTER",
            help="spark: local[2,4] (2 cores, 4 tries), yarn, spark://host:7077, ...",
            rich_help_panel=WHERE,
        ),
    ] = None

    def on_spark(self) -> bool:
        """Whether it is Spark; other engines than these are refused."""
        if self.engine not in ENGINES:
            from truerank import _checks

            raise _checks.unknown("--engine", self.engine, ENGINES)
        if self.engine == "local" and self.master is not None:
            raise InputError(
                f"--master is {self.master}, but --engine is local; say --engine spark"
            )
        return self.engine == "spark"

    def start(self) -> None:
        """Have a session, which later calls find; Spark's own log says errors only."""
        import warnings

        from truerank import spark

        # Of pyspark about pandas, through which nothing goes here.
        warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
        settings = {"spark_ui_showConsoleProgress": "false", "spark_ui_enabled": "false"}
        session = spark.session(self.master or "local[*,4]", **settings)
        session.sparkContext.setLogLevel("ERROR")
