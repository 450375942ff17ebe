"""The MySQL and MariaDB driver."""

from __future__ import annotations

from collections.abc import Callable

from oxmill.drivers.mysql.address import Place, parse
from oxmill.drivers.mysql.claiming import MysqlClaiming
from oxmill.drivers.mysql.doctor import Mode
from oxmill.drivers.mysql.doorbell import MysqlDoorbell
from oxmill.drivers.mysql.housekeeping import MysqlHousekeeping
from oxmill.drivers.mysql.installing import MysqlInstalling
from oxmill.drivers.mysql.scheduling import MysqlScheduling
from oxmill.drivers.mysql.settling import MysqlSettling
from oxmill.drivers.mysql.transport import MysqlTransport
from oxmill.drivers.sql.enqueueing import SqlEnqueueing
from oxmill.drivers.sql.inspecting import SqlInspecting
from oxmill.model.bounds import DEFAULT_BOUNDS, Bounds
from oxmill.model.value import Micros
from oxmill.store.bells import SilentDoorbell
from oxmill.store.borrowing import Borrowing
from oxmill.store.capabilities import Capability
from oxmill.store.driver import Driver
from oxmill.store.late import late
from oxmill.store.roles.steering import Steering


def open_mysql(
    url: str,
    *,
    clock: Callable[[], Micros] | None = None,
    doorbell: bool = True,
    mode: Mode = "durable",
    bounds: Bounds = DEFAULT_BOUNDS,
) -> Driver:
    """A store in one database. Nothing is touched before the first use, which installs or migrates
    it. The server's clock decides, unless a test gives another.

    Nobody tells one process what another has written: each that listens looks for it by itself.
    """
    place = parse(url)
    able = Capability.MANY_PROCESSES | Capability.SQL | Capability.CALLER_TRANSACTION
    able |= Capability.FLOWS
    able |= Capability.GROUPS | Capability.LIMITS | Capability.SCOPED_RULES
    if mode != "volatile":
        able |= Capability.DURABLE
    if doorbell:
        able |= Capability.DOORBELL
    if clock is not None:
        able |= Capability.VIRTUAL_TIME
    transport = MysqlTransport(place, clock)
    bell = MysqlDoorbell(place) if doorbell else None
    if bell is not None:
        transport.on_claim = bell.claimed
    return Driver(
        name="mysql",
        url=place.shown,
        capabilities=able,
        installing=MysqlInstalling(place, mode, bounds),
        enqueueing=SqlEnqueueing(bounds, able),
        claiming=MysqlClaiming(bounds),
        settling=MysqlSettling(bounds, able),
        scheduling=MysqlScheduling(bounds, able),
        steering=late(lambda: _steering(bounds, able)),
        inspecting=SqlInspecting(bounds, able),
        housekeeping=MysqlHousekeeping(bounds, able),
        transport=transport,
        doorbell=SilentDoorbell() if bell is None else bell,
        bounds=bounds,
        borrowing=late(lambda: _borrowing(place, clock, transport)),
    )


def _steering(bounds: Bounds, able: Capability) -> Steering:
    from oxmill.drivers.sql.steering import SqlSteering  # noqa: PLC0415 - idle workers do without

    return SqlSteering(bounds, able)


def _borrowing(
    place: Place, clock: Callable[[], Micros] | None, transport: MysqlTransport
) -> Borrowing:
    from oxmill.drivers.mysql.borrowing import MysqlBorrowing  # noqa: PLC0415 - idle workers do without

    return MysqlBorrowing(place, clock, transport)
