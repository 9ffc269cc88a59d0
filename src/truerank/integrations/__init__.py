"""truerank inside other tools: trackers, training loops, torchmetrics.

Each module is a thin shell and loads its library when it is first called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from truerank import _lazy

if TYPE_CHECKING:
    from truerank.integrations import keras as keras
    from truerank.integrations import lightning as lightning
    from truerank.integrations import mlflow as mlflow
    from truerank.integrations import recbole as recbole
    from truerank.integrations import tensorboard as tensorboard
    from truerank.integrations import torch as torch
    from truerank.integrations import torchmetrics as torchmetrics
    from truerank.integrations import wandb as wandb
else:
    __getattr__, __dir__, __all__ = _lazy.attach(
        __name__,
        dict.fromkeys(
            (
                "keras",
                "lightning",
                "mlflow",
                "recbole",
                "tensorboard",
                "torch",
                "torchmetrics",
                "wandb",
            )
        ),
    )
