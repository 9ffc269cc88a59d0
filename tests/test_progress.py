"""Progress: what is called, when a bar shows, and that it goes away."""

from __future__ import annotations

import io
import re
import sys
import time

import pytest

from truerank import progress
from truerank.errors import InputError


class Terminal(io.StringIO):
    def isatty(self):
        return True


def run(how, steps=(3, 4, 3)):
    with progress.reporting(how, 10, "ranking") as advance:
        for step in steps:
            advance(step)


def test_a_function_is_told():
    seen = []
    run(lambda done, total: seen.append((done, total)))
    assert seen == [(3, 10), (7, 10), (10, 10)]


@pytest.mark.parametrize("how", [None, False])
def test_nothing_is_written_where_nobody_looks(how, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream := io.StringIO())
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    run(how)
    assert stream.getvalue() == ""


@pytest.mark.parametrize("stream", [None, io.StringIO()])
def test_no_stderr_at_all(stream, monkeypatch):
    if stream:
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    run(None)


def test_a_bar_shows_when_it_takes_long(monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    run(None)
    assert stream.getvalue() == ""  # too quick
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    run(None)
    assert "ranking" in stream.getvalue()
    assert "100%" in stream.getvalue()


def test_a_first_step_that_takes_long_is_not_waited_for_in_silence(monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    with progress.reporting(None, 2, "ranking"):
        for _ in range(500):
            if "ranking" in stream.getvalue():
                break
            time.sleep(0.01)
    assert re.search(r"ranking.*0%.*-:--:--", stream.getvalue())


def test_bars_within_bars_stand_below_them(monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.reporting(None, 2, "estimating") as outer:
        outer(1)
        for what in ("fitting", "redrawing"):
            with progress.reporting(None, 4, what) as inner:
                inner(3)
                progress._display._live.refresh()
                assert re.search(rf"estimating.* 50%.*\n.*{what}.* 75%", stream.getvalue())
        outer(1)
    assert progress._display._live is None
    assert not progress._display._bars


def test_silence_is_for_its_block_only(monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.silence():
        run(None)
    with progress.silence(False):
        progress.hush()
        run(None)
    assert stream.getvalue() == ""
    run(None)
    assert "ranking" in stream.getvalue()


def test_no_bar_when_told_not_to(monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    run(False)
    assert stream.getvalue() == ""


def test_the_bar_stops_when_the_run_fails(monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    show_cursor = "\x1b[?25h"
    with pytest.raises(TypeError):
        run(None, steps=(1, "two"))
    assert stream.getvalue().rindex(show_cursor) > stream.getvalue().rindex("ranking")


@pytest.mark.parametrize("how", [True, "yes", 3])
def test_other_wishes(how):
    with pytest.raises(InputError, match=r"progress is .*; it must be None \(a bar\), False"):
        run(how)
