"""`oxmill bench`: a small measurement of one store, with the real worker."""

from __future__ import annotations

import logging
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from oxmill.cli.framework import Group
from oxmill.cli.output import Record, pairs, say, show_one
from oxmill.cli.session import Session
from oxmill.rules.duration import spell

QUEUE = "oxmill-bench"
"""The queue of all measurements. Its jobs are deleted at their end."""

command = Group("bench", help="Measure enqueueing, draining and latency on a store.")

_jobs = click.option("--jobs", default=10_000, type=click.IntRange(1), help="How many.")
_slots = click.option("-n", "--slots", default=100, type=click.IntRange(1), help="Jobs at once.")


class Meter:
    """Notes when runs begin; runs come from one event loop."""

    def __init__(self) -> None:
        self.first = self.last = 0.0
        self.count = 0
        self.rung = threading.Event()

    def note(self) -> None:
        """A run has begun."""
        self.last = time.perf_counter()
        self.first = self.first or self.last
        self.count += 1
        self.rung.set()


@command.command(
    examples=("oxmill bench enqueue", "oxmill bench enqueue --url sqlite:///bench.db --batch 100")
)
@_jobs
@click.option("--batch", default=1, type=click.IntRange(1, 10_000), help="Jobs per call.")
@click.pass_obj
def enqueue(session: Session, *, jobs: int, batch: int) -> None:
    """Measure how fast one caller enqueues, one call after the other."""
    with _bench(session) as (app, _meter, noop):
        taken: list[float] = []
        start = time.perf_counter()
        for done in range(0, jobs, batch):
            began = time.perf_counter()
            app.load(noop.bind() for _ in range(min(batch, jobs - done)))
            taken.append(time.perf_counter() - began)
        elapsed = time.perf_counter() - start
    _tell(session, "enqueue", jobs, {"per_second": jobs / elapsed, **_quantiles(taken)})


@command.command(
    examples=("oxmill bench drain", "oxmill bench drain --url sqlite:///bench.db --jobs 100000")
)
@_jobs
@_slots
@click.pass_obj
def drain(session: Session, *, jobs: int, slots: int) -> None:
    """Measure how fast one worker process runs jobs that do nothing."""
    with _bench(session) as (app, meter, noop):
        say(f"enqueueing {jobs:,} jobs ...", tone="dim")
        app.load(noop.bind() for _ in range(jobs))
        start = time.perf_counter()
        app.worker(queues=[QUEUE], slots=slots, drain=True).run()
        elapsed = time.perf_counter() - start
        figures = {"per_second": meter.count / elapsed, "seconds": elapsed}
    _tell(session, "drain", meter.count, figures)


@command.command(
    examples=("oxmill bench latency", "oxmill bench latency --url sqlite:///bench.db --jobs 1000")
)
@click.option("--jobs", default=200, type=click.IntRange(1), help="How many.")
@click.pass_obj
def latency(session: Session, *, jobs: int) -> None:
    """Measure the time from an enqueue to the start of its run, on an idle worker."""
    with _bench(session) as (app, meter, noop), app.running(queues=[QUEUE]):
        taken: list[float] = []
        for number in range(jobs + 1):
            meter.rung.clear()
            start = time.perf_counter()
            noop.enqueue()
            if not meter.rung.wait(30):
                raise click.ClickException("a job was not started within 30 s; try: oxmill doctor")
            if number:  # the first one warms everything up
                taken.append(meter.last - start)
    _tell(session, "latency", jobs, _quantiles(taken))


@contextmanager
def _bench(session: Session) -> Iterator[tuple[Any, Meter, Any]]:
    """An app with one task that does nothing, on the store named, else on a file of its own."""
    from oxmill.app import App  # noqa: PLC0415 (slow to import)

    logging.getLogger("oxmill").setLevel(logging.WARNING)
    meter = Meter()
    with tempfile.TemporaryDirectory(prefix="oxmill-bench-") as folder:
        app = App(session.url or f"sqlite:///{folder}/bench.db")

        @app.task(name="oxmill.bench:noop", queue=QUEUE, keep=0)
        async def noop() -> None:
            meter.note()

        with app:
            app.control.purge(queue=QUEUE)
            try:
                yield app, meter, noop
            finally:
                app.control.purge(queue=QUEUE)


def _quantiles(taken: Sequence[float]) -> dict[str, float]:
    ranked = sorted(taken)
    last = len(ranked) - 1
    return {
        "p50_seconds": ranked[last // 2],
        "p99_seconds": ranked[last * 99 // 100],
        "max_seconds": ranked[last],
    }


def _tell(session: Session, what: str, jobs: int, figures: dict[str, float]) -> None:
    record: Record = {"bench": what, "jobs": jobs, **figures}

    def lines() -> str:
        rows = [("jobs", f"{jobs:,}")]
        for name, value in figures.items():
            if name == "per_second":
                rows.append(("jobs/s", f"{value:,.0f}"))
            else:
                rows.append((name.removesuffix("_seconds"), spell(round(value * 1e6))))
        return pairs(rows)

    show_one(record, lines, session.output)
