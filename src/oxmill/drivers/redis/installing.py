"""Installing on Redis: a version and an identity; the keys come and go with their content."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final

from oxmill.drivers.redis.codes import code_of
from oxmill.drivers.redis.faults import KEPT_OUT
from oxmill.drivers.redis.findings import Mode, findings_of
from oxmill.drivers.redis.layout import VERSION, check_layout
from oxmill.drivers.redis.mending import mend
from oxmill.drivers.redis.script import MIGRATE
from oxmill.drivers.redis.space import Space
from oxmill.model.info import Finding, Level, Mended, Schema
from oxmill.store.admission import check_columns
from oxmill.store.capabilities import Capability
from oxmill.store.plan import Plan, Steps, plan
from oxmill.store.roles.installing import Check, Mend, Migrate, Version

_APPLIED: Final = ("0001_layout", "0002_lanes")
_LOOKS: Final = 200
"""Scripts that a look through the content takes at most, for jobs and for each index."""
_SECTIONS: Final = ("server", "persistence", "memory", "replication", "cluster")
_SETTINGS: Final = (
    "appendonly",
    "appendfsync",
    "maxmemory",
    "maxmemory-policy",
    "no-appendfsync-on-rewrite",
    "min-replicas-to-write",
)


class RedisInstalling:
    """Prepares a store."""

    def __init__(self, shown: str, space: Space, mode: Mode, replicas: int) -> None:
        self._shown = shown
        self._space = space
        self._mode: Mode = mode
        self._replicas = replicas
        self._runs: dict[int, str] = {}
        """The `run_id` of each shard's server, as the last look found it."""

    def migrate(self, request: Migrate) -> Plan[Schema]:
        """Give the store its version and identity; doing it again changes nothing. Jobs of groups are
        brought into lanes in short steps; a call that was broken off is taken up where it stopped."""
        check_columns(request.extra_columns, Capability.NONE)
        return self._migrate(request)

    @plan("migrate")
    def _migrate(self, request: Migrate) -> Steps[Schema]:  # noqa: ARG002 - there is one way
        identity = os.urandom(8).hex()
        replies = yield from self._space.everywhere(MIGRATE, VERSION, identity)
        while not all(replies):
            replies = yield from self._space.everywhere(MIGRATE, VERSION, identity)
        return _schema(max(map(int, replies)))

    @plan("version", writes=False)
    def version(self, request: Version) -> Steps[Schema]:  # noqa: ARG002
        """The version that is there; 0 for an empty store. Jobs in a store without one are of the
        newest: releases before this one wrote that down only when they migrated."""
        found = []
        for layout, shards, drawn in (yield from self._space.root("version", "shards", "drawn")):
            check_layout(self._shown, int(layout or 0), int(shards or 0), self._space.shards)
            found.append(int(layout or (VERSION if drawn else 0)))
        return _schema(max(found) if 0 in found else min(found))

    @plan("check", writes=False)
    def check(self, request: Check) -> Steps[tuple[Finding, ...]]:
        """What the doctor has to say about every server that holds a shard, and about its content."""
        told: list[dict[str, str]] = [{} for _ in range(self._space.shards)]
        for section in _SECTIONS:
            for facts, reply in zip(
                told, (yield from self._space.commands("INFO", section)), strict=True
            ):
                facts.update(_info(reply))
        for setting in _SETTINGS:
            for facts, reply in zip(
                told, (yield from self._space.commands("CONFIG", "GET", setting)), strict=True
            ):
                facts.update(_setting(reply))
        if self._replicas:
            for facts, reply in zip(
                told, (yield from self._space.commands("WAIT", 0, 0)), strict=True
            ):
                facts.update(_wait(reply))
        found: list[Finding] = []
        for shard, facts in enumerate(told):
            found += findings_of(facts, self._mode, self._replicas, self._runs.get(shard, ""))
            self._runs[shard] = facts.get("run_id", "")
        findings = tuple(dict.fromkeys(found))
        if not request.deep:
            return findings
        damage = yield from mend(self._space, write=False, most=_LOOKS)
        return (*findings, *_damage(damage))

    @plan("mend")
    def mend(self, request: Mend) -> Steps[Mended]:  # noqa: ARG002 - there is one way
        """Bring back jobs that stand nowhere, and drop entries of jobs that are gone."""
        return (yield from mend(self._space, write=True))


def _damage(found: Mended) -> Iterator[Finding]:
    if found.returned:
        yield Finding(
            level=Level.WARN,
            name="jobs astray",
            found=f"at least {found.returned:,}",
            wanted="none",
            risk="keys were deleted or changed by others; these jobs are kept, but nobody will run or find them",
            remedy="oxmill db check --repair puts them back",
        )
    if found.recounted:
        yield Finding(
            level=Level.WARN,
            name="groups miscounted",
            found=f"at least {found.recounted:,}",
            wanted="none",
            risk="keys were deleted or changed by others; limits of these groups count jobs that are gone",
            remedy="oxmill db check --repair counts them again",
        )
    if found.dropped:
        yield Finding(
            level=Level.NOTE,
            name="entries without a job",
            found=f"at least {found.dropped:,}",
            wanted="none",
            risk="keys were deleted or changed by others; counts are too high until somebody meets these entries",
            remedy="oxmill db check --repair drops them",
        )


def _schema(current: int) -> Schema:
    return Schema(current=current, newest=VERSION, applied=_APPLIED[:current])


def _info(reply: Any) -> dict[str, str]:
    if isinstance(reply, Exception):
        return {}
    pairs = (line.partition(":") for line in reply.decode().splitlines() if ":" in line)
    return {name: value for name, _, value in pairs}


def _setting(reply: Any) -> dict[str, str]:
    """Managed services refuse to tell; then `INFO` has to do."""
    if isinstance(reply, Exception) or len(reply) < 2:
        return {}
    return {f"config:{reply[0].decode()}": reply[1].decode()}


def _wait(reply: Any) -> dict[str, str]:
    """A replica refuses it too; which it says of itself elsewhere."""
    if isinstance(reply, Exception) and code_of(reply) in KEPT_OUT:
        return {"wait": "refused"}
    return {}
