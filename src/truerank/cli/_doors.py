"""What a command reads and writes: looked at in one place, before anything runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from truerank import _files
from truerank.errors import InputError

STDOUT = Path("-")


class Named(NamedTuple):
    """A path, and the option that it was given as."""

    option: str
    path: Path


def check(inputs: Sequence[Named], outputs: Sequence[Named]) -> None:
    """Refuse to overwrite what is read, to write one file twice, or to write where that fails.

    Parameters
    ----------
    inputs : list of Named
        Files and folders that the command reads.
    outputs : list of Named
        Files that it writes.

    Raises
    ------
    InputError
        Naming the option, the path and the reason.
    """
    for option, path in [*inputs, *outputs]:
        if "\0" in str(path):
            raise InputError(f"{option} is {str(path)!r}, which no file can be called")
    for _, path in inputs:
        if not _files.leads_somewhere(path):
            raise InputError(f"{path}: its symbolic links go round in a circle")
        _files.check_plain(path)
    outputs = [one for one in outputs if one.path != STDOUT]
    for option, path in outputs:
        if str(path) in ("", "."):
            raise InputError(f"{option} is {str(path)!r}; give the path of a file")
        for source in inputs:
            if _files.same(path, source.path):
                raise InputError(f"{option} is {path}, an input file; write to another one")
            if path.exists() and source.path.is_dir() and _inside(path, source.path):
                raise InputError(
                    f"{option} is {path}, a file of the input {source.path}; write to another one"
                )
    for one, other in combinations(outputs, 2):
        if _files.same(one.path, other.path):
            raise InputError(f"{one.option} and {other.option} are both {one.path}")
    for _, path in outputs:
        _files.Target(path).check()


def _inside(path: Path, folder: Path) -> bool:
    where = os.path.realpath(folder)
    return os.path.commonpath([where, os.path.realpath(path)]) == where
