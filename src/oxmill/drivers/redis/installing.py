"""Installing on Redis: a version and an identity; the keys come and go with their content."""

from __future__ import annotations

import secrets
from typing import Any, Final

from redis.exceptions import ResponseError

from oxmill.drivers.redis.findings import Mode, findings_of
from oxmill.drivers.redis.script import MIGRATE
from oxmill.drivers.redis.space import Space
from oxmill.errors import SchemaMismatch
from oxmill.model.info import Finding, Schema
from oxmill.store.admission import check_columns
from oxmill.store.capabilities import Capability
from oxmill.store.plan import Plan, Steps, plan
from oxmill.store.roles.installing import Check, Migrate, Version

VERSION: Final = 2
_APPLIED: Final = ("0001_layout", "0002_lanes")
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

    def __init__(self, space: Space, mode: Mode, replicas: int) -> None:
        self._space = space
        self._mode: Mode = mode
        self._replicas = replicas

    def migrate(self, request: Migrate) -> Plan[Schema]:
        """Give the store its version and identity; doing it again changes nothing. Jobs of groups are
        brought into lanes in short steps; a call that was broken off is taken up where it stopped."""
        check_columns(request.extra_columns, Capability.NONE)
        return self._migrate(request)

    @plan("migrate")
    def _migrate(self, request: Migrate) -> Steps[Schema]:  # noqa: ARG002 - there is one way
        identity = secrets.token_hex(8)
        replies = yield from self._space.everywhere(MIGRATE, VERSION, identity)
        while not all(replies):
            replies = yield from self._space.everywhere(MIGRATE, VERSION, identity)
        return _schema(max(replies))

    @plan("version", writes=False)
    def version(self, request: Version) -> Steps[Schema]:  # noqa: ARG002
        """The version that is there; 0 for an empty store."""
        replies = yield from self._space.root("version")
        return _schema(min(int(reply or 0) for reply in replies))

    @plan("check", writes=False)
    def check(self, request: Check) -> Steps[tuple[Finding, ...]]:  # noqa: ARG002
        """What the doctor has to say about every server that holds a shard."""
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
        found = (
            finding for facts in told for finding in findings_of(facts, self._mode, self._replicas)
        )
        return tuple(dict.fromkeys(found))


def _schema(current: int) -> Schema:
    if current > VERSION:
        raise SchemaMismatch(
            f"the store has layout {current}, this code knows {VERSION}; upgrade oxmill here"
        )
    return Schema(current=current, newest=VERSION, applied=_APPLIED[:current])


def _info(reply: Any) -> dict[str, str]:
    if isinstance(reply, ResponseError):
        return {}
    pairs = (line.partition(":") for line in reply.decode().splitlines() if ":" in line)
    return {name: value for name, _, value in pairs}


def _setting(reply: Any) -> dict[str, str]:
    """Managed services refuse to tell; then `INFO` has to do."""
    if isinstance(reply, ResponseError) or len(reply) < 2:
        return {}
    return {f"config:{reply[0].decode()}": reply[1].decode()}
