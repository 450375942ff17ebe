"""A claim at a gate that is known: what its plan is going to ask is asked in one round trip.

The plan decides as everywhere. It is answered from what was read ahead as long as nothing has been
written since, and by the server otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import msgspec

from oxmill.drivers.mysql.literals import Sql
from oxmill.drivers.mysql.manner import Manner, Terms, terms_of
from oxmill.drivers.mysql.shortcut import Ahead, Result, Shortcut
from oxmill.drivers.mysql.statements import statement
from oxmill.drivers.sql.limits import GROUP_SLOTS
from oxmill.drivers.sql.rows import json_text
from oxmill.drivers.sql.serving import BEFORE_ALL, MORE
from oxmill.drivers.sql.steps import Rows, Statement
from oxmill.model.bounds import MAX_PRIORITY
from oxmill.model.rule import Scope
from oxmill.model.value import Micros

NEWS_AT_ONCE: Final = 2_000
"""News that are taken in by one look."""
DEEP: Final = 8
"""Heads of many lanes are read at once up to this depth; each level reads from the first again."""
_FIRST_HEAD: Final = 7
"""Where the heads begin among the columns of `lanes_ahead`."""
_BEFORE_THE_FIRST: Final = -1
"""Where a lane is read from that nothing was read of."""
_LOOKS: Final = ("guard_rules", "hold_gates", "gates_look", "news_of")
Reply = Callable[[Mapping[str, Any]], Rows | None]
"""Gives the rows that are asked for, if they are known."""
_decode: Final = msgspec.json.Decoder().decode


class Look(NamedTuple):
    """The columns of `gates_look`."""

    settings: str | None
    limits: int | None
    tat: Micros | None
    closed_until: Micros | None
    ruled: int
    scoped: int
    waiting: int
    due_at: Micros | None
    lease_until: Micros | None
    expires_at: Micros | None
    grouped: int
    parked_at: Micros | None
    asides: int
    running: int | None


class Knocking(Shortcut[Any]):
    """No shortcut: what stands before a claim behind gates goes the long way with it. Where there is one
    queue its gates are locked, and what is behind them is looked at, in the same round trip."""

    __slots__ = ("_crowds", "_depth", "_limit", "_manner", "_queue")

    goes_on = True

    def __init__(self, queues: Sequence[str], limit: int, manner: Manner) -> None:
        self._queue = queues[0] if len(queues) == 1 else None
        self._limit = limit
        self._manner = manner
        self._crowds = manner.crowds
        self._depth = manner.depth

    def statements(self) -> list[bytes]:
        """Lock the gates, look at them, tell the moment."""
        if self._queue is None:
            return [statement("moment", {})]
        asked = {"queue": self._queue, "queues": json_text([self._queue]), "most": NEWS_AT_ONCE}
        looks = [statement(name, asked) for name in _LOOKS]
        return [*looks, self._lanes(self._queue), statement("moment", {})]

    def _lanes(self, queue: str) -> bytes:
        each = {"queue": queue}
        depths = range(self._depth)
        heads = [b"(%b)" % statement("lane_ahead", each | {"nth": nth}) for nth in depths]
        crowd = b"(%b)" % statement("crowd_ahead", each) if self._crowds else b"NULL"
        parts = {"heads": Sql(b", ".join(heads)), "running": Sql(crowd)}
        return statement("lanes_ahead", each | parts | {"most": self._limit + MORE})

    def answer(self, results: Sequence[Result]) -> None:
        """Nothing was done."""

    def ahead(self, results: Sequence[Result]) -> Seen | None:
        """What was seen."""
        if self._queue is None:
            return None
        look, news, lanes, ((now,),) = [result.rows for result in results[-4:]]
        seen = Seen(self._queue, Look(*look[0]), news, lanes, now, self._manner)
        self._manner.crowds = bool((seen.look.limits or 0) & GROUP_SLOTS)
        self._manner.terms = seen.terms(self._limit)
        return seen


@dataclass(slots=True)
class Seen(Ahead):
    """What a claim behind the gates of one queue has read ahead."""

    queue: str
    look: Look
    news: Rows
    lanes: Rows
    now: Micros
    manner: Manner
    _served: bool = False
    """Whether the lanes were told: then what is asked next is about them."""
    _over: bool = False
    """Whether something was asked of the server."""
    _replies: dict[str, Reply] = field(init=False)

    def __post_init__(self) -> None:
        self._replies = {
            "horizon": self._horizon,
            "settings_of": self._settings,
            "rules_scoped": self._rules_scoped,
            "rules_on": self._rules_on,
            "gates_ahead": self._gates_ahead,
            "plain_lanes": self._plain_lanes,
            "running_of_queues": self._running_of_queues,
            "meters_by_key": self._meters,
            "lanes_open": self._lanes_open,
            "running_of_groups": self._running_of_groups,
            "lane_heads": self._heads,
        }

    def reply(self, step: Statement) -> Rows | None:
        """The rows of a statement, or `None` if they are not known. Once the server is asked, nothing
        is told that was read before: settlements wait for no gate, and a group that is empty by now may
        have got a job back that goes before the head that was seen."""
        known = None if self._over else self._replies.get(step.name)
        rows = None if known is None else known(step.parameters)
        self._over = rows is None
        return rows

    def terms(self, limit: int) -> Terms | None:
        """Those of the queue, if as many jobs seem to be had in the usual way."""
        look = self.look
        if look.ruled or look.scoped or look.waiting or look.asides or self.news:
            return None
        return terms_of(look.settings) if len(self.lanes) >= limit else None

    def _is_about(self, asked: Mapping[str, Any]) -> bool:
        queues: list[str] = _decode(asked["queues"])
        return queues == [self.queue]

    # -- the queue ---------------------------------------------------------------------------------

    def _horizon(self, asked: Mapping[str, Any]) -> Rows | None:
        look = self.look
        gated = look.grouped or look.limits
        if look.ruled or not gated or not self._is_about(asked):
            return None
        moments = look.due_at, look.lease_until, look.expires_at
        return [(self.queue, 0, look.waiting, *moments, 1)]

    def _settings(self, asked: Mapping[str, Any]) -> Rows | None:
        if not self._is_about(asked):
            return None
        return [] if self.look.settings is None else [(self.queue, self.look.settings)]

    def _rules_scoped(self, _: Mapping[str, Any]) -> Rows | None:
        return None if self.look.scoped else [(0, 0)]

    def _rules_on(self, asked: Mapping[str, Any]) -> Rows | None:
        targets: list[list[str]] = _decode(asked["targets"])
        return None if self.look.ruled or targets != [[Scope.QUEUE.value, self.queue]] else []

    def _gates_ahead(self, asked: Mapping[str, Any]) -> Rows | None:
        if self.look.asides or not self._is_about(asked):
            return None
        return [(self.queue, self.look.grouped, self.look.parked_at, None)]

    def _plain_lanes(self, asked: Mapping[str, Any]) -> Rows | None:
        return None if self.look.waiting or asked["queue"] != self.queue else []

    def _running_of_queues(self, asked: Mapping[str, Any]) -> Rows | None:
        if self.look.running is None or not self._is_about(asked):
            return None
        return [(self.queue, self.look.running)]

    # -- its lanes ---------------------------------------------------------------------------------

    def _lanes_open(self, asked: Mapping[str, Any]) -> Rows | None:
        after = asked["priority"], asked["turn"], asked["group_name"]
        if asked["queue"] != self.queue or after != BEFORE_ALL or asked["worst"] != MAX_PRIORITY:
            return None
        self._served = True
        return [row[:4] for row in self.lanes[: asked["most"]]]

    def _meters(self, asked: Mapping[str, Any]) -> Rows | None:
        keys: list[list[str]] = _decode(asked["keys"])
        if keys == [[self.queue, Scope.QUEUE.value, ""]]:
            look = self.look
            return [] if look.tat is None else [(*keys[0], look.tat, look.closed_until)]
        meters = {row[0]: row[4:6] for row in self.lanes}
        if not all(
            queue == self.queue and scope == Scope.GROUP.value and target in meters
            for queue, scope, target in keys
        ):
            return None
        return [(*key, *meters[key[2]]) for key in keys if meters[key[2]][0] is not None]

    def _running_of_groups(self, asked: Mapping[str, Any]) -> Rows | None:
        if asked["queue"] != self.queue:
            return None
        running = {row[0]: row[6] for row in self.lanes}
        groups: list[str] = _decode(asked["groups"])
        found = [(group, running.get(group)) for group in groups]
        return None if any(n is None for _, n in found) else found

    def _heads(self, asked: Mapping[str, Any]) -> Rows | None:
        """Of the jobs only their places are known. That is enough unless rules are about jobs, or one
        may have expired; who compares how long they have waited has not asked for all lanes."""
        most: int = asked["most"]
        self.manner.depth = min(most, DEEP)
        expires_at = self.look.expires_at
        if (
            not self._served
            or self.look.scoped
            or (expires_at is not None and expires_at <= self.now)
        ):
            return None
        heads = {row[:2]: row[_FIRST_HEAD : _FIRST_HEAD + most] for row in self.lanes}
        rows: Rows = []
        for group, priority, after in _decode(asked["lanes"]):
            found = heads.get((group, priority))
            if found is None or len(found) < most or after != _BEFORE_THE_FIRST:
                return None
            for head in found:
                if head is not None:
                    place, _, seq = head.partition(" ")
                    rows.append((group, priority, int(place), int(seq), "", 0, None))
        return rows
