"""The same number of negatives for every target."""

from __future__ import annotations

from dataclasses import Field, dataclass
from typing import Any, ClassVar

from truerank import _checks
from truerank.designs.design import Design, check_replacement
from truerank.designs.draws import Draw, Uniform, read_draw
from truerank.errors import InputError
from truerank.outcomes.schemes import Scheme


@dataclass(frozen=True, kw_only=True, repr=False)
class Fixed(Design):
    """Rank every target among the same number of random negatives.

    The targets of a user share its negatives: each negative is scored once per user.

    Parameters
    ----------
    num_negatives : int, optional
        Negatives per user, among which each of its targets is ranked. Give this or
        ``sample_size``.
    sample_size : int, optional
        The same with the target counted: 99 negatives are a sample of 100.
    replacement : bool, default False
        Whether an item may be drawn twice for a target.
    shared_by : int, optional
        Let blocks of about this many users share their negatives, which is several times faster
        for vectors. Each user's rank has the same law, but those of a block move together: on
        ml-1m the standard deviation of a sampled hit ratio is 1.7 to 2.1 times as large with blocks
        of 64. The counts carry the blocks, so that intervals can tell. None: every user has
        negatives of its own.
    draw : Draw, default Uniform()
        How a negative is drawn.
    users : int, optional
        Evaluate a random sample of this many users.
    stratified : bool, default False
        Stratify that sample by the users' numbers of training items.

    Examples
    --------
    >>> import truerank as tr
    >>> tr.designs.Fixed(num_negatives=99)
    Fixed(num_negatives=99)
    >>> tr.designs.Fixed(num_negatives=99) == tr.designs.Fixed(sample_size=100)
    True
    """

    name: ClassVar[str] = "fixed"

    num_negatives: int | None = None
    sample_size: int | None = None
    replacement: bool = False
    shared_by: int | None = None
    draw: Draw = Uniform()

    def __post_init__(self) -> None:
        super().__post_init__()
        size = sample_size_of(self.sample_size, self.num_negatives)
        object.__setattr__(self, "sample_size", size)
        object.__setattr__(self, "num_negatives", size - 1)
        object.__setattr__(self, "replacement", check_replacement(self.replacement))
        object.__setattr__(self, "draw", read_draw(self.draw))
        self.draw.check(replacement=self.replacement, adaptive=False)
        if self.shared_by is not None:
            _checks.integer(self.shared_by, "shared_by", low=1, why="users per block")

    def scheme(self, catalogue: int) -> Scheme:
        return Scheme(self.replacement)

    def pairs(self, n_items: float, targets: float = 1.0) -> float:
        return (self.num_negatives or 0) + targets

    def _told(self) -> list[Field[Any]]:
        return [field for field in super()._told() if field.name != "sample_size"]


def sample_size_of(sample_size: int | None = None, num_negatives: int | None = None) -> int:
    """The sample size, which counts the target, from whichever of the two is given.

    Parameters
    ----------
    sample_size : int, optional
        Ranked items per target, the target included.
    num_negatives : int, optional
        The same without the target.

    Returns
    -------
    int
        The sample size.
    """
    advice = "the sample size counts the target, so 100 negatives are a sample size of 101"
    if sample_size is None and num_negatives is None:
        raise InputError(f"sample_size and num_negatives: neither given; give one ({advice})")
    if sample_size is None:
        return _checks.integer(num_negatives, "num_negatives", low=1) + 1
    why = "it counts the target, so with one negative it is 2"
    size = _checks.integer(sample_size, "sample_size", low=2, why=why)
    if num_negatives is not None and num_negatives != size - 1:
        raise InputError(
            f"sample_size is {size} and num_negatives is {num_negatives}; give one ({advice})"
        )
    return size
