"""Evaluate a model: rank its targets, count the ranks, estimate the metrics."""

from truerank.evaluation.evaluated import Evaluation, read_protocol
from truerank.evaluation.evaluating import evaluate
from truerank.evaluation.ranking import count, rank

__all__ = ["Evaluation", "count", "evaluate", "rank", "read_protocol"]
