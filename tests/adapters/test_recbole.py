"""Scores of RecBole's models, against RecBole."""

import logging

import numpy as np
import pytest
from libraries import N_ITEMS, N_USERS, check_consistent, interactions, library, rows_of

import truerank as tr
from truerank.errors import InputError
from truerank.scoring.adapters import from_recbole

recbole = library("recbole")
library("recbole.quick_start")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the library


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """RecBole leaves logs in the current folder; its messages are switched off."""
    monkeypatch.chdir(tmp_path)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    users, items = interactions()
    lines = ["user_id:token\titem_id:token\ttimestamp:float\tlabel:float"]
    times = np.random.default_rng(0).permutation(users.size)
    lines += [f"{u}\t{i}\t{t}\t{t % 2}" for u, i, t in zip(users, items, times, strict=True)]
    path = tmp_path_factory.mktemp("recbole") / "tiny"
    path.mkdir()
    (path / "tiny.inter").write_text("\n".join(lines))
    features = ["item_id:token\tkind:token"] + [f"i{k}\tk{k % 3}" for k in range(N_ITEMS)]
    (path / "tiny.item").write_text("\n".join(features))
    return path.parent


def prepared(folder, name, **options):
    """A trained model, the trainer, and the data of training, validation and test."""
    from recbole.config import Config
    from recbole.data import create_dataset, data_preparation
    from recbole.utils import get_model, get_trainer, init_seed

    config = Config(
        model=name,
        dataset="tiny",
        config_dict={
            "data_path": str(folder),
            "checkpoint_dir": str(folder),
            "load_col": {
                "inter": ["user_id", "item_id", "timestamp", "label"],
                "item": ["item_id", "kind"],
            },
            "epochs": 1,
            "embedding_size": 8,
            "use_gpu": False,
            "show_progress": False,
            "metrics": ["Hit", "MRR"],
            "topk": [5],
            "valid_metric": "MRR@5",
            "eval_args": {
                "split": {"LS": "valid_and_test"},
                "order": "TO",
                "group_by": "user",
                "mode": "full",
            },
            "metric_decimal_place": 9,
            **options,
        },
    )
    logging.disable(logging.CRITICAL)
    init_seed(0, True)
    dataset = create_dataset(config)
    train, valid, test = data_preparation(config, dataset)
    model = get_model(name)(config, train.dataset)
    trainer = get_trainer(config["MODEL_TYPE"], name)(config, model)
    trainer.fit(train, verbose=False, saved=False)
    return model, trainer, (train, valid, test)


PAIRWISE = {"train_neg_sample_args": {"distribution": "uniform", "sample_num": 1}}
NO_NEGATIVES = {"train_neg_sample_args": None}
MODELS = {
    "BPR": PAIRWISE,
    "LightGCN": PAIRWISE,
    "Pop": PAIRWISE,
    "ItemKNN": PAIRWISE,
    "NeuMF": PAIRWISE,  # scores pair by pair only
    "EASE": NO_NEGATIVES,
    "FM": PAIRWISE,  # context-aware, with item features
}


def own_scores(model, test, users):
    """RecBole's scores of users (as tokens), -inf for padding and history."""
    from recbole.utils.case_study import full_sort_scores

    numbers = test.dataset.token2id(test.dataset.uid_field, users)
    return full_sort_scores(numbers, model, test).cpu().numpy()


@pytest.mark.parametrize("name", MODELS)
def test_scores_are_recboles(folder, name):
    model, _, (_, _, test) = prepared(folder, name, **MODELS[name])
    scorer = from_recbole(model, test)
    assert (scorer.user_ids.n_rows, scorer.n_items) == (N_USERS, N_ITEMS)
    users, items = ["u3", "u0", "u39"], [f"i{number}" for number in range(N_ITEMS)]
    scores = scorer.score(*rows_of(scorer, users, items))
    own = own_scores(model, test, users)[:, test.dataset.token2id(test.dataset.iid_field, items)]
    shown = np.isfinite(own)
    assert 0.3 < shown.mean() < 0.7
    np.testing.assert_allclose(scores[shown], own[shown], rtol=1e-4, atol=1e-6)
    check_consistent(scorer)


def test_padding_is_no_item(folder):
    model, _, (_, _, test) = prepared(folder, "BPR", **PAIRWISE)
    scorer = from_recbole(model, test)
    assert "[PAD]" not in scorer.item_ids.values(np.arange(scorer.n_items))
    assert scorer.n_items == test.dataset.item_num - 1
    with pytest.raises(InputError, match=r"unknown to the scorer: \[PAD\]"):
        scorer.item_ids.rows(["[PAD]"], "test")


def ranks_of(scorer, test, left_out):
    """1-based ranks of the test's items, those of ``left_out`` loaders masked."""
    data = test.dataset
    tokens, numbers = data.field2id_token, data.inter_feat
    users = scorer.user_ids.rows(tokens[data.uid_field][numbers[data.uid_field]], "test")
    targets = scorer.item_ids.rows(tokens[data.iid_field][numbers[data.iid_field]], "test")
    scores = scorer.score_all(users).astype(np.float64)
    for loader in left_out:
        pairs = loader.dataset.inter_feat
        seen = np.zeros((data.user_num, data.item_num), bool)
        seen[pairs[data.uid_field].numpy(), pairs[data.iid_field].numpy()] = True
        scores[seen[numbers[data.uid_field].numpy(), 1:]] = -np.inf
    own = scores[np.arange(users.size), targets]
    return 1 + (scores > own[:, None]).sum(axis=1)


@pytest.mark.parametrize(
    ("name", "options", "masked"), [("BPR", PAIRWISE, True), ("SASRec", NO_NEGATIVES, False)]
)
def test_recboles_metrics_are_those_of_exact_ranks(folder, name, options, masked):
    """A general model's earlier items are left out there, a sequential model's are not."""
    model, trainer, (train, valid, test) = prepared(folder, name, **options)
    found = trainer.evaluate(test, load_best_model=False, show_progress=False)
    ranks = ranks_of(from_recbole(model, test), test, [train, valid] if masked else [])
    assert found["hit@5"] == pytest.approx((ranks <= 5).mean())
    assert found["mrr@5"] == pytest.approx(np.where(ranks <= 5, 1 / ranks, 0).mean())


@pytest.mark.parametrize("name", ["SASRec", "GRU4Rec"])
def test_scores_of_sequential_models_are_recboles(folder, name):
    model, _, (_, _, test) = prepared(folder, name, **NO_NEGATIVES)
    scorer = from_recbole(model, test)
    users, items = ["u3", "u0", "u39"], [f"i{number}" for number in range(N_ITEMS)]
    scores = scorer.score(*rows_of(scorer, users, items))
    own = own_scores(model, test, users)[:, test.dataset.token2id(test.dataset.iid_field, items)]
    np.testing.assert_allclose(scores, own, rtol=1e-4, atol=1e-6)
    check_consistent(scorer)


def test_a_sequential_model_needs_one_test_row_a_user(folder):
    split = {"split": {"RS": [0.5, 0.2, 0.3]}, "order": "TO", "group_by": "user", "mode": "full"}
    model, _, (_, _, test) = prepared(folder, "SASRec", eval_args=split, **NO_NEGATIVES)
    with pytest.raises(InputError, match="40 users have several rows in the test data"):
        from_recbole(model, test)


def test_the_model_is_left_as_it_was(folder):
    model, _, (_, _, test) = prepared(folder, "NeuMF", **PAIRWISE)
    model.train()
    from_recbole(model, test).score_all(np.arange(2))
    assert all(part.training for part in model.modules())


def test_several_targets_are_evaluated_as_by_recbole(folder):
    """A ratio split: three or four targets per user, all metrics that RecBole has."""
    metrics = ["Recall", "Precision", "Hit", "NDCG", "MAP", "MRR"]
    split = {"split": {"RS": [0.5, 0.2, 0.3]}, "order": "RO", "group_by": "user", "mode": "full"}
    options = {"eval_args": split, "metrics": metrics, "topk": [1, 3, 10], **PAIRWISE}
    model, trainer, loaders = prepared(folder, "BPR", **options)
    found = trainer.evaluate(loaders[2], load_best_model=False, show_progress=False)
    train, valid, test = (pairs_of(loader.dataset) for loader in loaders)
    known = tuple(np.concatenate(columns) for columns in zip(train, valid, strict=True))
    counts = tr.count(from_recbole(model, loaders[2]), test, train=known)
    assert counts.n_targets.max() > 1
    for name in metrics:
        for k in (1, 3, 10):
            key = f"{name.lower()}@{k}"
            value = tr.estimate(counts, key, confidence=None)[key].value
            assert found[key] == pytest.approx(value, abs=1e-8), key


def pairs_of(dataset):
    """User and item ids of a dataset of RecBole."""
    return tuple(
        dataset.field2id_token[field][dataset.inter_feat[field].numpy()]
        for field in (dataset.uid_field, dataset.iid_field)
    )


@pytest.mark.parametrize("split", [{"LS": "valid_and_test"}, {"RS": [0.5, 0.2, 0.3]}])
def test_sampled_evaluation_is_corrected(folder, split):
    """All but a few of the negatives are drawn: the estimate is near the full evaluation."""
    arguments = {"split": split, "order": "RO", "group_by": "user"}
    metrics = {"metrics": ["Recall", "NDCG", "Hit"], "topk": [3], "valid_metric": "NDCG@3"}
    found = {}
    for mode in ("full", "uni40"):
        options = {"eval_args": {**arguments, "mode": mode}, **metrics, **PAIRWISE}
        _, trainer, (_, _, test) = prepared(folder, "BPR", **options)
        run = trainer.evaluate if mode == "full" else tr.integrations.recbole.evaluate
        given = (test,) if mode == "full" else (trainer, test)
        found[mode] = run(*given, load_best_model=False)
    corrected = found["uni40"]
    for row in corrected.rows():
        key = row["metric"].replace("hit_rate", "hit")
        assert row["recbole"] == pytest.approx(corrected.own[key])
        assert row["recbole"] >= found["full"][key] - 1e-9
        assert row["low"] - 1e-6 <= found["full"][key] <= row["high"] + 1e-6


def test_a_full_evaluation_needs_no_correction(folder):
    _, trainer, (_, _, test) = prepared(folder, "BPR", **PAIRWISE)
    with pytest.raises(InputError, match="a full evaluation needs no correction"):
        tr.integrations.recbole.evaluate(trainer, test, load_best_model=False)
