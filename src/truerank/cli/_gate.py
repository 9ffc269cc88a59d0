"""The gate of ``truerank compare``, and the comment that it leaves at a pull request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truerank._visible import in_markdown
from truerank.errors import InputError

if TYPE_CHECKING:
    from truerank.inference.comparing.comparison import Comparison
    from truerank.inference.comparing.gate import Gate

FAILED = 3  # exit code


def judge(
    found: Sequence[Comparison], metric: str | None, margin: float | None, models: Sequence[str]
) -> Gate | None:
    """The gate that was asked for: the first of two models, new, against the second, old."""
    if metric is None:
        if margin is not None:
            raise InputError(f"--margin is {margin:g}, but --gate is not given: on which metric?")
        return None
    from truerank.inference.comparing.gate import Gate
    from truerank.metrics import key

    if len(models) != 2:
        raise InputError(
            f"--gate judges a new model against an old one, and there are {len(models)}: "
            f"{', '.join(models)}; give two, the new one first"
        )
    (on,) = (one for one in found if one.metric == key(metric))
    return Gate.of(on, models[0], models[1], margin=margin or 0.0)


def comment(found: Sequence[Comparison], gate: Gate | None, files: Sequence[Path]) -> str:
    """Markdown: the verdict, tables, and how the numbers came about."""
    parts = []
    if gate is not None:
        sign = "✅" if gate.state == "as good" else "⚠️" if gate.passed else "❌"
        parts.append(f"### {sign} {in_markdown(gate.verdict)}")
    for one in found:
        parts += [
            f"**{one.metric}.** {in_markdown(one.verdict)}",
            one.to_markdown(),
            _differences(one),
        ]
    first = found[0]
    whom = "these users" if first.scope == "these-users" else "the population"
    said = [
        f"{first.how} Estimator {first.estimator}, {100 * first.confidence:g} % intervals, for "
        f"{whom}.",
        *(f"{path.name}: {told}" for path in files if (told := _card(path))),
    ]
    details = "\n".join(f"- {in_markdown(line)}" for line in said)
    parts.append(f"<details><summary>Protocol</summary>\n\n{details}\n\n</details>")
    return "\n\n".join(parts)


def _differences(found: Comparison) -> str:
    interval = f"{100 * found.confidence:g} % interval"
    lines = [f"| difference | {found.metric} | {interval} |", "| --- | --- | --- |"]
    lines += [
        f"| {in_markdown(f'{one.model} - {one.other}')} | {one.value:+.4f} | "
        f"[{one.low:+.4f}, {one.high:+.4f}] |"
        for one in found.differences
    ]
    return "\n".join(lines)


def _card(path: Path) -> str:
    """The protocol card of a file that `Evaluation.save` wrote, in a line."""
    from truerank.evaluation import read_protocol

    card: Mapping[str, Any] | None = read_protocol(path)
    if card is None:
        return ""
    names = ("reason", "users", "n_items", "seed", "ties", "truerank")
    return ", ".join(f"{name} {card[name]}" for name in names if name in card)
