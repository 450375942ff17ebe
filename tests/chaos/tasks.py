"""Tasks that are killed, frozen and starved. Imported by worker processes and by their children."""

import asyncio
import json
import os
import signal
import time
from pathlib import Path

from oxmill.connect import connect
from oxmill.queue.client import Client
from oxmill.queue.context import current
from oxmill.queue.declaring import Declaring
from oxmill.queue.ids import IdSource
from oxmill.queue.options import TaskOptions
from oxmill.queue.spawning import Spawn

app = Declaring(
    Client(lambda: connect(**json.loads(os.environ["CHAOS_STORE"])), IdSource()),
    TaskOptions(crash_limit=3),
)


def note(folder):
    """Leave a trace of this run: one line per run, written at once."""
    with (Path(folder) / "runs").open("a") as file:
        file.write(f"{os.getpid()} {current().attempt}\n")


def wait_for(path, seconds=30.0):
    end = time.monotonic() + seconds
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.01)


@app.task(name="hold")
def hold(folder: str) -> int:
    """Runs until the file `go` is there."""
    note(folder)
    wait_for(Path(folder) / "go")
    return os.getpid()


@app.task(name="compute")
async def compute(folder: str, seconds: float) -> int:
    """Holds the event loop, and the interpreter, for that long."""
    note(folder)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    return current().attempt


@app.task(name="die")
async def die(folder: str):
    """Takes its worker with it."""
    note(folder)
    os.kill(os.getpid(), signal.SIGKILL)


@app.task(name="hold_in_child", pool="process")
def hold_in_child(folder: str) -> int:
    """The same as `hold`, in a child process."""
    note(folder)
    wait_for(Path(folder) / "go")
    return os.getpid()


@app.task(name="sleep_in_thread")
async def sleep_in_thread(folder: str):
    """Waits for a thread that nothing can stop, and that the interpreter would wait for."""
    note(folder)
    await asyncio.to_thread(time.sleep, 60)


@app.task(name="quick")
async def quick() -> int:
    """Gives the worker's pid."""
    return os.getpid()


@app.task(name="child")
async def child(folder: str, n: int) -> int:
    """One of many, which leaves its number behind."""
    with (Path(folder) / "children").open("a") as file:
        file.write(f"{n}\n")
    return n


@app.task(name="parent")
async def parent(folder: str, n: int) -> int:
    """Spawns children and adds up what they give."""
    note(folder)
    raise Spawn([child.bind(folder, each) for each in range(n)], then=add_up)


@parent.continuation
async def add_up(results: list[int], folder: str, n: int) -> int:
    note(folder)
    assert results == list(range(n))
    return sum(results)
