"""Flows that are cut off at each of their steps: what is there before, who does what is cut off, and
what must come of it. One class a scene, one line a step; on every store a worker or a client dies at
each of them, and the server too."""

import time
from collections import Counter
from collections.abc import Mapping
from random import getrandbits
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from oxmill import App, FlowStatus, JobFailed, State
from oxmill.model.claim import Claim, ClaimIds
from oxmill.model.info import Sweep
from oxmill.model.query import Cancel, Filter, Redrive
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.testing.operations import plan_for

from .flow_tasks import FlowTasks
from .striking import Aim

LEASE = 0.4
ASIDE = "aside"
"""A queue that nobody works on."""
EMPTY: Mapping[str, Any] = MappingProxyType({})
SUCCEEDED, FAILED, CANCELLED = State.SUCCEEDED, State.FAILED, State.CANCELLED


def at(kind, number, *whens):
    return tuple(Aim(kind, number, when) for when in whens)


class Wanted(NamedTuple):
    """What must come of a flow."""

    ends: Mapping[str, list[tuple[State, int | None]]] = EMPTY
    """task → how its jobs end, with their results."""
    given: Mapping[str, list[Any]] = EMPTY
    """task → what its runs may have been given."""
    claims: Mapping[str, int] = EMPTY
    """Job or task → how often it is claimed if nobody crashes; once, unless told otherwise."""
    status: FlowStatus = FlowStatus.SUCCEEDED
    state: Mapping[str, bytes] = EMPTY


class Scene:
    """One flow in a queue of its own, cut off at one step."""

    aims: tuple[Aim, ...] = ()
    by_worker = True
    """Whether a worker is at work when it is cut off; or else it is somebody who asks for something."""
    wanted = Wanted()

    def __init__(self, driver, name: str, folder: str):
        self.name, self.driver = name, driver
        options = {"queue": name, "crash_limit": 9, "retry": None}
        self.app = App("memory://", defaults=options)
        self.tasks = FlowTasks(self.app, folder, ASIDE)

    def begin(self):
        """What is there before."""

    def act(self):
        """What is cut off."""
        self.app.worker(queues=[self.name], slots=1, lease=LEASE, sweep_every=3600, grace=1).run()

    def again(self):
        """Whoever was cut off does not know how far it came, and tries again."""
        if not self.by_worker:
            self.act()

    def as_wanted(self, ends):
        """Whether this is how the jobs of each task must end."""
        return ends == {task: Counter(each) for task, each in self.wanted.ends.items()}

    def do(self, request):
        return self.driver.run(plan_for(self.driver, request))

    def sweep(self):
        while self.do(Sweep(limit=2)).more:
            pass

    def end(self, job_id, outcome, result=None):
        """Somebody else has run this job to its end."""
        request = ClaimIds(ids=(job_id,), lease=60_000_000, worker="w", nonce=getrandbits(63))
        (lease,) = self.do(request).jobs
        item = Settlement(id=job_id, token=lease.token, outcome=outcome, result=result)
        self.do(Settle(items=(item,)))
        self.tasks.write_down(job_id, lease.token.attempt, "by hand")

    def flow(self):
        return self.app.flow("scene", id=self.name)


class FanOut(Scene):
    """A job makes children, and goes on when they have ended."""

    aims = (
        *at("settle", 1, "before", "amid", "after"),  # children are made
        *at("settle", 2, "before", "amid", "after"),  # a child ends
        *at("settle", 4, "before", "amid", "after"),  # the last one ends, and the join fires
        *at("claim", 5, "after"),  # the continuation is claimed
        *at("get", 1, "after"),  # the results are looked up
        *at("settle", 5, "before", "amid", "after"),  # the continuation ends
    )
    wanted = Wanted(
        ends={"parent": [(SUCCEEDED, 3)], "give": [(SUCCEEDED, n) for n in range(3)]},
        given={"parent": ["spawn", [0, 1, 2]]},
        claims={"parent": 2},
    )

    def begin(self):
        self.tasks.parent.using(id=self.name).enqueue([0, 1, 2], [])


class FanOutInChunks(Scene):
    """More children than one step makes: they are staged in three chunks, published, and let go two
    at a time."""

    aims = (
        *at("enqueue", 1, "before", "amid", "after"),
        *at("enqueue", 2, "amid", "after"),
        *at("enqueue", 3, "amid", "after"),
        *at("settle", 1, "before", "amid", "after"),  # they are published
    )
    wanted = Wanted(
        ends={"parent": [(SUCCEEDED, 21)], "give": [(SUCCEEDED, n) for n in range(7)]},
        given={"parent": ["spawn", list(range(7))]},
        claims={"parent": 2},
    )

    def begin(self):
        self.tasks.parent.using(id=self.name).enqueue(list(range(7)), [])


class Graph(Scene):
    """A client stores a graph in chunks, the last of which publishes it."""

    aims = (
        *at("enqueue", 1, "before", "amid", "after"),
        *at("enqueue", 2, "amid", "after"),
        *at("enqueue", 3, "before", "amid", "after"),  # it is published
        *at("sweep", 1, "amid", "after"),  # and let go
    )
    by_worker = False
    wanted = Wanted(
        ends={
            "give": [(SUCCEEDED, n) for n in range(5)],
            "total": [(SUCCEEDED, 10), (SUCCEEDED, 10)],
        },
        given={"total": [list(range(5)), [10]]},
    )

    def act(self):
        with self.flow() as f:
            parts = [f.add(self.tasks.give, n) for n in range(5)]
            total = f.add(self.tasks.total, [part.out for part in parts])
            f.add(self.tasks.total, [total.out])


class Diamond(Scene):
    """A graph that opens and closes."""

    aims = (
        *at("settle", 1, "before", "amid", "after"),  # three may start
        *at("settle", 2, "before", "amid", "after"),  # one of them ends
        *at("settle", 4, "before", "amid", "after"),  # the last one ends, and the join fires
        *at("claim", 5, "after"),  # the join is claimed
        *at("settle", 5, "before", "amid", "after"),  # it ends, and the flow with it
    )
    wanted = Wanted(
        ends={"give": [(SUCCEEDED, n) for n in (0, 1, 2, 3)], "total": [(SUCCEEDED, 6)]},
        given={"total": [[1, 2, 3]]},
    )

    def begin(self):
        with self.flow() as f:
            top = f.add(self.tasks.give, 0)
            sides = [f.add(self.tasks.give, n).after(top) for n in (1, 2, 3)]
            f.add(self.tasks.total, [side.out for side in sides])


class Pipeline(Scene):
    """Steps that merge fields and make the next step."""

    aims = (
        *at("settle", 1, "before", "amid", "after"),
        *at("settle", 2, "before", "amid", "after"),
        *at("settle", 3, "before", "amid", "after"),
    )
    wanted = Wanted(
        ends={step: [(SUCCEEDED, None)] for step in ("first", "second", "third")},
        given={"first": [1], "second": [2], "third": [[20, 2]]},
        state={"n": b"18", "m": b"2"},
    )

    def begin(self):
        self.tasks.way.start({"n": 1}, id=self.name)


class Ripples(Scene):
    """An end has left more to be told than one step does; sweeps go on with it."""

    aims = (
        *at("sweep", 1, "before", "amid", "after"),
        *at("sweep", 2, "amid", "after"),
        *at("sweep", 3, "amid", "after"),
    )
    by_worker = False
    wanted = Wanted(
        ends={"give": [(SUCCEEDED, n) for n in range(8)], "total": [(SUCCEEDED, 28)]},
        given={"total": [list(range(1, 8))]},
    )

    def begin(self):
        with self.flow() as f:
            top = f.add(self.tasks.give, 0)
            parts = [f.add(self.tasks.give, n).after(top) for n in range(1, 8)]
            f.add(self.tasks.total, [part.out for part in parts])
        self.sweep()
        self.end(top.id, Outcome.COMPLETE, b"0")

    def act(self):
        self.sweep()


class Siblings(Scene):
    """A job fails, and with it a join, which calls off the others that it waits for."""

    aims = at("settle", 1, "before", "amid", "after")
    wanted = Wanted(
        status=FlowStatus.FAILED,
        ends={
            "give": [(FAILED, None), *[(CANCELLED, None)] * 6],
            "total": [(FAILED, None), (FAILED, None)],
        },
        given={"give": [-1]},
        claims={"total": 0},
    )

    def begin(self):
        elsewhere = self.tasks.give.using(queue=ASIDE)
        with self.flow() as f:
            bad = f.add(self.tasks.give, -1)
            parts = [bad, *(f.add(elsewhere, n) for n in range(6))]
            total = f.add(self.tasks.total, [part.out for part in parts])
            f.add(self.tasks.total, [total.out])
        self.sweep()


class SiblingsLeft(Siblings):
    """The same; most of them are left for sweeps to call off."""

    aims = (*at("sweep", 1, "before", "amid", "after"), *at("sweep", 2, "amid", "after"))
    by_worker = False
    wanted = Siblings.wanted._replace(given={"give": ["by hand"]})

    def begin(self):
        super().begin()
        self.end(f"{self.name}.0", Outcome.FAIL)

    def act(self):
        self.sweep()


class ChildFails(Scene):
    """A child fails, and with it its parent; the other children are called off."""

    aims = at("settle", 2, "before", "amid", "after")
    wanted = Wanted(
        status=FlowStatus.FAILED,
        ends={
            "parent": [(FAILED, None)],
            "give": [(FAILED, None), *[(CANCELLED, None)] * 2],
        },
        given={"parent": ["spawn"], "give": [-1]},
    )

    def begin(self):
        self.tasks.parent.using(id=self.name).enqueue([-1], [1, 2])


class Redriven(Scene):
    """A flow that has failed is driven again, two jobs at a time."""

    aims = (
        *at("redrive", 1, "before", "amid", "after"),
        *at("redrive", 2, "amid", "after"),
        *at("redrive", 3, "amid", "after"),
    )
    by_worker = False
    wanted = Wanted(
        ends={"give": [(SUCCEEDED, n) for n in (1, 1, 2, 3, 7)], "total": [(SUCCEEDED, 6)]},
        given={"give": ["by hand", -1, 1, 2, 3], "total": [[1, 2, 3]]},
        claims={".0": 2},
    )

    def begin(self):
        with self.flow() as f:
            bad = f.add(self.tasks.give, -1)
            good = f.add(self.tasks.give, 7)
            parts = [f.add(self.tasks.give, n).after(bad) for n in (1, 2, 3)]
            f.add(self.tasks.total, [part.out for part in parts])
        self.sweep()
        self.end(good.id, Outcome.COMPLETE, b"7")
        self.end(bad.id, Outcome.FAIL)
        self.sweep()
        self.tasks.mend(self.name)

    def act(self):
        while self.do(Redrive(filter=Filter(flow=self.name), limit=2)).more:
            pass


class SpawnedAgain(Scene):
    """A parent whose child had failed is driven again, and finds its children."""

    aims = at("settle", 1, "before", "amid", "after")
    wanted = Wanted(
        ends={"parent": [(SUCCEEDED, 3)], "give": [(SUCCEEDED, 1), (SUCCEEDED, 2)]},
        given={"parent": ["spawn", [1, 2]]},
        claims={"parent": 3, ".1.1": 2},
    )

    def begin(self):
        job = self.tasks.parent.using(id=self.name).enqueue([1, -2], [])
        running = self.app.running(queues=[self.name], slots=1, sweep_every=3600)
        with running, pytest.raises(JobFailed):
            job.result(timeout=20)
        self.tasks.mend(self.name)
        self.app.flows[self.name].retry(self.name)


class CalledOff(Scene):
    """A flow is called off, two jobs at a time."""

    aims = (*at("cancel", 1, "before", "amid", "after"), *at("cancel", 2, "amid", "after"))
    by_worker = False
    wanted = Wanted(
        status=FlowStatus.FAILED,
        claims={"give": 0, "total": 0},
    )

    def as_wanted(self, ends):
        """Some fail with those that they wait for before they are called off themselves."""
        there = Counter(end for each in ends.values() for end in each.elements())
        return sum(there.values()) == 5 and there.keys() <= {(CANCELLED, None), (FAILED, None)}

    def begin(self):
        Diamond.begin(self)
        self.sweep()

    def act(self):
        while self.do(Cancel(filter=Filter(flow=self.name), limit=2)).more:
            pass


class TooLate(Scene):
    """A claim ends a job that has expired, and some of those that follow; sweeps do the rest."""

    aims = at("claim", 1, "before", "amid")
    by_worker = False
    wanted = Wanted(
        status=FlowStatus.SUCCEEDED,
        ends={"give": [(CANCELLED, None), *((SUCCEEDED, n) for n in range(5))]},
    )

    def begin(self):
        with self.flow() as f:
            late = f.add(self.tasks.give.using(expires=0.15), 9)
            for n in range(5):
                f.add(self.tasks.give, n).after(late).join(policy="all_end")

    def act(self):
        time.sleep(0.2)
        queues, nonce = (self.name,), getrandbits(63)
        self.do(Claim(queues=queues, limit=1, lease=int(LEASE * 1e6), worker="w", nonce=nonce))

    def again(self):
        """The worker that follows claims."""


class PastItsDeadline(Scene):
    """A join has waited too long: it fails, and calls off what it waits for."""

    aims = at("sweep", 1, "before", "amid", "after")
    by_worker = False
    wanted = Wanted(
        status=FlowStatus.FAILED,
        ends={"give": [(CANCELLED, None)], "total": [(FAILED, None)]},
        claims={"give": 0, "total": 0},
    )

    def begin(self):
        with self.flow() as f:
            never = f.add(self.tasks.give.using(queue=ASIDE), 1)
            f.add(self.tasks.total, [never.out]).join(deadline=0.01)

    def act(self):
        time.sleep(0.02)
        self.sweep()


SCENES = (
    FanOut,
    FanOutInChunks,
    Graph,
    Diamond,
    Pipeline,
    Ripples,
    Siblings,
    SiblingsLeft,
    ChildFails,
    Redriven,
    SpawnedAgain,
    CalledOff,
    TooLate,
    PastItsDeadline,
)
BY_NAME = {scene.__name__: scene for scene in SCENES}
