"""The usual end of a job: it succeeds, and that concerns nobody else.

Nearly all settlements are of this kind, so they are written for the batch as a whole. Everything
else, and whatever is the least bit doubtful, goes the long way in `settling`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from oxmill.drivers.sql.flow_rows import IN_FLOW
from oxmill.drivers.sql.lanes import free_lanes
from oxmill.drivers.sql.limits import frees, load_settings
from oxmill.drivers.sql.rows import json_text, stored_nonce
from oxmill.drivers.sql.steps import Many, Rows, Statement
from oxmill.drivers.sql.tally import Tally
from oxmill.model.settings import QueueSettings
from oxmill.model.settlement import Outcome, Ruling, Settled, Settlement
from oxmill.model.state import State
from oxmill.model.value import Micros
from oxmill.store.plan import Steps, ask


@dataclass(slots=True)
class _Completed:
    """Jobs that succeed, by how they are written."""

    now: Micros
    kept: defaultdict[Micros, list[int]] = field(default_factory=lambda: defaultdict(list))
    with_result: list[tuple[bytes, Micros, Micros, int]] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)
    past: list[int] = field(default_factory=list)
    """Those of them that ran before, and have a history."""
    by_queue: defaultdict[str, list[int]] = field(
        default_factory=lambda: defaultdict(lambda: [0, 0])
    )
    stopped: dict[tuple[str, str], None] = field(default_factory=dict)
    """Groups, with their queues, of which jobs run no longer."""

    def add(self, lease: tuple[Any, ...], keep: Micros, result: bytes | None) -> None:
        """One more."""
        _, seq, queue, attempt, _, _, _, group, _ = lease
        if group is not None:
            self.stopped[group, queue] = None
        count = self.by_queue[queue]
        count[0] += 1
        if keep == 0:
            self.gone.append(seq)
            count[1] += 1
            if attempt > 1:
                self.past.append(seq)
        elif result is None:
            self.kept[keep].append(seq)
        else:
            self.with_result.append((result, self.now, self.now + keep, seq))

    def write(self) -> Steps[None]:
        """Write them down."""
        for keep, seqs in self.kept.items():
            asked = {"seqs": json_text(seqs), "now": self.now, "prune_at": self.now + keep}
            yield from ask(Statement("complete_jobs", asked))
        if self.with_result:
            yield from ask(Many("complete_job", self.with_result))
        if self.past:
            yield from ask(Statement("drop_attempts", {"jobs": json_text(self.past)}))
        if self.gone:
            yield from ask(Statement("delete_jobs", {"seqs": json_text(self.gone)}))
        yield from free_lanes(self.stopped)
        tally = Tally()
        for queue, (n, gone) in self.by_queue.items():
            tally.add(queue, State.RUNNING, -n)
            tally.add(queue, State.SUCCEEDED, n - gone, n)
        yield from tally.write()


def complete(items: Iterable[Settlement], now: Micros) -> Steps[dict[str, Settled]]:
    """Settle those of the items that are plain successes under a valid token; the answers by id.
    No id may come twice."""
    asked = [
        item
        for item in items
        if item.outcome is Outcome.COMPLETE and item.error is None and item.flow is None
    ]
    if not asked:
        return {}
    ids = json_text([item.id for item in asked])
    rows: Rows = yield Statement("plain_leases", {"ids": ids}, locks=True)
    leases = {row[0]: row for row in rows}
    settings = yield from load_settings({row[2] for row in rows if row[5] is None})
    usual = QueueSettings()
    done = _Completed(now)
    answers: dict[str, Settled] = {}
    for item in asked:
        lease = leases.get(item.id)
        if lease is None:
            continue
        job_id, _, queue, attempt, nonce, keep, labelled, group, limits = lease
        if attempt != item.token.attempt or nonce != stored_nonce(item.token.nonce):
            continue
        if keep == IN_FLOW:
            continue  # somebody may wait for it
        if keep is None:
            keep = settings.get(queue, usual).keep_succeeded
        if keep == 0 and labelled:
            continue  # its fields must go too
        done.add(lease, keep, item.result)
        gained = (queue,) if limits and frees(limits, group) else ()
        answers[job_id] = Settled(
            id=job_id, ruling=Ruling.WON, state=State.SUCCEEDED, queue=queue, gained=gained
        )
    yield from done.write()
    return answers
