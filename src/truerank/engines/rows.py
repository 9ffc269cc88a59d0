"""Arrow columns of users, targets, vectors and training items as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from truerank.errors import InputError


def is_list(column: Any) -> bool:
    """Whether an Arrow column holds lists."""
    import pyarrow.types as t

    kinds = (t.is_list, t.is_large_list, t.is_fixed_size_list)
    return any(kind(column.type) for kind in kinds)


def ids(column: Any, name: str) -> npt.NDArray[Any]:
    """A column of ids, none missing, as an array."""
    import pyarrow.types as t

    if t.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.null_count:
        raise InputError(f"{name} has {column.null_count} missing values")
    return np.asarray(column.to_numpy(zero_copy_only=False))


def pairs(
    users: npt.NDArray[Any], column: Any, name: str
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """(user, item) for each item of a column of lists."""
    import pyarrow.compute as pc

    if not is_list(column):
        raise InputError(f"{name} is of type {column.type}; it must hold lists of items")
    length = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
    if name == "item_id" and (length == 0).any():
        raise InputError(f"user {users[int(np.argmax(length == 0))]} has no target in {name}")
    # flatten leaves null lists out, as the lengths do.
    return np.repeat(users, length), ids(column.flatten(), name)


def vectors(column: Any, users: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A column of lists of numbers, all of one length, as a matrix."""
    import pyarrow.compute as pc

    if not is_list(column):
        raise InputError(f"vector is of type {column.type}; it must hold lists of numbers")
    if column.null_count:  # flatten would leave them out
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise InputError(f"vector is missing for {column.null_count} users, such as {users[row]}")
    length = pc.list_value_length(column).to_numpy(zero_copy_only=False)
    if (length != length[0]).any():
        row = int(np.argmax(length != length[0]))
        raise InputError(
            f"vectors differ in length: {length[0]} for user {users[0]}, {length[row]} for user "
            f"{users[row]}"
        )
    values = column.flatten()
    if values.null_count:
        raise InputError(f"vector has {values.null_count} missing numbers")
    # Gathers from memory that is not aligned take several times as long.
    matrix = np.require(values.to_numpy(zero_copy_only=False), requirements=["A"])
    return np.asarray(matrix.reshape(users.size, int(length[0])))
