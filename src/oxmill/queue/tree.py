"""The jobs of a flow and how they hang together."""

from __future__ import annotations

from collections.abc import Iterable

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

    def mermaid(self) -> str:
        """The flow with its states as a Mermaid flowchart."""
        from oxmill.queue.picture import mermaid  # noqa: PLC0415 - it draws this very thing

        return mermaid(self)

    def dot(self) -> str:
        """The flow with its states as a Graphviz graph."""
        from oxmill.queue.picture import dot  # noqa: PLC0415 - as above

        return dot(self)


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
    return JobNotFound(job_id, f"flow {flow_id} has no job {job_id}; see app.flows")


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
