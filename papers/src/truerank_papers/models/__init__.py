"""The deep models of the papers, in torch; they are used like those of `truerank.models`."""

from __future__ import annotations

from truerank_papers.models.checkpoints import checkpoints
from truerank_papers.models.graph import NGCF, LightGCN
from truerank_papers.models.multivae import MultiVAE
from truerank_papers.models.neumf import NeuMF

__all__ = ["NGCF", "LightGCN", "MultiVAE", "NeuMF", "checkpoints"]
