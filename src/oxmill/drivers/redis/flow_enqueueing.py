"""Flows come in on Redis: a flow, its jobs and its stages live in one shard."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from oxmill.drivers.redis.enqueueing import RedisEnqueueing, answers_of, terms_of
from oxmill.drivers.redis.mold import mold_of
from oxmill.drivers.redis.record import (
    ASIDE_BYTES,
    ON_FAILURE,
    POLICIES,
    describe,
    field_words,
    pack,
    pack_id,
    pack_ids,
    reads_text,
)
from oxmill.drivers.redis.script import ENQUEUE_FLOW, LOCATE
from oxmill.drivers.redis.space import Space
from oxmill.errors import BadInput, OxmillError
from oxmill.model.flow import Join, NewFlow
from oxmill.model.job import Enqueue, Enqueued, NewJob
from oxmill.store.admission import check_new_job
from oxmill.store.flow_admission import check_enqueue, concerns_flows
from oxmill.store.plan import Plan, Steps, ask, plan
from oxmill.store.prepared import BatchOfOne
from oxmill.store.roles.enqueueing import Prepared


class RedisFlowEnqueueing(RedisEnqueueing):
    """Takes jobs in, and flows."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self._home = space

    def enqueue(self, request: Enqueue) -> Plan[tuple[Enqueued, ...]]:
        """All jobs of the batch are stored, or none; a flow always in one step."""
        if not concerns_flows(request):
            return super().enqueue(request)
        check_enqueue(request, self._home.bounds, self._home.able)
        return self._enqueue_flow(request)

    def prepare(self, like: NewJob) -> Prepared:
        """What stores jobs like this one."""
        usual = BatchOfOne(self.enqueue, like)
        try:
            check_new_job(replace(like, id="-", payload=b""), self._home.bounds, self._home.able)
        except (OxmillError, AttributeError, TypeError):
            return usual  # it will say the same of each job
        return mold_of(usual, self._home) or usual

    @plan("enqueue")
    def _enqueue_flow(self, request: Enqueue) -> Steps[tuple[Enqueued, ...]]:
        space = self._home
        shard = 0 if space.shards == 1 else (yield from _shard_of(space, request))
        args = (*_flow_args(request), *flow_job_args(request.jobs))
        reply = yield from ask(
            space.call(ENQUEUE_FLOW, space.bounds.cleanup_jobs, *args, shard=shard)
        )
        if reply == 0:
            raise BadInput(
                f"there is no stage {request.publish!r} to publish: nothing was staged under it, "
                f"or it was dropped because nobody published it within a day; enqueue its jobs again"
            )
        *told, gained = reply
        answers = answers_of(request.jobs, told)
        if not answers or not gained:
            return answers
        last = answers[-1]
        filled = tuple(queue.decode() for queue in gained)
        return (*answers[:-1], Enqueued(last.id, last.verdict, last.state, filled))


def _shard_of(space: Space, request: Enqueue) -> Steps[int]:
    """Where the flow is, or the job that it begins with, or the stage; else where its id puts it."""
    flow = "" if request.flow is None else request.flow.id
    stages = (request.stage or "", request.publish or "")
    found = yield from space.everywhere(LOCATE, flow, pack_id(flow), *stages)
    return found.index(1) if 1 in found else space.home(flow)


def _flow_args(request: Enqueue) -> list[Any]:
    flow = request.flow or NewFlow(id="", name="")
    terms = pack((flow.name, -1 if flow.keep is None else flow.keep, field_words(flow.fields)))
    stages = (request.stage or "", request.publish or "")
    args: list[Any] = [flow.id, terms, *stages, len(flow.state)]
    for name, value in flow.state.items():
        args += (name, value)
    return args


def flow_job_args(jobs: Iterable[NewJob]) -> list[bytes]:
    """New jobs of flows as the scripts read them: with what they wait for."""
    args: list[bytes] = []
    for job in jobs:
        about = describe(job)
        if len(job.payload) > ASIDE_BYTES:
            args += (pack_id(job.id), terms_of(job, len(about), "pk"), about, job.payload)
        else:
            args += (pack_id(job.id), terms_of(job, len(about), "k"), about + job.payload)
        after = tuple(dict.fromkeys(job.after))
        args.append(pack((job.flow or "", job.parent or "", reads_text(job.reads))))
        args.append(join_text(job.join or Join()) + pack_ids(after) if after else b"")
    return args


def join_text(join: Join) -> bytes:
    """A join as edges.lua reads it."""
    policy, on_failure = POLICIES.index(join.policy), ON_FAILURE.index(join.on_failure)
    deadline = 0 if join.deadline is None else join.deadline + 1
    return struct.pack(">BIBQ", policy, join.quorum, on_failure, deadline)
