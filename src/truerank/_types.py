"""Types of arrays that several rooms share."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.floating[Any]]

Ties = Literal["spread", "random", "mid", "optimistic", "pessimistic"]
Scope = Literal["these-users", "population"]
