"""Greets shards on one connection, before it is used for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from oxmill.drivers.redis.layout import Layout
from oxmill.drivers.redis.link import Exchange, Packed, Packer
from oxmill.drivers.redis.resp import pack_words

EVERY: Final = 10.0
"""Seconds after which a shard is greeted again: a store may be emptied under an open connection."""
_MEMORY: Final = pack_words(("INFO", "memory"))


class Meetings:
    """The shards that a connection has greeted."""

    def __init__(self, layout: Layout, packer: Packer) -> None:
        self._layout = layout
        self._pack = packer
        self.forget()

    def forget(self) -> None:
        """The connection is another."""
        self._until: dict[int, float] = {}
        self._all_until = 0.0

    def due(self, commands: Sequence[Packed], now: float) -> Sequence[int]:
        """The shards to be greeted before these commands are sent."""
        if now < self._all_until:
            return ()
        shards = {each.shard for each in commands if each.script is not None}
        return [shard for shard in sorted(shards) if self._until.get(shard, 0.0) <= now]

    def introduce(self, shards: Sequence[int], now: float, *, writes: bool) -> Exchange:
        """Greet them, in one round trip, without doing it: yields data and is sent the replies. A shard
        that answers with a refusal is left to the call that follows, which will be refused too."""
        hellos = [self._layout.hello(shard, writes=writes) for shard in shards]
        looks = [] if self._until else [_MEMORY]
        replies = yield [self._pack.whole(hello.call) for hello in hellos] + looks
        for reply in replies[len(hellos) :]:
            self._layout.notice_memory(reply)
        for hello, reply in zip(hellos, replies, strict=False):
            if isinstance(reply, Exception) or self._layout.judge(hello, reply):
                self._until[hello.call.shard] = now + EVERY
        if len(self._until) == self._layout.shards:
            self._all_until = min(self._until.values())
        return []
