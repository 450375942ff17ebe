"""A worker, a schedule and sample jobs on a SQLite file, for about five seconds.

    make demo

Everything runs in this one process: no server, nothing to set up. On a terminal the last line shows
the state of the queues as it changes.
"""

import asyncio
import logging
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from oxmill import App, JobFailed, Retry
from oxmill.observe.events import RunEnded, RunFailed, TickFired

FOLDER = Path(tempfile.mkdtemp(prefix="oxmill-demo-"))
app = App(f"sqlite:///{FOLDER}/jobs.db")
tries: Counter[str] = Counter()


@app.task
def resize(picture: str) -> str:
    """A plain function: runs in a thread."""
    time.sleep(0.1)
    return f"small-{picture}"


@app.task
async def fetch(url: str) -> int:
    """A coroutine function: runs on the event loop."""
    await asyncio.sleep(0.1)
    return len(url)


@app.task(retry=Retry(5, base="300ms"))
def flaky(order: int) -> str:
    """Fails twice, then works."""
    tries["flaky"] += 1
    if tries["flaky"] < 3:
        raise ConnectionError("the bank does not answer")
    return f"order {order} is paid"


@app.task(retry=Retry(2, base="200ms"))
def doomed() -> None:
    """Fails for good."""
    raise ValueError("no such user")


@app.task(unique=True, queue="mail")
async def newsletter(issue: int) -> str:
    """However often it is enqueued, one job stands for all."""
    return f"issue {issue} is sent"


@app.every("1s")
@app.task(queue="ticks")
def heartbeat() -> None:
    """On a schedule: a tick makes at most one job."""


class Screen:
    """Tells what happens, a line each; on a terminal with a line of counts below."""

    def __init__(self):
        self.names: dict[str, str] = {}
        self.live = sys.stdout.isatty()
        self.start = time.monotonic()

    def tell(self, text):
        clear = "\r\x1b[K" if self.live else ""
        print(f"{clear}{time.monotonic() - self.start:5.2f}s  {text}", flush=True)

    def ended(self, event):
        name = self.names.get(event.job, "heartbeat")
        self.tell(f"{name:<28} {event.outcome}, attempt {event.attempt}")

    def failed(self, event):
        name = self.names[event.job]
        self.tell(f"{name:<28} {event.error} in attempt {event.attempt}: {event.outcome}")

    def ticked(self, event):
        self.tell(f"{event.schedule:<28} tick")

    def counts(self):
        if self.live:
            total = sum((Counter(queue.counts) for queue in app.queues()), Counter())
            print("\r\x1b[K  " + "  ".join(f"{n} {state}" for state, n in total.items()), end="")


def enqueue_samples():
    """Jobs of every kind, by what to call them, before any worker runs."""
    jobs = {f"resize {n}.png": resize.enqueue(f"{n}.png") for n in range(6)}
    pages = app.enqueue_many(fetch.bind(f"https://example.org/{n}") for n in range(10))
    jobs |= {f"fetch /{n}": job for n, job in enumerate(pages)}
    jobs["resize, urgent"] = resize.using(priority=-10).enqueue("urgent.png")
    jobs["fetch, in 2 s"] = fetch.using(delay="2s").enqueue("https://example.org/later")
    jobs["newsletter"] = newsletter.enqueue(7)
    assert newsletter.enqueue(7) == jobs["newsletter"]
    jobs["flaky"] = flaky.enqueue(4711)
    jobs["doomed"] = doomed.enqueue()
    return jobs


def main():
    logging.getLogger("oxmill").addHandler(logging.NullHandler())  # the screen tells it all
    screen = Screen()
    jobs = enqueue_samples()
    screen.names = {job.id: name for name, job in jobs.items()}
    screen.tell(f"{len(jobs)} jobs are in {app.driver.url}; a worker with 4 slots starts")
    with app.running(slots=4) as worker:
        for listener, kind in (
            (screen.ended, RunEnded),
            (screen.failed, RunFailed),
            (screen.ticked, TickFired),
        ):
            worker.bus.subscribe(listener, kind)
        while any(job.refresh().state not in ("succeeded", "failed") for job in jobs.values()):
            screen.counts()
            if time.monotonic() - screen.start > 60:
                sys.exit("the jobs did not end within a minute; try: oxmill doctor")
            time.sleep(0.1)
        assert jobs["flaky"].result() == "order 4711 is paid"
        assert jobs["resize, urgent"].result() == "small-urgent.png"
        try:
            jobs["doomed"].result()
        except JobFailed as error:
            screen.tell(f"as it should: {error}")
    summary(screen)


def summary(screen):
    totals = sum((Counter(queue.totals) for queue in app.queues()), Counter())
    screen.tell("done")
    print()
    for state, number in totals.items():
        print(f"  {number:>4} {state}")
    print(
        "\nThe urgent job was enqueued last and stood first in line. One newsletter stands for two enqueues."
    )
    print("The flaky job worked at its third attempt; the doomed one failed for good.")
    print("The jobs are kept. Look at them:")
    for command in ("status", "jobs list -s failed", "cron list"):
        print(f"  .venv/bin/oxmill {command} --url sqlite:///{FOLDER}/jobs.db")
    app.close()


if __name__ == "__main__":
    main()
