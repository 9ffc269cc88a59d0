"""Where the counting is done: one kernel for a batch of rows, and engines that spread batches."""

from truerank.engines.batches import add_up, pack
from truerank.engines.items import Items
from truerank.engines.kernels import Kernel, ranks
from truerank.engines.levels import within_budget

__all__ = ["Items", "Kernel", "add_up", "pack", "ranks", "within_budget"]


def __dir__() -> list[str]:
    return __all__
