"""A worker in a process of its own whose job commits, says so, and waits to be killed."""

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from oxmill import App, current

FOLDER = Path(os.environ["TX_FOLDER"])
WHERE = os.environ["TX_WHERE"]
app = App(f"sqlite:///{FOLDER}/shop.db")


@app.task(pool="process" if WHERE == "child" else "thread")
def bill(name: str) -> None:
    with closing(sqlite3.connect(FOLDER / "shop.db")) as connection:
        connection.execute("INSERT INTO orders VALUES (?)", (name,))
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
