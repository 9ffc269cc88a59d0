"""What the commands print with: tables that fit, JSON, CSV, and one-line messages on stderr."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from truerank import progress
from truerank._visible import visible
from truerank.errors import InputError, TruerankWarning

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

MISSING = "—"
_LONGEST = 2000  # characters of a message
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what spreadsheets take a cell for that begins so
_PLAIN = str.maketrans("·—", "--")  # for terminals without these (rich sees to the lines)

# The library speaks of arguments; at the command line they are options.
_OPTIONS = (
    (r"\breplacement=True\b", "--replacement"),
    (r"\breplacement=False\b", "--no-replacement"),
    (r"\bnum_negatives=(\d+)", r"--num-negatives \1"),
    (r"\bcolumns=(?!\w)", "--columns"),
    (r"\bunpaired=True\b", "--unpaired"),
    (r"\bn_items is (neither|missing)\b", r"--n-items is \1"),
    (r"\bn_users is missing\b", "--n-users is missing"),
    (r"\bgive n_items\b", "give --n-items"),
    (r"\bdrop_targets=True\b", "--drop-targets"),
    (r"\bzero_based=True\b", "--zero-based"),
    (r"\bdrop_missing=True\b", "--drop-missing"),
    (r"\bshared_negatives=True\b", "--shared-negatives"),
    (r"\bsample_size and num_negatives:", "--sample-size and --num-negatives:"),
)


_QUOTED = re.compile(r"((?<!\w)'[^']*')")


class PipeClosed(Exception):
    """Nobody reads stdout any more."""


def in_options(message: str) -> str:
    """A message of the library in terms of command-line options."""
    parts = _QUOTED.split(message)  # what somebody wrote, or is to write, stays
    for argument, option in _OPTIONS:
        parts[::2] = [re.sub(argument, option, part) for part in parts[::2]]
    return "".join(parts)


def say(kind: str, message: str) -> None:
    """``error: ...`` or ``warning: ...``, one line on stderr."""
    from rich.console import Console
    from rich.text import Text

    if sys.stderr is None:
        return
    style = {"error": "bold red", "warning": "bold yellow"}.get(kind, "bold")
    line = Text.assemble((f"{kind}:", style), " ", shortened(visible(" ".join(message.split()))))
    with contextlib.suppress(OSError):  # nobody reads it
        Console(stderr=True).print(line, soft_wrap=True)


def shortened(message: str) -> str:
    """A message with the middle left out if it is very long: a value in it may be of any size."""
    if len(message) <= _LONGEST:
        return message
    return f"{message[: _LONGEST - 300]} [...] {message[-250:]}"


@contextlib.contextmanager
def session() -> Iterator[None]:
    """Tell each of the library's warnings once, in a line of its own; others are as ever.

    Until the block ends, `hush` silences these and all progress bars.
    """
    told: set[str] = set()
    with warnings.catch_warnings(), progress.silence(False):
        show_others = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if not issubclass(category, TruerankWarning):
                show_others(message, category, filename, lineno, file, line)
            elif str(message) not in told:
                told.add(str(message))
                say("warning", in_options(str(message)))

        warnings.showwarning = show
        warnings.simplefilter("always", TruerankWarning)
        yield


def hush() -> None:
    """No bars and no warnings until the session ends."""
    progress.hush()
    warnings.simplefilter("ignore", TruerankWarning)


def to_json(content: Any) -> str:
    """Indented JSON, strictly: NaN is an error."""
    return json.dumps(content, indent=2, allow_nan=False) + "\n"


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows of equal keys, with a header; None is empty, truth values are lower case.

    Text that a spreadsheet would take for a formula gets an apostrophe before it.
    """
    if not rows:
        return ""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: _cell(value) for key, value in row.items()})
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return value
    return visible(f"'{value}" if value.startswith(_FORMULA) and not _is_number(value) else value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def to_text(draw: Callable[[Console], None], *, path: Any = None) -> str:
    """What ``draw`` prints: coloured and as wide as the terminal, plain for pipes and files."""
    from rich.console import Console

    class Plain(Console):
        """A console that takes all text for text: no markup, no emoji, no control characters."""

        def _render_buffer(self, buffer: Any) -> str:
            return super()._render_buffer(
                part if part.control else part._replace(text=visible(part.text)) for part in buffer
            )

    plain: dict[str, Any] = {"markup": False, "emoji": False, "highlight": False}
    target = Plain(**plain) if path is None else Plain(file=io.StringIO(), width=100, **plain)
    with _stdout_errors(), target.capture() as captured:  # rich flushes stdout, written to or not
        draw(target)
    text = captured.get()
    if not target.encoding.startswith("utf"):
        text = text.translate(_PLAIN)
    if target.is_terminal:
        return text
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def emit(text: str) -> None:
    """Write to stdout as it is, except for characters that its encoding does not have."""
    if sys.stdout is None:
        raise InputError("stdout is closed; give a file with --output")
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    with _stdout_errors():
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()


@contextlib.contextmanager
def _stdout_errors() -> Iterator[None]:
    """Say what is wrong with stdout in our words."""
    try:
        yield
    except BrokenPipeError:  # whoever reads has seen enough
        give_up_stdout()
        raise PipeClosed from None  # click would end with 1 for the other
    except OSError as error:
        give_up_stdout()
        raise InputError(f"cannot write to stdout: {error.strerror or error}") from error


def give_up_stdout() -> None:
    """Write to nowhere from now on: the interpreter flushes at its end, and fails once more."""
    with contextlib.suppress(OSError, AttributeError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def fits(console: Console, content: RenderableType) -> bool:
    """Whether ``content`` is shown whole on this console."""
    from rich.measure import Measurement

    wide = console.options.update_width(10_000)
    return Measurement.get(console, wide, content).maximum <= console.width


def decimals(values: Sequence[float]) -> int:
    """Digits after the point that leave three significant ones in the smallest value, 4 to 8.

    What these cannot show (below 1e-7) is as good as 0.
    """
    smallest = min((abs(value) for value in values if abs(value) >= 1e-7), default=1.0)
    return next((d for d in range(4, 8) if smallest >= 10.0 ** (2 - d)), 8)


def whole(value: float) -> str:
    """A number of users: whole unless weights make it fractional."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def between(low: int, high: int) -> str:
    """``3,706`` or ``1,400 to 3,690``."""
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
