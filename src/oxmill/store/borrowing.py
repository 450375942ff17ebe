"""How plans are performed inside a transaction of the caller's."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from oxmill.store.plan import Plan

T = TypeVar("T")


class Borrowing(Protocol):
    """Performs plans on connections that belong to the caller, as part of the transaction that is
    open there: what the caller rolls back was never done.

    A plan that fails leaves nothing behind and the caller's transaction as it was. Settings of the
    connection neither disturb the plan nor are they different afterwards. Nothing is committed.
    """

    def knows(self, connection: Any, /) -> bool:
        """Whether this is a connection of a client library for this kind of database. It may lead
        to another one of that kind. Does no I/O."""
        ...

    def run(self, connection: Any, plan: Plan[T], *, ring: bool) -> T:
        """Perform a plan in the open transaction and give its answer.

        `OtherDatabase` unless the very database of the store answers on this connection.
        `NoTransaction` if none is open, unless the client library would open one by itself. With
        `ring`, listeners are woken by the commit, where the database can carry that.
        """
        ...

    async def arun(self, connection: Any, plan: Plan[T], *, ring: bool) -> T:
        """The same on an async connection, without blocking the event loop; a blocking connection
        blocks here too."""
        ...
