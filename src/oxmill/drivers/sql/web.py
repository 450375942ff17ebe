"""The jobs of flows that one operation is about: read when needed, changed in memory, written together.

Whoever changes a job's row of the flow, or the edges into the job, has locked the job itself. So
edges are only believed once their dependents are locked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from oxmill.drivers.sql.arriving import Row, labels_of, row_of
from oxmill.drivers.sql.changes import Changes, changes_to
from oxmill.drivers.sql.flow_rows import IN_FLOW, Node, Ripple, StageRow, nodes
from oxmill.drivers.sql.intake import standing_of
from oxmill.drivers.sql.lanes import Newcomer, join_lanes
from oxmill.drivers.sql.ledger import Ledger
from oxmill.drivers.sql.rows import Standing, json_text, standings
from oxmill.drivers.sql.steps import Draw, Many, Overtaken, Statement
from oxmill.drivers.sql.tally import Tally
from oxmill.model.job import NewJob, Reason
from oxmill.model.news import News
from oxmill.model.state import State
from oxmill.model.value import Micros
from oxmill.store.plan import Steps, ask

EdgeRow = tuple[str, int, int, int, int | None]
"""upstream, dependent, round, position, ok."""


class Web:
    """One operation's view of flows."""

    def __init__(self, now: Micros) -> None:
        self.now = now
        self.jobs: dict[str, Standing] = {}
        self.nodes: dict[str, Node] = {}
        self.stages: dict[str, StageRow] = {}
        self.ledger = Ledger()
        self.gained: set[str] = set()
        """Queues in which jobs began to wait because of flows."""
        self.ended: list[str] = []
        """Jobs of flows that ended."""
        self.asked = False
        """Whether a running job was asked to stop because of flows."""
        self.left = False
        """Whether ripples are left for a sweep."""
        self.numbers: Iterator[int] = iter(())
        """Numbers of arrival and places, for what is made and lined up in one go: drawn beforehand,
        so that they are given out in the order in which things happen."""
        self._asked: set[str] = set()
        self._created: list[Row] = []
        self._tally = Tally()
        self._newcomers: list[Newcomer] = []
        self._nodes: dict[int, Node] = {}
        self._edges: dict[tuple[int, str], EdgeRow] = {}
        self._stages: dict[str, StageRow] = {}
        self._changes: Changes | None = None

    # --- reading -----------------------------------------------------------------------------

    def load(self, ids: Iterable[str]) -> Steps[None]:
        """Lock these jobs and know them, as far as they are there, and their stages."""
        asked = [each for each in dict.fromkeys(ids) if each not in self._asked]
        if not asked:
            return
        self._asked.update(asked)
        rows = yield from ask(Statement("standings_by_id", {"ids": json_text(asked)}, locks=True))
        yield from self.know(standings(rows))

    def know(self, found: Iterable[Standing]) -> Steps[None]:
        """Take over jobs that the caller has locked."""
        found = list(found)
        new = [job for job in found if job.id not in self.nodes]
        self._asked.update(job.id for job in found)
        self.jobs.update((job.id, job) for job in found)
        seqs = [job.seq for job in new if job.keep == IN_FLOW]
        if seqs:
            rows = yield from ask(Statement("nodes_by_seq", {"seqs": json_text(seqs)}))
            self.nodes.update((node.id, node) for node in nodes(rows))
            names = [self.nodes[job.id].stage for job in new if job.id in self.nodes]
            yield from self.load_stages(name for name in names if name is not None)

    def load_stages(self, names: Iterable[str]) -> Steps[None]:
        """Lock these stages and know them, as far as they are there."""
        asked = [name for name in dict.fromkeys(names) if name not in self.stages]
        if asked:
            named = {"names": json_text(asked)}
            rows = yield from ask(Statement("stages_by_name", named, locks=True))
            self.stages.update((row[0], StageRow(*row)) for row in rows)

    def unpublished(self, node: Node) -> StageRow | None:
        """The stage that a job is in, if that is not published."""
        stage = None if node.stage is None else self.stages.get(node.stage)
        return None if stage is None or stage.published else stage

    def draw(self, n: int) -> Steps[None]:
        """Have so many numbers at hand."""
        if n:
            self.numbers = iter((yield from ask(Draw(n))))

    # --- changing ----------------------------------------------------------------------------

    def begin(self, jobs: Iterable[Standing]) -> Steps[Changes]:
        """Gather changes to these jobs."""
        self._changes = yield from changes_to(jobs, self.now)
        return self._changes

    @property
    def changes(self) -> Changes:
        """The changes being gathered."""
        assert self._changes is not None  # noqa: S101 - every phase begins with `begin`
        return self._changes

    def admit(self, job: NewJob, state: State, reason: str | None) -> Standing:
        """A new job of a flow, with the next number at hand."""
        seq = next(self.numbers)
        kept = msgspec.structs.replace(job, keep=IN_FLOW)
        made = standing_of(kept, seq, self.now)
        made.state, made.reason = state, reason
        self.jobs[job.id] = made
        self._asked.add(job.id)
        self._created.append(row_of(kept, seq, self.now, (state, made.due_at, reason)))
        self._tally.add(job.queue, state, 1)
        if job.group is not None and state is State.WAITING:
            self._newcomers.append((job.group, job.queue, job.priority, seq))
        return made

    def put_node(self, node: Node) -> None:
        """Something about a job's part in its flow has changed."""
        self.nodes[node.id] = node
        self._nodes[node.job] = node

    def put_edge(self, edge: EdgeRow) -> None:
        """Record an edge; it takes the place of one between the same jobs."""
        self._edges[edge[1], edge[0]] = edge

    def put_stage(self, stage: StageRow) -> None:
        """Something about a stage has changed."""
        self.stages[stage.name] = stage
        self._stages[stage.name] = stage

    def line_up(self, job: Standing) -> None:
        """A held job waits in line, or for its due time."""
        due = job.due_at <= self.now
        self.changes.line_up(job, job.due_at, next(self.numbers, None) if due else None)
        if job.state is State.WAITING:
            self.gained.add(job.queue)

    def enter(self, node: Node) -> None:
        """A live job counts for its stage until that is published, then for its flow."""
        stage = self.unpublished(node)
        if stage is None:
            self.ledger.enter(node.flow)
        else:
            stage.live += 1
            self.put_stage(stage)

    def leave(self, node: Node) -> None:
        """A job is live no longer."""
        stage = self.unpublished(node)
        if stage is None:
            self.ledger.leave(node.flow)
        else:
            stage.live -= 1
            self.put_stage(stage)

    def hold(self, job: Standing, node: Node, stage: StageRow) -> None:
        """This stage holds the job from now on."""
        node.stage, node.staged = stage.name, 1
        job.reason = Reason.STAGED
        self.changes.touch(job)
        self.put_node(node)

    @property
    def dirty(self) -> bool:
        """Whether something is gathered that was not written yet."""
        return bool(self._nodes or self._edges or self._stages)

    @property
    def told(self) -> News:
        """What has happened because of flows, once all is written."""
        ended = (*self.ended, *self.ledger.ended)
        return News(ended=ended, asked=self.asked, left=self.left)

    # --- writing -----------------------------------------------------------------------------

    def write_rows(self) -> Steps[None]:
        """Write what was gathered about flows, so that statements can read it; jobs come later."""
        if self._nodes:
            yield from ask(Many("put_node", [node.written() for node in self._nodes.values()]))
            self._nodes = {}
        if self._edges:
            yield from ask(Many("put_edge", list(self._edges.values())))
            self._edges = {}
        if self._stages:
            yield from ask(Many("put_stage", [each.written() for each in self._stages.values()]))
            self._stages = {}

    def set_off(self, ripple: Ripple) -> None:
        """Have this done when the operation is done with all else."""
        self.changes.news.append(ripple)

    def write(self) -> Steps[list[Standing | Ripple]]:
        """Write down what was gathered. Gives the jobs of flows that have ended by it, and what
        else it has set off."""
        yield from self._write_new()
        news: list[Standing | Ripple] = []
        if self._changes is not None:
            news = self._changes.news
            yield from self._changes.write()
            self._changes = None
            self.numbers = iter(())
        yield from self.write_rows()
        return news

    def _write_new(self) -> Steps[None]:
        if not self._created:
            return
        rows, tally, newcomers = self._created, self._tally, self._newcomers
        self._created, self._tally, self._newcomers = [], Tally(), []
        if (yield from ask(Many("insert_job", rows))) < len(rows):
            raise Overtaken
        if found := labels_of(rows):
            yield from ask(Many("add_fields", found))
        yield from join_lanes(newcomers)
        yield from tally.write()
