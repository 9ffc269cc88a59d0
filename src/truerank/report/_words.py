"""The report in sentences: the verdict, what is not resolved, what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from truerank.inference.verdicts import ERROR, Verdict, caution, larger, percent, remarks, whom
from truerank.report._content import Content

# What to do where there is nothing to do, by whether the ranks are exact.
_ENOUGH = {
    False: "This sample is large enough for the question: report the corrected values.",
    True: "Nothing was sampled: report the values as they are.",
}

MOST_TOLD = 3  # groups of models in a sentence


def verdict(content: Content, metric: str | None = None) -> Verdict:
    """The answer in its three parts, on the first metric unless another one is named."""
    key = metric or content.metrics[0].key
    if content.comparisons:
        found = content.comparisons[key].parts
        return found if found.action else replace(found, action=_ENOUGH[content.exact])
    (model,) = content.models
    one = model.points[key]
    said = f"{one.metric} of {model.name} on the whole catalogue is {one.value:.4f}"
    if content.certain:
        return Verdict("settled", f"{said}, exactly: every item was ranked.", "", "")
    said += f" ({percent(content.confidence)} interval {one.low:.4f} to {one.high:.4f})."
    if content.exact:
        return Verdict("settled", said, "", _ENOUGH[True])
    usual = f"The sampled ranks as they are would say {one.naive:.4f}."
    if not one.resolvable:
        return Verdict("unknown", said, usual, caution(adaptive=model.counts.adaptive))
    error = (one.total_error or 0.0) / abs(one.value or 1.0)
    if error > ERROR:
        more = f"The relative error is about {about(error)}. For less, use "
        more += f"{larger(adaptive=model.counts.adaptive)}."
        return Verdict("open", said, usual, more)
    return Verdict("settled", said, usual, _ENOUGH[False])


def details(content: Content) -> Iterator[str]:
    """What belongs beside the verdict: other metrics, what is not resolved, how it was compared."""
    if content.comparisons:
        first, *others = (content.comparisons[metric.key] for metric in content.metrics)
        for other in others:
            if other.best != first.best:
                yield other.verdict
    yield from remarks({model.name: model.asked(content.metrics) for model in content.models})
    yield from _known_from(content)
    if content.comparisons:
        yield first.how


def _known_from(content: Content) -> Iterator[str]:
    """From which K on the samples know the metric within 5 %."""
    name = content.metrics[0].name
    cuts: dict[int | None, list[str]] = {}
    for model in content.models:
        if name in model.curves and not model.counts.is_exact.all():
            cuts.setdefault(model.curves[name].resolved_from(ERROR), []).append(model.name)
    if not cuts:
        return
    largest = int(content.models[0].curves[name].k[-1])
    told = []
    for cut, models in sorted(cuts.items(), key=lambda one: one[0] or largest + 1):
        n_all = len(content.models)
        these = "every model" if len(models) == n_all > 1 else whom(models, n_all)
        told.append(
            f"from K = {cut} on for {these}" if cut else f"at no K to {largest} for {these}"
        )
    if len(told) > MOST_TOLD and None not in cuts:
        first, *_, last = sorted(cut for cut in cuts if cut)
        told = [f"from K = {first} on for some models, from K = {last} on for all"]
    yield f"{name}@K is known within {percent(ERROR)} {'; '.join(told)}."


def next_step(content: Content) -> str | None:
    """What a larger sample would buy, read off the curves of cost and error."""
    if content.frontier is None:
        return None
    leader, metric = content.leader, content.frontier.metric
    pairs, error = content.here
    goal = ERROR if error > 1.2 * ERROR else error / 2.0
    here = (
        f"This run knows {metric} of {leader.name} within about {about(error)}, from {pairs:,.0f} "
        "scored pairs per user."
    )
    curves = content.cost_curves
    more = curves["adaptive"].pairs_for(goal) if "adaptive" in curves else None
    if more is None:
        return f"{here} No sample of those simulated reaches {about(goal)}: plan with tr.plan."
    text = f"{here} For {about(goal)}, sample adaptively with a budget of about "
    text += f"{_rounded(more):,} pairs per user"
    fixed = curves["fixed"].pairs_for(goal) if "fixed" in curves else None
    if fixed is not None:
        text += f", or draw a fixed sample of {_rounded(fixed):,} for every user"
    return f"{text}."


def about(error: float) -> str:
    """A relative error in percent, to two digits: it is a prediction."""
    return f"{100 * error:.2g} %"


def _rounded(pairs: float) -> int:
    """To two digits: it is a prediction."""
    step = int(10 ** max(len(f"{pairs:.0f}") - 2, 0))
    return max(step, round(pairs / step) * step)
