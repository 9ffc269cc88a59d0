"""How to evaluate: the options, as a design and the other arguments of evaluate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from truerank.cli._options import option
from truerank.errors import InputError

if TYPE_CHECKING:
    from truerank.designs import Design

TIES = ("spread", "random", "mid", "optimistic", "pessimistic")
# Options that are fields of a design.
_FIELDS = (
    "budget",
    "seconds",
    "error",
    "num_negatives",
    "sample_size",
    "replacement",
    "shared_by",
    "users",
    "stratified",
    "drop_targets",
    "probability",
)


@dataclass(frozen=True)
class Protocol:
    """Options of the design, the ties and the draws."""

    PANEL: ClassVar[str] = "How to evaluate"

    design: str | None = option(
        None,
        "How negatives are chosen: exact, fixed, adaptive (ours, within a budget), lj24, or auto, "
        "which takes what is cheapest for the first metric and is the default. More options as in "
        '"adaptive(budget=100, hits=2)"; those below are the common ones.',
        "NAME",
        suggest=("auto", "exact", "adaptive", "fixed", "lj24"),
        reads=lambda text: _files_of(text),
    )
    budget: float | None = option(
        None, "Designs auto and adaptive: scored pairs per user at most, on average.", "PAIRS"
    )
    seconds: float | None = option(None, "Design auto: about how long scoring may take.", "SECONDS")
    error: float | None = option(
        None,
        "Design auto: relative root mean squared error that the first metric may have; 0.05 (5 %) "
        "unless stated.",
        "SHARE",
    )
    num_negatives: int | None = option(None, "Design fixed: negatives per target.", "N")
    sample_size: int | None = option(
        None, "Design fixed: the same with the target counted: 100 negatives make 101.", "N"
    )
    replacement: bool | None = option(None, "Whether an item may be drawn twice for a target.")
    shared_by: int | None = option(None, "Design fixed: users who share negatives.", "USERS")
    negatives: Path | None = option(
        None,
        "A file of frozen negatives: .parquet, or one of NCF, Elliot or RecBole.",
        "FILE",
    )
    drop_targets: bool = option(
        False, "With --negatives: drop negatives that are targets of their own user."
    )
    probability: Path | None = option(
        None,
        "With --negatives drawn with replacement, not uniformly: the probability of each item, "
        "columns item_id and probability; they are thinned to uniform ones.",
        "FILE",
    )
    users: int | None = option(None, "Evaluate a random sample of N users.", "N")
    stratified: bool = option(False, "With --users: stratify by the number of training items.")
    ties: str = option(
        "spread",
        "How items that tie with the target count: spread (the expectation over random "
        "tie-breaking), random, mid, optimistic or pessimistic.",
        "RULE",
        known=TIES,
    )
    keep_target: bool = option(
        False, "Rank targets that are training items of their user all the same."
    )
    keep_train: bool = option(
        False,
        "Keep the items of --train in the ranking: negatives are drawn from the others, and these "
        "are each scored.",
    )
    seed: int = option(0, "Seed of all random draws.", "SEED")

    def arguments(self) -> dict[str, Any]:
        """What is said, as arguments of ``truerank.evaluate``."""
        return {
            "design": self.chosen(),
            "ties": self.ties,
            "keep_target": self.keep_target,
            "keep_train": self.keep_train,
            "seed": self.seed,
        }

    def chosen(self) -> Design:
        """The design that the options come to."""
        from truerank import designs
        from truerank._spelling import read_call

        values = {name: getattr(self, name) for name in _FIELDS}
        for flag in ("stratified", "drop_targets"):
            if not values[flag]:
                del values[flag]  # a flag that is not given says nothing
        said = {name: _whole(value) for name, value in values.items() if value is not None}
        sizes = {"num_negatives", "sample_size"} & said.keys()
        text = self.design or ("frozen" if self.negatives else "fixed" if sizes else "auto")
        name, options = read_call(text, "--design", "fixed(num_negatives=99)")
        if self.negatives is not None:
            if not self.negatives.exists():
                raise InputError(f"--negatives is {self.negatives}, a file that does not exist")
            said["negatives"] = str(self.negatives)
        if self.probability is not None:
            said["probability"] = str(self.probability)
        known = {field for field in said if field in designs.fields_of(name)}
        for field in said.keys() - known:
            raise InputError(
                f"--{field.replace('_', '-')} does not go with the design {name}, which has no "
                f"such option (it has {', '.join(designs.fields_of(name))})"
            )
        return designs.from_dict({"name": name, **options, **said})


def _files_of(design: str) -> list[Path]:
    """The files that a design names: ``frozen(negatives="frozen.parquet")``."""
    from truerank._spelling import read_call

    _, options = read_call(design, "--design", "fixed(num_negatives=99)")
    named = (options.get(name) for name in ("negatives", "probability"))
    return [Path(value) for value in named if isinstance(value, str)]


def _whole(value: Any) -> Any:
    """A whole number as such: designs print themselves as they were written."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
