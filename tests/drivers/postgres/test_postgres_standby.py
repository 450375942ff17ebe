"""A standby is promoted while its primary is gone: clients follow, and nothing confirmed is lost."""

import os
import shutil
import subprocess
import threading
from itertools import count

import pytest
from asking import claim, do, enqueue, eventually
from private_postgres import Server, _environment, _user, programs

from oxmill.drivers.postgres.driver import open_postgres
from oxmill.errors import OutcomeUnknown, StoreUnavailable
from oxmill.model.info import Level
from oxmill.model.query import Get
from oxmill.store.roles.installing import Check


@pytest.fixture
def pair():
    """A primary and a standby that confirms each commit."""
    primary = Server(wal_level="replica", max_wal_senders=4, hot_standby="on")
    primary.init()
    primary.start()
    standby = Server(hot_standby="on")
    try:
        user = _user()
        if user:
            os.chown(standby.path, user["user"], user["group"])
        words = [
            programs() / "pg_basebackup",
            "-D",
            standby.data,
            "-R",
            "-X",
            "stream",
            "-c",
            "fast",
        ]
        words += ["-d", f"postgresql://postgres@127.0.0.1:{primary.port}/?application_name=second"]
        subprocess.run(words, check=True, cwd="/", env=_environment(), **user)
        standby.start()
        primary.ask("ALTER SYSTEM SET synchronous_standby_names = 'walreceiver, second'")
        primary.ask("SELECT pg_reload_conf()")
        yield primary, standby
    finally:
        primary.stop()
        standby.stop()
        shutil.rmtree(standby.path, ignore_errors=True)


def test_a_promoted_standby_has_every_confirmed_job(pair):
    primary, standby = pair
    url = f"postgresql://postgres@127.0.0.1:{primary.port},127.0.0.1:{standby.port}/postgres"
    driver = open_postgres(f"{url}?timeout=5")
    told, names, stop = [], count(), threading.Event()
    enqueue(driver, "first")

    def load():
        while not stop.is_set():
            name = f"job-{next(names)}"
            try:
                enqueue(driver, name)
                told.append(name)
            except (StoreUnavailable, OutcomeUnknown):
                stop.wait(0.02)

    thread = threading.Thread(target=load)
    thread.start()
    while len(told) < 50:
        stop.wait(0.01)
    primary.kill()
    standby.ask("SELECT pg_promote()")
    before = len(told)
    while len(told) < before + 10:
        stop.wait(0.01)
    stop.set()
    thread.join(30)

    found = eventually(lambda: do(driver, Get(ids=tuple(told))))
    assert {each.id for each in found} == set(told)
    assert claim(driver, 5)
    driver.close()


def test_the_doctor_refuses_a_standby(pair):
    _, standby = pair
    driver = open_postgres(f"{standby.url}?target_session_attrs=any&migrate=no", doorbell=False)
    findings = do(driver, Check())
    (found,) = (each for each in findings if each.level is Level.REFUSE)
    assert (found.name, found.passes) == ("in_recovery", True)
    driver.close()
