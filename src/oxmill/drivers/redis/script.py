"""The Lua scripts: one file each, put together with the parts they share."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import msgspec

from oxmill.drivers.redis.keys import prelude
from oxmill.store.plan import Step
from oxmill.store.statements import load

_PACKAGE: Final = "oxmill.drivers.redis.lua"

_UNIT: Final = ("unit",)
_JOB: Final = ("unit", "job", "groups", "kin", "moves")
_LIFE: Final = (*_JOB, "unique", "ends", "book", "edges", "ripples")
_TIME: Final = (*_LIFE, "ripe")
_GIVE: Final = (*_TIME, "gates", "turns", "grant")
_STEER: Final = (*_TIME, "filter")
_MAKE: Final = ("intake", "afresh", "making")


@dataclass(frozen=True)
class Script:
    """One script with the shared parts that stand before it."""

    name: str
    parts: tuple[str, ...]

    @cached_property
    def text(self) -> str:
        """The whole text, as the server gets it."""
        bodies = (
            load(_PACKAGE, f"{part}.lua") for part in ("clock", "bells", *self.parts, self.name)
        )
        text = "\n".join(bodies)
        return f"{prelude(text)}\n{text}"

    @cached_property
    def sha(self) -> str:
        """What the server knows it by."""
        return hashlib.sha1(self.text.encode()).hexdigest()  # noqa: S324 - the server's own choice


class Call(Step[Any], msgspec.Struct, frozen=True, gc=False):
    """Run a script on one shard. Its reply is what the server answered."""

    script: Script
    shard: int
    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Command(Step[Any]):
    """Ask the server of one shard something plain."""

    shard: int
    words: tuple[Any, ...]
    refusable: bool = False
    """Whether a refusal is a reply like any other."""
    follows: bool = False
    """Whether it asks about what was sent before it, and so is sent again after what is."""


ENQUEUE: Final = Script("enqueue", ("enqueue_one", "enqueue_plain", *_LIFE, "intake"))
ENQUEUE_FLOW: Final = Script("enqueue_flow", (*_LIFE, *_MAKE))
FIRE: Final = Script("fire", (*_LIFE, "intake"))
CLAIM: Final = Script(
    "claim",
    ("cut", "fresh", "claim_one", "claim_short", "claim_plain", "claim_gated", *_GIVE),
)
CLAIM_IDS: Final = Script("claim_ids", (*_TIME, "gates", "grant"))
RENEW: Final = Script("renew", _LIFE)
SETTLE: Final = Script(
    "settle", ("cut", "settle_flow", "settle_plain", *_LIFE, "gates", *_MAKE, "steps")
)
SWEEP: Final = Script("sweep", (*_TIME, "ruling"))
PRUNE: Final = Script("prune", (*_LIFE, "retire"))
BEAT: Final = Script("beat", _UNIT)
ORDER: Final = Script("order", _UNIT)
RELAY: Final = Script("relay", _UNIT)
WORKERS: Final = Script("workers", _UNIT)
PUT_SCHEDULES: Final = Script("put_schedules", _UNIT)
SCHEDULES: Final = Script("schedules", _UNIT)
PUT_RULES: Final = Script("put_rules", (*_JOB, "ruling"))
PUT_SETTINGS: Final = Script("put_settings", _JOB)
CANCEL: Final = Script("cancel", _STEER)
REDRIVE: Final = Script("redrive", (*_STEER, "afresh"))
EDIT: Final = Script("edit", _STEER)
PURGE: Final = Script("purge", (*_STEER, "retire"))
GET: Final = Script("get", (*_JOB, "read"))
FIND: Final = Script("find", (*_JOB, "filter", "read"))
QUEUES: Final = Script("queues", (*_JOB, "gates"))
FLOWS: Final = Script("flows", _UNIT)
LOCATE: Final = Script("locate", _UNIT)
MIGRATE: Final = Script("migrate", _JOB)
GREET: Final = Script("greet", ())
MEND_JOBS: Final = Script("mend_jobs", _TIME)
MEND_INDEX: Final = Script("mend_index", _JOB)
MEND_GROUPS: Final = Script("mend_groups", _JOB)
