"""PyKEEN: knowledge-graph embedding models, which score entities for questions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _arguments
from truerank._types import IntArray
from truerank.data.links import Queries
from truerank.errors import InputError
from truerank.scoring.scorer import Scorer
from truerank.scoring.torch import Torch, device_of, import_torch


def from_pykeen(
    model: Any, queries: Queries, *, factory: Any = None, batch_pairs: int = 8192
) -> Scorer:
    """A model of PyKEEN as a scorer of entities for the questions of link prediction.

    Parameters
    ----------
    model : pykeen.models.Model
        A trained model. Inductive models, which need a mode, are not supported.
    queries : Queries
        The questions, as ``test.queries(known=[train, valid])`` gives them. Their numbers are the
        scorer's users, the model's entities its items.
    factory : pykeen.triples.TriplesFactory, optional
        The training triples, whose labels the questions are in. Without it, entities and relations
        are PyKEEN's own numbers.
    batch_pairs : int
        Pairs of question and entity in one call.

    Returns
    -------
    Scorer
        For :func:`truerank.rank`, :func:`truerank.count` and :func:`truerank.evaluate`, with
        ``queries.test`` as test and ``queries.train`` as train.

    Raises
    ------
    InputError
        If a question's entity or relation is unknown to the model.

    Notes
    -----
    Scores are those of ``predict_t`` and ``predict_h``: as in PyKEEN's evaluation, a model trained
    with inverse triples answers questions for heads by its inverse relations. PyKEEN's
    ``realistic`` ranks are the mean of optimistic and pessimistic ones (``ties="mid"``); `count`
    shares a target's weight among its tied ranks instead, which gives the same mean rank.

    Examples
    --------
    >>> import torch
    >>> from pykeen.models import DistMult
    >>> from pykeen.triples import CoreTriplesFactory
    >>> known = torch.tensor([[0, 0, 1], [1, 0, 2], [2, 0, 0]])
    >>> model = DistMult(triples_factory=CoreTriplesFactory.create(known), random_seed=0)
    >>> queries = tr.data.Triples([0], [0], [2]).queries(known=tr.data.read_triples(known.numpy()))
    >>> scorer = tr.scoring.adapters.from_pykeen(model, queries)
    >>> tr.rank(scorer, queries.test, train=queries.train)["n_items"].to_pylist()
    [2, 2]
    """
    _arguments.check(from_pykeen, locals())
    torch: Any = import_torch()
    who = f"PyKEEN's {type(model).__name__}"
    if not callable(getattr(model, "predict_t", None)):
        raise InputError(f"model is a {type(model).__name__}; expected a model of PyKEEN")
    if not isinstance(queries, Queries):
        raise InputError(
            f"queries is a {type(queries).__name__}; give test.queries(known=[train, valid])"
        )
    n_entities, n_relations = int(model.num_entities), int(model.num_real_relations)
    entities = _labels(factory, "entity", n_entities, who)
    entity = _numbers(queries.entity, entities, n_entities, f"entity known to {who}")
    relations = _labels(factory, "relation", n_relations, who)
    relation = _numbers(queries.relation, relations, n_relations, f"relation known to {who}")
    tails = queries.side == "tail"
    # (head, relation) of questions for tails, (relation, tail) of those for heads.
    pairs = np.where(
        tails[:, None], np.stack([entity, relation], 1), np.stack([relation, entity], 1)
    )
    device = device_of(model)

    class Answers(torch.nn.Module):  # type: ignore[misc]
        """Scores of (question, entity) pairs."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model
            self.pairs = torch.from_numpy(pairs).to(device)
            self.tails = torch.from_numpy(tails).to(device)

        def forward(self, users: Any, items: Any) -> Any:
            return self._answered(users, items[:, None])[:, 0]

        def every(self, users: Any) -> Any:
            return self._answered(users, None)

        def _answered(self, users: Any, items: Any) -> Any:
            """(P, n) or (P, n_entities). Calls have one shape, whatever the mix of sides."""
            asked, tails = self.pairs[users], self.tails[users]
            found = None
            if tails.any():
                batch = torch.where(tails[:, None], asked, asked[tails][:1])
                found = self.model.predict_t(batch, tails=items)
            if not tails.all():
                batch = torch.where(tails[:, None], asked[~tails][:1], asked)
                heads = self.model.predict_h(batch, heads=items)
                found = heads if found is None else torch.where(tails[:, None], found, heads)
            return found

    answers = Answers()
    return Torch(
        answers,
        n_items=None if entities is not None else n_entities,
        item_ids=entities,
        user_ids=np.arange(len(queries)),
        device=device,
        batch_pairs=batch_pairs,
        score_all=answers.every,
    )


def _labels(factory: Any, kind: str, number: int, who: str) -> npt.NDArray[np.str_] | None:
    """The labels of entities or relations by their numbers, if there is a factory."""
    if factory is None:
        return None
    ids = getattr(factory, f"{kind}_to_id", None)
    if ids is None:
        raise InputError(
            f"factory has no {kind}_to_id; give the TriplesFactory that {who} was trained on"
        )
    labels = np.empty(number, dtype=object)
    for label, at in ids.items():
        if at < number:
            labels[at] = str(label)
    if len(ids) < number:
        raise InputError(f"factory has {len(ids)} {kind} labels; {who} has {number}")
    return labels.astype(np.str_)


def _numbers(
    ids: npt.NDArray[Any], labels: npt.NDArray[np.str_] | None, number: int, what: str
) -> IntArray:
    """Ids of questions as PyKEEN's numbers."""
    if labels is None:
        if ids.dtype.kind not in "iu":
            raise InputError(
                f"{ids[0].item()!r} is no {what}: give factory= for questions in labels"
            )
        known = (ids >= 0) & (ids < number)
        found = ids.astype(np.int64)
    else:
        order = np.argsort(labels)
        at = np.minimum(np.searchsorted(labels[order], ids.astype(np.str_)), number - 1)
        found = order[at].astype(np.int64)
        known = labels[found] == ids.astype(np.str_)
    if not known.all():
        row = int(np.argmin(known))
        raise InputError(
            f"{ids[row].item()!r} of question {row} is no {what}, which has {number}; leave such "
            "triples out"
        )
    return found
