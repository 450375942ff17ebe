"""`oxmill jobs retry | cancel | edit | rm`."""

from __future__ import annotations

import click

from oxmill.cli.framework import Command
from oxmill.cli.selection import narrowed, selecting
from oxmill.cli.session import Session
from oxmill.cli.steer import Action, Consent, consenting, steer
from oxmill.cli.times import span
from oxmill.model.query import Cancel, Edit, Filter, Purge, Redrive
from oxmill.model.state import IDLE, LIVE, TERMINAL, State
from oxmill.model.value import Micros


@click.command(
    cls=Command,
    examples=("oxmill jobs retry 0199c3f2a4b57c1d8e9f00112233aabb", "oxmill jobs retry -q mail"),
)
@click.argument("ids", nargs=-1)
@selecting
@consenting
@click.pass_obj
def retry_jobs(session: Session, *, ids: tuple[str, ...], chosen: Filter, consent: Consent) -> int:
    """Put ended jobs back in line, with fresh counts.

    Jobs are named by id, or chosen by options: failed ones, unless --state says cancelled.
    """
    _something(ids, chosen)
    if not chosen.states:
        chosen = narrowed(chosen, (State.FAILED,))
    chosen = narrowed(chosen, (State.FAILED, State.CANCELLED))
    action = Action(
        "retry",
        "retried",
        lambda which: session.driver.steering.redrive(Redrive(filter=which, author=session.author)),
    )
    return steer(session, action, chosen, ids, consent)


@click.command(
    cls=Command,
    examples=(
        "oxmill jobs cancel 0199c3f2a4b57c1d8e9f00112233aabb --reason 'not needed'",
        "oxmill jobs cancel -q mail -s scheduled --dry-run",
    ),
)
@click.argument("ids", nargs=-1)
@click.option("--reason", help="Why; kept with the job.")
@selecting
@consenting
@click.pass_obj
def cancel_jobs(
    session: Session,
    *,
    ids: tuple[str, ...],
    chosen: Filter,
    reason: str | None,
    consent: Consent,
) -> int:
    """End jobs that have not started, and ask running ones to stop."""
    _something(ids, chosen)
    action = Action(
        "cancel",
        "cancelled",
        lambda which: session.driver.steering.cancel(
            Cancel(filter=which, reason=reason, author=session.author)
        ),
    )
    live = tuple(state for state in State if state in LIVE)
    return steer(session, action, narrowed(chosen, live), ids, consent)


@click.command(
    cls=Command,
    examples=(
        "oxmill jobs edit 0199c3f2a4b57c1d8e9f00112233aabb --delay 0s",
        "oxmill jobs edit -q mail -t app:send --to-queue slow --priority 10 --yes",
    ),
)
@click.argument("ids", nargs=-1)
@click.option("--priority", type=int, help="Smaller runs first.")
@click.option("--to-queue", help="Move them to this queue.")
@click.option("--delay", callback=span, metavar="DURATION", help="Due this long from now; 0s: now.")
@selecting
@consenting
@click.pass_obj
def edit_jobs(  # noqa: PLR0913 (click passes each option)
    session: Session,
    *,
    ids: tuple[str, ...],
    chosen: Filter,
    priority: int | None,
    to_queue: str | None,
    delay: Micros | None,
    consent: Consent,
) -> int:
    """Change priority, queue or due time of jobs that have not started."""
    _something(ids, chosen)
    if priority is None and to_queue is None and delay is None:
        raise click.UsageError("nothing to change: give --priority, --to-queue or --delay")
    action = Action(
        "edit",
        "edited",
        lambda which: session.driver.steering.edit(
            Edit(
                filter=which,
                priority=priority,
                queue=to_queue,
                due_in=delay,
                author=session.author,
            )
        ),
        stays=True,
    )
    idle = tuple(state for state in State if state in IDLE)
    return steer(session, action, narrowed(chosen, idle), ids, consent)


@click.command(
    cls=Command,
    examples=(
        "oxmill jobs rm 0199c3f2a4b57c1d8e9f00112233aabb",
        "oxmill jobs rm -s failed --before 30d --dry-run",
    ),
)
@click.argument("ids", nargs=-1)
@selecting
@consenting
@click.pass_obj
def remove_jobs(session: Session, *, ids: tuple[str, ...], chosen: Filter, consent: Consent) -> int:
    """Delete jobs that are not running, with their history. There is no way back."""
    _something(ids, chosen)
    action = Action(
        "remove",
        "removed",
        lambda which: session.driver.steering.purge(Purge(filter=which, author=session.author)),
        asks=True,
    )
    states = tuple(state for state in State if state in IDLE | TERMINAL)
    return steer(session, action, narrowed(chosen, states), ids, consent)


def _something(ids: tuple[str, ...], chosen: Filter) -> None:
    if not ids and chosen == Filter():
        raise click.UsageError(
            "no job was named: give ids, or choose by --queue, --task, --state, --group, --tag, "
            "--field, --flow, --since or --before"
        )
