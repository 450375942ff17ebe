"""Oxmill on whatever store a URL names: every workload, written once for all stores."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, TypedDict, Unpack

from benchmarks.contestant import TEXT, Contestant, Measured, Place
from benchmarks.marks import FirstStart, check_stored, first_start, latencies, stamp, watch
from oxmill import App, Retry, Unique
from oxmill.model.claim import Claim
from oxmill.model.info import ListQueues
from oxmill.model.settlement import Outcome, Settle, Settlement
from oxmill.model.state import State
from oxmill.queue.limiting import Limits
from oxmill.store.plan import together

SLOTS = 200
"""Of a worker that drains beside a raw loop: so that a claim asks for 100 jobs at most, as that does."""
MANY_SLOTS = 500
"""Of worker processes, which run beside peers: these take 500 or 1,000 jobs at once, too."""
CALLERS = 100
HELD = 100_000
ROUND = 2_000
GROUPS = 1_000
STEPS = 3
WORK = 200_000
"""Nanoseconds of the processor that a job at work takes: by far more than the queue takes for it."""
LIVE = (State.WAITING, State.SCHEDULED, State.RUNNING, State.HELD)


class Passed(TypedDict, total=False):
    """What the steps of a pipeline hand on."""

    once: str
    twice: str


class Ours:
    """An app with the tasks that the workloads enqueue and run."""

    def __init__(self, place: Place) -> None:
        self.app = app = App(place.url)
        folder = place.folder
        started = FirstStart(folder)

        @app.task(name="noop", keep=0)
        async def noop(text: str) -> None:
            started()

        @app.task(name="noop_kept")
        async def noop_kept(text: str) -> None:
            started()

        @app.task(name="noop_thread", keep=0)
        def noop_thread(text: str) -> None:
            started()

        @app.task(name="at_work", keep=0)
        async def at_work(text: str) -> None:
            started()
            end = time.thread_time_ns() + WORK
            while time.thread_time_ns() < end:
                pass

        @app.task(name="echo")
        async def echo(text: str) -> str:
            return text

        tried: set[str] = set()

        @app.task(name="second_time", keep=0, retry=Retry(3, base=0, jitter=False))
        async def second_time(text: str) -> None:
            if text not in tried:
                tried.add(text)
                raise ConnectionError(text)

        @app.task(name="stamped", keep=0)
        async def stamped(sent: float) -> None:
            stamp(folder, sent)

        @app.step(name="first")
        async def first(text: str) -> Passed:
            return {"once": text}

        @app.step(name="second")
        async def second(once: str) -> Passed:
            return {"twice": once}

        @app.step(name="third")
        async def third(twice: str) -> None: ...

        self.pipeline = app.pipeline("three steps", first, second, third)
        self.noop, self.noop_kept, self.noop_thread = noop, noop_kept, noop_thread
        self.echo, self.second_time, self.stamped = echo, second_time, stamped
        self.at_work = at_work

    def left(self) -> int:
        """How many jobs wait or run, as the store says."""
        driver = self.app.driver
        queues = driver.run(driver.inspecting.queues(ListQueues())).items
        return sum(info.counts.get(state, 0) for info in queues for state in LIVE)


# -- enqueue -------------------------------------------------------------------------------------


def enqueue_one(place: Place, jobs: int) -> Measured:
    ours = Ours(place)
    ours.noop.enqueue(TEXT)
    start = time.perf_counter()
    for _ in range(jobs):
        ours.noop.enqueue(TEXT)
    rate = jobs / (time.perf_counter() - start)
    check_stored(ours.left(), jobs + 1)
    ours.app.close()
    return {"rate": rate}


def enqueue_async(place: Place, jobs: int, callers: int = 1) -> Measured:
    """As many callers at once, each waiting for its own job to be stored before its next."""
    ours = Ours(place)

    async def caller(count: int) -> None:
        for _ in range(count):
            await ours.noop.aenqueue(TEXT)

    async def work() -> float:
        await ours.noop.aenqueue(TEXT)
        start = time.perf_counter()
        await asyncio.gather(*(caller(jobs // callers) for _ in range(callers)))
        return jobs / (time.perf_counter() - start)

    rate = asyncio.run(work())
    check_stored(ours.left(), jobs + 1)
    ours.app.close()
    return {"rate": rate}


def enqueue_bulk(place: Place, jobs: int) -> Measured:
    ours = Ours(place)
    ours.noop.enqueue(TEXT)
    start = time.perf_counter()
    made = ours.app.enqueue_many(ours.noop.bind(TEXT) for _ in range(jobs))
    rate = jobs / (time.perf_counter() - start)
    check_stored(len(made) + 1, ours.left())
    ours.app.close()
    return {"rate": rate}


# -- backlogs ------------------------------------------------------------------------------------


def _fill(place: Place, jobs: int, task: str, text: str = TEXT) -> None:
    ours = Ours(place)
    chosen = getattr(ours, task)
    ours.left()  # makes the tables even where no job is asked for
    ours.app.load(chosen.bind(text) for _ in range(jobs))
    ours.app.close()


def fill_tries(place: Place, jobs: int) -> None:
    """Jobs that fail at their first run, each with a text of its own to know it by."""
    ours = Ours(place)
    ours.app.load(ours.second_time.bind(f"{number:089d}") for number in range(jobs))
    ours.app.close()


def fill_groups(place: Place, jobs: int) -> None:
    """Jobs of many groups in a queue with limits of its own, which are never reached."""
    _fill_groups(place, jobs, concurrency=10_000, rate="1000000/s")


def fill_group_limits(place: Place, jobs: int) -> None:
    """The same with limits of the groups as well."""
    groups: Limits = {"group_concurrency": 1_000, "group_rate": "100000/s"}
    _fill_groups(place, jobs, concurrency=10_000, rate="1000000/s", **groups)


def _fill_groups(place: Place, jobs: int, **limits: Unpack[Limits]) -> None:
    ours = Ours(place)
    ours.app.control.limit("default", **limits)
    groups = [ours.noop.using(group=f"group {number}") for number in range(GROUPS)]
    ours.app.load(groups[number % GROUPS].bind(TEXT) for number in range(jobs))
    ours.app.close()


def fill_pipelines(place: Place, jobs: int) -> None:
    """As many steps as jobs are asked for, three to a pipeline that waits in its first one."""
    ours = Ours(place)

    async def caller(flows: int) -> None:
        for _ in range(flows):
            await ours.pipeline.astart({"text": TEXT})

    async def work() -> None:
        flows, rest = divmod(jobs // STEPS, CALLERS)
        await asyncio.gather(*(caller(flows + (n < rest)) for n in range(CALLERS)))
        await ours.app.aclose()

    asyncio.run(work())


def fill_unique(place: Place, jobs: int) -> None:
    """Every job holds a unique key of its own while it lives."""
    ours = Ours(place)
    task = ours.noop.using(unique=Unique())
    ours.app.load(task.bind(f"{number:089d}") for number in range(jobs))
    ours.app.close()


# -- drain ---------------------------------------------------------------------------------------


def drain(place: Place, jobs: int) -> Measured:
    """One worker in this process, from its start to its end."""
    ours = Ours(place)
    worker = ours.app.worker(slots=SLOTS, drain=True)
    start, cpu = time.perf_counter(), time.process_time()
    worker.run()
    took, cpu = time.perf_counter() - start, time.process_time() - cpu
    if left := ours.left():
        raise SystemExit(f"{left} jobs are left")
    ours.app.close()
    return {"rate": jobs / took, "cpu_us": cpu / jobs * 1e6}


def claim_settle(place: Place, jobs: int, held: int = 0, every: int = 0) -> Measured:
    """Turns of 100 through the driver alone, on whatever backlog is there, others running. With `every`, what
    so many jobs took from the backlog is put back off the clock: it stays, however long this runs."""
    ours = Ours(place)
    while held > 0:
        held -= len(turn(ours, (), min(1_000, held), "holder"))
    settlements: tuple[Settlement, ...] = ()
    took, done, back, before = 0.0, 0, 0, ours.left()
    while done < jobs:
        goal, start = min(jobs, done + (every or jobs)), time.perf_counter()
        while done < goal:
            settlements = turn(ours, settlements, 100, "bench")
            done += len(settlements)
        took += time.perf_counter() - start
        if every:
            ours.app.load(ours.noop.bind(TEXT) for _ in range(done - back))
            back = done
    # All but the last batch have been settled.
    check_stored(ours.left(), before - done + back + len(settlements))
    ours.app.close()
    return {"rate": done / took}


def drain_part(place: Place, jobs: int) -> Measured:
    """A worker takes so many jobs of a backlog, from the first start to its end, and leaves the others; then
    turns through the driver alone on these."""
    ours = Ours(place)
    before = ours.left()
    ours.app.worker(slots=SLOTS, max_jobs=jobs).run()
    took = time.monotonic() - first_start(place.folder)
    check_stored(ours.left(), before - jobs)
    ours.app.close()
    return {"rate": jobs / took, "alone": claim_settle(place, jobs, 0, ROUND)["rate"]}


def claim_settle_held(place: Place, jobs: int) -> Measured:
    """Turns through the driver alone while many others run."""
    return {"alone": claim_settle(place, jobs, HELD, ROUND)["rate"]}


def turn(ours: Ours, ends: tuple[Settlement, ...], limit: int, who: str) -> tuple[Any, ...]:
    """Settle these and claim as many; how the claimed ones are to end."""
    driver, hour = ours.app.driver, 3_600_000_000
    claim = Claim(
        queues=("default",), limit=limit, lease=hour, worker=who, nonce=time.monotonic_ns()
    )
    settle = driver.settling.settle(Settle(items=ends))
    _, claimed = driver.run(together(settle, driver.claiming.claim(claim)))
    if not claimed.jobs:
        raise SystemExit("the backlog ran dry")
    return tuple(
        Settlement(id=job.id, token=job.token, outcome=Outcome.COMPLETE) for job in claimed.jobs
    )


# -- workers in processes of their own -------------------------------------------------------------


def work(place: Place, _: int) -> None:
    """A worker, until it is told to stop."""
    Ours(place).app.worker(slots=MANY_SLOTS).run()


def latency(place: Place, jobs: int) -> Measured:
    """Enqueue in this process, start in another that is idle."""
    ours = Ours(place)
    measured = latencies(place, jobs, ours.stamped.enqueue)
    ours.app.close()
    return measured


def contestant(name: str, settings: str, **more: Callable[[Place, int], Any]) -> Contestant:
    """Oxmill on one store, which may do more than the others."""
    return Contestant(
        name=name,
        settings=f"{settings}; {SLOTS} slots, {MANY_SLOTS} of worker processes (W4, W5, W7, beside peers)",
        does={
            "fill": lambda place, jobs: _fill(place, jobs, "noop"),
            "fill_kept": lambda place, jobs: _fill(place, jobs, "noop_kept"),
            "fill_threads": lambda place, jobs: _fill(place, jobs, "noop_thread"),
            "fill_at_work": lambda place, jobs: _fill(place, jobs, "at_work"),
            "fill_results": lambda place, jobs: _fill(place, jobs, "echo"),
            "fill_tries": fill_tries,
            "fill_unique": fill_unique,
            "fill_groups": fill_groups,
            "fill_group_limits": fill_group_limits,
            "fill_pipelines": fill_pipelines,
            "enqueue_one": enqueue_one,
            "enqueue_async": enqueue_async,
            "enqueue_concurrent": lambda place, jobs: enqueue_async(place, jobs, CALLERS),
            "enqueue_bulk": enqueue_bulk,
            "drain": drain,
            "claim_settle": claim_settle,
            "claim_settle_held": claim_settle_held,
            "drain_part": drain_part,
            "work": work,
            "watch": lambda place, _: watch(Ours(place).left),
            "latency": latency,
            **more,
        },
    )
