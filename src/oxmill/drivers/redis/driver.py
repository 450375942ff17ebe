"""The Redis driver: the whole contract on Redis and Valkey, alone, behind sentinels, or clustered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from oxmill.drivers.redis.address import parse
from oxmill.drivers.redis.borrowing import RedisBorrowing
from oxmill.drivers.redis.claiming import RedisClaiming
from oxmill.drivers.redis.doorbell import RedisDoorbell
from oxmill.drivers.redis.findings import Mode, mode_of
from oxmill.drivers.redis.flow_enqueueing import RedisFlowEnqueueing
from oxmill.drivers.redis.housekeeping import RedisHousekeeping
from oxmill.drivers.redis.inspecting import RedisInspecting
from oxmill.drivers.redis.installing import RedisInstalling
from oxmill.drivers.redis.keys import check_namespace, keys_of
from oxmill.drivers.redis.layout import Layout
from oxmill.drivers.redis.scheduling import RedisScheduling
from oxmill.drivers.redis.settling import RedisSettling
from oxmill.drivers.redis.space import Space
from oxmill.drivers.redis.steering import RedisSteering
from oxmill.drivers.redis.transport import RedisTransport
from oxmill.errors import BadConfig
from oxmill.model.bounds import DEFAULT_BOUNDS, Bounds
from oxmill.model.value import Micros
from oxmill.store.bells import SilentDoorbell
from oxmill.store.capabilities import Capability
from oxmill.store.doorbell import Doorbell
from oxmill.store.driver import Driver

REDIS_BOUNDS: Final = msgspec.structs.replace(
    DEFAULT_BOUNDS, batch_jobs=250, heavy_jobs=50, cleanup_jobs=50, turn_jobs=100
)
"""Smaller batches than elsewhere, so that no script holds the server for more than a few milliseconds: while
one runs, nobody else is served. And smaller turns: a server writes 64 KiB at once, and the rest of a longer
answer only after what was asked meanwhile, so that the second of two turns would hold up the first; and the
short way of a claim within limits gives no more than that (claim_gated.lua)."""

_MAX_SHARDS: Final = 256


def open_redis(  # noqa: PLR0913 - options of one call
    url: str,
    *,
    doorbell: bool = True,
    namespace: str | None = None,
    shards: int | None = None,
    mode: Mode = "durable",
    bounds: Bounds = REDIS_BOUNDS,
    clock: Callable[[], Micros] | None = None,
) -> Driver:
    """The store on a Redis or Valkey server, on a group kept by sentinels, or on a cluster.

    Nothing is connected until the first call. `namespace` keeps several apps apart on one server;
    `shards` spreads one app over the slots of a cluster and must be the same for all who use it.
    Both may stand in the URL's query; so may `replicas`, how many of them must confirm each write
    before it is acknowledged, and `mode`. A `clock` replaces the server's own: for tests only.
    """
    target = parse(url)
    extras = dict(target.extras)
    name = namespace or extras.pop("namespace", "oxmill")
    parts = shards or _number("shards", extras.pop("shards", "1"))
    replicas = _number("replicas", extras.pop("replicas", "0"))
    promised = mode_of(extras.pop("mode", mode))
    if extras:
        raise BadConfig(f"{', '.join(sorted(extras))}: not an option of a Redis URL")
    check_namespace(name)
    if not 1 <= parts <= _MAX_SHARDS:
        raise BadConfig(f"use 1 to {_MAX_SHARDS} shards, not {parts}")
    channel = f"{name}:bell:"
    space = Space(
        namespace=name,
        shards=parts,
        bounds=bounds,
        able=_able(promised, parts, clock),
        channel=channel.encode() if doorbell else b"",
        gathered=target.kind != "cluster",
        clock=clock,
    )
    keys = [[key.encode() for key in keys_of(name, shard)] for shard in range(parts)]
    layout = Layout(target.shown, parts, warns=promised != "volatile")
    transport = RedisTransport(target, keys, layout, replicas=replicas)
    bells = RedisDoorbell(target, transport.place, channel) if doorbell else SilentDoorbell()
    installing = RedisInstalling(target.shown, space, promised, replicas)
    return _assembled(target.shown, space, transport, bells, installing)


def _able(mode: Mode, shards: int, clock: Callable[[], Micros] | None) -> Capability:
    """Limits and turns are exact over all workers only where one script sees all jobs."""
    able = Capability.MANY_PROCESSES | Capability.DOORBELL | Capability.FLOWS
    if shards == 1:
        able |= Capability.GROUPS | Capability.LIMITS | Capability.SCOPED_RULES
    if mode == "durable":
        able |= Capability.DURABLE
    return able if clock is None else able | Capability.VIRTUAL_TIME


def _assembled(
    shown: str,
    space: Space,
    transport: RedisTransport,
    bells: Doorbell,
    installing: RedisInstalling,
) -> Driver:
    return Driver(
        name="redis",
        url=shown,
        capabilities=space.able,
        installing=installing,
        enqueueing=RedisFlowEnqueueing(space),
        claiming=RedisClaiming(space),
        settling=RedisSettling(space),
        scheduling=RedisScheduling(space),
        steering=RedisSteering(space),
        inspecting=RedisInspecting(space),
        housekeeping=RedisHousekeeping(space),
        transport=transport,
        doorbell=bells,
        bounds=space.bounds,
        borrowing=RedisBorrowing(space, transport, installing),
    )


def _number(name: str, text: str) -> int:
    if not text.isdecimal():
        raise BadConfig(f"{name}={text} in the URL is not a number")
    return int(text)
