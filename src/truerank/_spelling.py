"""Objects spelled as text: ``bv(gamma=0.1)``, ``fixed(num_negatives=99)``."""

from __future__ import annotations

import ast
from typing import Any

from truerank.errors import InputError


def read_call(text: str, kind: str, example: str) -> tuple[str, dict[str, Any]]:
    """The name and the keyword options of ``name`` or ``name(option=value, ...)``.

    Parameters
    ----------
    text : str
        What somebody wrote. Names are lower-cased and ``_`` becomes ``-``.
    kind : str
        What it names, for the error: ``estimator``.
    example : str
        How options are written, for the error: ``bv(gamma=0.1)``.

    Returns
    -------
    tuple of (str, dict)
        The name, and its options as Python literals.
    """
    name, paren, inside = text.strip().partition("(")
    key = name.strip().lower().replace("_", "-")
    if not paren:
        return key, {}
    try:
        call = ast.parse(f"f({inside}", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or any(k.arg is None for k in call.keywords):
            raise ValueError
        options = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
        if len(options) < len(call.keywords):  # one is there twice
            raise ValueError
        return key, options
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise InputError(f"{kind} {text!r} cannot be read; write options as {example!r}") from None
