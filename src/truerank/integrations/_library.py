"""Libraries that need not be installed, and results as trackers take them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from truerank.errors import InputError, MissingExtraError


def library(name: str) -> Any:
    """A library, loaded now; an error that says what to install if it is not there."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:  # it is there, and lacks something itself
            raise
        raise MissingExtraError(
            f"truerank.integrations.{name} needs {name}: pip install {name}"
        ) from None


def numbers(result: Any, prefix: str) -> dict[str, float]:
    """The names and numbers that a tracker gets from a result."""
    if not hasattr(result, "to_dict"):
        raise InputError(
            f"result is of type {type(result).__name__}; give what truerank.evaluate, "
            "truerank.estimate or Monitor.update gives"
        )
    try:
        flat: Mapping[str, Any] = result.to_dict(flat=True)
    except TypeError:
        raise InputError(
            f"result is of type {type(result).__name__}, which has no flat form; give what "
            "truerank.evaluate, truerank.estimate or Monitor.update gives"
        ) from None
    return {f"{prefix}{name}": float(value) for name, value in flat.items()}
