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
from truerank.evaluation.auditing import Finding
from truerank.inference import columns, verdicts
from truerank.plot import PALETTE
from truerank.report import _card, _words
from truerank.report._content import Content, ModelContent

# The same hues, light enough for a dark page.
DARK = ("#56B4E9", "#F28E4B", "#2FC79F", "#E39CC4", "#F0B93A", "#A6D8F7", "#E8E8E8")
_DIGITS = 6  # significant
_SHOWN = 4  # after the point, in tables
LEVELS = {"settled": "Settled", "open": "Not decided", "unknown": "Too small a sample"}
SCRIPTS = ("data", "figures", "tables", "files", "page")  # in the order of their use


def engine() -> Any:
    """What fills the page in: jinja2, or an error that says what to install."""
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError(
            "reports need jinja2, which truerank[report] brings: pip install jinja2"
        ) from None
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
    card = _card.rows(content)
    names = dict.fromkeys(m.name if content.has_curve(m) else m.key for m in content.metrics)
    text: str = environment.get_template("templates/page.html").render(
        title=title,
        facts=_facts(content),
        verdict=_words.verdict(content),
        level=LEVELS[_words.verdict(content).level],
        names=names,
        grouped=_grouped(content),
        known=any(model.known for model in content.models),
        details=list(_words.details(content)),
        next_step=_words.next_step(content),
        content=content,
        percent=f"{100 * content.confidence:g} %",
        headings=[(column.name, _heading(column, content)) for column in _shown(content)],
        legend_line=verdicts.LEGEND,
        not_resolved=any(
            model.points[metric].resolvable is False
            for model in content.models
            for metric in content.across_cuts
        ),
        table=_table(content),
        mapped=[model for model in content.models if model.mapped],
        effort=[model for model in content.models if model.effort],
        findings=_findings(content),
        card=card,
        card_text=_card.as_text(card),
        card_latex=_card.as_latex(card),
        citation=_card.citation(),
        version=__version__,
        data=_json(_data(content)),
        css=_read("templates/page.css"),
        script="\n".join(_read(f"templates/{name}.js") for name in SCRIPTS),
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
                    "cells": [
                        (column.name, column.text(one, _SHOWN)) for column in _shown(content)
                    ],
                    "best": len(content.models) > 1 and one.value == best,
                    "known": "–" if model.known is None else f"{model.known[metric].value:.4f}",
                }
            )
    return rows


def _shown(content: Content) -> list[columns.Column]:
    """The columns of the table of metrics: of exact values neither a naive twin nor an interval."""
    hidden = {"naive"} if content.exact else set()
    hidden |= {"low"} if content.certain else set()
    return [column for column in columns.SHOWN if column.name not in hidden]


def _findings(content: Content) -> list[tuple[str, Finding]]:
    """Findings, each once, with the models that it is about."""
    whose: dict[Finding, list[str]] = {}
    for model, finding in content.findings:
        whose.setdefault(finding, []).append(model)
    everyone = len(content.models)
    return [
        ("All models" if len(names) == everyone > 1 else verdicts.listed(names), finding)
        for finding, names in whose.items()
    ]


def _grouped(content: Content) -> list[str]:
    """The metrics that the table has a group for: the first of each name that has a curve."""
    first: dict[str, str] = {}
    for metric in content.metrics:
        first.setdefault(metric.name if content.has_curve(metric) else metric.key, metric.key)
    return list(first.values())


def _comparison(content: Content, key: str) -> dict[str, Any]:
    """Models from best to worst, their differences to the best, and all win probabilities."""
    found = content.comparisons[key]
    order = [one.model for one in found.ranking]
    places = {model.name: at for at, model in enumerate(content.models)}
    to_best = [found[order[0], name] if name != order[0] else None for name in order]
    return {
        "order": [places[name] for name in order],
        "ranks": [[one.best_place, one.worst_place] for one in found.ranking],
        "best": [_number(one.best_probability) for one in found.ranking],
        "behind": [
            None if one is None else [_number(-one.value), _number(-one.high), _number(-one.low)]
            for one in to_best
        ],
        "wins": [
            [None if a == b else _number(float(found[a, b].win_probability)) for b in order]
            for a in order
        ],
    }


def _cost_curves(content: Content) -> dict[str, Any]:
    return {
        design: {name: _round(part) for name, part in vars(curve).items()}
        for design, curve in content.cost_curves.items()
    }


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
                "curve": content.has_curve(m),
                "lower": m.lower_is_better,
            }
            for m in content.metrics
        ],
        "curves": list(content.models[0].curves),
        "columns": [
            {
                "name": column.name,
                "heading": _heading(column, content) if column in _shown(content) else "",
            }
            for column in columns.COLUMNS
        ],
        "cuts": list(content.cuts),
        "verdicts": {
            one.key: vars(_words.verdict(content, one.key)) for one in content.across_cuts
        },
        "comparisons": {key: _comparison(content, key) for key in content.comparisons},
        "certain": content.certain,
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
    if content.exact and column.name == "value":
        return "Exact value"
    return column.heading.capitalize()


def _of_model(model: ModelContent, keys: set[str]) -> dict[str, Any]:
    ranks = model.curves.ranks
    return {
        "name": visible(model.name),
        "known": _known(model),
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


def _known(model: ModelContent) -> dict[str, Any] | None:
    """Exact values that are known of a model, at every K and of the metrics asked for."""
    if model.known is None:
        return None
    return {
        "curves": {
            name: _round(model.known[f"{name}@{k}"].value for k in curve.k.tolist())
            for name, curve in model.curves.items()
        },
        "points": {one.metric: _number(one.value) for one in model.known.values()},
    }


def _frontier(content: Content) -> dict[str, Any] | None:
    if content.frontier is None:
        return None
    pairs, error = content.here
    return {
        "metric": content.frontier.metric,
        "model": visible(content.leader.name),
        "curves": _cost_curves(content),
        "points": [
            {k: _number(v) for k, v in vars(point).items()} for point in content.frontier.points
        ],
        "here": {"pairs": _number(pairs), "error": _number(error)},
    }


def _round(values: Iterable[float] | None) -> list[Any] | None:
    return None if values is None else [_number(float(value)) for value in values]


def _number(value: Any) -> Any:
    """Rounded; None for what JSON cannot say."""
    if isinstance(value, bool) or not isinstance(value, float):
        return value
    return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
