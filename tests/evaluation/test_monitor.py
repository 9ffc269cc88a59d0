"""The monitor says of every epoch what `count`, `estimate` and `compare` would."""

import threading

import numpy as np
import pytest

import truerank as tr
from truerank.evaluation import auto
from truerank.evaluation import monitor as monitor_module

N_USERS, N_ITEMS, WIDTH = 300, 800, 16
NOISE = (2.0, 1.0, 0.5, 0.6, 1.2, 2.5)
DESIGNS = {
    "exact": "exact",
    "fixed": "fixed(num_negatives=49)",
    "replacement": "fixed(num_negatives=49, replacement=True)",
    "adaptive": "adaptive(budget=60)",
}


def problem(seed=0, targets=1):
    rng = np.random.default_rng(seed)
    items, taste = rng.normal(size=(N_ITEMS, WIDTH)), rng.normal(size=(N_USERS, WIDTH))
    liked = np.argsort(-(taste @ items.T) - 1.0 * rng.gumbel(size=(N_USERS, N_ITEMS)), axis=1)
    user = np.repeat(np.arange(N_USERS), targets)
    test = user, liked[:, :targets].ravel()
    train = np.repeat(np.arange(N_USERS), 5), liked[:, -5:].ravel()
    scorers = [
        tr.scoring.Factors(taste + noise * rng.normal(size=taste.shape), items) for noise in NOISE
    ]
    return test, train, scorers


def frozen(test, train, scorer):
    design = tr.designs.Fixed(num_negatives=30)
    return tr.designs.Frozen(tr.sampling.freeze(scorer, test, design, train=train, seed=3))


def timeless(rows):
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


@pytest.mark.parametrize("kind", [*DESIGNS, "frozen"])
def test_an_epoch_is_what_count_and_estimate_say(kind):
    test, train, scorers = problem()
    design = frozen(test, train, scorers[0]) if kind == "frozen" else DESIGNS[kind]
    monitor = tr.Monitor(test, train=train, design=design, seed=7)
    for scorer in scorers[:2]:
        found = monitor.update(scorer)
        counts = tr.count(scorer, test, design, train=train, seed=7)
        assert found.estimates.counts == counts
        expected = tr.estimate(counts, "ndcg@10", scope="population", seed=7)["ndcg@10"]
        assert (found["ndcg@10"].value, found["ndcg@10"].low) == (expected.value, expected.low)


@pytest.mark.parametrize("kind", [*DESIGNS, "frozen"])
def test_the_difference_is_that_of_compare(kind):
    """The best epoch is compared as if its model were still there; here it is."""
    test, train, scorers = problem()
    design = frozen(test, train, scorers[0]) if kind == "frozen" else DESIGNS[kind]
    monitor = tr.Monitor(test, train=train, design=design, patience=99)
    best = None
    for number, scorer in enumerate(scorers[1:5], start=1):
        found = monitor.update(scorer)
        if best is not None:
            both = tr.count({"now": scorer, "best": best}, test, design, train=train)
            expected = tr.compare(both, "ndcg@10", scope="population")["now", "best"]
            assert found.difference.value == pytest.approx(expected.value, rel=1e-9)
            assert found.difference.low == pytest.approx(expected.low, rel=1e-9)
            assert found.difference.high == pytest.approx(expected.high, rel=1e-9)
        if monitor.best_epoch == number:
            best = scorer


def test_a_model_that_changes_in_place_is_compared_with_what_it_was():
    test, _, scorers = problem()
    vectors = scorers[2].user_factors.copy()
    scorer = tr.scoring.Factors(vectors, scorers[2].item_factors)
    monitor = tr.Monitor(test, design=DESIGNS["fixed"])
    monitor.update(scorer)
    vectors += 5.0 * np.random.default_rng(0).normal(size=vectors.shape)  # as training does
    found = monitor.update(tr.scoring.Factors(vectors, scorers[2].item_factors))
    both = {"now": tr.scoring.Factors(vectors, scorers[2].item_factors), "best": scorers[2]}
    expected = tr.compare(tr.count(both, test, DESIGNS["fixed"]), "ndcg@10")["now", "best"]
    assert found.difference.value == pytest.approx(expected.value, rel=1e-9)
    assert found.difference.high < 0.0


def test_only_epochs_that_are_really_worse_count_against_the_patience():
    test, train, scorers = problem()
    monitor = tr.Monitor(test, train=train, design=DESIGNS["fixed"], patience=2)
    best = scorers[2]
    # Hardly different from the best one: chance.
    rng = np.random.default_rng(5)
    near = [
        tr.scoring.Factors(
            best.user_factors + 0.02 * rng.normal(size=best.user_factors.shape), best.item_factors
        )
        for _ in range(5)
    ]
    for scorer in (best, *near):
        found = monitor.update(scorer)
        assert found.worse == 0
        assert not monitor.should_stop
    for scorer, worse in ((scorers[0], 1), (near[0], 1), (scorers[5], 2)):
        found = monitor.update(scorer)
        assert found.worse == worse
        assert found.should_stop is monitor.should_stop is (worse == 2)
    rows = monitor.history.rows()
    assert [row["real"] for row in rows[1:]] == [False] * 5 + [True, False, True]


@pytest.mark.parametrize("kind", ["exact", "fixed"])
def test_small_values_are_best_where_they_are_good(kind):
    """The epochs of mr, 1 + (1 - auc) (N - 1) here, are judged like those of auc."""
    test, _, scorers = problem()
    told = {}
    for metric in ("mr", "amr", "auc"):
        monitor = tr.Monitor(test, metrics=metric, design=DESIGNS[kind], patience=2)
        told[metric] = [
            (found.best_epoch, found.worse, found.should_stop)
            for found in map(monitor.update, scorers)
        ]
    assert told["mr"] == told["amr"] == told["auc"]
    assert told["mr"][-1] == (3, 2, True) or told["mr"][-1] == (3, 3, True)


def test_for_these_users_any_exact_difference_is_real():
    test, _, scorers = problem()
    monitor = tr.Monitor(test, design="exact", patience=1, scope="these-users")
    monitor.update(scorers[2])
    found = monitor.update(scorers[3])
    assert found.difference.low == pytest.approx(found.difference.high, abs=1e-12)
    assert abs(found.difference.value) > 1e-6
    assert monitor.should_stop is (found.difference.value < 0.0)
    wide = tr.Monitor(test, design="exact", patience=1)
    for scorer in scorers[2:4]:
        found = wide.update(scorer)
    assert found.difference.low < 0.0 < found.difference.high
    assert not wide.should_stop


@pytest.mark.parametrize("kind", DESIGNS)
def test_goes_on_from_a_file_as_if_never_stopped(kind, tmp_path):
    test, train, scorers = problem()
    options = {"train": train, "design": DESIGNS[kind], "metrics": ["ndcg@10", "auc"], "seed": 3}
    whole = tr.Monitor(test, patience=2, **options)
    for scorer in scorers[1:5]:
        whole.update(scorer)
    parts = tr.Monitor(test, patience=2, **options)
    for scorer in scorers[1:5]:
        parts.update(scorer)
        parts.save(tmp_path / "monitor.parquet")
        parts = tr.Monitor.load(tmp_path / "monitor.parquet", test, train=train)
    assert timeless(parts.rows()) == timeless(whole.rows())
    assert (parts.best_epoch, parts.should_stop) == (whole.best_epoch, whole.should_stop)
    assert parts.design == whole.design
    assert parts.history.design == whole.history.design


def test_is_the_same_every_time():
    test, train, scorers = problem()
    runs = []
    for _ in range(2):
        monitor = tr.Monitor(test, train=train, design=DESIGNS["adaptive"])
        for scorer in scorers[:3]:
            monitor.update(scorer)
        runs.append(timeless(monitor.rows()))
    assert runs[0] == runs[1]


class Processes:
    """Threads that gather as processes do."""

    def __init__(self, number):
        self.held, self.barrier = [None] * number, threading.Barrier(number)

    def gather(self, at):
        def gather(part):
            self.held[at] = part
            self.barrier.wait()
            found = list(self.held)
            self.barrier.wait()
            return found

        return gather

    def run(self, function):
        found, threads = [None] * len(self.held), []
        for at in range(len(self.held)):
            work = lambda at=at: found.__setitem__(at, function(at, self.gather(at)))  # noqa: E731
            threads.append(threading.Thread(target=work))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found


@pytest.mark.parametrize("kind", ["exact", "fixed"])
def test_counts_of_several_processes_add_up(kind):
    test, train, scorers = problem()
    alone = tr.Monitor(test, train=train, design=DESIGNS[kind], patience=2)
    for scorer in scorers:
        alone.update(scorer)

    def process(at, gather):
        share = test[0][at::3], test[1][at::3]
        monitor = tr.Monitor(share, train=train, design=DESIGNS[kind], patience=2, gather=gather)
        for scorer in scorers:
            monitor.update(scorer)
        return timeless(monitor.rows()), monitor.best_epoch, monitor.should_stop

    found = Processes(3).run(process)
    assert found[0] == found[1] == found[2]
    assert found[0] == (timeless(alone.rows()), alone.best_epoch, alone.should_stop)


def test_all_processes_take_the_design_that_the_first_has_chosen(monkeypatch):
    test, _, scorers = problem()
    chosen = iter([tr.designs.Fixed(num_negatives=20), tr.designs.Fixed(num_negatives=30)])
    lock = threading.Lock()

    def choose(*_, **__):
        with lock:
            return auto.Choice(next(chosen), "by time", 0)

    monkeypatch.setattr(monitor_module.auto, "choose", choose)

    def process(at, gather):
        monitor = tr.Monitor((test[0][at::2], test[1][at::2]), gather=gather)
        monitor.update(scorers[0])
        return monitor.design

    first, second = Processes(2).run(process)
    assert first == second


@pytest.mark.parametrize(
    ("gather", "said"),
    [
        (lambda part: None, "gather gave None for a _Part"),
        (lambda part: [part, 3], "it must give the list of what all processes pass"),
        (lambda part: [], "gather gave an empty list"),
    ],
)
def test_a_gather_that_gathers_nothing_is_named(gather, said):
    test, _, scorers = problem()
    monitor = tr.Monitor(test, design="exact", gather=gather)
    with pytest.raises(tr.InputError, match=said):
        monitor.update(scorers[0])


def test_the_design_is_chosen_once_and_kept(monkeypatch):
    test, train, scorers = problem()
    asked = []

    def choose(scorer, task, metric, estimator, design, *, seed):
        asked.append(design)
        return auto.Choice(tr.designs.Fixed(num_negatives=49), "by time", 17)

    monkeypatch.setattr(monitor_module.auto, "choose", choose)
    monitor = tr.Monitor(test, train=train, seconds=0.5)
    assert monitor.design is None
    for scorer in scorers[:3]:
        monitor.update(scorer)
    assert asked == [tr.designs.Auto(seconds=0.5)]
    assert monitor.design == tr.designs.Fixed(num_negatives=49)
    costs = [row["cost"] for row in monitor.rows()]
    assert costs == [costs[1] + 17, costs[1], costs[1]]


def test_small_problems_are_exact():
    test, train, scorers = problem()
    monitor = tr.Monitor(test, train=train, seconds=2)
    exact = tr.evaluate(scorers[0], test, "exact", train=train, metrics="ndcg@10")
    assert monitor.update(scorers[0])["ndcg@10"].value == exact["ndcg@10"].value
    assert monitor.design == tr.designs.Exact()


def test_a_function_is_asked_for_no_pair_twice_in_an_epoch():
    test, _, scorers = problem()
    seen = []

    def score(users, items):
        seen.append((users[:, None] * N_ITEMS + items).ravel())
        return scorers[0].score(users, items)

    scorer = tr.scoring.Callable(score, n_items=N_ITEMS)
    monitor = tr.Monitor(test, design=DESIGNS["adaptive"])
    found = monitor.update(scorer)
    pairs = np.concatenate(seen)
    assert np.unique(pairs).size == pairs.size == found.cost
    assert found.estimates.counts == tr.count(scorers[0], test, DESIGNS["adaptive"])


@pytest.mark.parametrize("kind", ["exact", "fixed"])
def test_users_with_several_targets(kind, tmp_path):
    """Joint counts are for one target per user: sampled, such epochs are compared unpaired."""
    test, train, scorers = problem(targets=3)
    monitor = tr.Monitor(test, train=train, design=DESIGNS[kind])
    for scorer in scorers[1:3]:
        found = monitor.update(scorer)
        monitor.save(tmp_path / "monitor.parquet")
        monitor = tr.Monitor.load(tmp_path / "monitor.parquet", test, train=train)
    counts = {str(at): tr.count(scorers[at], test, DESIGNS[kind], train=train) for at in (1, 2)}
    expected = tr.compare(counts, "ndcg@10", scope="population")["2", "1"]
    assert found.difference.value == pytest.approx(expected.value, rel=1e-9)
    assert found.difference.high == pytest.approx(expected.high, rel=1e-9)


def test_a_sample_of_users():
    test, train, scorers = problem()
    monitor = tr.Monitor(test, train=train, design="exact(users=100)")
    first, second = (monitor.update(scorer) for scorer in scorers[:2])
    assert second.estimates.counts.n_users == 100
    assert first["ndcg@10"].low < first["ndcg@10"].value < first["ndcg@10"].high
    assert second.difference.low < second.difference.value


def test_history_as_tables():
    test, train, scorers = problem()
    monitor = tr.Monitor(test, train=train, design="exact", metrics=["ndcg@10", "auc"])
    monitor.update(scorers[1], epoch=5)
    monitor.update(scorers[0])
    frame = monitor.history.to_pandas()
    assert frame["epoch"].tolist() == [5, 5, 6, 6] == monitor.to_pandas()["epoch"].tolist()
    assert frame["metric"].tolist() == ["ndcg@10", "auc"] * 2
    content = monitor.history.to_dict()
    assert content["best_epoch"] == 5 == monitor.best_epoch
    assert [row["epoch"] for row in content["epochs"]] == [5, 5, 6, 6]
    assert "5 (best)" in monitor.history.to_markdown()
    assert "Best: epoch 5" in repr(monitor)
    assert "Best: epoch 5" in monitor._repr_html_()


def changed_items(scorers):
    return tr.scoring.Factors(scorers[0].user_factors, scorers[0].item_factors[1:])


def other_ids(scorers):
    ids = np.arange(N_ITEMS)[::-1]
    return tr.scoring.Factors(scorers[0].user_factors, scorers[0].item_factors, item_ids=ids)


@pytest.mark.parametrize(
    ("other", "said"), [(changed_items, "has 799 items"), (other_ids, "items changed")]
)
def test_another_model_is_refused(other, said):
    test, _, scorers = problem()
    monitor = tr.Monitor(test, design="exact")
    monitor.update(scorers[0])
    with pytest.raises(tr.InputError, match=said):
        monitor.update(other(scorers))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"patience": 0}, "patience is 0"),
        ({"seconds": -1}, "seconds"),
        ({"design": "fixed(num_negatives=9, shared_by=4)"}, "shared_by"),
        ({"metrics": "recal@10"}, "recal"),
        ({"gather": 3}, "gather is 3; it must be a function"),
        ({"ties": "mid", "design": "adaptive"}, "mid"),
        ({"confidence": 95}, "confidence is 95"),
        ({"confidence": None}, "confidence is None"),
        ({"scope": "all"}, "scope"),
    ],
)
def test_wrong_options_are_refused_at_once(options, said):
    with pytest.raises(tr.InputError, match=said):
        tr.Monitor(problem()[0], **options)


def test_wrong_files_and_epochs_are_refused(tmp_path):
    test, train, scorers = problem()
    monitor = tr.Monitor(test, train=train, design="exact")
    with pytest.raises(tr.InputError, match="wrap your model"):
        monitor.update(scorers[0].user_factors)
    monitor.update(scorers[0], epoch=3)
    with pytest.raises(tr.InputError, match="epoch 3 was seen already"):
        monitor.update(scorers[0], epoch=3)
    path = tmp_path / "monitor.parquet"
    monitor.save(path)
    with pytest.raises(tr.InputError, match=r"must end in \.parquet"):
        monitor.save(tmp_path / "monitor.json")
    with pytest.raises(tr.InputError, match="not that of the file"):
        tr.Monitor.load(path, test).update(scorers[0])  # without train
    monitor.update(scorers[0]).estimates.counts.save(path)
    with pytest.raises(tr.InputError, match="holds no monitor"):
        tr.Monitor.load(path, test)
    with pytest.raises(tr.InputError, match="not a file"):
        tr.Monitor.load(tmp_path / "missing.parquet", test)
