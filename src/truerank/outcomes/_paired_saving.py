"""Paired counts as Arrow tables and Parquet files, and back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from truerank import _arguments, _checks
from truerank._types import FloatArray, IntArray, PathLike
from truerank.errors import InputError
from truerank.outcomes import _ranks, _sealed, tables
from truerank.outcomes.schemes import Scheme

FORMAT_VERSION = 1
_FORMAT_KEY = tables.SAVED["paired"]
_OF_MODELS = ("scheme", "sample_size", "sampled_rank", "tied")
_N_FACTS = 5  # of files of earlier versions, without a checksum
_PLACES = ("above", "tied", "below")


@dataclass(frozen=True, eq=False, repr=False)
class PairedSaving:
    """How a PairedCounts is kept; see there."""

    models: tuple[str, ...]
    schemes: tuple[Scheme, ...]
    scheme: IntArray
    n_items: IntArray
    sample_size: IntArray
    sampled_rank: IntArray
    tied: IntArray
    pairs: tuple[tuple[str, str], ...]
    joint: IntArray
    weight: FloatArray
    n_users: float
    squared_weight: float
    n_dropped: tuple[int, ...]

    def to_arrow(self) -> Any:
        """The joint outcomes as a pyarrow Table, one row per joint outcome.

        Returns
        -------
        pyarrow.Table
            Columns ``n_items`` and ``weight``; ``scheme.A``, ``sample_size.A``, ``sampled_rank.A``
            and ``tied.A`` for each model A; ``above_below.A.B`` and so on for each pair with joint
            counts: negatives above the target by A and below it by B.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"user_id": [1, 1], "model": ["A", "B"], "rank": [1, 2]})
        >>> paired = tr.PairedCounts.from_table(table, num_negatives=99, n_items=3706)
        >>> paired.to_arrow().column_names[:4]
        ['n_items', 'weight', 'scheme.A', 'sample_size.A']
        """
        import pyarrow as pa

        names = pa.array([scheme.name for scheme in self.schemes])
        columns: dict[str, Any] = {"n_items": self.n_items, "weight": self.weight}
        for at, model in enumerate(self.models):
            code = pa.array(self.scheme[:, at], pa.int32())
            columns[f"scheme.{model}"] = pa.DictionaryArray.from_arrays(code, names)
            columns |= {f"{name}.{model}": getattr(self, name)[:, at] for name in _OF_MODELS[1:]}
        for at, pair in enumerate(self.pairs):
            columns |= {
                name: self.joint[:, at, *place]
                for name, place in zip(_joint(pair), _CELLS, strict=True)
            }
        facts = {
            "version": FORMAT_VERSION,
            "models": self.models,
            "pairs": self.pairs,
            "n_users": self.n_users,
            "squared_weight": self.squared_weight,
            **({"n_dropped": self.n_dropped} if self.n_dropped else {}),
        }
        return pa.table(columns, metadata={_FORMAT_KEY: json.dumps(facts).encode()})

    def save(self, path: PathLike) -> None:
        """Write the counts to a Parquet file, which :meth:`load` reads.

        The file appears whole or not at all: it is written under a temporary name and renamed. A
        checksum tells :meth:`load` whether it was damaged since.

        Parameters
        ----------
        path : str or path
            Where to write; the name ends in ``.parquet``.

        Raises
        ------
        InputError
            If the name has another ending or the folder does not exist.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"user_id": [1, 1], "model": ["A", "B"], "rank": [1, 2]})
        >>> paired = tr.PairedCounts.from_table(table, num_negatives=99, n_items=3706)
        >>> paired.save("paired.parquet")
        >>> tr.PairedCounts.load("paired.parquet") == paired
        True
        """
        _arguments.check(PairedSaving.save, locals())
        table = self.to_arrow()
        facts = json.loads(table.schema.metadata[_FORMAT_KEY])
        sealed = {_FORMAT_KEY: json.dumps({**facts, _sealed.MARK: True}).encode()}
        tables.write_parquet(_sealed.seal(table.replace_schema_metadata(sealed)), path)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read the counts that :meth:`save` wrote.

        Parameters
        ----------
        path : str or path
            The Parquet file.

        Returns
        -------
        PairedCounts
            Equal to those saved, bit for bit.

        Raises
        ------
        InputError
            If the file holds something else (for files of ranks use :meth:`from_tables`), is
            damaged, or was written by a later truerank.

        Examples
        --------
        >>> import pandas as pd
        >>> table = pd.DataFrame({"user_id": [1, 1], "model": ["A", "B"], "rank": [1, 2]})
        >>> paired = tr.PairedCounts.from_table(table, num_negatives=99, n_items=3706)
        >>> paired.save("paired.parquet")
        >>> tr.PairedCounts.load("paired.parquet").models
        ('A', 'B')
        """
        _arguments.check(PairedSaving.load, locals())
        path = Path(path)
        source = tables.read(path)
        found = tables.parquet_metadata(path).get(_FORMAT_KEY)
        if found is None:
            raise InputError(
                f"{path} holds no PairedCounts; for files of ranks use PairedCounts.from_tables"
            )
        try:
            facts = json.loads(found)
            version = facts["version"]
            if version != FORMAT_VERSION:
                raise InputError(
                    f"{path} is PairedCounts format {str(version)[:20]!r}; this truerank reads up "
                    f"to {FORMAT_VERSION}: upgrade truerank"
                )
            paired = cls._of_columns(source, facts)
        except (ValueError, TypeError, KeyError) as error:
            if isinstance(error, InputError) and str(path) in str(error):
                raise
            raise InputError(f"{path} is damaged: {error}") from None
        _sealed.check(source.native, path, needed=len(facts) != _N_FACTS)
        return paired

    @classmethod
    def _of_columns(cls, source: tables.Table, facts: dict[str, Any]) -> Self:
        models = tuple(facts["models"])
        pairs = tuple((first, second) for first, second in facts["pairs"])

        def whole(name: str) -> IntArray:
            return _checks.whole_numbers(source.values(name), name)

        names = [source.values(f"scheme.{model}") for model in models]
        known = {name: at for at, name in enumerate(dict.fromkeys(np.concatenate(names).tolist()))}
        scheme = np.array([[known[name] for name in column.tolist()] for column in names]).T
        pool = whole("n_items")
        size, rank, tied = (
            np.stack([whole(f"{name}.{model}") for model in models], axis=1)
            for name in _OF_MODELS[1:]
        )
        joint = np.zeros((pool.size, len(pairs), 9), dtype=np.int64)
        for at, pair in enumerate(pairs):
            joint[:, at] = np.stack([whole(name) for name in _joint(pair)], axis=1)
        schemes = [Scheme.parse(name) for name in known]
        for code, one in enumerate(schemes):
            row, model = np.nonzero(scheme == code)
            for ends in (rank, rank + tied):
                _ranks.check_outcomes(one, pool[row], size[row, model], ends[row, model])
        return cls._build(  # type: ignore[attr-defined, no-any-return]
            models,
            schemes,
            scheme,
            pool,
            size,
            rank,
            _ranks.row_weights(source.values("weight"), pool.size),
            n_users=_checks.real(facts["n_users"], "n_users", low=0.0, open_low=True),
            squared_weight=_checks.real(
                facts["squared_weight"], "squared_weight", low=0.0, open_low=True
            ),
            tied=tied,
            pairs=pairs,
            joint=joint.reshape(pool.size, len(pairs), 3, 3),
            n_dropped=tuple(map(int, facts.get("n_dropped", ()))),
        )


_CELLS = [(i, j) for i in range(3) for j in range(3)]


def _joint(pair: tuple[str, str]) -> list[str]:
    """The columns of a pair's joint counts, in the order of _CELLS."""
    return [f"{_PLACES[i]}_{_PLACES[j]}.{pair[0]}.{pair[1]}" for i, j in _CELLS]


def is_saved_paired(path: Any) -> bool:
    """Whether ``path`` is a Parquet file that `PairedCounts.save` wrote."""
    return _FORMAT_KEY in tables.parquet_metadata(Path(path))
