"""Where to evaluate: here, or on Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from truerank.cli._options import option
from truerank.errors import InputError


@dataclass(frozen=True)
class Engine:
    """Options of the engine."""

    PANEL: ClassVar[str] = "Where to evaluate"

    engine: str = option(
        "local",
        "This machine, or Spark (the extra spark, and Java 17).",
        known=("local", "spark"),
    )
    master: str | None = option(
        None, "spark: local[2,4] (2 cores, 4 tries), yarn, spark://host:7077, ...", "MASTER"
    )

    def on_spark(self) -> bool:
        """Whether it is Spark."""
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
