"""Learn how far real evaluations stray from a smooth law.

``python -m benchmarks.misfit`` prints the coefficients to put into
`truerank.inference.intervals.misfit`, learnt from the redraws of `calibrate` on all datasets, and
those learnt without each one, with which docs/calibration.md judges it. ``--lumps`` prints how
lumpy the exact ranks of each case are: the standard deviation of log P(R) about the smooth law that
fits them, as the evidence has it.

Errors, in logits, are taken to follow a normal law in two pieces: to either side of the estimate
the spread is what the posterior says with its lumps, and `TOWARDS` times the distance to mle where
that lies on this side; below it the misfit comes on top. The coefficients maximise that likelihood,
every cell (dataset, model, design, users, metric) counting alike.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from benchmarks import calibrate, cases
from truerank import RankCounts, metrics
from truerank.estimators import Smooth
from truerank.estimators._lumps import lumps
from truerank.inference.intervals.misfit import Features, Misfit, mean_variance, sides

MIN_HITS = 10  # users with their target in the top K, in the mean, below which a cell is left out
_CAP = 8.0  # standard deviations, beyond which an error counts no more
# Coefficients are drawn there, so that a misfit that is not needed does not vanish altogether.
_CENTRE = np.array([-3.5, 0.0, 0.0, 0.0, 0.0])
_RIDGE = 2e-3

FloatArray = NDArray[np.float64]


@lru_cache(maxsize=16)
def learn(redraws: int, without: str | None = None) -> Misfit:
    """The coefficients that all datasets but one speak for."""
    from scipy.optimize import minimize

    told, low, high, error, weight = _errors(redraws, [d for d in cases.DATASETS if d != without])
    below = error < 0.0

    def loss(coefficients: FloatArray) -> tuple[float, FloatArray]:
        misfit = np.exp(np.clip(told @ coefficients, -8.0, 2.0))
        lower = np.hypot(low, misfit)
        off = error / np.where(below, lower, high)
        free = np.abs(off) < _CAP
        value = np.log(lower + high) + 0.5 * np.minimum(off**2, _CAP**2)
        slope = 1.0 / (lower + high) - np.where(below & free, error**2 / lower**3, 0.0)
        gradient = told.T @ (weight * slope * misfit**2 / lower)
        shrunk = coefficients - _CENTRE
        return (
            float(weight @ value + _RIDGE * shrunk @ shrunk),
            gradient + 2.0 * _RIDGE * shrunk,
        )

    found = minimize(loss, _CENTRE, jac=True, method="BFGS", options={"maxiter": 500})
    return Misfit(*(round(float(one), 3) for one in found.x))


def _errors(redraws: int, datasets: Sequence[str]) -> tuple[FloatArray, ...]:
    """Features (n, 5); spreads to both sides and error, in logits, and weights, (n,)."""
    parts = []
    for (case, _, _), found in calibrate.kept(redraws).items():
        if not any(case.startswith(f"{dataset}-") for dataset in datasets):
            continue
        row = dict(zip(calibrate.ROWS, found.transpose(1, 0, 2), strict=True))
        slope = 1.0 / np.maximum(row["value"] * (1.0 - row["value"]), 1e-12)
        known = row["negatives"] ** 2 + row["ranks"] ** 2 + row["law"] ** 2
        spread = np.sqrt(known + variance_of_lumps(row)) * slope
        error = _logit(row["truth"]) - _logit(row["value"])
        told = np.stack([row[name] for name in calibrate.TOLD], axis=-1)
        unknown = np.sqrt(known) * slope > 1e-5
        inside = (row["hits"] >= MIN_HITS) & unknown & (row["truth"] > 0.0)
        weight = inside / np.maximum(inside.sum(axis=0), 1)
        nothing = np.zeros_like(spread)
        sided = (np.hypot(spread, side) for side in sides(nothing, Features(told, row["apart"])))
        parts.append([one[inside] for one in (told, *sided, error, weight)])
    told, low, high, error, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
    return told, low, high, error, weight / weight.sum()


def variance_of_lumps(row: dict[str, FloatArray]) -> FloatArray:
    """What lumps add to the variance of each metric, shape (n_redraws, n_metrics)."""
    of_lumps, evidence = (
        np.stack([row[name].ravel() for name in names])
        for names in (calibrate.OF_LUMPS, calibrate.EVIDENCE)
    )
    return mean_variance(of_lumps, evidence).reshape(row["value"].shape)


def lump_size(name: str) -> tuple[float, float]:
    """The likeliest size of lumps in the exact ranks of a case, and the evidence for any."""
    case = cases.load(name)
    exact = RankCounts.from_exact_ranks(case.rank, n_items=int(case.n_items.max()))
    tried = metrics.parse(calibrate.METRICS)
    fit = Smooth().fit(exact, metrics=tried, support="auto", plug_in="plain")
    assert fit.posterior is not None
    sizes = np.geomspace(0.03, 1.2, 25)
    found = lumps(fit.posterior, tried, sizes.tolist()).log_evidence
    return float(sizes[found.argmax()]), float(found.max())


def _logit(share: FloatArray) -> FloatArray:
    inside = np.clip(share, 1e-9, 1.0 - 1e-9)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def main() -> None:
    """Print the coefficients."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.misfit", description=__doc__)
    parser.add_argument("--redraws", type=int, default=calibrate.REDRAWS)
    parser.add_argument("--lumps", action="store_true", help="print how lumpy exact ranks are")
    options = parser.parse_args()
    if options.lumps:
        for name in cases.names():
            size, evidence = lump_size(name)
            print(f"{name:28} lumps of {size:.2f}, log evidence {evidence:.1f}")
        return
    print("all datasets:", learn(options.redraws))
    for dataset in cases.DATASETS:
        print(f"without {dataset}:", learn(options.redraws, dataset))


if __name__ == "__main__":
    main()
