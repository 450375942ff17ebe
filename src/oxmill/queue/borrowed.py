"""Plans performed in a transaction of the caller's, or once it is committed.

Where the caller's database is the store, jobs are written by the caller's own transaction. Where it
is not, they are enqueued right after the commit, if somebody tells of it; a crash just between the
two loses them.
"""

from __future__ import annotations

import logging
from typing import Any, Final, TypeVar, cast

from oxmill.errors import OtherDatabase
from oxmill.model.job import Enqueue, Enqueued, NewJob, Verdict
from oxmill.model.settlement import Ruling, Settle, Settled
from oxmill.model.state import State
from oxmill.queue.owners import ASYNC, PlainOwner, alchemy_names, known, owner_of
from oxmill.queue.talk import Talk, ahold, hold
from oxmill.queue.trying import try_again
from oxmill.store.driver import Driver
from oxmill.store.plan import Plan

T = TypeVar("T")

_LOG: Final = logging.getLogger("oxmill.queue")
_REFUSED: Final = frozenset({Verdict.CONFLICT, Verdict.ID_CONFLICT})


class Borrowed:
    """The caller's connection as a place where plans are performed."""

    def __init__(self, driver: Driver, connection: Any) -> None:
        self._driver = driver
        self._connection = connection

    def run(self, plan: Plan[T]) -> T:
        """Perform a plan in the caller's transaction, or keep an enqueue until its commit."""
        driver = self._driver
        owner = owner_of(self._connection)
        try:
            answer = owner.run(driver.borrowing, plan)
        except OtherDatabase as error:
            able = isinstance(plan.request, Enqueue) or driver.stands_in
            if owner.tells and able:
                owner.after_commit(Later(driver, plan))
                return cast("T", _expected(plan.request))
            if driver.stands_in:
                return driver.run(plan)
            raise _explained(error, driver, plan) from error
        if owner.tells:
            owner.after_commit(Ring(driver, plan, answer))
        return answer

    async def arun(self, plan: Plan[T]) -> T:
        """The same; an async connection does not block the event loop, a blocking one does."""
        driver, connection = self._driver, self._connection
        if alchemy_names(connection) & ASYNC:
            answer: T = await connection.run_sync(lambda inner: Borrowed(driver, inner).run(plan))
            return answer
        if not isinstance(owner_of(connection), PlainOwner):
            return self.run(plan)
        try:
            return await known(driver.borrowing, connection).arun(connection, plan, ring=True)
        except OtherDatabase as error:
            if driver.stands_in:
                return await driver.arun(plan)
            raise _explained(error, driver, plan) from error


class Ring:
    """Wakes whoever waits for what the transaction has brought."""

    def __init__(self, driver: Driver, plan: Plan[T], answer: T) -> None:
        self._driver = driver
        self._plan = plan
        self._answer = answer

    def run(self) -> None:
        """Ring."""
        if self._driver.doorbell.listened():
            self._driver.ring_for(self._plan, self._answer)

    async def arun(self) -> None:
        """Ring."""
        self.run()


class Later:
    """Enqueues jobs after the commit, or ends one in a test. Whatever goes wrong then is told in the
    log, with the ids: to raise it would look as if the commit had failed."""

    def __init__(self, driver: Driver, plan: Plan[Any]) -> None:
        self._driver = driver
        self._plan = plan

    def run(self) -> None:
        """Do it."""
        try:
            hold(self._driver, self._perform())
        except Exception:  # noqa: BLE001 - see above
            self._log_loss()

    async def arun(self) -> None:
        """The same without blocking the event loop."""
        try:
            await ahold(self._driver, self._perform())
        except Exception:  # noqa: BLE001 - see above
            self._log_loss()

    def _perform(self) -> Talk[None]:
        answers, _ = yield from try_again(self._plan)
        if not isinstance(self._plan.request, Enqueue):
            return
        refused = [answer.id for answer in answers if answer.verdict in _REFUSED]
        if refused:
            _LOG.error(
                "the transaction was committed, but its jobs were not enqueued: %s is in the way, "
                "by its id or its unique key",
                ", ".join(refused),
            )

    def _log_loss(self) -> None:
        jobs = self._plan.request.jobs if isinstance(self._plan.request, Enqueue) else ()
        _LOG.exception(
            "the transaction was committed, but the store did not take its jobs: %s. Enqueue them "
            "again",
            ", ".join(f"{job.id} ({job.task})" for job in jobs),
        )


def _expected(request: object) -> tuple[Enqueued | Settled, ...]:
    """The answers to expect after the commit."""
    match request:
        case Settle(items=items):
            return tuple(Settled(id=each.id, ruling=Ruling.WON, state=None) for each in items)
        case Enqueue(jobs=jobs):
            return tuple(_created(job) for job in jobs)
        case _:
            raise TypeError(f"{request!r} is not for transactions")


def _created(job: NewJob) -> Enqueued:
    """What will be there after the commit, unless a unique key or an id is taken."""
    later = job.delay or job.run_at is not None
    state = State.HELD if job.after else State.SCHEDULED if later else State.WAITING
    return Enqueued(id=job.id, verdict=Verdict.CREATED, state=state)


def _explained(error: OtherDatabase, driver: Driver, plan: Plan[Any]) -> OtherDatabase:
    if isinstance(plan.request, Enqueue):
        way = (
            "enqueue without connection= after your commit, or give a SQLAlchemy session or a "
            "Django connection: they tell when they commit, and the jobs are enqueued then"
        )
    else:
        way = "complete_in needs a connection to the store itself; let the run end instead"
    return OtherDatabase(f"{error}; the store is {driver.url}. Do this: {way}")
