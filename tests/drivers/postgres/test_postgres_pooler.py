"""Through a pooler in transaction mode everything works; hints become polling."""

import os
import shutil
import subprocess
import threading
import time
from contextlib import contextmanager

import psycopg
import pytest
from asking import UNSURE, claim, do, enqueue, eventually, settle
from private_postgres import _user, free_port, schema_url, shared_server

from oxmill.drivers.postgres.address import parse
from oxmill.drivers.postgres.driver import open_postgres
from oxmill.errors import StoreUnavailable
from oxmill.model.query import Cancel, Filter
from oxmill.model.unique import UniqueKey
from oxmill.store.doorbell import work

PGBOUNCER = (
    os.environ.get("PGBOUNCER_UNDER_TEST")
    or shutil.which("pgbouncer")
    or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")
)
SETTINGS = """
[databases]
postgres = host=127.0.0.1 port={server} dbname=postgres user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
ignore_startup_parameters = {ignored}
"""


@pytest.fixture(params=["", "options"], ids=["options refused", "options ignored"])
def pooled(request):
    """The URL of a schema behind a pooler that gives each transaction another session."""
    if PGBOUNCER is None:
        if "CI" in os.environ:
            pytest.fail("there is no pgbouncer here, and CI must skip no store")
        pytest.skip("there is no pgbouncer here; install it or name it in PGBOUNCER_UNDER_TEST")
    url = schema_url()
    port = free_port()
    folder = shared_server().path
    settings = folder / "pgbouncer.ini"
    settings.write_text(
        SETTINGS.format(server=shared_server().port, port=port, ignored=request.param)
    )
    process = subprocess.Popen(
        [PGBOUNCER, settings], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **_user()
    )
    mine = url.replace(f":{shared_server().port}/", f":{port}/")
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            psycopg.connect(mine.partition("?")[0]).close()
            break
        except psycopg.OperationalError:
            time.sleep(0.02)
    yield mine
    process.kill()
    process.wait(10)


def test_no_session_is_taken_for_granted(pooled):
    driver = open_postgres(pooled, doorbell=False)
    enqueue(driver, "keyed", unique=UniqueKey(key="k"))
    done = []

    def work_off(number):
        for turn in range(20):
            enqueue(driver, f"job-{number}-{turn}")
            for lease in claim(driver, 3, nonce=100 * number + turn + 1):
                settle(driver, lease)
                done.append(lease.id)

    threads = [threading.Thread(target=work_off, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for lease in claim(driver, 500, nonce=9_999):
        settle(driver, lease)
        done.append(lease.id)

    assert len(done) == len(set(done)) == 121
    driver.close()


WAITING = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'"


@contextmanager
def locked(url):
    """The table of jobs is somebody else's."""
    schema = parse(url).schema
    with psycopg.connect(shared_server().url) as blocker:
        blocker.execute(f"LOCK TABLE {schema}.jobs IN ACCESS EXCLUSIVE MODE")
        yield


def test_who_was_given_up_does_not_wait_in_the_server_for_ever(pooled):
    """The pooler keeps our bounds from the server: what is one statement is called off."""
    driver = open_postgres(f"{pooled}&timeout=1", doorbell=False)
    enqueue(driver, "a")
    with locked(pooled):
        with pytest.raises(UNSURE):
            enqueue(driver, "b")
        eventually_none(lambda: shared_server().ask(WAITING))
    eventually(lambda: enqueue(driver, "b"))
    assert {lease.id for lease in claim(driver, 9)} == {"a", "b"}
    driver.close()


def test_a_transaction_brings_its_bounds_along(pooled):
    driver = open_postgres(f"{pooled}&timeout=2", doorbell=False)
    enqueue(driver, "a")
    with (
        locked(pooled),
        pytest.raises(StoreUnavailable, match="55P03"),
    ):
        do(driver, Cancel(filter=Filter(ids=("a",))))
    assert do(driver, Cancel(filter=Filter(ids=("a",)))).ids == ("a",)
    driver.close()


def eventually_none(ask, bound=10.0):
    deadline = time.monotonic() + bound
    while found := ask():
        assert time.monotonic() < deadline, found
        time.sleep(0.01)


def test_a_doorbell_that_cannot_hear_rings_by_itself(pooled):
    listener, ringer = open_postgres(pooled), open_postgres(pooled)
    enqueue(ringer, "a")
    with listener.doorbell.listen([work("q")]) as bell:
        assert bell.wait(10)
        assert bell.wait(10), "again and again"
    listener.close()
    ringer.close()
