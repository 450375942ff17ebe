"""The PostgreSQL driver: the whole contract in one schema of a database you already have."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from oxmill.drivers.postgres.address import Address, parse
from oxmill.drivers.postgres.claiming import PostgresClaiming
from oxmill.drivers.postgres.doorbell import PostgresDoorbell
from oxmill.drivers.postgres.installing import PostgresInstalling
from oxmill.drivers.postgres.settling import PostgresSettling
from oxmill.drivers.postgres.transport import PostgresTransport
from oxmill.drivers.sql.enqueueing import SqlEnqueueing
from oxmill.drivers.sql.housekeeping import SqlHousekeeping
from oxmill.drivers.sql.inspecting import SqlInspecting
from oxmill.drivers.sql.scheduling import SqlScheduling
from oxmill.drivers.sql.steps import Statement
from oxmill.model.bounds import DEFAULT_BOUNDS, Bounds
from oxmill.model.value import Micros
from oxmill.store.bells import SilentDoorbell
from oxmill.store.borrowing import Borrowing
from oxmill.store.capabilities import Capability
from oxmill.store.driver import Driver
from oxmill.store.late import late
from oxmill.store.roles.steering import Steering

if TYPE_CHECKING:
    from oxmill.drivers.postgres.findings import Mode

_FOLDED: Final = 100_000
"""Changes of counts that one sweep adds up."""


def open_postgres(
    url: str,
    *,
    doorbell: bool = True,
    mode: Mode = "durable",
    bounds: Bounds = DEFAULT_BOUNDS,
    clock: Callable[[], Micros] | None = None,
) -> Driver:
    """The store in one schema of a PostgreSQL database. Nothing is connected until the first call,
    which installs or migrates the schema unless the URL says `migrate=no`.

    A `clock` replaces the server's own: for tests only.
    """
    address = parse(url)
    able = Capability.MANY_PROCESSES | Capability.SQL | Capability.CALLER_TRANSACTION
    able |= Capability.FLOWS
    able |= Capability.GROUPS | Capability.LIMITS | Capability.SCOPED_RULES
    if mode != "volatile":
        able |= Capability.DURABLE
    if doorbell:
        able |= Capability.DOORBELL
    if clock is not None:
        able |= Capability.VIRTUAL_TIME
    transport = PostgresTransport(address, clock)
    bell = PostgresDoorbell(address) if doorbell else None
    channel = None if bell is None else bell.channel
    return Driver(
        name="postgres",
        url=address.shown,
        capabilities=able,
        installing=PostgresInstalling(address, mode, clock),
        enqueueing=SqlEnqueueing(bounds, able),
        claiming=PostgresClaiming(bounds),
        settling=PostgresSettling(bounds, able),
        scheduling=SqlScheduling(bounds, able),
        steering=late(lambda: _steering(bounds, able)),
        inspecting=SqlInspecting(bounds, able),
        housekeeping=SqlHousekeeping(
            bounds, able, after_sweep=Statement("fold_counts", {"most": _FOLDED})
        ),
        transport=transport,
        doorbell=SilentDoorbell() if bell is None else bell,
        bounds=bounds,
        borrowing=late(lambda: _borrowing(address, clock, transport, channel)),
    )


def _steering(bounds: Bounds, able: Capability) -> Steering:
    from oxmill.drivers.sql.steering import SqlSteering  # noqa: PLC0415 - idle workers do without

    return SqlSteering(bounds, able)


def _borrowing(
    address: Address,
    clock: Callable[[], Micros] | None,
    transport: PostgresTransport,
    channel: str | None,
) -> Borrowing:
    from oxmill.drivers.postgres.borrowing import PostgresBorrowing  # noqa: PLC0415 - idle workers do without

    return PostgresBorrowing(address, clock, transport, channel)
