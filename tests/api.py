"""The public names with their signatures, as text: `python -m tests.api --write` renews api.txt."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

from tests import face

SNAPSHOT = Path(__file__).parent / "api.txt"
RENEW = "python -m tests.api --write"


def lines() -> list[str]:
    """One line for each public module, constant, class, function, method and property."""
    found = []
    for module in face.modules():
        found.append(f"module {module.__name__}")
        for name in face.names(module):
            value = getattr(module, name)
            if not (callable(value) or inspect.ismodule(value)):
                found.append(f"constant {module.__name__}.{name}")
    found += [f"{thing.kind} {thing.name}{thing.signature}" for thing in face.walk()]
    return sorted(found, key=lambda line: line.split("(")[0].split()[1:])


if __name__ == "__main__":
    text = "\n".join(lines()) + "\n"
    if "--write" in sys.argv:
        SNAPSHOT.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
