"""The SQLite driver: one file, no server, good enough for production on one host."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from oxmill.drivers.sql.housekeeping import SqlHousekeeping
from oxmill.drivers.sql.inspecting import SqlInspecting
from oxmill.drivers.sql.scheduling import SqlScheduling
from oxmill.drivers.sqlite.claiming import SqliteClaiming
from oxmill.drivers.sqlite.connection import Mode, Place
from oxmill.drivers.sqlite.doorbell import SqliteDoorbell
from oxmill.drivers.sqlite.enqueueing import SqliteEnqueueing
from oxmill.drivers.sqlite.installing import SqliteInstalling
from oxmill.drivers.sqlite.settling import SqliteSettling
from oxmill.drivers.sqlite.shrinking import give_back_pages
from oxmill.drivers.sqlite.transport import SqliteTransport
from oxmill.errors import StoreRefused
from oxmill.model.bounds import DEFAULT_BOUNDS, Bounds
from oxmill.model.value import Micros
from oxmill.store.bells import SilentDoorbell
from oxmill.store.borrowing import Borrowing
from oxmill.store.capabilities import Capability
from oxmill.store.driver import Driver
from oxmill.store.late import late
from oxmill.store.roles.steering import Steering


def wall_clock() -> Micros:
    """The host's clock: all processes that use the file are on one host, so they share it."""
    return time.time_ns() // 1_000


def open_sqlite(
    path: str | Path,
    *,
    clock: Callable[[], Micros] = wall_clock,
    doorbell: bool = True,
    mode: Mode = "durable",
    bounds: Bounds = DEFAULT_BOUNDS,
) -> Driver:
    """A store in one file. Nothing is touched before the first use, which installs or migrates it.

    In mode `durable` an acknowledged write survives power loss; in `process`, the end of every
    process; in `volatile`, neither is promised.
    """
    place = Place(_absolute(path), mode)
    able = Capability.VIRTUAL_TIME | Capability.MANY_PROCESSES
    able |= Capability.SQL | Capability.CALLER_TRANSACTION | Capability.FLOWS
    able |= Capability.GROUPS | Capability.LIMITS | Capability.SCOPED_RULES
    if mode != "volatile":
        able |= Capability.DURABLE
    if doorbell:
        able |= Capability.DOORBELL
    transport = SqliteTransport(place, clock)
    return Driver(
        name="sqlite",
        url=f"sqlite:///{place.path}",
        capabilities=able,
        installing=SqliteInstalling(place),
        enqueueing=SqliteEnqueueing(bounds, able),
        claiming=SqliteClaiming(bounds),
        settling=SqliteSettling(bounds, able),
        scheduling=SqlScheduling(bounds, able),
        steering=late(lambda: _steering(bounds, able)),
        inspecting=SqlInspecting(bounds, able),
        housekeeping=SqlHousekeeping(bounds, able, give_back_pages),
        transport=transport,
        doorbell=SqliteDoorbell(place) if doorbell else SilentDoorbell(),
        bounds=bounds,
        borrowing=late(lambda: _borrowing(place, clock, transport)),
    )


def _absolute(path: str | Path) -> Path:
    text = str(path)
    if not text or ":memory:" in text:
        raise StoreRefused(
            f"{text!r} is not a file that several threads and processes can share; give the path "
            f"of a file, or use memory:// in tests"
        )
    # Through links: the log and the lock have to lie beside the file itself, whatever name it goes by.
    return Path(text).resolve()


def _steering(bounds: Bounds, able: Capability) -> Steering:
    from oxmill.drivers.sql.steering import SqlSteering  # noqa: PLC0415 - idle workers do without

    return SqlSteering(bounds, able)


def _borrowing(place: Place, clock: Callable[[], Micros], transport: SqliteTransport) -> Borrowing:
    from oxmill.drivers.sqlite.borrowing import SqliteBorrowing  # noqa: PLC0415 - idle workers do without

    return SqliteBorrowing(place, clock, transport.ensure_open)
