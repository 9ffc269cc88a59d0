"""Evaluate a model: exactly, by fixed or adaptive samples, or by what is cheapest."""

from truerank.evaluation._evaluate import Evaluation, evaluate, read_protocol

__all__ = ["Evaluation", "evaluate", "read_protocol"]
