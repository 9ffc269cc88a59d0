"""The report in sentences: the verdict, what is not resolved, what to do next."""

from __future__ import annotations

from collections.abc import Iterator

from truerank.report._content import Content

RESOLVED = 0.05  # relative error of a value that the report calls known


def verdict(content: Content) -> str:
    """The answer, in a sentence or two."""
    if content.comparisons:
        return content.comparisons[0].verdict
    (model,) = content.models
    one = model.points[content.metrics[0]]
    return (
        f"{one.metric} of {model.name} on the whole catalogue is {one.value:.4f} "
        f"[{one.low:.4f}, {one.high:.4f}]."
    )


def details(content: Content) -> Iterator[str]:
    """What belongs beside the verdict: the uncorrected order, chances, what is not resolved."""
    metric = content.metrics[0].key
    points = {model.name: model.points[metric] for model in content.models}
    sampled = not all(model.counts.is_exact.all() for model in content.models)
    if content.comparisons:
        first = content.comparisons[0]
        best = first.ranking[0]
        yield (
            f"{best.model} is the best of {len(first.ranking)} with a probability of "
            f"{chance(best.best_probability)}."
        )
        naive = max(points, key=lambda name: points[name].naive)
        if sampled and naive != best.model:
            yield (
                f"The samples as they are would have put {naive} first: {metric} "
                f"{points[naive].naive:.4f} against {points[best.model].naive:.4f} "
                f"for {best.model}."
            )
        for other in content.comparisons[1:]:
            if other.best != first.best:
                yield other.verdict
    elif sampled:
        ((name, one),) = points.items()
        yield f"The samples as they are say {one.naive:.4f} for {name}."
    unresolved = [
        f"{one.metric} of {model.name}"
        for model in content.models
        for one in (model.points[wanted] for wanted in content.metrics)
        if one.resolvable is False
    ]
    if unresolved:
        yield (
            f"Not resolved: {', '.join(unresolved)}. More of the error comes from what the "
            "estimator assumes than from what was seen."
        )
    yield from _known_from(content)
    if content.comparisons:
        yield content.comparisons[0].how


def _known_from(content: Content) -> Iterator[str]:
    """From which K on the samples know the metric to 5 %."""
    name = content.metrics[0].name
    cuts = {}
    for model in content.models:
        if name in model.curves and not model.counts.is_exact.all():
            cuts[model.name] = model.curves[name].resolved_from(RESOLVED)
    if not cuts:
        return
    largest = int(content.models[0].curves[name].k[-1])
    told = ", ".join(
        f"{model} K = {cut}" if cut is not None else f"{model} no K up to {largest}"
        for model, cut in cuts.items()
    )
    yield f"{name}@K is known to {_percent(RESOLVED)} (root mean squared error) from: {told}."


def next_step(content: Content) -> str | None:
    """What a larger sample would buy, read off the frontier."""
    if content.frontier is None:
        return None
    leader, ahead = content.leader, content.frontier
    one = leader.points[ahead.metric]
    assert one.total_error is not None
    error, pairs = one.total_error / one.value, leader.counts.pairs_per_user
    goal = RESOLVED if error > 1.2 * RESOLVED else error / 2.0
    here = f"This run knows {ahead.metric} of {leader.name} to {_percent(error)} with {pairs:,.0f} "
    here += "scored negatives a user."
    more = ahead.pairs_for(goal)
    if more is None:
        return f"{here} No sample of those simulated reaches {_percent(goal)}: plan with tr.plan."
    text = f"{here} To know it to {_percent(goal)}, sample adaptively with a budget of about "
    text += f"{_rounded(more):,} a user"
    fixed = ahead.pairs_for(goal, "fixed")
    if fixed is not None:
        text += f", or draw {_rounded(fixed):,} for every user"
    return f"{text}."


def _rounded(pairs: float) -> int:
    """To two digits: it is a prediction."""
    step = int(10 ** max(len(f"{pairs:.0f}") - 2, 0))
    return max(step, round(pairs / step) * step)


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def chance(probability: float) -> str:
    """In percent; no simulation makes it 0 or 100."""
    if probability > 0.9995:
        return "> 99.9 %"
    return "< 0.1 %" if probability < 0.0005 else f"{100 * probability:.1f} %"
