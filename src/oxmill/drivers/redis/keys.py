"""Every key of the store, declared once: its name, type, meaning and owner.

All keys of a shard carry the hash tag `{namespace:shard}`, so they share one slot of a cluster and
one script may touch them all. The fixed keys are given to every script as `KEYS`, in this order,
and are known there by their names in upper case. While a cluster moves a slot, it puts off calls
that name keys of which some are there and some are not; `void` makes sure of that, so no script
ever sees half a shard.

The sets of a queue and of a field value (`NAMED`) cannot be known before a script has looked at the
jobs, so scripts name them themselves, after `root` and so in its slot; they touch no other key. Tests
compare every key that is there with these tables, on a cluster, which refuses to leave the slot. `␟`
is the byte 31: no name holds it, so it parts any two of them.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from oxmill.errors import BadConfig


class Key(NamedTuple):
    """One key of a shard."""

    name: str
    type: str
    meaning: str
    owner: str
    """The script or shared part that writes it."""


FIXED: Final = (
    Key("root", "hash", "version, identity, last numbers drawn, told and heard", "migrate, unit"),
    Key("ids", "hash", "job id → number of arrival", "moves"),
    Key("jobs", "hash", "number → the job: id, standing, description, payload", "job"),
    Key("asides", "hash", "number + letter → big payload, result, error, progress, attempt", "job"),
    Key("pages", "zset", "pages of 256 numbers that hold jobs, for looks in order", "unit"),
    Key("filled", "hash", "page → how many jobs it holds", "unit"),
    Key("tallies", "hash", "now:STATE:queue and ever:STATE:queue → count", "moves, ends"),
    Key("queues", "set", "names of queues that had a job, a rule or settings", "moves, put_rules"),
    Key("moments", "zset", "queue by the moment from which it needs a look", "unit, ripe"),
    Key("grants", "zset", "queue by the newest moment at which a lease was granted", "unit"),
    Key("ended", "zset", "ended jobs by the end of their retention", "ends"),
    Key("uniques", "hash", "unique key → holder, live, held until, successor", "unique"),
    Key("holds", "zset", "unique keys that outlive their job, by their end", "unique"),
    Key(
        "rules", "hash", "kind:scope:target → rule; flags: scoped, grouped, gated", "ruling, groups"
    ),
    Key("endings", "zset", "rules that expire or are not on queues, by their end", "ruling"),
    Key("covers", "zset", "rules on tasks and fields, by their end", "ruling"),
    Key("meters", "zset", "rates and closed gates, by the moment until which", "gates"),
    Key("settings", "hash", "queue → retention, settings, limits", "put_settings"),
    Key("schedules", "hash", "name → paused, ticks, last job, error, schedule", "put_schedules"),
    Key("workers", "hash", "worker → started, beat, what it says about itself", "beat"),
    Key("beats", "zset", "workers by the moment from which they are stale", "beat"),
    Key("orders", "hash", "worker → what people ask of it", "order"),
    Key("events", "stream", "what people did and what went wrong", "unit"),
    Key("flows", "hash", "flow → name, live jobs, how it ended, fields", "book"),
    Key("counts", "hash", "flow → how many jobs are held, scheduled, failed, cancelled", "kin"),
    Key("retired", "zset", "ended flows, also several, by the end of their retention", "book"),
    Key("stages", "hash", "stage → flow, when touched, published, live jobs", "book"),
    Key("abandoned", "zset", "stages not published, by when they were touched", "book"),
    Key("downs", "hash", "job id → numbers of those that wait for it, or have waited", "book"),
    Key("ripples", "zset", "what ends and publications have set off, still to be done", "ripples"),
    Key("overdue", "zset", "held jobs by the deadline of their join", "edges"),
    Key("void", "none", "never there, so that a cluster puts off calls on a moving slot", "nobody"),
)
"""The keys that every script is given."""

NAMED: Final = (
    Key("line:QUEUE", "zset", "waiting jobs by priority, then place and arrival", "moves"),
    Key("lane:QUEUE␟GROUP", "zset", "the same of one group", "moves"),
    Key("aside:QUEUE␟RULE", "zset", "the same of jobs set aside behind a rule", "turns"),
    Key("gates:QUEUE", "zset", "rules with jobs aside, by the moment they may open", "turns"),
    Key("stalled:QUEUE␟RULE", "zset", "groups whose ordered lanes wait for a rule", "turns"),
    Key(
        "groups:QUEUE", "hash", "group → running jobs, its lanes: priority, turn, served", "groups"
    ),
    Key("lanes:QUEUE", "zset", "open lanes by priority, then turn, group and priority", "groups"),
    Key("parked:QUEUE␟SET", "zset", "closed lanes, the same; two sets take turns", "groups"),
    Key("opens:QUEUE", "zset", "groups of closed lanes by the moment they may open", "groups"),
    Key("due:QUEUE", "zset", "scheduled jobs by due time", "moves"),
    Key("leases:QUEUE", "zset", "running jobs by the end of their lease", "moves"),
    Key("expiring:QUEUE", "zset", "jobs never claimed by the moment they expire", "moves"),
    Key("field:NAME=VALUE", "zset", "jobs with this field value, by arrival", "moves"),
    Key("members:FLOW", "zset", "jobs of a flow, by arrival", "moves"),
    Key("state:FLOW", "hash", "a flow's shared state", "book"),
    Key("stages:FLOW", "zset", "stages of a flow", "book"),
    Key("shelf:WORD", "zset", "flows by arrival: all, of a name, a status, a field value", "book"),
    Key("staged:STAGE", "zset", "jobs of a stage: 1 if it holds them", "ripples, making"),
    Key("children:STAGE", "zset", "children that were staged, in order", "making"),
    Key("roll:STAGE", "string", "the same as one text, until somebody waits for them", "book"),
    Key("up:NUMBER", "zset", "what a job waits or has waited for, as in edges.lua", "edges"),
)
"""The keys that scripts name themselves, in the slot of `root`."""


def prelude(script: str) -> str:
    """What stands before a script: the names of the keys that it uses. Lua allows for 200 names in all."""
    words = set(re.findall(r"\b[A-Z]+\b", re.sub(r"--.*", "", script)))
    used = {key.name.upper(): place for place, key in enumerate(FIXED, 1)}
    names = [name for name in used if name in words]
    if not names:
        return ""
    return f"local {', '.join(names)} = {', '.join(f'KEYS[{used[name]}]' for name in names)}"


def keys_of(namespace: str, shard: int) -> tuple[str, ...]:
    """The fixed keys of one shard; the first is the shard's tag alone."""
    tag = f"{{{namespace}:{shard}}}"
    return (tag, *(f"{tag}:{key.name}" for key in FIXED[1:]))


def check_namespace(namespace: str) -> None:
    """Refuse a namespace that would break the hash tags."""
    if not namespace or not namespace.isprintable() or set(namespace) & set("{}"):
        raise BadConfig(
            f"the namespace {namespace!r} cannot be used: give it printable text without braces"
        )
