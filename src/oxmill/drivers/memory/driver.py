"""The memory driver: the readable reference, for tests and for reading first."""

from __future__ import annotations

import time
from collections.abc import Callable

from oxmill.drivers.memory.claiming import MemoryClaiming
from oxmill.drivers.memory.enqueueing import MemoryEnqueueing
from oxmill.drivers.memory.housekeeping import MemoryHousekeeping
from oxmill.drivers.memory.inspecting import MemoryInspecting
from oxmill.drivers.memory.installing import MemoryInstalling
from oxmill.drivers.memory.scheduling import MemoryScheduling
from oxmill.drivers.memory.settling import MemorySettling
from oxmill.drivers.memory.steering import MemorySteering
from oxmill.drivers.memory.transport import MemoryTransport
from oxmill.drivers.memory.world import World
from oxmill.model.bounds import DEFAULT_BOUNDS, Bounds
from oxmill.model.value import Micros
from oxmill.store.bells import LocalDoorbell, SilentDoorbell
from oxmill.store.capabilities import Capability
from oxmill.store.driver import Driver


def wall_clock() -> Micros:
    """The host's clock."""
    return time.time_ns() // 1_000


def open_memory(
    *,
    clock: Callable[[], Micros] = wall_clock,
    doorbell: bool = True,
    bounds: Bounds = DEFAULT_BOUNDS,
    world: World | None = None,
) -> Driver:
    """A store that lives as long as the process. Give it a `world` to look inside."""
    able = Capability.VIRTUAL_TIME | Capability.DOORBELL | Capability.FLOWS
    able |= Capability.GROUPS | Capability.LIMITS | Capability.SCOPED_RULES
    world = World(clock, bounds) if world is None else world
    return Driver(
        name="memory",
        url="memory://",
        capabilities=able,
        installing=MemoryInstalling(),
        enqueueing=MemoryEnqueueing(world, able),
        claiming=MemoryClaiming(world),
        settling=MemorySettling(world, able),
        scheduling=MemoryScheduling(world, able),
        steering=MemorySteering(world, able),
        inspecting=MemoryInspecting(world),
        housekeeping=MemoryHousekeeping(world),
        transport=MemoryTransport(),
        doorbell=LocalDoorbell() if doorbell else SilentDoorbell(),
        bounds=bounds,
    )
