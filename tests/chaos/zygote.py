"""Makes processes that are killed: `python -m chaos.zygote`. It has imported everything once, so that
each of them starts in no time; a line names what it does, and its exit code comes back."""

import importlib
import json
import os
import signal
import sys
import traceback
from contextlib import suppress

from .flow_scenes import BY_NAME
from .flow_stage import open_store
from .striking import struck

PARTS = ("worker.worker", "queue.draft", "queue.pipeline", "queue.step", "queue.graph")
CLIENTS = ("uvloop", "psycopg", "redis")


def act(store, scene, name, folder, aim):
    """What a process does that does not come back."""
    driver = struck(open_store(store), lambda: os.kill(os.getpid(), signal.SIGKILL))
    playing = BY_NAME[scene](driver, name, folder)
    with playing.app._client.lend(driver):
        driver.transport.aim(aim)
        playing.act()


def main():
    for name in (*(f"oxmill.{part}" for part in PARTS), *CLIENTS):
        with suppress(ImportError):
            importlib.import_module(name)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            try:
                act(**json.loads(line))
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
