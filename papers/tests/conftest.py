"""What the tests of the command share."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest

from truerank.cli._added import GROUP


@pytest.fixture(scope="session")
def installed() -> None:
    """``truerank reproduce`` is there: by the metadata of the distribution, not by the path."""
    if not entry_points(group=GROUP, name="reproduce"):
        pytest.fail(
            "truerank-papers is importable but not installed; make test installs it "
            "(pip install --no-deps --editable ./papers)"
        )
