"""`oxmill events`: who did what, and what went wrong."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import click

from oxmill.cli import records
from oxmill.cli.framework import Command
from oxmill.cli.output import Column, Listing, show_all
from oxmill.cli.session import Session
from oxmill.cli.times import clock
from oxmill.model.info import Event, EventsAfter

_PAGE = 1_000


@click.command(
    cls=Command,
    examples=(
        "oxmill events",
        "oxmill events -k pause -k resume -k settings",
        "oxmill events --on group:acme -o json",
    ),
)
@click.option("-n", "--limit", default=50, type=click.IntRange(1), help="The newest so many.")
@click.option("-k", "--kind", "kinds", multiple=True, help="Only such (repeatable).")
@click.option("--on", "target", help="Only about this queue, job, or task:NAME, group:NAME.")
@click.option("--author", help="Only what this person did.")
@click.option("--after", default=0, type=int, metavar="SEQ", help="Only newer than this event.")
@click.pass_obj
def command(  # noqa: PLR0913 - one argument per option
    session: Session,
    *,
    limit: int,
    kinds: tuple[str, ...],
    target: str | None,
    author: str | None,
    after: int,
) -> None:
    """Show who did what, and what went wrong.

    The newest come last. Rules, settings, schedules, orders to workers and changes of jobs are recorded with their
    author; failed jobs and lapsed leases with their reason.
    """

    def wanted(event: Event) -> bool:
        return (
            (not kinds or event.kind in kinds)
            and (target is None or event.target == target)
            and (author is None or event.author == author)
        )

    newest = deque((event for event in _events(session, after) if wanted(event)), maxlen=limit)
    show_all(newest, event_listing(), session.output)


def event_listing() -> Listing[Event]:
    """Events as a table."""
    return Listing(
        columns=(
            Column("seq", lambda event: str(event.seq), right=True),
            Column("at", lambda event: clock(event.at)),
            Column("kind", lambda event: event.kind),
            Column("on", lambda event: event.target),
            Column("author", lambda event: event.author),
            Column("detail", lambda event: event.detail.split("\n")[0]),
        ),
        record=records.event,
        empty="nothing was recorded.",
    )


def _events(session: Session, after: int) -> Iterator[Event]:
    while True:
        request = EventsAfter(seq=after, limit=_PAGE)
        page = session.run(session.driver.inspecting.events_after(request))
        yield from page
        if len(page) < _PAGE:
            return
        after = page[-1].seq
