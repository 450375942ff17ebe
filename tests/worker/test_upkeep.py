"""Sweeping, pruning and schedules, as workers do them."""

import dataclasses

import pytest
from msgspec.structs import replace

from oxmill.errors import StoreUnavailable
from oxmill.maintenance.pruner import Pruner
from oxmill.maintenance.scheduler import Scheduler
from oxmill.maintenance.service import Service
from oxmill.maintenance.sweeper import Sweeper
from oxmill.model.claim import Claim
from oxmill.model.job import NewJob
from oxmill.model.query import Find
from oxmill.model.schedule import CatchUp, ListSchedules, Overlap, PutSchedules, Schedule
from oxmill.model.settings import DAY, SECOND
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.model.state import State
from oxmill.observe.bus import Bus
from oxmill.observe.events import ScheduleBroken, StoreBack, StoreTrouble, TickFired
from oxmill.rules.cron import TICK
from oxmill.testing.clock import VirtualClock

TEMPLATE = NewJob(id="-", queue="default", task="t", payload=b"{}")


def schedule(name="s", **changes):
    return Schedule(**({"name": name, "job": TEMPLATE, "every": 60 * SECOND} | changes))


@pytest.fixture
def clock():
    return VirtualClock()


@pytest.fixture(params=["memory", "sqlite"])
def store(request, tmp_path, clock):
    """A store whose clock is moved by the test."""
    from oxmill.drivers.memory.driver import open_memory  # noqa: PLC0415
    from oxmill.drivers.sqlite.driver import open_sqlite  # noqa: PLC0415

    if request.param == "memory":
        opened = open_memory(clock=clock)
    else:
        opened = open_sqlite(tmp_path / "jobs.db", clock=clock, mode="volatile")
    yield opened
    opened.close()


def put(store, *schedules):
    store.run(store.scheduling.put_schedules(PutSchedules(put=schedules)))


def jobs(store):
    return store.run(store.inspecting.find(Find(limit=1000))).jobs


def infos(store):
    found = store.run(store.scheduling.schedules(ListSchedules()))
    return {info.schedule.name: info for info in found.items}


def claim(store):
    request = Claim(queues=("default",), limit=10, lease=DAY, worker="w", nonce=1)
    return store.run(store.claiming.claim(request)).jobs


def complete(store, leased):
    ends = tuple(Settlement(id=job.id, token=job.token, outcome=Outcome.COMPLETE) for job in leased)
    store.run(store.settling.settle(Settle(items=ends)))


async def test_a_schedule_makes_one_job_per_tick_however_many_schedulers_run(store, clock):
    put(store, schedule())
    schedulers = [Scheduler(store, Bus()) for _ in range(3)]
    for each in schedulers:
        await each.run_once()
    assert jobs(store) == ()

    for minute in range(1, 4):
        clock.advance(60 * SECOND)
        for each in schedulers:
            await each.run_once()
        assert len(jobs(store)) == minute

    assert len({job.headers[TICK] for job in jobs(store)}) == 3


async def test_the_scheduler_sleeps_until_the_next_tick(store, clock):
    put(store, schedule(every=10 * SECOND), schedule("slow", every=DAY))
    scheduler = Scheduler(store, Bus())

    wait = await scheduler.run_once()

    assert wait == (10 * SECOND - clock.now % (10 * SECOND)) / SECOND


async def test_one_bad_schedule_never_stops_the_others(store, clock):
    bus, heard = Bus(), []
    bus.subscribe(heard.append, ScheduleBroken, TickFired)
    bad = schedule("bad", every=None, cron="0 0 31 2 *")
    lost = schedule("lost", zone="Mars/Olympus", every=None, cron="* * * * *")
    put(store, bad, schedule("good"), lost)
    scheduler = Scheduler(store, bus)
    await scheduler.run_once()
    clock.advance(60 * SECOND)
    await scheduler.run_once()

    found = infos(store)
    assert len(jobs(store)) == 1
    assert "0 0 31 2" in found["bad"].error
    assert "Mars" in found["lost"].error
    assert found["good"].error is None
    assert sorted(event.schedule for event in heard) == ["bad", "good", "lost"]


async def test_one_bad_declaration_never_stops_the_others(store, clock):
    bus, heard = Bus(), []
    bus.subscribe(heard.append, ScheduleBroken)
    bad = schedule("bad", job=replace(schedule("x").job, fields={"paid": True}))
    scheduler = Scheduler(store, bus, [schedule("first"), bad, schedule("last")])

    await scheduler.run_once()

    assert sorted(infos(store)) == ["first", "last"]
    assert [event.schedule for event in heard] == ["bad"]
    clock.advance(60 * SECOND)
    await scheduler.run_once()
    assert len(jobs(store)) == 2


async def test_a_queued_tick_starts_behind_the_live_job_not_beside_it(store, clock):
    put(store, schedule("slow", overlap=Overlap.QUEUE_ONE))
    scheduler = Scheduler(store, Bus())
    await scheduler.run_once()
    clock.advance(60 * SECOND)
    await scheduler.run_once()
    running = claim(store)

    for _ in range(3):
        clock.advance(60 * SECOND)
        await scheduler.run_once()
    beside = claim(store)
    complete(store, running)

    assert len(running) == 1
    assert beside == ()
    assert len(claim(store)) == 1
    assert len(jobs(store)) == 2


async def test_a_schedule_whose_job_cannot_be_stored_is_told(store, clock):
    put(store, schedule("good"))
    scheduler = Scheduler(store, Bus())
    await scheduler.run_once()
    fire = store.scheduling.fire
    odd = dataclasses.replace(store, scheduling=Picky(store.scheduling, fire))
    picky = Scheduler(odd, Bus())
    clock.advance(60 * SECOND)
    await picky.run_once()

    assert "no such luck" in infos(store)["good"].error


class Picky:
    """Refuses ticks that make jobs."""

    def __init__(self, inner, fire):
        self.schedules = inner.schedules
        self._fire = fire

    def fire(self, request):
        from oxmill.errors import BadInput  # noqa: PLC0415

        if request.jobs:
            raise BadInput("no such luck")
        return self._fire(request)


async def test_missed_ticks_are_made_up_for_by_policy(store, clock):
    put(
        store,
        schedule("all", catch_up=CatchUp.ALL, window=10 * 60 * SECOND),
        schedule("one", catch_up=CatchUp.ONE, window=10 * 60 * SECOND),
        schedule("skip", catch_up=CatchUp.SKIP, every=600 * SECOND),
    )
    scheduler = Scheduler(store, Bus())
    await scheduler.run_once()
    clock.advance(5 * 60 * SECOND + 30 * SECOND - clock.now % (600 * SECOND) + 600 * SECOND)
    for _ in range(3):
        await scheduler.run_once()

    made = [job.headers["oxmill-schedule"] for job in jobs(store)]
    assert made.count("all") >= 5
    assert made.count("one") == 1
    assert made.count("skip") == 0


async def test_code_puts_its_schedules_even_where_none_are_fired(store, clock):
    scheduler = Scheduler(store, Bus(), [schedule("declared")], firing=False)
    await scheduler.run()
    clock.advance(DAY)

    assert list(infos(store)) == ["declared"]
    assert jobs(store) == ()


async def test_a_worker_fires_the_schedules_of_its_app(quick):
    @quick.task(name="t")
    async def tick():
        pass

    declared = schedule(every=SECOND // 10)
    worker = await quick.start(quick.worker(extras={"schedules": [declared]}))
    event = await quick.hear(TickFired)
    job = await quick.ended(event.jobs[0])

    assert job.state is State.SUCCEEDED
    assert job.headers["oxmill-schedule"] == "s"
    assert worker.ready


async def test_a_sweep_takes_back_what_nobody_claims(store, clock):
    from oxmill.model.job import Enqueue  # noqa: PLC0415

    new = NewJob(id="j", queue="forgotten", task="t", payload=b"{}")
    store.run(store.enqueueing.enqueue(Enqueue(jobs=(new,))))
    claim = Claim(queues=("forgotten",), limit=1, lease=SECOND, worker="w", nonce=1)
    store.run(store.claiming.claim(claim))
    clock.advance(2 * SECOND)
    await Sweeper(store, Bus(), 1.0).run_once()

    (job,) = jobs(store)
    assert (job.state, job.crashes) == (State.WAITING, 1)


async def test_what_is_past_its_retention_is_pruned(store, clock):
    from oxmill.model.job import Enqueue  # noqa: PLC0415
    from oxmill.model.query import Cancel, Filter  # noqa: PLC0415

    new = NewJob(id="j", queue="q", task="t", payload=b"{}", keep=SECOND)
    store.run(store.enqueueing.enqueue(Enqueue(jobs=(new,))))
    store.run(store.steering.cancel(Cancel(filter=Filter(ids=("j",)))))
    pruner = Pruner(store, Bus(), 1.0)
    await pruner.run_once()
    assert len(jobs(store)) == 1

    clock.advance(2 * SECOND)
    await pruner.run_once()
    assert jobs(store) == ()


async def test_a_service_survives_whatever_its_rounds_raise(store, caplog):
    bus, heard = Bus(), []
    bus.subscribe(heard.append, StoreTrouble, StoreBack)

    class Rough(Service):
        name = "rough"
        rounds = 0

        async def run_once(self):
            self.rounds += 1
            if self.rounds == 1:
                raise StoreUnavailable("away")
            if self.rounds == 2:
                raise ZeroDivisionError
            self.stop()

    rough = Rough(store, bus, 0.01, chance=lambda: 0.0)
    await rough.run()

    assert rough.rounds == 3
    assert [type(event) for event in heard] == [StoreTrouble, StoreTrouble, StoreBack]
    assert "ZeroDivisionError" in caplog.text


async def test_what_people_changed_about_a_schedule_outlives_a_start_and_its_job_follows_the_code(
    store, clock
):
    await Scheduler(store, Bus(), (schedule(every=DAY),)).run_once()
    (there,) = infos(store).values()
    put(store, replace(there.schedule, every=10 * SECOND, source="ann"))

    newer = replace(there.schedule, job=replace(there.schedule.job, payload=b'{"new":1}'))
    await Scheduler(store, Bus(), (newer,)).run_once()
    held = infos(store)["s"].schedule
    assert (held.every, held.source, held.job.payload) == (10 * SECOND, "ann", b'{"new":1}')

    put(store, replace(held, source="code"))
    await Scheduler(store, Bus(), (newer,)).run_once()
    assert infos(store)["s"].schedule == newer
