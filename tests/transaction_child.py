"""A worker in a process of its own whose job commits, says so, and waits to be killed.

`TX_CONNECT` is how the job connects to the database of `TX_URL`, which also holds the jobs.
"""

import os
import time
from contextlib import closing
from importlib import import_module
from pathlib import Path

from oxmill import App, current

FOLDER = Path(os.environ["TX_FOLDER"])
WHERE = os.environ["TX_WHERE"]
LIBRARY, _, CALL = os.environ["TX_CONNECT"].partition(".")
app = App(os.environ["TX_URL"], mode="volatile")  # a server of tests is not safe to work on


def connect():
    return eval(f"library.{CALL}", {"library": import_module(LIBRARY)})


@app.task(pool="process" if WHERE == "child" else "thread")
def bill(name: str) -> None:
    with closing(connect()) as connection:
        connection.cursor().execute(f"INSERT INTO orders VALUES ('{name}')")
        current().complete_in(connection)
        connection.commit()
    told = FOLDER / "committed.part"
    told.write_text(str(os.getpid()))
    told.rename(FOLDER / "committed")
    time.sleep(60)


if __name__ == "__main__":
    bill.enqueue("one")
    with app.running(lease="1s") as worker:
        while not worker.metrics.settled:
            time.sleep(0.01)
        assert worker.metrics.leases_lost == 0
        (FOLDER / "idle").touch()
        time.sleep(60)
