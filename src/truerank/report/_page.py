"""From content to one HTML file: numbers as JSON, text and tables by jinja2, figures by plotly."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from importlib import resources
from typing import Any

from truerank._version import __version__
from truerank._visible import visible
from truerank.errors import MissingExtraError
from truerank.inference import columns, verdicts
from truerank.plot import PALETTE
from truerank.report import _card, _words
from truerank.report._content import Content, ModelContent

# The same hues, light enough for a dark page.
DARK = ("#56B4E9", "#F28E4B", "#2FC79F", "#E39CC4", "#F0B93A", "#A6D8F7", "#E8E8E8")
_DIGITS = 6  # significant
_SHOWN = 4  # after the point, in tables


def engine() -> Any:
    """What fills the page in: jinja2, or an error that says what to install."""
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("reports need jinja2: pip install jinja2") from None
    return jinja2


def page(content: Content, *, title: str) -> str:
    """The whole file."""
    jinja2 = engine()
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=_visible_text,
    )
    environment.filters["chance"] = _words.chance
    card = _card.rows(content)
    text: str = environment.get_template("templates/page.html").render(
        title=title,
        facts=_facts(content),
        verdict=_words.verdict(content),
        details=list(_words.details(content)),
        next_step=_words.next_step(content),
        content=content,
        percent=f"{100 * content.confidence:g} %",
        headings=[(column.name, _heading(column, content)) for column in columns.SHOWN],
        legend_line=verdicts.LEGEND,
        table=_table(content),
        matrices=[_matrix(one) for one in content.comparisons],
        mapped=[model for model in content.models if model.mapped],
        effort=[model for model in content.models if model.effort],
        card=card,
        card_text=_card.as_text(card),
        card_latex=_card.as_latex(card),
        version=__version__,
        data=_json(_data(content)),
        css=_read("templates/page.css"),
        script=_read("templates/page.js"),
        plotly=_read("vendor/plotly-basic.min.js"),
    )
    return text


def _visible_text(value: Any) -> Any:
    """What a template fills in: texts without control characters, the page's own parts as is."""
    own = not isinstance(value, str) or hasattr(value, "__html__")
    return value if own else visible(value)


def _read(name: str) -> str:
    found: Any = resources.files("truerank.report")
    for part in name.split("/"):
        found = found / part
    return str(found.read_text(encoding="utf-8"))


def _json(data: Any) -> str:
    """JSON that may stand inside a script element."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _facts(content: Content) -> str:
    """Models, users, pools and cost in a line."""
    counts = [model.counts for model in content.models]
    users = dict.fromkeys(f"{one.n_users:,.0f}" for one in counts)
    pools = dict.fromkeys(_card.between(one.n_items) for one in counts)
    costs = sorted({round(one.pairs_per_user) for one in counts})
    pairs = f"{costs[0]:,}" if len(costs) == 1 else f"{costs[0]:,} to {costs[-1]:,}"
    return " · ".join(
        [
            f"{len(counts)} models" if len(counts) > 1 else content.models[0].name,
            f"{' or '.join(users)} users",
            f"pools of {' or '.join(pools)} items",
            f"{pairs} scored pairs per user",
        ]
    )


def _table(content: Content) -> list[dict[str, Any]]:
    """Rows of the table of metrics, as it stands before any K is chosen."""
    rows = []
    for metric in content.metrics:
        way = -1.0 if metric.lower_is_better else 1.0
        best_first = sorted(content.models, key=lambda model: -way * model.points[metric].value)
        best = best_first[0].points[metric].value
        for model in best_first:
            one = model.points[metric]
            rows.append(
                {
                    "metric": metric.key,
                    "model": model.name,
                    "cells": [(column.name, column.text(one, _SHOWN)) for column in columns.SHOWN],
                    "best": len(content.models) > 1 and one.value == best,
                }
            )
    return rows


def _matrix(comparison: Any) -> dict[str, Any]:
    """Win probabilities, row against column, and the standing of each model."""
    names = [one.model for one in comparison.ranking]
    chance = [
        [None if row == column else _chance(comparison, row, column) for column in names]
        for row in names
    ]
    return {
        "metric": comparison.metric,
        "ranking": comparison.ranking,
        "names": names,
        "rows": list(zip(names, chance, strict=True)),
    }


def _chance(comparison: Any, model: str, other: str) -> float:
    return float(comparison[model, other].win_probability)


def _data(content: Content) -> dict[str, Any]:
    """What the figures and the table of metrics are drawn from."""
    keys = {metric.key for metric in content.metrics}
    return {
        "models": [_of_model(model, keys) for model in content.models],
        "metrics": [
            {
                "key": m.key,
                "name": m.name,
                "k": m.k,
                "curve": _has_curve(content, m),
                "lower": m.lower_is_better,
            }
            for m in content.metrics
        ],
        "curves": list(content.models[0].curves),
        "columns": [
            {"name": column.name, "heading": _heading(column, content)}
            for column in columns.COLUMNS
        ],
        "mark": verdicts.MARK,
        "not_resolved": verdicts.NOT_RESOLVED,
        "confidence": content.confidence,
        "frontier": _frontier(content),
        "palette": {"light": PALETTE, "dark": DARK},
    }


def _heading(column: columns.Column, content: Content) -> str:
    """What the table of metrics calls a column; empty if it does not show it."""
    if column.heading == "interval":
        return f"{100 * content.confidence:g} % interval"
    return column.heading.capitalize()


def _has_curve(content: Content, metric: Any) -> bool:
    curve = content.models[0].curves.by_name.get(metric.name)
    return curve is not None and metric.k is not None and bool(metric.k <= curve.k[-1])


def _of_model(model: ModelContent, keys: set[str]) -> dict[str, Any]:
    ranks = model.curves.ranks
    return {
        "name": visible(model.name),
        "curves": {
            name: {
                "k": curve.k.tolist(),
                "value": _round(curve.value),
                "naive": _round(curve.naive),
                "low": _round(curve.low),
                "high": _round(curve.high),
                "resolved": [] if curve.resolvable is None else curve.resolvable.tolist(),
            }
            for name, curve in model.curves.items()
        },
        "points": {
            one.metric: {c.name: _number(c.value(one)) for c in columns.COLUMNS}
            for one in model.points.values()
            if one.metric in keys
        },
        "ranks": None
        if ranks is None
        else {
            "upto": ranks.upto.tolist(),
            "from": (ranks.above + 1).tolist(),
            "middle": _round(ranks.middle),
            "cdf": [_round(part) for part in (ranks.cdf, ranks.cdf_low, ranks.cdf_high)],
            "pmf": [
                _round(ranks.density(part))
                for part in (ranks.mass, ranks.mass_low, ranks.mass_high)
            ],
        },
        "mapped": [
            {
                "mapping": one.mapping,
                "size": one.sample_size,
                "k": one.k.tolist(),
                "f": _round(one.global_k),
                "recall": _round(one.recall),
            }
            for one in model.mapped
        ],
        "effort": [
            {name: _number(value) for name, value in vars(one).items()} for one in model.effort
        ],
    }


def _frontier(content: Content) -> dict[str, Any] | None:
    if content.frontier is None:
        return None
    leader, ahead = content.leader, content.frontier
    one = leader.points[ahead.metric]
    assert one.total_error is not None
    return {
        "metric": ahead.metric,
        "model": visible(leader.name),
        "points": [{k: _number(v) for k, v in vars(point).items()} for point in ahead.points],
        "here": {
            "pairs": _number(leader.counts.pairs_per_user),
            "error": _number(one.total_error / one.value),
        },
    }


def _round(values: Iterable[float] | None) -> list[Any] | None:
    return None if values is None else [_number(float(value)) for value in values]


def _number(value: Any) -> Any:
    """Rounded; None for what JSON cannot say."""
    if isinstance(value, bool) or not isinstance(value, float):
        return value
    return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
