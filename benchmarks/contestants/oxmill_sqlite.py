"""Oxmill on a SQLite file, with its default durable settings."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.contestant import Contestant, main
from oxmill import App
from oxmill.model.info import ListQueues
from oxmill.model.state import State

TEXT = "x" * 89
SLOTS = 200


def make_app(
    folder: Path, *, keep: float | None = 0, url: str | None = None
) -> tuple[App, Any, Any]:
    app = App(url or f"sqlite:///{folder / 'oxmill.db'}")

    @app.task(name="noop", keep=keep) if keep is not None else app.task(name="noop")
    async def noop(text: str) -> None:
        return None

    @app.task(name="noop_thread", keep=keep) if keep is not None else app.task(name="noop_thread")
    def noop_thread(text: str) -> None:
        return None

    return app, noop, noop_thread


def enqueue_one(folder: Path, jobs: int) -> dict[str, float]:
    app, noop, _ = make_app(folder)
    noop.enqueue(TEXT)
    start = time.perf_counter()
    for _ in range(jobs):
        noop.enqueue(TEXT)
    rate = jobs / (time.perf_counter() - start)
    app.close()
    return {"rate": rate}


def enqueue_one_async(folder: Path, jobs: int) -> dict[str, float]:
    app, noop, _ = make_app(folder)

    async def work() -> float:
        await noop.aenqueue(TEXT)
        start = time.perf_counter()
        for _ in range(jobs):
            await noop.aenqueue(TEXT)
        return jobs / (time.perf_counter() - start)

    rate = asyncio.run(work())
    app.close()
    return {"rate": rate}


def enqueue_concurrent(folder: Path, jobs: int) -> dict[str, float]:
    app, noop, _ = make_app(folder)

    async def caller(count: int) -> None:
        for _ in range(count):
            await noop.aenqueue(TEXT)

    async def work() -> float:
        await noop.aenqueue(TEXT)
        start = time.perf_counter()
        await asyncio.gather(*(caller(jobs // 100) for _ in range(100)))
        return jobs / (time.perf_counter() - start)

    rate = asyncio.run(work())
    app.close()
    return {"rate": rate}


def enqueue_bulk(folder: Path, jobs: int) -> dict[str, float]:
    app, noop, _ = make_app(folder)
    noop.enqueue(TEXT)
    start = time.perf_counter()
    made = app.enqueue_many(noop.bind(TEXT) for _ in range(jobs))
    rate = jobs / (time.perf_counter() - start)
    if len(made) != jobs:
        raise SystemExit(f"enqueued {len(made)} of {jobs}")
    app.close()
    return {"rate": rate}


def fill(folder: Path, jobs: int) -> None:
    app, noop, _ = make_app(folder)
    app.enqueue_many(noop.bind(TEXT) for _ in range(jobs))
    app.close()


def fill_kept(folder: Path, jobs: int) -> None:
    app, noop, _ = make_app(folder, keep=None)
    app.enqueue_many(noop.bind(TEXT) for _ in range(jobs))
    app.close()


def fill_threads(folder: Path, jobs: int) -> None:
    app, _, noop_thread = make_app(folder)
    app.enqueue_many(noop_thread.bind(TEXT) for _ in range(jobs))
    app.close()


def left(app: App) -> int:
    queues = app.driver.run(app.driver.inspecting.queues(ListQueues())).items
    live = (State.WAITING, State.SCHEDULED, State.RUNNING, State.HELD)
    return sum(info.counts.get(state, 0) for info in queues for state in live)


def _drain(folder: Path, jobs: int, **options: Any) -> dict[str, float]:
    app, _, _ = make_app(folder, **options)
    worker = app.worker(slots=SLOTS, drain=True)
    start = time.perf_counter()
    cpu = time.process_time()
    worker.run()
    took, cpu = time.perf_counter() - start, time.process_time() - cpu
    if rest := left(app):
        raise SystemExit(f"{rest} jobs are left")
    app.close()
    return {"rate": jobs / took, "cpu_us": cpu / jobs * 1e6}


def drain(folder: Path, jobs: int) -> dict[str, float]:
    return _drain(folder, jobs)


def drain_kept(folder: Path, jobs: int) -> dict[str, float]:
    return _drain(folder, jobs, keep=None)


def claim_settle(folder: Path, jobs: int) -> dict[str, float]:
    """Settle+claim turns of 100 through the driver alone, on whatever backlog is there."""
    from oxmill.model.claim import Claim
    from oxmill.model.settlement import Outcome, Settle, Settlement
    from oxmill.store.plan import together

    app, _, _ = make_app(folder)
    driver = app.driver
    settlements: tuple[Settlement, ...] = ()
    done = 0
    start = time.perf_counter()
    while done < jobs:
        claim = Claim(queues=("default",), limit=100, lease=60_000_000, worker="bench", nonce=done)
        _, claimed = driver.run(
            together(
                driver.settling.settle(Settle(items=settlements)), driver.claiming.claim(claim)
            )
        )
        settlements = tuple(
            Settlement(id=job.id, token=job.token, outcome=Outcome.COMPLETE) for job in claimed.jobs
        )
        done += len(claimed.jobs)
        if not claimed.jobs:
            raise SystemExit("the backlog ran dry")
    rate = done / (time.perf_counter() - start)
    app.close()
    return {"rate": rate}


LATENCY_WORKER = """
import sys, time
from pathlib import Path
from oxmill import App
app = App(sys.argv[1])
@app.task(name="stamp", keep=0)
async def stamp(sent: float) -> None:
    print(time.monotonic() - sent, flush=True)
app.worker(slots=10).run()
"""


def latency(folder: Path, jobs: int) -> dict[str, float]:
    """Enqueue in this process, start in another that is idle."""
    url = f"sqlite:///{folder / 'oxmill.db'}"
    app = App(url)

    @app.task(name="stamp", keep=0)
    async def stamp(sent: float) -> None:
        return None

    script = folder / "latency_worker.py"
    script.write_text(LATENCY_WORKER)
    worker = subprocess.Popen([sys.executable, str(script), url], stdout=subprocess.PIPE, text=True)
    assert worker.stdout is not None
    seconds: list[float] = []
    try:
        for index in range(jobs + 10):
            stamp.enqueue(time.monotonic())
            took = float(worker.stdout.readline())
            if index >= 10:
                seconds.append(took)
            time.sleep(0.02)
    finally:
        worker.terminate()
        worker.wait(10)
        worker.stdout.close()
    app.close()
    cut = quantiles(seconds, n=100)
    return {"p50_ms": median(seconds) * 1e3, "p99_ms": cut[98] * 1e3}


IDLE_WORKER = """
import resource, sys, threading, time
from oxmill import App
app = App(sys.argv[1])
@app.task(name="noop")
async def noop(text: str) -> None: ...
worker = app.worker(slots=20)
def tell():
    time.sleep(3)
    before, start = time.process_time(), time.perf_counter()
    time.sleep(5)
    share = (time.process_time() - before) / (time.perf_counter() - start)
    rss = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize() / 1e6
    print(share * 100, rss, flush=True)
    worker.stop()
threading.Thread(target=tell, daemon=True).start()
worker.run()
"""


def idle(folder: Path, jobs: int) -> dict[str, float]:
    url = f"sqlite:///{folder / 'oxmill.db'}"
    script = folder / "idle_worker.py"
    script.write_text(IDLE_WORKER)
    done = subprocess.run(
        [sys.executable, str(script), url], capture_output=True, text=True, check=True, timeout=60
    )
    share, rss = map(float, done.stdout.split()[-2:])
    return {"cpu_percent": share, "rss_mb": rss}


def bytes_per_job(folder: Path, jobs: int) -> dict[str, float]:
    fill(folder, jobs)
    connection = sqlite3.connect(folder / "oxmill.db")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return {"bytes": (folder / "oxmill.db").stat().st_size / jobs}


CONTESTANT = Contestant(
    name="Oxmill on SQLite",
    settings=f"durable (WAL, synchronous=FULL), {SLOTS} slots, SQLite {sqlite3.sqlite_version}",
    fill=fill,
    workloads={
        "fill_kept": lambda folder, jobs: fill_kept(folder, jobs) or {},
        "fill_threads": lambda folder, jobs: fill_threads(folder, jobs) or {},
        "enqueue_one": enqueue_one,
        "enqueue_one_async": enqueue_one_async,
        "enqueue_concurrent": enqueue_concurrent,
        "enqueue_bulk": enqueue_bulk,
        "drain": drain,
        "drain_kept": drain_kept,
        "claim_settle": claim_settle,
        "latency": latency,
        "idle": idle,
        "bytes": bytes_per_job,
    },
)

if __name__ == "__main__":
    main(CONTESTANT, sys.argv[1:])
