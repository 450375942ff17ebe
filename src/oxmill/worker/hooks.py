"""Calls the middleware around one run."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final

from oxmill.model.settlement import Settlement
from oxmill.queue.context import Context
from oxmill.worker.middleware import Middleware

_LOG: Final = logging.getLogger("oxmill.worker")


async def with_hooks(
    middleware: Sequence[Middleware], context: Context, call: Callable[[], Awaitable[Any]]
) -> Any:
    """Run the task with all hooks around it, the first middleware outermost."""
    async with AsyncExitStack() as stack:
        for each in middleware:
            around = each.around(context)
            if around is not None:
                await stack.enter_async_context(around)
            await each.before_run(context)
        try:
            value = await call()
        except BaseException as error:
            for each in reversed(middleware):
                await _told(each.on_error(context, error))
            raise
        seen = None if isinstance(value, Settlement) else value
        for each in reversed(middleware):
            await _told(each.after_run(context, seen))
    return value


async def _told(hook: Awaitable[None]) -> None:
    try:
        await hook
    except Exception:  # noqa: BLE001 - the run is over, whatever its watchers do
        _LOG.exception("a middleware hook raised after the run; the outcome stays as it is")
