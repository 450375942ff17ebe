"""Where the jobs of one app live: a namespace of shards, and how scripts are called there."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from oxmill.drivers.redis.keys import keys_of
from oxmill.drivers.redis.script import Call, Command, Script
from oxmill.model.bounds import Bounds
from oxmill.model.job import NewJob
from oxmill.model.value import Micros
from oxmill.store.capabilities import Capability
from oxmill.store.plan import Steps, Together, ask


@dataclass(frozen=True, slots=True)
class Space:
    """What all roles share."""

    namespace: str
    shards: int
    bounds: Bounds
    able: Capability
    channel: bytes
    """What the names of the bells' channels start with; empty if none is to ring."""
    gathered: bool = False
    """Whether all who listen to the bells do so at the one server that runs the scripts."""
    clock: Callable[[], Micros] | None = None
    """A test's clock; without it the server's own decides."""

    def call(self, script: Script, *args: Any, shard: int = 0) -> Call:
        """A call of a script at the store's time."""
        now = b"" if self.clock is None else self.clock()
        return Call(script, shard, (now, self.channel, *args))

    def everywhere(self, script: Script, *args: Any) -> Steps[tuple[Any, ...]]:
        """The replies of all shards to the same call."""
        calls = tuple(self.call(script, *args, shard=shard) for shard in range(self.shards))
        return (yield from ask(Together(calls)))

    def commands(self, *words: Any) -> Steps[tuple[Any, ...]]:
        """What the servers of all shards say to a plain command; a refusal is a reply too."""
        steps = tuple(Command(s, words, refusable=True) for s in range(self.shards))
        return (yield from ask(Together(steps)))

    def members(self, name: str) -> Steps[tuple[Any, ...]]:
        """The members of a set, shard by shard."""
        steps = tuple(Command(s, ("SMEMBERS", self.key(s, name))) for s in range(self.shards))
        return (yield from ask(Together(steps)))

    def root(self, *fields: str) -> Steps[tuple[Any, ...]]:
        """These fields of every shard's root."""
        tags = (keys_of(self.namespace, shard)[0] for shard in range(self.shards))
        steps = tuple(Command(shard, ("HMGET", tag, *fields)) for shard, tag in enumerate(tags))
        return (yield from ask(Together(steps)))

    def key(self, shard: int, name: str) -> str:
        """The name of a key of one shard."""
        return f"{keys_of(self.namespace, shard)[0]}:{name}"

    def shard_of(self, job: NewJob) -> int:
        """Where a job lives: with its flow, else its unique key, else its group, else its id."""
        unique = None if job.unique is None else job.unique.key
        return self.home(job.flow or unique or job.group or job.id)

    def home(self, word: str) -> int:
        """The shard that a word alone names."""
        return 0 if self.shards == 1 else zlib.crc32(word.encode()) % self.shards
