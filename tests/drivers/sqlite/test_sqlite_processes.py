"""Several processes on one file: killed, forked, and all at once."""

import os
import signal
import sqlite3
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlite_stage import Store, child, kept_waiting

from oxmill.drivers.sqlite import transport
from oxmill.drivers.sqlite.driver import open_sqlite
from oxmill.errors import WrongContext
from oxmill.model.job import Verdict
from oxmill.store.doorbell import work

# Newer Pythons warn of forks beside threads; that these work is what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def test_a_killed_process_loses_no_acknowledged_job(store):
    acknowledged = []
    for name in ("first", "second", "third"):
        with child("enqueue", store.path, name) as process:
            acknowledged += [process.stdout.readline().strip() for _ in range(40)]
            process.send_signal(signal.SIGKILL)
            acknowledged += process.stdout.read().split()

    found = {job.id for job in store.get(*acknowledged)}

    assert len(acknowledged) >= 120
    assert found == set(acknowledged)
    assert sqlite3.connect(store.path).execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_four_processes_win_each_job_once(store):
    store.enqueue("first")
    with ExitStack() as stack:
        names = ["one", "two", "three", "four"]
        processes = [stack.enter_context(child("churn", store.path, name)) for name in names]
        assert {process.stdout.readline() for process in processes} == {"ready\n"}
        for process in processes:
            process.stdin.write("go\n")
        lines = [line for process in processes for line in process.stdout.read().splitlines()]

    won = Counter(line.removeprefix("won ") for line in lines if line.startswith("won "))
    assert len(lines) == len(won) == 4 * 60 * 5 + 1
    assert set(won.values()) == {1}
    assert store.counts() == {"succeeded": 4 * 60 * 5 + 1}


def test_many_processes_may_be_the_first(path):
    with ExitStack() as stack:
        names = [f"process-{number}" for number in range(6)]
        processes = [stack.enter_context(child("enqueue", path, name)) for name in names]
        first = [process.stdout.readline().strip() for process in processes]

    assert first == [f"{name}-0" for name in names]


def in_child(act):
    """Fork, act in the child, and give its exit status."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = 0 if act() else 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_forked_child_opens_anew_and_the_parent_goes_on(store):
    store.enqueue("before")
    store.get("before")

    status = in_child(
        lambda: (
            store.enqueue("in the child")[0].verdict is Verdict.CREATED
            and [job.id for job in store.get("before", "in the child")]
            == ["before", "in the child"]
        )
    )

    assert status == 0
    assert store.enqueue("after")[0].verdict is Verdict.CREATED
    assert [job.id for job in store.claim(9)] == ["before", "in the child", "after"]


def test_no_connection_is_carried_over_a_fork(store):
    store.enqueue("before")
    store.get("before")

    def open_files():
        links = [os.path.realpath(each) for each in Path("/proc/self/fd").iterdir()]
        return [link for link in links if str(store.path) in link]

    assert open_files() != []
    assert in_child(lambda: open_files() == []) == 0


def test_a_child_outlives_its_parent(path):
    """The locks of an inherited connection are gone with the parent: the next process to close the
    file would take it for the last, and take the log away from under the child."""
    with child("orphan", path) as process:
        assert process.stdout.readline() == "orphaned\n"
        other = Store(open_sqlite(path), path)
        other.enqueue("of another process")
        other.driver.close()
        process.stdin.write("go on\n")
        assert process.stdout.readline() == "done\n"

    ids = {"of the parent", "of another process", *(f"child-{number}" for number in range(20))}
    after = Store(open_sqlite(path), path)
    assert {job.id for job in after.get(*ids)} == ids
    after.driver.close()


def test_a_child_forked_in_the_midst_of_a_transaction_refuses_to_go_on(store, monkeypatch):
    store.enqueue("before")
    monkeypatch.setattr(transport, "_FORK_PATIENCE", 0.01)

    def refused():
        with pytest.raises(WrongContext, match="forked while its parent was busy"):
            store.enqueue("in the child")
        return True

    with kept_waiting(store.writer):
        status = in_child(refused)

    assert status == 0
    assert store.enqueue("after")[0].verdict is Verdict.CREATED


def test_the_doorbell_of_a_child_is_its_own(store):
    store.enqueue("before")
    with store.driver.doorbell.listen([work("q")]) as bell:

        def rings_in_the_child():
            with store.driver.doorbell.listen([work("q")]) as own:
                store.enqueue("in the child")
                return own.wait(5)

        status = in_child(rings_in_the_child)

        assert status == 0
        assert bell.wait(5)


def test_a_second_driver_in_the_same_process_works_beside_the_first(store):
    other = open_sqlite(store.path)
    for number in range(5):
        store.enqueue(f"a-{number}")
        plan = store.plan(f"b-{number}")
        assert other.run(plan)[0].verdict is Verdict.CREATED
    other.close()

    order = [f"{name}-{number}" for number in range(5) for name in "ab"]
    assert [job.id for job in store.claim(99)] == order
