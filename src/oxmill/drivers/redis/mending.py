"""Mending on Redis: jobs that stand nowhere come back, entries of jobs that are gone go."""

from __future__ import annotations

import re
from typing import Any, Final

from oxmill.drivers.redis.script import MEND_GROUPS, MEND_INDEX, MEND_JOBS, Command, Script
from oxmill.drivers.redis.space import Space
from oxmill.model.info import Mended
from oxmill.store.plan import Steps, ask

_FIXED: Final = ("ids", "ended", "overdue")
_NAMED: Final = ("line", "lane", "aside", "due", "leases", "expiring", "field", "members", "staged")
"""The indices that name jobs."""
_GROUPS: Final = b"groups:"
_KEYS_AT_ONCE: Final = 1_000
_LOOK, _MEND = "look", "mend"
_END: Final = b"0"


def mend(space: Space, *, write: bool, most: int | None = None) -> Steps[Mended]:
    """Look through all jobs and all indices in short scripts; of each at most so many scripts."""
    mode, returned, dropped, recounted = _MEND if write else _LOOK, 0, 0, 0
    for shard in range(space.shards):
        returned += yield from _through(space, shard, MEND_JOBS, (mode,), most)
        names = yield from _indices(space, shard, most)
        for name in (each for each in names if not each.startswith(_GROUPS)):
            dropped += yield from _through(space, shard, MEND_INDEX, (mode, name), most)
        for name in (each for each in names if each.startswith(_GROUPS)):
            queue = name.removeprefix(_GROUPS)
            recounted += yield from _through(space, shard, MEND_GROUPS, (mode, queue), most)
    return Mended(returned=returned, dropped=dropped, recounted=recounted)


def _through(
    space: Space, shard: int, script: Script, args: tuple[Any, ...], most: int | None
) -> Steps[int]:
    found, cursor, calls = 0, _END, 0
    while most is None or calls < most:
        cursor, some = yield from ask(space.call(script, *args, cursor, shard=shard))
        found += some
        calls += 1
        if cursor == _END:
            break
    return found


def _indices(space: Space, shard: int, most: int | None) -> Steps[list[bytes]]:
    """The names of the indices that are there, without what all keys of the shard begin with."""
    root = space.key(shard, "")
    pattern = re.sub(r"([*?\[\]\\^-])", r"\\\1", root) + "*"
    names, cursor, calls = {name.encode() for name in _FIXED}, _END, 0
    while most is None or calls < most:
        words = ("SCAN", cursor, "MATCH", pattern, "COUNT", _KEYS_AT_ONCE)
        reply = yield from ask(Command(shard, words, refusable=True))
        if isinstance(reply, Exception):  # an ACL without it: the fixed indices have to do
            break
        cursor, keys = reply
        found = (key[len(root.encode()) :] for key in keys)
        names |= {name for name in found if name.partition(b":")[0].decode() in (*_NAMED, "groups")}
        calls += 1
        if cursor == _END:
            break
    return sorted(names)
