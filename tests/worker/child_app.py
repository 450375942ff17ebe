"""An app whose tasks run in child processes. Imported by the test, by the worker and by children."""

import asyncio
import os
import signal
import time

from oxmill.model.failed import Failed
from oxmill.model.outcome import RateLimited, Retry, Snooze
from oxmill.queue.client import Client
from oxmill.queue.context import current
from oxmill.queue.declaring import Declaring
from oxmill.queue.ids import IdSource
from oxmill.queue.options import TaskOptions
from oxmill.queue.spawning import Spawn


def no_store():
    raise AssertionError("a child process needs no store")


app = Declaring(Client(no_store, IdSource()), TaskOptions())
once = Retry(1)


@app.task(pool="process")
def where(n: int) -> list[int]:
    print("noise on standard output")
    return [os.getpid(), n]


@app.task(pool="process")
async def awaited(n: int) -> int:
    await asyncio.sleep(0)
    return current().attempt + n


@app.task(pool="process", retry=Retry(2, base=0))
def fail():
    raise ValueError("in the child")


@app.task(pool="process", retry=Retry(5, base=0, give_up_on=(KeyError,)))
def give_up():
    raise KeyError("gone")


@app.task(pool="process")
def snooze() -> int:
    if current().attempt == 1:
        raise Snooze(0.01)
    return current().attempt


@app.task(pool="process", queue="limited")
def limited() -> int:
    if current().attempt == 1:
        raise RateLimited(0.05, scope="queue")
    return current().attempt


@app.task(pool="process", retry=once)
def crash():
    os.kill(os.getpid(), signal.SIGSEGV)


@app.task(pool="process", retry=once, timeout=0.3)
def hang():
    while True:
        time.sleep(60)


@app.task(pool="process")
def busy(path: str):
    with open(path, "w") as file:  # noqa: PTH123 - the parent waits for this
        file.write(str(os.getpid()))
    while True:
        pass


@app.task(pool="process", retry=once)
def eat() -> int:
    return len(b"x" * (2 * 1024**3))


@app.task(pool="process")
def pages(path: str) -> int:
    if current().cursor is None:
        current().save(41)
        with open(path, "w") as file:  # noqa: PTH123
            file.write(str(os.getpid()))
        time.sleep(60)
    return current().cursor + 1


@app.task(pool="process", retry=once)
def part(n: int) -> list[int]:
    if n < 0:
        raise ValueError(n)
    return [os.getpid(), n]


@app.task(pool="process", retry=once)
def whole(numbers: list[int], label: str) -> list:
    current().save(label.upper())
    raise Spawn([part.bind(n) for n in numbers], then=put_together, on_failure="collect")


@whole.continuation
def put_together(results: list[list[int] | Failed], label: str) -> list:
    found = [each[1] if each else each.error_type for each in results]
    return [os.getpid(), label, current().cursor, len(found), found[:3]]


@app.task(pool="process", retry=once)
def add(lists: list[list[int]], label: str) -> list:
    return [os.getpid(), label, sum(each[1] for each in lists)]


@app.step(pool="process")
def double(n: int) -> dict[str, int]:
    return {"n": n * 2, "pid": os.getpid()}


@app.task
async def fast(n: int) -> int:
    return n


@app.task(pool="process", retry=once)
def crowd(n: int) -> int:
    raise Spawn([fast.bind(each) for each in range(n)], then=total)


@crowd.continuation
def total(results: list[int]) -> int:
    return sum(results)
