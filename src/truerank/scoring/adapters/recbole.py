"""RecBole: general, context-aware and sequential models."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from truerank import _arguments
from truerank._types import IntArray
from truerank.errors import InputError, MissingExtraError
from truerank.scoring.adapters._rows import Rows
from truerank.scoring.scorer import Scorer
from truerank.scoring.torch import device_of, evaluating

_BLOCK = 2**22  # scores in one call of the model
_USERS = 256  # users in one call, at most
_PAIRS = 2**16  # pairs in one call of a model that scores pair by pair


def from_recbole(model: Any, test_data: Any) -> Scorer:
    """A trained model of RecBole as a scorer, with RecBole's tokens as ids.

    Parameters
    ----------
    model : recbole.model.abstract_recommender.AbstractRecommender
        A trained general, context-aware or sequential model.
    test_data : recbole.data.dataloader.AbstractDataLoader
        The third of ``data_preparation(config, dataset)``, with full or sampled evaluation, or its
        dataset. A sequential model is asked with the sequences in there, so it knows only the
        users of the test, and there must be one row for each.

    Returns
    -------
    Scorer
        For :func:`truerank.rank`, :func:`truerank.count` and :func:`truerank.evaluate`.

    Raises
    ------
    MissingExtraError
        If RecBole is not installed.
    InputError
        If a user of a sequential model has several test rows.

    Notes
    -----
    - Tokens are strings, whatever your file holds: give test and train with string ids.
    - RecBole's id 0 is padding and no item. It is left out here, so ``n_items`` is one less than
      ``dataset.item_num``.
    - In full ranking RecBole leaves out all items of earlier phases for a general model's user:
      training and, for the test, validation. Give both as ``train=``. A sequential model's history
      is *not* left out there: give no ``train=`` to get RecBole's numbers.
    - RecBole ranks a user's several test items together and averages over users; the test rows of
      a sequential model each count by themselves.
    - ``uni100`` and the like draw 100 negatives for each test item, with replacement, from what the
      user has not touched so far, test included. One drawn twice counts once, and a user's test
      items and all their negatives are ranked as one list.

    Examples
    --------
    >>> from pathlib import Path
    >>> from recbole.config import Config
    >>> from recbole.data import create_dataset, data_preparation
    >>> from recbole.model.general_recommender import Pop
    >>> Path("tiny").mkdir()
    >>> lines = [f"u{u}\\ti{(u * i) % 13}" for u in range(1, 13) for i in range(1, 6)]
    >>> header = "user_id:token\\titem_id:token"
    >>> _ = Path("tiny/tiny.inter").write_text("\\n".join([header, *lines]))
    >>> options = {"data_path": ".", "use_gpu": False, "load_col": None, "seed": 0}
    >>> config = Config(model="Pop", dataset="tiny", config_dict=options)
    >>> train, valid, test = data_preparation(config, create_dataset(config))
    >>> scorer = tr.scoring.adapters.from_recbole(Pop(config, train.dataset), test)
    >>> scorer.n_items
    12
    """
    _arguments.check(from_recbole, locals())
    try:
        import torch
        from recbole.data.interaction import Interaction
        from recbole.utils import ModelType
    except ImportError as error:
        raise MissingExtraError("this adapter needs RecBole: pip install recbole") from error
    dataset = getattr(test_data, "dataset", test_data)
    who = f"RecBole's {type(model).__name__}"
    sequential = getattr(model, "type", None) == ModelType.SEQUENTIAL
    user_field = dataset.uid_field
    if sequential:
        numbers = dataset.inter_feat[user_field].numpy()
        _check_one_row(numbers, who)
    else:
        numbers = np.arange(1, dataset.user_num)
    device = device_of(model)
    n_items = dataset.item_num  # padding included
    height = max(1, min(_USERS, _BLOCK // n_items))

    def ask(users: IntArray) -> npt.NDArray[Any]:
        """Scores of all items for users (rows of ``numbers``), padding included."""
        if sequential:
            questions = dataset[torch.from_numpy(users)]
            if hasattr(test_data, "transform"):
                questions = test_data.transform(dataset, questions)
        else:
            questions = dataset.join(Interaction({user_field: torch.from_numpy(numbers[users])}))
        try:
            answer = model.full_sort_predict(questions.to(device))
        except NotImplementedError:
            answer = _pair_by_pair(model, questions, dataset.get_item_feature(), device, torch)
        return np.asarray(answer.view(-1, n_items).cpu().numpy())

    def rows(users: IntArray) -> npt.NDArray[Any]:
        # Always as many users in a call: matrix products round differently for other shapes.
        answers = []
        with evaluating(model, torch):
            for begin in range(0, users.size, height):
                part = users[begin : begin + height]
                filled = np.pad(part, (0, height - part.size), "edge")
                answers.append(ask(filled)[: part.size, 1:])
        return np.concatenate(answers) if answers else np.empty((0, n_items - 1))

    tokens = dataset.field2id_token
    return Rows(
        rows,
        who=who,
        n_users=numbers.size,
        n_items=n_items - 1,
        user_ids=tokens[user_field][numbers],
        item_ids=tokens[dataset.iid_field][1:],
    )


def _pair_by_pair(model: Any, users: Any, items: Any, device: Any, torch: Any) -> Any:
    """Scores of every item for every user, (n_users * n_items,), by ``model.predict``."""
    n_users, n_items = len(users), len(items)
    step = max(1, _PAIRS // n_items)
    answers = []
    for begin in range(0, n_users, step):
        at = torch.arange(begin, min(begin + step, n_users))
        pairs = users[at].repeat_interleave(n_items)
        pairs.update(items.repeat(at.numel()))
        answers.append(model.predict(pairs.to(device)).view(-1))
    return torch.cat(answers)


def _check_one_row(numbers: npt.NDArray[Any], who: str) -> None:
    _, count = np.unique(numbers, return_counts=True)
    if (count > 1).any():
        raise InputError(
            f"{int((count > 1).sum())} users have several rows in the test data of {who}, each "
            "with a sequence of its own, so that a pair of user and item has no one score; split "
            "leave-one-out (eval_args: split: {'LS': 'valid_and_test'})"
        )
