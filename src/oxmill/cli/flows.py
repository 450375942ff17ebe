"""`oxmill flows`: look at flows and change their fate."""

from __future__ import annotations

from oxmill.cli.flows_look import list_flows, show_flow
from oxmill.cli.flows_steer import cancel_flow, retry_flow
from oxmill.cli.framework import ListGroup

command = ListGroup(
    "flows",
    help="List, show, draw, cancel and retry flows.",
    commands={
        "list": list_flows,
        "show": show_flow,
        "cancel": cancel_flow,
        "retry": retry_flow,
    },
)
