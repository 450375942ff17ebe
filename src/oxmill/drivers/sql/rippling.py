"""What ends and publications set off in a SQL database: done at once up to a bound, the rest by sweeps."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import takewhile

from oxmill.drivers.sql.flow_rows import Kind, Ripple
from oxmill.drivers.sql.rows import Standing, json_text
from oxmill.drivers.sql.steps import Many, Statement
from oxmill.drivers.sql.weaving import close, give_up, let_go, sheds
from oxmill.drivers.sql.web import Web
from oxmill.model.job import Reason
from oxmill.model.state import IDLE, State
from oxmill.store.plan import Steps, ask

Queue = deque[Ripple]


def ended(web: Web, news: list[Standing | Ripple]) -> Steps[list[Ripple]]:
    """Jobs of flows have ended: their flows count them no more. Gives all ripples, in order."""
    over = [each for each in news if isinstance(each, Standing)]
    awaited: set[str] = set()
    if over:
        yield from web.know(over)
        rows = yield from ask(Statement("awaited", {"ids": json_text(job.id for job in over)}))
        awaited = {upstream for (upstream,) in rows}
    ripples: list[Ripple] = []
    for each in news:
        if isinstance(each, Ripple):
            ripples.append(each)
        else:
            ripples += _set_off(web, each, awaited=each.id in awaited)
    return ripples


def _set_off(web: Web, job: Standing, *, awaited: bool) -> Iterator[Ripple]:
    node = web.nodes[job.id]
    web.ended.append(job.id)
    web.leave(node)
    if sheds(job, node):
        yield Ripple(Kind.SHED, job.id, round=node.round)
    if awaited:
        yield Ripple(Kind.CLOSE, job.id, ok=int(job.state is State.SUCCEEDED))
    if node.waiting or node.staged:
        node.waiting, node.staged, node.deadline_at = 0, 0, None
        web.put_node(node)


def ripple(web: Web, bound: int) -> Steps[None]:
    """Write what was gathered, then do what the step has set off; what is over the bound is left."""
    queue = yield from _flushed(web)
    yield from _run(web, queue, max(bound, len(queue)))
    if queue:
        web.left = True
        yield from ask(Many("add_ripple", [each.written() for each in queue]))
    yield from web.ledger.write(web.now)


def spread(web: Web, news: list[Standing | Ripple], bound: int) -> Steps[None]:
    """Do what these ends have set off, which others have written down."""
    changes = yield from web.begin(())
    changes.news = news
    yield from ripple(web, bound)


def sweep_ripples(web: Web, limit: int) -> Steps[bool]:
    """Go on with what was left, then with what this sweep has set off; whether there is more."""
    fresh = yield from _flushed(web)
    budget, last = limit, 0
    while budget > 0:
        asked = {"after": last, "most": budget}
        rows = yield from ask(Statement("ripples_left", asked, locks=True))
        left = [
            Ripple(Kind(kind), target, ok, round_, past, n)
            for n, kind, target, ok, round_, past in rows
        ]
        if not left:
            budget = yield from _run(web, fresh, budget)
            break
        last = left[-1].n or 0
        queue: Queue = deque(left)
        budget = yield from _run(web, queue, budget)
        yield from _note(left, queue)
        fresh = deque(each for each in queue if each.n is None) + fresh
    if fresh:
        yield from ask(Many("add_ripple", [each.written() for each in fresh]))
    yield from web.ledger.write(web.now)
    if fresh:
        return True
    return bool((yield from ask(Statement("ripples_left", {"after": 0, "most": 1}))))


def sweep_flows(web: Web, news: list[Standing | Ripple], limit: int) -> Steps[bool]:
    """Fail or fire joins past their deadline, and go on with ripples; whether there is more."""
    asked = {"now": web.now, "most": limit + 1}
    rows = yield from ask(Statement("overdue", asked))
    late = [job_id for (job_id,) in rows[:limit]]
    yield from web.load(late)
    changes = yield from web.begin(web.jobs[i] for i in late)
    changes.news = [*news, *changes.news]
    for job_id in late:
        give_up(web, web.jobs[job_id], web.nodes[job_id])
    more = yield from sweep_ripples(web, limit)
    return more or len(rows) > limit


def _note(left: list[Ripple], queue: Queue) -> Steps[None]:
    """Ripples that were left are done, or have come this far."""
    undone = {each.n for each in queue}
    done = [each.n for each in left if each.n not in undone]
    if done:
        yield from ask(Statement("drop_ripples", {"numbers": json_text(done)}))
    come_far = [(each.past, each.n) for each in left if each.n in undone and each.past >= 0]
    if come_far:
        yield from ask(Many("move_ripple", come_far))


def _flushed(web: Web) -> Steps[Queue]:
    """Write down what was gathered; the ripples that come of it, in the order of their causes."""
    ripples = yield from ended(web, (yield from web.write()))
    if web.dirty:
        yield from web.write()
    return deque(ripples)


def _run(web: Web, queue: Queue, budget: int) -> Steps[int]:
    """One ripple after the other; what they set off joins the end. Gives what the budget leaves."""
    while queue and budget > 0:
        match queue[0].kind:
            case Kind.CLOSE:
                units = yield from _close(web, queue, budget)
            case Kind.SHED:
                units = yield from _shed(web, queue, budget)
            case Kind.FREE:
                units = yield from _free(web, queue, budget)
        budget -= units
        queue.extend((yield from _flushed(web)))
    return budget


def _close(web: Web, queue: Queue, budget: int) -> Steps[int]:
    """All that stand first in the queue and close edges, as far as the budget goes."""
    group = list(takewhile(lambda each: each.kind is Kind.CLOSE, queue))
    ok = {each.target: each.ok for each in group}
    asked = {"ids": json_text(ok), "most": budget + 1}
    rows = yield from ask(Statement("open_edges", asked, locks=True))
    now, more = rows[:budget], rows[budget:]
    yield from web.load(dependent for _, dependent, _, _ in now)
    yield from web.begin(web.jobs[dependent] for _, dependent, _, _ in now)
    for upstream, dependent, round_, position in now:
        close(web, web.nodes[dependent], (upstream, round_, position), ok[upstream])
    # Those before the first that has edges left are done.
    unfinished = more[0][0] if more else None
    while queue and queue[0].kind is Kind.CLOSE and queue[0].target != unfinished:
        queue.popleft()
    return len(now)


def _shed(web: Web, queue: Queue, budget: int) -> Steps[int]:
    each = queue[0]
    yield from web.load((each.target,))
    node = web.nodes.get(each.target)
    if node is None:
        queue.popleft()
        return 0
    asked = {"job": node.job, "round": each.round, "past": each.past, "most": budget + 1}
    rows = yield from ask(Statement("edges_to_shed", asked))
    now = rows[:budget]
    upstreams = [upstream for upstream, _ in now]
    yield from web.load(upstreams)
    found = yield from ask(Statement("wanted", {"ids": json_text(upstreams)}))
    wanted = {upstream for (upstream,) in found}
    jobs = [web.jobs[i] for i in upstreams if i in web.jobs and i not in wanted]
    changes = yield from web.begin(jobs)
    asked_to_stop = []
    for job in jobs:
        if job.state in IDLE:
            changes.end(job, State.CANCELLED, Reason.SIBLING)
        elif job.state is State.RUNNING and not job.cancel_requested:
            job.cancel_requested, job.reason = 1, Reason.SIBLING
            asked_to_stop.append(job.seq)
    if asked_to_stop:
        web.asked = True
        stop = {"seqs": json_text(asked_to_stop), "reason": str(Reason.SIBLING)}
        yield from ask(Statement("ask_to_stop", stop))
    if len(rows) > budget:
        each.past = now[-1][1]
    else:
        queue.popleft()
    return len(now)


def _free(web: Web, queue: Queue, budget: int) -> Steps[int]:
    asked = {"stage": queue[0].target, "most": budget + 1}
    rows = yield from ask(Statement("staged_jobs", asked))
    ids = [job_id for (job_id,) in rows]
    now = ids[:budget]
    yield from web.load(now)
    yield from web.begin(web.jobs[i] for i in now)
    for job_id in now:
        node = web.nodes[job_id]
        if node.staged:
            let_go(web, web.jobs[job_id], node)
    if len(ids) <= budget:
        queue.popleft()
    return len(now)
