"""Keeps settlements until the store has answered them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from oxmill.errors import StoreError
from oxmill.model.claim import Renew, Renewal
from oxmill.model.settlement import Outcome, Ruling, Settle, Settled, Settlement
from oxmill.model.state import State
from oxmill.model.token import Token
from oxmill.model.value import Micros
from oxmill.observe.bus import Bus
from oxmill.observe.events import LeaseLost, OutcomeDropped
from oxmill.observe.metrics import Metrics
from oxmill.rules.settle import goes_on, unstorable, without_gates
from oxmill.store.capabilities import Capability
from oxmill.store.driver import Driver
from oxmill.store.plan import Plan, together

MOST: Final = 1_000
"""Settlements in one batch: enough to be cheap, few enough not to hold up others."""
_GOES_ON: Final = frozenset({Outcome.RETRY, Outcome.SNOOZE, Outcome.RELEASE})


class Batch:
    """Settlements on their way to the store, with progress that their next runs need."""

    __slots__ = ("items", "progress")

    def __init__(self, items: tuple[Settlement, ...], progress: tuple[Renewal, ...]) -> None:
        self.items = items
        self.progress = progress


class Settler:
    """Never loses a settlement silently: it is answered, or told in the log.

    Settlements pile up here while the store is busy with earlier batches, and go with the next one.
    One that the store cannot take is replaced by a failure that says why.
    """

    def __init__(self, driver: Driver, lease: Micros, bus: Bus, metrics: Metrics) -> None:
        self.on_left: Callable[[], None] = _nothing
        """Called when a settlement has left something to sweep, or may have, as by a publication."""
        self._driver = driver
        self._lease = lease
        self._bus = bus
        self._metrics = metrics
        self._waiting: list[Settlement] = []
        self._progress: dict[str, Renewal] = {}
        self._flying: set[Batch] = set()
        self._completing: set[tuple[str, Token]] = set()
        self._has_gates = Capability.LIMITS in driver.capabilities

    def add(
        self, settlement: Settlement, progress: bytes | None = None, *, completing: bool = False
    ) -> None:
        """Take a settlement in. Progress counts only where another run follows. `completing` if the
        run has completed its job in a transaction of its own."""
        if settlement.closes is not None and not self._has_gates:
            settlement = without_gates(settlement)
        self._waiting.append(settlement)
        if completing:
            self._completing.add((settlement.id, settlement.token))
        if progress is not None and (settlement.outcome in _GOES_ON or goes_on(settlement)):
            self._progress[settlement.id] = Renewal(
                id=settlement.id, token=settlement.token, progress=progress
            )

    @property
    def open(self) -> int:
        """Settlements that the store has not answered yet."""
        return len(self._waiting) + sum(len(batch.items) for batch in self._flying)

    @property
    def piled_up(self) -> int:
        """Settlements that are not on their way."""
        return len(self._waiting)

    def take(self) -> Batch | None:
        """What has piled up, as far as it fits in one batch."""
        waiting = self._waiting
        if not waiting:
            return None
        if len(waiting) <= MOST:
            items, self._waiting = tuple(waiting), []
        else:
            items, self._waiting = tuple(waiting[:MOST]), waiting[MOST:]
        progress: tuple[Renewal, ...] = ()
        if self._progress:
            found = (self._progress.pop(item.id, None) for item in items)
            progress = tuple(renewal for renewal in found if renewal is not None)
        batch = Batch(items, progress)
        self._flying.add(batch)
        return batch

    def plan(self, batch: Batch) -> Plan[Any]:
        """The plan that settles a batch, progress first."""
        settle = self._driver.settling.settle(Settle(items=batch.items))
        if not batch.progress:
            return settle
        renew = self._driver.claiming.renew(Renew(items=batch.progress, lease=self._lease))
        return together(renew, settle)

    def answered(self, batch: Batch, answer: Any) -> None:
        """The store has performed the batch's plan."""
        self._flying.discard(batch)
        self._metrics.settled += len(batch.items)
        answers: tuple[Settled, ...] = answer[1] if batch.progress else answer
        for item, settled in zip(batch.items, answers, strict=True):
            done = self._completing and self._done_before(item, settled)
            if settled.ruling is not Ruling.WON and not done:
                self._lost(item)
            published = item.flow is not None and item.flow.publish is not None
            if published or settled.news.left:
                self.on_left()

    def _done_before(self, item: Settlement, settled: Settled) -> bool:
        """Whether the run itself had completed the job: then nothing else it says counts."""
        mark = item.id, item.token
        if mark not in self._completing:
            return False
        self._completing.discard(mark)
        return settled.ruling is Ruling.GONE or settled.state is State.SUCCEEDED

    def put_back(self, batch: Batch) -> None:
        """The store has not answered: the batch waits for another try, before all others."""
        self._flying.discard(batch)
        self._waiting[:0] = batch.items
        self._progress.update({renewal.id: renewal for renewal in batch.progress})

    async def one_by_one(self, batch: Batch) -> None:
        """The store refused the batch for what is in it: find the culprit, and settle the rest."""
        progress = {renewal.id: renewal for renewal in batch.progress}
        while batch.items:
            item = batch.items[0]
            try:
                await self._settle(Batch((item,), tuple(filter(None, [progress.get(item.id)]))))
            except StoreError:
                self.put_back(batch)
                raise
            batch.items = batch.items[1:]
        self._flying.discard(batch)

    async def _settle(self, one: Batch) -> None:
        try:
            answer = await self._driver.arun(self.plan(one))
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a driver says about odd content
            one = Batch((unstorable(one.items[0], error),), ())
            try:
                answer = await self._driver.arun(self.plan(one))
            except StoreError:
                raise
            except Exception as trouble:  # noqa: BLE001 - told, and left to the lease's end
                self._dropped(one.items[0], trouble)
                return
        self.answered(one, answer)

    def drop_all(self, error: BaseException) -> int:
        """The worker goes and the store does not answer: say which outcomes are lost, or may be."""
        flying = (item for batch in self._flying for item in batch.items)
        lost = (*flying, *self._waiting)
        self._flying, self._waiting = set(), []
        for item in lost:
            self._dropped(item, error)
        return len(lost)

    def _dropped(self, item: Settlement, error: BaseException) -> None:
        self._bus.emit(
            OutcomeDropped(
                job=item.id,
                attempt=item.token.attempt,
                outcome=item.outcome,
                error=f"{type(error).__name__}: {error}",
            )
        )

    def _lost(self, item: Settlement) -> None:
        self._metrics.leases_lost += 1
        self._bus.emit(LeaseLost(job=item.id, attempt=item.token.attempt, at="settlement"))


def _nothing() -> None:
    """Nobody waits yet."""
