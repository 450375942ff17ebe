"""What a store was made as, and whether it is still the same: asked on every new connection, and
now and then on old ones, before anything else is sent.

A store that was emptied, or that came back as an older copy of itself, has lost acknowledged jobs. No
token of before fits there, so nothing wrong is done; but somebody must be told.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from oxmill.drivers.redis.keys import FIXED
from oxmill.drivers.redis.script import GREET, Call
from oxmill.errors import SchemaMismatch, StoreReplaced

VERSION: Final = 2
"""The newest layout. Stores of the one before can be used; `migrate` brings them up to date."""
_log: Final = logging.getLogger("oxmill.redis")
_TYPES: Final = tuple(key.type for key in FIXED)


class Known(NamedTuple):
    """A shard as it was met last."""

    identity: bytes
    drawn: int
    """The last number given to a job; it never goes down."""


class Hello(NamedTuple):
    """A greeting on its way."""

    call: Call
    known: Known | None
    """What was known when it was made."""


class Layout:
    """What is known of the store, by all connections of a process."""

    def __init__(self, shown: str, shards: int, *, warns: bool = True) -> None:
        self._shown = shown
        self.shards = shards
        self._warns = warns
        self._mine = secrets.token_hex(8)
        self._known: list[Known | None] = [None] * shards

    @property
    def headless(self) -> bool:
        """Whether there are several shards and the first, which tells how many, was not met yet."""
        return self.shards > 1 and self._known[0] is None

    def hello(self, shard: int, *, writes: bool) -> Hello:
        """The greeting for a shard; who only wants to look gives an empty store no identity."""
        known = self._known[shard]
        identity = b"" if known is None else known.identity
        mine = self._mine if writes else b""
        args = (0, b"", VERSION, self.shards, mine, identity, *_TYPES)
        return Hello(Call(GREET, shard, args), known)

    def judge(self, hello: Hello, reply: Sequence[Any]) -> bool:
        """Raise `SchemaMismatch` if the store cannot be used, `StoreReplaced` once if it is another.
        Gives whether the shard is known now."""
        layout, shards, identity, drawn, odd = reply
        if odd:
            raise SchemaMismatch(
                f"{self._shown}: the key {odd.decode()} is of another type: another program has put "
                f"it there. Remove it, or choose another namespace"
            )
        check_layout(self._shown, layout, shards, self.shards)
        shard, known = hello.call.shard, hello.known
        now = self._known[shard]
        told = _difference(known, identity, drawn)
        if told is None and now is not None and now.identity == identity:
            drawn = max(drawn, now.drawn)  # another connection has asked later and was faster
        self._known[shard] = Known(identity, drawn) if identity else None
        if told is not None:
            raise StoreReplaced(
                f"{self._shown} {told}: jobs that were acknowledged are gone. Nothing was written; the "
                f"next call goes to the store as it is now"
            )
        return bool(identity)

    def notice_memory(self, reply: Any) -> None:
        """Warn once of a server that throws jobs away. Workers refuse it; producers must know too."""
        if not self._warns or isinstance(reply, Exception):
            return
        lines = dict(line.split(":", 1) for line in reply.decode().splitlines() if ":" in line)
        policy = lines.get("maxmemory_policy", "noeviction")
        if policy != "noeviction":
            self._warns = False
            _log.warning(
                "unsafe store: maxmemory-policy of %s is %s; wanted: noeviction. A server short of "
                "memory would throw jobs away without a trace. Try: oxmill doctor",
                self._shown,
                policy,
            )


def check_layout(shown: str, layout: int, shards: int, wanted: int) -> None:
    """Refuse a store that was made otherwise; zeros say that it was not made yet."""
    if layout > VERSION:
        raise SchemaMismatch(
            f"{shown} has layout {layout}, this code knows {VERSION}; upgrade oxmill here"
        )
    if shards not in (0, wanted):
        raise SchemaMismatch(
            f"{shown} was made with shards={shards}, and this client was given {wanted}: it would "
            f"not see most jobs. Write shards={shards} in the URL; to change the number, let workers "
            f"finish all jobs and begin with another namespace"
        )


def _difference(known: Known | None, identity: bytes, drawn: int) -> str | None:
    """In which way a store is not the one known."""
    if known is None:
        return None
    if not identity:
        return "was emptied"
    if identity != known.identity:
        return "was emptied, or is another store than before"
    if drawn < known.drawn:
        return f"is an older copy of itself, from {known.drawn - drawn} jobs or more ago"
    return None
