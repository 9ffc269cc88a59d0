"""The report in sentences: the verdict, what is not resolved, what to do next."""

from __future__ import annotations

from collections.abc import Iterator

from truerank.inference.verdicts import ERROR, percent
from truerank.report._content import Content


def verdict(content: Content) -> str:
    """The answer, in up to three sentences."""
    if content.comparisons:
        return content.comparisons[0].verdict
    (model,) = content.models
    one = model.points[content.metrics[0]]
    said = (
        f"{one.metric} of {model.name} on the whole catalogue is {one.value:.4f} "
        f"({percent(content.confidence)} interval {one.low:.4f} to {one.high:.4f})."
    )
    if model.counts.is_exact.all():
        return said
    return f"{said} The sampled ranks as they are would say {one.naive:.4f}."


def details(content: Content) -> Iterator[str]:
    """What belongs beside the verdict: probabilities, what is not resolved, how it was compared."""
    if content.comparisons:
        first, *others = content.comparisons
        best = first.ranking[0]
        yield (
            f"{best.model} is the best of {len(first.ranking)} with a probability of "
            f"{chance(best.best_probability)}."
        )
        for other in others:
            if other.best != first.best:
                yield other.verdict
    for model in content.models:
        asked = model.points.with_intervals_of(content.metrics)
        test = asked.fit_test
        misfit = None if test is None or test.fits else test.verdict
        for said in (misfit, asked.verdict()):
            if said is not None:
                yield f"{model.name}: {said}" if len(content.models) > 1 else said
    yield from _known_from(content)
    if content.comparisons:
        yield content.comparisons[0].how


def _known_from(content: Content) -> Iterator[str]:
    """From which K on the samples know the metric within 5 %."""
    name = content.metrics[0].name
    cuts = {}
    for model in content.models:
        if name in model.curves and not model.counts.is_exact.all():
            cuts[model.name] = model.curves[name].resolved_from(ERROR)
    if not cuts:
        return
    largest = int(content.models[0].curves[name].k[-1])
    told = ", ".join(
        f"{model} from K = {cut}" if cut is not None else f"{model} at no K up to {largest}"
        for model, cut in cuts.items()
    )
    yield f"{name}@K is known with a relative error of {percent(ERROR)} for {told}."


def next_step(content: Content) -> str | None:
    """What a larger sample would buy, read off the frontier."""
    if content.frontier is None:
        return None
    leader, ahead = content.leader, content.frontier
    one = leader.points[ahead.metric]
    assert one.total_error is not None
    error, pairs = one.total_error / one.value, leader.counts.pairs_per_user
    goal = ERROR if error > 1.2 * ERROR else error / 2.0
    here = (
        f"This run knows {ahead.metric} of {leader.name} with a relative error of "
        f"{percent(error)}, from {pairs:,.0f} scored pairs per user."
    )
    more = ahead.pairs_for(goal)
    if more is None:
        return f"{here} No sample of those simulated reaches {percent(goal)}: plan with tr.plan."
    text = f"{here} For {percent(goal)}, sample adaptively with a budget of about "
    text += f"{_rounded(more):,} pairs per user"
    fixed = ahead.pairs_for(goal, "fixed")
    if fixed is not None:
        text += f", or draw a fixed sample of {_rounded(fixed):,} for every user"
    return f"{text}."


def _rounded(pairs: float) -> int:
    """To two digits: it is a prediction."""
    step = int(10 ** max(len(f"{pairs:.0f}") - 2, 0))
    return max(step, round(pairs / step) * step)


def chance(probability: float) -> str:
    """In percent; no simulation makes it 0 or 100."""
    if probability > 0.9995:
        return "> 99.9 %"
    return "< 0.1 %" if probability < 0.0005 else f"{100 * probability:.1f} %"
