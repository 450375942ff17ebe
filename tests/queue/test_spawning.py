"""Fan-out at run time: children, continuations, retries, crashes."""

import re

import pytest

from oxmill import App, BadConfig, Failed, FlowStatus, JobFailed, Spawn, State, current
from oxmill.queue.spawning import child_id
from oxmill.queue.tree import descendants


@pytest.fixture
def app():
    return App("memory://")


@pytest.fixture
def t(app):
    with app.testing() as testing:
        yield testing


@pytest.fixture
def seen():
    return []


@pytest.fixture
def part(app, seen):
    @app.task(name="part", queue="parts", retry=None)
    async def part(n: int) -> int:
        seen.append(n)
        if n < 0:
            raise ValueError(n)
        return n * 10

    return part


@pytest.fixture
def whole(app, part):
    @app.task(name="whole", retry=None)
    def whole(numbers: list[int], label: str = "", how: dict | None = None) -> str:
        raise Spawn([part.bind(n) for n in numbers], then=put_together, **(how or {}))

    @whole.continuation
    def put_together(results: list[int | Failed], label: str = "") -> str:
        return label + ",".join(str(each) if each else each.error_type for each in results)

    return whole


def test_a_job_goes_on_with_the_results_of_its_children(whole, seen, t):
    job = whole.enqueue([1, 2, 3], "sum: ")
    t.run_all()

    assert job.result() == "sum: 10,20,30"
    assert seen == [1, 2, 3]
    assert [child.id for child in t.jobs(task="part")] == [f"{job.id}.1.{n}" for n in range(3)]


def test_a_waiting_parent_holds_no_lease(app, whole, t):
    app.control.pause("parts")
    job = whole.enqueue([1])
    t.run_all()
    record = job.refresh().record
    assert (record.state, record.reason, record.lease_until) == (State.HELD, "children", None)

    app.control.resume("parts")
    assert job.result() == "10"


def test_no_children_go_on_at_once(whole, t):
    assert whole.enqueue([]).result() == ""


def test_children_belong_to_a_flow_that_their_parent_founds(whole, app, t):
    job = whole.enqueue([1, 2])
    t.run_all()
    flow = app.flows[job.id]
    tree = flow.tree()

    assert flow.info().name == "whole"
    assert flow.status() is FlowStatus.SUCCEEDED
    assert [each.parent for each in tree.jobs] == [None, job.id, job.id]
    assert [each.id for each in tree.children()[job.id]] == [f"{job.id}.1.0", f"{job.id}.1.1"]


def test_a_failed_child_fails_its_parent(whole, t):
    job = whole.enqueue([1, -2, 3])
    with pytest.raises(JobFailed, match="dependency"):
        job.result()


@pytest.mark.parametrize(
    ("how", "result"),
    [
        ({"policy": "all_end"}, "10,ValueError,30"),
        ({"on_failure": "collect"}, "10,ValueError,30"),
        ({"on_failure": "ignore"}, "10,30"),
    ],
)
def test_failures_are_collected_or_left_out(whole, t, how, result):
    assert whole.enqueue([1, -2, 3], "", how).result() == result


def test_children_inherit_priority_and_headers_unless_told_otherwise(app, t):
    @app.task(name="child")
    def child() -> list:
        return [current().correlation, current().parent, dict(current().headers)]

    @app.task(name="parent")
    def parent() -> None:
        own = child.using(priority=9, headers={"correlation-id": "mine"})
        zero = child.using(priority=0)
        raise Spawn([child.bind(), own.bind(), zero.bind()], then=done)

    @parent.continuation
    def done(results: list) -> None: ...

    job = parent.using(priority=3, headers={"correlation-id": "c1", "x": "y"}).enqueue()
    t.run_all()
    first, second, third = t.jobs(task="child")

    assert (first.priority, second.priority, third.priority) == (3, 9, 0)
    assert first.result == b'["c1","%s",%s]' % (
        job.id.encode(),
        b'{"correlation-id":"c1","x":"y","oxmill-parent":"%s"}' % job.id.encode(),
    )
    assert second.headers["correlation-id"] == "mine"


def test_children_spawn_children(app, t):
    @app.task(name="tree", retry=None)
    def tree(depth: int) -> int:
        if depth == 0:
            return 1
        raise Spawn([tree.bind(depth - 1), tree.bind(depth - 1)], then=add)

    @tree.continuation
    def add(leaves: list[int], depth: int) -> int:
        return sum(leaves) + depth * 100

    job = tree.enqueue(3)
    assert job.result() == 8 + 4 * 100 + 2 * 200 + 300
    assert len(app.flows[job.id].tree().jobs) == 15


def test_a_continuation_may_spawn_again(app, part, seen, t):
    @app.task(name="rounds", retry=None)
    def rounds(n: int) -> list[int]:
        raise Spawn([part.bind(n)], then=again)

    @rounds.continuation
    def again(results: list[int], n: int) -> list[int]:
        if results[0] < 1000:
            raise Spawn([part.bind(results[0])], then=again)
        return results

    job = rounds.enqueue(1)
    assert job.result() == [1000]
    assert seen == [1, 10, 100]
    assert [each.id for each in t.jobs(task="part")] == [f"{job.id}.{n}.0" for n in (1, 2, 3)]


def test_a_continuation_that_raises_is_tried_again_with_the_same_children(app, part, seen, t):
    tries = []

    @app.task(name="flaky", retry=3)
    def flaky() -> int:
        tries.append("start")
        raise Spawn([part.bind(1), part.bind(2)], then=shaky)

    @flaky.continuation
    async def shaky(results: list[int]) -> int:
        tries.append(results)
        if len(tries) < 3:
            raise OSError
        return sum(results)

    job = flaky.enqueue()
    t.run_all()
    t.advance("1h")

    assert job.result() == 30
    assert tries == ["start", [10, 20], [10, 20]]
    assert seen == [1, 2]


def test_a_redriven_parent_finds_its_children(app, part, seen, t):
    broken = [True]

    @app.task(name="fragile", retry=None)
    def fragile() -> int:
        raise Spawn([part.bind(1), part.bind(2)], then=end)

    @fragile.continuation
    def end(results: list[int]) -> int:
        if broken:
            raise OSError(broken.pop())
        return sum(results)

    job = fragile.enqueue()
    with pytest.raises(JobFailed):
        job.result()
    assert app.flows[job.id].retry() == 1
    assert job.result() == 30
    assert seen == [1, 2]


def test_a_cursor_is_kept_for_the_continuation(app, part, t):
    @app.task(name="saves")
    def saves() -> int:
        current().save({"at": 7})
        raise Spawn([part.bind(1)], then=reads)

    @saves.continuation
    def reads(results: list[int]) -> int:
        return results[0] + current().cursor["at"]

    assert saves.enqueue().result() == 17


def test_thousands_of_children_are_staged_and_joined_in_order(app, part, seen, t):
    @app.task(name="many", retry=None)
    def many(n: int) -> int:
        raise Spawn([part.bind(x) for x in range(n)], then=count)

    @many.continuation
    def count(results: list[int]) -> int:
        assert results == [x * 10 for x in range(2_500)]
        return len(results)

    assert many.enqueue(2_500).result() == 2_500
    assert len(seen) == 2_500


def test_a_node_of_a_flow_may_spawn(app, whole, t):
    @app.task(name="give")
    def give() -> list[int]:
        return [4, 5]

    with app.flow("outer") as f:
        total = f.add(whole, f.add(give).out, label="t")
    assert f.result(total) == "t40,50"
    assert f.outcome().counts == {State.SUCCEEDED: 4}


def test_cancelling_a_parent_cancels_its_children(app, part, t):
    @app.task(name="parent", retry=None)
    def parent() -> None:
        raise Spawn([part.using(delay="1h").bind(n) for n in (1, 2)], then=end)

    @parent.continuation
    def end(results: list[int]) -> None: ...

    job = parent.enqueue()
    t.run_all()
    assert app.flows[job.id].cancel(job.id) >= 1
    t.advance("1m")
    t.run_all()

    assert {each.state for each in t.jobs()} == {State.CANCELLED}


# -- refusals --------------------------------------------------------------------------------------


def test_a_continuation_that_is_not_there_is_waited_for_as_an_unknown_task_is(app, whole, t):
    app.control.pause("parts")
    job = whole.enqueue([1])
    t.run_all()
    app.control.resume("parts")
    newer = dict(whole.continuations)
    whole.continuations.clear()
    t.run_all()
    record = job.refresh().record
    assert (record.state, record.failures) == (State.SCHEDULED, 0)
    assert "knows no step 'whole.put_together'" in record.history[-1].error.message
    assert "knows no step 'whole.put_together'" in app.explain(job.id).summary

    whole.continuations.update(newer)
    t.advance("5m")
    assert job.result() == "10"


def test_calls_that_cannot_be_spawned_fail_the_job(app, whole, part, t):
    @App("memory://").task(name="part")
    def foreign(n: int) -> int:
        return n

    @app.task(name="bad", retry=None)
    def bad(which: str) -> None:
        calls = {
            "foreign": [foreign.bind(1)],
            "unique": [part.using(unique="k").bind(1)],
            "twice": [part.using(id="x").bind(1), part.using(id="x").bind(2)],
            "connection": [part.using(connection=object()).bind(1)],
        }
        raise Spawn(calls.get(which, [part.bind(1)]), then=end, quorum=2 if which == "few" else 0)

    @bad.continuation
    def end(results: list) -> None: ...

    for which, words in {
        "foreign": "another app",
        "unique": "unique",
        "twice": "same id",
        "connection": "connection",
        "few": "never met",
    }.items():
        with pytest.raises(JobFailed, match=words):
            bad.enqueue(which).result()


@pytest.mark.parametrize(
    ("which", "words"),
    [
        ("another's", "cannot go on in whole.put_together, .* use then=end"),
        ("a task", "cannot go on in task part"),
        ("nothing", "cannot go on in None"),
        ("unbound", r"without its arguments; write part.bind\(...\)"),
        ("the task alone", r"write part.bind\(...\)"),
        ("no call", "7 cannot be spawned"),
    ],
)
def test_a_mistaken_spawn_fails_its_job_at_once_and_makes_no_child(
    app, whole, part, t, which, words
):
    thens = {
        "another's": whole.continuations["put_together"],
        "a task": part,
        "nothing": None,
    }
    calls = {"unbound": [part.bind(1), part], "the task alone": part, "no call": [7]}

    @app.task(name="mistaken", retry=5)
    def mistaken() -> None:
        raise Spawn(calls.get(which, [part.bind(1)]), then=thens.get(which, end))

    @mistaken.continuation
    def end(results: list) -> None: ...

    job = mistaken.enqueue()
    t.run_all()
    record = job.refresh().record

    assert (record.state, record.reason, record.attempt) == (State.FAILED, "refused", 1)
    assert record.error.type == "BadFlow"
    assert re.search(words, record.error.message)
    assert t.jobs(task="part") == []


def test_a_task_without_continuations_is_told_how_to_declare_one(app, part, t):
    @app.task(name="lonely")
    def lonely() -> None:
        raise Spawn([part.bind(1)], then=lonely)

    with pytest.raises(JobFailed, match=r"of its own; declare one with @lonely\.continuation"):
        lonely.enqueue().result()


def test_a_task_with_other_options_goes_on_in_its_own_continuation(whole, t):
    assert whole.using(priority=3).enqueue([1]).result() == "10"


def test_ids_of_children_stay_short():
    name = "x" * 100
    for number in range(20):
        name = child_id(name, 1, number)
        assert len(name) <= 120
    assert child_id("p", 1, 2) == "p.1.2"


def test_continuations_of_one_name_are_refused(whole):
    def put_together(results: list) -> str: ...

    with pytest.raises(BadConfig, match="two continuations named 'put_together'"):
        whole.continuation(put_together)
    with pytest.raises(BadConfig, match="list of results"):
        whole.continuation(lambda: "")


def test_descendants_are_found_through_all_generations(app, t):
    @app.task(name="tree", retry=None)
    def tree(depth: int) -> int:
        if depth == 0:
            return 1
        raise Spawn([tree.bind(depth - 1), tree.bind(depth - 1)], then=add)

    @tree.continuation
    def add(leaves: list[int]) -> int:
        return sum(leaves)

    job = tree.enqueue(2)
    t.run_all()
    found = app.flows[job.id].tree()
    first = f"{job.id}.1.0"

    assert descendants(found, [first]) == (first, f"{first}.1.0", f"{first}.1.1")
    assert len(descendants(found, [job.id])) == 7
