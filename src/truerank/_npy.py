"""Arrays in files of numpy, as users have them: mapped into memory, damaged ones refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _files
from truerank.errors import InputError


def mapped(path: Any) -> npt.NDArray[Any]:
    """The array of a .npy file, left on disk until it is used.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    numpy.ndarray
        Of any shape; nothing is unpickled.

    Raises
    ------
    InputError
        If there is no such file, or it holds no single array.
    """
    if not Path(path).exists():
        raise InputError(f"{path} does not exist")
    _files.check_file(path)
    with open(path, "rb") as file:
        if file.read(2) == b"PK":
            raise InputError(
                f"{path} is not a readable .npy file: it is an archive (.npz), which holds several "
                "arrays; save the one as .npy"
            )
    try:
        found: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # damaged headers raise errors of many kinds
        why = str(error).partition(". If you trust")[0]
        raise InputError(f"{path} is not a readable .npy file: {why}") from None
    return found
