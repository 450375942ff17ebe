"""Opens what lives as long as the worker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from oxmill.worker.middleware import Lifespan


@asynccontextmanager
async def living(lifespan: Lifespan | None) -> AsyncIterator[Any]:
    """Enter the lifespan, if there is one, and leave it in the end."""
    if lifespan is None:
        yield None
        return
    manager = lifespan()
    if isinstance(manager, AbstractAsyncContextManager):
        async with manager as resources:
            yield resources
    else:
        with manager as resources:
            yield resources
