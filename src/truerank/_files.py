"""Files are written here and nowhere else: whole or not at all, and never in place of a device.

A file is written under a temporary name beside its place, forced to disk and renamed. Symbolic
links are followed; the mode and the owner of what was there are kept; what is read-only is refused.
Devices, pipes and open descriptors (``/dev/stdout``, ``/dev/fd/3``) get the finished bytes instead.

A temporary file is locked while its process lives. A process that was killed leaves it behind
unlocked, and the next one that writes into the folder removes it.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import re
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from truerank.errors import InputError

try:
    import fcntl
except ImportError:  # Windows: nothing is locked there, so nothing is swept
    fcntl = None  # type: ignore[assignment]

SUFFIX = ".truerank-tmp"
_NAME = 80  # bytes of a file's name that its temporary name keeps; 255 is the most a name has
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self|proc/thread-self)/fd/(\d+)")
_STANDARD = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
_UNPACKED = 1 << 27  # bytes that any gzip file may unpack to
_PROPORTION = 100  # times its size, that a larger one may; tables grow 3 to 20 times
_LINKS = 40  # that are followed, as Linux does
_swept: set[Path] = set()
_live: set[str] = set()  # temporary files and folders of this process
_SPILL = "truerank-"
_LOCK = ".lock"  # in a temporary folder: locked while its process lives


@contextlib.contextmanager
def replacing(path: Any, *, private: bool = False) -> Iterator[Path]:
    """A temporary path whose content takes the place of ``path`` once the block ends well.

    Parameters
    ----------
    path : str or path
        Where to write: a file, a link to one, a device, a pipe, or an open descriptor.
    private : bool
        Whether a new file is for its owner alone (mode 0600).

    Yields
    ------
    Path
        An empty file to write to.

    Raises
    ------
    InputError
        If ``path`` cannot be written, or the disk is full; the message names it.
    """
    target = Target(path)
    target.check()
    with _naming(path), _temporary(target) as (temporary, handle):
        yield temporary
        os.fsync(handle)
        target.take(temporary, private=private)


class Target:
    """A place to write to, links followed.

    Parameters
    ----------
    path : str or path
        As the user wrote it.

    Attributes
    ----------
    path : Path
        Where the bytes go.
    descriptor : int or None
        The open descriptor that it stands for, if it is one.
    state : os.stat_result or None
        Of what is there.
    """

    def __init__(self, path: Any) -> None:
        self.shown = os.fspath(path)
        try:
            self.descriptor = _descriptor(self.shown)
            self.path = Path(self.shown) if self.descriptor is not None else _followed(self.shown)
            if self.descriptor is not None:
                self.state: os.stat_result | None = os.fstat(self.descriptor)
            else:
                self.state = _state(self.path)
        except (OSError, ValueError) as error:
            raise self._refusal(_reason(error)) from None

    @property
    def plain(self) -> bool:
        """Whether it is a file, or will be one: no device, no pipe, no descriptor."""
        return self.descriptor is None and (self.state is None or stat.S_ISREG(self.state.st_mode))

    @property
    def in_place(self) -> bool:
        """Whether bytes go into what is there: it is no plain file, or nothing to rename over."""
        if self.state is None or not self.plain:
            return not self.plain
        # A file of somebody else stays theirs; one in a folder that is not ours cannot be renamed.
        return not os.access(self.path.parent, os.W_OK) or (
            hasattr(os, "geteuid") and os.geteuid() not in (0, self.state.st_uid)
        )

    def check(self) -> None:
        """Raise InputError if it cannot be written, before anything is worked out for it."""
        if self.descriptor is not None:
            return
        parent = self.path.parent
        if self.state is None:
            if not parent.is_dir():
                raise self._refusal(f"the folder {self._folder} does not exist")
            if not os.access(parent, os.W_OK):
                raise self._refusal(f"the folder {self._folder} is not writable")
        elif stat.S_ISDIR(self.state.st_mode):
            raise self._refusal("it is a folder")
        elif stat.S_ISSOCK(self.state.st_mode):
            raise self._refusal("it is a socket")
        elif not self.state.st_mode & 0o222 or not os.access(self.path, os.W_OK):
            raise self._refusal("it is read-only; remove it, or write to another one")

    def take(self, temporary: Path, *, private: bool) -> None:
        """Put the content of a file here."""
        if self.in_place:
            with temporary.open("rb") as source, self._opened() as here:
                shutil.copyfileobj(source, here)
            return
        if self.state is None:
            os.chmod(temporary, 0o600 if private else 0o666 & ~_umask())
        else:
            if hasattr(os, "chown"):
                with contextlib.suppress(PermissionError):  # a group that is not ours
                    os.chown(temporary, self.state.st_uid, self.state.st_gid)
            os.chmod(temporary, stat.S_IMODE(self.state.st_mode))
        os.replace(temporary, self.path)
        sync_folder(self.path.parent)

    def _opened(self) -> IO[bytes]:
        if self.descriptor is None:
            return self.path.open("wb")
        for stream in (sys.stdout, sys.stderr):  # what was printed before comes before
            with contextlib.suppress(AttributeError, ValueError, OSError):
                stream.flush()
        return os.fdopen(os.dup(self.descriptor), "wb")

    @property
    def _folder(self) -> str:
        """The folder as the user wrote it, unless a link leads elsewhere."""
        if os.path.islink(self.shown):
            return str(self.path.parent)
        return os.path.dirname(self.shown) or "."

    def _refusal(self, reason: str) -> InputError:
        return InputError(f"cannot write {self.shown}: {reason}")


def opened(path: Path, *, zipped: bool) -> IO[bytes]:
    """A file to read; what grows out of all proportion when it is unpacked is refused.

    Parameters
    ----------
    path : Path
        The file.
    zipped : bool
        Whether it is compressed by gzip.

    Returns
    -------
    file object
        Of the bytes, unpacked.
    """
    if not zipped:
        return path.open("rb")
    with _Unpacked(path) as probe:  # before anybody makes a table of it
        probe.check_start()
    return io.BufferedReader(_Unpacked(path), 1 << 20)


class _Unpacked(io.RawIOBase):
    """The content of a gzip file, up to a bound."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path, self._raw = path, path.open("rb")
        self._file = gzip.GzipFile(fileobj=self._raw)
        self._size = max(1, path.stat().st_size)
        self._n_read = 0

    def check_start(self) -> None:
        """Read on for as long as there is much more than the bytes that it came from."""
        buffer = bytearray(1 << 20)
        while self.readinto(buffer) and self._n_read > _PROPORTION * self._raw.tell():
            pass

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            n_read = self._file.readinto(buffer)
        except (EOFError, zlib.error) as error:
            raise OSError(f"{error}") from None
        self._n_read += n_read
        if self._n_read > max(_UNPACKED, _PROPORTION * self._size):
            raise InputError(
                f"{self._path} has {self._size:,} bytes and unpacks to more than "
                f"{self._n_read >> 20:,} MiB; if that is meant, unpack it first: gunzip"
            )
        return n_read

    def close(self) -> None:
        if not self.closed:
            self._file.close()
            self._raw.close()
        super().close()


@contextlib.contextmanager
def spill() -> Iterator[Path]:
    """A temporary folder (of TMPDIR) that is gone after the block; those of killed processes too.

    Yields
    ------
    Path
        The folder.
    """
    _sweep_spills(Path(tempfile.gettempdir()))
    name = tempfile.mkdtemp(prefix=_SPILL)
    _live.add(name)
    try:
        with open(os.path.join(name, _LOCK), "wb") as lock:
            if fcntl is not None:
                with contextlib.suppress(OSError):
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield Path(name)
    except OSError as error:
        if error.filename is not None and name not in str(error.filename):
            raise
        raise InputError(
            f"cannot write to the temporary folder {os.path.dirname(name)}: {_reason(error)}; make "
            "room there, or set TMPDIR to another folder"
        ) from error
    finally:
        shutil.rmtree(name, ignore_errors=True)
        _live.discard(name)


def _sweep_spills(folder: Path) -> None:
    if fcntl is None:
        return
    for lock in folder.glob(f"{_SPILL}*/{_LOCK}"):
        with contextlib.suppress(OSError), lock.open("rb") as file:
            if os.fstat(file.fileno()).st_uid == os.geteuid():
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(lock.parent, ignore_errors=True)


def remove_temporaries() -> None:
    """Remove what this process has under way, for one that ends without unwinding."""
    for name in list(_live):
        if os.path.isdir(name):
            shutil.rmtree(name, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                os.unlink(name)


def identity(path: Any) -> Any:
    """What two paths of one file have in common: links of either kind do not matter.

    Parameters
    ----------
    path : str or path
        The path.

    Returns
    -------
    hashable
        Of the file if it exists, of the spelling if it does not; unique to each call for devices
        and pipes, which may be read and written at once.
    """
    try:
        followed = _followed(path)
        state = _state(followed)
    except (OSError, ValueError):
        return object()
    if state is None:
        return followed
    if not (stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)):
        return object()
    return state.st_dev, state.st_ino


def same(one: Any, other: Any) -> bool:
    """Whether two paths are one file or folder.

    Parameters
    ----------
    one, other : str or path
        The paths.

    Returns
    -------
    bool
        By `identity`.
    """
    return bool(identity(one) == identity(other))


def leads_somewhere(path: Any) -> bool:
    """Whether the symbolic links of a path end, at a file or at nothing.

    Parameters
    ----------
    path : str or path
        The path.

    Returns
    -------
    bool
        False if they go round in a circle.
    """
    try:
        _followed(path)
    except OSError as error:
        return error.errno != errno.ELOOP
    return True


def check_plain(path: Any) -> None:
    """Refuse to read what is neither a file nor a folder: it has no end, or can be read once.

    Parameters
    ----------
    path : str or path
        The path; what does not exist is left to whoever reads it.

    Raises
    ------
    InputError
        If it is a pipe, a device or a socket.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        kind = "pipe" if stat.S_ISFIFO(mode) else "socket" if stat.S_ISSOCK(mode) else "device"
        raise InputError(f"{path} is a {kind}; files are read more than once: save it as one first")


def check_file(path: Any) -> None:
    """Refuse to read what is no file: a folder, or what `check_plain` refuses.

    Parameters
    ----------
    path : str or path
        The path; what does not exist is left to whoever reads it.

    Raises
    ------
    InputError
        If it is a folder, a pipe, a device or a socket.
    """
    check_plain(path)
    if os.path.isdir(path):
        raise InputError(f"{path} is a folder; give the path of a file")


def sync_folder(folder: Path) -> None:
    """Force the names in a folder to disk, where the system can.

    Parameters
    ----------
    folder : Path
        The folder.
    """
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def sweep(folder: Path) -> None:
    """Remove the temporary files that killed processes left in a folder; once per process.

    Parameters
    ----------
    folder : Path
        The folder.
    """
    if fcntl is None or folder in _swept:
        return
    _swept.add(folder)
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if entry.name.endswith(SUFFIX) and entry.is_file(follow_symlinks=False):
                _remove_if_left(entry.path)


def _remove_if_left(path: str) -> None:
    with contextlib.suppress(OSError), open(path, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # held by its process while that lives
        os.unlink(path)


@contextlib.contextmanager
def _temporary(target: Target) -> Iterator[tuple[Path, int]]:
    """A locked empty file, beside the target if it is to be renamed, and its descriptor."""
    folder = None if target.in_place else target.path.parent
    if folder is not None:
        sweep(folder)
    while True:
        handle, name = tempfile.mkstemp(
            dir=folder, prefix=f".{_short(target.path.name)}.", suffix=SUFFIX
        )
        if fcntl is None:
            break
        with contextlib.suppress(OSError):  # file systems without locks
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.exists(name):
            break
        os.close(handle)  # swept before it was locked
    _live.add(name)
    try:
        yield Path(name), handle
    finally:
        os.close(handle)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        _live.discard(name)


@contextlib.contextmanager
def _naming(path: Any) -> Iterator[None]:
    """Name the file in what the system says about the temporary one."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        named = error.filename is None or str(error.filename).endswith(SUFFIX)
        if not named or isinstance(error, InputError):
            raise
        raise InputError(f"cannot write {os.fspath(path)}: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    """What the system says, without the numbers and names that it adds."""
    if isinstance(error, OSError) and error.errno == errno.ELOOP:
        return "its symbolic links go round in a circle"
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)
    return str(error).strip().split("\n")[0] or type(error).__name__


def _descriptor(path: str) -> int | None:
    """The open descriptor that a path stands for, through links; None if it is none."""
    for _ in range(_LINKS):
        absolute = os.path.abspath(path)
        if absolute in _STANDARD:
            return _STANDARD[absolute]
        if found := _DESCRIPTOR.fullmatch(absolute):
            return int(found[1])
        if not os.path.islink(absolute):
            return None
        path = os.path.join(os.path.dirname(absolute), os.readlink(absolute))
    return None


def _followed(path: Any) -> Path:
    """Where a path leads; OSError (ELOOP) if its links go round in a circle."""
    try:
        os.stat(path)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise
    return Path(os.path.realpath(path))


def _state(path: Path) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _short(name: str) -> str:
    """The beginning of a name, of few enough bytes."""
    return os.fsdecode(os.fsencode(name)[:_NAME]).encode("utf-8", "replace").decode()


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask
