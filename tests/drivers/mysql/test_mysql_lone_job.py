"""One new job at a time: what it costs, and that it is stored as it would be beside others."""

import pytest
from private_mysql import shared_server

from oxmill.drivers.mysql import transport
from oxmill.drivers.mysql.driver import open_mysql
from oxmill.drivers.mysql.link import Link
from oxmill.model.info import ListQueues
from oxmill.model.job import Enqueue, NewJob, Verdict
from oxmill.model.state import State
from oxmill.testing.operations import plan_for

NOW = 1_700_000_000_000_000


@pytest.fixture
def driver():
    driver = open_mysql(shared_server().database(), doorbell=False, clock=lambda: NOW)
    do(driver, ListQueues())
    yield driver
    driver.close()


@pytest.fixture
def sent(monkeypatch):
    """Every packet that is sent."""
    sent = []
    send = Link.send
    monkeypatch.setattr(Link, "send", lambda link, batch: sent.append(batch) or send(link, batch))
    return sent


def do(driver, request):
    return driver.run(plan_for(driver, request))


def job(name, **options):
    return NewJob(**({"queue": "q", "task": "t", "payload": b"{}"} | options), id=name)


def row_of(driver, name):
    """All that is stored of a job but its own number and name."""
    asked = "SELECT * FROM oxmill_jobs WHERE id = %s"
    with shared_server().client(driver.url.rpartition("/")[2]) as client:
        cursor = client.cursor()
        cursor.execute(asked, (name,))
        columns = [column[0] for column in cursor.description]
        (row,) = cursor.fetchall()
    own = {"seq", "id", "place"}
    return {name: value for name, value in zip(columns, row, strict=True) if name not in own}


def told_of(driver):
    """How many rows there are beside those of jobs."""
    asked = "SELECT (SELECT COUNT(*) FROM oxmill_lane_news), (SELECT COUNT(*) FROM oxmill_fields)"
    ((news, fields),) = shared_server().ask(asked, driver.url.rpartition("/")[2])
    return [news, fields]


def test_one_job_is_one_packet_of_four_statements(driver, sent):
    do(driver, Enqueue(jobs=(job("a"),)))

    (packet,) = sent
    assert len(packet) == 4


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"delay": 5_000_000, "priority": -3, "expires_in": 7_000_000, "keep": 0},
        {"queue": "100%b of @oxmill_now", "task": "it's \\ %s", "payload": b"\x00'%b\\\xff%"},
        {"max_attempts": 7, "crash_limit": 2},
        {"group": "g"},
        {"fields": {"user": 62}, "tags": ("x",), "timeout": 5_000_000},
        {"run_at": NOW + 1},
        {"run_at": NOW - 1},
    ],
)
def test_it_is_stored_as_it_would_be_beside_others(driver, options):
    (alone,) = do(driver, Enqueue(jobs=(job("alone", **options),)))
    told = told_of(driver)
    beside, _ = do(driver, Enqueue(jobs=(job("beside", **options), job("other"))))

    assert row_of(driver, "alone") == row_of(driver, "beside")
    assert told_of(driver) == [2 * n for n in told]
    assert (alone.verdict, alone.state) == (beside.verdict, beside.state)
    counts = {queue.name: queue.counts for queue in do(driver, ListQueues()).items}
    there = counts[job("a", **options).queue]
    others = int(job("a", **options).queue == "q" and alone.state is State.WAITING)
    assert there[alone.state] == 2 + others


def test_a_taken_id_is_found_out_once(driver, sent):
    do(driver, Enqueue(jobs=(job("a"),)))
    sent.clear()

    (again,) = do(driver, Enqueue(jobs=(job("a"),)))
    assert again.verdict is Verdict.DUPLICATE
    assert sum(b"INSERT INTO oxmill_jobs" in b"".join(packet) for packet in sent) == 1
    (other,) = do(driver, Enqueue(jobs=(job("a", payload=b"[]"),)))
    assert other.verdict is Verdict.ID_CONFLICT
    assert do(driver, ListQueues()).items[0].counts[State.WAITING] == 1


def test_counts_are_added_up_in_one_packet(driver, sent, monkeypatch):
    monkeypatch.setattr(transport, "_FOLD", 5)
    for number in range(5):
        do(driver, Enqueue(jobs=(job(f"j{number}"),)))

    assert len(sent) == 6
    name = driver.url.rpartition("/")[2]
    assert shared_server().ask("SELECT COUNT(*) FROM oxmill_changes", name) == ((0,),)
    assert shared_server().ask("SELECT waiting FROM oxmill_counts", name) == ((5,),)
