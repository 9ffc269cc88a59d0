"""How a single negative is drawn from a user's pool: uniformly, so far.

Another way to draw needs three things: a class here, the law of the ranks that it gives in
`truerank.outcomes.schemes`, and a stream of negatives in `truerank.sampling.streams`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

from truerank import _checks
from truerank.errors import InputError


@dataclass(frozen=True)
class Draw:
    """A way to draw negatives. Its options are its fields.

    Examples
    --------
    >>> isinstance(tr.designs.Uniform(), tr.designs.Draw)
    True
    """

    name: ClassVar[str]

    def check(self, *, replacement: bool, adaptive: bool) -> None:
        """Raise if a design asks for something that this draw cannot do.

        Parameters
        ----------
        replacement : bool
            Whether negatives are drawn with replacement.
        adaptive : bool
            Whether samples grow.

        Examples
        --------
        >>> tr.designs.Uniform().check(replacement=False, adaptive=True)
        """

    def to_dict(self) -> dict[str, Any]:
        """The draw as plain data, ready for JSON.

        Returns
        -------
        dict
            ``name`` and every option.

        Examples
        --------
        >>> tr.designs.Uniform().to_dict()
        {'name': 'uniform'}
        """
        return {"name": self.name, **asdict(self)}


@dataclass(frozen=True)
class Uniform(Draw):
    """Every item of a user's pool has the same chance.

    Examples
    --------
    >>> import truerank as tr
    >>> tr.designs.Fixed(num_negatives=99).draw
    Uniform()
    """

    name: ClassVar[str] = "uniform"


DRAWS: dict[str, type[Draw]] = {Uniform.name: Uniform}


def read_draw(draw: Any) -> Draw:
    """A draw from its name, its plain data or as it is.

    Parameters
    ----------
    draw : str, dict or Draw
        ``"uniform"``, what :meth:`Draw.to_dict` gave, or a draw.

    Returns
    -------
    Draw
        The draw.
    """
    if isinstance(draw, Draw):
        return draw
    options = dict(draw) if isinstance(draw, dict) else {"name": draw}
    name = options.pop("name", None)
    if not isinstance(name, str):
        raise InputError(f"draw is {_checks.shown(draw)}; it must be one such as Uniform()")
    if name not in DRAWS:
        raise _checks.unknown("draw", name, DRAWS)
    known = [field.name for field in fields(DRAWS[name])]
    for option in options:
        if option not in known:
            raise _checks.unknown(f"option of {name}", option, known)
    return DRAWS[name](**options)
