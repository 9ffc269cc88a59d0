"""A torch module as a scorer."""

import pickle

import numpy as np
import pytest

import truerank as tr
from truerank.errors import InputError, TruerankError
from truerank.scoring import _device, exact
from truerank.scoring.torch import Torch

N_USERS, N_ITEMS = 20, 37


torch = pytest.importorskip("torch", reason="torch is not installed (extra `models`)")


class Net(torch.nn.Module):
    """Embeddings, batch norm, dropout and a hidden layer: all that could go wrong."""

    def __init__(self):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.user = torch.nn.Embedding(N_USERS, 32)
            self.item = torch.nn.Embedding(N_ITEMS, 32)
            self.deep = torch.nn.Sequential(
                torch.nn.Linear(64, 128),
                torch.nn.BatchNorm1d(128),
                torch.nn.ReLU(),
                torch.nn.Dropout(0.5),
                torch.nn.Linear(128, 1),
            )
        self.sizes = []

    def forward(self, users, items):
        assert users.dtype == items.dtype == torch.int64
        assert not torch.is_grad_enabled()
        assert not self.deep[3].training
        self.sizes.append(users.shape[0])
        return self.deep(torch.cat([self.user(users), self.item(items)], dim=1))

    def full(self, users):
        assert not torch.is_grad_enabled()
        return self.user(users) @ self.item.weight.T


def request(rows=11, width=9):
    rng = np.random.default_rng(0)
    return rng.integers(0, N_USERS, rows), rng.integers(0, N_ITEMS, (rows, width))


def by_hand(net, users, items):
    """Scores straight from the layers."""
    net.eval()
    with torch.no_grad():
        u = net.user.weight[torch.as_tensor(users)][:, None, :].expand(-1, items.shape[1], -1)
        i = net.item.weight[torch.as_tensor(items)]
        out = net.deep(torch.cat([u, i], dim=2).reshape(-1, 64)).reshape(items.shape)
    net.train()
    return out.numpy()


def test_scores_are_those_of_the_module():
    users, items = request()
    for batch_pairs in (7, 99, 512):
        scorer = Torch(Net(), n_items=N_ITEMS, batch_pairs=batch_pairs)
        np.testing.assert_allclose(
            scorer.score(users, items), by_hand(Net(), users, items), rtol=1e-5, atol=1e-6
        )
        assert set(scorer.module.sizes) == {batch_pairs}


def test_a_score_does_not_depend_on_what_else_is_asked_for():
    users, items = request(rows=4)
    scorer = Torch(Net(), n_items=N_ITEMS, batch_pairs=64)
    scores = scorer.score(users, items)
    one_by_one = [
        [scorer.score(users[[r]], items[r : r + 1, [c]])[0, 0] for c in range(9)] for r in range(4)
    ]
    np.testing.assert_array_equal(scores, one_by_one)
    turned = scorer.score(users[::-1], items[::-1, ::-1])
    np.testing.assert_array_equal(scores, turned[::-1, ::-1])
    every = scorer.score_all(users)
    np.testing.assert_array_equal(scores, np.take_along_axis(every, items, axis=1))


def test_the_module_is_left_as_it_was():
    net = Net().train()
    net.deep[1].eval()  # batch norm frozen on purpose
    modes = [part.training for part in net.modules()]
    state = {key: value.clone() for key, value in net.state_dict().items()}
    scorer = Torch(net, n_items=N_ITEMS)
    scorer.score(*request())
    assert [part.training for part in net.modules()] == modes
    assert all(torch.equal(state[key], value) for key, value in net.state_dict().items())
    assert torch.is_grad_enabled()

    net.forward = lambda users, items: 1 / 0
    with pytest.raises(TruerankError):
        scorer.score(*request())
    assert [part.training for part in net.modules()] == modes
    assert torch.is_grad_enabled()


def test_full_catalogue_scoring_is_used_when_given():
    net = Net()
    users, _ = request()
    for batch_pairs in (10, 100, 10_000):
        scorer = Torch(net, n_items=N_ITEMS, batch_pairs=batch_pairs, score_all=net.full)
        with torch.no_grad():
            expected = net.full(torch.as_tensor(users)).numpy()
        np.testing.assert_allclose(scorer.score_all(users), expected, rtol=1e-5, atol=1e-6)
    assert net.sizes == []


def test_ids_become_row_numbers():
    scorer = Torch(
        lambda users, items: users * 100.0 + items,
        user_ids=["a", "b", "c"],
        item_ids=[30, 10, 20],
    )
    rows = scorer.user_ids.rows(["c", "a"], "test")
    items = scorer.item_ids.rows([20, 30], "test")
    np.testing.assert_array_equal(scorer.score(rows, items[:, None]), [[202.0], [0.0]])


def test_whole_numbers_and_short_floats_are_scores():
    users, items = request()
    for kind in (torch.int32, torch.float64, torch.float16, torch.bfloat16):
        scorer = Torch(lambda u, i, kind=kind: (u + i).to(kind), n_items=N_ITEMS)
        scores = scorer.score(users, items)
        assert scores.dtype.kind == "f"
        np.testing.assert_array_equal(scores, users[:, None] + items)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda u, i: (u.float(), i.float()), "returned a tuple; expected a tensor"),
        (lambda u, i: u.float()[:-1], r"returned shape \(63,\); expected \(64,\)"),
        (lambda u, i: torch.zeros(64, 2), r"returned shape \(64, 2\)"),
        (lambda u, i: torch.where(i == 3, torch.nan, 1.0), "NaN or infinite"),
        (lambda u, i: u > i, "returned bool"),
        (lambda u, i: u * 1j, "returned complex64"),
    ],
)
def test_a_wrong_answer_is_an_input_error(answer, message):
    scorer = Torch(answer, n_items=N_ITEMS, batch_pairs=64)
    with pytest.raises(InputError, match=message):
        scorer.score(np.array([0, 1]), np.array([[1, 3], [4, 5]]))


def test_a_row_that_the_module_does_not_have_is_an_error_with_the_user():
    scorer = Torch(Net(), n_items=N_ITEMS)
    with pytest.raises(TruerankError, match=r"raised IndexError .* the first of user 20: "):
        scorer.score(np.array([N_USERS]), np.array([[0, 1]]))


def test_arguments_out_of_bounds():
    with pytest.raises(InputError, match="module is a str; it must be callable"):
        Torch("net.pt", n_items=N_ITEMS)
    with pytest.raises(InputError, match="score_all is a bool"):
        Torch(Net(), n_items=N_ITEMS, score_all=True)
    with pytest.raises(InputError, match="give item_ids= or n_items="):
        Torch(Net())
    with pytest.raises(InputError, match="batch_pairs is 0"):
        Torch(Net(), n_items=N_ITEMS, batch_pairs=0)


def test_nothing_is_asked_for_an_empty_request():
    scorer = Torch(lambda u, i: 1 / 0, n_items=N_ITEMS)
    assert scorer.score(np.zeros(0, int), np.zeros((0, 3), int)).shape == (0, 3)


def test_pairs_are_asked_for_one_by_one_unless_there_is_a_way_to_all():
    """`Auto` samples pairs of a module; with ``score_all`` a pair costs as much as a user."""
    module = lambda users, items: users + items  # noqa: E731
    assert not Torch(module, n_items=5).scores_rows
    rows = Torch(module, n_items=5, score_all=lambda users: users[:, None].repeat(1, 5))
    assert rows.scores_rows


class OnGpu(torch.Tensor):
    """Says that it is on a GPU; its device is the processor all the same."""

    is_cuda = True


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("ties", [False, True])
def test_counts_of_a_device_are_those_of_the_processor(monkeypatch, kind, targets, ties):
    """Bit for bit: with ties of items, users of zeros, items left out, blocks of few users."""
    rng = np.random.default_rng(1)
    users, items = rng.normal(size=(60, 12)), rng.normal(size=(90, 12))
    if ties:
        users, items = users.round(), items.round()
        items[40:60] = items[:20]
        users[3] = 0.0
    users, items = users.astype(kind), items.astype(kind)
    liked = np.argsort(rng.random((60, 90)), axis=1)
    test = np.repeat(np.arange(60), targets), liked[:, :targets].ravel()
    train = np.repeat(np.arange(60), 7), liked[:, -7:].ravel()
    bias = rng.normal(size=90).round(1)
    expected = tr.rank(
        tr.scoring.Factors(users, items, item_biases=bias), test, train=train, ties="pessimistic"
    )
    monkeypatch.setattr(_device, "_SCORES", 90 * 16)
    asked = []
    monkeypatch.setattr(exact._tiles, "count", lambda *_: asked.append(1))
    scorer = tr.scoring.Factors(
        torch.from_numpy(users), torch.from_numpy(items).as_subclass(OnGpu), item_biases=bias
    )
    torch.set_float32_matmul_precision("medium")
    try:
        assert tr.rank(scorer, test, train=train, ties="pessimistic") == expected
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision("highest")
    assert not asked
    assert scorer.with_users(users).device is scorer.device is not None
    assert pickle.loads(pickle.dumps(scorer)).device is None  # another machine may have none


def test_twins_tie_whatever_products_say():
    """Each item has a twin: it ties with it, and with no other, however products are rounded."""
    rng = np.random.default_rng(2)
    users, items = rng.normal(size=(200, 30)), rng.normal(size=(300, 30))
    items[150:] = items[:150]
    test = np.arange(200), np.arange(200) % 150
    scorer = tr.scoring.Factors(users.astype(np.float32), items.astype(np.float32))
    scorer.device = torch.device("cpu")
    ranks = {ties: tr.rank(scorer, test, ties=ties) for ties in ("optimistic", "pessimistic")}
    apart = np.array(ranks["pessimistic"]["rank"]) - np.array(ranks["optimistic"]["rank"])
    assert (apart == 1).all()


@pytest.mark.parametrize("ulps", [1, 30])
def test_items_hardly_apart_are_ranked_as_by_the_processor(ulps):
    rng = np.random.default_rng(3)
    users, items = (rng.normal(size=(rows, 30)).astype(np.float32) for rows in (200, 300))
    shift = rng.integers(-ulps, ulps + 1, size=(150, 30)) * np.float32(2**-23)
    items[150:] = items[:150] * (1 + shift)
    test = np.arange(200), np.arange(200) % 150
    scorer = tr.scoring.Factors(users, items)
    expected = tr.rank(scorer, test, ties="pessimistic")
    scorer.device = torch.device("cpu")
    assert tr.rank(scorer, test, ties="pessimistic") == expected
