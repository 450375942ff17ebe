"""Random flows run to their end through any driver: joins fire once, in time, and nothing hangs.

A story is a graph whose jobs succeed, fail, are tried again, crash, or make children, with people
who cancel some of them meanwhile, with answers that get lost, and perhaps with a second act in which
all that failed or was cancelled is redriven. It is told through the contract alone, and judged by the
one rule about joins: each job starts only when its join says so, once, with the results of what it
waited for; who never started has a reason for it; what succeeded never runs again; and every flow ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from hypothesis import strategies as st

from oxmill.model.claim import Claim
from oxmill.model.flow import FlowStatus, FlowStep, Join, JoinPolicy, NewFlow, OnFailure
from oxmill.model.info import Sweep
from oxmill.model.job import Enqueue, Job, LeasedJob, NewJob, Reason
from oxmill.model.query import Cancel, Filter, Get, Redrive
from oxmill.model.settings import SECOND
from oxmill.model.settlement import Outcome, Ruling, Settle, Settlement
from oxmill.model.state import LIVE, TERMINAL, State
from oxmill.rules.join import Edges, Turnout, overdue, turnout
from oxmill.testing.clock import VirtualClock
from oxmill.testing.dump import Do, all_flows, all_jobs

FLOW: Final = "story"
DEADLINE: Final = 5 * SECOND
PATIENCE: Final = 8
"""Turns in which nothing starts, after which nothing ever will: all deadlines are past."""


@dataclass(frozen=True)
class Node:
    """One job of a story: what it waits for, and what each of its runs does."""

    after: tuple[int, ...]
    join: Join
    runs: tuple[str, ...]
    children: tuple[Node, ...] = ()
    child_join: Join = field(default_factory=Join)


@dataclass(frozen=True)
class Story:
    """A graph, who is cancelled after how many turns, and how many jobs a worker takes."""

    nodes: tuple[Node, ...]
    cancels: tuple[tuple[int, int], ...]
    batch: int
    lossy: bool = False
    """Whether every answer to an enqueue or a settlement gets lost once, so that it is told again."""
    redrives: int = 0
    """How many at once are redriven after the end, when all runs succeed; 0 for no second act."""
    children_too: bool = True
    """Whether children are redriven as well, or only as far as their parents make them again."""


RUNS: Final = st.sampled_from(("done", "done", "done", "fail", "retry", "crash", "then", "stop"))
Draw = Callable[[st.SearchStrategy[Any]], Any]


# Drawn by hand: of what is built or mapped, Hypothesis keeps every way in which it came about, and to
# show a story it goes through all of those of each empty tuple in it, for minutes.
@st.composite
def _joins(draw: Draw) -> Join:
    policy = draw(st.sampled_from(JoinPolicy))
    return Join(
        policy=policy,
        on_failure=draw(st.sampled_from(OnFailure)),
        deadline=draw(st.sampled_from((None, None, DEADLINE))),
        quorum=draw(st.integers(1, 2)) if policy is JoinPolicy.QUORUM else 0,
    )


@st.composite
def _nodes(draw: Draw, depth: int) -> Node:
    children = draw(st.lists(_nodes(depth - 1), max_size=3)) if depth else ()
    return Node(
        after=tuple(draw(st.lists(st.integers(0, 7), max_size=3, unique=True))),
        join=draw(_joins()),
        runs=tuple(draw(st.lists(RUNS, max_size=3))),
        children=tuple(children),
        child_join=draw(_joins()),
    )


@st.composite
def stories(draw: Draw) -> Story:
    """Graphs of up to eight jobs, with children and grandchildren."""
    return Story(
        nodes=tuple(draw(st.lists(_nodes(2), min_size=1, max_size=8))),
        cancels=tuple(draw(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 7)), max_size=2))),
        batch=draw(st.sampled_from((1, 2, 5))),
        lossy=draw(st.booleans()),
        redrives=draw(st.sampled_from((0, 2, 1_000))),
        children_too=draw(st.booleans()),
    )


def tell(do: Do, clock: VirtualClock, story: Story) -> None:
    """Run a story to its end, and judge every start and every end."""
    _Telling(do, clock, story).run()


class _Telling:
    """One story on its way."""

    def __init__(self, do: Do, clock: VirtualClock, story: Story) -> None:
        self._do, self._clock, self._story = do, clock, story
        self._plans: dict[str, Node] = {}
        self._waits: dict[str, tuple[Join, tuple[str, ...], int]] = {}
        """job → the join that it waits for, over what, and since when."""
        self._first: dict[str, tuple[Join, tuple[str, ...]]] = {}
        """job → what it waits for before its first run."""
        self._all_waits: list[tuple[str, Join, tuple[str, ...]]] = []
        """Every wait there ever was."""
        self._ran: Counter[str] = Counter()
        self._may_start: dict[str, bool] = {}
        """Jobs that were claimed before, and whether they may be claimed again."""
        self._due: set[str] = set()
        """Jobs that have not started since they began to wait."""
        self._mended = False
        """Whether this is the second act."""
        self._nonce = 0

    def run(self) -> None:
        """One act, and perhaps another."""
        jobs = [self._new(f"n{n}", node, n) for n, node in enumerate(self._story.nodes)]
        self._tell(Enqueue(jobs=tuple(jobs), flow=NewFlow(id=FLOW, name="story")))
        self._act(self._story.cancels)
        if self._story.redrives:
            self._mended = True
            self._redrive()
            self._act(())

    def _act(self, cancels: tuple[tuple[int, int], ...]) -> None:
        """Turn after turn, until nothing is live."""
        idle = 0
        for turn in range(200):
            for when, whom in cancels:
                if when == turn:
                    self._do(Cancel(filter=Filter(ids=(f"n{whom}",))))
            idle = 0 if self._turn() else idle + 1
            if idle > PATIENCE or (idle and not self._live()):
                break
        self._judge_the_end({f"n{whom}" for _, whom in cancels})

    def _redrive(self) -> None:
        """Whatever did not succeed gets a fresh start, and waits for what it first waited for."""
        ids = tuple(f"n{n}" for n in range(len(self._story.nodes)))
        whom = Filter(flow=FLOW) if self._story.children_too else Filter(ids=ids)
        self._due.clear()
        more = True
        while more:
            driven = self._do(Redrive(filter=whom, limit=self._story.redrives))
            more = driven.more
            self._start_afresh(driven.ids)

    def _start_afresh(self, job_ids: Iterable[str]) -> None:
        for job_id in job_ids:
            self._may_start[job_id] = True
            self._due.add(job_id)
            self._waits.pop(job_id, None)
            if job_id in self._first:
                self._begin(job_id, *self._first[job_id])

    def _tell(self, request: Any) -> Any:
        """What is told again, because the answer got lost, is answered alike and changes nothing."""
        answer = self._do(request)
        return self._do(request) if self._story.lossy else answer

    def _new(self, job_id: str, node: Node, n: int, **more: Any) -> NewJob:
        after = tuple(f"n{each}" for each in node.after if each < n)
        join = node.join if after else None
        if join is not None and join.quorum > len(after):
            join = Join(policy=JoinPolicy.ANY, on_failure=join.on_failure)
        if job_id not in self._plans:
            self._due.add(job_id)
        self._plans[job_id] = node
        if join is not None:
            self._first[job_id] = (join, after)
            self._begin(job_id, join, after)
        limits = {"max_attempts": 3, "crash_limit": 2}
        content: Any = {"queue": f"q{n % 2}", "task": "t", "payload": b""} | limits | more
        return NewJob(id=job_id, flow=FLOW, after=after, join=join, **content)

    def _begin(self, job_id: str, join: Join, upstreams: tuple[str, ...]) -> None:
        self._waits[job_id] = (join, upstreams, self._clock.now)
        self._all_waits.append((job_id, join, upstreams))
        self._due.add(job_id)

    def _live(self) -> list[Job]:
        return [job for job in all_jobs(self._do) if job.state in LIVE]

    def _turn(self) -> int:
        """Time passes, a worker takes some jobs, and each does what is planned; how many."""
        self._clock.advance(2 * SECOND)
        while self._do(Sweep()).more:
            pass
        self._nonce += 1
        claim = Claim(
            queues=("q0", "q1"),
            limit=self._story.batch,
            lease=SECOND,
            worker="w",
            nonce=self._nonce,
        )
        leases = self._do(claim).jobs
        for lease in leases:
            self._judge_the_start(lease)
        items = [item for lease in leases if (item := self._settlement(lease)) is not None]
        if items:
            answers = self._tell(Settle(items=tuple(items)))
            lost = [answer.id for answer in answers if answer.ruling is not Ruling.WON]
            assert not lost, f"{lost} had lost their leases"
        return len(leases)

    def _settlement(self, lease: LeasedJob) -> Settlement | None:
        node = self._plans[lease.id]
        nth = self._ran[lease.id]
        self._ran[lease.id] += 1
        how = node.runs[nth] if nth < len(node.runs) and not self._mended else "done"
        told: dict[str, Any] = {"outcome": Outcome.COMPLETE, "result": lease.id.encode()}
        again = how in {"retry", "crash"}
        if how == "crash":
            self._may_start[lease.id] = True
            return None
        if how in {"fail", "retry", "stop"}:
            outcomes = {"fail": Outcome.FAIL, "retry": Outcome.RETRY, "stop": Outcome.CANCEL}
            told["outcome"] = outcomes[how]
        elif node.children and lease.resume is None:
            told["flow"] = self._spawn(lease.id, node)
            again = True
        elif how == "then":
            told["flow"] = FlowStep(
                merge={lease.id: b"1"},
                then=(self._new(f"{lease.id}+", Node((), Join(), ()), 0),),
            )
        self._may_start[lease.id] = again
        return Settlement(id=lease.id, token=lease.token, **told)

    def _spawn(self, parent: str, node: Node) -> FlowStep:
        """The same children whenever the parent gets this far; those that did not succeed start afresh."""
        ids = tuple(f"{parent}.{n}" for n in range(len(node.children)))
        over = [
            job.id for job in self._do(Get(ids=ids)) if job.state in TERMINAL - {State.SUCCEEDED}
        ]
        made = tuple(
            self._new(f"{parent}.{n}", Node((), Join(), each.runs, each.children), n)
            for n, each in enumerate(node.children)
        )
        join = node.child_join
        if join.quorum > len(made):
            join = Join(policy=JoinPolicy.ANY, on_failure=join.on_failure)
        self._start_afresh(over)
        self._begin(parent, join, ids)
        return FlowStep(spawn=made, join=join, resume="go", merge={parent: b"spawned"})

    def _judge_the_start(self, lease: LeasedJob) -> None:
        """A job starts when its join has fired, and again only if its last run asked for it."""
        assert self._may_start.get(lease.id, True), f"{lease.id} runs after its end"
        self._may_start[lease.id] = False
        self._due.discard(lease.id)
        if lease.id not in self._waits:
            return
        join, upstreams, since = self._waits[lease.id]
        if lease.resume is not None:
            assert lease.joined == upstreams, f"{lease.id} was given {lease.joined}"
        self._judge_the_results(upstreams)
        late = join.deadline is not None and self._clock.now >= since + join.deadline
        if late and join.on_failure is not OnFailure.CANCEL:
            return
        found = turnout(join, self._edges(upstreams))
        assert found is Turnout.FIRE, f"{lease.id} started although its join would {found}"

    def _judge_the_results(self, names: tuple[str, ...]) -> None:
        """Whoever starts finds the result of each job that has succeeded."""
        found = {
            job.id: job.result for job in self._do(Get(ids=names)) if job.state is State.SUCCEEDED
        }
        wanted = {name: name.encode() for name in found}
        assert found == wanted, f"results are {found}"

    def _edges(self, upstreams: tuple[str, ...]) -> Edges:
        jobs: dict[str, Job] = {job.id: job for job in self._do(Get(ids=upstreams))}
        ended = [job.state for job in jobs.values() if job.state in TERMINAL]
        succeeded = sum(state is State.SUCCEEDED for state in ended)
        failed = len(ended) - succeeded + len(upstreams) - len(jobs)
        return Edges(succeeded=succeeded, failed=failed, open=len(upstreams) - succeeded - failed)

    def _judge_the_end(self, asked: set[str]) -> None:
        """Every flow ends, and who waited has learnt what became of what it waited for."""
        jobs: dict[str, Job] = {job.id: job for job in all_jobs(self._do)}
        stuck = [f"{job.id} is {job.state}" for job in jobs.values() if job.state in LIVE]
        assert not stuck, stuck
        (flow,) = all_flows(self._do)
        assert flow.status is not FlowStatus.RUNNING
        for job_id, (join, upstreams, _) in self._waits.items():
            job = jobs.get(job_id)
            if job is None or join.on_failure is not OnFailure.CANCEL:
                continue
            if turnout(join, self._edges(upstreams)) is Turnout.FAIL:
                assert job.state is not State.SUCCEEDED, f"{job_id} went on in spite of failures"
        self._judge_the_results(tuple(jobs))
        for job_id in sorted(self._due & jobs.keys()):
            assert self._excused(jobs[job_id], jobs, asked), (
                f"{job_id} never started, and is {jobs[job_id].state}: {jobs[job_id].reason}"
            )

    def _excused(self, job: Job, jobs: dict[str, Job], asked: set[str]) -> bool:
        """Whether a job that never started, or never went on, is right in that."""
        join, upstreams, since = self._waits.get(job.id, (None, (), 0))
        match job.reason:
            case Reason.DEPENDENCY:
                return join is not None and turnout(join, self._edges(upstreams)) is Turnout.FAIL
            case Reason.DEADLINE:
                return (
                    join is not None
                    and join.deadline is not None
                    and overdue(join) is Turnout.FAIL
                    and (job.ended_at or 0) >= since + join.deadline
                )
            case Reason.SIBLING:
                return any(
                    job.id in others
                    and (each.on_failure is OnFailure.CANCEL or jobs[i].state is State.CANCELLED)
                    for i, each, others in self._all_waits
                )
            case _:
                return job.state is State.CANCELLED and job.id in asked
