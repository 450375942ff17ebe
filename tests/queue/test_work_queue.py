"""The plain work queue: bytes in, leases out. The names carry the rows they prove (RWQ-01 ...)."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from oxmill import App, BadInput, DuplicateJob, LostLease, QueueSettings, Snooze, State, Unique
from oxmill.model.claim import Claimed
from oxmill.model.info import Sweep
from oxmill.model.settlement import Outcome

EVERY_BYTE = bytes(range(256))


@pytest.fixture
def queue(app):
    return app.queue("work")


@pytest.fixture
def forgetful(app, queue):
    """A queue that keeps no completed items, as a work queue does."""
    app.control.configure("work", QueueSettings(keep_succeeded=0))
    return queue


# -- adding ----------------------------------------------------------------------------------------


def test_rwq01_an_item_is_any_text_id_and_any_bytes(queue, face):
    assert face(queue, "add", EVERY_BYTE * 5, id="é/:☃ item")

    lease = face(queue, "lease", 60)

    assert (lease.id, lease.data) == ("é/:☃ item", EVERY_BYTE * 5)


def test_rwq01_empty_data_is_data(queue, face):
    face(queue, "add", b"")

    assert face(queue, "lease", 60).data == b""


def test_rwq02_without_an_id_a_random_one_is_made(queue, face):
    face(queue, "add", b"x")
    face(queue, "add", b"x")

    ids = {face(queue, "lease", 60).id, face(queue, "lease", 60).id}

    assert len(ids) == 2
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in ids)


def test_rwq03_json_is_compact_and_reads_back_equal(queue, face):
    value = {"a": [1, 2.5, None, "é"], "b": {"c": True}}
    face(queue, "add_json", value)

    lease = face(queue, "lease", 60)

    assert lease.data == '{"a":[1,2.5,null,"é"],"b":{"c":true}}'.encode()
    assert lease.json() == value


def test_rwq04_an_id_that_is_there_is_not_added_again(queue, face):
    assert face(queue, "add", b"first", id="one")
    assert not face(queue, "add", b"first", id="one")
    assert not face(queue, "add", b"other", id="one")

    lease = face(queue, "lease", 60)
    assert lease.data == b"first"
    assert not face(queue, "add", b"other", id="one")
    assert face(queue, "lease", 60) is None


def test_rwq04_a_completed_id_may_come_again_where_nothing_is_kept(forgetful, face):
    face(forgetful, "add", b"x", id="one")
    assert face(face(forgetful, "lease", 60), "complete")

    assert face(forgetful, "add", b"y", id="one")


def test_rwq04_two_that_add_the_same_ids_add_each_once(queue):
    with ThreadPoolExecutor(4) as pool:
        parts = pool.map(
            lambda part: sum(queue.add(f"{part}".encode(), id=f"{n}") for n in range(100)),
            range(4),
        )
        added = list(parts)

    assert sum(added) == 100
    assert len(queue) == 100


def test_rwq05_many_are_added_in_batches(queue, face):
    def items():
        for n in range(1_500):
            yield f"{n}".encode()
        yield queue.item(b"last", id="known", priority=-1)

    assert face(queue, "add_many", items()) == 1_501
    assert face(queue, "add_many", [queue.item(b"other", id="known"), b"new"]) == 1
    assert len(queue) == 1_502
    assert face(queue, "lease", 60).data == b"last"


def test_rwq07_nobody_sees_an_id_before_its_data(queue):
    # Given some who add items that carry their own id, while others lease them
    def add(part):
        for n in range(50):
            queue.add(f"{part}.{n}".encode(), id=f"{part}.{n}")

    def lease(_):
        seen = []
        while (lease := queue.lease(60, wait=0.5)) is not None:
            seen.append((lease.id, lease.data))
            lease.complete()
        return seen

    with ThreadPoolExecutor(4) as pool:
        leasing = [pool.submit(lease, n) for n in range(2)]
        list(pool.map(add, range(2)))
        seen = [pair for each in leasing for pair in each.result()]

    # Then each is seen once, and whole
    assert len(seen) == len(set(seen)) == 100
    assert all(item_id.encode() == data for item_id, data in seen)


def test_rwq31_equal_work_may_be_given_equal_ids(queue, face):
    items = [queue.item(b"same", id="hash") for _ in range(3)]

    assert face(queue, "add_many", items) == 1


def test_what_is_not_bytes_is_refused(queue, face):
    with pytest.raises(BadInput, match="use add_json"):
        face(queue, "add", "text")
    with pytest.raises(BadInput, match="needs a key"):
        face(queue, "add", b"x", unique=Unique())


def test_a_unique_key_holds_for_items_too(queue, face):
    assert face(queue, "add", b"x", unique="k")
    assert not face(queue, "add", b"y", unique="k")
    with pytest.raises(DuplicateJob):
        face(queue, "add", b"z", unique=Unique("k", on_conflict="raise"))


# -- leasing ---------------------------------------------------------------------------------------


def test_rwq08_items_are_leased_in_the_order_added_within_a_priority(queue, face):
    for name, priority in (("a", 0), ("b", 0), ("urgent", -1), ("c", 0), ("late", 1)):
        face(queue, "add", name.encode(), priority=priority)

    leased = [face(queue, "lease", 60).data for _ in range(5)]

    assert leased == [b"urgent", b"a", b"b", b"c", b"late"]


def test_rwq09_a_lease_of_nothing_comes_back_at_once(queue, face):
    assert face(queue, "lease", 60) is None


def test_rwq09_a_lease_waits_up_to_a_time(queue, face):
    began = time.monotonic()

    assert face(queue, "lease", 60, wait=0.1) is None
    assert face(queue, "lease", 60, wait="50ms") is None

    assert 0.15 <= time.monotonic() - began < 3


def test_rwq09_a_lease_waits_for_ever_until_there_is_an_item(queue, face):
    added = []

    def add():
        queue.add(b"x")
        added.append(time.monotonic())

    adding = threading.Timer(0.7, add)
    adding.start()

    lease = face(queue, "lease", 60, wait=True)
    heard = time.monotonic()
    adding.join()

    assert lease.data == b"x"
    assert heard - added[0] < 0.3  # the doorbell rang: the next look would have come later


def test_rwq09_a_lease_waits_through_without_a_doorbell(new_app, face):
    queue = new_app(doorbell=False).queue("work")
    adding = threading.Timer(0.1, queue.add, [b"x"])
    adding.start()

    assert face(queue, "lease", 60, wait="20s").data == b"x"
    adding.join()


def test_rwq09_a_delayed_item_is_not_early(queue, face, clock):
    face(queue, "add", b"x", delay="5m")
    assert face(queue, "lease", 60, wait=0.05) is None

    clock.advance(300_000_000)

    assert face(queue, "lease", 60).data == b"x"


def test_rwq09_a_wait_ends_when_something_is_known_to_fall_due():
    # Given a queue whose next item falls due in 30 ms
    app = App("memory://")
    empty = Claimed(jobs=(), now=1_000_000, until=2_000_000, next_due=1_030_000)
    talk = app.queue("work")._lease(app.driver, 60, wait=True)
    next(talk)

    # When it is looked at again and again
    pauses = []
    for _ in range(10):
        pauses.append(talk.send(empty).seconds)
        talk.send(False)
    talk.close()

    # Then no pause reaches beyond that moment
    assert pauses[0] == 0.005
    assert pauses[-1] == 0.03


def test_rwq11_a_lease_names_its_token_and_its_end(queue, face, clock):
    face(queue, "add", b"x")

    lease = face(queue, "lease", "90s")

    assert lease.until == clock.now + 90_000_000
    assert lease.token.attempt == 1
    assert lease.id in repr(lease)


def test_rwq11_a_lease_can_be_renewed(queue, face, clock):
    face(queue, "add", b"x")
    lease = face(queue, "lease", 10)
    clock.advance(9_000_000)

    assert face(lease, "renew")
    assert lease.until == clock.now + 10_000_000
    assert face(lease, "renew", "1m")
    assert lease.until == clock.now + 60_000_000

    clock.advance(50_000_000)
    assert face(queue, "lease", 10) is None


# -- ending ----------------------------------------------------------------------------------------


def test_rwq12_exactly_one_holder_is_told_true(forgetful, face, clock):
    face(forgetful, "add", b"x")
    stale = face(forgetful, "lease", 10)
    clock.advance(11_000_000)
    fresh = face(forgetful, "lease", 10)

    assert not face(stale, "complete")
    assert face(fresh, "complete")
    assert not face(fresh, "complete")
    assert not face(stale, "complete")


def test_rwq12_many_holders_at_once_and_one_is_told_true(queue, clock):
    queue.add(b"x")
    leases = []
    for _ in range(2):
        leases.append(queue.lease(10))
        clock.advance(11_000_000)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: leases[n % 2].complete(), range(2)))

    assert answers == [False, True]


def test_rwq12_a_late_complete_counts_if_nobody_else_has_the_item(queue, face, clock):
    face(queue, "add", b"x")
    lease = face(queue, "lease", 10)
    clock.advance(60_000_000)

    assert face(lease, "complete")


def test_rwq13_a_completed_item_is_never_leased_again(queue, face, clock):
    face(queue, "add", b"x")
    face(face(queue, "lease", 10), "complete")
    clock.advance(3_600_000_000)

    assert face(queue, "lease", 10) is None


def test_rwq14_an_item_not_completed_in_time_is_leased_again(queue, face, clock):
    face(queue, "add", b"x", id="one")
    first = face(queue, "lease", 10)
    clock.advance(11_000_000)

    second = face(queue, "lease", 10)

    assert (first.id, second.id) == ("one", "one")
    assert second.token.attempt == 2
    assert not face(first, "renew")


def test_rwq15_complete_right_after_lease_works_at_most_once(queue, face):
    face(queue, "add", b"x")
    lease = face(queue, "lease", 10)
    worked = [lease.data] if face(lease, "complete") else []

    assert worked == [b"x"]
    assert face(queue, "lease", 10) is None


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_rwq16_an_item_survives_the_death_of_its_holder(url, app, queue, clock):
    # Given an item leased by a process that is killed before it completes it
    queue.add(EVERY_BYTE, id="one")
    clock.now = time.time_ns() // 1_000
    code = (
        f"from oxmill import App; import time\nlease = App({url!r}).queue('work').lease(5)\n"
        "print(lease.id, flush=True)\ntime.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline().strip() == "one"
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait()
    holder.stdout.close()

    # When its lease has run out
    clock.now = time.time_ns() // 1_000
    assert queue.lease(5) is None
    clock.advance(6_000_000)

    # Then it is leased again, whole
    lease = queue.lease(5)
    assert (lease.id, lease.data, lease.token.attempt) == ("one", EVERY_BYTE, 2)


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_rwq16_an_added_item_survives_the_death_of_who_added_it(url, app, queue):
    code = (
        f"from oxmill import App; import os, signal\nApp({url!r}).queue('work').add(b'x', id='one')\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL

    assert queue.lease(5).id == "one"


def test_rwq17_abandoned_items_come_back_by_sweeping_or_by_the_next_lease(app, queue, face, clock):
    for n in range(3):
        face(queue, "add", b"x", id=f"{n}")
        face(queue, "lease", 10)
    clock.advance(11_000_000)

    swept = app.driver.run(app.driver.housekeeping.sweep(Sweep()))

    assert swept.lapsed == 3
    assert len(queue) == 3


def test_rwq20_an_item_taken_back_keeps_its_place_in_line(queue, face, clock):
    # Unlike its ancestor: who waited longest is served first, also after a crash.
    face(queue, "add", b"first")
    face(queue, "lease", 10)
    face(queue, "add", b"second")
    clock.advance(11_000_000)

    assert face(queue, "lease", 10).data == b"first"


def test_rwq_b07_an_item_that_kills_its_holders_ends_as_failed(app, queue, face, clock):
    face(queue, "add", b"x", id="one", crash_limit=2)
    for _ in range(2):
        assert face(queue, "lease", 10) is not None
        clock.advance(11_000_000)

    assert face(queue, "lease", 10) is None
    assert app.get("one").state is State.FAILED


def test_rwq_b08_an_item_can_be_given_back_at_once(queue, face):
    face(queue, "add", b"first")
    face(queue, "add", b"second")
    lease = face(queue, "lease", 10)

    assert face(lease, "release")

    assert face(queue, "lease", 10).data == b"first"


def test_an_item_can_be_tried_again_later(app, queue, face, clock):
    face(queue, "add", b"x", id="one", retry=2)
    assert face(face(queue, "lease", 10), "retry", "1m", "no network")

    record = app.get("one")
    assert (record.state, record.due_at, record.failures) == (
        State.SCHEDULED,
        clock.now + 60_000_000,
        1,
    )
    assert record.error.message == "no network"
    clock.advance(60_000_000)
    assert face(face(queue, "lease", 10), "retry", 0)
    assert app.get("one").state is State.FAILED


def test_without_a_delay_the_wait_grows_with_the_failures(app, queue, face, clock):
    face(queue, "add", b"x", id="one")
    face(face(queue, "lease", 10), "retry")

    wait = app.get("one").due_at - clock.now

    assert 500_000 <= wait <= 1_500_000


def test_a_final_failure_is_recorded(app, queue, face):
    face(queue, "add", b"x", id="one")

    assert face(face(queue, "lease", 10), "fail", "bad picture")

    record = app.get("one")
    assert (record.state, record.error.message) == (State.FAILED, "bad picture")


def test_rwq29_a_result_can_be_kept(app, queue, face):
    face(queue, "add", b"x", id="one")
    face(face(queue, "lease", 10), "complete", b"\x00result")

    assert app.get("one").result == b"\x00result"
    assert face(app.job("one"), "result") == b"\x00result"


# -- as a context manager --------------------------------------------------------------------------


def test_a_block_that_ends_completes_the_item(app, queue):
    queue.add(b"x", id="one")
    with queue.lease(10) as lease:
        assert lease.data == b"x"

    assert app.get("one").state is State.SUCCEEDED


async def test_an_async_block_that_ends_completes_the_item(app, queue):
    await queue.aadd(b"x", id="one")
    async with await queue.alease(10):
        pass

    assert (await app.aget("one")).state is State.SUCCEEDED


def test_a_block_that_raises_gives_the_item_back_for_another_try(app, queue):
    queue.add(b"x", id="one")
    with pytest.raises(ZeroDivisionError), queue.lease(10):
        _ = 1 / 0

    record = app.get("one")
    assert (record.state, record.failures) == (State.SCHEDULED, 1)
    assert record.error.type == "ZeroDivisionError"
    assert "1 / 0" in record.error.traceback


async def test_an_async_block_that_raises_gives_the_item_back(app, queue):
    await queue.aadd(b"x", id="one")
    with pytest.raises(ZeroDivisionError):
        async with await queue.alease(10):
            _ = 1 / 0

    assert (await app.aget("one")).failures == 1


def test_a_block_that_is_interrupted_releases_the_item(app, queue):
    queue.add(b"x", id="one")
    with pytest.raises(KeyboardInterrupt), queue.lease(10):
        raise KeyboardInterrupt

    record = app.get("one")
    assert (record.state, record.failures) == (State.WAITING, 0)


def test_a_signal_says_how_a_block_ends(app, queue, clock):
    queue.add(b"x", id="one")
    with queue.lease(10):
        raise Snooze("5m")

    record = app.get("one")
    assert (record.state, record.failures) == (State.SCHEDULED, 0)
    assert record.due_at == clock.now + 300_000_000


def test_a_block_leaves_an_item_alone_that_was_ended_inside(app, queue):
    queue.add(b"x", id="one")
    with queue.lease(10) as lease:
        lease.fail("no")

    assert app.get("one").state is State.FAILED


def test_a_block_whose_lease_was_lost_raises(app, queue, clock):
    queue.add(b"x", id="one")

    def work_too_long():
        with queue.lease(10):
            clock.advance(11_000_000)
            assert queue.lease(10) is not None

    with pytest.raises(LostLease, match="another may have worked on it"):
        work_too_long()


# -- counting --------------------------------------------------------------------------------------


def test_rwq22_the_length_counts_waiting_items_only(queue):
    assert len(queue) == 0
    assert queue
    for delay in (0, 0, 60):
        queue.add(b"x", delay=delay)
    queue.lease(10)

    assert len(queue) == 1


def test_rwq23_running_counts_leased_and_abandoned_items(queue, face, clock):
    for _ in range(3):
        face(queue, "add", b"x")
    face(queue, "lease", 10)
    face(queue, "lease", 60)

    assert face(queue, "running") == 2
    clock.advance(11_000_000)
    assert face(queue, "running") == 2


def test_rwq24_counts_gives_all_at_one_moment(queue, face):
    for delay in (0, 0, 60):
        face(queue, "add", b"x", delay=delay)
    face(queue, "lease", 10)

    assert face(queue, "counts") == {State.WAITING: 1, State.SCHEDULED: 1, State.RUNNING: 1}


def test_rwq25_queues_do_not_touch_each_other(app, face):
    face(app.queue("job[ab]"), "add", b"x")

    assert face(app.queue("joba"), "lease", 10) is None
    assert face(app.queue("job"), "counts") == {}
    assert face(app.queue("job[ab]"), "lease", 10).data == b"x"


def test_the_history_tells_every_attempt(app, queue, clock):
    queue.add(b"x", id="one")
    queue.lease(10)
    clock.advance(11_000_000)
    queue.lease(10).complete()

    history = app.get("one").history

    assert [attempt.outcome for attempt in history] == ["lapse", Outcome.COMPLETE]
    assert all(attempt.worker.startswith("client@") for attempt in history)
