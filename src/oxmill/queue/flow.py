"""The handle of one flow: wait for it, look at its state, cancel it, drive it again."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, Protocol, TypeVar

from oxmill.errors import FlowNotFound, ResultTimeout
from oxmill.model.flow import FlowInfo, Flows, FlowStatus, ListFlows
from oxmill.model.job import Job as StoredJob
from oxmill.model.query import Cancel, Filter, Get, Redrive
from oxmill.queue.client import Client
from oxmill.queue.handle import Job
from oxmill.queue.repeating import repeat
from oxmill.queue.talk import Pause, Talk
from oxmill.queue.tree import FlowTree, descendants, not_in_flow, read_tree
from oxmill.rules.duration import Duration, micros
from oxmill.store.doorbell import ended
from oxmill.store.driver import Driver

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")

_FIRST_PAUSE: Final = 0.005
_LONGEST_PAUSE: Final = 0.5


class HasJob(Protocol[R_co]):
    """A node of a flow: it has become a job."""

    @property
    def id(self) -> str:
        """The job's id."""
        ...

    @property
    def job(self) -> Job[R_co]:
        """The job's handle."""
        ...


class Flow(Generic[S]):
    """One flow; `S` is the type of its shared state."""

    def __init__(
        self, flow_id: str, client: Client, read: Callable[[Mapping[str, bytes]], S]
    ) -> None:
        self.id = flow_id
        self._client = client
        self._read = read

    def info(self) -> FlowInfo:
        """The flow as recorded: status, times, fields, and how many jobs are in which state; else
        `FlowNotFound`."""
        return self._client.blocking("flow.ainfo", self._info)

    async def ainfo(self) -> FlowInfo:
        """The same without blocking the event loop."""
        return await self._client.awaiting(self._info)

    def status(self) -> FlowStatus:
        """Whether it runs, has succeeded, or has failed."""
        return self.info().status

    async def astatus(self) -> FlowStatus:
        """The same without blocking the event loop."""
        return (await self.ainfo()).status

    def state(self) -> S:
        """The shared state as it is now, also while the flow runs."""
        return self._read(self.info().state)

    async def astate(self) -> S:
        """The same without blocking the event loop."""
        return self._read((await self.ainfo()).state)

    def outcome(self, timeout: Duration | None = None) -> FlowInfo:
        """Wait for the end of the whole flow and give its record, whether it succeeded or failed;
        `ResultTimeout` if it has not ended in time."""
        return self._client.blocking("flow.aoutcome", lambda driver: self._wait(driver, timeout))

    async def aoutcome(self, timeout: Duration | None = None) -> FlowInfo:
        """The same without blocking the event loop."""
        return await self._client.awaiting(lambda driver: self._wait(driver, timeout))

    def result(self, node: HasJob[R], timeout: Duration | None = None) -> R:
        """Wait for one of its jobs and give the result; raises as `job.result` does."""
        return node.job.result(timeout)

    async def aresult(self, node: HasJob[R], timeout: Duration | None = None) -> R:
        """The same without blocking the event loop."""
        return await node.job.aresult(timeout)

    def cancel(self, *jobs: str | HasJob[Any], reason: str | None = None, author: str = "") -> int:
        """Cancel the whole flow, or these of its jobs with all that they have spawned; how many
        jobs it concerned, or `JobNotFound` if one of them is not a job of it. What waits for a cancelled job follows its join's policy."""
        return self._client.blocking(
            "flow.acancel", lambda driver: self._cancel(driver, _ids(jobs), reason, author)
        )

    async def acancel(
        self, *jobs: str | HasJob[Any], reason: str | None = None, author: str = ""
    ) -> int:
        """The same without blocking the event loop."""
        return await self._client.awaiting(
            lambda driver: self._cancel(driver, _ids(jobs), reason, author)
        )

    def retry(self, *jobs: str | HasJob[Any], author: str = "") -> int:
        """Drive its failed and cancelled jobs again, or these of them, and with them the flow; how
        many there were; `JobNotFound` if one of them is not a job of it. What succeeded is not run
        again."""
        return self._client.blocking(
            "flow.aretry", lambda driver: self._retry(driver, _ids(jobs), author)
        )

    async def aretry(self, *jobs: str | HasJob[Any], author: str = "") -> int:
        """The same without blocking the event loop."""
        return await self._client.awaiting(lambda driver: self._retry(driver, _ids(jobs), author))

    def tree(self) -> FlowTree:
        """Its jobs with their states, who waits for whom, and who has spawned whom."""
        return self._client.blocking("flow.atree", self._tree)

    async def atree(self) -> FlowTree:
        """The same without blocking the event loop."""
        return await self._client.awaiting(self._tree)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flow) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"

    def _info(self, driver: Driver) -> Talk[FlowInfo]:
        found: Flows = yield driver.inspecting.flows(ListFlows(ids=(self.id,), limit=1))
        if not found.items:
            raise FlowNotFound(
                f"there is no flow {self.id}: it was never enqueued here, or has ended and is not "
                f"kept any more. Look with: oxmill flows list"
            )
        return found.items[0]

    def _wait(self, driver: Driver, timeout: Duration | None) -> Talk[FlowInfo]:
        seconds = None if timeout is None else micros(timeout) / 1e6
        deadline = None if seconds is None else time.monotonic() + seconds
        pause = _FIRST_PAUSE
        with driver.doorbell.listen((ended(self.id),)) as bell:
            while True:
                info = yield from self._info(driver)
                if info.status is not FlowStatus.RUNNING:
                    return info
                left = pause if deadline is None else deadline - time.monotonic()
                if left <= 0:
                    raise ResultTimeout(
                        self.id, f"flow {self.id} still runs after {seconds:g} s; it goes on"
                    )
                rung = yield Pause(bell, min(pause, left))
                if not rung:
                    pause = min(pause * 2, _LONGEST_PAUSE)

    def _cancel(
        self, driver: Driver, jobs: tuple[str, ...], reason: str | None, author: str
    ) -> Talk[int]:
        yield from self._info(driver)
        chosen = Filter(flow=self.id)
        if jobs:
            tree = yield from self._tree(driver)
            chosen = Filter(flow=self.id, ids=descendants(tree, jobs))
        request = Cancel(filter=chosen, reason=reason, author=author)
        return (yield from repeat(driver.steering.cancel, request))

    def _retry(self, driver: Driver, jobs: tuple[str, ...], author: str) -> Talk[int]:
        yield from self._info(driver)
        yield from self._know(driver, jobs)
        request = Redrive(filter=Filter(flow=self.id, ids=jobs), author=author)
        return (yield from repeat(driver.steering.redrive, request))

    def _know(self, driver: Driver, jobs: tuple[str, ...]) -> Talk[None]:
        """`JobNotFound` if one of these is not a job of this flow."""
        if not jobs:
            return
        found: tuple[StoredJob, ...] = yield driver.inspecting.get(Get(ids=jobs))
        mine = {job.id for job in found if job.flow == self.id}
        for job_id in jobs:
            if job_id not in mine:
                raise not_in_flow(self.id, job_id)

    def _tree(self, driver: Driver) -> Talk[FlowTree]:
        info = yield from self._info(driver)
        return (yield from read_tree(driver, info))


def _ids(jobs: tuple[str | HasJob[Any], ...]) -> tuple[str, ...]:
    return tuple(job if isinstance(job, str) else job.id for job in jobs)


def plain_state(state: Mapping[str, bytes]) -> dict[str, Any]:
    """The shared state without types."""
    from oxmill.queue.codec import decode_plain  # noqa: PLC0415 - a handle may never need it

    return {name: decode_plain(value) for name, value in state.items()}
