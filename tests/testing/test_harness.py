"""app.testing(): the real engine on a store in memory, with virtual time."""

import asyncio
import threading
import time
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from oxmill import (
    App,
    BadArguments,
    Cancel,
    Context,
    JobCancelled,
    JobFailed,
    Middleware,
    ResultTimeout,
    Retry,
    Snooze,
    State,
    WrongContext,
    current,
)
from oxmill.testing.runner import Endless


@pytest.fixture
def app():
    return App("memory://")


@pytest.fixture
def send(app):
    @app.task(name="send")
    def send(to: str, *, subject: str = "hi") -> int:
        return len(to)

    return send


# -- what was enqueued -----------------------------------------------------------------------------


def test_a_test_sees_what_was_enqueued(app, send):
    with app.testing() as t:
        send.enqueue("a@x", subject="yo")

        (job,) = t.assert_enqueued(send, "a@x")
        t.assert_enqueued(send)
        t.assert_enqueued(send, "a@x", subject="yo")
        t.assert_enqueued(send, subject="yo")
        t.refute_enqueued(send, "b@x")
        t.refute_enqueued(send, "a@x", subject="hi")

        assert job.payload == b'{"to":"a@x","subject":"yo"}'


def test_defaults_count_as_given(app, send):
    with app.testing() as t:
        send.enqueue("a@x")

        t.assert_enqueued(send, "a@x", subject="hi")


def test_what_is_missing_is_told_with_what_is_there(app, send):
    with app.testing() as t:
        send.enqueue("a@x")

        with pytest.raises(AssertionError, match=r"send\('b@x'\)") as missing:
            t.assert_enqueued(send, "b@x")
        with pytest.raises(AssertionError, match="there should be no job like"):
            t.refute_enqueued(send, "a@x")
        with pytest.raises(BadArguments, match="cannot be called like that"):
            t.assert_enqueued(send, nobody=1)

        assert "send(to='a@x', subject='hi') on default: waiting" in str(missing.value)


def test_a_job_counts_as_enqueued_whatever_became_of_it(app, send):
    with app.testing() as t:
        send.enqueue("a@x")
        t.run_all()

        t.assert_enqueued(send, "a@x")


def test_values_are_compared_by_what_they_mean(app):
    @app.task
    def work(when: datetime, sizes: tuple[int, ...]) -> None: ...

    now = datetime(2026, 1, 2, tzinfo=UTC)
    with app.testing() as t:
        work.enqueue(now, (1, 2))

        t.assert_enqueued(work, now, [1, 2])


# -- running ---------------------------------------------------------------------------------------


def test_jobs_run_only_when_told_and_through_json(app):
    seen = []

    @app.task
    def work(sizes: tuple[int, ...]) -> list[int]:
        seen.append(sizes)
        return list(sizes)

    with app.testing() as t:
        job = work.enqueue([1, 2])
        assert seen == []

        assert t.run_all() == 1

        assert seen == [(1, 2)]
        assert job.result() == [1, 2]
        assert (t.succeeded(work), t.succeeded(), t.failed()) == (1, 1, 0)


def test_arguments_that_cannot_be_stored_fail_in_tests_too(app, send):
    with app.testing(), pytest.raises(BadArguments):
        send.enqueue(object())


def test_coroutines_and_functions_run_alike(app):
    threads = []

    @app.task
    async def on_loop() -> str:
        await asyncio.sleep(0)
        return current().id

    @app.task(pool="process")
    def elsewhere() -> str:
        threads.append(threading.current_thread())
        return current().id

    with app.testing() as t:
        jobs = [on_loop.enqueue(), elsewhere.enqueue()]
        t.run_all()

        assert [job.result() for job in jobs] == [job.id for job in jobs]
        assert threads[0] is not threading.main_thread()


def test_jobs_enqueued_by_jobs_run_too_and_in_order(app, send):
    order = []

    @app.task
    def parent(n: int) -> None:
        order.append(n)
        if n < 3:
            parent.enqueue(n + 1)

    with app.testing() as t:
        parent.enqueue(1)
        parent.using(priority=-1).enqueue(3)

        assert t.run_all() == 4
        assert order == [3, 1, 2, 3]


def test_a_task_that_enqueues_itself_for_ever_is_noticed(app):
    @app.task
    def endless() -> None:
        endless.enqueue()

    with app.testing() as t:
        endless.enqueue()
        with pytest.raises(Endless, match="20 jobs ran"):
            t.run_all(limit=20)


def test_time_passes_only_when_told(app, send):
    with app.testing(start=datetime(2026, 1, 1, tzinfo=UTC)) as t:
        job = send.using(delay="5m").enqueue("a@x")
        assert t.run_all() == 0

        t.advance("4m59s")
        assert t.run_all() == 0
        t.advance(1)
        assert t.run_all() == 1

        assert job.refresh().state is State.SUCCEEDED
        assert t.now == datetime(2026, 1, 1, 0, 5, tzinfo=UTC)


def test_a_time_of_day_is_met(app, send):
    with app.testing(start=datetime(2026, 1, 1, tzinfo=UTC)) as t:
        send.using(run_at=datetime(2026, 1, 2, tzinfo=UTC)).enqueue("a@x")
        t.advance("23h")
        assert t.run_all() == 0
        t.advance("1h")
        assert t.run_all() == 1


def test_the_clock_starts_now(app):
    with app.testing() as t:
        assert abs((t.now - datetime.now(UTC)).total_seconds()) < 5


def test_an_expired_job_never_runs(app, send):
    with app.testing() as t:
        job = send.using(delay="2m", expires="1m").enqueue("a@x")
        t.advance("3m")

        assert t.run_all() == 0
        with pytest.raises(JobCancelled, match="expired"):
            job.result()


def test_retries_follow_the_policy_without_chance(app):
    @app.task(retry=Retry(3, base="10s"))
    def flaky() -> int:
        if current().failures < 2:
            raise OSError("no network")
        return current().attempt

    with app.testing() as t:
        job = flaky.enqueue()
        assert t.run_all() == 1
        assert job.refresh().record.due_at == round(t.now.timestamp() * 1e6) + 10_000_000

        t.advance("10s")
        t.run_all()
        t.advance("19s")
        assert t.run_all() == 0
        t.advance("1s")

        assert job.result() == 3


def test_a_failed_job_is_counted_and_tells_its_error(app):
    @app.task(retry=None)
    def boom() -> None:
        raise ValueError("no")

    with app.testing() as t:
        job = boom.enqueue()
        t.run_all()

        assert (t.failed(boom), t.failed(), t.succeeded()) == (1, 1, 0)
        with pytest.raises(JobFailed, match="ValueError: no"):
            job.result()
        with pytest.raises(AssertionError, match="failed, ValueError: no"):
            t.refute_enqueued(boom)


def test_signals_work_as_in_a_worker(app):
    @app.task
    def nap(n: int) -> str:
        if current().attempt == 1:
            raise Snooze("1h")
        raise Cancel("enough")

    with app.testing() as t:
        job = nap.enqueue(1)
        t.run_all()
        t.advance("1h")
        t.run_all()

        with pytest.raises(JobCancelled, match="enough"):
            job.result()


def test_a_timeout_ends_a_run(app):
    @app.task(timeout="20ms", retry=None)
    async def slow() -> None:
        await asyncio.sleep(60)

    with app.testing() as t:
        job = slow.enqueue()
        began = time.monotonic()
        t.run_all()

        assert time.monotonic() - began < 10
        with pytest.raises(JobFailed, match="TimeoutError"):
            job.result()


def test_progress_and_cursor_reach_the_store(app):
    @app.task(takes_context=True, retry=Retry(2, base=0))
    def work(context: Context, n: int) -> int:
        if context.cursor is None:
            context.progress(1, 2)
            context.save({"page": n})
            raise OSError
        return context.cursor["page"]

    with app.testing():
        assert work.enqueue(7).result() == 7


def test_a_cancelled_run_is_asked_to_stop(app):
    @app.task
    def work() -> str:
        context = current()
        app.job(context.id).cancel("changed my mind")
        context.heartbeat()
        until = time.monotonic() + 10
        while not context.cancelled and time.monotonic() < until:
            time.sleep(0.001)
        return "stopped" if context.cancelled else "not told"

    with app.testing():
        assert work.enqueue().result() == "stopped"


def test_waiting_for_a_result_runs_what_is_due(app, send):
    @app.task
    def outer() -> int:
        return send.enqueue("abc").result() + 1

    @app.task
    async def outer_async() -> int:
        return await (await send.aenqueue("abc")) + 1

    with app.testing():
        assert outer.enqueue().result() == 4
        assert outer_async.enqueue().result() == 4


def test_waiting_for_what_is_not_due_does_not_hang(app, send):
    with app.testing() as t:
        job = send.using(delay="1h").enqueue("abc")

        with pytest.raises(ResultTimeout, match=r"let time pass with advance"):
            job.result()

        t.advance("1h")
        assert job.result() == 3


def test_plain_items_are_left_to_the_test(app, send):
    with app.testing() as t:
        app.queue("raw").add(b"x")
        send.enqueue("abc")

        assert t.run_all() == 1
        assert app.queue("raw").lease(10).data == b"x"


# -- schedules -------------------------------------------------------------------------------------


def test_schedules_tick_while_time_passes(app, send):
    app.cron("0 * * * *", send.bind("hourly"), name="hourly")
    app.every("10m", send.bind("often"), name="often", overlap="skip")

    with app.testing(start=datetime(2026, 1, 1, 0, 30, tzinfo=UTC)) as t:
        t.advance("2h")

        assert len(t.assert_enqueued(send, "hourly")) == 2
        assert len(t.assert_enqueued(send, "often")) == 1
        assert t.run_all() == 3


def test_each_tick_stands_for_its_own_instant(app, send):
    app.cron("0 3 * * *", send.bind("nightly"), tz="Europe/London")

    with app.testing(start=datetime(2026, 7, 1, tzinfo=UTC)) as t:
        t.advance("3d")

        ticks = [job.headers["oxmill-tick"] for job in t.jobs()]
        assert ticks == [f"2026-07-0{day}T02:00:00+00:00" for day in (1, 2, 3)]
        made = [datetime.fromtimestamp(job.enqueued_at / 1e6, tz=UTC).hour for job in t.jobs()]
        assert made == [2, 2, 2]


# -- surroundings ----------------------------------------------------------------------------------


def test_each_test_has_a_store_of_its_own(app, send):
    with app.testing() as t:
        send.enqueue("a")
        assert len(t.jobs()) == 1
    with app.testing() as t:
        assert t.jobs() == []


def test_the_apps_own_store_is_not_touched(send, app):
    outside = send.enqueue("outside")
    with app.testing() as t:
        send.enqueue("inside")
        t.run_all()

    assert outside.refresh().state is State.WAITING
    assert len(list(app.jobs())) == 1


def test_the_apps_own_store_is_back_after_an_error(send, app):
    with pytest.raises(ZeroDivisionError), app.testing():
        _ = 1 / 0

    assert send.enqueue("x").created
    assert len(list(app.jobs())) == 1


def test_lifespan_and_middleware_are_as_in_a_worker():
    heard = []

    @asynccontextmanager
    async def lifespan():
        heard.append("open")
        yield {"pool": 5}
        heard.append("close")

    class Ear(Middleware):
        async def on_start(self):
            heard.append("start")

        async def before_run(self, context):
            heard.append("before")

        async def after_run(self, context, value):
            heard.append(value)

        async def on_stop(self):
            heard.append("stop")

    app = App("memory://", middleware=[Ear()], lifespan=lifespan)

    @app.task
    async def work() -> int:
        return current().resources["pool"]

    with app.testing() as t:
        work.enqueue()
        t.run_all()

    assert heard == ["open", "start", "before", 5, "stop", "close"]


async def test_async_tests_use_the_async_forms(app, send):
    loops = []

    @app.task
    async def work() -> None:
        loops.append(asyncio.get_running_loop())

    with app.testing() as t:
        await work.using(delay="1m").aenqueue()
        job = await send.aenqueue("abc")
        await t.aadvance("1m")

        assert await t.arun_all() == 2
        assert loops == [asyncio.get_running_loop()]
        assert await job == 3
        t.assert_enqueued(send, "abc")
        assert t.succeeded() == 2
        with pytest.raises(WrongContext, match=r"await t\.arun_all"):
            t.run_all()
        with pytest.raises(WrongContext, match=r"await t\.aadvance"):
            t.advance(1)


async def test_awaiting_a_job_runs_it(app, send):
    with app.testing():
        assert await (await send.aenqueue("abc")) == 3
