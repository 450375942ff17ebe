"""The usual step of a flow: a job succeeds, fields are merged, and next steps begin at once.

Steps of pipelines are of this kind, so they are written for the batch as a whole. Whatever spawns,
waits or publishes, and whatever is the least bit doubtful, goes the long way in `stepping`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any

from oxmill.drivers.sql.arriving import Row, due_of, labels_of, step_row
from oxmill.drivers.sql.flow_rows import IN_FLOW, Kind, Ripple, names_text
from oxmill.drivers.sql.lanes import Newcomer, free_lanes, join_lanes
from oxmill.drivers.sql.ledger import Ledger
from oxmill.drivers.sql.limits import frees
from oxmill.drivers.sql.rows import extras_in, json_text, stored_nonce
from oxmill.drivers.sql.stepping import InFlows
from oxmill.drivers.sql.steps import Draw, Many, Overtaken, Statement, Wave
from oxmill.drivers.sql.tally import Tally
from oxmill.model.flow import FlowStep
from oxmill.model.job import NewJob
from oxmill.model.settlement import Outcome, Ruling, Settled, Settlement
from oxmill.model.state import State
from oxmill.model.value import Micros
from oxmill.store.plan import Steps, ask

reads_text = lru_cache(maxsize=256)(names_text)
"""The fields that a task reads are the same for all its jobs."""


def next_steps(items: Iterable[Settlement]) -> list[NewJob] | None:
    """The jobs that these steps make, if all of them are of the usual kind and no job comes twice."""
    made: list[NewJob] = []
    for item in items:
        step = item.flow
        if step is None or item.outcome is not Outcome.COMPLETE or item.error is not None:
            return None
        if step.resume is not None or step.publish is not None or step.spawn:
            return None
        made += step.then
    if any(job.after for job in made) or len({job.id for job in made}) < len(made):
        return None
    return made


def merged_fields(flows: Iterable[tuple[str, FlowStep]]) -> list[tuple[str, str, bytes]]:
    """The fields that steps write into the states of their flows, the last one of a name, in the
    order in which everybody locks them."""
    merged = {(flow, name): value for flow, step in flows for name, value in step.merge.items()}
    return [(*key, merged[key]) for key in sorted(merged)]


@dataclass(slots=True)
class _HandedOver:
    """Steps of the usual kind, as they are written."""

    now: Micros
    numbers: Iterator[int]
    ledger: Ledger
    ended: dict[str, int] = field(default_factory=dict)
    made: dict[tuple[str, State], int] = field(default_factory=dict)
    plain: list[int] = field(default_factory=list)
    with_result: list[tuple[bytes, Micros, None, int]] = field(default_factory=list)
    steps: list[tuple[str, FlowStep]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    nodes: list[tuple[int, str, str, str | None]] = field(default_factory=list)
    labelled: list[Row] = field(default_factory=list)
    newcomers: list[Newcomer] = field(default_factory=list)
    stopped: dict[tuple[str, str], None] = field(default_factory=dict)

    def add(self, lease: Sequence[Any], item: Settlement, step: FlowStep) -> None:
        """A job ends and its next steps are made. A flow that goes on with as many jobs as before
        stays as it is: its record tells only how many are live."""
        _, seq, queue, _, _, _, extras, group, _ = lease
        flow = extras_in(extras).flow
        assert flow is not None  # noqa: S101 - `keep` says that it is of a flow
        self.steps.append((flow, step))
        if item.result is None:
            self.plain.append(seq)
        else:
            self.with_result.append((item.result, self.now, None, seq))
        if group is not None:
            self.stopped[group, queue] = None
        self.ended[queue] = self.ended.get(queue, 0) + 1
        then = step.then
        if len(then) != 1:
            self.ledger.go_on(flow, len(then) - 1)
        for job in then:
            self._make(flow, job, next(self.numbers))

    def _make(self, flow: str, job: NewJob, seq: int) -> None:
        due_at = due_of(job, self.now)
        state = State.SCHEDULED if due_at > self.now else State.WAITING
        row = step_row(job, flow, seq, self.now, (state, due_at))
        self.rows.append(row)
        self.nodes.append((seq, job.id, flow, reads_text(job.reads)))
        if job.fields or job.tags:
            self.labelled.append(row)
        key = (job.queue, state)
        self.made[key] = self.made.get(key, 0) + 1
        if job.group is not None and state is State.WAITING:
            self.newcomers.append((job.group, job.queue, job.priority, seq))

    @property
    def gained(self) -> set[str]:
        """Queues in which next steps wait."""
        return {queue for queue, state in self.made if state is State.WAITING}

    def write(self) -> Steps[None]:
        """Write them down."""
        if self.rows:
            if (yield from ask(Many("insert_job", self.rows, sure=True))) < len(self.rows):
                raise Overtaken
            yield from ask(Many("add_node", self.nodes))
        if self.labelled and (found := labels_of(self.labelled)):
            yield from ask(Many("add_fields", found))
        if merged := merged_fields(self.steps):
            yield from ask(Many("put_state", merged))
        if self.plain:
            asked = {"seqs": json_text(self.plain), "now": self.now, "prune_at": None}
            yield from ask(Statement("complete_jobs", asked))
        if self.with_result:
            yield from ask(Many("complete_job", self.with_result))
        yield from join_lanes(self.newcomers)
        yield from free_lanes(self.stopped)
        tally = Tally()
        for queue, n in self.ended.items():
            tally.add(queue, State.RUNNING, -n)
            tally.add(queue, State.SUCCEEDED, n, n)
        for (queue, state), n in self.made.items():
            tally.add(queue, state, n)
        yield from tally.write()


def hand_over(
    items: Sequence[Settlement], now: Micros, flows: InFlows
) -> Steps[dict[str, Settled] | None]:
    """Settle these steps, if all of them are of the usual kind and under a valid token; otherwise
    nothing is written, and there is no answer."""
    made = next_steps(items)
    if made is None or flows.busy:
        return None
    ids = {"ids": json_text([item.id for item in items])}
    next_ids = {"ids": json_text([job.id for job in made])}
    asked = [Statement("step_leases", ids, locks=True), Statement("jobs_there", next_ids)]
    rows, *there = yield from ask(Wave(asked if made else asked[:1]))
    leases = {row[0]: row for row in rows}
    if any(there) or not all(_held(leases.get(item.id), item) for item in items):
        return None
    drawn = [Draw(len(made))] if made else []
    waited_for, *numbers = yield from ask(Wave([Statement("awaited", ids), *drawn]))
    awaited = {job_id for (job_id,) in waited_for}
    ledger = flows.web(now).ledger if awaited else Ledger()
    done = _HandedOver(now, chain(*numbers), ledger)
    answers: dict[str, Settled] = {}
    for item in items:
        lease = leases[item.id]
        assert item.flow is not None  # noqa: S101 - looked at above
        done.add(lease, item, item.flow)
        answers[item.id] = won(item.id, lease[2], lease[7], lease[8])
    yield from done.write()
    if awaited:  # then the flows are written after what is set off
        ripples = [Ripple(Kind.CLOSE, item.id, ok=1) for item in items if item.id in awaited]
        flows.handed_over(done.gained, (), ripples)
    else:
        yield from ledger.write(now)
        flows.handed_over(done.gained, ledger.ended)
    return answers


def won(job_id: str, queue: str, group: str | None, limits: int | None) -> Settled:
    """The answer for a job that has succeeded."""
    gained = (queue,) if limits and frees(limits, group) else ()
    return Settled(id=job_id, ruling=Ruling.WON, state=State.SUCCEEDED, queue=queue, gained=gained)


def _held(lease: Sequence[Any] | None, item: Settlement) -> bool:
    """Whether this is the lease of a job of a flow, under the token of the settlement."""
    if lease is None:
        return False
    _, _, _, attempt, nonce, keep, _, _, _ = lease
    token = item.token
    return bool(keep == IN_FLOW and attempt == token.attempt and nonce == stored_nonce(token.nonce))
