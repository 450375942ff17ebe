"""The usual step of a flow: a job succeeds, fields are merged, and next steps begin at once.

Steps of pipelines are of this kind, so they are written for the batch as a whole. Whatever spawns,
waits or publishes, and whatever is the least bit doubtful, goes the long way in `stepping`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any

from oxmill.drivers.sql.arriving import STATE_OF_ROW, Row, labels_of, step_row
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

_WAITING = State.WAITING.value
_WON, _SUCCEEDED = Ruling.WON, State.SUCCEEDED

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


Leave = Callable[[Sequence[str], Micros], Steps[list[str]]]
"""Flows, each named once, have one live job less; gives those that end by that."""


@dataclass(slots=True)
class HandedOver:
    """Steps of the usual kind, as they are written."""

    now: Micros
    numbers: Iterator[int]
    ledger: Ledger
    queues: list[str] = field(default_factory=list)
    """Where jobs ended."""
    made: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Where jobs began, and in which state."""
    plain: list[int] = field(default_factory=list)
    with_result: list[tuple[bytes, Micros, None, int]] = field(default_factory=list)
    merged: dict[tuple[str, str], bytes] = field(default_factory=dict)
    """The fields that are written, the last one of a name."""
    left: list[str] = field(default_factory=list)
    """Flows that have one live job less."""
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
        for name, value in step.merge.items():
            self.merged[flow, name] = value
        if item.result is None:
            self.plain.append(seq)
        else:
            self.with_result.append((item.result, self.now, None, seq))
        if group is not None:
            self.stopped[group, queue] = None
        self.queues.append(queue)
        then = step.then
        if not then:
            self.left.append(flow)
        elif len(then) > 1:
            self.ledger.go_on(flow, len(then) - 1)
        for job in then:
            self.make(flow, job, next(self.numbers))

    def make(self, flow: str, job: NewJob, seq: int) -> None:
        """A next step begins."""
        row = step_row(job, flow, seq, self.now)
        self.rows.append(row)
        self.nodes.append((seq, job.id, flow, reads_text(job.reads)))
        self.made[job.queue, row[STATE_OF_ROW]] += 1
        if job.fields or job.tags:
            self.labelled.append(row)
        if job.group is not None and row[STATE_OF_ROW] == _WAITING:
            self.newcomers.append((job.group, job.queue, job.priority, seq))

    @property
    def gained(self) -> set[str]:
        """Queues in which next steps wait."""
        return {queue for queue, state in self.made if state == _WAITING}

    def write_new(self) -> Steps[None]:
        """Write down the next steps and that they are part of their flows."""
        if self.rows:
            if (yield from ask(Many("insert_job", self.rows, sure=True))) < len(self.rows):
                raise Overtaken
            yield from ask(Many("add_node", self.nodes))

    def write(self) -> Steps[None]:
        """Write them down."""
        yield from self.write_new()
        if self.labelled and (found := labels_of(self.labelled)):
            yield from ask(Many("add_fields", found))
        if self.merged:
            # In the order in which everybody locks them.
            fields = [(*key, value) for key, value in sorted(self.merged.items())]
            yield from ask(Many("put_state", fields))
        if self.plain:
            asked = {"seqs": json_text(self.plain), "now": self.now, "prune_at": None}
            yield from ask(Statement("complete_jobs", asked))
        if self.with_result:
            yield from ask(Many("complete_job", self.with_result))
        yield from join_lanes(self.newcomers)
        yield from free_lanes(self.stopped)
        tally = Tally()
        for queue, n in Counter(self.queues).items():
            tally.add(queue, State.RUNNING, -n)
            tally.add(queue, State.SUCCEEDED, n, n)
        for (queue, state), n in self.made.items():
            tally.add(queue, State(state), n)
        yield from tally.write()

    def enter_left(self) -> None:
        """Have the ledger say what flows have one live job less."""
        for flow in self.left:
            self.ledger.go_on(flow, -1)

    def settle_flows(self, leave: Leave) -> Steps[list[str]]:
        """Write down how many jobs of flows are live; gives the flows that end."""
        once = len(set(self.left)) == len(self.left)
        if not once:
            self.enter_left()
        yield from self.ledger.write(self.now)
        if self.left and once:
            self.ledger.ended += yield from leave(self.left, self.now)
        return self.ledger.ended


def hand_over(
    items: Sequence[Settlement],
    now: Micros,
    flows: InFlows,
    leave: Leave,
    way: type[HandedOver] = HandedOver,
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
    if any(there) or not _all_held(items, leases):
        return None
    drawn = [Draw(len(made))] if made else []
    waited_for, *numbers = yield from ask(Wave([Statement("awaited", ids), *drawn]))
    awaited = {job_id for (job_id,) in waited_for}
    ledger = flows.web(now).ledger if awaited else Ledger()
    done = way(now, chain(*numbers), ledger)
    answers: dict[str, Settled] = {}
    for item in items:
        lease = leases[item.id]
        assert item.flow is not None  # noqa: S101 - looked at above
        done.add(lease, item, item.flow)
        answers[item.id] = won(item.id, lease[2], lease[7], lease[8])
    yield from done.write()
    if awaited:  # then the flows are written after what is set off
        done.enter_left()
        ripples = [Ripple(Kind.CLOSE, item.id, ok=1) for item in items if item.id in awaited]
        flows.handed_over(done.gained, (), ripples)
    else:
        flows.handed_over(done.gained, (yield from done.settle_flows(leave)))
    return answers


def leave_by_ledger(flows: Sequence[str], now: Micros) -> Steps[list[str]]:
    """The way of every database to leave flows."""
    ledger = Ledger()
    for flow in flows:
        ledger.go_on(flow, -1)
    yield from ledger.write(now)
    return ledger.ended


def won(job_id: str, queue: str, group: str | None, limits: int | None) -> Settled:
    """The answer for a job that has succeeded."""
    gained = (queue,) if limits and frees(limits, group) else ()
    return Settled(id=job_id, ruling=_WON, state=_SUCCEEDED, queue=queue, gained=gained)


def _all_held(items: Sequence[Settlement], leases: Mapping[str, Sequence[Any]]) -> bool:
    """Whether these are leases of jobs of flows, under the tokens of the settlements."""
    for item in items:
        lease = leases.get(item.id)
        if lease is None or lease[5] != IN_FLOW:
            return False
        attempt, nonce = item.token
        if lease[3] != attempt or lease[4] != stored_nonce(nonce):
            return False
    return True
