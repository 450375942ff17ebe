"""Jobs added to a pipeline of the caller's: enqueued when it is executed, never if it is not.

A pipeline gives no answers before its end, so only enqueues can be added, and what the store thinks
of a taken id or key is only told in the pipeline's own replies. Nothing is made twice all the same.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar, cast
from weakref import WeakSet

from oxmill.drivers.redis.faults import FAULTS, unreachable
from oxmill.drivers.redis.installing import RedisInstalling
from oxmill.drivers.redis.keys import keys_of
from oxmill.drivers.redis.script import ENQUEUE, Call
from oxmill.drivers.redis.space import Space
from oxmill.drivers.redis.transport import RedisTransport
from oxmill.errors import NoTransaction, OtherDatabase, WrongConnection, WrongContext
from oxmill.model.job import Enqueue, Enqueued, Verdict
from oxmill.model.state import State
from oxmill.store.plan import Plan, Steps
from oxmill.store.roles.installing import Migrate

T = TypeVar("T")

_BLOCKING: Final = "redis.client"
_ASYNC: Final = "redis.asyncio.client"


class RedisBorrowing:
    """Adds enqueues to pipelines of redis-py, on a store of one shard on one server."""

    def __init__(
        self, space: Space, transport: RedisTransport, installing: RedisInstalling
    ) -> None:
        self._space = space
        self._transport = transport
        self._installing = installing
        self._proved: WeakSet[Any] = WeakSet()
        """Pools of connections that were found to lead to the store."""

    def knows(self, connection: Any) -> bool:
        """Whether this is a pipeline."""
        return self._home(connection) is not None

    def run(self, connection: Any, plan: Plan[T], *, ring: bool) -> T:  # noqa: ARG002 - it rings itself
        """Add an enqueue to a pipeline. The answer is what will be, unless an id or key is taken."""
        if self._home(connection) == _ASYNC:
            raise WrongContext(
                "an async pipeline cannot be used by a blocking call; use the async form, such as "
                "`await task.using(connection=pipeline).aenqueue(...)`"
            )
        call = self._call(connection, plan)
        pool = connection.connection_pool
        if pool not in self._proved:
            from redis import Redis  # noqa: PLC0415 - the caller has imported it

            ((here,),) = self._transport.run(self._identity)
            try:
                there = Redis(connection_pool=pool).hget(self._tag, "identity")
            except FAULTS as fault:
                raise unreachable(self._transport.shown, fault) from fault
            self._prove(pool, here, there)
        return self._added(connection, call, plan)

    async def arun(self, connection: Any, plan: Plan[T], *, ring: bool) -> T:
        """The same on an async pipeline."""
        if self._home(connection) == _BLOCKING:
            return self.run(connection, plan, ring=ring)
        call = self._call(connection, plan)
        pool = connection.connection_pool
        if pool not in self._proved:
            from redis.asyncio import Redis  # noqa: PLC0415 - as above

            ((here,),) = await self._transport.arun(self._identity)
            try:
                there = await Redis(connection_pool=pool).hget(self._tag, "identity")
            except FAULTS as fault:
                raise unreachable(self._transport.shown, fault) from fault
            self._prove(pool, here, there)
        return self._added(connection, call, plan)

    @property
    def _identity(self) -> Plan[tuple[Any, ...]]:
        """What tells the store from others; only one that has been installed has that."""

        def steps() -> Steps[tuple[Any, ...]]:
            yield from self._installing.migrate(Migrate()).start()
            return (yield from self._space.root("identity"))

        return Plan("identity", None, steps)

    @property
    def _tag(self) -> str:
        return keys_of(self._space.namespace, 0)[0]

    def _home(self, connection: Any) -> str | None:
        """The module of the kind of pipeline it is, if it is one."""
        for kind in type(connection).__mro__:
            if kind.__name__ == "Pipeline" and kind.__module__ in (_BLOCKING, _ASYNC):
                return str(kind.__module__)
        return None

    def _call(self, connection: Any, plan: Plan[T]) -> Call:
        """The one call that the plan makes."""
        if connection.watching and not connection.explicit_transaction:
            raise NoTransaction(
                "the pipeline watches keys and sends each command at once; call its multi() first"
            )
        step = next(plan.start(), None) if isinstance(plan.request, Enqueue) else None
        if not isinstance(step, Call) or step.script is not ENQUEUE or self._space.shards > 1:
            raise WrongConnection(
                "a pipeline takes only enqueues of a store with one shard, because it gives no "
                "answers before it is executed; do this outside of it"
            )
        return step

    def _prove(self, pool: Any, here: bytes, there: bytes | str | None) -> None:
        if (there.encode() if isinstance(there, str) else there) != here:
            raise OtherDatabase(
                "the jobs are not in the database of this pipeline, so it cannot hold them"
            )
        self._proved.add(pool)

    def _added(self, connection: Any, call: Call, plan: Plan[T]) -> T:
        keys = keys_of(self._space.namespace, call.shard)
        # Not by its digest: a server that has forgotten the script would fail in mid-transaction.
        connection.execute_command("EVAL", call.script.text, len(keys), *keys, *call.args)
        jobs = cast("Enqueue", plan.request).jobs
        return cast(
            "T", tuple([_expected(job.id, later=bool(job.delay or job.run_at)) for job in jobs])
        )


def _expected(job_id: str, *, later: bool) -> Enqueued:
    state = State.SCHEDULED if later else State.WAITING
    return Enqueued(id=job_id, verdict=Verdict.CREATED, state=state)
