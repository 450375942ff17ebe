"""What people did and what went wrong, told in one order.

Each shard writes its events beside its jobs, in the same step. Those of the first are the record;
those of the others wait there until a reader passes them on to the first, which takes each once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from oxmill.drivers.redis.script import RELAY, Command
from oxmill.drivers.redis.space import Space
from oxmill.model.info import Event
from oxmill.store.plan import Steps, Together, ask

_LAST: Final = 2**63
_PASSED_ON: Final = 100
"""Events of a shard that one step passes on."""
Entry = tuple[bytes, Sequence[bytes]]


def events_beyond(space: Space, seq: int, limit: int) -> Steps[tuple[Event, ...]]:
    """Events in order, without gaps or repeats."""
    if seq >= _LAST:
        return ()
    if space.shards > 1:
        yield from _pass_on(space)
    entries = yield from ask(_read(space, 0, f"({seq}", limit))
    return tuple(_event(entry) for entry in entries)


def _pass_on(space: Space) -> Steps[None]:
    """Repeating it is harmless: the first shard knows how far it has heard of each other one, and
    what it has heard of may go."""
    busy = list(range(1, space.shards))
    while busy:
        told = yield from ask(
            Together(tuple(_read(space, shard, "-", _PASSED_ON) for shard in busy))
        )
        found = [(shard, entries) for shard, entries in zip(busy, told, strict=True) if entries]
        if not found:
            return
        calls = tuple(space.call(RELAY, shard, *_words(entries)) for shard, entries in found)
        heard = yield from ask(Together(calls))
        pairs = zip((shard for shard, _ in found), heard, strict=True)
        yield from ask(Together(tuple(_trim(space, shard, last) for shard, last in pairs)))
        busy = [shard for shard, entries in found if len(entries) == _PASSED_ON]


def _read(space: Space, shard: int, start: str, limit: int) -> Command:
    return Command(shard, ("XRANGE", space.key(shard, "events"), start, "+", "COUNT", limit))


def _trim(space: Space, shard: int, last: int) -> Command:
    return Command(shard, ("XTRIM", space.key(shard, "events"), "MINID", last + 1))


def _words(entries: Sequence[Entry]) -> list[Any]:
    """The order is that of relay.lua, and of the words of an entry."""
    return [word for number, words in entries for word in (_number(number), *words[1::2])]


def _number(stamp: bytes) -> int:
    return int(stamp.partition(b"-")[0])


def _event(entry: Entry) -> Event:
    at, kind, target, author, detail = (word.decode() for word in entry[1][1::2])
    return Event(
        seq=_number(entry[0]), at=int(at), kind=kind, target=target, author=author, detail=detail
    )
