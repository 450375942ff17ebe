"""The jobs of a flow and how they hang together."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from oxmill.errors import JobNotFound
from oxmill.model.flow import FlowInfo
from oxmill.model.job import Job
from oxmill.model.query import Filter, Find, Get, Page
from oxmill.model.value import Value
from oxmill.queue.talk import Talk
from oxmill.store.driver import Driver

_PAGE = 1_000
_LOOK = 200


class FlowTree(Value, frozen=True):
    """A flow with its jobs, in the order in which they came."""

    flow: FlowInfo
    jobs: tuple[Job, ...]

    def children(self) -> dict[str | None, list[Job]]:
        """The jobs by the job that spawned them; under `None` those that nobody did."""
        known = {job.id for job in self.jobs}
        found: dict[str | None, list[Job]] = {None: []}
        for job in self.jobs:
            found.setdefault(job.parent if job.parent in known else None, []).append(job)
        return found

    def handed_over(self) -> dict[str, str]:
        """For each step of a pipeline that another step has handed over to: which one. It follows from
        what the steps carry, so it holds for loops and detours as well."""
        known = {job.id for job in self.jobs}
        found: dict[str, str] = {}
        for job in self.jobs:
            number = _hand_overs(job, self.flow)
            if number and (before := f"{self.flow.id}.{number - 1}") in known:
                found[job.id] = before
        return found

    def mermaid(self) -> str:
        """The flow with its states as a Mermaid flowchart."""
        from oxmill.queue.picture import mermaid  # noqa: PLC0415 - it draws this very thing

        return mermaid(self)

    def dot(self) -> str:
        """The flow with its states as a Graphviz graph."""
        from oxmill.queue.picture import dot  # noqa: PLC0415 - as above

        return dot(self)


class _Carried(msgspec.Struct):
    """What tells a step's job from any other: see `step.Itinerary`."""

    pipeline: str
    way: list[msgspec.Raw]
    number: int = 0


_READ = msgspec.json.Decoder(_Carried).decode


def _hand_overs(job: Job, flow: FlowInfo) -> int | None:
    """How many hand-overs led to this step; `None` for a job that is no step of the flow's pipeline."""
    if not job.id.startswith(f"{flow.id}."):
        return None
    try:
        carried = _READ(job.payload)
    except msgspec.MsgspecError:
        return None
    own = carried.pipeline == flow.name and job.id == f"{flow.id}.{carried.number}"
    return carried.number if own else None


def read_tree(driver: Driver, flow: FlowInfo) -> Talk[FlowTree]:
    """All jobs of the flow, with their edges."""
    ids: list[str] = []
    look: Find | None = Find(filter=Filter(flow=flow.id), limit=_PAGE)
    while look is not None:
        page: Page = yield driver.inspecting.find(look)
        ids += [job.id for job in page.jobs]
        look = None if page.next is None else Find(filter=look.filter, limit=_PAGE, after=page.next)
    ids.reverse()
    jobs: list[Job] = []
    for start in range(0, len(ids), _LOOK):
        jobs += yield driver.inspecting.get(Get(ids=tuple(ids[start : start + _LOOK])))
    return FlowTree(flow=flow, jobs=tuple(jobs))


def not_in_flow(flow_id: str, job_id: str) -> JobNotFound:
    """What is said of a job that a flow does not have."""
    return JobNotFound(
        job_id, f"flow {flow_id} has no job {job_id}. Look with: oxmill flows show {flow_id}"
    )


def descendants(tree: FlowTree, roots: Iterable[str]) -> tuple[str, ...]:
    """These jobs and all that they have spawned, parents first."""
    known = {job.id for job in tree.jobs}
    children = tree.children()
    found: dict[str, None] = {}
    left = list(roots)
    for root in left:
        if root not in known:
            raise not_in_flow(tree.flow.id, root)
    while left:
        job_id = left.pop(0)
        if job_id not in found:
            found[job_id] = None
            left += [child.id for child in children.get(job_id, ())]
    return tuple(found)
