"""Whole tables of published values: read row by row, so that a bad row stops no other."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from truerank import _files
from truerank import metrics as metrics_module
from truerank import progress as _progress
from truerank.errors import InputError
from truerank.inference.translating import _consistent, _published
from truerank.inference.translating._published import Published
from truerank.inference.translating.translation import PublishedProtocol, Translation
from truerank.inference.translating.translations import Problem, TranslatedTable
from truerank.metrics import Metric
from truerank.outcomes import tables
from truerank.progress import Progress

_NEEDED = ("model", "metric", "value")
_KNOWN = ("dataset", *_NEEDED, "n_items", "n_users")
_SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
_LONGEST = 8  # decimals of floats: with more they were never rounded

Protocols = Callable[[Any, Any], PublishedProtocol]


@dataclass(frozen=True)
class Row:
    """A row as it was written: texts by column, and its line in the file."""

    line: int
    text: Mapping[str, str]

    def __getitem__(self, column: str) -> str:
        return self.text.get(column, "")

    def problem(self, message: str) -> Problem:
        """What is wrong with it."""
        return Problem(
            self.line,
            self["dataset"],
            self["model"],
            self["metric"],
            self["value"],
            " ".join(message.split()),
        )


@dataclass(frozen=True)
class Value:
    """A row that was understood."""

    row: Row
    metric: Metric
    published: Published


def translate_table(
    source: Any,
    asked: Sequence[Metric] | None,
    protocol: Protocols,
    *,
    n_items: Any,
    n_users: Any,
    progress: Progress,
) -> TranslatedTable:
    """All datasets of a table; ``protocol`` makes one of a number of items and of users."""
    from truerank.inference.translating.translate import translated

    rows = _rows(source)
    problems: list[Problem] = []
    found: dict[str, Translation] = {}
    by_dataset: dict[str, list[Row]] = {}
    for row in rows:
        by_dataset.setdefault(row["dataset"], []).append(row)
    with _progress.reporting(progress, len(by_dataset), "translating") as advance:
        for dataset, own in by_dataset.items():
            kept = _of_one_size(own, n_items, n_users, problems)
            made = _protocol(kept, protocol, n_items, n_users, problems)
            if made is not None:
                values = _once(_understood(kept, made.sample_size, problems), problems)
                read = _consistent_models(values, made.sample_size, problems)
                if read:
                    found[dataset] = translated(read, asked, made, False)
            advance(1)
    if not found:
        first = problems[0]
        raise InputError(f"no row of the table can be used; {first}")
    return TranslatedTable(found, tuple(sorted(problems, key=lambda one: one.line)))


def _rows(source: Any) -> list[Row]:
    """The rows of a file or table, as texts."""
    if isinstance(source, (str, os.PathLike)) and Path(source).suffix.lower() in _SEPARATORS:
        names, lines = _from_text(Path(source))
        name = str(source)
    else:
        table = tables.read(source)
        name, names = table.name, table.columns
        columns = [_texts(table.values(column)) for column in names]
        lines = [(number, list(row)) for number, row in enumerate(zip(*columns, strict=True), 1)]
    spelled = [column.strip().lower() for column in names]
    for column in _NEEDED:
        if column not in spelled:
            raise InputError(
                f"{name} has no column {column}; found: {', '.join(names) or 'none'}. A table of "
                f"published values has columns {', '.join(_KNOWN)}"
            )
    if not lines:
        raise InputError(f"{name} has no rows")
    return [
        Row(line, {key: text.strip() for key, text in zip(spelled, row, strict=False)})
        for line, row in lines
    ]


def _from_text(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Column names, and lines with their numbers, without any reading of numbers."""
    _files.check_file(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=_SEPARATORS[path.suffix.lower()])
            names = next(reader, [])
            return names, [(reader.line_num, row) for row in reader if any(map(str.strip, row))]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read: {error}") from None


def _texts(values: Any) -> list[str]:
    """A column as texts. Floats lost their final zeros: all get the decimals of the longest."""
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    texts = ["" if _missing(value) else str(value) for value in plain]
    if not any(isinstance(value, float) for value in plain):
        return texts
    if all(text.removesuffix(".0").isdecimal() for text in texts if text):  # counts with gaps
        return [text.removesuffix(".0") for text in texts]
    digits = max(len(text.partition(".")[2]) for text in texts)
    if digits > _LONGEST or any("e" in text for text in texts):
        return texts
    return [f"{float(text):.{digits}f}" if text else "" for text in texts]


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


def _of_one_size(
    rows: Sequence[Row], n_items: Any, n_users: Any, problems: list[Problem]
) -> list[Row]:
    """The rows of a dataset that agree on its numbers of items and users."""
    kept = list(rows)
    for column, given in (("n_items", n_items), ("n_users", n_users)):
        said = Counter(row[column] for row in kept if row[column])
        if not said:
            if column == "n_items" and given is None:
                problems += [
                    row.problem(
                        "n_items is missing: how many items a target is ranked among; add the "
                        "column or give n_items"
                    )
                    for row in kept
                ]
                return []
            continue
        usual = said.most_common(1)[0][0]
        for row in kept:
            if row[column] and row[column] != usual:
                problems.append(
                    row.problem(
                        f"{column} is {row[column]}, but {usual} in other rows of the dataset; "
                        "correct it, or give these rows a dataset of their own"
                    )
                )
        kept = [row for row in kept if row[column] in ("", usual)]
        if column == "n_items" and given is None:
            problems += [
                row.problem(f"n_items is missing; other rows of the dataset have {usual}: add it")
                for row in kept
                if not row[column]
            ]
            kept = [row for row in kept if row[column]]
    return kept


def _protocol(
    rows: Sequence[Row], protocol: Protocols, n_items: Any, n_users: Any, problems: list[Problem]
) -> PublishedProtocol | None:
    if not rows:
        return None
    said = {
        column: next((row[column] for row in rows if row[column]), None)
        for column in ("n_items", "n_users")
    }
    try:
        return protocol(
            _whole(said["n_items"], "n_items", n_items), _whole(said["n_users"], "n_users", n_users)
        )
    except InputError as error:
        if said["n_items"] is None and said["n_users"] is None:
            raise  # it is about the options
        problems += [row.problem(str(error)) for row in rows]
        return None


def _whole(text: str | None, name: str, default: Any) -> Any:
    """A number of items or users as written, ``12,101`` included."""
    if text is None:
        return default
    digits = text.replace(",", "").removesuffix(".0")
    if not digits.isdecimal():
        raise InputError(f"{name} is {text!r}; it must be a whole number such as 12101")
    return int(digits)


def _understood(rows: Iterable[Row], sample_size: int, problems: list[Problem]) -> list[Value]:
    found = []
    for row in rows:
        try:
            if not row["model"]:
                raise InputError("model is empty; name it")
            metrics, values = _published.read(
                row["model"], {row["metric"]: row["value"]}, sample_size
            )
        except InputError as error:
            problems.append(row.problem(str(error)))
        else:
            found.append(Value(row, metrics[0], values[0]))
    return found


def _once(values: Sequence[Value], problems: list[Problem]) -> list[Value]:
    """Without rows that repeat another one, and without those that contradict each other."""
    same: dict[tuple[str, str], list[Value]] = {}
    for value in values:
        same.setdefault((value.published.model, value.published.metric), []).append(value)
    kept = []
    for several in same.values():
        first, *others = several
        if all(one.published.text == first.published.text for one in others):
            kept.append(first)
            problems += [
                one.row.problem(f"repeats line {first.row.line}; counted once") for one in others
            ]
            continue
        texts = ", ".join(one.published.text for one in several)
        problems += [
            one.row.problem(
                f"sampled {one.published.metric} of {one.published.model} is given "
                f"{len(several)} times with different values ({texts}): none is used; "
                f"{_what_differs([value.row for value in several])}"
            )
            for one in several
        ]
    return kept


def _what_differs(rows: Sequence[Row]) -> str:
    """A column that tells rows apart, if there is one."""
    for column in rows[0].text:
        values = list(dict.fromkeys(row[column] for row in rows))
        if column not in _KNOWN and len(values) > 1:
            return (
                f"they differ in the column {column} ({', '.join(values)}): keep the rows of the "
                "sampled evaluation"
            )
    return "keep the right one"


def _consistent_models(
    values: Iterable[Value], sample_size: int, problems: list[Problem]
) -> dict[str, tuple[tuple[Metric, ...], tuple[Published, ...]]]:
    """Metrics and values by model, without models whose values contradict each other."""
    by_model: dict[str, list[Value]] = {}
    for value in values:
        by_model.setdefault(value.published.model, []).append(value)
    found = {}
    for model, own in by_model.items():
        metrics = metrics_module.parse([value.metric for value in own])
        published = tuple(value.published for value in own)
        try:
            _consistent.check_samples(metrics, published, sample_size)
        except InputError as error:
            problems.append(own[0].row.problem(f"{error}; check these values of {model}"))
        else:
            found[model] = metrics, published
    return found
