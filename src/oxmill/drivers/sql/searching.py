"""Finding jobs by filter, through the index that fits, with a bound on how much is looked at."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import merge
from itertools import islice
from typing import Any, Final

import msgspec

from oxmill.drivers.sql.rows import TAG, Standing, json_text, standings
from oxmill.drivers.sql.steps import Rows, Statement
from oxmill.model.query import Filter
from oxmill.model.state import LIVE, TERMINAL, State
from oxmill.store.plan import Steps, ask

BEGINNING: Final = 2**62
"""Above every seq: where a search for the newest begins."""
_LOOKED_AT: Final = 20_000
"""Jobs that one page may look at before it is cut short."""
_FEW: Final = 2_000
"""So many live jobs are rather sorted than searched for among all others."""
_UNUSED: Final[dict[str, Any]] = {
    "seqs": "[]",
    "ids": "[]",
    "field_name": None,
    "field_value": None,
    "waiting": "[]",
    "scheduled": "[]",
    "running": "[]",
    "held": "[]",
    "ended": "[]",
    "unasked": None,
    "key_free": None,
    "now": 0,
}
"""The sources and conditions of `match` that a search does not use."""


def conditions(wanted: Filter) -> dict[str, Any]:
    """The filter as parameters of `match`."""
    return _UNUSED | {
        "queues": _listed(wanted.queues),
        "tasks": _listed(wanted.tasks),
        "states": _listed(wanted.states),
        "group_name": wanted.group,
        "tag": wanted.tag,
        "fields": _json(wanted.fields) if wanted.fields else None,
        "since": wanted.since,
        "before": wanted.before,
    }


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _listed(values: Iterable[str]) -> str | None:
    values = list(values)
    return json_text(values) if values else None


def _label(wanted: Filter) -> tuple[str, str | int] | None:
    """A field or tag to look up, if the filter names one."""
    for name, value in wanted.fields.items():
        return name, value
    return None if wanted.tag is None else (TAG, wanted.tag)


def matching(
    wanted: Filter,
    states: frozenset[State],
    limit: int,
    extra: dict[str, Any],
    *,
    locks: bool = False,
) -> Steps[list[Standing]]:
    """The first `limit` matching jobs in these states, in order of arrival. `extra` are further
    conditions of `match`."""
    allowed = [state for state in State if state in states & frozenset(wanted.states or State)]
    if not allowed:
        return []
    asked = conditions(wanted) | {"states": json_text(allowed), "most": limit} | extra
    label = _label(wanted)
    if wanted.flow is not None:
        asked["seqs"] = json_text((yield from _of_flow(wanted.flow, wanted.ids)))
    elif wanted.ids:
        asked["ids"] = json_text(dict.fromkeys(wanted.ids))
    elif label is not None:
        asked["field_name"], asked["field_value"] = label[0], _json(label[1])
    else:
        asked |= yield from _by_state(wanted, allowed)
    return standings((yield from ask(Statement("match", asked, locks=locks))))


def _of_flow(flow: str, ids: tuple[str, ...]) -> Steps[list[int]]:
    """The jobs of a flow, or those of them that are named."""
    rows = yield from ask(Statement("members_of_flow", {"flow": flow}))
    named = frozenset(ids)
    return [seq for seq, job_id in rows if not named or job_id in named]


def _by_state(wanted: Filter, states: list[State]) -> Steps[dict[str, Any]]:
    """The sources that hold all jobs in these states."""
    sources: dict[str, Any] = {}
    ended = [state for state in states if state in TERMINAL]
    if ended:
        sources["ended"] = json_text(ended)
    for state in states:
        if state in LIVE:
            queues = list(wanted.queues)
            if not queues:
                rows = yield from ask(Statement("queues_with", {"state": state.value}, counts=True))
                queues = [queue for (queue,) in rows]
            sources[state.value] = json_text(dict.fromkeys(queues))
    return sources


def page_of(wanted: Filter, below: int, limit: int) -> Steps[tuple[list[int], int | None]]:
    """The seqs of the next matching jobs below a seq, newest first; and from where to go on, or
    `None` at the end."""
    if wanted.ids or wanted.flow is not None or (yield from _few(wanted)):
        found = yield from matching(wanted, frozenset(State), -1, {"now": 0})
        seqs = [job.seq for job in reversed(found) if job.seq < below]
        return seqs[:limit], seqs[limit - 1] if len(seqs) > limit else None
    return (yield from _look_through(wanted, below, limit))


def _few(wanted: Filter) -> Steps[bool]:
    """Whether the filter is about live jobs, and about few of them."""
    if not wanted.states or not LIVE.issuperset(wanted.states):
        return False
    rows: Rows
    if wanted.queues:
        rows = yield from ask(
            Statement("tallies_of", {"queues": json_text(wanted.queues)}, counts=True)
        )
    else:
        rows = yield from ask(Statement("tallies_all", counts=True))
    return bool(sum(n for _, state, n, _ in rows if state in wanted.states) <= _FEW)


def _look_through(wanted: Filter, below: int, limit: int) -> Steps[tuple[list[int], int | None]]:
    """Look through one window after the other until the page is full or enough was looked at."""
    asked = conditions(wanted) | {"most": -1}
    found: list[int] = []
    looked_at, size = 0, limit + 1
    while looked_at < _LOOKED_AT:
        window = yield from _window(wanted, below, size)
        asked["seqs"] = json_text(window)
        rows = yield from ask(Statement("match", asked))
        found += [row[0] for row in reversed(rows)]
        if len(found) > limit:
            return found[:limit], found[limit - 1]
        if len(window) < size:
            return found, None
        looked_at += size
        size = min(4 * size, 5_000)
        below = window[-1]
    return found, below


def _window(wanted: Filter, below: int, size: int) -> Steps[list[int]]:
    """The next candidates below a seq, newest first."""
    label = _label(wanted)
    if label is not None:
        asked = {"name": label[0], "value": _json(label[1]), "below": below, "most": size}
        rows = yield from ask(Statement("window_field", asked))
        return [seq for (seq,) in rows]
    if wanted.states and TERMINAL.issuperset(wanted.states):
        parts: list[Rows] = []
        for state in dict.fromkeys(wanted.states):
            asked = {"state": state.value, "below": below, "most": size}
            parts.append((yield from ask(Statement("window_ended", asked))))
        return [seq for (seq,) in islice(merge(*parts, reverse=True), size)]
    rows = yield from ask(Statement("window_all", {"below": below, "most": size}))
    return [seq for (seq,) in rows]
