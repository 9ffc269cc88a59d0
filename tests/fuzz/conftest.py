"""Prints what the fuzzers tried and found, whichever process they ran in."""

from __future__ import annotations

from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """A line per fuzzer."""
    for reports in terminalreporter.stats.values():
        for report in (one for one in reports if getattr(one, "when", "") == "call"):
            for name, value in getattr(report, "user_properties", ()):
                if name == "fuzz":
                    what, n_inputs, n_findings = value
                    terminalreporter.write_line(
                        f"fuzz: {what}: {n_inputs:,} inputs, {n_findings:,} findings"
                    )
