"""How to evaluate: the options, as a design and the other arguments of evaluate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from truerank.cli._options import option
from truerank.errors import InputError

if TYPE_CHECKING:
    from truerank.designs import Design

HOW = "How to evaluate"
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
)


@dataclass(frozen=True)
class Protocol:
    """Options of the design, the ties and the draws."""

    design: Annotated[
        str | None,
        option(
            "--design",
            "How negatives are chosen: exact, fixed, adaptive (ours, within a budget), lj24, or "
            "auto, which takes what is cheapest for the first metric and is the default. More "
            'options as in "adaptive(budget=100, hits=2)"; those below are the common ones.',
            metavar="NAME",
            known=("auto", "exact", "adaptive", "fixed", "lj24"),
            panel=HOW,
        ),
    ] = None
    budget: Annotated[
        float | None,
        option(
            "--budget",
            "auto, adaptive: scored pairs per user in the mean, at most.",
            metavar="PAIRS",
            panel=HOW,
        ),
    ] = None
    seconds: Annotated[
        float | None,
        option("--seconds", "auto: seconds that scoring may take, about.", metavar="S", panel=HOW),
    ] = None
    error: Annotated[
        float | None,
        option(
            "--error",
            "auto: relative root mean squared error that the first metric may have; 0.05 is the "
            "default.",
            metavar="SHARE",
            panel=HOW,
        ),
    ] = None
    num_negatives: Annotated[
        int | None, option("--num-negatives", "fixed: negatives per target.", "N", panel=HOW)
    ] = None
    sample_size: Annotated[
        int | None,
        option("--sample-size", "fixed: the same with the target counted.", "N", panel=HOW),
    ] = None
    replacement: Annotated[
        bool | None,
        option(
            "--replacement/--no-replacement",
            "Whether an item may be drawn twice for a target.",
            panel=HOW,
        ),
    ] = None
    shared_by: Annotated[
        int | None,
        option("--shared-by", "fixed: users who share their negatives.", "USERS", panel=HOW),
    ] = None
    negatives: Annotated[
        Path | None,
        option(
            "--negatives",
            "A file of frozen negatives: .parquet, or lines '(user,item) negative ...' separated "
            "by tabs.",
            metavar="FILE",
            panel=HOW,
        ),
    ] = None
    users: Annotated[
        int | None, option("--users", "Evaluate a random sample of N users.", "N", panel=HOW)
    ] = None
    stratified: Annotated[
        bool | None,
        option("--stratified", "--users: stratified by the number of training items.", panel=HOW),
    ] = None
    ties: Annotated[
        str, option("--ties", "What items of the target's score do.", known=TIES, panel=HOW)
    ] = "spread"
    keep_target: Annotated[
        bool,
        option(
            "--keep-target",
            "Rank targets that are training items of their user all the same.",
            panel=HOW,
        ),
    ] = False
    seed: Annotated[int, option("--seed", "Seed of all random draws.", panel=HOW)] = 0

    def arguments(self) -> dict[str, Any]:
        """What is said, as arguments of ``truerank.evaluate``."""
        return {
            "design": self.chosen(),
            "ties": self.ties,
            "keep_target": self.keep_target,
            "seed": self.seed,
        }

    def chosen(self) -> Design:
        """The design that the options come to."""
        from truerank import designs
        from truerank._spelling import read_call

        said = {name: getattr(self, name) for name in _FIELDS if getattr(self, name) is not None}
        sizes = {"num_negatives", "sample_size"} & said.keys()
        text = self.design or ("frozen" if self.negatives else "fixed" if sizes else "auto")
        name, options = read_call(text, "--design", "fixed(num_negatives=99)")
        if self.negatives is not None:
            if not self.negatives.exists():
                raise InputError(f"--negatives is {self.negatives}, a file that does not exist")
            said["negatives"] = str(self.negatives)
        known = {field for field in said if field in designs.fields_of(name)}
        for field in said.keys() - known:
            raise InputError(
                f"--{field.replace('_', '-')} does not go with the design {name}, which has no "
                f"such option (it has {', '.join(designs.fields_of(name))})"
            )
        return designs.from_dict({"name": name, **options, **said})
