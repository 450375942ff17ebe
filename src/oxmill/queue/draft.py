"""A flow while it is put together: `with app.flow("import") as f: ...`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, ParamSpec, Self, TypedDict, TypeVar, Unpack, cast

from msgspec.structs import replace

from oxmill.errors import BadFlow, FlowEnqueued, ForeignNode
from oxmill.model.fields import as_fields
from oxmill.model.flow import Join, NewFlow, OnFailure
from oxmill.model.job import NewJob
from oxmill.queue.client import Client
from oxmill.queue.codec import ENCODE
from oxmill.queue.enqueueing import Receipt
from oxmill.queue.flow import Flow, plain_state
from oxmill.queue.gaps import GAPPED, Gap, gapped_payload
from oxmill.queue.graph import enqueue_flow
from oxmill.queue.handle import Job
from oxmill.queue.joining import JoinTerms, as_join
from oxmill.queue.stand_in import StandIn
from oxmill.queue.task import BaseTask
from oxmill.rules.duration import Duration, micros

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class FlowOptions(TypedDict, total=False):
    """Options of a flow."""

    id: str
    """Its id. Enqueueing a flow of the same id and content again makes nothing new."""
    fields: Mapping[str, str | int | Sequence[str | int]]
    """Business attributes to search by."""
    state: Mapping[str, Any]
    """The shared state at the start, for steps that read it."""
    headers: Mapping[str, str]
    """Carried along by all its jobs: correlation id, trace context."""
    keep: Duration
    """How long to keep it and its jobs once it has ended."""
    connection: Any
    """Enqueue it in the open transaction of this connection or session."""


class Node(Generic[R_co]):
    """One job of a flow; `R` is the type of its result."""

    __slots__ = ("_after", "_draft", "_job", "_join", "_task", "gaps", "receipt")

    def __init__(self, draft: Draft, task: BaseTask[..., R_co], job: NewJob) -> None:
        self._draft = draft
        self._task = task
        self._job = job
        self._after: dict[str, None] = {}
        self._join: Join | None = None
        self.gaps: list[Gap] = []
        self.receipt: Receipt | None = None

    @property
    def id(self) -> str:
        """The id that its job has, or will have."""
        return self._job.id

    @property
    def name(self) -> str:
        """What it is called in messages: its task's name and its id."""
        return f"{self._job.task} ({self._job.id})"

    @property
    def out(self) -> R_co:
        """Stands for the result in the arguments of other nodes, also inside lists, dicts and
        dataclasses. The node that gets it waits for this one."""
        return cast("R_co", StandIn(self))

    @property
    def job(self) -> Job[R_co]:
        """The job's handle, once the flow is enqueued."""
        if self.receipt is None:
            raise BadFlow(f"{self.name} is not enqueued yet; leave the `with` block first")
        return self._task.handle(self.receipt)

    def after(self, *nodes: Node[Any]) -> Self:
        """Wait for these nodes too, without their results."""
        self._draft.ensure_open()
        for node in nodes:
            self._wait_for(node)
        return self

    def join(self, **terms: Unpack[JoinTerms]) -> Self:
        """When it starts if it waits for several nodes, and what a failure among them does. Unless
        told otherwise all must succeed; else it fails, and those still open are cancelled."""
        self._draft.ensure_open()
        self._join = as_join(**terms)
        return self

    def fill(self, gaps: list[tuple[tuple[str | int, ...], StandIn]]) -> None:
        """For the flow: these places of its arguments wait for results."""
        for path, stand_in in gaps:
            node: Node[Any] = stand_in.node
            self._wait_for(node)
            self.gaps.append(Gap(path=path, job=node.id))

    def new_job(self) -> NewJob:
        """For the flow: the job as the store takes it."""
        job, join = self._job, self._join
        after = tuple(self._after)
        if join is not None and join.quorum > len(after):
            raise BadFlow(
                f"{self.name}: a quorum of {join.quorum} of {len(after)} jobs is never met"
            )
        if self.gaps:
            collect = join is not None and join.on_failure is OnFailure.COLLECT
            payload = gapped_payload(job.payload, self.gaps, collect=collect)
            job = replace(job, payload=payload, content_type=GAPPED)
        return replace(job, after=after, join=join if after else None)

    def _wait_for(self, node: Node[Any]) -> None:
        if node._draft is not self._draft:
            raise ForeignNode(
                f"{self.name} cannot wait for {node.name}, which belongs to another flow. Add it "
                f"to this flow, or wait for its result and pass that"
            )
        self._after[node.id] = None

    def __repr__(self) -> str:
        return f"<Node {self.name}>"


class Draft(Flow[dict[str, Any]]):
    """A flow under construction. At the end of its `with` block all of it is enqueued, or nothing;
    an exception inside the block enqueues nothing. From then on it is the flow's handle.

    with app.flow("import") as f:
        pages = [f.add(fetch, url) for url in urls]
        total = f.add(merge, [page.out for page in pages])
        f.add(notify, "done").after(total)
    """

    def __init__(self, name: str, client: Client, options: FlowOptions) -> None:
        flow_id = options.get("id") or client.new_id()
        super().__init__(flow_id, client, plain_state)
        self.name = name
        self.created = False
        """Whether this enqueue has made it; false if it was there."""
        self._options = options
        self._nodes: list[Node[Any]] = []
        self._closed = False

    def add(self, task: BaseTask[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Node[R]:
        """Add a call of the task. Where a node's `out` is among the arguments, it waits for that
        node and is given its result."""
        self.ensure_open()
        if task.client is not self._client:
            raise ForeignNode(f"task {task.name} belongs to another app; add it to a flow there")
        _check_options(task)
        job, gaps = task.flow_job(args, kwargs, f"{self.id}.{len(self._nodes)}")
        headers = {**self._options.get("headers", {}), **job.headers}
        node = Node(self, task, replace(job, flow=self.id, headers=headers))
        node.fill(gaps)
        self._nodes.append(node)
        return node

    def enqueue(self) -> Self:
        """Store the flow with all its jobs. Once this returns it is not lost, and will run."""
        connection = self._options.get("connection")
        flow, jobs = self._ready()
        lent = connection is not None
        receipts = self._client.blocking(
            "aenqueue", lambda driver: enqueue_flow(driver, flow, jobs, lent=lent), connection
        )
        return self._enqueued(receipts)

    async def aenqueue(self) -> Self:
        """The same without blocking the event loop."""
        connection = self._options.get("connection")
        flow, jobs = self._ready()
        lent = connection is not None
        receipts = await self._client.awaiting(
            lambda driver: enqueue_flow(driver, flow, jobs, lent=lent), connection
        )
        return self._enqueued(receipts)

    def ensure_open(self) -> None:
        """Raise `FlowEnqueued` if nothing can be added any more."""
        if self._closed:
            raise FlowEnqueued(
                f"flow {self.name!r} ({self.id}) has been enqueued, and its jobs may run already. "
                f"Make another flow, or spawn jobs from a running one"
            )

    def __enter__(self) -> Self:
        self.ensure_open()
        return self

    def __exit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        if kind is None and not self._closed:
            self.enqueue()
        self._closed = True

    async def __aenter__(self) -> Self:
        self.ensure_open()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *exc: object) -> None:
        if kind is None and not self._closed:
            await self.aenqueue()
        self._closed = True

    def _ready(self) -> tuple[NewFlow, list[NewJob]]:
        self.ensure_open()
        if not self._nodes:
            raise BadFlow(f"flow {self.name!r} has no jobs; add at least one")
        options = self._options
        keep = options.get("keep")
        flow = NewFlow(
            id=self.id,
            name=self.name,
            state={name: ENCODE(value) for name, value in options.get("state", {}).items()},
            fields=as_fields(options.get("fields", {})),
            keep=None if keep is None else micros(keep),
        )
        jobs = [self._client.admit(node.new_job()) for node in self._nodes]
        if len({job.id for job in jobs}) < len(jobs):
            raise BadFlow(f"two jobs of flow {self.name!r} have the same id; give each its own")
        return flow, jobs

    def _enqueued(self, receipts: list[Receipt]) -> Self:
        self._closed = True
        for node, receipt in zip(self._nodes, receipts, strict=True):
            node.receipt = receipt
        self.created = any(receipt.created for receipt in receipts)
        return self


def _check_options(task: BaseTask[..., Any]) -> None:
    if task.options.unique is not None:
        raise BadFlow(
            f"task {task.name} is unique, which jobs of a flow cannot be: give the flow an id "
            f"instead, as in app.flow(..., id=...), and add task.using(unique=False)"
        )
    if task.options.connection is not None:
        raise BadFlow(
            f"task {task.name} was given a connection of its own; give it to the whole flow, as in "
            f"app.flow(..., connection=...)"
        )
