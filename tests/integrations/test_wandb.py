"""Weights & Biases offline; `make integration-wandb` has it."""

import numpy as np
import pytest

import truerank as tr

wandb = pytest.importorskip("wandb", reason="make integration-wandb installs it")


@pytest.mark.filterwarnings("ignore")
def test_offline(tmp_path):
    scorer = tr.scoring.Dense(np.random.default_rng(0).random((60, 300)))
    test = np.arange(60), np.arange(60)
    found = tr.evaluate(scorer, test, "fixed(num_negatives=50)", metrics=["recall@50", "auc"])
    if wandb.run is None:
        with pytest.raises(tr.InputError, match="no active run"):
            tr.integrations.wandb.log(found)
    with wandb.init(mode="offline", dir=tmp_path, settings=wandb.Settings(silent=True)) as run:
        tr.integrations.wandb.log(found, prefix="test/")
        told = dict(run.summary)
        assert run.config["truerank"]["seed"] == found.protocol["seed"]
    for name, value in found.to_dict(flat=True).items():
        assert told[f"test/{name}"] == float(value)
    assert list(tmp_path.rglob("*.wandb"))
