"""Where the counting is done: one kernel for a batch of rows, and engines that spread batches."""

from truerank.engines import spark
from truerank.engines.batches import add_up, pack
from truerank.engines.kernels import Kernel, adaptive, exact, ranks, sampled

__all__ = ["Kernel", "adaptive", "add_up", "exact", "pack", "ranks", "sampled", "spark"]
