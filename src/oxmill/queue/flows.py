"""Flows as a whole: make them, find them, get hold of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from functools import partial
from typing import Any, TypedDict, Unpack

from msgspec.structs import replace

from oxmill.errors import BadInput
from oxmill.model.fields import Scalar
from oxmill.model.flow import FlowInfo, Flows, FlowStatus, ListFlows
from oxmill.queue.client import Client
from oxmill.queue.flow import Flow, plain_state
from oxmill.queue.talk import Talk
from oxmill.queue.where import looked_for
from oxmill.store.driver import Driver

_PAGE = 200


class FlowWhere(TypedDict, total=False):
    """Conditions on flows; a flow must meet all that are given."""

    name: str
    status: str
    """`running`, `succeeded` or `failed`."""
    fields: Mapping[str, Scalar]
    """Business attributes, such as `{"user_id": 62}`; a list is found by each of its values."""


class FlowBook:
    """`app.flows`: the flows of the store, running or ended and still kept."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def find(self, **where: Unpack[FlowWhere]) -> Iterator[FlowInfo]:
        """All flows that meet the conditions, the newest first, fetched page by page."""
        return self._pages(as_look(**where))

    def afind(self, **where: Unpack[FlowWhere]) -> AsyncIterator[FlowInfo]:
        """The same without blocking the event loop: `async for flow in app.flows.afind(...)`."""
        return self._apages(as_look(**where))

    def __getitem__(self, flow_id: str) -> Flow[dict[str, Any]]:
        """The handle of a flow by its id: `app.flows[id].status()`."""
        return Flow(flow_id, self._client, plain_state)

    def _pages(self, first: ListFlows) -> Iterator[FlowInfo]:
        look: ListFlows | None = first
        while look is not None:
            page = self._client.blocking("flows.afind", partial(_page, look))
            yield from page.items
            look = None if page.next is None else replace(look, after=page.next)

    async def _apages(self, first: ListFlows) -> AsyncIterator[FlowInfo]:
        look: ListFlows | None = first
        while look is not None:
            page = await self._client.awaiting(partial(_page, look))
            for info in page.items:
                yield info
            look = None if page.next is None else replace(look, after=page.next)


def as_look(**where: Unpack[FlowWhere]) -> ListFlows:
    """The conditions as the store takes them."""
    status = where.get("status")
    if status is not None and status not in tuple(FlowStatus):
        raise BadInput(f"{status!r} is not a status; use one of {', '.join(FlowStatus)}")
    return ListFlows(
        name=where.get("name"),
        status=None if status is None else FlowStatus(status),
        fields=looked_for(where.get("fields", {})),
        limit=_PAGE,
    )


def _page(look: ListFlows, driver: Driver) -> Talk[Flows]:
    page: Flows = yield driver.inspecting.flows(look)
    return page
