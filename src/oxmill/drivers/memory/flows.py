"""What the memory driver keeps about flows: records, edges, stages, and ripples still to be done."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum

from oxmill.model.fields import Fields
from oxmill.model.flow import FlowStatus, Join
from oxmill.model.news import News
from oxmill.model.value import Micros


@dataclass(slots=True)
class FlowRecord:
    """Everything known about one flow."""

    seq: int
    """Order of arrival."""
    id: str
    name: str
    started_at: Micros
    state: dict[str, bytes]
    fields: Fields
    keep: Micros | None
    published: bool = False
    """Whether any job of it was ever more than staged; until then nobody sees it."""
    live: int = 0
    """Its live jobs, without those of stages that are not published."""
    lost: bool = False
    """A job that nobody waited for was purged before it had succeeded."""
    failed: bool = False
    """How it ended, when it ended last."""
    ended_at: Micros | None = None
    prune_at: Micros | None = None

    @property
    def status(self) -> FlowStatus:
        """How the flow as a whole is doing."""
        if self.ended_at is None:
            return FlowStatus.RUNNING
        return FlowStatus.FAILED if self.failed else FlowStatus.SUCCEEDED


@dataclass(slots=True)
class Edge:
    """`dependent` waits, or has waited, for the end of `upstream`."""

    upstream: str
    dependent: str
    round: int
    """Which wait of the dependent it belongs to: 0 is `after`, n the children of attempt n."""
    position: int
    ok: bool | None
    """How the upstream ended; `None` while the edge is open."""


@dataclass(slots=True)
class Wait:
    """The join that a held job waits for. It stays if the job ends before it fires."""

    round: int
    join: Join
    succeeded: int = 0
    failed: int = 0
    open: int = 0
    deadline_at: Micros | None = None


@dataclass(slots=True)
class Stage:
    """Jobs that are held until they are published together."""

    name: str
    flow: str
    touched_at: Micros
    published: bool = False
    live: int = 0
    """Its live jobs, until it is published; then they count for the flow."""
    held: dict[str, None] = field(default_factory=dict)
    """Jobs that it still holds, in order of arrival."""
    members: dict[str, None] = field(default_factory=dict)
    """Children that were staged here, those included that were there before."""


class Kind(StrEnum):
    """What a ripple does, one unit at a time."""

    CLOSE = "close"
    """Close the edges of a job that ended."""
    SHED = "shed"
    """Cancel what a join that is over still waited for, unless somebody else does too."""
    FREE = "free"
    """Let go of the jobs of a published stage."""


@dataclass(slots=True)
class Ripple:
    """Work that an end or a publication has set off."""

    kind: Kind
    target: str
    """The job that ended, the job whose join is over, or the stage."""
    ok: bool = False
    """For CLOSE: how the job ended."""
    round: int = 0
    """For SHED: whose upstreams."""
    past: int = -1
    """For SHED: the position that was looked at last."""


class Book:
    """All flows, edges, stages and ripples of a store."""

    def __init__(self) -> None:
        self.flows: dict[str, FlowRecord] = {}
        self.stages: dict[str, Stage] = {}
        self.up: dict[str, dict[str, Edge]] = {}
        """dependent → its edges by upstream."""
        self.down: dict[str, dict[str, Edge]] = {}
        """upstream → its edges by dependent."""
        self.fresh: deque[Ripple] = deque()
        """Set off in this very step."""
        self.left: deque[Ripple] = deque()
        """Left for sweeps, the oldest first."""
        self.gained: set[str] = set()
        """Queues in which jobs began to wait because of flows, since somebody last took them."""
        self.ended: list[str] = []
        """Jobs of flows that ended, since somebody last took them."""
        self.over: list[str] = []
        """The same for flows."""
        self.asked = False
        """Whether a running job was asked to stop because of flows, since then."""
        self.left_some = False
        """Whether the newest step has left ripples for a sweep."""
        self._last = 0

    def draw(self) -> int:
        """The next number of arrival of a flow."""
        self._last += 1
        return self._last

    def put_edge(self, edge: Edge) -> None:
        """Record an edge; it takes the place of one between the same jobs."""
        self.up.setdefault(edge.dependent, {})[edge.upstream] = edge
        self.down.setdefault(edge.upstream, {})[edge.dependent] = edge

    def drop_edges_into(self, dependent: str) -> None:
        """Forget what a job waited for."""
        for edge in self.up.pop(dependent, {}).values():
            below = self.down[edge.upstream]
            del below[dependent]
            if not below:
                del self.down[edge.upstream]

    def edges_into(self, dependent: str, round_: int) -> list[Edge]:
        """What a job waits for in one of its waits, in order."""
        edges = (edge for edge in self.up.get(dependent, {}).values() if edge.round == round_)
        return sorted(edges, key=lambda edge: edge.position)

    def open_below(self, upstream: str) -> list[Edge]:
        """Open edges of those that wait for this job."""
        return [edge for edge in self.down.get(upstream, {}).values() if edge.ok is None]

    def awaited(self, job_id: str) -> bool:
        """Whether anybody waits or has waited for this job."""
        return job_id in self.down

    def in_unpublished(self, stage: str | None) -> Stage | None:
        """The stage of this name, if it is there and is not published."""
        found = None if stage is None else self.stages.get(stage)
        return None if found is None or found.published else found

    def forget_news(self) -> None:
        """Nobody has asked what happened until now."""
        self.gained.clear()
        self.ended.clear()
        self.over.clear()
        self.asked = self.left_some = False

    def take_gained(self) -> tuple[str, ...]:
        """The queues in which jobs began to wait because of flows."""
        gained = tuple(sorted(self.gained))
        self.gained.clear()
        return gained

    def take_news(self) -> News:
        """What else has happened because of flows."""
        news = News(ended=(*self.ended, *self.over), asked=self.asked, left=self.left_some)
        self.forget_news()
        return news
