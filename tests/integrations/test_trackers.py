"""What trackers are told, without any of them."""

from types import SimpleNamespace

import numpy as np
import pytest

import truerank as tr
from truerank.errors import MissingExtraError
from truerank.integrations import _library


def evaluation(**options):
    scorer = tr.scoring.Dense(np.random.default_rng(0).random((60, 300)))
    test = np.arange(60), np.arange(60)
    options = {"design": "fixed(num_negatives=50)", "metrics": ["recall@50", "auc"]} | options
    return tr.evaluate(scorer, test, **options)


def test_flat_has_value_ends_and_whether_it_is_settled():
    found = evaluation()
    flat = found.to_dict(flat=True)
    for metric in ("recall@50", "auc"):
        for name in ("value", "low", "high", "resolvable"):
            assert flat[f"{metric}/{name}"] == getattr(found[metric], name)
    assert flat["cost"] == found.cost
    assert found.estimates.to_dict(flat=True).items() <= flat.items()
    assert all(isinstance(value, (bool, int, float)) for value in flat.values())
    bare = evaluation(confidence=None).estimates.to_dict(flat=True)
    assert list(bare) == ["recall@50/value", "auc/value"]


def test_flat_of_an_epoch_has_the_difference():
    monitor = tr.Monitor((np.arange(60), np.arange(60)), metrics="recall@50")
    scores = np.random.default_rng(0).random((60, 300))
    first = monitor.update(tr.scoring.Dense(scores)).to_dict(flat=True)
    found = monitor.update(tr.scoring.Dense(scores + 0.3 * np.eye(60, 300)))
    assert "recall@50/difference" not in first
    assert found.to_dict(flat=True)["recall@50/difference_low"] == found.difference.low


class Writer:
    def __init__(self):
        self.told = []

    def add_scalar(self, name, value, step):
        self.told.append((name, value, step))


def test_tensorboard():
    writer = Writer()
    found = evaluation()
    tr.integrations.tensorboard.log(found, writer, step=4, prefix="test/")
    flat = found.to_dict(flat=True)
    assert writer.told == [(f"test/{name}", float(value), 4) for name, value in flat.items()]
    with pytest.raises(tr.InputError, match="add_scalar"):
        tr.integrations.tensorboard.log(found, None)
    with pytest.raises(tr.InputError, match="type dict"):
        tr.integrations.tensorboard.log({}, writer)
    with pytest.raises(tr.InputError, match="no flat form"):
        tr.integrations.tensorboard.log(
            tr.compare({"a": found.counts, "b": found.counts}, "auc"), writer
        )


def test_a_library_that_is_missing_is_named(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(_library, "importlib", SimpleNamespace(import_module=missing))
    with pytest.raises(MissingExtraError, match="pip install mlflow"):
        tr.integrations.mlflow.log(evaluation())
    with pytest.raises(MissingExtraError, match="pip install torchmetrics"):
        tr.integrations.torchmetrics.ranks(num_negatives=9, n_items=100)
    with pytest.raises(MissingExtraError, match="pip install keras"):
        tr.integrations.keras.callback(tr.Monitor(([0], [0])), lambda model: model)
