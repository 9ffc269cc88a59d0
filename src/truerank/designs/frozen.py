"""Negatives drawn once and kept in a file, so that all models meet the same ones."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from truerank import _arguments, _checks
from truerank._types import IntArray, PathLike
from truerank.designs import _ncf
from truerank.designs.design import Design
from truerank.designs.probability import Probability
from truerank.errors import InputError
from truerank.outcomes import _sealed, tables
from truerank.outcomes.schemes import Scheme

FORMAT_VERSION = 1
_FORMAT_KEY = tables.SAVED["negatives"]
_NO_ITEMS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, kw_only=True, repr=False)
class Frozen(Design):
    """Rank every target among the negatives that a file holds for it.

    Parameters
    ----------
    negatives : FrozenNegatives, str or path
        The negatives of each (user, target), or the file that holds them, of any kind that
        :meth:`FrozenNegatives.read` reads: ours, NCF's, Elliot's or RecBole's.
    users : int, optional
        Evaluate a random sample of this many users.
    stratified : bool, default False
        Stratify that sample by the users' numbers of training items.
    probability : Probability, dict, table or path, optional
        The probability that each item was drawn by, where that was not uniform: see
        :class:`Probability`. Negatives drawn *with replacement* are then thinned to uniform ones,
        exactly; the result says how many are left on average.
    drop_targets : bool, default False
        Drop negatives that are targets of their own user, instead of raising.

    Examples
    --------
    >>> import numpy as np, truerank as tr
    >>> scorer = tr.scoring.Dense(np.random.default_rng(0).random((3, 50)))
    >>> test = ([0, 1, 2], [4, 5, 6])
    >>> negatives = tr.sampling.freeze(scorer, test, tr.designs.Fixed(num_negatives=9), seed=7)
    >>> tr.count(scorer, test, tr.designs.Frozen(negatives)).pairs_per_user
    10.0
    """

    name: ClassVar[str] = "frozen"

    negatives: FrozenNegatives = field(kw_only=False)
    probability: Probability | None = None
    drop_targets: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        given: Any = self.negatives
        if not isinstance(self.drop_targets, bool):
            raise InputError(
                f"drop_targets is {_checks.shown(self.drop_targets)}; it must be True or False"
            )
        if isinstance(given, (str, os.PathLike)):
            object.__setattr__(self, "negatives", FrozenNegatives.read(given))
        elif not isinstance(given, FrozenNegatives):
            raise InputError(
                f"negatives is of type {type(given).__name__}; give FrozenNegatives or the path of "
                "a file of them"
            )
        if self.probability is not None:
            object.__setattr__(self, "probability", Probability.of(self.probability))
            if not self.negatives.replacement:
                raise InputError(
                    "probability is given, but the negatives were drawn without replacement: then "
                    "no thinning makes them uniform (of q = 0.6, 0.2, 0.1, 0.1 and two draws, 0.04 "
                    "where 0.20 would be). If they were drawn with replacement, say so: "
                    "FrozenNegatives.read(path, replacement=True); else draw them again, uniformly"
                )

    def scheme(self, catalogue: int) -> Scheme:
        return Scheme(self.negatives.replacement)

    def pairs(self, n_items: float, targets: float = 1.0) -> float:
        return (1.0 + int(self.negatives.start[-1]) / max(self.negatives.n_rows, 1)) * targets

    def to_dict(self) -> dict[str, Any]:
        found = super().to_dict()
        where = self.negatives.path
        found |= {
            "negatives": None if where is None else str(where),
            "sha256": self.negatives.hash,
            "replacement": self.negatives.replacement,
        }
        if self.probability is not None:
            file = self.probability.path
            found["probability"] = None if file is None else str(file)
            found["probability_sha256"] = self.probability.hash
        return found

    @classmethod
    def from_dict(cls, options: dict[str, Any]) -> Frozen:
        """The design that :meth:`to_dict` described, its negatives read from their file.

        Parameters
        ----------
        options : dict
            ``negatives``, a path; ``sha256`` of its content; ``replacement``, whether lines of text
            were drawn so; ``users`` and ``stratified``.

        Returns
        -------
        Frozen
            The design.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "test.negative"
        ...     _ = path.write_text("(0,25)\\t1064\\t174\\n(1,133)\\t1072\\t3154\\n")
        ...     design = tr.designs.Frozen(path)
        ...     tr.designs.from_dict(design.to_dict()).negatives.hash == design.negatives.hash
        True
        """
        _arguments.check(Frozen.from_dict, locals())
        options = dict(options)
        digest = options.pop("sha256", None)
        of_items = options.pop("probability_sha256", None)
        if of_items is not None and options.get("probability") is None:
            raise InputError(
                "the probabilities of the frozen negatives were in no file, so their design cannot "
                "be read back: write them to a table with item_id and probability, and give that"
            )
        replacement = options.pop("replacement", False)
        if "negatives" not in options:
            raise InputError(
                "frozen has no negatives; say which file holds them: "
                "frozen(negatives='negatives.parquet')"
            )
        if options["negatives"] is None:
            raise InputError(
                "the frozen negatives were in no file, so their design cannot be read back: save "
                "them with FrozenNegatives.save and give that file"
            )
        negatives = options.pop("negatives")
        if isinstance(negatives, (str, os.PathLike)):
            negatives = FrozenNegatives.read(negatives, replacement=replacement)
        found = cls(negatives, **options)
        if digest is not None and found.negatives.hash != digest:
            raise InputError(
                f"{found.negatives.path} has other content (sha256 {found.negatives.hash[:12]}...) "
                f"than the design was written for ({str(digest)[:12]}...); restore that file, or "
                "leave sha256 out to take the file as it is"
            )
        known = found.probability
        if of_items is not None and known is not None and known.hash != of_items:
            raise InputError(
                f"{known.path} has other content than the design was written for; restore that file"
            )
        return found


@dataclass(frozen=True, eq=False, repr=False)
class FrozenNegatives:
    """The negatives of each test row, as ids.

    Made by `truerank.sampling.freeze`, :meth:`load` or :meth:`from_ncf`.

    Users' pools are not part of it: n_items is that of the evaluation that uses them, the
    catalogue less what ``train`` leaves out.

    Attributes
    ----------
    user_id, item_id
        The test row: the user and the target, (n_rows,). Without items (0,) negatives are those of
        a user, whatever the target.
    start, negative
        The negatives of row i are ``negative[start[i]:start[i + 1]]``, in the order drawn.
    replacement
        Whether they were drawn with replacement.
    seed
        That they were drawn with; None if others drew them.
    protocol
        More of how they were drawn, as far as known.
    path
        The file they were read from or saved to last; None if there is none.

    Examples
    --------
    >>> scorer = tr.scoring.Dense(np.random.default_rng(0).random((3, 50)))
    >>> frozen = tr.sampling.freeze(
    ...     scorer, ([0, 1, 2], [4, 5, 6]), tr.designs.Fixed(num_negatives=9)
    ... )
    >>> frozen.n_rows
    3
    """

    user_id: npt.NDArray[Any]
    item_id: npt.NDArray[Any]
    start: IntArray
    negative: npt.NDArray[Any]
    replacement: bool
    seed: int | None = None
    protocol: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = None

    @property
    def n_rows(self) -> int:
        """Number of test rows.

        Examples
        --------
        >>> scorer = tr.scoring.Dense(np.random.default_rng(0).random((3, 50)))
        >>> frozen = tr.sampling.freeze(
        ...     scorer, ([0, 1, 2], [4, 5, 6]), tr.designs.Fixed(num_negatives=9)
        ... )
        >>> frozen.n_rows
        3
        """
        return int(self.user_id.size)

    @property
    def by_user(self) -> bool:
        """Whether negatives belong to users, whatever their targets.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "test_negative.tsv"
        ...     _ = path.write_text("(0,)\\t1064\\t174\\n(1,)\\t1072\\t3154\\n")
        ...     tr.designs.FrozenNegatives.read(path).by_user
        True
        """
        return self.item_id.size == 0

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the rows, their negatives and ``replacement``, whatever the file.

        Examples
        --------
        >>> scorer = tr.scoring.Dense(np.random.default_rng(0).random((3, 50)))
        >>> frozen = tr.sampling.freeze(
        ...     scorer, ([0, 1, 2], [4, 5, 6]), tr.designs.Fixed(num_negatives=9)
        ... )
        >>> len(frozen.hash)
        64
        """
        digest = hashlib.sha256(f"truerank {FORMAT_VERSION} {self.replacement}".encode())
        for column in (self.user_id, self.item_id, self.start, self.negative):
            for part in _content(column):
                digest.update(part)
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        """Whether rows and negatives are the same, wherever they are kept."""
        if not isinstance(other, FrozenNegatives):
            return NotImplemented
        return self.hash == other.hash

    def __hash__(self) -> int:
        return hash(self.hash)

    def __repr__(self) -> str:
        sizes = np.unique(np.diff(self.start))
        size = str(sizes[0]) if sizes.size == 1 else f"{sizes[0]} to {sizes[-1]}"
        return (
            f"FrozenNegatives({self.n_rows:,} test rows; {size} negatives each, "
            f"{Scheme(self.replacement).name} replacement; {self.hash[:12]})"
        )

    def of_users(self, user_ids: npt.NDArray[Any]) -> FrozenNegatives:
        """The negatives of the rows of some users.

        Parameters
        ----------
        user_ids : array
            Ids of users.

        Returns
        -------
        FrozenNegatives
            Rows of other users are left out.

        Examples
        --------
        >>> scorer = tr.scoring.Dense(np.random.default_rng(0).random((3, 50)))
        >>> frozen = tr.sampling.freeze(
        ...     scorer, ([0, 1, 2], [4, 5, 6]), tr.designs.Fixed(num_negatives=9)
        ... )
        >>> frozen.of_users([0, 2]).user_id.tolist()
        [0, 2]
        """
        _arguments.check(FrozenNegatives.of_users, locals())
        rows = np.flatnonzero(np.isin(self.user_id, _checks.ids(user_ids, "user_ids")))
        length = np.diff(self.start)[rows]
        start = starts(length)
        place = np.arange(start[-1]) + np.repeat(self.start[rows] - start[:-1], length)
        return replace(
            self,
            user_id=self.user_id[rows],
            item_id=self.item_id if self.by_user else self.item_id[rows],
            start=start,
            negative=self.negative[place],
        )

    # -- files ------------------------------------------------------------------------------

    def to_arrow(self) -> Any:
        """The negatives as a table.

        Returns
        -------
        pyarrow.Table
            Columns ``user_id``, ``item_id`` (unless ``by_user``) and ``negatives`` (lists).

        Examples
        --------
        >>> scorer = tr.scoring.Dense(np.random.default_rng(0).random((3, 50)))
        >>> frozen = tr.sampling.freeze(
        ...     scorer, ([0, 1, 2], [4, 5, 6]), tr.designs.Fixed(num_negatives=9)
        ... )
        >>> frozen.to_arrow().column_names
        ['user_id', 'item_id', 'negatives']
        """
        import pyarrow as pa

        offsets = pa.array(self.start, pa.int64() if self.start[-1] >= 2**31 else pa.int32())
        kind = pa.LargeListArray if self.start[-1] >= 2**31 else pa.ListArray
        facts = {
            "version": FORMAT_VERSION,
            "sha256": self.hash,
            "replacement": self.replacement,
            "seed": self.seed,
            "protocol": dict(self.protocol),
        }
        columns = {
            "user_id": pa.array(self.user_id),
            "item_id": pa.array(self.item_id),
            "negatives": kind.from_arrays(offsets, pa.array(self.negative)),
        }
        if self.by_user:
            del columns["item_id"]
        return pa.table(columns, metadata={_FORMAT_KEY: json.dumps(facts).encode()})

    def save(self, path: PathLike) -> None:
        """Write to Parquet, with a hash of the content.

        Parameters
        ----------
        path : str or path
            A file name that ends in ``.parquet``.

        Examples
        --------
        >>> scorer = tr.scoring.Dense(np.random.default_rng(0).random((3, 50)))
        >>> frozen = tr.sampling.freeze(
        ...     scorer, ([0, 1, 2], [4, 5, 6]), tr.designs.Fixed(num_negatives=9)
        ... )
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     frozen.save(f"{folder}/negatives.parquet")
        ...     again = tr.designs.FrozenNegatives.load(f"{folder}/negatives.parquet")
        >>> again.hash == frozen.hash
        True
        """
        _arguments.check(FrozenNegatives.save, locals())
        tables.write_parquet(_sealed.seal(self.to_arrow()), path)
        object.__setattr__(self, "path", Path(path))

    @classmethod
    def read(cls, path: PathLike, *, replacement: bool = False) -> FrozenNegatives:
        """Read a file of negatives, ours or another tool's.

        - ``.parquet``: what :meth:`save` wrote, or a table with ``user_id``, ``item_id`` (the
          target) and ``negatives`` (a list);
        - lines ``(user,item)<tab>negative...``: NCF's ``.test.negative``;
        - lines ``(user,)<tab>negative...``: Elliot's ``test_negative.tsv``;
        - rows of ``user_id``, ``item_id`` and ``label``, 1 for targets and 0 for negatives:
          RecBole's ``.inter`` of an evaluation with labels.

        Parameters
        ----------
        path : str or path
            The file.
        replacement : bool, default False
            Whether the negatives of another tool's file were drawn with replacement; without,
            repeated negatives are an error.

        Returns
        -------
        FrozenNegatives
            The negatives.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "test.inter"
        ...     _ = path.write_text(
        ...         "user_id:token\\titem_id:token\\tlabel:float\\nu\\ta\\t1\\nu\\tb\\t0\\n"
        ...     )
        ...     frozen = tr.designs.FrozenNegatives.read(path)
        >>> frozen.item_id.tolist(), frozen.negative.tolist()
        (['a'], ['b'])
        """
        _arguments.check(FrozenNegatives.read, locals())
        path = Path(path)
        if path.suffix.lower() in tables.PARQUET:
            if path.is_file() and _FORMAT_KEY not in tables.parquet_metadata(path):
                return cls._from_table(path, replacement)
            return cls.load(path)
        if _ncf.content(path).lstrip()[:1] in ("(", ""):
            return cls.from_ncf(path, replacement=replacement)
        return cls._made(path, _ncf.labelled(path), replacement)

    @classmethod
    def load(cls, path: PathLike) -> FrozenNegatives:
        """Read what :meth:`save` wrote.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        FrozenNegatives
            The negatives.

        Raises
        ------
        InputError
            If the content is not that of the hash it was saved with.

        Examples
        --------
        >>> scorer = tr.scoring.Dense(np.random.default_rng(0).random((3, 50)))
        >>> frozen = tr.sampling.freeze(
        ...     scorer, ([0, 1, 2], [4, 5, 6]), tr.designs.Fixed(num_negatives=9)
        ... )
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     frozen.save(f"{folder}/negatives.parquet")
        ...     again = tr.designs.FrozenNegatives.load(f"{folder}/negatives.parquet")
        >>> again.hash == frozen.hash
        True
        """
        _arguments.check(FrozenNegatives.load, locals())
        path = Path(path)
        source = tables.read(path)
        facts = tables.parquet_metadata(path).get(_FORMAT_KEY)
        if facts is None:
            raise InputError(
                f"{path} holds no frozen negatives; for a text file of lines '(user,item) negative "
                "...' use FrozenNegatives.from_ncf"
            )
        try:
            card = json.loads(facts)
            if card["version"] != FORMAT_VERSION:
                raise InputError(
                    f"{path} is of format {card['version']!r}; this truerank reads up to "
                    f"{FORMAT_VERSION}: upgrade truerank"
                )
            lists = [np.asarray(part) for part in source.values("negatives").tolist()]
            by_user = "item_id" not in source.columns
            found = cls(
                _checks.ids(source.values("user_id"), "user_id"),
                _NO_ITEMS if by_user else _checks.ids(source.values("item_id"), "item_id"),
                starts([part.size for part in lists]),
                _checks.ids(np.concatenate(lists), "negatives"),
                bool(card["replacement"]),
                card["seed"],
                dict(card["protocol"]),
                path,
            )
            same = card["sha256"] == found.hash
        except (ValueError, TypeError, KeyError) as error:
            if isinstance(error, InputError) and str(path) in str(error):
                raise
            raise InputError(f"{path} is damaged: {error}") from None
        if not same:
            raise InputError(
                f"{path} was changed after it was written: its content does not have the hash "
                f"{str(card['sha256'])[:12]}... that it was saved with"
            )
        _sealed.check(source.native, path, needed=False)
        return found

    @classmethod
    def from_ncf(cls, path: PathLike, *, replacement: bool = False) -> FrozenNegatives:
        """Read lines ``(user,item)<tab>negative<tab>negative...``, one per test row.

        NCF published its test sets so, and many followed. Ids are numbers if all of them are
        spelled so.

        Parameters
        ----------
        path : str or path
            The file.
        replacement : bool, default False
            Whether they were drawn with replacement; without, repeated negatives are an error.

        Returns
        -------
        FrozenNegatives
            The negatives.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "test.negative"
        ...     _ = path.write_text("(0,25)\\t1064\\t174\\n(1,133)\\t1072\\t3154\\n")
        ...     frozen = tr.designs.FrozenNegatives.from_ncf(path)
        >>> frozen.n_rows
        2
        """
        _arguments.check(FrozenNegatives.from_ncf, locals())
        return cls._made(Path(path), _ncf.read(Path(path)), replacement)

    @classmethod
    def _made(
        cls, path: Path, read: tuple[list[str], list[str], list[list[str]]], replacement: bool
    ) -> FrozenNegatives:
        """From users, targets (none if negatives are those of users) and lists of negatives."""
        users, targets, negatives = read
        items = _ncf.ids([*targets, *itertools.chain.from_iterable(negatives)])
        found = cls(
            _ncf.ids(users),
            items[: len(targets)],
            starts([len(row) for row in negatives]),
            items[len(targets) :],
            Scheme(replacement).replacement,
            protocol={"source": path.name},
            path=path,
        )
        return found._checked()

    @classmethod
    def _from_table(cls, path: Path, replacement: bool) -> FrozenNegatives:
        """From a table that is not ours, with lists of negatives."""
        table = tables.read(path)
        user, item = table.find("user_id"), table.find("item_id")
        if user is None or "negatives" not in table.columns:
            raise table.missing("user_id and negatives")
        lists = [np.asarray(part) for part in table.values("negatives").tolist()]
        empty = [row for row, part in enumerate(lists) if part.size == 0]
        if empty or not lists:
            raise InputError(f"{path} has no negatives{f' in row {empty[0]}' if empty else ''}")
        found = cls(
            _checks.ids(table.values(user), "user_id"),
            _NO_ITEMS if item is None else _checks.ids(table.values(item), "item_id"),
            starts([part.size for part in lists]),
            _checks.ids(np.concatenate(lists), "negatives"),
            Scheme(replacement).replacement,
            protocol={"source": path.name},
            path=path,
        )
        return found._checked()

    def _checked(self) -> FrozenNegatives:
        code = np.unique(self.negative, return_inverse=True)[1]
        check_repeated(self, np.arange(self.n_rows), self.start, code)
        return self


def starts(lengths: Any) -> IntArray:
    """Where each of consecutive lists of these lengths begins, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(np.asarray(lengths, dtype=np.int64))])


def _content(column: npt.NDArray[Any]) -> list[bytes]:
    """A column as bytes that do not depend on how it is stored."""
    if column.dtype.kind in "iu":
        return [b"numbers", column.astype("<i8").tobytes()]
    texts = [text.encode() for text in column.tolist()]
    lengths = np.array([len(text) for text in texts], dtype="<i8")
    return [b"texts", lengths.tobytes(), b"".join(texts)]


def check_repeated(
    frozen: FrozenNegatives, rows: IntArray, start: IntArray, items: IntArray
) -> None:
    """Raise if a row has an item twice though they were drawn without replacement."""
    if frozen.replacement:
        return
    row_of = np.repeat(np.arange(rows.size), np.diff(start))
    order = np.lexsort([items, row_of])
    twice = np.zeros(items.size, dtype=np.bool_)
    twice[order[1:]] = (np.diff(items[order]) == 0) & (np.diff(row_of[order]) == 0)
    raise_if(twice, frozen, rows[row_of], "repeat another one of their row", "say replacement=True")


def raise_if(
    wrong: npt.NDArray[np.bool_],
    frozen: FrozenNegatives,
    row_of: IntArray,
    what: str,
    remedy: str,
) -> None:
    """Raise if any negative is wrong, naming the first."""
    if wrong.any():
        row = int(row_of[np.argmax(wrong)])
        raise InputError(
            f"{int(wrong.sum())} frozen negatives {what} (the first: of user "
            f"{frozen.user_id[row]}{'' if frozen.by_user else f', item {frozen.item_id[row]}'}); "
            f"{remedy}"
        )
