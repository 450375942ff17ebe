"""`oxmill flows cancel | retry`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import click

from oxmill.cli.exits import Exit
from oxmill.cli.flows_look import open_flow
from oxmill.cli.framework import Command
from oxmill.cli.output import say, show_one
from oxmill.cli.session import Session
from oxmill.cli.steer import Consent, agreed, consenting
from oxmill.cli.steer import jobs as counted
from oxmill.model.state import LIVE, State
from oxmill.queue.flow import Flow
from oxmill.queue.tree import descendants


@click.command(
    cls=Command,
    examples=(
        "oxmill flows cancel 0199c3f2a4b57c1d8e9f00112233aabb --reason 'not needed'",
        "oxmill flows cancel 0199c3f2a4b57c1d8e9f00112233aabb 0199c3f2a4b57c1d8e9f00112233aabb.3",
    ),
)
@click.argument("flow_id", metavar="ID")
@click.argument("jobs", nargs=-1)
@click.option("--reason", help="Why; kept with the jobs.")
@consenting
@click.pass_obj
def cancel_flow(
    session: Session,
    *,
    flow_id: str,
    jobs: tuple[str, ...],
    reason: str | None,
    consent: Consent,
) -> int:
    """Cancel a whole flow, or some of its jobs with all that they have spawned.

    Exits 1 if there was nothing to cancel.
    """
    flow = open_flow(session, flow_id)
    number = _count(flow, jobs, LIVE, spawned=True)
    return _carry_out(
        session,
        flow_id,
        Order("cancel", "cancelled", number, consent),
        lambda: flow.cancel(*jobs, reason=reason, author=session.author),
    )


@click.command(
    cls=Command,
    examples=(
        "oxmill flows retry 0199c3f2a4b57c1d8e9f00112233aabb",
        "oxmill flows retry 0199c3f2a4b57c1d8e9f00112233aabb 0199c3f2a4b57c1d8e9f00112233aabb.3",
    ),
)
@click.argument("flow_id", metavar="ID")
@click.argument("jobs", nargs=-1)
@consenting
@click.pass_obj
def retry_flow(session: Session, *, flow_id: str, jobs: tuple[str, ...], consent: Consent) -> int:
    """Drive the failed and cancelled jobs of a flow again, all or these.

    What succeeded is not run again; what waited for a failed job waits again. Exits 1 if there was
    nothing to retry.
    """
    flow = open_flow(session, flow_id)
    number = _count(flow, jobs, frozenset({State.FAILED, State.CANCELLED}))
    return _carry_out(
        session,
        flow_id,
        Order("retry", "retried", number, consent),
        lambda: flow.retry(*jobs, author=session.author),
    )


def _count(
    flow: Flow[Any], jobs: tuple[str, ...], states: frozenset[State], *, spawned: bool = False
) -> int:
    """How many jobs in these states an order is about: of the whole flow, or of these jobs, and what
    they have spawned; `JobNotFound` if one of them is not a job of it."""
    if not jobs:
        return sum(number for state, number in flow.info().counts.items() if state in states)
    tree = flow.tree()
    found = descendants(tree, jobs)
    chosen = set(found if spawned else jobs)
    return sum(job.state in states for job in tree.jobs if job.id in chosen)


class Order(NamedTuple):
    """What is to be done to how many jobs of a flow, and what the user has said beforehand."""

    verb: str
    done: str
    number: int
    consent: Consent


def _carry_out(session: Session, flow_id: str, order: Order, act: Callable[[], int]) -> int:
    if not order.number and not order.consent.dry_run:
        say(f"flow {flow_id} has no job to {order.verb}: left as it is", tone="warn")
        return Exit.FAILED
    if not agreed(order.verb, order.number, order.consent, asks=True):
        return Exit.OK
    number = act()
    record = {"flow": flow_id, order.done: number}
    show_one(record, lambda: f"{counted(number)} {order.done}", session.output)
    return Exit.OK
