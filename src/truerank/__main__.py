"""``python -m truerank``."""

from __future__ import annotations

from truerank.cli import main

if __name__ == "__main__":
    main()
