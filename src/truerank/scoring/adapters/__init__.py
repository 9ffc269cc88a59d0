"""Models of other libraries as scorers, one small file per library.

An adapter takes a fitted model and gives a scorer with the ids of the library's own data. None of
them masks training items: that is what ``train=`` is for. The libraries are not installed with
truerank, and importing this package imports none of them.
"""

from __future__ import annotations

from truerank.scoring.adapters.cornac import from_cornac
from truerank.scoring.adapters.implicit import from_implicit
from truerank.scoring.adapters.lenskit import from_lenskit
from truerank.scoring.adapters.pykeen import from_pykeen
from truerank.scoring.adapters.recbole import from_recbole
from truerank.scoring.adapters.rectools import from_rectools

__all__ = [
    "from_cornac",
    "from_implicit",
    "from_lenskit",
    "from_pykeen",
    "from_recbole",
    "from_rectools",
]


def __dir__() -> list[str]:
    return sorted(__all__)
