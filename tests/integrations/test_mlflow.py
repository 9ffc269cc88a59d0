"""MLflow's own file store; `make integration-mlflow` has it."""

import json

import numpy as np
import pytest

import truerank as tr

mlflow = pytest.importorskip("mlflow", reason="make integration-mlflow installs it")


pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def _store(tmp_path):
    """A store of its own for each test."""
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    name = tmp_path.name
    mlflow.create_experiment(name, artifact_location=(tmp_path / "artifacts").as_uri())
    mlflow.set_experiment(name)


def test_metrics_protocol_and_report(tmp_path):
    scorer = tr.scoring.Dense(np.random.default_rng(0).random((60, 300)))
    test = np.arange(60), np.arange(60)
    found = tr.evaluate(scorer, test, "fixed(num_negatives=50)", metrics=["recall@50", "auc"])
    with mlflow.start_run() as run:
        tr.integrations.mlflow.log(found, prefix="test/", step=3, report=True)
    client = mlflow.tracking.MlflowClient()
    told = client.get_run(run.info.run_id).data.metrics
    for name, value in found.to_dict(flat=True).items():
        assert told[f"test/{name.replace('@', '_at_')}"] == float(value)
    (one,) = client.get_metric_history(run.info.run_id, "test/recall_at_50/low")
    assert one.step == 3
    kept = {file.path for file in client.list_artifacts(run.info.run_id, "truerank")}
    assert kept == {"truerank/protocol.json", "truerank/report.html"}
    path = client.download_artifacts(run.info.run_id, "truerank/protocol.json", str(tmp_path))
    with open(path, encoding="utf-8") as file:
        assert json.load(file)["seed"] == found.protocol["seed"]


def test_epochs_have_their_steps():
    monitor = tr.Monitor((np.arange(60), np.arange(60)), metrics="recall@50")
    scores = np.random.default_rng(0).random((60, 300))
    with mlflow.start_run() as run:
        for gain in (0.0, 0.3):
            found = monitor.update(tr.scoring.Dense(scores + gain * np.eye(60, 300)))
            tr.integrations.mlflow.log(found)
    client = mlflow.tracking.MlflowClient()
    history = client.get_metric_history(run.info.run_id, "recall_at_50/value")
    assert [one.step for one in history] == [1, 2]
    assert [one.value for one in history] == [row["value"] for row in monitor.rows()]
