"""`oxmill queues`: look at queues, close and open them, limit, set and empty them."""

from __future__ import annotations

from oxmill.cli.framework import ListGroup
from oxmill.cli.queues_look import list_queues, list_rules, show_queue
from oxmill.cli.queues_rules import block, pause, resume, throttle, unblock, unthrottle
from oxmill.cli.queues_set import limit_queue, purge_queue, set_queue

command = ListGroup(
    "queues",
    help="List, show, limit, pause, block, throttle, set and purge queues.",
    commands={
        "list": list_queues,
        "show": show_queue,
        "rules": list_rules,
        "limit": limit_queue,
        "pause": pause,
        "resume": resume,
        "block": block,
        "unblock": unblock,
        "throttle": throttle,
        "unthrottle": unthrottle,
        "set": set_queue,
        "purge": purge_queue,
    },
)
