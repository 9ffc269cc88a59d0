"""A torch scorer where torch is not installed."""

import sys

import pytest

from truerank.errors import MissingExtraError
from truerank.scoring.torch import Torch


def test_without_torch_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"truerank\[models\] brings: pip install torch"):
        Torch(lambda users, items: users, n_items=5)
