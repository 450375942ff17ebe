"""Keys deleted or changed by others: nothing stops, and what is left is mended."""

import threading
import time

import pytest
from click.testing import CliRunner

from oxmill import App
from oxmill.cli.main import main
from oxmill.drivers.redis.driver import open_redis
from oxmill.model.claim import Claim
from oxmill.model.flow import FlowStep, NewFlow
from oxmill.model.info import ListQueues, Mended, Prune, Sweep
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.query import Filter, Find, Get
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Outcome, Ruling, Settle, Settlement
from oxmill.model.state import State
from oxmill.model.unique import UniqueKey
from oxmill.store.roles.installing import Check, Mend, Migrate
from oxmill.testing.clock import VirtualClock
from oxmill.testing.operations import plan_for

MINUTE = 60_000_000


class Damaged:
    """A store and somebody who deletes its keys."""

    def __init__(self, server, namespace):
        self.clock = VirtualClock()
        self.server, self.tag = server, f"{{{namespace}:0}}"
        self.driver = open_redis(server.url, namespace=namespace, clock=self.clock)
        self.do(Migrate())

    def do(self, request):
        return self.driver.run(plan_for(self.driver, request))

    def enqueue(self, *names, **options):
        jobs = (NewJob(id=name, queue="q", task="t", payload=b"{}", **options) for name in names)
        return self.do(Enqueue(jobs=tuple(jobs)))

    def claim(self, limit=10, nonce=1, queues=("q",)):
        claim = Claim(queues=queues, limit=limit, lease=MINUTE, worker="w", nonce=nonce)
        return self.do(claim)

    def taken(self, **options):
        return [job.id for job in self.claim(**options).jobs]

    def key(self, name):
        return f"{self.tag}:{name}"

    def lose(self, *names):
        """The records of these jobs are gone."""
        with self.server.client() as client:
            for name in names:
                assert client.hdel(self.key("jobs"), client.hget(self.key("ids"), name)) == 1

    def drop(self, key):
        with self.server.client() as client:
            assert client.delete(self.key(key)) == 1

    def size(self, key):
        with self.server.client() as client:
            return client.zcard(self.key(key))

    def counts(self):
        (queue,) = self.do(ListQueues(queues=("q",))).items
        return queue.counts

    def state(self, name):
        found = self.do(Get(ids=(name,)))
        return found[0].state if found else None


@pytest.fixture
def store(redis_server, tmp_path):
    made = Damaged(redis_server, tmp_path.name)
    yield made
    made.driver.close()


def test_a_claim_passes_over_ids_without_data_and_removes_them(store):
    store.enqueue("a", "b", "c", "d")
    store.lose("a", "c")

    assert store.taken() == ["b", "d"]

    assert store.size("line:q") == 0
    assert store.counts() == {State.RUNNING: 2}


def test_more_ids_without_data_than_one_script_looks_at_do_not_stop_a_queue(store):
    names = [f"gone-{number}" for number in range(2_600)]
    for first in range(0, len(names), 250):
        store.enqueue(*names[first : first + 250])
    store.enqueue("here")
    store.lose(*names)

    assert store.taken() == ["here"]
    assert store.size("line:q") == 0


@pytest.mark.parametrize("concurrency", [None, 5])
def test_lanes_pass_over_them_too(store, concurrency):
    store.do(PutSettings(queue="q", settings=QueueSettings(concurrency=concurrency)))
    store.enqueue("a", "b", "c", group="one")
    store.enqueue("d", "e", group="two")
    store.lose("a", "b", "d", "e")

    assert store.taken() == ["c"]

    assert store.counts() == {State.RUNNING: 1}
    assert store.size("lane:q\x1ftwo") == 0
    store.enqueue("f", group="two")
    assert store.taken(nonce=2) == ["f"]


def test_a_blocking_lease_goes_on_after_ids_without_data(redis_server, tmp_path):
    with App(f"{redis_server.url}?namespace={tmp_path.name}&mode=process") as app:
        queue = app.queue("work")
        queue.add(b"lost", id="lost")
        with redis_server.client() as client:
            client.delete(f"{{{tmp_path.name}:0}}:jobs")
        found = []
        waiting = threading.Thread(target=lambda: found.append(queue.lease(60, wait=20)))
        waiting.start()
        while queue.counts():  # until the entry is gone
            time.sleep(0.01)
        queue.add(b"here", id="here")
        waiting.join()

    assert [item.data for item in found] == [b"here"]


@pytest.mark.parametrize("delay", [0, MINUTE])
def test_a_sweep_removes_leases_and_due_times_without_a_job(store, delay):
    store.enqueue("a", "b", delay=delay)
    store.claim()
    store.lose("a")
    store.clock.advance(2 * MINUTE)

    swept = store.do(Sweep())

    assert (swept.lapsed + swept.due, swept.more) == (1, False)
    assert store.counts() == {State.WAITING: 1}
    assert store.size("leases:q") + store.size("due:q") == 0
    assert store.taken(nonce=2) == ["b"]


def test_a_sweep_after_the_clock_was_stepped_back_survives_a_lease_without_a_job(store):
    store.enqueue("a", "b")
    store.claim()
    store.lose("a")
    store.clock.advance(-2 * MINUTE)

    store.do(Sweep())

    assert store.size("leases:q") == 1


def test_prune_removes_ended_jobs_without_data(store):
    store.enqueue("a", "b", keep=MINUTE)
    done(store, *store.claim().jobs)
    store.lose("a")
    store.clock.advance(2 * MINUTE)

    assert store.do(Prune()).jobs == 2
    assert store.size("ended") == 0


def done(store, *jobs, **options):
    items = (
        Settlement(id=job.id, token=job.token, outcome=Outcome.COMPLETE, **options) for job in jobs
    )
    return store.do(Settle(items=tuple(items)))


def test_a_job_that_is_gone_cannot_be_settled_and_its_id_is_free(store):
    store.enqueue("a", "b")
    jobs = store.claim().jobs
    store.lose("a")

    assert [each.ruling for each in done(store, *jobs)] == [Ruling.GONE, Ruling.WON]
    store.enqueue("a")
    assert store.taken(nonce=2) == ["a"]


def test_the_key_of_a_job_that_is_gone_is_free(store):
    store.enqueue("a", unique=UniqueKey(key="k"))
    store.lose("a")

    (answer,) = store.enqueue("b", unique=UniqueKey(key="k"))

    assert answer.id == "b"
    assert store.taken() == ["b"]


def test_a_flow_goes_on_past_dependents_that_are_gone(store):
    flow = NewFlow(id="f", name="f")
    jobs = [
        NewJob(id=name, queue="q", task="t", payload=b"{}", flow="f", after=after)
        for name, after in (("a", ()), ("b", ("a",)), ("c", ("a",)))
    ]
    store.do(Enqueue(jobs=tuple(jobs), flow=flow))
    store.lose("b")

    done(store, *store.claim().jobs)

    assert store.taken(nonce=2) == ["c"]


def test_a_stage_is_published_past_jobs_that_are_gone(store):
    jobs = [NewJob(id=n, queue="q", task="t", payload=b"{}", flow="f") for n in ("a", "b")]
    store.do(Enqueue(jobs=tuple(jobs), flow=NewFlow(id="f", name="f"), stage="s"))
    store.lose("a")

    store.do(Enqueue(jobs=(), publish="s"))

    assert store.taken() == ["b"]


# -- mending -------------------------------------------------------------------------------------


def test_jobs_in_no_index_come_back_behind_those_that_wait(store):
    store.enqueue("a", "b")
    store.drop("line:q")
    store.enqueue("c")
    assert [finding.name for finding in astray(store)] == ["jobs astray"]

    assert store.do(Mend()) == Mended(returned=2)

    assert not astray(store)
    assert store.taken()[0] == "c"
    assert store.counts() == {State.RUNNING: 3}
    assert store.do(Mend()) == Mended()


def astray(store):
    names = {"jobs astray", "entries without a job"}
    return [finding for finding in store.do(Check(deep=True)) if finding.name in names]


def test_jobs_of_groups_come_back_into_lanes_and_are_counted_once(store):
    store.enqueue("a", "b", group="g")
    store.drop("lane:q\x1fg")

    assert store.do(Mend()) == Mended(returned=2)

    assert store.counts() == {State.WAITING: 2}
    assert sorted(store.taken()) == ["a", "b"]
    assert store.counts() == {State.RUNNING: 2}


def test_a_running_job_without_a_lease_lapses_in_its_time(store):
    store.enqueue("a")
    store.claim()
    store.drop("leases:q")
    store.drop("moments")

    assert store.do(Mend()) == Mended(returned=1)

    assert store.do(Sweep()).lapsed == 0
    store.clock.advance(MINUTE)
    assert store.do(Sweep()).lapsed == 1
    assert store.taken(nonce=2) == ["a"]


def test_the_holder_of_a_lease_that_was_put_back_may_still_complete(store):
    store.enqueue("a")
    jobs = store.claim().jobs
    store.drop("leases:q")
    store.do(Mend())

    assert done(store, *jobs)[0].ruling is Ruling.WON


def test_scheduled_and_ended_jobs_come_back_to_their_times(store):
    store.enqueue("ended", keep=MINUTE)
    done(store, *store.claim().jobs)
    store.enqueue("later", delay=MINUTE)
    store.drop("due:q")
    store.drop("ended")

    assert store.do(Mend()) == Mended(returned=2)

    store.clock.advance(2 * MINUTE)
    assert store.do(Prune()).jobs == 1
    assert store.taken(nonce=2) == ["later"]


def test_jobs_are_found_again_by_id_arrival_field_and_flow(store):
    store.enqueue("a", fields={"user": 1})
    job = NewJob(id="b", queue="q", task="t", payload=b"{}", flow="f")
    store.do(Enqueue(jobs=(job,), flow=NewFlow(id="f", name="f")))
    for key in ("ids", "pages", "filled", "field:user=i1", "members:f"):
        store.drop(key)

    assert store.do(Mend()) == Mended(returned=2)

    assert store.state("a") is State.WAITING
    assert [each.id for each in store.do(Find()).jobs] == ["b", "a"]
    assert [each.id for each in store.do(Find(filter=Filter(fields={"user": 1}))).jobs] == ["a"]
    assert [each.id for each in store.do(Find(filter=Filter(flow="f"))).jobs] == ["b"]
    assert store.taken() == ["a", "b"]


def test_entries_without_a_job_are_dropped_from_every_index(store):
    store.enqueue("a", "b", fields={"user": 1})
    store.enqueue("c", "d", group="g")
    store.enqueue("e", delay=MINUTE, expires_in=2 * MINUTE)
    store.lose("a", "c", "e")
    assert [finding.name for finding in astray(store)] == ["entries without a job"]

    mended = store.do(Mend())

    # the line or lane, the id; of a the field, of e the due time and the expiry
    assert mended == Mended(dropped=3 + 2 + 3)
    assert store.counts() == {State.WAITING: 2}
    assert store.size("field:user=i1") == store.size("line:q") == store.size("lane:q\x1fg") == 1
    assert store.do(Mend()) == Mended()


def test_a_limited_group_that_counted_a_job_that_is_gone_goes_on(store):
    store.do(PutSettings(queue="q", settings=QueueSettings(group_concurrency=1)))
    store.enqueue("a", "b", group="g")
    assert store.taken() == ["a"]
    store.lose("a")
    assert store.taken(nonce=2) == []
    assert "groups miscounted" in {finding.name for finding in store.do(Check(deep=True))}

    mended = store.do(Mend())

    assert mended == Mended(dropped=2, recounted=1)  # the lease and the id
    assert store.taken(nonce=3) == ["b"]


def test_mending_many_jobs_takes_many_short_scripts(store):
    for first in range(0, 3_000, 250):
        store.enqueue(*(f"job-{number}" for number in range(first, first + 250)))
    store.drop("line:q")

    assert store.do(Mend()) == Mended(returned=3_000)

    assert store.size("line:q") == 3_000


def test_a_flow_whose_next_step_lost_its_place_goes_on_once_mended(store):
    first = NewJob(id="a", queue="q", task="t", payload=b"{}", flow="f")
    store.do(Enqueue(jobs=(first,), flow=NewFlow(id="f", name="f")))
    second = NewJob(id="b", queue="q", task="t", payload=b"{}", flow="f")
    done(store, *store.claim().jobs, flow=FlowStep(then=(second,)))
    store.drop("line:q")

    assert store.do(Mend()) == Mended(returned=1)

    (job,) = store.claim(nonce=2).jobs
    assert job.id == "b"
    done(store, job)
    assert store.state("b") is State.SUCCEEDED


def test_people_mend_a_store_by_a_command(store):
    store.enqueue("a")
    store.drop("line:q")
    namespace = store.tag[1:-3]
    url = f"{store.server.url}?namespace={namespace}&mode=volatile"

    told = CliRunner().invoke(main, ["db", "check", "--repair", "--url", url])

    assert "1 jobs put back, 0 entries dropped, 0 groups counted again" in told.output
    assert store.taken() == ["a"]
