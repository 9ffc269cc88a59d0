"""The metrics of other libraries, by their own evaluation, against those of exact ranks.

One target a user, no ties, training items left out: there all definitions agree. These are the
calls that ``benchmarks/peers`` times.
"""

import warnings

import numpy as np
import pytest
from benchmarks.peers import PEERS, apart, ours
from benchmarks.peers._problem import METRICS, make
from libraries import library

from truerank.evaluation import rank
from truerank.scoring import Factors

pytestmark = pytest.mark.filterwarnings("ignore")  # of the libraries
EXACT = [peer for peer in PEERS if peer.exact]
SAMPLED = [peer for peer in PEERS if not peer.exact]


def prepared(peer, problem):
    library(peer.library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return peer.prepare(problem)


@pytest.fixture(scope="module")
def problem():
    return make(300, 120, 20, seed=1, best_of=8)


def test_the_problem_tells_ranks_apart(problem):
    scorer = Factors(problem.user_factors, problem.item_factors)
    last, first = (
        rank(scorer, problem.test, train=problem.train, ties=ties)["rank"].to_numpy()
        for ties in ("pessimistic", "optimistic")
    )
    assert set(range(1, 15)) <= set(last.tolist())
    assert (last == first).all()
    known = problem.matrix(problem.train)
    assert known.has_canonical_format
    assert not known[problem.test].any()
    assert (np.diff(known.tocsc().indptr) > 0).all()
    top = last <= 10
    expected = [np.mean(top * gain) for gain in (1.0, 1 / np.log2(last + 1), 1 / last)]
    assert list(ours(problem)().values()) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("peer", EXACT, ids=lambda peer: peer.name)
def test_metrics_are_those_of_the_library(peer, problem):
    mine = ours(problem)()
    assert min(mine.values()) > 0.05
    for evaluate in prepared(peer, problem).values():
        theirs = evaluate()
        assert set(theirs) == set(METRICS)
        assert apart(mine, theirs) < 1e-9
        assert evaluate() == theirs  # and so the time is that of the whole work


@pytest.mark.parametrize("peer", SAMPLED, ids=lambda peer: peer.name)
def test_sampled_metrics_of_a_library_are_not_the_exact_ones(peer, problem):
    """They count among 99 drawn items: with 100 candidates or so, most of them twice or never."""
    mine = ours(problem)()
    for evaluate in prepared(peer, problem).values():
        assert all(theirs > mine[metric] for metric, theirs in evaluate().items())
