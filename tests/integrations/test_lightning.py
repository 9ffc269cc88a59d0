"""The Lightning callback on a small training run; `make integration-lightning` has it."""

import numpy as np
import pytest

import truerank as tr

lightning = pytest.importorskip("lightning", reason="make integration-lightning installs it")
torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

N_USERS, N_ITEMS = 60, 200
TEST = np.arange(N_USERS), np.random.default_rng(0).integers(N_ITEMS, size=N_USERS)


class Model(lightning.LightningModule):
    """It learns the test by heart, and after epoch 2 forgets it."""

    def __init__(self):
        super().__init__()
        self.users = torch.nn.Embedding(N_USERS, 16)
        self.items = torch.nn.Embedding(N_ITEMS, 16)
        self.seen = []

    def training_step(self, batch, _):
        user, item = batch
        scores = self.users(user) @ self.items.weight.T
        loss = torch.nn.functional.cross_entropy(scores, item)
        return loss if self.current_epoch <= 2 else -loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.2)


def weights(module):
    return tr.scoring.Factors(module.users.weight, module.items.weight)


def trainer(folder, epochs, *callbacks):
    return lightning.Trainer(
        max_epochs=epochs, callbacks=list(callbacks), default_root_dir=folder, logger=False,
        enable_progress_bar=False, enable_model_summary=False, accelerator="cpu",
    )  # fmt: skip


def test_stops_logs_and_goes_on(tmp_path):
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(*map(torch.from_numpy, TEST))
    loader = torch.utils.data.DataLoader(data, batch_size=N_USERS)
    monitor = tr.Monitor(TEST, metrics=["recall@10"], patience=2)
    run = trainer(tmp_path, 20, tr.integrations.lightning.callback(monitor, weights, prefix="v/"))
    run.fit(Model(), loader)
    assert monitor.should_stop
    assert run.current_epoch < 20
    rows = monitor.rows()
    assert [row["epoch"] for row in rows] == list(range(len(rows)))
    assert float(run.callback_metrics["v/recall@10"]) == pytest.approx(rows[-1]["value"], rel=1e-6)
    assert "v/recall@10/low" in run.callback_metrics
    run.save_checkpoint(tmp_path / "last.ckpt")
    again = tr.Monitor(TEST, metrics=["recall@10"], patience=2)
    later = trainer(
        tmp_path,
        run.current_epoch + 1,
        tr.integrations.lightning.callback(again, weights, prefix="v/"),
    )
    later.fit(Model(), loader, ckpt_path=tmp_path / "last.ckpt")
    assert again.best_epoch == monitor.best_epoch
    assert again.rows()[: len(rows)] == rows


def test_with_validation_early_stopping_and_the_best_checkpoint(tmp_path):
    """The sanity check is no epoch; other callbacks read what is logged."""

    class Validated(Model):
        def validation_step(self, batch, _):
            self.seen.append(self.current_epoch)

    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(*map(torch.from_numpy, TEST))
    loader = torch.utils.data.DataLoader(data, batch_size=N_USERS)
    monitor = tr.Monitor(TEST, metrics=["recall@10"], patience=20)
    best = lightning.pytorch.callbacks.ModelCheckpoint(
        tmp_path, monitor="recall@10", mode="max", filename="best"
    )
    stop = lightning.pytorch.callbacks.EarlyStopping("recall@10", mode="max", patience=3)
    stop._check_on_train_epoch_end = True
    watch = tr.integrations.lightning.callback(monitor, weights)
    run = trainer(tmp_path, 20, best, watch, stop)
    model = Validated()
    run.fit(model, loader, loader)
    assert model.seen[0] == 0
    rows = monitor.rows()
    assert [row["epoch"] for row in rows] == list(range(len(rows)))
    assert len(rows) < 20
    assert not monitor.should_stop
    kept = torch.load(best.best_model_path, weights_only=True)
    assert kept["epoch"] == monitor.best_epoch


def test_each_process_goes_on_with_its_own_users(tmp_path):
    """Two processes, as two callbacks; a checkpoint is written by the first and read by both."""
    scorers = [
        tr.scoring.Factors(np.eye(N_USERS), np.random.default_rng(0).random((N_ITEMS, N_USERS)))
    ] * 2
    shares = [tuple(part[rank::2] for part in TEST) for rank in range(2)]
    alone = [tr.Monitor(share, design="exact") for share in shares]
    for monitor, scorer in zip(alone, scorers, strict=True):
        monitor.update(scorer)
    saved = []
    for rank, monitor in enumerate(alone):
        monitor.save(tmp_path / f"{rank}.parquet")
        saved.append((tmp_path / f"{rank}.parquet").read_bytes())
    alone[0]._gather = lambda part: saved  # as torch.distributed would
    state = tr.integrations.lightning.callback(alone[0], weights).state_dict()
    later = trainer(tmp_path, 1)
    for rank, share in enumerate(shares):
        again = tr.Monitor(share, design="exact")
        found = tr.integrations.lightning.callback(again, weights)
        found.setup(later, Model(), "fit")
        with pytest.raises(tr.InputError, match="2 processes, and there are 1 now"):
            found.load_state_dict(state)
        found.rank, found.n_processes = rank, 2
        found.load_state_dict(state)
        assert again.rows() == alone[rank].rows()
        again.update(scorers[rank])  # refuses other users
