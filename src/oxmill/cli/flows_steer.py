"""`oxmill flows cancel | retry`."""

from __future__ import annotations

import click

from oxmill.cli.flows_look import open_flow
from oxmill.cli.framework import Command
from oxmill.cli.output import show_one
from oxmill.cli.session import Session
from oxmill.cli.steer import jobs as counted


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
@click.pass_obj
def cancel_flow(
    session: Session, *, flow_id: str, jobs: tuple[str, ...], reason: str | None
) -> None:
    """Cancel a whole flow, or some of its jobs with all that they have spawned."""
    flow = open_flow(session, flow_id)
    number = flow.cancel(*jobs, reason=reason, author=session.author)
    _tell(session, flow_id, number, "cancelled")


@click.command(
    cls=Command,
    examples=(
        "oxmill flows retry 0199c3f2a4b57c1d8e9f00112233aabb",
        "oxmill flows retry 0199c3f2a4b57c1d8e9f00112233aabb 0199c3f2a4b57c1d8e9f00112233aabb.3",
    ),
)
@click.argument("flow_id", metavar="ID")
@click.argument("jobs", nargs=-1)
@click.pass_obj
def retry_flow(session: Session, *, flow_id: str, jobs: tuple[str, ...]) -> None:
    """Drive the failed and cancelled jobs of a flow again, all or these.

    What succeeded is not run again; what waited for a failed job waits again.
    """
    number = open_flow(session, flow_id).retry(*jobs, author=session.author)
    _tell(session, flow_id, number, "retried")


def _tell(session: Session, flow_id: str, number: int, done: str) -> None:
    record = {"flow": flow_id, done: number}
    show_one(record, lambda: f"{counted(number)} {done}", session.output)
