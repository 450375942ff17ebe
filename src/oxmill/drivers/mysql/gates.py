"""How claims behind gates take turns here, and how lanes learn what has happened.

Whoever puts a job into a lane, or takes one out, only adds a line to the news, so that nobody waits
for anybody. The next claim of the queue takes them in. What is not committed yet is not seen, and
neither are its jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from oxmill.drivers.mysql.knocking import DEEP, NEWS_AT_ONCE, Seen
from oxmill.drivers.mysql.literals import Sql, literal
from oxmill.drivers.mysql.statements import many, statement
from oxmill.drivers.mysql.talk import Talk
from oxmill.drivers.sql.rows import json_text
from oxmill.drivers.sql.steps import Enter, Guard, Rows
from oxmill.model.bounds import MAX_PRIORITY

Wanted = tuple[str, int, int]
"""Group and priority of a lane, and the place to go on after."""
_HEADS: Final = {"lane_heads": "lane_head", "plain_heads": "plain_head"}


class GateTalk:
    """What a session says about gates."""

    def __init__(
        self,
        add: Callable[..., None],
        send: Callable[[], Talk[list[Any]]],
        changed: Callable[[], None],
    ) -> None:
        self._add = add
        self._send = send
        self._changed = changed
        """To be called when lanes are no longer as they were read ahead."""
        self._seen: Seen | None = None
        self._held: set[str] = set()
        self._up_to_date: set[str] = set()
        """Queues of which all news were taken in."""

    def guard(self, step: Guard) -> Talk[None]:
        """Lock the gates of some queues, in one order for everybody, or all rules but those on
        queues. What is read next, in the same round trip, is read after that."""
        if step.queues is None:
            self._add(statement("hold_rules", {}))
        else:
            self._hold(step.queues)
        return
        yield

    def knocked(self, seen: Seen) -> None:
        """The gates of a queue are locked, and its news were read."""
        self._held.add(seen.queue)
        self._seen = seen

    def enter(self, step: Enter) -> Talk[None]:
        """Lock the gates of some queues, and take in the news of their lanes."""
        self._hold(step.queues)
        seen, self._seen = self._seen, None
        if seen is not None and len(seen.news) < NEWS_AT_ONCE:
            self._take_in(seen.news, closed=seen.look.parked_at is not None)
            self._up_to_date.add(seen.queue)
        queues = [queue for queue in step.queues if queue not in self._up_to_date]
        asked = {"queues": json_text(queues), "most": NEWS_AT_ONCE}
        while queues:
            # The look begins after the locks are had, in the same round trip.
            self._add(statement("news_of", asked))
            news: Rows = (yield from self._send())[-1].rows
            self._take_in(news)
            if len(news) < NEWS_AT_ONCE:
                self._up_to_date.update(queues)
                return

    def told(self) -> None:
        """This transaction itself has news of lanes."""
        self._up_to_date.clear()
        self._seen = None

    def _hold(self, queues: Sequence[str]) -> None:
        new = sorted(set(queues) - self._held)
        if new:
            self._held.update(new)
            self._add(statement("guard_rules", {}))
            self._add(*many("hold_gates", [(queue,) for queue in new]))

    def _take_in(self, news: Rows, *, closed: bool = True) -> None:
        """Change lanes as the news say; there is none to open unless any is `closed`."""
        if not news:
            return
        freed = {(group, queue): None for _, group, queue, _, place in news if place is None}
        joined: dict[tuple[str, str, int], int] = {}
        for _, group, queue, priority, place in news:
            if place is not None:
                joined.setdefault((group, queue, priority), place)
        if joined or closed:
            self._changed()
        for queue in dict.fromkeys(queue for _, queue in freed if closed):
            groups = json_text(group for group, other in freed if other == queue)
            self._add(statement("open_freed", {"queue": queue, "groups": groups}))
        self._add(*many("make_lanes", [(*lane, place) for lane, place in joined.items()]))
        self._add(statement("drop_news", {"numbers": json_text(row[0] for row in news)}))

    def ahead(self, asked: Mapping[str, Any]) -> Talk[Rows]:
        """When to look at what is closed: one statement for each queue, all in one round trip."""
        queues: list[str] = msgspec.json.decode(asked["queues"])
        self._add(*[statement("gates_ahead", {"queue": queue}) for queue in queues])
        results = yield from self._send()
        return [row for result in results[-len(queues) :] for row in result.rows]

    def heads(self, name: str, asked: Mapping[str, Any]) -> Talk[Rows]:
        """The next jobs of some lanes."""
        lanes: list[Wanted] = msgspec.json.decode(asked["lanes"], type=list[Wanted])
        if name == "plain_heads" or not asked["most"] <= min(DEEP, len(lanes)):
            return (yield from self._one_by_one(name, lanes, asked))
        rows = yield from self._at_once(asked)
        unsure = {(group, priority) for group, priority, *_, expired in rows if expired}
        found = [row[:-1] for row in rows if row[:2] not in unsure]
        if unsure:
            rest = [lane for lane in lanes if lane[:2] in unsure]
            found += yield from self._one_by_one(name, rest, asked)
        return found

    def _at_once(self, asked: Mapping[str, Any]) -> Talk[Rows]:
        """A few jobs each of many lanes, also those that have expired, in one statement: most of what
        it takes to ask for one lane is the asking."""
        each = {"queue": asked["queue"], "lanes": Sql(literal(asked["lanes"]))}
        nths = [statement("lane_nth", each | {"nth": nth}) for nth in range(asked["most"])]
        firsts = Sql(b" UNION ALL ".join(nths))
        self._add(statement("lane_heads", {"firsts": firsts, "now": asked["now"]}))
        rows: Rows = (yield from self._send())[-1].rows
        return rows

    def _one_by_one(
        self, name: str, lanes: Sequence[Wanted], asked: Mapping[str, Any]
    ) -> Talk[Rows]:
        """One statement for each lane, all in one round trip."""
        for group, priority, after in lanes:
            one = dict(asked) | {"group_name": group, "priority": priority, "after": after}
            self._add(statement(_HEADS[name], one))
        results = yield from self._send()
        return [row for result in results[-len(lanes) :] for row in result.rows]

    def plain_lanes(self, asked: Mapping[str, Any]) -> Talk[Rows]:
        """Make the lanes of no group: one leap for each priority; mostly there is one."""
        queue, after = asked["queue"], -MAX_PRIORITY - 1
        self._add(statement("plain_last", asked))
        worst: int | None = None
        found: list[tuple[str, str, int, int]] = []
        while worst is None or after < worst:
            self._add(statement("plain_first", {"queue": queue, "after": after}))
            results = yield from self._send()
            if worst is None:
                worst = results[-2].rows[0][0] if results[-2].rows else after
            if not results[-1].rows:
                break
            ((after, place),) = results[-1].rows
            found.append(("", queue, after, place))
        if found:
            self._changed()
            self._add(*many("make_lanes", found))
        return []
