"""How claims behind gates take turns here, and how lanes learn what has happened.

Whoever puts a job into a lane, or takes one out, only adds a line to the news, so that nobody waits
for anybody. The next claim of the queue takes them in. What is not committed yet is not seen, and
neither are its jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from oxmill.drivers.mysql.statements import many, statement
from oxmill.drivers.mysql.talk import Talk
from oxmill.drivers.sql.rows import json_text
from oxmill.drivers.sql.steps import Enter, Guard, Rows
from oxmill.model.bounds import MAX_PRIORITY

_AT_ONCE: Final = 2_000
"""News that are taken in by one look."""
_HEADS: Final = {"lane_heads": "lane_head", "plain_heads": "plain_head"}


class GateTalk:
    """What a session says about gates."""

    def __init__(self, add: Callable[..., None], send: Callable[[], Talk[list[Any]]]) -> None:
        self._add = add
        self._send = send

    def guard(self, step: Guard) -> Talk[None]:
        """Lock the gates of some queues, in one order for everybody, or all rules but those on
        queues."""
        if step.queues is None:
            self._add(statement("hold_rules", {}))
        else:
            self._hold(step.queues)
        yield from self._send()

    def enter(self, step: Enter) -> Talk[None]:
        """Lock the gates of some queues, and take in the news of their lanes."""
        self._hold(step.queues)
        asked = {"queues": json_text(step.queues), "most": _AT_ONCE}
        while True:
            # The look begins after the locks are had, in the same round trip.
            self._add(statement("news_of", asked))
            news: Rows = (yield from self._send())[-1].rows
            self._take_in(news)
            if len(news) < _AT_ONCE:
                return

    def _hold(self, queues: Sequence[str]) -> None:
        self._add(statement("guard_rules", {}))
        self._add(*many("hold_gates", [(queue,) for queue in sorted(set(queues))]))

    def _take_in(self, news: Rows) -> None:
        if not news:
            return
        freed = {(group, queue): None for _, group, queue, _, place in news if place is None}
        joined: dict[tuple[str, str, int], int] = {}
        for _, group, queue, priority, place in news:
            if place is not None:
                joined.setdefault((group, queue, priority), place)
        self._add(*many("open_freed", list(freed)))
        self._add(*many("make_lanes", [(*lane, place) for lane, place in joined.items()]))
        self._add(statement("drop_news", {"numbers": json_text(row[0] for row in news)}))

    def heads(self, name: str, asked: Mapping[str, Any]) -> Talk[Rows]:
        """The next jobs of some lanes: one statement for each, all in one round trip."""
        lanes = msgspec.json.decode(asked["lanes"])
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
            self._add(*many("make_lanes", found))
        return []
