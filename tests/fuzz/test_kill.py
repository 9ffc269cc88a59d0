"""Killed at any moment: files are whole or as they were, paid pairs are kept, nothing is left over.

``TRUERANK_FUZZ`` is the number of kills of each kind; a few unless it is set.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import truerank as tr
from truerank import _files

ROUNDS = int(os.environ.get("TRUERANK_FUZZ") or 3)
pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL here")
# Starting Python takes long: a process does the work again and again until it is killed.
LOOP = "import itertools, sys\n{setup}\nprint('ready', flush=True)\nfor at in itertools.count():\n"


def killed(code: str, folder: Path, seconds: float) -> None:
    """Run code in a folder and kill it ``seconds`` after it said that it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process.stdout, process.stderr:
        said = process.stdout.readline()
        assert said == b"ready\n", process.stderr.read().decode()
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        assert process.wait(60) == -signal.SIGKILL, process.stderr.read().decode()


def moments(number: int, longest: float) -> list[float]:
    """Random times to kill at, the same in every run of so many."""
    return np.random.default_rng(number).uniform(0.0, longest, ROUNDS).tolist()


def check_nothing_is_left(folder: Path) -> None:
    """The next that writes into the folder removes what was left."""
    _files._swept.clear()
    with _files.replacing(folder / "other") as path:
        path.write_text("")
    assert not [path for path in folder.iterdir() if path.name.endswith(_files.SUFFIX)]


def test_save(tmp_path: Path) -> None:
    setup = (
        "import numpy as np, truerank as tr\n"
        "def made(at):\n"
        "    ranks = 1 + np.random.default_rng(at % 5).binomial(99, 0.2, 3000)\n"
        "    return tr.RankCounts.from_ranks(ranks, num_negatives=99, n_items=3706)\n"
    )
    known: dict[str, object] = {}
    exec(setup, known)
    wanted = [known["made"](at) for at in range(5)]  # type: ignore[operator]
    code = LOOP.format(setup=setup) + "    made(at).save('counts.parquet')\n"
    for seconds in moments(1, 0.3):
        killed(code, tmp_path, seconds)
        if (tmp_path / "counts.parquet").exists():
            assert tr.RankCounts.load(tmp_path / "counts.parquet") in wanted
    check_nothing_is_left(tmp_path)


def test_report(tmp_path: Path) -> None:
    setup = (
        "import warnings, truerank as tr\n"
        "warnings.simplefilter('ignore')\n"
        "counts = tr.RankCounts.from_exact_ranks([1, 4, 2, 9], n_items=10)\n"
        "est = {'EASE': tr.estimate(counts, 'recall@5')}\n"
        "tr.report.render(est)\n"
    )
    code = LOOP.format(setup=setup) + "    tr.report.write(est, 'report.html')\n"
    for seconds in moments(2, 0.5):
        killed(code, tmp_path, seconds)
        if (tmp_path / "report.html").exists():
            text = (tmp_path / "report.html").read_text(encoding="utf-8")
            assert text.startswith("<!DOCTYPE html>")
            assert text.rstrip().endswith("</html>")
    check_nothing_is_left(tmp_path)


def test_evaluate(tmp_path: Path) -> None:
    np.save(tmp_path / "S.npy", np.random.default_rng(0).normal(size=(30, 40)))
    rows = "".join(f"{user},{user}\n" for user in range(30))
    (tmp_path / "test.csv").write_text("user_id,item_id\n" + rows)
    arguments = "evaluate --scores S.npy --test test.csv --num-negatives 9 -m recall@5 -q"
    outputs = "--save-counts counts.parquet -o a.json"
    setup = (
        "from truerank.cli import _run\n"
        f"arguments = '{arguments} {outputs}'.split()\n"
        "assert _run(arguments) == 0\n"
    )
    code = LOOP.format(setup=setup) + "    assert _run(arguments) == 0\n"
    (before,) = {path.read_bytes() for path in [tmp_path / "S.npy"]}
    for seconds in moments(3, 0.5):
        killed(code, tmp_path, seconds)
        assert json.loads((tmp_path / "a.json").read_text())["results"]
        assert tr.RankCounts.load(tmp_path / "counts.parquet").n_users == 30
    assert (tmp_path / "S.npy").read_bytes() == before
    check_nothing_is_left(tmp_path)


def test_cache(tmp_path: Path) -> None:
    """No score is wrong, and pairs that were answered are not asked for again."""
    setup = (
        "import numpy as np\n"
        "from truerank.scoring import Callable\n"
        "log = open('log', 'a', buffering=1)\n"
        "def score(users, items):\n"
        "    print('asked', *users, file=log)\n"
        "    return users[:, None] * 1000.0 + items / 7\n"
        "scorer = Callable(score, n_items=50, batch_pairs=50, cache='kept', name='m')\n"
        "begin = len(open('log').readlines())\n"
    )
    code = LOOP.format(setup=setup) + (
        "    scorer.score(np.array([begin + at]), np.arange(50)[None, :])\n"
        "    print('kept', begin + at, file=log)\n"
    )
    for seconds in moments(4, 0.2):
        killed(code, tmp_path, seconds)
    lines = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    kept = sorted({int(line[1]) for line in lines if line[0] == "kept"})
    assert kept

    def never(users: np.ndarray, items: np.ndarray) -> np.ndarray:
        raise AssertionError("asked again")

    scorer = tr.scoring.Callable(
        never, n_items=50, cache=tmp_path / "kept", name="m", retries=0, batch_pairs=50
    )
    found = scorer.score(np.array(kept), np.tile(np.arange(50), (len(kept), 1)))
    np.testing.assert_array_equal(found, np.array(kept)[:, None] * 1000.0 + np.arange(50) / 7)


def test_reproduce(tmp_path: Path) -> None:
    """Finished repeats of ``truerank reproduce`` are kept, and none is half."""
    parts = pytest.importorskip("truerank_papers.experiments.parts")
    setup = (
        "import numpy as np\n"
        "from pathlib import Path\n"
        "from truerank_papers.experiments.parts import in_parts\n"
        "def drawn(first, last):\n"
        "    return np.random.default_rng(first).random((last - first, 2000))\n"
    )
    known: dict[str, object] = {}
    exec(setup, known)
    code = LOOP.format(setup=setup) + (
        "    n = 10 * (len(list(Path('parts').glob('*.npz'))) + 1)\n"
        "    in_parts(Path('parts'), n, drawn, advance=lambda _: None)\n"
    )
    for seconds in moments(5, 0.2):
        killed(code, tmp_path, seconds)
    repeats = 10 * (len(list((tmp_path / "parts").glob("*.npz"))) + 1)
    found = parts.in_parts(tmp_path / "parts", repeats, known["drawn"], advance=lambda _: None)
    whole = [known["drawn"](at, at + 10) for at in range(0, repeats, 10)]  # type: ignore[operator]
    np.testing.assert_array_equal(found, np.concatenate(whole))
    check_nothing_is_left(tmp_path / "parts")
