"""The model to evaluate: the options that name it, and the scorer that they come to."""

from __future__ import annotations

import contextlib
import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from truerank.cli._options import option
from truerank.errors import InputError

if TYPE_CHECKING:
    from truerank.scoring import Scorer


@dataclass(frozen=True)
class ModelOptions:
    """Options that name a model."""

    PANEL: ClassVar[str] = "The model"

    user_factors: Path | None = option(None, "One vector per user.", "U.npy")
    item_factors: Path | None = option(None, "One vector per item.", "V.npy")
    item_biases: Path | None = option(None, "One number per item, added to its scores.", "B.npy")
    cosine: bool = option(False, "Scale vectors to unit length.")
    scores: Path | None = option(None, "Scores, users by items.", "S.npy")
    scorer: str | None = option(
        None,
        "A Python function of (user_ids, item_ids 2-d) that returns scores.",
        "MODULE:FUNCTION",
        reads=lambda scorer: _sources(scorer.partition(":")[0]),
    )
    items: Path | None = option(
        None,
        "Item ids in the order of the matrix, or the catalogue of --scorer: item_id.",
        "FILE",
    )
    users_file: Path | None = option(None, "User ids in the order of the matrix: user_id.", "FILE")
    cache: Path | None = option(
        None,
        "Keep what --scorer scored, so that a broken run resumes without paying again.",
        "FOLDER",
        reads=lambda folder: [*folder.glob("*.pairs"), *folder.glob("*.sqlite")],
    )
    name: str | None = option(None, "Name and version of the model in the cache.", "NAME")
    batch_pairs: int | None = option(
        None, "Pairs in one call of --scorer at most; 4096 unless stated.", "N"
    )
    concurrency: int | None = option(
        None, "Calls of --scorer at once, in threads; 1 unless stated.", "N"
    )
    retries: int | None = option(
        None,
        "How often --scorer is asked again for scores that did not arrive: it raised, timed out, "
        "or answered in part; 3 unless stated.",
        "N",
    )
    timeout: float | None = option(None, "Seconds that a call of --scorer may take.", "SECONDS")
    time_limit: float | None = option(
        None, "Seconds for all calls of --scorer together; none is begun after them.", "SECONDS"
    )

    def build(self) -> Scorer:
        """The scorer that the options name: exactly one."""
        from truerank import _npy, scoring

        ids = {
            "user_ids": _ids(self.users_file, "user_id"),
            "item_ids": _ids(self.items, "item_id"),
        }
        vectors = self.user_factors is not None or self.item_factors is not None
        given = [vectors, self.scores is not None, self.scorer is not None]
        if sum(given) != 1:
            raise InputError(
                "give the model once: --user-factors with --item-factors, --scores, or --scorer "
                f"({'several are' if sum(given) else 'none is'} given)"
            )
        if self.cache is not None and self.scorer is None:
            raise InputError("--cache goes with --scorer: only its scores are worth keeping")
        calls = {
            name: getattr(self, name)
            for name in ("batch_pairs", "concurrency", "retries", "timeout", "time_limit")
            if getattr(self, name) is not None
        }
        if calls and self.scorer is None:
            option = "--" + next(iter(calls)).replace("_", "-")
            raise InputError(f"{option} goes with --scorer: it is about calls of that function")
        if self.scores is not None:
            return scoring.Dense(_npy.mapped(self.scores), **ids)
        if self.scorer is not None:
            if ids["item_ids"] is None:
                raise InputError("--items is missing: the catalogue that --scorer scores")
            function = _function(self.scorer)
            return scoring.Callable(function, cache=self.cache, name=self.name, **ids, **calls)
        if self.user_factors is None or self.item_factors is None:
            missing = "user" if self.user_factors is None else "item"
            raise InputError(f"--{missing}-factors is missing")
        biases = None if self.item_biases is None else _npy.mapped(self.item_biases)
        users, items = _npy.mapped(self.user_factors), _npy.mapped(self.item_factors)
        return scoring.Factors(users, items, item_biases=biases, cosine=self.cosine, **ids)

    def on_spark(self) -> Any:
        """The scorer, or item vectors alone: users then bring their own."""
        others = (self.user_factors, self.scores, self.scorer, self.users_file)
        if self.item_factors is None or any(other is not None for other in others):
            return self.build()
        from truerank import _npy
        from truerank.engines import Items

        return Items(
            self.item_factors,
            item_ids=_ids(self.items, "item_id"),
            item_biases=None if self.item_biases is None else _npy.mapped(self.item_biases),
            cosine=self.cosine,
        )


def _sources(module: str) -> list[Path]:
    """The files that a module of the current folder may stand in."""
    where = module.replace(".", "/")
    return [Path(f"{where}.py"), Path(where) / "__init__.py"]


def _ids(path: Path | None, column: str) -> Any:
    if path is None:
        return None
    from truerank.outcomes import tables

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
    if module_name.startswith("."):
        raise InputError(
            f"--scorer is {spec!r}; there is nothing that it is relative to: write the module as "
            "it is imported from the current folder, such as folder.module:function"
        )
    with contextlib.ExitStack() as stack:
        if "" not in sys.path:
            sys.path.insert(0, "")
            stack.callback(sys.path.remove, "")
        try:
            module = importlib.import_module(module_name)
        except ImportError as error:
            raise InputError(f"--scorer: cannot import {module_name}: {error}") from None
        except (Exception, SystemExit) as error:
            kind = type(error).__name__
            raise InputError(f"--scorer: importing {module_name} raised {kind}: {error}") from error
    found = getattr(module, attribute, None)
    if not callable(found):
        raise InputError(f"--scorer: {module_name} has no function {attribute}")
    return found
