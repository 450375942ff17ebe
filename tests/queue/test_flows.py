"""Graphs: all or nothing, results as arguments, joins, and what is refused."""

import asyncio
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from oxmill import (
    App,
    BadArguments,
    BadFlow,
    Failed,
    FlowCycle,
    FlowEnqueued,
    FlowNotFound,
    FlowStatus,
    ForeignNode,
    IdConflict,
    JobCancelled,
    JobFailed,
    JobNotFound,
    Middleware,
    Spawn,
    State,
    WrongContext,
    current,
)
from oxmill.queue.draft import Draft
from oxmill.queue.picture import dot, mermaid, outline


@dataclass
class Page:
    url: str


@pytest.fixture
def app():
    return App("memory://")


@pytest.fixture
def tasks(app):
    ran = []

    @app.task(name="fetch", retry=None)
    async def fetch(url: str) -> Page:
        ran.append(url)
        if url == "bad":
            raise ValueError("no such page")
        return Page(url)

    @app.task(name="merge", retry=None)
    def merge(pages: list[Page]) -> str:
        ran.append("merge")
        return "+".join(page.url for page in pages)

    @app.task(name="gather")
    def gather(pages: list[Page | Failed]) -> list[str]:
        return [page.url if isinstance(page, Page) else page.error_type for page in pages]

    @app.task(name="note")
    def note(text: str = "") -> str:
        ran.append(f"note {text}".strip())
        return text

    @app.task(name="headers")
    def headers() -> dict:
        return dict(current().headers)

    return SimpleNamespace(
        ran=ran, fetch=fetch, merge=merge, gather=gather, note=note, headers=headers
    )


@pytest.fixture
def t(app):
    with app.testing() as testing:
        yield testing


# -- running ---------------------------------------------------------------------------------------


def test_results_flow_along_the_edges(app, tasks, t):
    with app.flow("import") as f:
        pages = [f.add(tasks.fetch, url) for url in "abc"]
        total = f.add(tasks.merge, [page.out for page in pages])
        last = f.add(tasks.note, total.out).after(pages[0])
    t.run_all()

    assert f.result(total) == "a+b+c"
    assert f.result(pages[1]) == Page("b")
    assert f.result(last) == "a+b+c"
    assert tasks.ran == ["a", "b", "c", "merge", "note a+b+c"]
    assert f.status() is FlowStatus.SUCCEEDED


async def test_the_same_without_blocking(app, tasks):
    with app.testing():
        async with app.flow("import", fields={"user_id": 62}) as f:
            page = f.add(tasks.fetch, "a")
            total = f.add(tasks.merge, [page.out])
        assert await f.aresult(total, timeout=5) == "a"
        assert (await f.aoutcome(5)).status is FlowStatus.SUCCEEDED
        assert await f.astatus() is FlowStatus.SUCCEEDED
        assert [info.id async for info in app.flows.afind(fields={"user_id": 62})] == [f.id]
        assert [job.id for job in (await f.atree()).jobs] == [page.id, total.id]
        assert await f.astate() == {}
        assert (await f.acancel(), await f.aretry()) == (0, 0)


def test_to_wait_for_the_outcome_runs_it(app, tasks, t):
    with app.flow("import") as f:
        f.add(tasks.merge, [f.add(tasks.fetch, "a").out])
    info = f.outcome()

    assert (info.status, info.counts) == (FlowStatus.SUCCEEDED, {State.SUCCEEDED: 2})


def test_a_node_waits_without_results_too(app, tasks, t):
    with app.flow("import") as f:
        first = f.add(tasks.note.using(delay="1h"), "first")
        f.add(tasks.note, "second").after(first)
    assert t.run_all() == 0
    t.advance("1h")
    t.run_all()

    assert tasks.ran == ["note first", "note second"]


def test_options_of_nodes_are_those_of_tasks(app, tasks, t):
    with app.flow("import") as f:
        node = f.add(tasks.note.using(queue="mail", priority=7, tags=["x"], id="mine"), "a")
        other = f.add(tasks.note, node.out)
    first, second = t.jobs()

    assert (first.id, first.queue, first.priority, first.tags) == ("mine", "mail", 7, ("x",))
    assert second.state is State.HELD
    assert f.result(other) == "a"


def test_headers_of_a_flow_go_with_all_its_jobs(app, tasks, t):
    with app.flow("import", headers={"correlation-id": "c1", "a": "1"}) as f:
        node = f.add(tasks.headers.using(headers={"a": "2"}))
    assert f.result(node) == {"correlation-id": "c1", "a": "2"}


def test_ten_thousand_nodes_are_one_flow(app):
    @app.task(name="one")
    async def one(n: int) -> int:
        return n

    @app.task(name="total")
    async def total(numbers: list[int]) -> int:
        return sum(numbers)

    with app.flow("big") as f:
        nodes = [f.add(one, n) for n in range(9_999)]
        last = f.add(total, [node.out for node in nodes])
    assert sum(f.info().counts.values()) == 10_000

    with app.running(slots=200, sweep_every=0.1):
        assert f.result(last, timeout=60) == sum(range(9_999))
        assert f.outcome(timeout=10).counts == {State.SUCCEEDED: 10_000}


# -- joins -----------------------------------------------------------------------------------------


def test_a_failure_fails_what_waits_for_it_and_cancels_the_rest(app, tasks, t):
    with app.flow("import") as f:
        bad = f.add(tasks.fetch, "bad")
        slow = f.add(tasks.fetch.using(delay="1h"), "slow")
        total = f.add(tasks.merge, [bad.out, slow.out])
    t.run_all()

    with pytest.raises(JobFailed, match="no such page"):
        f.result(bad)
    with pytest.raises(JobFailed, match="dependency"):
        f.result(total)
    with pytest.raises(JobCancelled, match="sibling"):
        f.result(slow)
    assert f.status() is FlowStatus.FAILED


def test_failures_are_collected_as_values(app, tasks, t):
    with app.flow("import") as f:
        pages = [f.add(tasks.fetch, url) for url in ("a", "bad", "c")]
        both = f.add(tasks.gather, [page.out for page in pages]).join(on_failure="collect")
        ended = f.add(tasks.gather, [page.out for page in pages]).join(policy="all_end")
    t.run_all()

    assert f.result(both) == ["a", "ValueError", "c"]
    assert f.result(ended) == ["a", "ValueError", "c"]
    assert f.status() is FlowStatus.SUCCEEDED


def test_failures_are_left_out_if_they_are_ignored(app, tasks, t):
    with app.flow("import") as f:
        pages = [f.add(tasks.fetch, url) for url in ("a", "bad", "c")]
        total = f.add(tasks.merge, [page.out for page in pages]).join(on_failure="ignore")
    assert f.result(total) == "a+c"


@pytest.mark.parametrize(
    ("terms", "given"), [({"policy": "any"}, "a"), ({"quorum": 2}, "a+b")], ids=["any", "quorum"]
)
def test_some_are_enough(app, tasks, t, terms, given):
    with app.flow("race") as f:
        pages = [f.add(tasks.fetch, url) for url in "ab"]
        pages.append(f.add(tasks.fetch.using(delay="1h"), "slow"))
        if "policy" in terms:
            pages[1:2] = [f.add(tasks.fetch.using(delay="2h"), "slower")]
        total = f.add(tasks.merge, [page.out for page in pages]).join(**terms)
    t.run_all()

    assert f.result(total).split("+")[0] == "a"
    assert given in (f.result(total), "a+b")
    with pytest.raises(JobCancelled):
        f.result(pages[2])


def test_a_deadline_ends_the_waiting(app, tasks, t):
    with app.flow("late") as f:
        slow = f.add(tasks.fetch.using(delay="1d"), "slow")
        firm = f.add(tasks.merge, [slow.out]).join(deadline="1h")
        easy = f.add(tasks.gather, [slow.out]).join(on_failure="collect", deadline="1h")
    t.run_all()
    t.advance("2h")
    t.run_all()

    with pytest.raises(JobFailed, match="deadline"):
        f.result(firm)
    assert f.result(easy) == [""]


@pytest.mark.parametrize(
    "terms",
    [
        {"policy": "some"},
        {"on_failure": "explode"},
        {"policy": "quorum"},
        {"policy": "any", "quorum": 2},
    ],
)
def test_terms_of_a_join_are_checked(app, tasks, terms):
    node = app.flow("x").add(tasks.note)
    with pytest.raises(ValueError, match=r"is not one of|a quorum is"):
        node.join(**terms)


# -- all or nothing --------------------------------------------------------------------------------


def test_an_exception_in_the_block_enqueues_nothing(app, tasks, t):
    f = app.flow("import")

    def fill():
        with f:
            f.add(tasks.note)
            raise KeyError

    with pytest.raises(KeyError):
        fill()
    assert t.jobs() == []
    with pytest.raises(FlowNotFound):
        f.info()
    with pytest.raises(FlowEnqueued):
        f.add(tasks.note)


def test_the_same_flow_again_makes_nothing_new(app, tasks, t):
    def start(text="a"):
        with app.flow("import", id="i-1") as f:
            first = f.add(tasks.note, text)
            f.add(tasks.note, first.out)
        return f

    assert start().created
    t.run_all()
    assert not start().created
    assert len(t.jobs()) == 2
    with pytest.raises(IdConflict):
        start("b")


def test_a_flow_is_enqueued_once(app, tasks, t):
    f = app.flow("import")
    node = f.add(tasks.note, "a")
    with pytest.raises(BadFlow, match="not enqueued yet"):
        node.job  # noqa: B018
    assert f.enqueue() is f
    for late in (lambda: f.add(tasks.note), f.enqueue, node.after, node.join):
        with pytest.raises(FlowEnqueued, match="Make another flow"):
            late()
    assert node.job.result() == "a"


def test_a_flow_in_a_block_may_be_enqueued_by_hand(app, tasks, t):
    with app.flow("import") as f:
        f.add(tasks.note, "a")
        f.enqueue()
    assert len(t.jobs()) == 1


def test_a_blocking_flow_in_a_loop_is_refused(app, tasks):
    async def main():
        with app.flow("import") as f:
            f.add(tasks.note)

    with app.testing() as t:
        with pytest.raises(WrongContext, match="aenqueue"):
            asyncio.run(main())
        assert t.jobs() == []


# -- refusals --------------------------------------------------------------------------------------


def test_a_circle_is_refused_and_named(app, tasks, t):
    f = app.flow("round")
    one, two = f.add(tasks.note), f.add(tasks.note)
    one.after(two)
    two.after(one)
    with pytest.raises(FlowCycle, match=r"note .* → note"), f:
        pass
    assert t.jobs() == []


def test_nodes_may_be_added_in_any_order(app, tasks, t):
    with app.flow("order") as f:
        last = f.add(tasks.note, "last")
        first = f.add(tasks.note, "first")
        last.after(first)
    t.run_all()
    assert tasks.ran == ["note first", "note last"]


def test_nodes_of_other_flows_and_tasks_of_other_apps_are_refused(app, tasks):
    other = app.flow("other").add(tasks.note)
    f = app.flow("import")
    with pytest.raises(ForeignNode, match="belongs to another flow"):
        f.add(tasks.note, other.out)
    with pytest.raises(ForeignNode, match="belongs to another flow"):
        f.add(tasks.note).after(other)

    @App("memory://").task(name="elsewhere")
    def elsewhere() -> None: ...

    with pytest.raises(ForeignNode, match="another app"):
        f.add(elsewhere)


def test_what_a_flow_cannot_take_is_refused(app, tasks, t):
    f = app.flow("import")
    with pytest.raises(BadFlow, match="unique"):
        f.add(tasks.note.using(unique="k"))
    with pytest.raises(BadFlow, match="connection"):
        f.add(tasks.note.using(connection=object()))
    with pytest.raises(BadFlow, match="no jobs"):
        f.enqueue()
    with pytest.raises(BadArguments):
        f.add(tasks.note, 5)
    f.add(tasks.note).join(quorum=2)
    with pytest.raises(BadFlow, match="never met"):
        f.enqueue()
    g = app.flow("twice")
    g.add(tasks.note.using(id="same"))
    g.add(tasks.note.using(id="same"))
    with pytest.raises(BadFlow, match="same id"):
        g.enqueue()
    assert t.jobs() == []


# -- operating -------------------------------------------------------------------------------------


def test_flows_are_found_by_name_status_and_fields(app, tasks, t):
    for number in range(3):
        with app.flow("import", id=f"i{number}", fields={"user": number % 2}) as f:
            f.add(tasks.note)
        if number == 0:
            f.outcome()
    with app.flow("export", id="e", fields={"user": 0}) as f:
        f.add(tasks.note)

    def ids(**where):
        return [info.id for info in app.flows.find(**where)]

    assert ids() == ["e", "i2", "i1", "i0"]
    assert ids(name="import", fields={"user": 0}) == ["i2", "i0"]
    assert ids(status="succeeded") == ["i0"]
    with pytest.raises(ValueError, match="is not a status"):
        ids(status="done")


def test_a_failed_flow_is_retried_from_its_failed_jobs(app, tasks, t):
    fetch_ok = {"bad": False}

    @app.task(name="flaky", retry=None)
    def flaky() -> str:
        tasks.ran.append("flaky")
        if not fetch_ok["bad"]:
            raise ValueError
        return "x"

    with app.flow("import") as f:
        good = f.add(tasks.note, "good")
        bad = f.add(flaky)
        total = f.add(tasks.note, bad.out).after(good)
    assert f.outcome().status is FlowStatus.FAILED
    fetch_ok["bad"] = True

    assert f.retry() == 2
    assert f.status() is FlowStatus.RUNNING
    assert f.result(total) == "x"
    assert f.outcome().status is FlowStatus.SUCCEEDED
    assert tasks.ran == ["note good", "flaky", "flaky", "note x"]


def test_a_flow_is_cancelled_as_a_whole(app, tasks, t):
    with app.flow("import") as f:
        first = f.add(tasks.note, "a")
        f.add(tasks.note, first.out)
    assert f.cancel(reason="not needed") >= 1
    t.run_all()

    assert tasks.ran == []
    assert f.status() is FlowStatus.FAILED
    assert {job.state for job in t.jobs()} <= {State.CANCELLED, State.FAILED}


def test_a_tree_tells_who_waits_for_whom(app, tasks, t):
    with app.flow("import") as f:
        page = f.add(tasks.fetch, "a")
        f.add(tasks.merge, [page.out])
    f.outcome()
    tree = f.tree()

    assert [(job.id, job.after) for job in tree.jobs] == [
        (f"{f.id}.0", ()),
        (f"{f.id}.1", (f"{f.id}.0",)),
    ]
    assert [lead for lead, _ in outline(tree)] == ["├─ ", "└─ "]
    assert mermaid(tree).splitlines()[:4] == [
        "flowchart TD",
        '  n0["fetch<br/>succeeded"]:::succeeded',
        '  n1["merge<br/>succeeded"]:::succeeded',
        "  n0 --> n1",
    ]
    assert "  n0 -> n1;" in dot(tree)
    assert dot(tree).startswith('digraph "import" {')


def test_a_handle_is_had_by_id(app, tasks, t):
    with app.flow("import", state={"n": 1}, keep="1h") as f:
        f.add(tasks.note)
    again = app.flows[f.id]

    assert again == f
    assert isinstance(f, Draft)
    assert again.state() == {"n": 1}
    with pytest.raises(FlowNotFound):
        app.flows["nope"].status()


def test_a_part_of_a_flow_is_cancelled_and_retried_by_its_nodes(app, tasks, t):
    with app.flow("import") as f:
        one, two = f.add(tasks.note, "one"), f.add(tasks.note, "two")
    assert f.cancel(one) == 1
    t.run_all()
    assert tasks.ran == ["note two"]
    assert f.retry(two.id) == 0
    assert f.retry(one) == 1
    t.run_all()
    assert tasks.ran == ["note two", "note one"]


def test_a_job_of_another_flow_is_neither_cancelled_nor_retried(app, tasks, t):
    with app.flow("import") as f:
        f.add(tasks.note, "one")
    with app.flow("other") as other:
        bad = other.add(tasks.fetch, "bad")
    t.run_all()
    for steer in (f.cancel, f.retry):
        with pytest.raises(JobNotFound, match=f"has no job {bad.id}"):
            steer(bad)
    assert app.get(bad.id).state is State.FAILED


def test_jobs_with_gaps_are_found_by_the_arguments_that_are_known(app, tasks, t):
    @app.task(name="both")
    def both(text: str, n: int = 0) -> None: ...

    with app.flow("import") as f:
        f.add(both, f.add(tasks.note).out, n=5)
    assert len(t.assert_enqueued(both, n=5)) == 1
    t.refute_enqueued(both, n=6)


def test_a_join_over_nothing_is_met(app, tasks, t):
    with app.flow("empty") as f:
        node = f.add(tasks.gather, []).join(policy="any", on_failure="collect", deadline="1h")
    assert f.result(node) == []


def test_hooks_see_the_jobs_of_flows_and_those_that_are_spawned():
    class Stamp(Middleware):
        def on_enqueue(self, job):
            job.headers["stamp"] = job.task
            return job

    app = App("memory://", middleware=[Stamp()])

    @app.task(name="part")
    def part() -> str:
        return current().headers["stamp"]

    @app.task(name="whole")
    def whole() -> list[str]:
        return Spawn([part.bind()], then=joined)  # returned does the same as raised

    @whole.continuation
    def joined(results: list[str]) -> list[str]:
        return [*results, current().headers["stamp"]]

    @app.step(name="step")
    def step() -> dict[str, str]:
        return {"stamp": current().headers["stamp"]}

    @app.step(name="next")
    def after(stamp: str) -> dict[str, str]:
        return {"stamp": f"{stamp} {current().headers['stamp']}"}

    with app.testing():
        with app.flow("f") as f:
            node = f.add(whole)
        assert f.result(node) == ["part", "whole"]
        run = app.pipeline("p", step, after).start({})
        run.outcome()
        assert run.state() == {"stamp": "step next"}
