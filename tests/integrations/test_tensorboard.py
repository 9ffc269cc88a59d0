"""TensorBoard reads what is logged; `make integration-tensorboard` has it."""

import pytest

import truerank as tr

pytest.importorskip("tensorboard", reason="make integration-tensorboard installs it")
writers = pytest.importorskip("torch.utils.tensorboard")
pytestmark = pytest.mark.filterwarnings("ignore")


def test_scalars_are_those_of_the_result(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    counts = tr.RankCounts.from_ranks(
        [1, 3, 1, 9] * 50, num_negatives=19, n_items=500, replacement=False
    )
    found = tr.estimate(counts, ["recall@50", "mr"])
    with writers.SummaryWriter(str(tmp_path)) as writer:
        for step in (3, 4):
            tr.integrations.tensorboard.log(found, writer, step=step, prefix="validation/")
    read = EventAccumulator(str(tmp_path))
    read.Reload()
    expected = {f"validation/{name}": value for name, value in found.to_dict(flat=True).items()}
    assert set(read.Tags()["scalars"]) == set(expected)
    for name, value in expected.items():
        events = read.Scalars(name)
        assert [event.step for event in events] == [3, 4]
        assert events[0].value == pytest.approx(float(value), rel=1e-6)
