"""What may happen in a story about flows: graphs, steps, children, stages, and who gives up."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, MultipleResults, multiple, precondition, rule

from oxmill.model.flow import FlowStatus, FlowStep, Join, JoinPolicy, ListFlows, NewFlow, OnFailure
from oxmill.model.info import Prune, Sweep
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.query import Cancel, Filter, Find, Purge, Redrive
from oxmill.model.settings import DAY, SECOND
from oxmill.model.settlement import Failure, Outcome, Settle, Settlement
from oxmill.model.state import State
from oxmill.model.value import Micros
from oxmill.store.capabilities import Capability
from oxmill.testing.moves import (
    QUEUES,
    Content,
    Lease,
    Settling,
    contents,
    jobs,
    leases,
)

flows = Bundle[str]("flows")
"""Every flow ever begun."""

joins = st.builds(
    lambda policy, on_failure, deadline: Join(
        policy=policy,
        quorum=1 if policy is JoinPolicy.QUORUM else 0,
        on_failure=on_failure,
        deadline=deadline,
    ),
    st.sampled_from(JoinPolicy),
    st.sampled_from(OnFailure),
    st.sampled_from((None, None, 2 * SECOND)),
)
nodes = st.lists(
    st.tuples(
        contents(st.none()),
        st.lists(st.integers(0, 5), max_size=3),
        joins,
        st.sampled_from((None, (), ("x", "y"))),
    ),
    min_size=1,
    max_size=6,
)
Node = tuple[Content, list[int], Join, tuple[str, ...] | None]
STEPS = ("merge", "then", "spawn", "spawn", "resume", "fail", "retry", "cancel", "plain", "leave")
STATES: tuple[Content, ...] = ({}, {"x": b"1"}, {"x": b"2", "z": b"\x00"})


class Flowing(Settling):
    """Flows begin, go on, are steered and end."""

    def __init__(self) -> None:
        self.stages: dict[str, str] = {}
        """stage → its flow, as long as nobody has published it."""
        super().__init__()

    def _members(self, flow: str, made: list[Node], before: list[NewJob]) -> tuple[NewJob, ...]:
        batch: list[NewJob] = []
        for content, after, join, reads in made:
            upstreams = [*before, *batch]
            chosen = tuple(
                dict.fromkeys(upstreams[n % len(upstreams)].id for n in after if upstreams)
            )
            plain: Content = {**content, "unique": None, "group": None}
            batch.append(
                NewJob(
                    id=f"n{self.fresh_nonce()}",
                    **plain,
                    flow=flow,
                    after=chosen,
                    join=join if chosen else None,
                    reads=reads,
                )
            )
        return tuple(batch)

    @precondition(lambda self: self.able(Capability.FLOWS))
    @rule(
        target=flows,
        made=nodes,
        keep=st.sampled_from((None, 2 * SECOND)),
        start=st.sampled_from(STATES),
    )
    def begin(self, made: list[Node], keep: Micros | None, start: Content) -> str:
        """A graph, enqueued at once, twice, as after a lost answer."""
        name = f"f{self.fresh_nonce()}"
        flow = NewFlow(id=name, name=name[-1], state=start, fields={"user": (1, 2)}, keep=keep)
        request = Enqueue(jobs=self._members(name, made, []), flow=flow)
        self.ask(request)
        self.ask(request)
        return name

    @precondition(lambda self: self.able(Capability.FLOWS))
    @rule(target=flows, one=nodes, two=nodes, publish=st.booleans())
    def stage(self, one: list[Node], two: list[Node], *, publish: bool) -> str:
        """A graph that comes in parts; perhaps nobody publishes it."""
        name = f"f{self.fresh_nonce()}"
        flow = NewFlow(id=name, name="staged")
        first = self._members(name, one, [])
        self.ask(Enqueue(jobs=first, flow=flow, stage=f"s{name}"))
        self.stages[f"s{name}"] = name
        if publish:
            second = self._members(name, two, list(first))
            self.ask(Enqueue(jobs=second, flow=flow, stage=f"s{name}", publish=f"s{name}"))
        return name

    @precondition(lambda self: self.able(Capability.FLOWS) and self.stages)
    @rule(nth=st.integers(0, 3), again=st.booleans())
    def publish(self, nth: int, *, again: bool) -> None:
        """A stage that may be published already, or may have been dropped."""
        name = list(self.stages)[-1 - nth % len(self.stages)]
        self.ask(Enqueue(jobs=(), publish=name))
        if again:
            self.ask(Enqueue(jobs=(), flow=NewFlow(id=self.stages[name], name="x"), publish=name))

    @precondition(lambda self: self.able(Capability.FLOWS))
    @rule(flow=flows, made=nodes)
    def add(self, flow: str, made: list[Node]) -> None:
        """More jobs for a flow that is there, or is there again."""
        there = self.reference.do(Find(filter=Filter(flow=flow), limit=5)).jobs
        before = [NewJob(id=job.id, queue="a", task="t", payload=b"") for job in there]
        batch = self._members(flow, made[:2], before)
        self.ask(Enqueue(jobs=batch, flow=NewFlow(id=flow, name="more")))

    @precondition(lambda self: self.able(Capability.FLOWS))
    @rule(
        target=leases,
        hows=st.lists(st.tuples(st.sampled_from(STEPS), nodes, joins), min_size=1, max_size=4),
        lease=st.sampled_from((SECOND, 5 * SECOND)),
        repeated=st.booleans(),
    )
    def advance(
        self, hows: list[tuple[str, list[Node], Join]], lease: Micros, *, repeated: bool
    ) -> MultipleResults[Lease]:
        """A worker claims some jobs, and each of them does something to its flow."""
        claimed = self.ask(self.claim_of(QUEUES, len(hows), lease))
        items = [
            self._settlement(job, *how)
            for job, how in zip(claimed.jobs, hows, strict=False)
            if how[0] != "leave"
        ]
        if items:
            self.ask(Settle(items=tuple(items)))
        if items and repeated:
            self.ask(Settle(items=tuple(items)))
        return self.granted(claimed)

    def _settlement(self, job: Any, how: str, made: list[Node], join: Join) -> Settlement:
        flow = job.flow or job.id
        few = made[:3]
        told: Content = {"id": job.id, "token": job.token, "outcome": Outcome.COMPLETE}
        match how:
            case "merge":
                told["flow"] = FlowStep(merge={"x": job.id.encode()})
            case "then":
                told["flow"] = FlowStep(then=self._members(flow, few, []), merge={"y": b"2"})
            case "spawn":
                told["flow"] = FlowStep(
                    spawn=self._children(job.id, flow, few), join=join, resume="go"
                )
            case "resume":
                told["flow"] = FlowStep(resume="again", join=join)
            case "fail":
                told |= {"outcome": Outcome.FAIL, "error": Failure(type="E")}
            case "retry" | "cancel":
                told["outcome"] = Outcome(how)
        return Settlement(**told)

    def _children(self, parent: str, flow: str, made: list[Node]) -> tuple[NewJob, ...]:
        """The same ids whenever a parent spawns, so that it finds its children again."""
        own: Content = {"unique": None, "group": None, "payload": b"c"}
        own |= {"flow": flow, "parent": parent}
        return tuple(
            NewJob(id=f"{parent}.{n}", **{**content, **own, "reads": reads})
            for n, (content, _, _, reads) in enumerate(made)
        )

    @precondition(lambda self: self.able(Capability.FLOWS))
    @rule(
        target=jobs,
        content=contents(st.none()),
        made=nodes,
        publish=st.booleans(),
        late=st.booleans(),
    )
    def spawn_from_a_stage(
        self, content: Content, made: list[Node], *, publish: bool, late: bool
    ) -> MultipleResults[NewJob]:
        """A plain job stages its children, and publishes them with its end, if it comes to it."""
        plain = content | {"queue": "a", "delay": 0, "run_at": None, "priority": -1, "group": None}
        parent = NewJob(id=f"p{self.fresh_nonce()}", **plain)
        self.ask(Enqueue(jobs=(parent,)))
        claimed = self.ask(self.claim_of(("a",), 1, SECOND))
        for job in claimed.jobs:
            if job.flow is not None:
                continue
            children = self._children(job.id, job.id, made)
            stage = f"s{job.id}.{job.token.attempt}"
            flow = NewFlow(id=job.id, name=job.task)
            self.ask(Enqueue(jobs=children, flow=flow, stage=stage))
            self.stages[stage] = job.id
            if late:
                self.clock.advance(SECOND)
                self.ask(Sweep())
            if publish:
                step = FlowStep(publish=stage, resume="go")
                item = Settlement(id=job.id, token=job.token, outcome=Outcome.COMPLETE, flow=step)
                self.ask(Settle(items=(item,)))
        self.granted(claimed)
        return multiple(parent)

    @precondition(lambda self: self.able(Capability.FLOWS))
    @rule(
        flow=flows,
        kind=st.sampled_from((Cancel, Redrive, Redrive, Purge)),
        some=st.sampled_from(((), (State.HELD,), (State.WAITING,), (State.FAILED,))),
        limit=st.sampled_from((1_000, 2)),
    )
    def steer_flow(self, flow: str, kind: Any, some: tuple[State, ...], limit: int) -> None:
        """All jobs of a flow, or some."""
        self.ask(kind(filter=Filter(flow=flow, states=some), limit=limit))

    @precondition(lambda self: self.able(Capability.FLOWS))
    @rule(
        status=st.sampled_from((None, *FlowStatus)),
        limit=st.integers(1, 3),
        flow=flows,
        days=st.sampled_from((0, 0, 0, 1)),
    )
    def look_at_flows(self, status: FlowStatus | None, limit: int, flow: str, days: int) -> None:
        """Some flows, and their jobs; what nobody published within a day goes."""
        self.ask(ListFlows(status=status, limit=limit, fields={"user": 1}))
        self.ask(ListFlows(ids=(flow, "none-such"), name="staged"))
        self.ask(Find(filter=Filter(flow=flow), limit=limit))
        if days:
            self.clock.advance(days * DAY)
            self.ask(Prune())
