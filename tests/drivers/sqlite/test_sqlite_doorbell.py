"""Listeners of other processes are woken within milliseconds, at hardly any cost while idle."""

import statistics
import time

import pytest
from sqlite_stage import child

from oxmill.drivers.sqlite import doorbell as module
from oxmill.drivers.sqlite.connection import Place
from oxmill.drivers.sqlite.doorbell import SqliteDoorbell
from oxmill.drivers.sqlite.driver import open_sqlite
from oxmill.drivers.sqlite.peers import Ear, Peers, can_meet, meeting_place
from oxmill.drivers.sqlite.roll import Roll
from oxmill.store.doorbell import CONTROL, ended, work


@pytest.fixture
def elsewhere(path):
    """The doorbell of another driver on the same file, as good as another process."""
    driver = open_sqlite(path)
    yield driver.doorbell
    driver.close()


@pytest.mark.parametrize(("how", "bound"), [("sockets", 0.005), ("polling", 0.25)])
def test_another_process_is_woken_soon(store, how, bound):
    """From before an enqueue until the other process goes on: 5 ms in the middle, over what it costs
    to wake that process at all on this machine now. A bell wakes its listener and then who waits, so
    that is taken twice; each pair of figures is of one moment."""
    store.enqueue("first")
    pings, delays = [], []
    with child("listen", store.path, how) as listener:
        assert listener.stdout.readline() == "ready\n"
        while len(delays) < 30:
            sent = time.monotonic()
            listener.stdin.write("ping\n")
            pings.append(float(listener.stdout.readline()) - sent)
            listener.stdin.write("wait\n")
            assert listener.stdout.readline() == "waiting\n"
            sent = time.monotonic()
            store.enqueue(f"job-{len(pings)}")
            rung = float(listener.stdout.readline())
            assert rung > 0
            if rung > sent:  # else a second look has rung for the job before: a hint, not this one
                delays.append(rung - sent)

    assert statistics.median(delays) < bound + 2 * statistics.median(pings)


def test_waiting_costs_next_to_nothing(store):
    store.enqueue("first")
    with child("idle", store.path, "sockets") as one, child("idle", store.path, "polling") as other:
        shares = [float(each.stdout.readline()) for each in (one, other)]

    assert max(shares) < 0.01


def test_only_those_who_want_to_hear_of_it_are_nudged(path, store, elsewhere):
    store.enqueue("first")
    with elsewhere.listen([work("q")]) as working, store.driver.doorbell.listen([CONTROL]):
        (ear,) = (
            name
            for name in (each.name for each in meeting_place(path).iterdir())
            if name != store.driver.doorbell._listener.ear.path.name
        )
        assert ear.endswith(".w")

        with elsewhere.listen([ended("a")]):
            assert elsewhere._listener.ear.path.name.endswith(".ew")

        store.driver.doorbell.ring([work("q")])
        assert working.wait(5)


def test_a_nudge_names_its_topics(store, path, monkeypatch):
    monkeypatch.setattr(module, "_SAFETY_NET", 60)
    store.enqueue("first")
    doorbell = SqliteDoorbell(Place(path))
    with doorbell.listen([work("q")]) as wanted, doorbell.listen([work("other")]) as other:
        store.driver.doorbell.ring([work("q")])

        assert wanted.wait(5)
        assert not other.wait(0)
    doorbell.close()


def test_a_nudge_too_long_for_its_topics_rings_for_all(store, path, monkeypatch):
    monkeypatch.setattr(module, "_SAFETY_NET", 60)
    doorbell = SqliteDoorbell(Place(path))
    with doorbell.listen([work("q")]) as bell:
        store.driver.doorbell.ring([work(f"{number:0100}") for number in range(100)])

        assert bell.wait(5)
    doorbell.close()


def test_ends_too_many_for_a_nudge_wake_those_who_wait_for_one_and_no_others(
    store, path, monkeypatch
):
    monkeypatch.setattr(module, "_SAFETY_NET", 60)
    store.enqueue("first")
    doorbell = SqliteDoorbell(Place(path))
    with (
        doorbell.listen([CONTROL]) as asked,
        doorbell.listen([work("q")]) as working,
        doorbell.listen([ended("another")]) as waiting,
        doorbell.listen([work("last")]) as last,
    ):
        store.driver.doorbell.ring([work("q"), *(ended(f"{n:032}") for n in range(1_000))])

        assert waiting.wait(5)
        assert working.wait(5)
        store.driver.doorbell.ring([work("last")])
        assert last.wait(5)
        assert not asked.wait(0)
    doorbell.close()


def test_a_lost_nudge_is_made_up_for(store, path, monkeypatch):
    store.enqueue("first")
    monkeypatch.setattr(Peers, "nudge", lambda *_: None)
    doorbell = SqliteDoorbell(Place(path))
    with doorbell.listen([work("q")]) as bell:
        while bell.wait(0.5):
            pass
        store.enqueue("second")

        assert bell.wait(5)
    doorbell.close()


def test_sockets_of_the_dead_are_cleared_away(tmp_path):
    folder = tmp_path / "meet"
    ear = Ear(folder, "w", Roll(tmp_path / "lock"))
    ear.socket.close()  # as a killed process leaves it
    peers = Peers(folder, Roll(tmp_path / "lock"))

    peers.nudge([work("q")], None)

    assert list(folder.iterdir()) == []
    peers.close()


def test_who_leaves_last_removes_the_folder(tmp_path):
    folder = tmp_path / "meet"
    one, two = Ear(folder, "w", Roll(tmp_path / "lock")), Ear(folder, "c", Roll(tmp_path / "lock"))

    one.close()
    assert folder.exists()
    two.close()

    assert not folder.exists()


def test_new_ears_are_found_at_once(tmp_path):
    folder = tmp_path / "meet"
    peers = Peers(folder, Roll(tmp_path / "lock"))
    for _ in range(5):
        peers.nudge(["x"], None)
        ear = Ear(folder, "w", Roll(tmp_path / "lock"))
        peers.nudge([work("q")], None)
        assert ear.hear() == [work("q")]
        ear.close()
    peers.close()


def test_without_a_roll_everybody_is_still_found(tmp_path):
    folder = tmp_path / "meet"
    nowhere = tmp_path / "missing" / "lock"
    peers = Peers(folder, Roll(nowhere))
    peers.nudge([work("q")], None)
    ear = Ear(folder, "w", Roll(nowhere))

    peers.nudge([work("q")], None)

    assert ear.hear() == [work("q")]
    ear.close()
    peers.close()


def test_who_does_not_want_to_hear_of_it_is_left_alone(tmp_path):
    folder = tmp_path / "meet"
    ear, peers = Ear(folder, "w", Roll(tmp_path / "lock")), Peers(folder, Roll(tmp_path / "lock"))

    peers.nudge([ended("a")], None)
    peers.nudge([CONTROL], None)

    assert ear.hear() == []
    ear.close()
    peers.close()


def test_a_full_ear_does_not_block(tmp_path):
    folder = tmp_path / "meet"
    ear, peers = Ear(folder, "w", Roll(tmp_path / "lock")), Peers(folder, Roll(tmp_path / "lock"))

    for _ in range(2_000):
        peers.nudge([work("q")], None)

    assert set(ear.hear()) == {work("q")}
    ear.close()
    peers.close()


def test_a_folder_open_to_others_is_not_used(tmp_path):
    folder = tmp_path / "meet"
    folder.mkdir()
    folder.chmod(0o777)

    assert not can_meet(folder)
    with pytest.raises(OSError, match="belongs to someone else"):
        Ear(folder, "w", Roll(tmp_path / "lock"))


def test_a_long_temporary_folder_falls_back_to_polling(store, path, tmp_path, monkeypatch):
    deep = tmp_path / ("x" * 90)
    deep.mkdir()
    monkeypatch.setattr(module, "meeting_place", lambda _: deep)
    doorbell = SqliteDoorbell(Place(path))
    store.enqueue("first")
    with doorbell.listen([work("q")]) as bell:
        while bell.wait(0.4):
            pass
        assert doorbell._listener.ear is None
        store.enqueue("second")

        assert bell.wait(5)
    doorbell.close()


def test_the_listener_leaves_when_nobody_listens(store, path, monkeypatch):
    monkeypatch.setattr(module, "LINGER", 0.01)
    monkeypatch.setattr(module, "_SAFETY_NET", 0.02)
    doorbell = SqliteDoorbell(Place(path))
    doorbell.listen([work("q")]).close()
    thread = doorbell._listener._thread

    thread.join(5)

    assert not thread.is_alive()
    assert doorbell._listener is None
    with doorbell.listen([work("q")]) as bell:
        store.driver.doorbell.ring([work("q")])
        assert bell.wait(5)
    doorbell.close()


def test_listening_does_not_make_the_file(path):
    doorbell = SqliteDoorbell(Place(path))
    with doorbell.listen([work("q")]) as bell:
        assert not bell.wait(0)
    doorbell.close()

    assert not path.exists()


def test_a_listener_that_looks_while_it_is_stopped_is_stopped_all_the_same(store):
    store.enqueue("first")
    bells = SqliteDoorbell(Place(store.path), sockets=False)
    bells.listen([CONTROL])
    listener = bells._listener

    class Late:
        """Wakes the thread only after it had the time to look by itself."""

        def __init__(self, inner):
            self.close, self._send = inner.close, inner.send

        def send(self, data):
            listener._thread.join(2 * module._LONGEST)
            return self._send(data)

    listener._wake = Late(listener._wake)

    bells.close()

    assert not listener._thread.is_alive()


@pytest.mark.parametrize("sockets", [True, False])
def test_workers_are_not_asked_after_every_change(store, monkeypatch, sockets):
    """They would write when they look, and look again because of that, for ever."""
    monkeypatch.setattr(module, "_SAFETY_NET", 0.02)
    store.enqueue("first")
    bells = SqliteDoorbell(Place(store.path), sockets=sockets)
    with bells.listen([work("default")]) as changed, bells.listen([CONTROL]) as asked:
        store.enqueue("second")
        assert changed.wait(5)
        assert asked.wait(0.3) is not sockets
        store.enqueue("third")
        assert changed.wait(5)
        assert not asked.wait(0.3)
    bells.close()
