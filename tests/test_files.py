"""The one writer of files: whole or not at all, links followed, devices left alone."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from truerank import _files
from truerank.errors import InputError


def write(path: Path, text: str = "new", **options: bool) -> None:
    with _files.replacing(path, **options) as temporary:
        temporary.write_text(text)


def test_a_file_appears_whole_and_alone(tmp_path: Path) -> None:
    write(tmp_path / "a.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "new"


def test_a_block_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(ZeroDivisionError), _files.replacing(tmp_path / "a.txt") as temporary:
        temporary.write_text("half" * (1 // 0))
    assert (tmp_path / "a.txt").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/a.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real/a.txt")
    (tmp_path / "dangling.txt").symlink_to("real/b.txt")
    write(tmp_path / "link.txt")
    write(tmp_path / "dangling.txt")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "dangling.txt").is_symlink()
    assert (tmp_path / "real/a.txt").read_text() == (tmp_path / "real/b.txt").read_text() == "new"


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(InputError, match=r"cannot write .*a: its symbolic links go round"):
        write(tmp_path / "a")
    assert not _files.leads_somewhere(tmp_path / "a/c.csv")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_the_mode_is_kept(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(mode)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_new_files_have_the_usual_mode_or_are_private(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "usual")
        write(tmp_path / "private", private=True)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "usual").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o600


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may chown")
def test_the_owner_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    os.chown(path, 1234, 4321)
    write(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 4321)


def test_read_only_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o444)
    with pytest.raises(InputError, match=r"cannot write .*a\.txt: it is read-only"):
        write(path)
    assert path.read_text() == "old"


def test_folders_and_missing_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it is a folder"):
        write(tmp_path)
    with pytest.raises(InputError, match=r"the folder .*gone does not exist"):
        write(tmp_path / "gone/a.txt")


def test_a_pipe_gets_the_bytes_and_stays_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(path.read_text()))
    reader.start()
    write(path, "x" * 300_000)
    reader.join(30)
    assert got == ["x" * 300_000]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_devices_stay_devices() -> None:
    write(Path("/dev/null"))
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_descriptors_are_written_where_they_stand(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as file:
        file.write("before ")
        file.flush()
        write(Path(f"/dev/fd/{file.fileno()}"), "and ")
        (tmp_path / "link").symlink_to(f"/proc/self/fd/{file.fileno()}")
        write(tmp_path / "link", "between ")
        file.seek(0, os.SEEK_END)
        file.write("after")
    assert (tmp_path / "out").read_text() == "before and between after"


def test_a_full_disk_is_told_with_the_name(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match=r"cannot write .*a\.txt: No space left on device"),
        _files.replacing(tmp_path / "a.txt"),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(InputError, match="cannot write /dev/full: No space left on device"):
        write(Path("/dev/full"))
    assert not list(tmp_path.iterdir())


def test_a_full_temporary_folder_is_told_with_the_remedy() -> None:
    with pytest.raises(InputError, match=r"No space left on device; .* set TMPDIR"), _files.spill():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_errors_about_other_files_are_left_alone(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), _files.replacing(tmp_path / "a.txt"):
        (tmp_path / "gone.csv").read_text()


def test_names_of_255_bytes(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 125 + ".json")
    write(path)
    assert path.read_text() == "new"


def test_what_a_killed_process_left_is_swept(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "from truerank import _files\n"
        "with _files.replacing(sys.argv[1]) as path:\n"
        "    path.write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    target = tmp_path / "a.txt"
    subprocess.run([sys.executable, "-c", code, str(target)], check=False)
    (left,) = tmp_path.iterdir()
    assert left.name.endswith(_files.SUFFIX)
    with _files.replacing(tmp_path / "b.txt") as live:  # swept now; this one is alive
        assert not left.exists()
        _files._swept.clear()
        write(tmp_path / "c.txt")
        assert live.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.txt", "c.txt"]


def test_one_file_by_several_names(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    (tmp_path / "b").write_text("x")
    os.link(tmp_path / "a", tmp_path / "hard")
    (tmp_path / "soft").symlink_to("a")
    assert _files.same(tmp_path / "a", tmp_path / "hard")
    assert _files.same(tmp_path / "soft", tmp_path / "hard")
    assert _files.same(tmp_path / "new", tmp_path / "." / "new")
    assert not _files.same(tmp_path / "a", tmp_path / "b")
    assert not _files.same(tmp_path / "a", tmp_path / "new")
    assert not _files.same("/dev/null", "/dev/null")
