"""A claim on queues of which at least one is gated: lanes take turns, what is closed stands aside.

Claims of one gated queue follow each other: what they count and spend is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from oxmill.drivers.sql.asides import Asides
from oxmill.drivers.sql.gates import FOREVER, Book, Gates, open_book, shut_until
from oxmill.drivers.sql.granting import grant
from oxmill.drivers.sql.lanes import NO_GROUP, LaneBook, LaneKey
from oxmill.drivers.sql.rows import json_text
from oxmill.drivers.sql.serving import Errand, GatedQueue, Line, Next, PlainQueue, serve
from oxmill.drivers.sql.steps import Enter, Rows, Statement, abreast
from oxmill.model.bounds import Bounds
from oxmill.model.claim import Claim
from oxmill.model.value import Micros
from oxmill.store.plan import Steps, ask


class GatedClaim:
    """One claim under way."""

    def __init__(
        self, request: Claim, queues: list[str], gated: list[str], now: Micros, bounds: Bounds
    ) -> None:
        self._request = request
        self._queues = queues
        self._gated = gated
        """Those of the queues that may be gated."""
        self._now = now
        self._bound = bounds.cleanup_jobs

    def grant(self) -> Steps[tuple[Rows, list[Micros]]]:
        """The jobs that go out, and when gates open that keep others back."""
        _, book, ahead = yield from abreast(
            ask(Enter(self._gated)), open_book(self._queues, self._now), _ahead(self._queues)
        )
        asides = Asides(book)
        errand = Errand(book, LaneBook(), self._request.limit, self._bound, self._bound)
        lines = yield from self._lines(book, ahead, asides, errand)
        chosen = yield from serve(lines, errand)
        rows, _ = yield from abreast(self._leases(chosen, errand.lanes), errand.lanes.draw())
        yield from grant(rows, self._request, self._now)
        yield from asides.write(errand.asides, errand.queues)
        yield from errand.lanes.write()
        yield from book.meters.write()
        if len(rows) == self._request.limit:
            return rows, []
        moments = yield from look_again([(line.queue, line.gates) for line in lines], self._now)
        return rows, [*moments, self._now] if errand.cut else moments

    def _lines(self, book: Book, ahead: Rows, asides: Asides, errand: Errand) -> Steps[list[Line]]:
        """The queues, with everything in its lane that may stand there now."""
        grouped: set[str] = set()
        for queue, has_groups, parked_at, aside_at in ahead:
            asked = {"queue": queue, "now": self._now, "most": self._bound}
            if parked_at is not None and parked_at <= self._now:
                yield from ask(Statement("open_lanes", asked))
            back = False
            if aside_at is not None and aside_at <= self._now:
                back = yield from asides.bring_back(queue, self._bound)
            if has_groups or back:
                grouped.add(queue)
        gated = [queue for queue in self._queues if queue in grouped or book.gated(queue)]
        limited = [queue for queue in gated if book.of(queue).concurrency is not None]
        plain = [ask(Statement("plain_lanes", {"queue": queue})) for queue in gated]
        *_, running = yield from abreast(*plain, _running(limited))
        return [
            GatedQueue(queue, errand, book.of_queue(queue, running.get(queue, 0)))
            if queue in gated
            else PlainQueue(queue, errand)
            for queue in self._queues
        ]

    def _leases(self, chosen: Sequence[Next], lanes: LaneBook) -> Steps[Rows]:
        """The jobs chosen, as far as nobody was faster to change them. Their lanes stay."""
        if not chosen:
            return []
        by_seq = {found.head.seq: found.lane.key for found in chosen}
        asked = {"seqs": json_text(by_seq)}
        found = yield from ask(Statement("leases_by_seq", asked, locks=True))
        rows = [row for row in found if _stands_in(row, by_seq[row[0]])]
        granted = {row[0] for row in rows}
        lanes.keep(key for seq, key in by_seq.items() if seq not in granted)
        return rows


def _stands_in(row: Sequence[Any], lane: LaneKey) -> bool:
    """Whether a job is where it was when it was chosen."""
    return LaneKey(row[11] or NO_GROUP, row[2], row[6]) == lane


def look_again(queues: Iterable[tuple[str, Gates]], now: Micros) -> Steps[list[Micros]]:
    """When to look again at what gates keep back, as far as time alone will open them."""
    found: list[Micros] = []
    inside: list[str] = []
    for queue, gates in queues:
        until = shut_until(gates, now)
        if until:
            found.append(until)
        else:
            inside.append(queue)
    for _, _, parked_at, aside_at in (yield from _ahead(inside)):
        found += [max(at, now) for at in (parked_at, aside_at) if at is not None]
    return [moment for moment in found if moment < FOREVER]


def _running(queues: Sequence[str]) -> Steps[dict[str, int]]:
    if not queues:
        return {}
    return dict((yield from ask(Statement("running_of_queues", {"queues": json_text(queues)}))))


def _ahead(queues: Sequence[str]) -> Steps[Rows]:
    if not queues:
        return []
    return (yield from ask(Statement("gates_ahead", {"queues": json_text(queues)})))
