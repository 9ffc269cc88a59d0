"""The Keras callback on a small training run; `make integration-keras` has it."""

import os

import numpy as np
import pytest

import truerank as tr

os.environ.setdefault("KERAS_BACKEND", "torch")
keras = pytest.importorskip("keras", reason="make integration-keras installs it")
pytestmark = pytest.mark.filterwarnings("ignore")

N_USERS, N_ITEMS = 60, 200
TEST = np.arange(N_USERS), np.random.default_rng(0).integers(N_ITEMS, size=N_USERS)


def test_stops_and_logs():
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [keras.Input((1,)), keras.layers.Embedding(N_USERS, 16), keras.layers.Flatten(),
         keras.layers.Dense(N_ITEMS)]
    )  # fmt: skip
    model.compile(
        optimizer=keras.optimizers.Adam(0.1),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )

    def scorer(model):
        users = model.layers[0].get_weights()[0]
        items, bias = model.layers[-1].get_weights()
        return tr.scoring.Factors(users, items.T, item_biases=bias)

    class Forget(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            if epoch == 4:
                model.optimizer.learning_rate = -0.1

    monitor = tr.Monitor(TEST, metrics=["recall@10"], patience=2)
    seen = model.fit(
        TEST[0][:, None], TEST[1], batch_size=N_USERS, epochs=30, verbose=0,
        callbacks=[Forget(), tr.integrations.keras.callback(monitor, scorer)],
    )  # fmt: skip
    assert monitor.should_stop
    values = [row["value"] for row in monitor.rows()]
    assert len(values) < 30
    assert seen.history["val_recall@10"] == values
    assert seen.history["val_recall@10_low"] == [row["low"] for row in monitor.rows()]
