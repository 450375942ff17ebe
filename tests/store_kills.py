"""A store's server killed right before or right after each step of a flow, then started again: each
flow comes to its right end, and of each job one end wins."""

import asyncio
import time
from collections import Counter
from dataclasses import replace

from oxmill import FlowStatus, Spawn, State, StoreError
from oxmill.errors import FlowNotFound, OutcomeUnknown
from oxmill.model.settlement import Ruling, Settle
from oxmill.model.state import TERMINAL

PATIENCE = 60
CHILDREN = 3
FAN_OUT = [
    ("settle", 1, "before"),  # the parent's children are not there yet
    ("settle", 1, "after"),  # they are, but its worker does not know
    ("settle", 2, "after"),  # a child has ended
    ("settle", 4, "before"),  # the last child has run
    ("settle", 4, "after"),  # the join has fired
    ("settle", 5, "after"),  # the continuation has ended
]
STAGED = [("enqueue", 1, "after")]  # the children are stored, and nobody has published them
PIPELINE = [("settle", 1, "after")]  # fields are merged, and the next step is there


class Felling:
    """A transport under which the server dies at the n-th plan of a kind that a worker runs. After
    it means: it has taken effect, and the answer is lost."""

    def __init__(self, transport, server):
        self._transport, self._server = transport, server
        self._kind, self._number, self._when = "", 0, ""
        self.struck = False
        self.ends = Counter()
        """How many tokens have won the end of a job."""
        self._won = set()

    def aim(self, kind, number, when):
        self._kind, self._number, self._when = kind, number, when
        self.struck = False

    async def arun(self, plan):
        here = self._counts(plan)
        if here and self._when == "before":
            await asyncio.to_thread(self._fell)
        answer = await self._transport.arun(plan)
        self._note(plan.request, answer)
        if here and self._when == "after":
            await asyncio.to_thread(self._fell)
            raise OutcomeUnknown("the server died before it had answered")
        return answer

    def _counts(self, plan):
        if self._kind not in plan.name.split("+") or not _does_something(plan.request):
            return False
        self._number -= 1
        return self._number == 0

    def _note(self, request, answer):
        if isinstance(request, tuple):
            for each, told in zip(request, answer, strict=True):
                self._note(each, told)
        elif isinstance(request, Settle):
            for item, told in zip(request.items, answer, strict=True):
                end = item.id, item.token
                won = told.ruling is Ruling.WON and told.state in TERMINAL
                if won and end not in self._won:
                    self._won.add(end)
                    self.ends[item.id] += 1

    def _fell(self):
        self._server.kill()
        self._server.start()
        self.struck = True

    def __getattr__(self, name):
        return getattr(self._transport, name)


def _does_something(request):
    parts = request if isinstance(request, tuple) else (request,)
    return all(part.items for part in parts if isinstance(part, Settle))


def flows_outlive_their_server(app, server, monkeypatch):
    ran = []

    @app.task(name="child")
    async def child(n: int) -> int:
        ran.append(n)
        return n

    @app.task(name="parent")
    async def parent(n: int) -> int:
        raise Spawn([child.bind(each) for each in range(n)], then=joined)

    @parent.continuation
    async def joined(results: list[int], n: int) -> int:
        assert results == list(range(n))
        return sum(results)

    @app.step(name="first")
    def first(n: int) -> dict:
        return {"n": n + 1}

    @app.step(name="second")
    def second(n: int) -> dict:
        return {"n": n * 10}

    way = app.pipeline("way", first, second)
    felling = Felling(app.driver.transport, server)
    driver = replace(app.driver, transport=felling)
    with app._client.lend(driver), app.running(slots=1, lease=1, sweep_every=0.2):
        for step in FAN_OUT:
            _fan_out(app, felling, parent, ran, step)
        monkeypatch.setattr("oxmill.worker.flow_store.INLINE", CHILDREN - 1)
        for step in STAGED:
            _fan_out(app, felling, parent, ran, step)
        for step in PIPELINE:
            felling.aim(*step)
            flow = way.start({"n": 1})
            _until(lambda flow=flow: flow.status() is not FlowStatus.RUNNING)
            assert felling.struck, step
            assert flow.state() == {"n": 20}, step
            assert [job.state for job in flow.tree().jobs] == [State.SUCCEEDED] * 2, step
    assert set(felling.ends.values()) == {1}, felling.ends


def _fan_out(app, felling, parent, ran, step):
    ran.clear()
    felling.aim(*step)
    job = parent.enqueue(CHILDREN)
    flow = app.flows[job.id]
    _until(lambda: flow.status() is not FlowStatus.RUNNING)
    tree = flow.tree()
    assert felling.struck, step
    assert tree.flow.status is FlowStatus.SUCCEEDED, step
    assert job.result() == sum(range(CHILDREN)), step
    assert [each.state for each in tree.jobs] == [State.SUCCEEDED] * (1 + CHILDREN), step
    crashes = sum(each.crashes for each in tree.jobs)
    assert set(ran) == set(range(CHILDREN)), step
    assert CHILDREN <= len(ran) <= CHILDREN + crashes, (step, ran)


def _until(look):
    end = time.monotonic() + PATIENCE
    while True:
        try:
            if look():
                return
        except (StoreError, FlowNotFound):
            pass  # it is down, or the flow has not begun
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
