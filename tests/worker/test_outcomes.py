"""What a run may come to, on a real worker."""

import asyncio
import logging
import sys
import threading
from dataclasses import replace

import pytest

from oxmill.model.outcome import Cancel, Fail, RateLimited, Retry, Snooze
from oxmill.model.state import State
from oxmill.observe.events import FailedForGood, RunFailed, TaskUnknown
from oxmill.queue.context import current
from oxmill.store.capabilities import Capability


async def test_a_coroutine_gives_its_result(world):
    @world.task
    async def add(a: int, b: int) -> int:
        return a + b

    await world.start()
    job = await world.ended(await world.enqueue(add, 2, b=3))

    assert (job.state, job.result, job.attempt, job.failures) == (State.SUCCEEDED, b"5", 1, 0)


async def test_a_function_runs_in_a_thread_and_gives_its_result(world):
    @world.task
    def where() -> str:
        return threading.current_thread().name

    await world.start()
    job = await world.ended(await world.enqueue(where))

    assert job.result.startswith(b'"oxmill-thread-')


async def test_a_coroutine_may_ask_for_a_thread(world):
    @world.task(pool="thread")
    async def where() -> str:
        await asyncio.sleep(0)
        return threading.current_thread().name

    await world.start()
    job = await world.ended(await world.enqueue(where))

    assert job.result.startswith(b'"oxmill-thread-')


@pytest.mark.parametrize("kind", ["coroutine", "function"])
async def test_an_exception_is_tried_again_until_attempts_are_used_up(world, kind):
    if kind == "coroutine":

        @world.task(retry=Retry(3, base=0))
        async def fail():
            raise ValueError("nope")
    else:

        @world.task(retry=Retry(3, base=0))
        def fail():
            raise ValueError("nope")

    await world.start()
    job = await world.ended(await world.enqueue(fail))

    assert (job.state, job.reason, job.failures) == (State.FAILED, "exhausted", 3)
    assert (job.error.type, job.error.message) == ("ValueError", "nope")
    assert "in fail" in job.error.traceback
    assert "oxmill/worker" not in job.error.traceback
    assert [event.outcome for event in world.events(RunFailed)] == ["retry", "retry", "fail"]
    (last,) = world.events(FailedForGood)
    assert (last.job, last.failures, last.reason) == (job.id, 3, "exhausted")
    assert (last.error, last.detail, last.level) == ("ValueError", "nope", logging.ERROR)


async def test_a_job_that_is_refused_has_failed_for_good_after_one_run(world):
    @world.task(retry=Retry(3, base=0, give_up_on=(KeyError,)))
    async def refused():
        raise KeyError("gone")

    await world.start()
    await world.ended(await world.enqueue(refused))

    assert [event.outcome for event in world.events(RunFailed)] == ["fail"]
    assert [event.reason for event in world.events(FailedForGood)] == ["refused"]


async def test_a_job_that_recovers_succeeds(world):
    @world.task(retry=Retry(5, base=0))
    async def shaky() -> int:
        if current().failures < 2:
            raise OSError("not yet")
        return current().failures

    await world.start()
    job = await world.ended(await world.enqueue(shaky))

    assert (job.state, job.result, job.attempt) == (State.SUCCEEDED, b"2", 3)


async def test_an_exception_to_give_up_on_is_not_tried_again(world):
    @world.task(retry=Retry(5, base=0, give_up_on=(KeyError,)))
    async def fail():
        raise KeyError("gone")

    await world.start()
    job = await world.ended(await world.enqueue(fail))

    assert (job.state, job.reason, job.attempt) == (State.FAILED, "refused", 1)


@pytest.mark.parametrize("how", ["raised", "returned"])
async def test_a_snooze_uses_up_nothing(world, how):
    @world.task
    async def wait_a_bit() -> int:
        if current().attempt == 1:
            if how == "raised":
                raise Snooze(0.01)
            return Snooze(0.01)
        return 1

    await world.start()
    job = await world.ended(await world.enqueue(wait_a_bit))

    assert (job.state, job.attempt, job.failures) == (State.SUCCEEDED, 2, 0)


@pytest.mark.parametrize("how", ["raised", "returned"])
async def test_a_rate_limited_job_closes_its_group_and_uses_up_nothing(world, how):
    if Capability.LIMITS not in world.driver.capabilities:
        pytest.skip(f"{world.driver.name} has no gates to close")
    ran = []

    @world.task(queue="mail")
    async def call(name: str):
        ran.append(name)
        if ran == ["a1"]:
            if how == "raised":
                raise RateLimited(0.3)
            return RateLimited(0.3)
        return None

    for name in ("a1", "a2", "b1"):
        await world.enqueue(call.using(group=name[0]), name)
    await world.start(queues=("mail",), slots=1)
    await world.until(lambda: len(ran) == 4)

    assert ran == ["a1", "b1", "a1", "a2"]


async def test_without_gates_a_rate_limited_job_runs_later(world):
    world.driver = replace(
        world.driver, capabilities=world.driver.capabilities & ~Capability.LIMITS
    )

    @world.task
    async def call():
        if current().attempt == 1:
            raise RateLimited(0.01)

    await world.start()
    job = await world.ended(await world.enqueue(call))

    assert (job.state, job.attempt, job.failures) == (State.SUCCEEDED, 2, 0)
    assert [past.outcome for past in job.history] == ["snooze", "complete"]


@pytest.mark.parametrize("how", ["raised", "returned"])
async def test_a_cancel_ends_with_its_reason(world, how):
    @world.task
    def drop():
        if how == "raised":
            raise Cancel("too late")
        return Cancel("too late")

    await world.start()
    job = await world.ended(await world.enqueue(drop))

    assert (job.state, job.reason, job.attempt) == (State.CANCELLED, "too late", 1)


@pytest.mark.parametrize("how", ["raised", "returned"])
async def test_a_fail_is_not_tried_again(world, how):
    @world.task(retry=Retry(5, base=0))
    def give_up():
        if how == "raised":
            raise Fail("bad input")
        return Fail("bad input")

    await world.start()
    job = await world.ended(await world.enqueue(give_up))

    assert (job.state, job.attempt, job.error.message) == (State.FAILED, 1, "bad input")


async def test_a_retry_waits_for_the_time_it_names(world):
    @world.task(retry=Retry(5, base="1h"))
    async def busy() -> int:
        if current().attempt == 1:
            raise Retry(after=0.01)
        return 1

    await world.start()
    job = await world.ended(await world.enqueue(busy))

    assert (job.state, job.failures) == (State.SUCCEEDED, 1)


async def test_an_unknown_task_is_put_off_and_named(world):
    @world.task(name="send_mail")
    async def send_mail():
        pass

    await world.start()
    job_id = await world.add(task="send_mails")
    event = await world.hear(TaskUnknown)
    job = await world.in_state(job_id, State.SCHEDULED)

    assert event.near == ("send_mail",)
    assert (job.failures, job.crashes) == (0, 0)
    assert job.history[-1].error.message.startswith("the worker knows no task 'send_mails'")
    assert not world.events(RunFailed)
    assert 9_000_000 < job.due_at - job.claimed_at < 11_000_000 if job.claimed_at else True


async def test_arguments_that_do_not_fit_fail_for_good(world):
    @world.task(name="t")
    async def strict(n: int):
        pass

    await world.start()
    job = await world.ended(await world.add(payload=b'{"n": "seven"}'))

    assert (job.state, job.reason, job.error.type) == (State.FAILED, "refused", "BadArguments")
    assert job.failures <= 1


async def test_a_result_that_cannot_be_written_fails_for_good(world):
    @world.task
    async def odd():
        return object()

    await world.start()
    job = await world.ended(await world.enqueue(odd))

    assert (job.state, job.reason, job.attempt) == (State.FAILED, "refused", 1)
    assert job.error.type == "BadArguments"


async def test_a_result_over_the_limit_fails_for_good(world):
    @world.task
    async def huge() -> str:
        return "x" * (world.driver.bounds.result_bytes + 1)

    await world.start()
    job = await world.ended(await world.enqueue(huge))

    assert (job.state, job.error.type) == (State.FAILED, "TooBig")


@pytest.mark.parametrize("pool", ["auto", "thread"])
async def test_a_task_that_exits_is_a_failure_and_not_the_end_of_the_worker(world, pool):
    @world.task(retry=Retry(1), pool=pool, name="leave")
    async def leave():
        sys.exit(3)

    @world.task
    async def other() -> int:
        return 1

    await world.start()
    left = await world.ended(await world.enqueue(leave))
    after = await world.ended(await world.enqueue(other))

    assert (left.state, left.error.type) == (State.FAILED, "SystemExit")
    assert after.state is State.SUCCEEDED


async def test_a_cancellation_from_inside_is_an_ordinary_failure(world):
    @world.task(retry=Retry(1))
    async def confused():
        raise asyncio.CancelledError

    await world.start()
    job = await world.ended(await world.enqueue(confused))

    assert (job.state, job.error.type) == (State.FAILED, "asyncio.exceptions.CancelledError")


@pytest.mark.parametrize("kind", [StopIteration, GeneratorExit])
async def test_what_a_coroutine_cannot_raise_is_a_failure_from_a_thread(world, kind):
    @world.task(retry=Retry(1))
    def confused():
        raise kind

    await world.start()
    job = await world.ended(await world.enqueue(confused))

    assert (job.state, job.error.type) == (State.FAILED, "RuntimeError")


async def test_a_policy_that_cannot_be_followed_fails_the_job_and_frees_the_slot(world):
    policy = Retry(3)

    @world.task(retry=policy)
    async def bad():
        raise ValueError("the real trouble")

    policy.give_up_on = [ValueError]  # as written by hand, past every check
    await world.start()
    job = await world.ended(await world.enqueue(bad))

    assert (job.state, job.error.type) == (State.FAILED, "TypeError")
    assert "the real trouble" in job.error.traceback


async def test_a_run_always_comes_to_a_conclusion_even_by_a_defect_of_ours(world, monkeypatch):
    @world.task
    async def fine(): ...

    async def broken(run):
        raise GeneratorExit

    worker = await world.start()
    monkeypatch.setattr(worker._parts.executor._execution, "perform", broken)
    job = await world.ended(await world.enqueue(fine))

    assert (job.state, job.error.type) == (State.FAILED, "GeneratorExit")


async def test_the_context_is_the_runs_own(world):
    seen = {}

    @world.task(takes_context=True)
    async def first(context, n: int):
        await asyncio.sleep(0)
        assert context is current()
        seen[context.id] = n

    @world.task
    def second(n: int):
        seen[current().id] = n

    await world.start()
    ids = [await world.enqueue(task, n) for n in range(5) for task in (first, second)]
    jobs = [await world.ended(job_id) for job_id in ids]

    assert [job.state for job in jobs] == [State.SUCCEEDED] * 10
    assert [seen[job_id] for job_id in ids] == [n for n in range(5) for _ in range(2)]


async def test_a_thousand_jobs_run_once_each(world):
    seen = []

    @world.task
    async def note(n: int):
        seen.append(n)

    @world.task
    def note_in_thread(n: int):
        seen.append(n)

    ids = [await world.enqueue(note if n % 2 else note_in_thread, n) for n in range(1000)]
    worker = await world.start(slots=50, drain=True)

    assert await world.code_of(worker) == 0
    assert sorted(seen) == list(range(1000))
    assert {(await world.job(job_id)).state for job_id in ids} == {State.SUCCEEDED}
