"""Connections: made with bounded waits, checked before use, and closed after any doubt."""

from __future__ import annotations

import ssl
from collections.abc import Generator, Sequence
from typing import Any, Final

import msgspec
import redis.asyncio.connection as aio
from redis import connection as sio
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    NoScriptError,
    RedisError,
    ResponseError,
)
from redis.retry import Retry

from oxmill.drivers.redis.address import Address, Target
from oxmill.drivers.redis.faults import ODD, not_storable
from oxmill.drivers.redis.resp import join_packed, pack_words
from oxmill.drivers.redis.script import Call, Command, Script

Exchange = Generator[list[bytes], list[Any], list[Any]]

_HEALTH: Final = 15
"""A connection idle for so many seconds is asked for a sign of life before it is used."""


def _how(target: Target, address: Address) -> tuple[str, dict[str, Any]]:
    options: dict[str, Any] = {
        **target.options,
        "protocol": 2,
        "health_check_interval": _HEALTH,
    }
    host, port = address
    if not port:
        return "UnixDomainSocketConnection", {**options, "path": host}
    options |= {"host": host, "port": port, "socket_keepalive": True}
    return "SSLConnection" if target.tls else "Connection", options


class Packed(msgspec.Struct, frozen=True, gc=False):
    """One command, ready for the wire."""

    data: bytes
    script: Script | None = None
    """What it calls, if it calls one."""
    shard: int = 0
    """Where that is."""
    follows: bool = False
    """Whether it asks about what was sent before it."""


class Packer:
    """Packs steps; what all calls of a script on a shard start with is packed once."""

    def __init__(self, keys: Sequence[Sequence[bytes]]) -> None:
        self._keys = keys
        self._starts: dict[tuple[str, int], tuple[int, bytes]] = {}

    def __call__(self, step: Call | Command) -> Packed:
        """A step as it goes over the wire. What cannot be packed is refused here, alone."""
        try:
            if isinstance(step, Command):
                return Packed(pack_words(step.words), follows=step.follows)
            script, shard = step.script, step.shard
            start = self._starts.get((script.name, shard)) or self._start(script, shard)
            return Packed(join_packed(*start, step.args), script, shard)
        except ODD as odd:
            raise not_storable(odd) from None

    def _start(self, script: Script, shard: int) -> tuple[int, bytes]:
        names = self._keys[shard]
        words = ("EVALSHA", script.sha, len(names), *names)
        data = pack_words(words)
        start = len(words), data[data.index(b"\n") + 1 :]
        self._starts[script.name, shard] = start
        return start

    def whole(self, call: Call) -> bytes:
        """A call that the server need not know beforehand."""
        names = self._keys[call.shard]
        return pack_words(("EVAL", call.script.text, len(names), *names, *call.args))


def open_blocking(target: Target, address: Address) -> Any:
    """A connection for threads, not yet connected."""
    name, options = _how(target, address)
    return getattr(sio, name)(**options, retry=Retry(NoBackoff(), 0))


def tls_context(target: Target, address: Address) -> ssl.SSLContext | None:
    """How to encrypt, as the URL says; `None` for not at all."""
    if not target.tls or not address[1]:
        return None
    _, options = _how(target, address)
    context: ssl.SSLContext = aio.SSLConnection(**options).ssl_context.get()
    return context


def exchange(commands: Sequence[Packed], loaded: set[str]) -> Exchange:
    """One round trip for all commands, without doing it: yields data and is sent the replies.

    Scripts that this connection has not used yet are loaded along. A script that the server has
    forgotten meanwhile is loaded and called again: the refusal says that it did nothing.
    """
    replies = yield from _send(commands, loaded)
    if any(isinstance(reply, NoScriptError) for reply in replies):
        lost = [
            place
            for place, reply in enumerate(replies)
            if isinstance(reply, NoScriptError) or commands[place].follows
        ]
        loaded.clear()
        again = yield from _send([commands[place] for place in lost], loaded)
        for place, reply in zip(lost, again, strict=True):
            replies[place] = reply
    return replies


def _send(commands: Sequence[Packed], loaded: set[str]) -> Exchange:
    new = {
        each.script.sha: each.script
        for each in commands
        if each.script is not None and each.script.sha not in loaded
    }
    if not new:
        return (yield [each.data for each in commands])
    loads = [pack_words(("SCRIPT", "LOAD", script.text)) for script in new.values()]
    loaded.update(new)
    replies = yield loads + [each.data for each in commands]
    broken = [reply for reply in replies[: len(loads)] if isinstance(reply, Exception)]
    if broken:  # then the calls were refused too, but for a reason that tells less
        loaded.clear()
        return broken[:1] * len(commands)
    return replies[len(loads) :]


def read_all(connection: Any, count: int) -> list[Any]:
    """So many replies; refusals are replies too."""
    replies: list[Any] = []
    for _ in range(count):
        try:
            reply = connection.read_response(disable_decoding=True, disconnect_on_error=False)
            replies.append(reply)
        except (ResponseError, BusyLoadingError, AuthenticationError) as refusal:
            replies.append(refusal)
    return replies


def is_stale(connection: Any) -> bool:
    """Whether the server has closed an idle connection, or said something nobody asked for."""
    try:
        return bool(connection.can_read(0))
    except (RedisError, OSError):
        return True
