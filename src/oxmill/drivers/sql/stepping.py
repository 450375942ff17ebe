"""What completions do to their flows in a SQL database: one batch of them at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from oxmill.drivers.sql.flow_making import create, flow_row
from oxmill.drivers.sql.flow_rows import IN_FLOW, Kind, Node, Ripple, join_text
from oxmill.drivers.sql.reviving import revive
from oxmill.drivers.sql.rippling import spread
from oxmill.drivers.sql.rows import Standing, in_flow, json_text
from oxmill.drivers.sql.steps import Many, Statement
from oxmill.drivers.sql.weaving import arm, begin, let_go
from oxmill.drivers.sql.web import Web
from oxmill.model.flow import FlowStep, NewFlow
from oxmill.model.job import NewJob, Reason
from oxmill.model.news import News
from oxmill.model.settlement import Outcome, Settled, Settlement
from oxmill.model.state import State
from oxmill.model.value import Micros
from oxmill.store.plan import Steps, ask

Step = tuple[Standing, Settlement, FlowStep]


class InFlows:
    """What one batch of settlements does to flows: nothing, as long as nothing is gathered."""

    __slots__ = ("_ended", "_gained", "_news", "_web")

    def __init__(self) -> None:
        self._web: Web | None = None
        self._news: list[Standing | Ripple] = []
        self._gained: set[str] = set()
        self._ended: list[str] = []

    @property
    def busy(self) -> bool:
        """Whether something is known here that others must not change behind its back."""
        return self._web is not None

    def web(self, now: Micros) -> Web:
        """The batch's view of flows."""
        self._web = self._web or Web(now)
        return self._web

    def gather(
        self, now: Micros, news: list[Standing | Ripple], steps: Sequence[Step]
    ) -> Steps[None]:
        """Jobs of flows have ended; others take these steps."""
        if not news and not steps:
            return
        self._news += news
        web = self.web(now)
        yield from web.know(job for job in news if isinstance(job, Standing))
        if steps:
            yield from _take_steps(web, steps)
            self._news += yield from web.write()

    def handed_over(
        self, gained: Iterable[str], ended: Iterable[str], ripples: Iterable[Ripple] = ()
    ) -> None:
        """Steps were taken the short way: these queues have gained jobs, these flows have ended, and
        this is set off."""
        self._gained.update(gained)
        self._ended += ended
        self._news += ripples

    def told(self, answers: list[Settled], bound: int) -> Steps[tuple[Settled, ...]]:
        """The answers, once all that was set off is done; the last one says who gained by it and what
        ended."""
        web, gained, ended = self._web, self._gained, self._ended
        news = News(ended=tuple(ended))
        if web is not None:
            yield from spread(web, self._news, bound)
            gained |= web.gained
            told = web.told
            news = msgspec.structs.replace(told, ended=(*ended, *told.ended))
        if web is not None or gained or ended:
            both = tuple(sorted({*answers[-1].gained, *gained}))
            answers[-1] = msgspec.structs.replace(answers[-1], gained=both, news=news)
        return tuple(answers)


def _take_steps(web: Web, steps: Sequence[Step]) -> Steps[None]:
    """Merge fields, make next steps and children, and hold or end each job."""
    yield from web.know(job for job, _, _ in steps)
    yield from _belong(web, steps)
    made = [job for _, _, step in steps for job in (*step.then, *step.spawn)]
    yield from web.load(name for job in made for name in (job.id, *job.after))
    yield from web.load_stages(step.publish for _, _, step in steps if step.publish is not None)
    yield from web.begin((*(job for job, _, _ in steps), *_reused(web, steps)))
    merged = {
        (web.nodes[job.id].flow, name): value
        for job, _, step in steps
        for name, value in step.merge.items()
    }
    if merged:
        yield from ask(Many("put_state", [(*key, merged[key]) for key in sorted(merged)]))
    # One for each new job and one to line it up, or to revive it; one for each parent that goes on.
    going_on = sum(step.resume is not None for _, _, step in steps)
    yield from web.draw(2 * len(made) + going_on)
    for job, item, step in steps:
        yield from _take(web, job, item, step)


def _belong(web: Web, steps: Sequence[Step]) -> Steps[None]:
    """A job without a flow becomes the first job of one with its own id, named after its task."""
    alone = [job for job, _, _ in steps if job.keep != IN_FLOW]
    if not alone:
        return
    ids = {"ids": json_text(job.id for job in alone)}
    tasks = {row[0]: row[2] for row in (yield from ask(Statement("contents_by_id", ids)))}
    new = [flow_row(NewFlow(id=job.id, name=tasks[job.id]), web.now) for job in alone]
    yield from ask(Many("add_flow", new))
    for job in alone:
        job.extras, job.keep = in_flow(job.extras, job.id), IN_FLOW
        node = Node(job.seq, job.id, job.id)
        web.put_node(node)
        web.enter(node)
    marked = [(job.keep, job.extras, job.seq) for job in alone]
    yield from ask(Many("mark_in_flow", marked))


def _reused(web: Web, steps: Sequence[Step]) -> Iterator[Standing]:
    """Children that are there already."""
    for _, _, step in steps:
        yield from (web.jobs[job.id] for job in step.spawn if job.id in web.jobs)


def _take(web: Web, job: Standing, item: Settlement, step: FlowStep) -> Steps[None]:
    node = web.nodes[job.id]
    for new in step.then:
        if new.id not in web.jobs:
            _make(web, node, new, None)
    staged = yield from _staged_for(step.publish, job.id)
    yield from _spawn(web, node, step.spawn)
    if step.publish is not None:
        publish(web, step.publish)
    if step.resume is None:
        job.result = item.result
        web.changes.end(job, State.SUCCEEDED, None)
        return
    children = tuple(dict.fromkeys((*staged, *(child.id for child in step.spawn))))
    yield from web.load(children)
    barred = yield from _in_a_circle(web, children, job.id)
    node.resume = step.resume
    web.changes.finish_attempt(job, Outcome.COMPLETE.value, goes_on=True)
    web.changes.move(job, State.HELD)
    job.reason = Reason.CHILDREN
    node.round, node.wait_join = job.attempt, join_text(step.join)
    arm(web, node, children, barred)
    begin(web, job, node)


def _make(web: Web, node: Node, new: NewJob, parent: str | None) -> None:
    mine = msgspec.structs.replace(new, flow=node.flow, parent=parent)
    made = create(web, mine, None)
    if made.state is State.WAITING:
        web.gained.add(made.queue)


def _spawn(web: Web, node: Node, children: Iterable[NewJob]) -> Steps[None]:
    """New children, or those that are there: as they are if live or succeeded, else afresh."""
    for child in children:
        there, other = web.jobs.get(child.id), web.nodes.get(child.id)
        if there is None:
            _make(web, node, child, node.id)
        elif other is not None and other.flow == node.flow:
            yield from _reuse(web, there, other)


def _reuse(web: Web, there: Standing, other: Node) -> Steps[None]:
    stage = web.unpublished(other)
    failed = there.state in (State.FAILED, State.CANCELLED)
    if stage is not None:
        if not failed:
            stage.live -= 1
            web.put_stage(stage)
        held = other.staged
        other.stage, other.staged, other.member = None, 0, None
        web.put_node(other)
        if not failed:
            web.enter(other)
            if held:
                let_go(web, there, other)
    if failed:
        yield from revive(web, [(there, other)])


def _staged_for(stage: str | None, parent: str) -> Steps[list[str]]:
    """The children that were staged under this name for this parent, in order."""
    if stage is None:
        return []
    asked = {"stage": stage, "parent": parent}
    rows = yield from ask(Statement("members", asked))
    return [job_id for (job_id,) in rows]


def publish(web: Web, name: str) -> None:
    """All jobs of the stage will run: a ripple lets them go."""
    stage = web.stages.get(name)
    if stage is None or stage.published:
        return
    web.ledger.publish(stage.flow, stage.live)
    stage.published, stage.live = 1, 0
    web.put_stage(stage)
    web.set_off(Ripple(Kind.FREE, name))


def _in_a_circle(web: Web, children: Sequence[str], job_id: str) -> Steps[dict[str, int]]:
    """Children that wait, through others, for this very job: they count as failed."""
    circle = {job_id: 0} if job_id in children else {}
    held = [i for i in children if i in web.nodes and web.nodes[i].waiting]
    if not held:
        return circle
    yield from web.write_rows()
    asked = {"ids": json_text(held), "job": job_id}
    rows = yield from ask(Statement("waiting_for", asked))
    return circle | {child: 0 for (child,) in rows}
