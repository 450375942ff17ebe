"""What a worker says about itself when it starts."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version
from typing import Final

from oxmill.rules.duration import spell
from oxmill.store.driver import Driver
from oxmill.worker.config import WorkerConfig

_LOG: Final = logging.getLogger("oxmill.worker")
_SHOWN: Final = 8


@cache
def version() -> str:
    """The version of Oxmill that is installed."""
    try:
        return installed_version("oxmill")
    except PackageNotFoundError:
        return "unknown"


def announce(
    driver: Driver,
    config: WorkerConfig,
    queues: Sequence[str],
    tasks: Sequence[str],
    schedules: Sequence[str],
) -> None:
    """Five lines: store, queues and slots, tasks, schedules, how to stop."""
    for line in (
        f"store      {driver.url}",
        f"queues     {', '.join(queues)} ({config.slots} slots)",
        f"tasks      {_some(tasks)}",
        f"schedules  {_some(schedules)}",
        f"stop       Ctrl-C or SIGTERM: drains for {spell(config.grace)}, then releases; twice: now",
    ):
        _LOG.info(line)


def _some(names: Sequence[str]) -> str:
    if not names:
        return "none"
    shown = ", ".join(names[:_SHOWN])
    rest = len(names) - _SHOWN
    return f"{len(names)}: {shown}" + (f" and {rest} more" if rest > 0 else "")
