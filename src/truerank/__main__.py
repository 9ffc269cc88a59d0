"""``truerank`` and ``python -m truerank``."""

from __future__ import annotations

import sys

from truerank import _signals

_signals.install()  # before anything that takes time to import


def main() -> None:
    """Run the command line."""
    try:
        from truerank.cli import main as run

        run()
    except (KeyboardInterrupt, _signals.Terminated) as error:  # between what handles them
        interrupted = isinstance(error, KeyboardInterrupt)
        sys.exit(_signals.INTERRUPTED if interrupted else _signals.TERMINATED)


if __name__ == "__main__":
    main()
