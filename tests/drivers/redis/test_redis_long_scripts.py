"""However large a flow is, no script does more than a bounded part of the work; sweeps do the rest."""

import pytest
from test_redis_cost import Counted
from test_redis_flow_cost import begin, new_job

from oxmill import App
from oxmill.model.flow import FlowStatus, FlowStep, Join, JoinPolicy, ListFlows, OnFailure
from oxmill.model.info import Sweep
from oxmill.model.query import Cancel, Filter, Get, Purge
from oxmill.model.settlement import Outcome
from oxmill.model.state import State
from oxmill.testing.operations import plan_for

EDGES_AT_ONCE, RIPPLES_AT_ONCE = 250, 50
MANY = 600


@pytest.fixture
def counted(tmp_path, monkeypatch):
    world = Counted(tmp_path, monkeypatch)
    yield world
    world.close()


def do(counted, request):
    return counted.driver.run(plan_for(counted.driver, request))


def sweep(counted):
    """Gives the most commands that one sweep took."""
    most = 0
    while True:
        with counted.server.client() as client:
            client.config_resetstat()
            more = do(counted, Sweep()).more
            stats = client.info("commandstats")
        most = max(most, sum(each["calls"] for each in stats.values()))
        if not more:
            return most


def edges(counted):
    with counted.server.client() as client:
        return sum(client.zcard(key) for key in client.keys("*:up:*"))


def state(counted, name):
    (job,) = do(counted, Get(ids=(name,)))
    return job.state


def filled(counted, count=MANY, **options):
    for first in range(0, count, 50):
        some = (new_job(f"u{n}", "f", **options) for n in range(first, min(first + 50, count)))
        counted.driver.run(begin(counted, "f", *some))
    return tuple(f"u{n}" for n in range(count))


def done(counted, *, outcome=Outcome.COMPLETE, limit=1_000):
    jobs = counted.driver.run(counted.claim(limit=limit, nonce=7)).jobs
    counted.driver.run(counted.settle(jobs, outcome=outcome))
    return jobs


@pytest.mark.parametrize("count", [MANY, 3_000])
def test_a_job_after_many_is_enqueued_by_as_many_commands_as_one_after_few(counted, count):
    names = filled(counted, count)
    last = new_job("last", "f", after=names)

    trips, scripts, commands = counted.cost(begin(counted, "f", last))

    assert (trips, scripts) == (1, 1)
    assert commands <= 40
    assert edges(counted) <= EDGES_AT_ONCE + RIPPLES_AT_ONCE
    assert sweep(counted) <= 60
    assert edges(counted) == count


@pytest.mark.parametrize("count", [MANY, 3_000])
def test_joining_many_staged_children_is_bounded_too(counted, count):
    counted.driver.run(begin(counted, "f", new_job("p", "f")))
    (parent,) = counted.driver.run(counted.claim(limit=1)).jobs
    for first in range(0, count, 50):
        some = (new_job(f"c{n}", "f", parent="p") for n in range(first, min(first + 50, count)))
        counted.driver.run(begin(counted, "f", *some, stage="s"))
    step = FlowStep(publish="s", resume="go")

    settle = counted.settle((parent,), outcome=Outcome.COMPLETE, flow=step)

    assert counted.cost(settle)[2] <= 60
    assert edges(counted) <= EDGES_AT_ONCE + RIPPLES_AT_ONCE
    assert sweep(counted) <= 60
    while done(counted):
        pass
    (flow,) = do(counted, ListFlows()).items
    assert flow.status is FlowStatus.SUCCEEDED
    assert flow.counts == {State.SUCCEEDED: count + 1}


def test_a_job_after_many_that_have_ended_starts_once_its_edges_are_made(counted):
    names = filled(counted)
    done(counted)

    counted.driver.run(begin(counted, "f", new_job("last", "f", after=names)))

    assert state(counted, "last") is State.HELD
    sweep(counted)
    assert state(counted, "last") is State.WAITING


def test_jobs_that_end_before_their_edges_are_made_are_joined_all_the_same(counted):
    names = filled(counted)
    counted.driver.run(begin(counted, "f", new_job("last", "f", after=names)))
    done(counted)

    assert state(counted, "last") is State.HELD
    sweep(counted)
    assert state(counted, "last") is State.WAITING


def test_a_failure_behind_the_edges_that_were_made_at_once_fails_the_join(counted):
    names = filled(counted, MANY - 1)
    done(counted)
    counted.driver.run(begin(counted, "f", new_job("bad", "f")))
    done(counted, outcome=Outcome.FAIL)

    counted.driver.run(begin(counted, "f", new_job("last", "f", after=(*names, "bad"))))
    sweep(counted)

    assert state(counted, "last") is State.FAILED
    (flow,) = do(counted, ListFlows()).items
    assert flow.status is FlowStatus.FAILED


def test_a_join_over_any_lets_go_of_those_whose_edges_were_made_last(counted):
    names = filled(counted)
    (first,) = counted.driver.run(counted.claim(limit=1, nonce=3)).jobs
    counted.driver.run(counted.settle((first,), outcome=Outcome.COMPLETE))
    join = Join(policy=JoinPolicy.ANY, on_failure=OnFailure.CANCEL)

    counted.driver.run(begin(counted, "f", new_job("last", "f", after=names, join=join)))
    sweep(counted)

    assert state(counted, "last") is State.WAITING
    assert {state(counted, name) for name in names[1:]} == {State.CANCELLED}


def test_a_parent_cancelled_before_its_edges_are_made_takes_all_children_along(counted):
    counted.driver.run(begin(counted, "f", new_job("p", "f")))
    (parent,) = counted.driver.run(counted.claim(limit=1)).jobs
    for first in range(0, MANY, 50):
        some = (new_job(f"c{n}", "f", parent="p") for n in range(first, first + 50))
        counted.driver.run(begin(counted, "f", *some, stage="s"))
    step = FlowStep(publish="s", resume="go")
    counted.driver.run(counted.settle((parent,), outcome=Outcome.COMPLETE, flow=step))

    do(counted, Cancel(filter=Filter(ids=("p",))))
    sweep(counted)

    assert {state(counted, f"c{number}") for number in range(MANY)} == {State.CANCELLED}
    (flow,) = do(counted, ListFlows()).items
    assert flow.status is FlowStatus.FAILED


def test_purging_a_job_after_many_is_bounded_and_leaves_no_edges(counted):
    names = filled(counted)
    counted.driver.run(begin(counted, "f", new_job("last", "f", after=names)))
    sweep(counted)
    purge = counted.driver.steering.purge(Purge(filter=Filter(ids=("last",))))

    assert counted.cost(purge)[2] <= 40
    assert edges(counted) >= MANY - EDGES_AT_ONCE - RIPPLES_AT_ONCE
    sweep(counted)
    assert edges(counted) == 0


def test_a_sweep_ends_flows_cancelled_as_a_whole_in_bounded_scripts(counted):
    filled(counted, 1_000)

    cancel = counted.driver.steering.cancel(Cancel(filter=Filter(flow="f")))

    _, scripts, commands = counted.cost(cancel)
    assert commands <= 150 * scripts
    assert scripts >= 10


def test_the_client_sends_what_costs_most_in_small_batches(redis_server, tmp_path, monkeypatch):
    """So that no script is long; a graph that takes several is staged, and stays atomic."""
    with App(f"{redis_server.url}?namespace={tmp_path.name}", mode="volatile") as app:

        @app.task(name="work")
        def work(n: int) -> None: ...

        sent = []
        enqueue, most = app.driver.enqueueing.enqueue, app.driver.bounds.heavy_jobs
        monkeypatch.setattr(
            app.driver.enqueueing, "enqueue", lambda asked: sent.append(asked) or enqueue(asked)
        )
        app.enqueue_many(work.using(fields={"user": n}).bind(n) for n in range(most + 1))
        app.enqueue_many(work.bind(n) for n in range(most + 1))
        with app.flow("chain") as f:
            node = f.add(work, 0)
            for n in range(most):
                node = f.add(work, n).after(node)

        assert [len(each.jobs) for each in sent] == [most, 1, most + 1, most, 1]
        assert [each.publish for each in sent[-2:]] == [None, f.id]


def staged(counted, *names):
    """A parent that runs, and its children in a stage."""
    counted.driver.run(begin(counted, "f", new_job("p", "f")))
    (parent,) = counted.driver.run(counted.claim(limit=1)).jobs
    for name in names:
        counted.driver.run(begin(counted, "f", new_job(name, "f", parent="p"), stage="s"))
    return parent


def joined(counted, parent):
    step = FlowStep(publish="s", resume="go")
    counted.driver.run(counted.settle((parent,), outcome=Outcome.COMPLETE, flow=step))
    sweep(counted)
    done(counted)
    (resumed,) = counted.driver.run(counted.claim(limit=10, nonce=8)).jobs
    return resumed.joined


def rolls(counted):
    with counted.server.client() as client:
        return [client.get(key) for key in client.keys("*:roll:*")]


def test_the_ids_of_staged_children_are_gathered_as_they_come(counted):
    parent = staged(counted, "c2", "c0", "c1")

    assert rolls(counted) == [b"\x02c2\x02c0\x02c1"]
    assert joined(counted, parent) == ("c2", "c0", "c1")
    assert rolls(counted) == []


def test_a_staged_child_that_is_gone_is_not_waited_for(counted):
    parent = staged(counted, "c0", "c1", "c2")
    do(counted, Purge(filter=Filter(ids=("c1",))))

    assert joined(counted, parent) == ("c0", "c2")


def test_an_older_release_may_have_staged_some_of_them(counted):
    """It knows of no roll, and leaves the one that is there behind."""
    parent = staged(counted, "c0", "c1")
    with counted.server.client() as client:
        (key,) = client.keys("*:roll:*")
        client.set(key, b"\x02c0")

    assert joined(counted, parent) == ("c0", "c1")
