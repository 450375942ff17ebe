"""A plain work queue: one process adds pictures, two others work them off, one of them dies.

No tasks and no worker, only bytes and leases. The item of the process that dies is leased again when
its lease has run out, and nobody's work is counted twice.
"""

import multiprocessing
import os
import tempfile
from pathlib import Path

from oxmill import App


def work(store: str, dies: bool) -> None:
    """Lease, work, complete, until nothing comes any more."""
    queue = App(store).queue("pictures")
    while lease := queue.lease("1s", wait="3s"):
        if dies:
            os._exit(1)  # no goodbye: as if the power had gone
        with lease:
            print(f"process {os.getpid()} made {lease.data.decode()} (lease {lease.token.attempt})")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = f"sqlite:///{Path(folder) / 'jobs.db'}"
        app = App(store)
        queue = app.queue("pictures")
        queue.add_many(f"{n}.png".encode() for n in range(8))
        assert queue.add(b"cover.png", id="cover", priority=-1)
        assert not queue.add(b"cover.png", id="cover")  # any string is an id; once is enough

        context = multiprocessing.get_context("spawn")
        workers = [context.Process(target=work, args=(store, dies)) for dies in (True, False)]
        for process in workers:
            process.start()
        for process in workers:
            process.join()

        assert queue.counts() == {"succeeded": 9}
        print("9 pictures, each made once")
        app.close()


if __name__ == "__main__":
    main()
