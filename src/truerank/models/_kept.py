"""Fitted models as arrays and JSON: reading one runs no code that came with the file.

A file can only fill the fields of classes that the running program has loaded and that belong to
the model at hand: scorers, their ids, and the data classes of the model's own module.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from truerank import _files
from truerank.errors import TruerankWarning
from truerank.scoring._ids import Ids
from truerank.scoring.scorer import Scorer

_TREE = "tree"  # the entry that says how the arrays hang together
_SPARSE = ("data", "indices", "indptr")


class CannotKeepError(TypeError):
    """Something in a fitted model is no data."""


def save(path: Path, fitted: Any) -> None:
    """Write a fitted model, for its owner alone.

    Parameters
    ----------
    path : Path
        The file, in numpy's npz format.
    fitted : Scorer
        The model.

    Raises
    ------
    CannotKeepError
        If it holds functions or other objects that are no data.
    """
    arrays: dict[str, Any] = {}
    tree = json.dumps(_packed(fitted, arrays))
    save_arrays(path, {**arrays, _TREE: np.frombuffer(tree.encode(), dtype=np.uint8)})


def load(path: Path, model: Any) -> Any:
    """Read what `save` wrote.

    Parameters
    ----------
    path : Path
        The file.
    model : Model
        The hyper-parameters that it was fitted by.

    Returns
    -------
    Scorer
        The fitted model.

    Raises
    ------
    Exception
        Of many kinds, if the file is damaged or of other classes.
    """
    arrays = load_arrays(path)
    tree = json.loads(arrays.pop(_TREE).tobytes())
    fitted = _unpacked(tree, arrays, _classes(model))
    if not isinstance(fitted, Scorer):
        raise TypeError(f"it holds a {type(fitted).__name__}, which is no scorer")
    return fitted


def save_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays by name, for their owner alone.

    Parameters
    ----------
    path : Path
        The file, in numpy's npz format; its folder is made if need be.
    arrays : dict
        Arrays by name.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _files.replacing(path, private=True) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)


def load_arrays(path: Path) -> dict[str, Any]:
    """Read what `save_arrays` wrote.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    dict
        Arrays by name.

    Raises
    ------
    Exception
        Of many kinds, if the file is damaged: the archive keeps a checksum of each array.
    """
    with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
        return {name: kept[name] for name in kept.files}


def told_damaged(path: Path, error: Exception, remedy: str) -> None:
    """Warn of a file that could not be read.

    Parameters
    ----------
    path : Path
        The file.
    error : Exception
        What went wrong with it.
    remedy : str
        What is done about it.
    """
    why = str(error).strip().split("\n")[0] or type(error).__name__
    warnings.warn(f"{path} is damaged ({why}); {remedy}", TruerankWarning, stacklevel=3)


def _packed(value: Any, arrays: dict[str, Any]) -> Any:
    """A value as JSON; its arrays go to ``arrays`` and are named in it."""

    def kept(array: Any) -> str:
        if array.dtype.kind not in "biufU":
            raise CannotKeepError(f"an array of type {array.dtype}")
        name = f"array{len(arrays)}"
        arrays[name] = array
        return name

    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return {"array": kept(value)}
    if sparse.issparse(value) and value.format == "csr":
        parts = {name: kept(getattr(value, name)) for name in _SPARSE}
        return {"csr": parts, "shape": list(value.shape)}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [_packed(part, arrays) for part in value]}
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {"dict": {name: _packed(part, arrays) for name, part in value.items()}}
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return {"tensor": kept(value.detach().cpu().numpy())}
    if isinstance(value, (Scorer, Ids)) or dataclasses.is_dataclass(value):
        state: Any = value.__getstate__() if isinstance(value, Scorer) else value.__dict__
        return {"object": _name(type(value)), "state": _packed(dict(state), arrays)}
    raise CannotKeepError(f"a {type(value).__name__}")


def _unpacked(value: Any, arrays: Mapping[str, Any], classes: Mapping[str, type]) -> Any:
    if not isinstance(value, dict):
        return value
    kind = next(iter(value))
    content = value[kind]
    if kind == "array":
        return arrays[content]
    if kind == "csr":
        parts = [arrays[content[name]] for name in _SPARSE]
        matrix = sparse.csr_array(tuple(parts), shape=tuple(value["shape"]))
        matrix.check_format()
        return matrix
    if kind in ("list", "tuple"):
        parts = [_unpacked(part, arrays, classes) for part in content]
        return parts if kind == "list" else tuple(parts)
    if kind == "dict":
        return {name: _unpacked(part, arrays, classes) for name, part in content.items()}
    if kind == "tensor":
        import torch

        return torch.from_numpy(arrays[content])
    if kind == "object":
        found: Any = object.__new__(classes[content])
        state = _unpacked(value["state"], arrays, classes)
        if hasattr(found, "__setstate__"):
            found.__setstate__(state)
        else:
            found.__dict__.update(state)
        return found
    raise ValueError(f"it holds something called {kind[:20]!r}")


def _classes(model: Any) -> dict[str, type]:
    """What files of a model may hold, by name: only what is loaded already."""
    module = sys.modules[type(model).__module__]
    own = [kind for kind in vars(module).values() if isinstance(kind, type)]
    own = [kind for kind in own if dataclasses.is_dataclass(kind)]
    return {_name(kind): kind for kind in (Ids, *_below(Scorer), *own)}


def _below(kind: type) -> Iterator[type]:
    below: type
    for below in kind.__subclasses__():
        yield below
        yield from _below(below)


def _name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
