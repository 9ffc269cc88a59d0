"""The protocol card: how the numbers came about, as rows, as text and as LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from truerank._version import __version__
from truerank.inference.verdicts import listed
from truerank.outcomes._columns import dropped
from truerank.outcomes.counts import RankCounts
from truerank.outcomes.schemes import Scheme
from truerank.report._content import Content, ModelContent

NOT_RECORDED = "not recorded"
_MOST_SIZES = 5  # of a ladder, shown
_ESCAPES = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "…": r"\ldots{}",
}


def rows(content: Content) -> list[tuple[str, str]]:
    """Facts and their values; one value where all models agree, else one for each."""
    cards = {model.name: _facts(model) for model in content.models}
    found = []
    for fact in next(iter(cards.values())):
        whose: dict[str, list[str]] = {}
        for name, card in cards.items():
            whose.setdefault(card[fact], []).append(name)
        if len(whose) == 1:
            found.append((fact, next(iter(whose))))
        else:
            said = "; ".join(f"{listed(names)}: {value}" for value, names in whose.items())
            found.append((fact, said))
    pairs = np.array([model.counts.pairs_per_user for model in content.models])
    found.append(("Scored pairs per user", f"{between(pairs.round())} on average"))
    found += [
        ("Estimator", "none: ranks are exact" if content.exact else content.estimator),
        ("Intervals", _intervals(content)),
        ("Software", f"truerank {__version__}"),
    ]
    return found


def _intervals(content: Content) -> str:
    if content.certain:
        return "none: the values are exact"
    whom = {"these-users": "these users", "population": "the population of users"}
    return f"{100 * content.confidence:g} %, for {whom[content.scope]}"


def as_text(facts: Sequence[tuple[str, str]]) -> str:
    """Aligned lines."""
    width = max(len(fact) for fact, _ in facts)
    return "\n".join(f"{fact + ':':<{width + 1}} {value}" for fact, value in facts)


def as_latex(facts: Sequence[tuple[str, str]]) -> str:
    """A table (booktabs)."""
    lines = [rf"{_latex(fact)} & {_latex(value)} \\" for fact, value in facts]
    head = [r"\begin{tabular}{lp{0.62\linewidth}}", r"\toprule"]
    return "\n".join([*head, *lines, r"\bottomrule", r"\end{tabular}"])


def citation() -> str:
    """How to cite truerank, as BibTeX."""
    return (
        "@software{truerank,\n"
        "  title   = {truerank: global recommender metrics from sampled ranks},\n"
        "  author  = {{The truerank developers}},\n"
        f"  version = {{{__version__}}},\n"
        "  year    = {2026}\n"
        "}"
    )


def _latex(text: str) -> str:
    return (
        "".join(_ESCAPES.get(letter, letter) for letter in text)
        .replace("–", "--")
        .replace("…", r"\ldots{}")
    )


def _facts(model: ModelContent) -> dict[str, str]:
    counts, card = model.counts, model.protocol or {}
    return {
        "Design": _design(card),
        "Users (M)": _users(counts, card),
        "Catalogue": _number(card.get("n_items")),
        "Pool a target is ranked in (N)": between(counts.n_items) + " items",
        "Sample, the target included (n)": _sizes(counts),
        "Drawn": " and ".join(
            dict.fromkeys(
                "with replacement" if scheme.replacement else "without replacement"
                for scheme in counts.schemes
            )
        ),
        "Training items left out of pools": _training(card),
        "Ties": str(card.get("ties", NOT_RECORDED)),
        "Seed": str(card.get("seed", NOT_RECORDED)),
        "Negatives": _negatives(counts, card),
    }


def _training(card: Mapping[str, Any]) -> str:
    kept = "no: kept in the ranking, each of them scored"
    if card.get("training_items_kept"):
        return kept
    return _yes(card.get("training_items_left_out"))


def _users(counts: RankCounts, card: Mapping[str, Any]) -> str:
    text = f"{counts.n_users:,.6g}" if counts.n_users % 1 else f"{counts.n_users:,.0f}"
    everyone = card.get("population_size")
    if everyone is not None and everyone > counts.n_users:
        text += f" of {everyone:,}" + (", stratified" if card.get("stratified") else "")
    if counts.n_dropped:
        text += f"; {dropped(counts.n_dropped)}"
    return text


def _sizes(counts: RankCounts) -> str:
    if counts.is_exact.all():
        return "the whole pool: exact ranks"
    if not counts.adaptive:
        return between(counts.sample_size)
    return " and ".join(_ladder(scheme) for scheme in counts.schemes if scheme.adaptive)


def _ladder(scheme: Scheme) -> str:
    """The sizes (the inner ones of many left out) and the hits that end the sampling."""
    sizes = [f"{size:,}" for size in scheme.ladder]
    if len(sizes) > _MOST_SIZES:
        sizes = [*sizes[: _MOST_SIZES - 1], "…", sizes[-1]]
    hits = sorted({*scheme.thresholds}) or [1]
    until = f"{hits[0]}" if len(hits) == 1 else f"{hits[0]} to {hits[-1]}"
    return f"adaptive, {', '.join(sizes)} (until {until} ranked above)"


def _design(card: Mapping[str, Any]) -> str:
    """As it was written: ``fixed(num_negatives=99)``."""
    design = card.get("design")
    if not isinstance(design, Mapping):
        return NOT_RECORDED
    options = {k: v for k, v in design.items() if k != "name" and v not in (None, False)}
    inside = ", ".join(f"{name}={_option(value)}" for name, value in options.items())
    return f"{design['name']}({inside})"


def _option(value: Any) -> str:
    return f"{value['name']}()" if isinstance(value, Mapping) and "name" in value else f"{value!r}"


def _negatives(counts: RankCounts, card: Mapping[str, Any]) -> str:
    if counts.is_exact.all():
        return "all items"
    design = card.get("design")
    if not isinstance(design, Mapping):
        return NOT_RECORDED
    if "sha256" in design:
        told = f"frozen in a file; sha256 {design['sha256']}"
        if card.get("dropped_targets"):
            told += f"; {card['dropped_targets']:,} that were their user's target dropped"
        if "effective_negatives" in card:
            told += f"; thinned to {card['effective_negatives']:.1f} uniform ones per target"
        return told
    if design.get("shared_by"):
        return f"shared by {design['shared_by']:,} users each, by seed"
    return "each user's own, by seed and user id"


def between(values: Any) -> str:
    """``3,706`` or ``1,400 to 3,690``."""
    low, high = int(values.min()), int(values.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _number(value: Any) -> str:
    return NOT_RECORDED if value is None else f"{value:,} items"


def _yes(value: Any) -> str:
    return NOT_RECORDED if value is None else "yes" if value else "no"
