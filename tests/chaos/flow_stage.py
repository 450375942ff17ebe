"""Where flows are cut off: a store, whoever dies there, somebody who goes on, and a judge."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from contextlib import ExitStack, closing, suppress
from pathlib import Path

from msgspec.structs import replace

from oxmill import FlowStatus, StoreError
from oxmill.connect import sqlite_path
from oxmill.drivers.mysql.driver import open_mysql
from oxmill.drivers.postgres.driver import open_postgres
from oxmill.drivers.redis.driver import REDIS_BOUNDS, open_redis
from oxmill.drivers.sqlite.driver import open_sqlite
from oxmill.errors import FlowNotFound
from oxmill.model.bounds import DEFAULT_BOUNDS
from oxmill.model.flow import ListFlows
from oxmill.model.query import Filter, Find, Get
from oxmill.testing.dump import dump
from oxmill.testing.laws import breaches
from oxmill.testing.operations import plan_for

from .flow_tasks import runs
from .striking import struck

TESTS = Path(__file__).parent.parent
PATIENCE = 60
SMALL = {"cleanup_jobs": 2, "heavy_jobs": 3}
"""Bounds that make one step out of few jobs."""
PUT_BACK = {"lapse", "release", "snooze"}
"""How a run ends that has not come to its own end."""
OPEN = {"redis": open_redis, "postgresql": open_postgres, "mysql": open_mysql}


def open_store(store):
    """The driver of a store, with small bounds."""
    kind, mode = store["url"].partition(":")[0], store["mode"]
    if kind == "sqlite":
        path = sqlite_path(store["url"])
        return open_sqlite(path, mode=mode, bounds=replace(DEFAULT_BOUNDS, **SMALL))
    usual = REDIS_BOUNDS if kind == "redis" else DEFAULT_BOUNDS
    return OPEN[kind](store["url"], mode=mode, bounds=replace(usual, **SMALL))


class Zygote:
    """Makes processes that are killed."""

    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, "-m", "chaos.zygote"],
            cwd=TESTS,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def act(self, **told):
        """Have one do this until it dies; its exit code."""
        self._process.stdin.write(json.dumps(told) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self):
        self._process.stdin.close()
        self._process.wait(10)
        self._process.stdout.close()


def killed(zygote, store, kind, folder):
    """Whoever is at work in this scene dies at each of its steps; then somebody goes on."""
    told = {"store": store, "scene": kind.__name__, "folder": str(folder)}
    with closing(open_store(store)) as driver:
        scenes = {aim: kind(driver, _name(kind, aim), str(folder)) for aim in kind.aims}
        for aim, scene in scenes.items():
            with scene.app._client.lend(driver):
                scene.begin()
                code = zygote.act(aim=aim, name=scene.name, **told)
                assert code == -signal.SIGKILL, f"{aim}: nothing of the kind was done"
                scene.again()
        go_on(driver, list(scenes.values()))
        judge(driver, scenes, folder)


def felled(server, store, kind, folder, whens):
    """The server dies at each step of this scene, and comes back."""
    with closing(struck(open_store(store), server.restart)) as driver:
        scenes = {}
        aims = [aim for aim in kind.aims if aim.when in whens]
        for aim in aims or [aim for aim in kind.aims if aim.when != "before"]:
            scene = scenes[aim] = kind(driver, _name(kind, aim), str(folder))
            with scene.app._client.lend(driver):
                scene.begin()
                driver.transport.aim(aim)
                cut_off(driver, scene)
            assert driver.transport.struck, f"{aim}: nothing of the kind was done"
        go_on(driver, list(scenes.values()))
        judge(driver, scenes, folder)


def cut_off(driver, scene):
    """Whoever is at work lives on, and tries again."""
    if not scene.by_worker:
        with suppress(StoreError):
            scene.act()
        insist(scene.again)
        return
    with scene.app.running(queues=[scene.name], slots=1, lease=1, sweep_every=0.2):
        until_ended(driver, scene.name)


def insist(action):
    """Do it, on a store that has come back and whose old connections are dead."""
    for _ in range(9):
        with suppress(StoreError):
            return action()
    return action()


def _name(kind, aim):
    return f"{kind.__name__}-{'-'.join(map(str, aim))}"


def go_on(driver, scenes):
    """A worker runs all of them to their ends."""
    with ExitStack() as stack:
        stack.enter_context(scenes[0].app._client.lend(driver))
        queues = [scene.name for scene in scenes]
        running = scenes[0].app.running(queues=queues, slots=4, lease=2, sweep_every=0.1)
        stack.enter_context(running)
        for scene in scenes:
            until_ended(driver, scene.name)


def until_ended(driver, flow):
    """Wait for the end of a flow, on a store that may be down."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            found = _do(driver, ListFlows(ids=(flow,), limit=1)).items
            if found and found[0].status is not FlowStatus.RUNNING:
                return
        except (StoreError, FlowNotFound):
            pass
        assert time.monotonic() < end, f"flow {flow} hangs: {_do(driver, Find(limit=100)).jobs}"
        time.sleep(0.02)


def judge(driver, scenes, folder):
    """Each flow has come to its right end, each join fired once, nothing ran after its win, and all
    counts are right."""
    noted = runs(folder)
    wrong = [f"{aim}: {said}" for aim, scene in scenes.items() for said in faults(scene, noted)]
    assert not wrong, "\n".join(wrong)
    assert breaches(dump(lambda request: _do(driver, request))) == []


def faults(scene, noted):
    """What is wrong with one flow."""
    found = scene.do(Find(filter=Filter(flow=scene.name), limit=100)).jobs
    jobs = {job.id: job for job in scene.do(Get(ids=tuple(job.id for job in found)))}
    (flow,) = scene.do(ListFlows(ids=(scene.name,), limit=1)).items
    if flow.status is not scene.wanted.status:
        yield f"the flow is {flow.status}"
    if flow.state != scene.wanted.state:
        yield f"the flow's state is {flow.state}"
    ends = defaultdict(Counter)
    for job in jobs.values():
        ends[job.task][job.state, None if job.result is None else int(job.result)] += 1
    if not scene.as_wanted(ends):
        yield f"jobs ended as {dict(ends)}"
    if sum(job.crashes for job in jobs.values()) > 1:
        yield f"{[job.id for job in jobs.values() if job.crashes]} have crashed"
    own = [run for run in noted if run["job"] in jobs]
    yield from twice(own)
    for job in jobs.values():
        yield from astray(scene, job, [run for run in own if run["job"] == job.id])


def twice(noted):
    times = Counter((run["job"], run["attempt"]) for run in noted)
    yield from (f"{each} ran {n} times" for each, n in times.items() if n > 1)


def astray(scene, job, noted):
    """What one job has done that it should not have."""
    ends = [past.outcome for past in job.history]
    won = [end for end in ends if end not in PUT_BACK]
    usual = scene.wanted.claims.get(job.task, min(job.attempt, 1))
    wanted = scene.wanted.claims.get(job.id.removeprefix(scene.name), usual)
    if len(won) != wanted or ends[-1:] != won[-1:]:
        yield f"the runs of {job.id} ended as {ends}"
    if not len(won) <= len(noted) <= len(ends):
        yield f"{job.id} was claimed {len(ends)} times and ran {len(noted)} times"
    allowed = scene.wanted.given.get(job.task)
    for run in noted:
        if allowed is not None and run["got"] not in allowed:
            yield f"{job.id} was given {run['got']}"


def _do(driver, request):
    return driver.run(plan_for(driver, request))
