"""Every operation of the contract, found by the type of its request."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from oxmill.model.claim import Claim, ClaimIds, Renew
from oxmill.model.flow import ListFlows
from oxmill.model.info import (
    Beat,
    EventsAfter,
    ListQueues,
    ListWorkers,
    Order,
    Prune,
    Sweep,
)
from oxmill.model.job import Enqueue
from oxmill.model.query import Cancel, Edit, Find, Get, Purge, Redrive
from oxmill.model.rule import PutRules
from oxmill.model.schedule import Fire, ListSchedules, PutSchedules
from oxmill.model.settings import PutSettings
from oxmill.model.settlement import Settle
from oxmill.model.value import Value
from oxmill.store.driver import Driver
from oxmill.store.plan import Plan
from oxmill.store.roles.installing import Check, Mend, Migrate, Version

OPERATIONS: Final[dict[type[Value], Callable[[Driver], Callable[[Any], Plan[Any]]]]] = {
    Migrate: lambda driver: driver.installing.migrate,
    Version: lambda driver: driver.installing.version,
    Check: lambda driver: driver.installing.check,
    Mend: lambda driver: driver.installing.mend,
    Enqueue: lambda driver: driver.enqueueing.enqueue,
    Claim: lambda driver: driver.claiming.claim,
    ClaimIds: lambda driver: driver.claiming.claim_ids,
    Renew: lambda driver: driver.claiming.renew,
    Settle: lambda driver: driver.settling.settle,
    PutSchedules: lambda driver: driver.scheduling.put_schedules,
    ListSchedules: lambda driver: driver.scheduling.schedules,
    Fire: lambda driver: driver.scheduling.fire,
    PutRules: lambda driver: driver.steering.put_rules,
    PutSettings: lambda driver: driver.steering.put_settings,
    Cancel: lambda driver: driver.steering.cancel,
    Redrive: lambda driver: driver.steering.redrive,
    Edit: lambda driver: driver.steering.edit,
    Purge: lambda driver: driver.steering.purge,
    Get: lambda driver: driver.inspecting.get,
    Find: lambda driver: driver.inspecting.find,
    ListQueues: lambda driver: driver.inspecting.queues,
    ListFlows: lambda driver: driver.inspecting.flows,
    ListWorkers: lambda driver: driver.inspecting.workers,
    EventsAfter: lambda driver: driver.inspecting.events_after,
    Sweep: lambda driver: driver.housekeeping.sweep,
    Prune: lambda driver: driver.housekeeping.prune,
    Beat: lambda driver: driver.housekeeping.beat,
    Order: lambda driver: driver.housekeeping.order,
}
"""A request value names its operation, so that a test need only say what it asks for."""


def plan_for(driver: Driver, request: Value) -> Plan[Any]:
    """The plan of the one operation that answers this request."""
    return OPERATIONS[type(request)](driver)(request)
