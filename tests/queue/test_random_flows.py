"""Random graphs with random failures: no flow hangs, and every run gets what its upstreams gave."""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from oxmill import App, Failed, FlowStatus, Spawn, State, current
from oxmill.model.state import TERMINAL

ENDS = {State.FAILED, State.CANCELLED}


@dataclass
class Plan:
    """One node: whom it waits for, how, and what it does."""

    upstreams: list[int]
    policy: str
    on_failure: str
    act: str
    children: int


@st.composite
def graphs(draw):
    size = draw(st.integers(1, 9))
    return [
        Plan(
            upstreams=draw(st.lists(st.integers(0, n - 1), unique=True, max_size=4)) if n else [],
            policy=draw(st.sampled_from(["all_succeed", "all_end", "any", "quorum"])),
            on_failure=draw(st.sampled_from(["cancel", "ignore", "collect"])),
            act=draw(st.sampled_from(["return", "return", "raise", "spawn", "cancel"])),
            children=draw(st.integers(0, 3)),
        )
        for n in range(size)
    ]


class World:
    """Tasks that write down what they were given."""

    def __init__(self):
        self.app = App("memory://")
        self.given = {}
        self.ends = {}
        app, given = self.app, self.given

        @app.task(name="part", retry=None)
        async def part(n: int) -> int:
            if n == 1:
                raise ValueError
            return n

        @app.task(name="work", retry=None)
        async def work(inputs: list[str | Failed], act: str, children: int) -> str:
            name = current().id
            assert name not in given, "it ran twice"
            given[name] = inputs
            if act == "raise":
                raise ValueError
            if act == "spawn":
                raise Spawn([part.bind(n) for n in range(children)], then=joined, policy="all_end")
            return name

        @work.continuation
        async def joined(results: list[int | Failed], children: int) -> str:
            name = current().id
            assert name not in self.ends, "its join fired twice"
            self.ends[name] = [each if isinstance(each, int) else "failed" for each in results]
            return name

        self.work = work


@settings(max_examples=150, deadline=None)
@given(graphs())
def test_a_flow_comes_to_its_end_with_exactly_the_results_of_its_parts(plans):
    world = World()
    with world.app.testing() as t:
        with world.app.flow("random") as f:
            nodes = []
            for plan in plans:
                outs = [nodes[n].out for n in plan.upstreams]
                node = f.add(world.work, outs, plan.act, plan.children)
                terms = {"on_failure": plan.on_failure}
                if plan.policy != "quorum":
                    terms["policy"] = plan.policy
                elif plan.upstreams:
                    terms["quorum"] = (len(plan.upstreams) + 1) // 2
                nodes.append(node.join(**terms))
        for node, plan in zip(nodes, plans, strict=True):
            if plan.act == "cancel":
                f.cancel(node)
        t.run_all()
        t.advance("1h")
        t.run_all()

        assert f.status() is not FlowStatus.RUNNING
        jobs = {job.id: job for job in f.tree().jobs}
        assert {job.state for job in jobs.values()} <= TERMINAL
        for node, plan in zip(nodes, plans, strict=True):
            check(world, jobs, node.id, plan, [nodes[n].id for n in plan.upstreams])


def check(world, jobs, name, plan, upstreams):
    """One node's end, against those of its upstreams."""
    good = [each for each in upstreams if jobs[each].state is State.SUCCEEDED]
    if plan.act == "cancel":
        assert name not in world.given
        return
    if name not in world.given:
        assert jobs[name].state in ENDS
        return
    if plan.on_failure == "collect":
        shown = [each if isinstance(each, str) else each.job for each in world.given[name]]
        assert shown == upstreams
        assert {each for each in world.given[name] if isinstance(each, str)} <= set(good)
    else:
        assert set(world.given[name]) <= set(good)
        assert world.given[name] == [each for each in upstreams if each in world.given[name]]
    if plan.policy in {"all_succeed", "all_end"}:
        assert [each for each in world.given[name] if isinstance(each, str)] == good
        if plan.policy == "all_succeed" and plan.on_failure == "cancel":
            assert good == upstreams
    if plan.act == "spawn" and jobs[name].state is State.SUCCEEDED:
        wanted = ["failed" if n == 1 else n for n in range(plan.children)]
        assert world.ends[name] == wanted
