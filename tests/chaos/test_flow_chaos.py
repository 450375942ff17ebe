"""Workers killed again and again while a graph with children runs: it ends right, once."""

import signal

import pytest

from oxmill.model.flow import FlowStatus
from oxmill.queue.draft import Draft
from oxmill.store.capabilities import Capability

from . import tasks


@pytest.fixture
def flows(scene):
    """The scene, on a store that can do flows; the tasks' own client looks at the same file."""
    if Capability.FLOWS not in scene.driver.capabilities:
        pytest.skip("this store has no flows")
    with tasks.app._client.lend(scene.driver):
        yield scene


def test_a_graph_survives_workers_that_are_killed_again_and_again(flows):
    with Draft("graph", tasks.app._client, {}) as f:
        parents = [f.add(tasks.parent, str(flows.folder), n) for n in range(1, 9)]
        last = f.add(tasks.quick).after(*parents)
    for number in (3, 5, 7):
        worker = flows.worker(slots=3, lease=0.5, kill=("settle", number, "after"))
        assert worker.code() == -signal.SIGKILL
    flows.worker(slots=4, lease=2)

    assert f.outcome(timeout=30).status is FlowStatus.SUCCEEDED
    assert [f.result(each) for each in parents] == [sum(range(n)) for n in range(1, 9)]
    assert f.result(last)
    assert len(f.tree().jobs) == 9 + sum(range(1, 9))
