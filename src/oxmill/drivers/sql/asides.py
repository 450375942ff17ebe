"""Jobs set aside behind closed gates of their own, and how they come back to their lanes."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import merge
from itertools import islice
from typing import NamedTuple

from oxmill.drivers.sql.gates import Book, Gate, Pace, gate_key, shut_until
from oxmill.drivers.sql.lanes import newcomers
from oxmill.drivers.sql.steps import Many, Rows, Statement
from oxmill.store.plan import Steps, ask


class Behind(NamedTuple):
    """A gate of jobs, in one queue."""

    gate: str
    queue: str


class Asides:
    """The gates behind which one claim has found or left jobs."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._left: dict[Behind, None] = {}

    def bring_back(self, queue: str, most: int) -> Steps[bool]:
        """The best-ranked of the jobs of a queue behind gates that are open now stand in their lanes
        again: a bounded number, and for a throttle not more than it lets start. Whether any are of
        a group."""
        book = self._book
        asked = {"queue": queue, "now": book.now, "most": most}
        gates = [gate for (gate,) in (yield from ask(Statement("asides_open", asked)))]
        if not gates:
            return False
        keys = [gate_key(gate) for gate in gates]
        yield from book.look_up((key.scope.value, key.target) for key in keys)
        heads: dict[str, Rows] = {}
        for gate in gates:
            self._left[Behind(gate, queue)] = None
            heads[gate] = yield from self._first_behind(gate, queue, most)
        best = list(islice(merge(*heads.values()), most))
        if not best:
            return False
        yield from ask(Many("set_aside", [(None, seq) for _, _, seq, _ in best]))
        rows = newcomers((group, queue, rank, place) for rank, place, _, group in best)
        if rows:
            yield from ask(Many("make_lanes", rows))
        return any(group is not None for *_, group in best)

    def _first_behind(self, gate: str, queue: str, most: int) -> Steps[Rows]:
        """Those that may come back from behind one gate. Jobs of groups that must stay in order
        never stand aside, so they do, whatever the gate."""
        book = self._book
        room = _room(book.behind(gate), book, most)
        ordered = book.of(queue).ordered_groups
        if not room and not ordered:
            return []
        asked = {"queue": queue, "gate": gate, "grouped": int(not room), "most": room or most}
        return (yield from ask(Statement("aside_heads", asked)))

    def write(self, asides: Mapping[int, str], queues: Mapping[int, str]) -> Steps[None]:
        """Set these jobs (by seq, with their gates and queues) aside; then note when to look again
        at each gate, which goes if nothing is left behind it."""
        if asides:
            yield from ask(Many("set_aside", [(gate, seq) for seq, gate in asides.items()]))
        looked = dict(self._left) | {
            Behind(gate, queues[seq]): None for seq, gate in asides.items()
        }
        kept: list[tuple[str, str, int]] = []
        gone: list[Behind] = []
        for behind in looked:
            asked = {"queue": behind.queue, "gate": behind.gate, "grouped": 0, "most": 1}
            if (yield from ask(Statement("aside_heads", asked))):
                gate = self._book.behind(behind.gate)
                until = 0 if gate is None else shut_until([gate], self._book.now)
                kept.append((behind.gate, behind.queue, until))
            else:
                gone.append(behind)
        if gone:
            yield from ask(Many("drop_asides", gone))
        if kept:
            yield from ask(Many("put_asides", kept))


def _room(gate: Gate | None, book: Book, most: int) -> int:
    if gate is None:
        return most
    if isinstance(gate, Pace):
        return min(gate.room(book.now), most)
    return 0 if gate.shut_until(book.now) else most
