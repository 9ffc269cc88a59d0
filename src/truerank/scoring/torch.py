"""A torch module as a scorer."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _checks
from truerank._types import FloatArray, IntArray
from truerank.errors import InputError, MissingExtraError, TruerankError
from truerank.scoring._ids import Ids
from truerank.scoring.function import catalogue
from truerank.scoring.scorer import Scorer, checked


class Torch(Scorer):
    """A torch module as a scorer.

    The module is called with LongTensors of row numbers of users and items, shape (P,) each, and
    returns scores of shape (P,) or (P, 1), higher is better. It runs in eval mode and without
    gradients, and is left as it was. Every call has exactly ``batch_pairs`` pairs (the last is
    filled up): matrix products round differently for different shapes, and a pair's score must not
    depend on what else is asked for. Needs torch (extra ``models``).

    Parameters
    ----------
    module : torch.nn.Module or callable
        The model, or any function of two tensors. It is not moved: row numbers go to its device.
    item_ids : array-like, optional
        The ids of the module's items, in the order of their row numbers. Give this or ``n_items``.
    n_items : int, optional
        The number of items, if their ids are the row numbers.
    user_ids : array-like, optional
        The ids of the module's users, in the order of their row numbers; row numbers if not given.
    device : torch.device or str, optional
        Where row numbers are put; by default where the module's parameters are.
    batch_pairs : int
        Pairs in one call.
    score_all : callable, optional
        ``score_all(users)`` for users of shape (B,) returns scores of all items, (B, n_items), if
        the model has a faster way than pair by pair. Exact ranks then use this way alone, and
        sampled ranks the module; the two should agree up to rounding.

    Raises
    ------
    MissingExtraError
        If torch is not installed.

    Examples
    --------
    >>> import torch
    >>> class Dot(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.users = torch.nn.Parameter(torch.tensor([[1.0, 2.0]]))
    ...         self.items = torch.nn.Parameter(torch.tensor([[1.0, 0.0], [0.0, 1.0]]))
    ...
    ...     def forward(self, users, items):
    ...         return (self.users[users] * self.items[items]).sum(1)
    >>> tr.scoring.Torch(Dot(), n_items=2).score_all(np.array([0])).tolist()
    [[1.0, 2.0]]
    """

    def __init__(
        self,
        module: Callable[..., Any],
        *,
        item_ids: Any = None,
        n_items: int | None = None,
        user_ids: Any = None,
        device: Any = None,
        batch_pairs: int = 8192,
        score_all: Callable[..., Any] | None = None,
    ) -> None:
        self._torch = import_torch()
        if not callable(module):
            raise InputError(f"module is a {type(module).__name__}; it must be callable")
        if score_all is not None and not callable(score_all):
            raise InputError(f"score_all is a {type(score_all).__name__}; it must be callable")
        self.module = module
        self.user_ids = Ids("user", None, user_ids)
        self.item_ids = catalogue(item_ids, n_items)
        self.batch_pairs = _checks.integer(batch_pairs, "batch_pairs", low=1)
        self.device = device_of(module) if device is None else device
        self._score_all = score_all

    def __getstate__(self) -> dict[str, Any]:
        """All but the library itself, which cannot be pickled."""
        return {name: value for name, value in self.__dict__.items() if name != "_torch"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _torch=import_torch())

    @property
    def scores_rows(self) -> bool:
        return self._score_all is not None  # else all items are asked for pair by pair

    def score(self, users: IntArray, items: IntArray) -> FloatArray:
        users, items = np.asarray(users), np.asarray(items)
        pairs = np.repeat(users, items.shape[1]), items.ravel()
        scores = self._in_calls(self.module, pairs, self.batch_pairs, ())
        return scores.reshape(items.shape)

    def score_all(self, users: IntArray) -> FloatArray:
        if self._score_all is None:
            return super().score_all(users)
        height = max(1, self.batch_pairs // self.n_items)
        return self._in_calls(self._score_all, (np.asarray(users),), height, (self.n_items,))

    def _in_calls(
        self,
        function: Callable[..., Any],
        rows: tuple[IntArray, ...],
        size: int,
        shape: tuple[int, ...],
    ) -> FloatArray:
        """``function`` of ``rows``, ``size`` at a time; each row's answer has ``shape``."""
        n_rows = rows[0].size
        answers = []
        with evaluating(self.module, self._torch):
            for begin in range(0, n_rows, size):
                part = [array[begin : begin + size] for array in rows]
                used = part[0].size
                # Fill up with the last row: one that exists, whatever the model.
                tensors = [self._tensor(np.pad(array, (0, size - used), "edge")) for array in part]
                answers.append(self._answer(function, tensors, (size, *shape))[:used])
        return np.concatenate(answers) if answers else np.empty((0, *shape), np.float32)

    def _tensor(self, rows: IntArray) -> Any:
        return self._torch.from_numpy(np.ascontiguousarray(rows, np.int64)).to(self.device)

    def _answer(
        self, function: Callable[..., Any], tensors: list[Any], shape: tuple[int, ...]
    ) -> npt.NDArray[Any]:
        who = "the torch module" if function is self.module else "score_all"
        try:
            answer = function(*tensors)
        except Exception as error:
            first = self.user_ids.values(tensors[0][:1].cpu().numpy())[0]
            raise TruerankError(
                f"{who} raised {type(error).__name__} for {shape[0]} rows, the first of user "
                f"{first}: {error}. Row numbers are those of user_ids= and item_ids=; if memory "
                "ran out, a smaller batch_pairs= helps"
            ) from error
        if not isinstance(answer, self._torch.Tensor):
            raise InputError(f"{who} returned a {type(answer).__name__}; expected a tensor")
        array = answer.detach().to("cpu")
        if array.dtype in (self._torch.float16, self._torch.bfloat16):
            array = array.float()  # numpy has no bfloat16
        if len(shape) == 1 and array.shape == (shape[0], 1):
            array = array[:, 0]
        return checked(array, shape, who)


@contextlib.contextmanager
def evaluating(module: Any, torch: Any) -> Iterator[None]:
    """Eval mode and no gradients; every part of the module gets its own mode back."""
    parts = list(module.modules()) if isinstance(module, torch.nn.Module) else []
    modes = [part.training for part in parts]
    try:
        if parts:
            parts[0].eval()
        # Not inference_mode: tensors that a module keeps for later must stay usable.
        with torch.no_grad():
            yield
    finally:
        if parts:
            parts[0].train(modes[0])  # as it was told, should it do more than set flags
        for part, mode in zip(parts, modes, strict=True):
            part.training = mode


def import_torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError(
            "scoring with a torch module needs torch, which truerank[models] brings: "
            "pip install torch"
        ) from error
    return torch


def device_of(module: Any) -> Any:
    """Where the first parameter or buffer of a module is."""
    for kind in ("parameters", "buffers"):
        for tensor in getattr(module, kind, tuple)():
            return tensor.device
    return "cpu"
