"""The error rates of the gate of ``truerank compare``, by simulation.

    python -m benchmarks.gate --write docs/gate.md

Users of an endless population have a rank by the old model and one by the new, which puts some
targets lower or higher. How often does the gate close for a known true difference? It takes about
three minutes of one core.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import truerank as tr
from benchmarks._data import power_law
from truerank.inference.comparing.gate import Gate

N_ITEMS, N_USERS, METRIC, MARGIN = 2000, 2000, "ndcg@10", 0.01
LOSSES = (0.0, 0.5, 1.0, 1.5, 2.0)  # true losses, in margins
MANY = 400_000  # users that stand for the population


def two_models(share: float, n_users: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Global ranks by the old and the new model; ``share`` of users lose their place by the new.

    Both have noise of their own: a tenth of the users changes places either way.
    """
    old = power_law(N_ITEMS, n_users, rng)
    new = np.where(rng.random(n_users) < 0.1, rng.permutation(old), old)
    lost = rng.random(n_users) < share
    return old, np.where(lost, rng.integers(1, N_ITEMS + 1, n_users), new)


def ndcg(rank: Any) -> float:
    """The metric of exact ranks, in plain numpy."""
    return float(np.where(rank <= 10, 1.0 / np.log2(rank + 1.0), 0.0).mean())


def share_of(loss: float) -> float:
    """The share of users that lose their place, for a true loss of the metric."""
    if loss == 0.0:
        return 0.0
    old, new = two_models(1.0, MANY, np.random.default_rng(0))
    return loss / (ndcg(old) - ndcg(new))


def judged(share: float, negatives: int | None, rng: np.random.Generator) -> Gate:
    """One pull request: both models ranked for the same users, exactly or among negatives."""
    size = N_ITEMS if negatives is None else negatives + 1
    tables = {}
    for name, rank in zip(("old", "new"), two_models(share, N_USERS, rng), strict=True):
        drawn = rank
        if negatives is not None:
            drawn = 1 + rng.hypergeometric(rank - 1, N_ITEMS - rank, negatives)
        tables[name] = pa.table({"user_id": np.arange(N_USERS), "rank": drawn})
    found = tr.compare(
        tables, METRIC, scope="population", n_items=N_ITEMS, sample_size=size, replacement=False
    )
    return Gate.of(found, "new", "old", margin=MARGIN)


def row(loss: float, repeats: dict[int | None, int], seed: int) -> str:
    """How often the gate closes, and how often it says that all is well."""
    share = share_of(loss * MARGIN)
    cells = [f"{loss * MARGIN:.3f}"]
    for negatives, n_repeats in repeats.items():
        states = [
            judged(share, negatives, np.random.default_rng([seed, at])).state
            for at in range(n_repeats)
        ]
        closed, well = (100 * states.count(state) / n_repeats for state in ("worse", "as good"))
        cells += [f"{closed:.1f} %", f"{well:.1f} %"]
    return f"| {' | '.join(cells)} |"


PAGE = """# Error rates of the gate

Written by `python -m benchmarks.gate --write docs/gate.md`; do not edit by hand. How to use the
gate: [pull requests](how-to/pull-requests.md).

Simulated pull requests: {users:,} users, {items:,} items, both models ranked for the same users,
a margin of {margin:g} in {metric}, intervals of 95 % for the population. A tenth of the users
changes places for no reason; others lose their place by the new model, as many as the true loss
takes. Ranks are exact ({exact} requests per row) or among 99 negatives of each model's own
({sampled} requests per row).

| true loss | exact: closed | exact: as good | 99 negatives: closed | 99 negatives: as good |
| --- | --- | --- | --- | --- |
{rows}

*Closed* at a true loss of up to {margin:g} is a false alarm: at exactly {margin:g} it should
happen in 2.5 % of the requests at most, one side of a 95 % interval. *As good* at a loss of
{margin:g} or more is a promise that does not hold, with the same bound. Between the two the gate
is open and says that the question is not settled.
"""


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--exact", type=int, default=200)
    parser.add_argument("--sampled", type=int, default=40)
    parser.add_argument("--cache", type=Path, help="a JSON file that keeps finished rows")
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    repeats = {None: asked.exact, 99: asked.sampled}
    known: dict[str, str] = {}
    if asked.cache is not None and asked.cache.is_file():
        known = json.loads(asked.cache.read_text(encoding="utf-8"))
    rows = []
    for seed, loss in enumerate(LOSSES):
        key = f"{loss}, {asked.exact} exact, {asked.sampled} sampled"
        if key not in known:
            known[key] = row(loss, repeats, seed)
            if asked.cache is not None:
                asked.cache.write_text(json.dumps(known), encoding="utf-8")
        rows.append(known[key])
        print(rows[-1], flush=True)
    text = PAGE.format(
        users=N_USERS, items=N_ITEMS, margin=MARGIN, metric=METRIC, exact=asked.exact,
        sampled=asked.sampled, rows="\n".join(rows),
    )  # fmt: skip
    if asked.write is not None:
        asked.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
