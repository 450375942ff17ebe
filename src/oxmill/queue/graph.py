"""The jobs of a flow on their way into the store: in order, all or nothing, at any size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from oxmill.errors import FlowCycle, StoreError
from oxmill.model.flow import NewFlow
from oxmill.model.info import Sweep, Swept
from oxmill.model.job import Enqueue, NewJob
from oxmill.queue.bulk import flow_batches
from oxmill.queue.enqueueing import Receipt, receipt
from oxmill.queue.talk import Talk
from oxmill.queue.trying import try_again
from oxmill.store.driver import Driver


def in_order(jobs: Sequence[NewJob]) -> list[NewJob]:
    """The jobs with each behind those that it waits for; as they came, if that will do."""
    seen: set[str] = set()
    for job in jobs:
        if not seen.issuperset(job.after):
            return _sorted({each.id: each for each in jobs})
        seen.add(job.id)
    return list(jobs)


def _sorted(jobs: Mapping[str, NewJob]) -> list[NewJob]:
    sorter = TopologicalSorter({name: job.after for name, job in jobs.items()})
    try:
        return [jobs[name] for name in sorter.static_order()]
    except CycleError as error:
        circle = error.args[1]
        told = " → ".join(f"{jobs[name].task} ({name})" for name in circle)
        raise FlowCycle(
            f"these jobs would wait for each other for ever: {told}. Take one of the edges out"
        ) from None


def enqueue_flow(
    driver: Driver, flow: NewFlow, jobs: Sequence[NewJob], *, lent: bool = False
) -> Talk[list[Receipt]]:
    """The flow and all its jobs are stored, or nothing of it ever runs.

    What does not fit in one batch is staged, batch by batch, and published with the last one; then
    its jobs are let go, rather than left to the next sweep, unless the transaction is `lent`.
    """
    ordered = in_order(jobs)
    cut = list(flow_batches(ordered, driver.bounds))
    stage = flow.id if len(cut) > 1 else None
    receipts: dict[str, Receipt] = {}
    for number, batch in enumerate(cut, 1):
        publish = stage if number == len(cut) else None
        request = Enqueue(jobs=tuple(batch), flow=flow, stage=stage, publish=publish)
        answers, repeated = yield from try_again(driver.enqueueing.enqueue(request))
        for job, answer in zip(batch, answers, strict=True):
            receipts[job.id] = receipt(job, answer, repeated)
    if stage is not None and not lent:
        yield from _let_go(driver, len(jobs))
    return [receipts[job.id] for job in jobs]


def _let_go(driver: Driver, number: int) -> Talk[None]:
    """Sweep as often as the jobs of a stage need it. It is published: an error does no harm."""
    for _ in range(2 + number // Sweep().limit):
        try:
            swept: Swept = yield driver.housekeeping.sweep(Sweep())
        except StoreError:
            return
        if not swept.more:
            return
