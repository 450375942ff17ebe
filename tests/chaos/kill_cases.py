"""A worker killed at every step of fan-out, child's end and join, on whatever store."""

import signal
from contextlib import contextmanager

import pytest

from oxmill.model.flow import FlowStatus
from oxmill.model.state import State
from oxmill.queue.flows import FlowBook

from . import tasks
from .scene import Scene


@contextmanager
def scene_on(folder, url, mode):
    """Flows on this store; the tasks' own client looks at the same one."""
    scene = Scene(folder, url, mode)
    try:
        with tasks.app._client.lend(scene.driver):
            yield scene
    finally:
        scene.let_go()
        scene.close()


def killed(scene, kill, **options):
    """A worker that dies at that step, then one that does not."""
    first = scene.worker(slots=1, lease=0.5, kill=kill, **options)
    assert first.code() == -signal.SIGKILL
    scene.worker(slots=4, lease=2)


def children(scene):
    path = scene.folder / "children"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


STEPS = [
    ("settle", 1, "before"),  # the parent's children are not there yet
    ("settle", 1, "after"),  # they are, and the parent is held
    ("settle", 2, "before"),  # a child has run, nobody knows
    ("settle", 2, "after"),  # its edge is closed
    ("settle", 4, "before"),  # the last child has run
    ("settle", 4, "after"),  # the join has fired
    ("get", 1, "after"),  # the results are looked up
    ("settle", 5, "before"),  # the continuation has run
    ("settle", 5, "after"),  # and its end is stored
]


class KillCases:
    """Inherited by a class beside a fixture `flows`."""

    @pytest.mark.parametrize("kill", STEPS, ids=lambda kill: "-".join(map(str, kill)))
    def test_a_worker_killed_at_a_step_of_fan_out_and_join(self, flows, kill):
        job = tasks.parent.enqueue(str(flows.folder), 3)
        killed(flows, kill)
        record = flows.ended(job.id)

        assert (record.state, record.result) == (State.SUCCEEDED, b"3")
        tree = tasks_flow(job.id).tree()
        assert [each.state for each in tree.jobs] == [State.SUCCEEDED] * 4
        assert tree.flow.status is FlowStatus.SUCCEEDED
        # What was settled is not run again: at most the one child that was under way runs twice.
        ran = children(flows)
        assert set(ran) == {0, 1, 2}
        assert 3 <= len(ran) <= 3 + sum(each.crashes for each in tree.jobs if each.parent)
        assert sum(each.crashes for each in tree.jobs) <= 1


def tasks_flow(flow_id):
    return FlowBook(tasks.app._client)[flow_id]
