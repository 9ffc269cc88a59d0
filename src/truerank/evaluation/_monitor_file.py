"""What a monitor keeps of its best epoch, and the file that holds it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from truerank.errors import InputError
from truerank.outcomes import _sealed, tables
from truerank.outcomes.schemes import Scheme
from truerank.rng import user_keys
from truerank.sampling._drawing import Ranked
from truerank.sampling.placed import Placed
from truerank.scoring.task import Task

FORMAT_VERSION = 1
_FORMAT_KEY = tables.SAVED["monitor"]


@dataclass(frozen=True)
class Kept:
    """The best epoch of one process: where its targets stand, and where each negative does."""

    epoch: int
    ranked: Ranked
    placed: Placed | None


def fingerprint(task: Task) -> str:
    """Tells other targets, users, items to leave out and catalogues apart."""
    digest = hashlib.sha256(str(task.catalogue).encode())
    for array in (user_keys(task.user_id, 0), task.target, task.start, task.left_out):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def save(path: Any, kept: Kept | None, options: dict[str, Any], state: dict[str, Any]) -> None:
    """Write a monitor to a Parquet file: a row per target, options and history in its metadata."""
    import pyarrow as pa

    facts: dict[str, Any] = {"version": FORMAT_VERSION, "options": options, **state, "best": None}
    columns: dict[str, Any] = {}
    if kept is not None:
        ranked = kept.ranked
        facts["best"] = {
            "epoch": kept.epoch,
            "pairs": ranked.pairs,
            "scheme": ranked.scheme.name,
            "ties_broken": ranked.ties_broken,
        }
        columns = {"above": ranked.above, "tied": ranked.tied, "sample_size": ranked.sample_size}
        for name in ("target_score", "rows"):
            if getattr(ranked, name) is not None:
                columns[name] = getattr(ranked, name)
        if kept.placed is not None:
            start, place = kept.placed.start, kept.placed.place
            ends = pa.py_buffer(start.astype(np.int64))
            columns["places"] = pa.LargeBinaryArray.from_buffers(
                pa.large_binary(), start.size - 1, [None, ends, pa.py_buffer(place)]
            )
    table = pa.table(columns, metadata={_FORMAT_KEY: json.dumps(facts).encode()})
    tables.write_parquet(_sealed.seal(table), path)


def load(path: Any) -> tuple[dict[str, Any], dict[str, Any], Kept | None]:
    """The options, the state and the best epoch that `save` wrote."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path} is not a file; Monitor.save writes one")
    table = tables.parquet(path)
    metadata = table.schema.metadata or {}
    if _FORMAT_KEY not in metadata:
        raise InputError(f"{path} holds no monitor; Monitor.save writes one")
    _sealed.check(table, path, needed=True)
    try:
        facts = json.loads(metadata[_FORMAT_KEY])
        if facts["version"] != FORMAT_VERSION:
            raise InputError(
                f"{path} is format {facts['version']!r} of monitors; this truerank reads "
                f"{FORMAT_VERSION}: upgrade truerank"
            )
        state = {name: facts[name] for name in ("reason", "fingerprint", "worse", "rows")}
        return facts["options"], state, _kept(table, facts["best"])
    except (ValueError, TypeError, KeyError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is damaged: {error!r}") from None


def _kept(table: Any, best: dict[str, Any] | None) -> Kept | None:
    if best is None:
        return None
    columns = {name: table[name].to_numpy() for name in table.column_names if name != "places"}
    placed = None
    if "places" in table.column_names:
        cells = table["places"].to_pylist()
        start = np.concatenate([[0], np.cumsum([len(cell) for cell in cells], dtype=np.int64)])
        placed = Placed(start, np.frombuffer(b"".join(cells), dtype=np.int8))
    ranked = Ranked(
        columns["above"],
        columns["tied"],
        columns["sample_size"],
        best["pairs"],
        Scheme.parse(best["scheme"]),
        best["ties_broken"],
        target_score=columns.get("target_score"),
        rows=columns.get("rows"),
    )
    return Kept(best["epoch"], ranked, placed)
