"""One leased item, for those who run their own workers."""

from __future__ import annotations

import random
from types import TracebackType
from typing import Any, Self

from oxmill.errors import LostLease, OutcomeUnknown
from oxmill.model.claim import Claimed, Hold, Renew, Renewal, Renewed
from oxmill.model.job import LeasedJob
from oxmill.model.outcome import Retry, Signal
from oxmill.model.settlement import Failure, Outcome, Ruling, Settle, Settled, Settlement
from oxmill.model.token import Token
from oxmill.model.value import Micros
from oxmill.queue.client import Client
from oxmill.queue.codec import decode_plain
from oxmill.queue.talk import Talk
from oxmill.rules.backoff import delay_after
from oxmill.rules.duration import Duration, micros
from oxmill.rules.settle import raised, without_gates
from oxmill.store.capabilities import Capability
from oxmill.store.driver import Driver


class Leased:
    """An item under a lease, and its data."""

    def __init__(self, job: LeasedJob, claimed: Claimed, client: Client) -> None:
        self.job = job
        self.until: Micros = claimed.until
        """The end of the lease by the store's clock; moved by `renew`."""
        self.cancelled = False
        """Whether the last `renew` brought the wish that the work be stopped."""
        self._length: Micros = claimed.until - claimed.now
        self._client = client
        self._settled = False

    @property
    def id(self) -> str:
        """The item's id."""
        return self.job.id

    @property
    def data(self) -> bytes:
        """The bytes that were added."""
        return self.job.payload

    @property
    def token(self) -> Token:
        """The proof of this lease; its attempt number is a fencing number for other systems."""
        return self.job.token

    def json(self) -> Any:
        """The data read as JSON."""
        return decode_plain(self.data)

    def __repr__(self) -> str:
        return f"<Lease of {self.id}, token {self.token}>"


class Lease(Leased):
    """The right to work on one item. Each way to end it answers whether it took effect: false means
    that the lease was lost and another may work on the item.

    As a context manager it completes the item, or, if the block raises, gives it back for another
    try after a growing delay.
    """

    def renew(self, seconds: Duration | None = None) -> bool:
        """Prolong the lease to so long from now, or by its first length. False if it is lost."""
        return self._client.blocking("arenew", lambda driver: self._renew(driver, seconds))

    async def arenew(self, seconds: Duration | None = None) -> bool:
        """The same without blocking the event loop."""
        return await self._client.awaiting(lambda driver: self._renew(driver, seconds))

    def complete(self, result: bytes | None = None) -> bool:
        """The work is done. Exactly one holder of an item is told true."""
        return self._end("acomplete", self._settlement(Outcome.COMPLETE, result=result))

    async def acomplete(self, result: bytes | None = None) -> bool:
        """The same without blocking the event loop."""
        return await self._aend(self._settlement(Outcome.COMPLETE, result=result))

    def fail(self, reason: str = "") -> bool:
        """The work cannot be done: the item ends as failed and is not tried again."""
        return self._end("afail", self._settlement(Outcome.FAIL, error=_failure(reason)))

    async def afail(self, reason: str = "") -> bool:
        """The same without blocking the event loop."""
        return await self._aend(self._settlement(Outcome.FAIL, error=_failure(reason)))

    def retry(self, delay: Duration | None = None, reason: str = "") -> bool:
        """Try again after this time, or one that grows with the failures. Uses up an attempt; with
        none left the item ends as failed."""
        return self._end("aretry", self._retry(delay, reason))

    async def aretry(self, delay: Duration | None = None, reason: str = "") -> bool:
        """The same without blocking the event loop."""
        return await self._aend(self._retry(delay, reason))

    def release(self) -> bool:
        """Give the item back to its old place in line; uses up nothing."""
        return self._end("arelease", self._settlement(Outcome.RELEASE))

    async def arelease(self) -> bool:
        """The same without blocking the event loop."""
        return await self._aend(self._settlement(Outcome.RELEASE))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if not self._settled:
            self._ensure(self._end("aenter", self._ending(error)), error)
        return isinstance(error, Signal)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if not self._settled:
            self._ensure(await self._aend(self._ending(error)), error)
        return isinstance(error, Signal)

    # -- decisions ---------------------------------------------------------------------------------

    def _settlement(self, outcome: Outcome, **terms: Any) -> Settlement:
        return Settlement(id=self.id, token=self.token, outcome=outcome, **terms)

    def _retry(self, delay: Duration | None, reason: str) -> Settlement:
        if delay is None:
            wait = delay_after(Retry(), self.job.failures + 1, random.random())  # noqa: S311
        else:
            wait = micros(delay)
        return self._settlement(Outcome.RETRY, delay=wait, error=_failure(reason))

    def _ending(self, error: BaseException | None) -> Settlement:
        """How the block ended."""
        if error is None:
            return self._settlement(Outcome.COMPLETE)
        if not isinstance(error, Exception):  # interrupted: no word about the item itself
            return self._settlement(Outcome.RELEASE)
        return raised(self.job, error, Retry(), random.random())  # noqa: S311 - spreads retries

    def _ensure(self, won: bool, error: BaseException | None) -> None:
        if not won and error is None:
            raise LostLease(
                f"item {self.id}: the lease was lost before the block ended, so another may have "
                f"worked on it too; lease it for longer, or renew it"
            )

    # -- the store ---------------------------------------------------------------------------------

    def _end(self, form: str, settlement: Settlement) -> bool:
        return self._client.blocking(form, lambda driver: self._settle(driver, settlement))

    async def _aend(self, settlement: Settlement) -> bool:
        return await self._client.awaiting(lambda driver: self._settle(driver, settlement))

    def _settle(self, driver: Driver, settlement: Settlement) -> Talk[bool]:
        if Capability.LIMITS not in driver.capabilities:
            settlement = without_gates(settlement)
        plan = driver.settling.settle(Settle(items=(settlement,)))
        try:
            answers: tuple[Settled, ...] = yield plan
        except OutcomeUnknown:
            # A winner may repeat itself. An item that is gone may have been ended by the first try.
            answers = yield plan
            if answers[0].ruling is Ruling.GONE:
                raise
        self._settled = True
        return answers[0].ruling is Ruling.WON

    def _renew(self, driver: Driver, seconds: Duration | None) -> Talk[bool]:
        length = self._length if seconds is None else micros(seconds)
        renewed: Renewed = yield driver.claiming.renew(
            Renew(items=(Renewal(id=self.id, token=self.token),), lease=length)
        )
        hold = renewed.holds[0]
        self.cancelled = hold is Hold.CANCEL
        if hold is Hold.LOST:
            return False
        self.until = renewed.until
        return True


def _failure(reason: str) -> Failure:
    return Failure(type="Failed", message=reason)
