"""The torchmetrics metric; `make integration-torchmetrics` has it."""

import pickle

import numpy as np
import pytest

import truerank as tr

torch = pytest.importorskip("torch", reason="make integration-torchmetrics installs it")
pytest.importorskip("torchmetrics", reason="make integration-torchmetrics installs it")
pytestmark = pytest.mark.filterwarnings("ignore")

N_USERS, N_NEGATIVES, N_ITEMS = 400, 30, 1000


def scores(seed=0, tied=False):
    rng = np.random.default_rng(seed)
    found = rng.normal(size=(N_USERS, 1 + N_NEGATIVES))
    found[:, 0] += 1.5
    return torch.from_numpy(np.round(found, 1) if tied else found)


def metric(**options):
    return tr.integrations.torchmetrics.ranks(
        num_negatives=N_NEGATIVES, n_items=N_ITEMS, metrics=["recall@50", "auc"], **options
    )


def test_counts_are_those_of_ranks():
    given = scores()
    found = metric()
    for batch in given.split(64):
        found.update(batch)
    rank = 1 + (given[:, 1:] > given[:, :1]).sum(1).numpy()
    counts = tr.RankCounts.from_ranks(
        rank, n_items=N_ITEMS, num_negatives=N_NEGATIVES, replacement=False
    )
    assert found.counts == counts
    expected = tr.estimate(counts, ["recall@50", "auc"])
    assert {name: float(value) for name, value in found.compute().items()} == pytest.approx(
        {name: one.value for name, one in expected.items()}, rel=1e-6
    )
    assert found.estimates()["auc"].low == expected["auc"].low
    by_ranks = metric()
    by_ranks.update(ranks=torch.from_numpy(rank))
    assert by_ranks.counts == counts


@pytest.mark.parametrize("replacement", [False, True])
def test_ties_share_the_weight(replacement):
    given = scores(tied=True)
    found = metric(replacement=replacement)
    for batch in given.split(150):
        found.update(batch)
    counts = tr.RankCounts.from_scores(
        given[:, 0], given[:, 1:], n_items=N_ITEMS, replacement=replacement
    )
    assert found.counts.sampled_rank.tolist() == counts.sampled_rank.tolist()
    assert found.counts.weight == pytest.approx(counts.weight, abs=1e-9)
    assert float(found.state.sum()) == pytest.approx(N_USERS)
    expected = np.zeros(1 + N_NEGATIVES)
    for row in given.numpy():  # one by one
        above, tied = (row[1:] > row[0]).sum(), (row[1:] == row[0]).sum()
        expected[above : above + tied + 1] += 1.0 / (tied + 1)
    if not replacement:
        assert found.state.numpy() == pytest.approx(expected, abs=1e-9)


def test_half_precision_and_a_step_of_a_loop():
    """Scores in half precision are counted; the counts stay exact. `forward` is of one batch."""
    given = scores().to(torch.float16)
    found = metric().set_dtype(torch.float16).half()
    first = found(given[:100])
    assert set(first) == {"recall@50", "auc"}
    assert float(found.state.sum()) == 100.0
    for _ in range(100):
        found.update(given)
    assert float(found.state.sum()) == 100.0 + 100.0 * N_USERS
    found.reset()
    found.update(given)
    whole = metric()
    whole.update(given.to(torch.float64))
    assert torch.equal(found.state, whole.state)
    assert found.state.dtype == torch.float64
    found.update(ranks=[1, 2])  # lists and arrays, too
    found.update(ranks=np.array([3]))
    assert float(found.state.sum()) == N_USERS + 3.0


def test_processes_are_added_up_by_compute():
    given = scores()
    whole, other = metric(), metric()
    whole.update(given)
    other.update(given[150:])
    here = metric(
        dist_sync_fn=lambda state, group: [state, other.state],
        distributed_available_fn=lambda: True,
    )
    here.update(given[:150])
    assert here.compute() == whole.compute()
    assert float(here.state.sum()) == 150.0  # its own again


@pytest.mark.parametrize(
    ("names", "better"), [(["auc"], True), (["mr", "amr"], False), (["mr", "auc"], None)]
)
def test_which_way_is_better(names, better):
    found = tr.integrations.torchmetrics.ranks(num_negatives=5, n_items=50, metrics=names)
    assert found.higher_is_better is better


def test_the_state_is_of_fixed_size_and_adds_up():
    whole, one, two = metric(), metric(), metric()
    given = scores()
    whole.update(given)
    one.update(given[:150])
    two.update(given[150:])
    assert whole.state.shape == one.state.shape == (1 + N_NEGATIVES,)
    assert one._reductions["state"] is torch.sum or "sum" in str(one._reductions["state"])
    assert torch.equal(one.state + two.state, whole.state)
    again = pickle.loads(pickle.dumps(whole))
    assert again.counts == whole.counts
    whole.reset()
    assert float(whole.state.sum()) == 0.0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "give scores, or ranks="),
        ({"scores": torch.zeros(3, 5)}, r"shape \(3, 5\)"),
        ({"scores": torch.full((2, 31), float("nan"))}, "NaN"),
        ({"ranks": torch.tensor([0, 1])}, "ranks holds 0"),
        ({"ranks": torch.tensor([1.5])}, "whole numbers"),
        ({"ranks": torch.tensor([True])}, "ranks is torch.bool"),
        ({"ranks": [[1, 2]]}, r"shape \(1, 2\)"),
    ],
)
def test_bad_input(arguments, said):
    with pytest.raises(tr.InputError, match=said):
        metric().update(**arguments)
    with pytest.raises(tr.InputError, match="no ranks were counted"):
        metric().compute()


def test_more_negatives_than_there_are():
    with pytest.raises(tr.InputError, match="at most n_items - 1 = 49"):
        tr.integrations.torchmetrics.ranks(num_negatives=50, n_items=50)


def test_vectors_that_are_parameters():
    users, items = (torch.nn.Parameter(torch.randn(rows, 8)) for rows in (50, 90))
    expected = tr.scoring.Factors(users.detach().numpy(), items.detach().numpy())
    test = np.arange(50), np.arange(50)
    found = tr.count(tr.scoring.Factors(users, items), test)
    assert found == tr.count(expected, test)
    half = tr.scoring.Factors(users.to(torch.bfloat16), items.to(torch.bfloat16))
    assert half.item_factors.dtype == np.float32
    assert tr.integrations.torch.gather(3) == [3]


@pytest.mark.parametrize("top_k", [1, 5, None])
def test_average_precision_over_what_is_found_is_theirs(top_k):
    """`tr.metrics.ap_found` of exact ranks, in single precision, which theirs is in."""
    from torchmetrics.retrieval import RetrievalMAP

    rng = np.random.default_rng(3)
    table = rng.permutation(50 * 40).reshape(50, 40) + 1.0  # above 0: others count as no targets
    liked = np.argsort(rng.random((50, 40)), axis=1) < rng.integers(1, 9, size=(50, 1))
    theirs = RetrievalMAP(top_k=top_k)
    user = np.repeat(np.arange(50), 40)
    theirs.update(
        torch.from_numpy(table.ravel()), torch.from_numpy(liked.ravel()),
        indexes=torch.from_numpy(user),
    )  # fmt: skip
    ranks = tr.rank(tr.scoring.Dense(table), np.nonzero(liked), "exact")
    assert tr.metrics.ap_found(ranks, top_k) == pytest.approx(float(theirs.compute()), rel=1e-6)
