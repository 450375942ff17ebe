"""Claims by id pass every gate, but touch no lane and set nothing aside."""

from __future__ import annotations

from collections.abc import Sequence

from oxmill.drivers.sql.gates import Book, Gate, Gates, open_book, shut_until, targets_of
from oxmill.drivers.sql.meters import group_key
from oxmill.drivers.sql.rows import Standing, json_text
from oxmill.drivers.sql.steps import Rows, Statement
from oxmill.model.rule import Scope
from oxmill.model.value import Micros
from oxmill.store.plan import Steps, ask

Group = tuple[str, str]


def through_gates(rows: Rows, jobs: Sequence[Standing], now: Micros) -> Steps[Rows]:
    """Those of these leases that every gate lets through, one after the other."""
    queues = list(dict.fromkeys(job.queue for job in jobs))
    book = yield from open_book(queues, now)
    by_queue, by_group = yield from _gates(book, jobs, queues)
    yield from book.look_up(
        target for row in rows for target in targets_of(task=row[3], extras=row[12])
    )
    firsts = yield from _firsts(book, jobs)
    standing = {job.seq: job for job in jobs}
    granted: Rows = []
    for row in rows:
        job = standing[row[0]]
        gates: list[Gate] = [*by_queue[job.queue], *book.of_job(row[3], row[12]).values()]
        if job.group is not None:
            gates += by_group[job.queue, job.group]
        first = job.group is None or firsts.get((job.queue, job.group), job.seq) == job.seq
        if first and not shut_until(gates, now):
            for gate in gates:
                gate.enter(now)
            granted.append(row)
    yield from book.meters.write()
    return granted


def _gates(
    book: Book, jobs: Sequence[Standing], queues: list[str]
) -> Steps[tuple[dict[str, Gates], dict[Group, Gates]]]:
    """What stands before these queues and groups."""
    asked = {"queues": json_text(queues)}
    running: dict[str, int] = dict((yield from ask(Statement("running_of_queues", asked))))
    by_queue = {queue: book.of_queue(queue, running[queue]) for queue in queues}
    by_group: dict[Group, Gates] = {}
    for queue in queues:
        groups = {job.group for job in jobs if job.queue == queue and job.group is not None}
        yield from book.meters.load(group_key(queue, group) for group in groups)
        yield from book.look_up((Scope.GROUP.value, group) for group in groups)
        listed = {"queue": queue, "groups": json_text(sorted(groups))}
        counts: dict[str, int] = dict((yield from ask(Statement("running_of_groups", listed))))
        for group in groups:
            by_group[queue, group] = book.of_group(queue, group, counts[group])
    return by_queue, by_group


def _firsts(book: Book, jobs: Sequence[Standing]) -> Steps[dict[Group, int]]:
    """The first job in line of each ordered group: no other may start."""
    found: dict[Group, int] = {}
    for job in jobs:
        if job.group is None or (job.queue, job.group) in found:
            continue
        if book.of(job.queue).ordered_groups:
            asked = {"queue": job.queue, "group_name": job.group, "now": book.now}
            rows = yield from ask(Statement("first_of_group", asked))
            for (seq,) in rows:
                found[job.queue, job.group] = seq
    return found
