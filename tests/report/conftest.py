"""A small real run: three models evaluated adaptively, and the page made of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import truerank as tr

pytest.importorskip("jinja2")


@pytest.fixture(scope="session")
def results() -> dict[str, tr.Evaluation]:
    rng = np.random.default_rng(0)
    taste, items = rng.standard_normal((500, 8)), rng.standard_normal((700, 8))
    liked = np.argsort(-(taste @ items.T + 2.5 * rng.gumbel(size=(500, 700))), axis=1)
    train = np.repeat(np.arange(500), 9), liked[:, 1:10].ravel()
    test = np.arange(500), liked[:, 0]
    found = {}
    for name, noise in {"sharp": 0.3, "blurred & <b>": 0.6, "lost": 2.0}.items():
        off = noise * rng.standard_normal(items.shape)
        scorer = tr.scoring.Factors(taste.astype(np.float32), (items + off).astype(np.float32))
        design = tr.designs.Adaptive(budget=46)
        found[name] = tr.evaluate(scorer, test, design, train=train, seed=3)
    return found


@pytest.fixture(scope="session")
def page(results, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    tr.report.write(results, path, title="A run")
    return path
