"""Fitted models kept on disk, found again by the content of what they were fitted from."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from truerank import _arguments
from truerank.errors import InputError, TruerankWarning
from truerank.models import _kept
from truerank.models._base import Fitted, Model, TrainMatrix, read
from truerank.progress import Progress

_FORMAT = "truerank-model-2"


def fit_cached(
    model: Model[Fitted],
    train: Any,
    *,
    folder: str | os.PathLike[str],
    user_ids: Any = None,
    item_ids: Any = None,
    n_users: int | None = None,
    n_items: int | None = None,
    seed: int = 0,
    progress: Progress = None,
) -> Fitted:
    """Fit a model, or load it from disk if it was fitted to the same data before.

    The same is: the model's class, its code, its hyper-parameters, the interactions (in any order
    of rows), the ids, and the seed. A change of the libraries that a model uses is not noticed.

    Parameters
    ----------
    model : Model
        The hyper-parameters.
    train : table, pair or sparse matrix
        The interactions, as in :meth:`Model.fit`.
    folder : str or path
        Where fitted models are kept, one file each; made if it does not exist. Files hold arrays
        and JSON: reading one runs no code. A damaged file is named in a warning, and the model
        fitted again.
    user_ids : array-like, optional
        Users to know beside those in ``train``.
    item_ids : array-like, optional
        Items to know beside those in ``train``.
    n_users : int, optional
        Instead of ``user_ids``: users are the row numbers 0 to n_users - 1.
    n_items : int, optional
        Instead of ``item_ids``: items are the row numbers 0 to n_items - 1.
    seed : int
        Seed of all random draws in the fit.
    progress : callable or bool, optional
        As in :meth:`Model.fit`.

    Returns
    -------
    Scorer
        The fitted model.

    Examples
    --------
    >>> train = ([1, 1, 2], ["a", "b", "a"])
    >>> scorer = tr.models.fit_cached(tr.models.Popularity(), train, folder="models")
    >>> again = tr.models.fit_cached(tr.models.Popularity(), train, folder="models")
    >>> again.score_all(np.array([0])).tolist()
    [[2.0, 1.0]]
    """
    _arguments.check(fit_cached, locals())
    if not isinstance(model, Model):
        raise InputError(f"model is a {type(model).__name__}; it must be a model of truerank")
    data = read(train, user_ids=user_ids, item_ids=item_ids, n_users=n_users, n_items=n_items)
    place = Path(folder)
    path = kept_path(place, model, data, seed)
    kept = _load(path, model)
    if kept is not None:
        return kept  # type: ignore[no-any-return]
    fitted = model._fit(data, seed=seed, progress=progress)
    try:
        _kept.save(path, fitted)
    except _kept.CannotKeepError as error:
        warnings.warn(
            f"{type(model).__name__} is not kept in {place}: it holds {error}, and only numbers, "
            "strings and arrays can be kept",
            TruerankWarning,
            stacklevel=2,
        )
    return fitted


def kept_path(folder: Path, model: Model[Any], data: TrainMatrix, seed: int) -> Path:
    """The file in a folder that keeps a model fitted to some data with some seed."""
    return folder / f"{type(model).__name__}-{content_hash(model, data, seed)}.npz"


def content_hash(model: Model[Any], data: TrainMatrix, seed: int) -> str:
    """32 hexadecimal digits for a model, what it learns from, and the seed."""
    kind = type(model)
    settings = dataclasses.asdict(model) if dataclasses.is_dataclass(model) else vars(model)
    digest = hashlib.sha256()
    for text in (_FORMAT, kind.__module__, kind.__qualname__, repr(sorted(settings.items()))):
        digest.update(f"{len(text)}:{text}".encode())
    for part in (_code(kind), repr((seed, data.matrix.shape)).encode()):
        digest.update(hashlib.sha256(part).digest())
    for array in (data.matrix.indptr, data.matrix.indices, data.user_ids, data.item_ids):
        digest.update(_array_hash(array))
    return digest.hexdigest()[:32]


def _code(kind: type) -> bytes:
    """The source of the modules that a model's classes stand in; nothing if there is none."""
    sources = []
    for base in kind.__mro__:
        try:
            sources.append(inspect.getsource(sys.modules[base.__module__]))
        except (OSError, TypeError, KeyError):  # built-in, or typed at a prompt
            continue
    return "\0".join(sources).encode()


def _array_hash(array: Any) -> bytes:
    if array is None:
        return hashlib.sha256(b"none").digest()
    if array.dtype.kind == "U":  # strings as such, whatever room each has
        raw = "\0".join(array.tolist()).encode()
    else:
        raw = np.ascontiguousarray(array, dtype=np.int64).tobytes()
    return hashlib.sha256(array.dtype.kind.encode() + raw).digest()


def _load(path: Path, model: Model[Any]) -> Any:
    """The fitted model in a file; None if there is none, or it cannot be read any more."""
    try:
        return _kept.load(path, model)
    except FileNotFoundError:
        return None
    except Exception as error:  # cut off, or of another version: archives fail in many ways
        _kept.told_damaged(path, error, "the model is fitted again")
        return None
