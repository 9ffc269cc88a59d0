"""PyTorch: what several processes found, together."""

from __future__ import annotations

from typing import Any

from truerank.integrations._library import library

__all__ = ["gather"]


def gather(part: Any) -> list[Any]:
    """What all processes of ``torch.distributed`` pass to it, in the order of their ranks.

    For ``truerank.Monitor(share, gather=truerank.integrations.torch.gather)``.

    Parameters
    ----------
    part : object
        What this process found; it is pickled.

    Returns
    -------
    list
        One entry per process; the part alone if there is one process.

    Raises
    ------
    MissingExtraError
        If torch is not installed.

    Examples
    --------
    >>> import torch
    >>> tr.integrations.torch.gather("alone")
    ['alone']
    """
    distributed = library("torch").distributed
    if not (distributed.is_available() and distributed.is_initialized()):
        return [part]
    parts: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(parts, part)
    return parts


def __dir__() -> list[str]:
    return sorted(__all__)
