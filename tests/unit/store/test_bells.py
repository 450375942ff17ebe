"""The doorbell of one process: rings are remembered, doubled rings harm nobody."""

import asyncio
import threading

import pytest

from oxmill.store.bells import LocalDoorbell, SilentDoorbell


@pytest.fixture
def doorbell():
    return LocalDoorbell()


def test_a_ring_wakes_a_waiting_thread(doorbell):
    with doorbell.listen(["a"]) as bell:
        threading.Timer(0.01, doorbell.ring, [["a"]]).start()

        assert bell.wait(10)


async def test_a_ring_wakes_a_waiting_task(doorbell):
    with doorbell.listen(["a"]) as bell:
        asyncio.get_running_loop().call_later(0.01, doorbell.ring, ["a"])

        assert await bell.arrive(10)


async def test_a_ring_from_another_thread_wakes_a_waiting_task(doorbell):
    with doorbell.listen(["a"]) as bell:
        threading.Timer(0.01, doorbell.ring, [["a"]]).start()

        assert await bell.arrive(10)


async def test_a_ring_is_told_before_anybody_else_has_a_turn(doorbell):
    told = []
    with doorbell.attend(["a"]) as bell:
        bell.tell(lambda: told.append("ring"))
        doorbell.ring(["a"])
        assert told == ["ring"]
        doorbell.ring(["b"])
        doorbell.ring(["a"])
        assert told == ["ring", "ring"]


async def test_rings_from_another_thread_are_told_in_the_loop(doorbell):
    told, home = [], threading.current_thread()
    with doorbell.attend(["a"]) as bell:
        bell.tell(lambda: told.append(threading.current_thread()))
        for _ in range(2):
            ringing = threading.Thread(target=lambda: [doorbell.ring(["a"]) for _ in range(100)])
            ringing.start()
            ringing.join()
            await asyncio.sleep(0)
            await asyncio.sleep(0)

        # However many they were while the loop was busy, it is told once.
        assert told == [home, home]


async def test_a_ring_before_somebody_is_to_be_told_counts(doorbell):
    told = []
    with doorbell.attend(["a"]) as bell:
        doorbell.ring(["a"])
        bell.tell(lambda: told.append("ring"))

        assert told == ["ring"]


async def test_a_closed_bell_tells_nothing_more(doorbell):
    told = []
    bell = doorbell.attend(["a"])
    bell.tell(lambda: told.append("ring"))
    ringing = threading.Thread(target=doorbell.ring, args=[["a"]])
    ringing.start()
    ringing.join()
    bell.close()  # while a ring is on its way
    doorbell.ring(["a"])
    await asyncio.sleep(0.001)

    assert told == []


async def test_a_bell_is_closed_once(doorbell):
    forgotten = []
    forget = doorbell.forget
    doorbell.forget = lambda bell: (forgotten.append(bell), forget(bell))
    bell = doorbell.attend(["a"])
    bell.close()
    bell.close()

    assert forgotten == [bell]


async def test_a_ring_before_the_wait_is_remembered_once(doorbell):
    with doorbell.listen(["a"]) as bell:
        doorbell.ring(["a"])
        doorbell.ring(["a", "a"])

        assert bell.wait(0)
        assert not bell.wait(0)
        doorbell.ring(["a"])
        assert await bell.arrive(0)
        assert not await bell.arrive(0)


async def test_a_wait_ends_in_time(doorbell):
    with doorbell.listen(["a"]) as bell:
        assert not bell.wait(0.001)
        assert not await bell.arrive(0.001)


def test_a_ring_is_not_lost_to_a_wait_that_has_just_run_out(doorbell):
    with doorbell.listen(["a"]) as bell:
        wait = bell._flag.wait

        def ring_at_the_end(timeout):
            rung = wait(timeout)
            if not rung:
                doorbell.ring(["a"])
            return rung

        bell._flag.wait = ring_at_the_end
        assert not bell.wait(0)
        bell._flag.wait = wait

        assert bell.wait(0)


def test_other_topics_do_not_ring(doorbell):
    with doorbell.listen(["a", "b"]) as bell:
        doorbell.ring(["c"])
        assert not bell.wait(0)
        doorbell.ring(["c", "b"])
        assert bell.wait(0)


def test_everybody_who_listens_is_rung(doorbell):
    bells = [doorbell.listen(["a"]) for _ in range(5)]

    doorbell.ring(["a"])

    assert [bell.wait(0) for bell in bells] == [True] * 5


def test_ring_all_reaches_every_topic(doorbell):
    one, two = doorbell.listen(["a"]), doorbell.listen(["b", "c"])

    doorbell.ring_all()

    assert (one.wait(0), two.wait(0)) == (True, True)


def test_a_closed_bell_is_forgotten(doorbell):
    one, two = doorbell.listen(["a", "b"]), doorbell.listen(["b"])

    one.close()
    one.close()
    doorbell.ring(["a", "b"])

    assert (one.wait(0), two.wait(0)) == (False, True)
    assert doorbell.listeners == 1
    two.close()
    assert doorbell.listeners == 0


def test_a_ring_after_the_loop_was_closed_is_harmless(doorbell):
    bell = doorbell.listen(["a"])

    async def give_up():
        waiting = asyncio.create_task(bell.arrive(10))
        await asyncio.sleep(0)
        waiting.cancel()

    asyncio.run(give_up())
    doorbell.ring(["a"])

    assert bell.wait(0)


async def test_a_cancelled_wait_leaves_the_bell_usable(doorbell):
    with doorbell.listen(["a"]) as bell:
        waiting = asyncio.create_task(bell.arrive(10))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        doorbell.ring(["a"])

        assert await bell.arrive(1)


async def test_many_rings_from_many_threads_are_never_missed(doorbell):
    seen = 0
    with doorbell.listen(["a"]) as bell:
        for _ in range(200):
            thread = threading.Thread(target=doorbell.ring, args=[["a"]])
            thread.start()
            seen += await bell.arrive(10)
            thread.join()

    assert seen == 200


async def test_the_silent_doorbell_never_rings():
    doorbell = SilentDoorbell()

    with doorbell.listen(["a"]) as bell:
        doorbell.ring(["a"])
        doorbell.ring_all()

        assert not bell.wait(0)
        assert not await bell.arrive(0.001)
