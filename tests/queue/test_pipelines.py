"""Pipelines: steps over one shared state, in Guild's manner."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import TypedDict

import pytest

from oxmill import (
    App,
    BadArguments,
    BadConfig,
    FlowStatus,
    JobFailed,
    Next,
    Spawn,
    State,
    WrongContext,
    current,
)


class Access(TypedDict, total=False):
    user_id: int
    guild: str
    roles: list[int]
    granted: bool


@pytest.fixture
def app():
    return App("memory://")


@pytest.fixture
def t(app):
    with app.testing() as testing:
        yield testing


@pytest.fixture
def log():
    return []


@pytest.fixture
def steps(app, log):
    @app.step(name="prepare", queue="preparation")
    def prepare(user_id: int, roles: list[int] | None) -> Access:
        log.append(("prepare", user_id, roles))
        return {"roles": [user_id, 7]}

    @app.step(name="check", queue="checks", retry=None)
    async def check(roles: list[int] | None, missing: str | None, kind: str = "usual") -> dict:
        log.append(("check", roles, missing, kind))
        return {"granted": 7 in (roles or [])}

    @app.step(name="grant", queue="grants")
    def grant(granted: bool) -> None:
        log.append(("grant", granted))

    return SimpleNamespace(prepare=prepare, check=check, grant=grant)


def test_a_step_gets_exactly_the_fields_it_names_and_its_fields_are_merged(app, steps, log, t):
    access = app.pipeline("access", steps.prepare, steps.check, steps.grant)
    flow = access.start({"user_id": 62, "guild": "x"})
    assert flow.state() == {"user_id": 62, "guild": "x"}
    info = flow.outcome()

    assert log == [("prepare", 62, None), ("check", [62, 7], None, "usual"), ("grant", True)]
    assert info.status is FlowStatus.SUCCEEDED
    assert flow.state() == {"user_id": 62, "guild": "x", "roles": [62, 7], "granted": True}
    assert [(job.id, job.queue) for job in t.jobs()] == [
        (f"{flow.id}.0", "preparation"),
        (f"{flow.id}.1", "checks"),
        (f"{flow.id}.2", "grants"),
    ]


def test_the_state_can_be_read_while_it_runs(app, steps, t):
    access = app.pipeline("access", steps.prepare, steps.grant)
    flow = access.start({"user_id": 62})
    app.control.pause("grants")
    t.run_all()

    assert flow.status() is FlowStatus.RUNNING
    assert flow.state() == {"user_id": 62, "roles": [62, 7]}


def test_pipelines_share_steps_and_their_queues(app, steps, log, t):
    one = app.pipeline("one", steps.prepare, steps.check)
    two = app.pipeline("two", steps.prepare, steps.grant)
    one.start({"user_id": 1})
    two.start({"user_id": 2, "granted": False})
    t.run_all()

    assert log == [
        ("prepare", 1, None),
        ("prepare", 2, None),
        ("check", [1, 7], None, "usual"),
        ("grant", False),
    ]


def test_a_flow_may_go_its_own_way(app, steps, log, t):
    access = app.pipeline("access", steps.prepare, steps.check, steps.grant)
    access.start({"granted": True}, steps=[steps.grant, steps.check]).outcome()
    assert [each[0] for each in log] == ["grant", "check"]


def test_a_step_chooses_the_next_one(app, steps, log, t):
    @app.step(name="choose")
    def choose(user_id: int) -> Next:
        log.append(("choose", user_id))
        return Next(steps.grant if user_id == 1 else None, {"granted": False})

    access = app.pipeline("access", choose, steps.check, steps.grant)
    first = access.start({"user_id": 1})
    second = access.start({"user_id": 2})
    t.run_all()

    assert log == [("choose", 1), ("choose", 2), ("grant", False)]
    assert first.state() == {"user_id": 1, "granted": False}
    assert second.outcome().counts == {State.SUCCEEDED: 1}


def test_a_detour_comes_back_to_the_way(app, steps, log, t):
    @app.step(name="ask")
    def ask(user_id: int) -> Next:
        return Next("review", {"user_id": user_id + 1})

    @app.step(name="review")
    def review(user_id: int) -> None:
        log.append(("review", user_id))

    app.pipeline("access", ask, steps.grant).start({"user_id": 1, "granted": True}).outcome()
    assert log == [("review", 2), ("grant", True)]


def test_a_step_may_go_round_and_round(app, t):
    @app.step(name="count")
    def count(n: int) -> Next | None:
        return Next(count, {"n": n + 1}) if n < 5 else None

    flow = app.pipeline("loop", count).start({"n": 0})
    assert flow.outcome().counts == {State.SUCCEEDED: 6}
    assert flow.state() == {"n": 5}


def test_a_step_may_stand_on_the_way_twice(app, log, t):
    """Whoever names it goes on at its next place, so the way comes to its end."""

    @app.step(name="wash")
    def wash() -> None:
        log.append("wash")

    @app.step(name="rinse")
    def rinse() -> Next:
        log.append("rinse")
        return Next(wash)

    @app.step(name="dry")
    def dry() -> None:
        log.append("dry")

    plain = app.pipeline("plain", wash, dry, wash, dry).start({})
    assert plain.outcome().counts == {State.SUCCEEDED: 4}
    named = app.pipeline("named", wash, rinse, wash, dry).start({})
    t.run_all()

    assert log == ["wash", "dry", "wash", "dry", "wash", "rinse", "wash", "dry"]
    assert named.status() is FlowStatus.SUCCEEDED


def test_a_step_that_names_one_behind_goes_back_to_the_nearest(app, log, t):
    @app.step(name="try")
    def attempt() -> None:
        log.append("try")

    @app.step(name="check")
    def check(n: int) -> Next | None:
        log.append("check")
        return Next(attempt, {"n": n + 1}) if n < 1 else None

    app.pipeline("back", attempt, attempt, check).start({"n": 0}).outcome()
    assert log == ["try", "try", "check", "try", "check"]


def test_pictures_show_who_handed_over_to_whom(app, log, t):
    @app.step(name="again")
    def again(n: int) -> Next | None:
        return Next(again, {"n": n - 1}) if n else Next(aside)

    @app.step(name="aside")
    def aside() -> None:
        raise Spawn([part.bind(way=[], number=1, pipeline="rounds")], then=joined)

    @aside.continuation
    def joined(results: list) -> None: ...

    @app.task(name="part")
    def part(pipeline: str, way: list, number: int) -> None:
        """Its arguments look like what steps carry."""

    @app.step(name="last")
    def last() -> None: ...

    flow = app.pipeline("rounds", again, last).start({"n": 1})
    t.run_all()
    tree = flow.tree()
    of = {job.id.removeprefix(flow.id): job.task for job in tree.jobs}
    names = {job.id: f"n{number}" for number, job in enumerate(tree.jobs)}

    assert of == {".0": "again", ".1": "again", ".2": "aside", ".2.1.0": "part", ".3": "last"}
    ways = {flow.id + to: flow.id + one for one, to in ((".0", ".1"), (".1", ".2"), (".2", ".3"))}
    assert tree.handed_over() == ways
    drawn, graph = tree.mermaid(), tree.dot()
    for other, one in ways.items():
        assert f"  {names[one]} ==> {names[other]}\n" in drawn
        assert f"  {names[one]} -> {names[other]} [style=bold];\n" in graph
    assert (drawn.count("==>"), drawn.count("-.->")) == (3, 1)


def test_headers_and_priority_go_along_and_a_hand_over_may_shift_it(app, steps, t):
    access = app.pipeline(
        "access", steps.prepare, steps.check, steps.grant, shift={steps.check: 5, steps.grant: -2}
    )
    access.start({"user_id": 1}, priority=10, headers={"correlation-id": "c1"}).outcome()

    assert [job.priority for job in t.jobs()] == [10, 15, 13]
    assert [job.headers for job in t.jobs()] == [{"correlation-id": "c1"}] * 3


def test_flows_of_one_pipeline_do_not_share_what_is_their_own(app, steps, t):
    """The jobs of a step are made from one mold, by the way and the priority."""
    access = app.pipeline("access", steps.prepare, steps.check)
    detour = app.pipeline("detour", steps.prepare, steps.check, steps.grant)
    for start in (access.start, detour.start):
        for priority, headers in ((0, {}), (3, {}), (0, {"h": "x"}), (0, {})):
            start({"user_id": 1}, priority=priority, headers=headers).outcome()

    checks = [job for job in t.jobs() if job.task == "check"]
    assert [job.priority for job in checks] == [0, 3, 0, 0] * 2
    assert [job.headers for job in checks] == [{}, {}, {"h": "x"}, {}] * 2
    assert [job.id for job in checks] == [f"{job.flow}.1" for job in checks]
    assert len({job.flow for job in checks}) == 8
    assert len({job.payload for job in checks}) == 2


def test_a_continuation_declared_late_tells_what_its_step_reads(app, t):
    @app.step(name="first")
    def first(n: int) -> None: ...

    @app.step(name="fan")
    def fan(n: int) -> dict:
        if n == 0:
            return {"kept": n}
        raise Spawn([], then=joined)

    way = app.pipeline("late", first, fan)
    way.start({"n": 0, "more": 7}).outcome()

    @fan.continuation
    def joined(results: list[int], more: int) -> dict:
        return {"kept": more}

    flow = way.start({"n": 1, "more": 7})
    assert flow.outcome().status is FlowStatus.SUCCEEDED
    assert flow.state()["kept"] == 7


def test_flows_are_looked_up_by_fields_of_the_state(app, steps, t):
    access = app.pipeline("access", steps.prepare, lookup=["user_id", "guild"])
    flow = access.start({"user_id": 62, "guild": "x"}, fields={"tier": "gold"})
    access.start({"user_id": 63})

    (found,) = app.flows.find(fields={"user_id": 62})
    assert (found.id, found.fields) == (flow.id, {"user_id": 62, "guild": "x", "tier": "gold"})
    both = access.start({"user_id": [62, 64], "guild": []}, fields={"tier": ["gold", "red"]})
    assert [each.id for each in app.flows.find(fields={"user_id": 62})] == [both.id, flow.id]
    assert [each.id for each in app.flows.find(fields={"tier": "red"})] == [both.id]
    for wrong in ({"user_id": {"a": 1}}, {"user_id": [1, True]}, {"user_id": [[1]]}):
        with pytest.raises(BadArguments, match="text, whole numbers, or lists"):
            access.start(wrong)


def test_a_step_that_fails_leaves_the_state_and_can_be_retried(app, steps, log, t):
    broken = [True]

    @app.step(name="fragile", retry=None)
    def fragile(user_id: int) -> dict:
        if broken:
            raise OSError(broken.pop())
        return {"granted": True}

    flow = app.pipeline("access", steps.prepare, fragile, steps.grant).start({"user_id": 1})
    assert flow.outcome().status is FlowStatus.FAILED
    assert flow.state() == {"user_id": 1, "roles": [1, 7]}
    assert flow.retry() == 1
    assert flow.outcome().status is FlowStatus.SUCCEEDED
    assert log == [("prepare", 1, None), ("grant", True)]


def test_a_step_fans_out_and_goes_on(app, log, t):
    @app.task(name="part")
    def part(n: int, correlation: str | None = None) -> list:
        return [n, current().correlation]

    @app.step(name="fan", queue="fan")
    def fan(user_id: int) -> None:
        raise Spawn([part.bind(n) for n in range(user_id)], then=joined)

    @fan.continuation
    def joined(results: list[list], guild: str | None) -> dict:
        return {"roles": [n for n, _ in results], "seen": [results[0][1], guild]}

    @app.step(name="last")
    def last(roles: list[int]) -> dict:
        return {"done": len(roles)}

    flow = app.pipeline("access", fan, last).start(
        {"user_id": 3, "guild": "x"}, headers={"correlation-id": "c1"}
    )
    assert flow.outcome().status is FlowStatus.SUCCEEDED
    assert flow.state() == {
        "user_id": 3,
        "guild": "x",
        "roles": [0, 1, 2],
        "seen": ["c1", "x"],
        "done": 3,
    }


def test_models_are_merged_by_field(app, t):
    @dataclass
    class Seen:
        a: int
        b: list[str]

    @app.step(name="model")
    def model() -> Seen:
        return Seen(1, ["x"])

    flow = app.pipeline("p", model).start({})
    flow.outcome()
    assert flow.state() == {"a": 1, "b": ["x"]}


async def test_the_same_without_blocking(app, steps):
    access = app.pipeline("access", steps.prepare, state=Access)
    with app.testing():
        flow = await access.astart({"user_id": 62}, id="a-1")
        assert (await flow.aoutcome()).status is FlowStatus.SUCCEEDED
        assert await access.flow("a-1").astate() == {"user_id": 62, "roles": [62, 7]}


def test_starting_twice_makes_one_flow(app, steps, t):
    access = app.pipeline("access", steps.prepare)
    access.start({"user_id": 62}, id="a-1")
    access.start({"user_id": 62}, id="a-1")
    assert len(t.jobs()) == 1


# -- types and refusals ----------------------------------------------------------------------------


def test_a_typed_state_is_checked_and_read_by_its_types(app, steps, t):
    access = app.pipeline("access", steps.prepare, state=Access)
    with pytest.raises(BadArguments, match="does not fit"):
        access.start({"user_id": "x"})
    with pytest.raises(BadConfig, match="reads kind, missing"):
        app.pipeline("access", steps.check, state=Access)
    assert t.jobs() == []


def test_fields_that_do_not_fit_fail_the_step(app, steps, t):
    flow = app.pipeline("access", steps.prepare).start({"user_id": "x"})
    assert flow.outcome().status is FlowStatus.FAILED
    with pytest.raises(JobFailed, match="user_id: expected `int`"):
        app.job(f"{flow.id}.0").result()


def test_what_is_no_fields_is_refused(app, t):
    @app.step(name="odd", retry=None)
    def odd() -> int:
        return 5

    flow = app.pipeline("p", odd).start({})
    flow.outcome()
    with pytest.raises(JobFailed, match="takes fields by name"):
        app.job(f"{flow.id}.0").result()


def test_a_step_has_no_life_of_its_own(app, steps):
    for call in (
        steps.prepare.enqueue,
        steps.prepare.bind,
        lambda: app.flow("x").add(steps.prepare),
    ):
        with pytest.raises(WrongContext, match="start a pipeline"):
            call()


def test_pipelines_are_checked_where_they_are_declared(app, steps):
    @app.task(name="plain")
    def plain() -> None: ...

    with pytest.raises(BadConfig, match="no steps"):
        app.pipeline("empty")
    with pytest.raises(BadConfig, match="not a step"):
        app.pipeline("p", plain)
    with pytest.raises(BadConfig, match="not among its steps"):
        app.pipeline("p", steps.prepare, shift={steps.grant: 1})
    with pytest.raises(BadConfig, match="another app"):
        App("memory://").pipeline("p", steps.prepare)
