"""Evaluate a model: exactly, by fixed or adaptive samples, or by what is cheapest."""

from truerank.evaluation._evaluate import Evaluation, evaluate, read_protocol
from truerank.evaluation.cluster import evaluate_on_spark

__all__ = ["Evaluation", "evaluate", "evaluate_on_spark", "read_protocol"]
