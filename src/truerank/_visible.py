"""Names are data: a model may be called anything, and no terminal, page or comment acts on it."""

from __future__ import annotations

import html
import re

# Control characters but the new line, marks that turn the direction of text, halves of characters.
_INVISIBLE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
# What Markdown reads as emphasis, code, mathematics, tags or links; not within words (bpr_mf).
_MARKS = re.compile(r"[\\`*<>~$&|]|(?<=\])\(|(?<!\w)_|_(?!\w)")
# What sites make links of by themselves: addresses, and mentions of people, teams and issues.
_LINKED = re.compile(
    r"(?<=:)//|(?<=(?<!\w)@)(?=\w)|(?<=@)(?=[\w-]+\.[a-z])|(?<=#)(?=\d)|(?<=\bwww)\.", re.IGNORECASE
)


def visible(text: str) -> str:
    """Text that is shown as it is: control characters and the like are written out.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        The same with ``\\x1b`` in place of an escape character, and so on.
    """
    return _INVISIBLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def in_html(text: object) -> str:
    """Text that a page shows as it is.

    Parameters
    ----------
    text : object
        Any text, or what is shown as one.

    Returns
    -------
    str
        HTML.
    """
    return html.escape(visible(str(text)))


def in_markdown(text: str) -> str:
    """Text that Markdown shows as it is, in a cell of a table or elsewhere in a line.

    Parameters
    ----------
    text : str
        Any text; its line breaks become spaces.

    Returns
    -------
    str
        Markdown; addresses and mentions are cut by empty comments, so that no site links them.
    """
    line = visible(text.replace("\n", " "))
    line = _MARKS.sub(lambda found: f"\\{found[0]}", line)
    return _LINKED.sub(lambda found: f"<!-- -->{found[0]}", line)
