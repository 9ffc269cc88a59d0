"""Scores and evaluations of PyKEEN's models, against PyKEEN."""

import numpy as np
import pytest
from libraries import library

import truerank as tr
from truerank.errors import InputError
from truerank.scoring.adapters import from_pykeen

pykeen = library("pykeen")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the library

N_ENTITIES, N_RELATIONS = 40, 3


def graph():
    """Labelled triples of train, valid and test; labels do not sort like their numbers."""
    rng = np.random.default_rng(3)
    pairs = np.unique(rng.integers(0, [N_ENTITIES, N_RELATIONS, N_ENTITIES], (400, 3)), axis=0)
    chain = np.stack([np.arange(N_ENTITIES), np.arange(N_ENTITIES) % 3], 1)
    chain = np.column_stack([chain, (np.arange(N_ENTITIES) + 1) % N_ENTITIES])
    pairs = rng.permutation(pairs[~(pairs[:, None] == chain).all(-1).any(-1)])
    labels = np.array([f"e{n}" for n in range(N_ENTITIES)])
    names = np.array(["likes", "knows", "cites"])

    def labelled(rows):
        return np.column_stack([labels[rows[:, 0]], names[rows[:, 1]], labels[rows[:, 2]]])

    return (
        labelled(np.concatenate([chain, pairs[:200]])),
        labelled(pairs[200:230]),
        labelled(pairs[230:280]),
    )


def trained(name, *, inverse=False):
    from pykeen.training import LCWATrainingLoop, SLCWATrainingLoop
    from pykeen.triples import TriplesFactory
    from torch.optim import Adam

    train, valid, test = graph()
    factory = TriplesFactory.from_labeled_triples(train, create_inverse_triples=inverse)
    more = [
        TriplesFactory.from_labeled_triples(
            rows, entity_to_id=factory.entity_to_id, relation_to_id=factory.relation_to_id
        )
        for rows in (valid, test)
    ]
    model = pykeen.models.model_resolver.make(
        name, {"embedding_dim": 8, "triples_factory": factory, "random_seed": 0}
    )
    loop = (LCWATrainingLoop if inverse else SLCWATrainingLoop)(
        model=model, triples_factory=factory, optimizer=Adam(model.parameters())
    )
    loop.train(factory, num_epochs=2, batch_size=64, use_tqdm=False)
    return model, factory, more


def questions(known=True):
    train, valid, test = (tr.data.read_triples(rows) for rows in graph())
    return test.queries(known=[train, valid] if known else ())


@pytest.mark.parametrize(
    ("name", "inverse"),
    [("DistMult", False), ("TransE", False), ("ComplEx", True), ("RotatE", True)],
)
def test_metrics_are_those_of_pykeens_evaluator(name, inverse):
    """All of them, of filtered realistic ranks, by side and for both."""
    from pykeen.evaluation import RankBasedEvaluator

    model, factory, (valid, test) = trained(name, inverse=inverse)
    own = RankBasedEvaluator(clear_on_finalize=False).evaluate(
        model,
        test.mapped_triples,
        additional_filter_triples=[factory.mapped_triples, valid.mapped_triples],
        use_tqdm=False,
        batch_size=16,
    )
    queries = questions()
    scorer = from_pykeen(model, queries, factory=factory)
    counts = tr.count(scorer, queries.test, train=queries.train)
    names = {
        "mr": "arithmetic_mean_rank",
        "amr": "adjusted_arithmetic_mean_rank",
        "amri": "adjusted_arithmetic_mean_rank_index",
        "mrr": "inverse_harmonic_mean_rank",
        "hits@10": "hits_at_10",
        "hits@1": "hits_at_1",
    }
    found = tr.estimate(counts, list(names))
    for ours, theirs in names.items():
        value = own.get_metric(f"both.realistic.{theirs}")
        assert found[ours].value == pytest.approx(value, rel=1e-5), ours
    ranks = queries.with_columns(tr.rank(scorer, queries.test, train=queries.train, ties="mid"))
    for side in ("head", "tail"):
        mine = np.array(ranks["rank"])[np.array(ranks["side"]) == side]
        theirs = own.get_metric(f"{side}.realistic.arithmetic_mean_rank")
        assert mine.mean() == pytest.approx(theirs, rel=1e-5)


@pytest.mark.parametrize("inverse", [False, True])
def test_a_pair_has_one_score(inverse):
    model, factory, _ = trained("DistMult", inverse=inverse)
    queries = questions()
    scorer = from_pykeen(model, queries, factory=factory, batch_pairs=64)
    users = np.arange(0, len(queries), 7)
    every = scorer.score_all(users)
    items = np.random.default_rng(0).integers(0, N_ENTITIES, (users.size, 6))
    wanted = np.take_along_axis(every, items, axis=1)
    np.testing.assert_allclose(scorer.score(users, items), wanted, rtol=1e-5, atol=1e-6)
    alone = [scorer.score(users[[row]], items[[row]])[0] for row in range(users.size)]
    np.testing.assert_array_equal(alone, scorer.score(users, items))


def test_the_model_is_left_in_its_mode():
    model, factory, _ = trained("DistMult")
    model.train()
    queries = questions()
    from_pykeen(model, queries, factory=factory).score_all(np.array([0, 60]))
    assert model.training


def test_numbers_instead_of_labels():
    model, factory, _ = trained("TransE")
    ids = factory.entity_to_id, factory.relation_to_id, factory.entity_to_id
    columns = [[of[one] for one in rows] for of, rows in zip(ids, graph()[2].T, strict=True)]
    numbers = tr.data.read_triples(columns).queries()
    scorer = from_pykeen(model, numbers)
    labelled = from_pykeen(model, questions(known=False), factory=factory)
    users = np.arange(20)
    np.testing.assert_array_equal(scorer.score_all(users), labelled.score_all(users))


def test_refused():
    model, factory, _ = trained("DistMult")
    with pytest.raises(InputError, match="expected a model of PyKEEN"):
        from_pykeen(object(), questions())
    with pytest.raises(InputError, match="give factory= for questions in labels"):
        from_pykeen(model, questions())
    strange = tr.data.Triples(["e1"], ["hates"], ["e2"]).queries()
    with pytest.raises(InputError, match="'hates' of question 0 is no relation known to PyKEEN's"):
        from_pykeen(model, strange, factory=factory)
    with pytest.raises(InputError, match=r"99.* of question 0 is no entity"):
        from_pykeen(model, tr.data.Triples([99], [0], [2]).queries())
