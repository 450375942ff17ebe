"""Where the server of a shard is now: fixed, told by sentinels, or told by the cluster."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from redis.crc import key_slot

from oxmill.drivers.redis.address import Address, Target
from oxmill.drivers.redis.faults import FAULTS, unreachable
from oxmill.drivers.redis.link import open_blocking
from oxmill.errors import StoreError, StoreUnavailable


class Places(Protocol):
    """Finds the server of a shard."""

    def find(self, shard: int) -> Address | None:
        """Where it is, as far as known without asking anybody."""
        ...

    def look(self, shard: int) -> Address:
        """Where it is, asking around if need be. Blocks for a bounded time."""
        ...

    def forget(self, shard: int) -> None:
        """It is not there any more."""
        ...

    def learn(self, shard: int, address: Address) -> None:
        """A server said where it is."""
        ...


class FixedPlace:
    """One server for all shards."""

    def __init__(self, target: Target) -> None:
        self._address = target.seeds[0]

    def find(self, shard: int) -> Address | None:  # noqa: ARG002
        """Always there."""
        return self._address

    def look(self, shard: int) -> Address:  # noqa: ARG002
        """Always there."""
        return self._address

    def forget(self, shard: int) -> None:
        """There is no other."""

    def learn(self, shard: int, address: Address) -> None:
        """There is no other."""


class ToldPlaces:
    """Asks the seeds one after the other and remembers what the first that knows said."""

    def __init__(
        self, target: Target, shards: int, ask: Callable[[Target, Address, int], Address | None]
    ) -> None:
        self._target = target
        self._ask = ask
        self._guard = threading.Lock()
        self._known: list[Address | None] = [None] * shards
        self._seen: list[Address] = list(target.seeds)

    def find(self, shard: int) -> Address | None:
        """What was told last."""
        return self._known[shard]

    def look(self, shard: int) -> Address:
        """What was told last, or what the seeds say now."""
        with self._guard:
            known = self._known[shard]
            if known is not None:
                return known
            fault: BaseException | None = None
            for seed in list(self._seen):
                try:
                    known = self._ask(self._target, seed, shard)
                except FAULTS as broken:
                    fault = broken
                    continue
                if known is not None:
                    self._remember(shard, known)
                    return known
        raise self._lost(fault)

    def _lost(self, fault: BaseException | None) -> StoreError:
        if fault is not None:
            return unreachable(self._target.shown, fault)
        return StoreUnavailable(
            f"{self._target.shown} knows no server for this now; nothing was written, try again"
        )

    def _remember(self, shard: int, address: Address) -> None:
        self._known[shard] = address
        if self._target.kind == "cluster" and address not in self._seen:
            self._seen.append(address)

    def forget(self, shard: int) -> None:
        """Ask again next time."""
        self._known[shard] = None

    def learn(self, shard: int, address: Address) -> None:
        """Go there from now on."""
        self._remember(shard, address)


def places_for(target: Target, keys: Sequence[Sequence[bytes]]) -> Places:
    """What fits the target."""
    if target.kind == "single":
        return FixedPlace(target)
    if target.kind == "sentinel":
        return ToldPlaces(target, len(keys), _ask_sentinel)
    slots = [key_slot(names[0]) for names in keys]
    return ToldPlaces(
        target, len(keys), lambda target, seed, shard: _ask_cluster(target, seed, slots[shard])
    )


def _ask(target: Target, address: Address, words: tuple[str, ...]) -> Any:
    connection = open_blocking(target, address)
    try:
        connection.connect()
        connection.send_command(*words, check_health=False)
        return connection.read_response(disable_decoding=True)
    finally:
        connection.disconnect()


def _ask_sentinel(target: Target, seed: Address, shard: int) -> Address | None:  # noqa: ARG001
    # Sentinels have users and passwords of their own, if any: never those of the server.
    open_target = Target(
        kind="sentinel",
        seeds=target.seeds,
        shown=target.shown,
        tls=target.tls,
        options={
            name: value
            for name, value in target.options.items()
            if name not in {"username", "password", "db"}
        }
        | target.sentinel,
    )
    told = _ask(open_target, seed, ("SENTINEL", "get-master-addr-by-name", target.master))
    return None if told is None else (told[0].decode(), int(told[1]))


def _ask_cluster(target: Target, seed: Address, slot: int) -> Address | None:
    for first, last, (host, port, *_), *_ in _ask(target, seed, ("CLUSTER", "SLOTS")):
        if first <= slot <= last:
            return (host.decode() or seed[0], port)
    return None
