"""A worker process: `python -m chaos.serve OPTIONS`, options as JSON."""

import json
import logging
import os
import signal
import sys

from oxmill.observe.log import set_up_logging
from oxmill.worker.config import worker_config
from oxmill.worker.worker import Worker

from .striking import struck
from .tasks import app


def main():
    set_up_logging("json", logging.INFO)
    options = json.loads(sys.argv[1])
    driver = app._client.driver
    if kill := options.pop("kill", None):
        driver = struck(driver, lambda: os.kill(os.getpid(), signal.SIGKILL))
        driver.transport.aim(kill)
    worker = Worker(driver, app.registry, worker_config(**options), app_spec="chaos.tasks:app")
    code = worker.run()
    driver.close()
    return code


sys.exit(main())
