"""What runs of flows need from the store: the jobs they waited for, and room for many children."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from oxmill.errors import IdConflict
from oxmill.model.job import Enqueue, Enqueued, LeasedJob, Verdict
from oxmill.model.query import Get
from oxmill.model.settlement import Settlement
from oxmill.queue.bulk import flow_batches
from oxmill.queue.gaps import GAPPED, read_gapped
from oxmill.queue.inputs import Input, Inputs, as_input
from oxmill.queue.spawning import flow_of, stage_of
from oxmill.queue.talk import Talk, ahold
from oxmill.queue.trying import try_again
from oxmill.store.driver import Driver

INLINE: Final = 500
"""Children that are made in the settlement itself; more are staged before it."""


def has_inputs(job: LeasedJob) -> bool:
    """Whether the arguments of its run come from other jobs."""
    return job.content_type == GAPPED or bool(job.joined)


class FlowStore:
    """The store, as far as runs need it."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def inputs(self, job: LeasedJob) -> Inputs:
        """The jobs that this one has waited for, looked up together."""
        wanted = [gap.job for gap in read_gapped(job.payload).gaps] if _gapped(job) else []
        ids = tuple(dict.fromkeys((*wanted, *job.joined)))
        most = self._driver.bounds.batch_jobs
        found: dict[str, Input] = {}
        for start in range(0, len(ids), most):
            look = Get(ids=ids[start : start + most])
            records = await self._driver.arun(self._driver.inspecting.get(look))
            found.update({record.id: as_input(record) for record in records})
        return found

    async def staged(self, job: LeasedJob, settlement: Settlement) -> Settlement:
        """The settlement with its children staged, if they are too many for one step: they are
        published by it, and do not run before."""
        step = settlement.flow
        if step is None or len(step.spawn) <= min(INLINE, self._driver.bounds.heavy_jobs):
            return settlement
        stage, flow = stage_of(job), flow_of(job)
        for batch in flow_batches(step.spawn, self._driver.bounds):
            request = Enqueue(jobs=tuple(batch), flow=flow, stage=stage)
            await ahold(self._driver, self._stage(request))
        return replace(settlement, flow=replace(step, spawn=(), publish=stage))

    def _stage(self, request: Enqueue) -> Talk[None]:
        answers: tuple[Enqueued, ...]
        answers, _ = yield from try_again(self._driver.enqueueing.enqueue(request))
        for answer in answers:
            if answer.verdict is Verdict.ID_CONFLICT:
                raise IdConflict(answer.id)


def _gapped(job: LeasedJob) -> bool:
    return job.content_type == GAPPED
