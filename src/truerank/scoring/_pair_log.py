"""A file of blocks that grows at its end: each block has a checksum and is lost alone.

A block is a header (mark, kind, length, checksum) and its content. A reader who meets a block that
is damaged or cut off goes on at the next mark, so a flipped bit or a torn write costs one block.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: one process at a time
    fcntl = None  # type: ignore[assignment]

MARK = b"\x93trPAIR\n"
_HEADER = struct.Struct("<8sIQ16s")  # mark, kind, length of the content, checksum
_WRITING = 1 << 62  # the byte that is locked to read or write the file; users' are below
_PORTION = 1 << 26  # bytes read at a time
_STEP = 0.02  # seconds between two looks at a lock

# Locks are those of the process: what is done under one is done by one thread.
_one_thread = threading.RLock()


def _forked() -> None:
    global _one_thread
    _one_thread = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class Locked(Exception):
    """Another process holds a lock for too long."""


class Log:
    """Blocks in a file, for their owner alone, shared by processes.

    Parameters
    ----------
    path : Path
        The file; it is made if it does not exist, its folder is not.

    Attributes
    ----------
    damaged : list of int
        Sizes in bytes of the places that could not be read so far.
    """

    def __init__(self, path: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._file = os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o600)
        self._read = 0  # bytes of the file that were looked at
        self.damaged: list[int] = []

    def close(self) -> None:
        """Close the file."""
        with _one_thread:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1

    @contextlib.contextmanager
    def locked(self, seconds: float) -> Iterator[None]:
        """Keep other processes and threads from reading and writing; Locked if they do for long."""
        with _one_thread:
            deadline = time.monotonic() + seconds
            while not self.lock(_WRITING):
                if time.monotonic() > deadline:
                    raise Locked
                time.sleep(_STEP)
            try:
                yield
            finally:
                self.unlock(_WRITING)

    def lock(self, place: int) -> bool:
        """Lock a byte, whether it exists or not; False if another process has it."""
        if fcntl is None:
            return True
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def unlock(self, place: int) -> None:
        """Give a byte free."""
        if fcntl is not None and self._file >= 0:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, place)

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return os.fstat(self._file).st_size

    def news(self) -> Iterator[tuple[int, bytes]]:
        """(kind, content) of each block that was written since the last look; under the lock."""
        content = self._from(self._read)
        at = 0
        while at < len(content):
            begin = at
            block = _block(content, begin)
            if block is not None:
                at += _HEADER.size + len(block[1])
                self._read += at - begin
                yield block
                continue
            following = content.find(MARK, begin + 1)
            at = len(content) if following < 0 else following
            self._read += at - begin
            self.damaged.append(at - begin)

    def _from(self, begin: int) -> bytes:
        """The bytes of the file from there on."""
        # Not mapped, nor opened again: closing any descriptor of the file drops all locks on it.
        parts = []
        while part := os.pread(self._file, _PORTION, begin):
            parts.append(part)
            begin += len(part)
        return b"".join(parts)

    def begins_with_a_mark(self) -> bool:
        """Whether it looks like a file of blocks."""
        return os.pread(self._file, len(MARK), 0) == MARK

    def clear(self) -> None:
        """Take all blocks out; under the lock."""
        os.ftruncate(self._file, 0)
        self._read = 0

    def append(self, kind: int, contents: Iterable[bytes]) -> None:
        """Write blocks of one kind and force them to disk; under the lock."""
        before = self.size
        written = b"".join(
            _HEADER.pack(MARK, kind, len(content), _checksum(kind, content)) + content
            for content in contents
        )
        try:
            rest = memoryview(written)
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except OSError:  # the disk is full, say: leave nothing torn behind
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, before)
            raise
        if self._read == before:
            self._read += len(written)


def _block(content: bytes, begin: int) -> tuple[int, bytes] | None:
    """(kind, content) of the block that begins there; None if it is damaged."""
    inside = begin + _HEADER.size
    if inside > len(content):
        return None
    mark, kind, length, checksum = _HEADER.unpack_from(content, begin)
    if mark != MARK or length > len(content) - inside:
        return None
    found = content[inside : inside + length]
    return (kind, found) if _checksum(kind, found) == checksum else None


def _checksum(kind: int, content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16, salt=kind.to_bytes(16, "little")).digest()
