"""Memory, asked about before it is taken: a refusal with a figure instead of a killed process."""

from __future__ import annotations

import os
from pathlib import Path

from truerank.errors import InputError

_CGROUP = Path("/sys/fs/cgroup")


def check(needed: float, what: str, remedy: str) -> None:
    """Refuse work that needs more memory than there is.

    Parameters
    ----------
    needed : float
        Bytes that the work takes at the least.
    what : str
        What takes them, as in "EASE holds a matrix of 1000 x 1000 items".
    remedy : str
        What to do instead.

    Raises
    ------
    InputError
        With both figures.
    """
    there = available()
    if there is not None and needed > there:
        raise InputError(
            f"{what}: about {needed / 2**30:,.1f} GiB of memory, and {there / 2**30:,.1f} GiB are "
            f"free; {remedy}"
        )


def available() -> int | None:
    """Bytes of memory that this process may still take.

    Returns
    -------
    int or None
        None where the system does not say.
    """
    found = [value for value in (_free(), _left_in_group()) if value is not None]
    return min(found, default=None)


def _free() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (ValueError, OSError, IndexError):
        pass
    try:  # not Linux: all there is
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _left_in_group() -> int | None:
    """Bytes left in the container, if there is one with a limit."""
    try:
        limit = int((_CGROUP / "memory.max").read_text())
        used = int((_CGROUP / "memory.current").read_text())
        kept = dict(
            line.split() for line in (_CGROUP / "memory.stat").read_text().splitlines()
        )  # files that were read are given back
        return max(0, limit - used + int(kept.get("inactive_file", 0)))
    except (OSError, ValueError):
        return None
