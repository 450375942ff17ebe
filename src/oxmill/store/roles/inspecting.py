"""Inspecting: people and programs look."""

from __future__ import annotations

from typing import Protocol

from oxmill.model.flow import Flows, ListFlows
from oxmill.model.info import Event, EventsAfter, ListQueues, ListWorkers, Queues, Workers
from oxmill.model.job import Job
from oxmill.model.query import Find, Get, Page
from oxmill.store.plan import Plan


class Inspecting(Protocol):
    """Reads. None of them blocks a writer, and each has a bounded cost."""

    def get(self, request: Get, /) -> Plan[tuple[Job, ...]]:
        """These jobs in full, in the order asked; unknown ids are left out."""
        ...

    def find(self, request: Find, /) -> Plan[Page]:
        """A keyset page of matching jobs, newest arrival first. A job is on one page only. A limit
        below 1 and a cursor that no page gave are refused; a limit above the bound is cut."""
        ...

    def queues(self, request: ListQueues, /) -> Plan[Queues]:
        """Counts by state, totals, rules and settings; counts agree with a recount."""
        ...

    def flows(self, request: ListFlows, /) -> Plan[Flows]:
        """A keyset page of flows, newest first, each with its state and its jobs by state."""
        ...

    def workers(self, request: ListWorkers, /) -> Plan[Workers]:
        """Workers whose last beat is fresh."""
        ...

    def events_after(self, request: EventsAfter, /) -> Plan[tuple[Event, ...]]:
        """Events in order, without gaps or repeats."""
        ...
