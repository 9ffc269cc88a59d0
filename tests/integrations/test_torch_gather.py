"""Two processes of torch.distributed (gloo) that share the users; needs torch."""

import json

import numpy as np
import pytest

import truerank as tr

torch = pytest.importorskip("torch", reason="make adapter-torch installs it")

N_USERS, N_ITEMS = 90, 300
DESIGN = "fixed(num_negatives=30)"


def epochs():
    rng = np.random.default_rng(0)
    items, taste = rng.normal(size=(N_ITEMS, 8)), rng.normal(size=(N_USERS, 8))
    test = np.arange(N_USERS), (taste @ items.T).argmax(axis=1)
    noises = (1.0, 0.2, 2.0)
    return test, [
        tr.scoring.Factors(taste + noise * rng.normal(size=taste.shape), items) for noise in noises
    ]


def watched(test, scorers, **options):
    monitor = tr.Monitor(test, design=DESIGN, patience=1, **options)
    for scorer in scorers:
        monitor.update(scorer)
    told = [{**row, "seconds": None} for row in monitor.rows()]
    return {"rows": told, "best": monitor.best_epoch, "stop": monitor.should_stop}


def process(rank, folder):
    store = f"file://{folder}/store"
    torch.distributed.init_process_group("gloo", init_method=store, rank=rank, world_size=2)
    test, scorers = epochs()
    share = tuple(part[rank::2] for part in test)
    found = watched(share, scorers, gather=tr.integrations.torch.gather)
    (folder / f"{rank}.json").write_text(json.dumps(found))
    torch.distributed.destroy_process_group()


def test_every_process_says_what_one_would(tmp_path):
    torch.multiprocessing.spawn(process, (tmp_path,), nprocs=2)
    found = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)]
    alone = watched(*epochs())
    assert found[0] == found[1]
    assert found[0] == json.loads(json.dumps(alone))
    assert alone["stop"]
