"""Orders about many jobs: count them, ask, carry it out in bounded steps, tell what changed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from oxmill.cli.exits import Exit
from oxmill.cli.output import say, show_one
from oxmill.cli.selection import COUNT_LIMIT, count
from oxmill.errors import JobNotFound
from oxmill.model.query import Filter, Find, Get, Steered
from oxmill.store.plan import Plan

if TYPE_CHECKING:
    from oxmill.cli.session import Session


class Action(NamedTuple):
    """What is done to jobs: what it is called, and the plan of one bounded step of it."""

    verb: str
    """As in `cancel 3 jobs?`."""
    done: str
    """As in `3 jobs cancelled`."""
    plan: Callable[[Filter], Plan[Steered]]
    asks: bool = False
    """Whether even jobs named by id need a yes."""
    stays: bool = False
    """Whether a job still matches when it is done, so that they have to be walked through."""


class Consent(NamedTuple):
    """What the user has said beforehand."""

    yes: bool
    dry_run: bool


def consenting(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --yes and --dry-run, as `consent`."""

    @wraps(command)
    def with_consent(*args: Any, yes: bool, dry_run: bool, **options: Any) -> Any:
        return command(*args, consent=Consent(yes, dry_run), **options)

    dry = click.option("--dry-run", is_flag=True, help="Only count; change nothing.")
    return click.option("-y", "--yes", is_flag=True, help="Do not ask.")(dry(with_consent))


def steer(
    session: Session, action: Action, chosen: Filter, ids: Sequence[str], consent: Consent
) -> int:
    """Carry out an action on jobs named by id or chosen by filter; the exit code."""
    if ids and chosen != Filter(states=chosen.states):
        raise click.UsageError("name jobs by id or choose them by options, not both")
    if ids:
        return _by_ids(session, action, tuple(ids), consent)
    number = count(session, chosen)
    if not agreed(action.verb, number, consent, asks=True):
        return Exit.OK
    _tell(session, action, carry_out(session, action, chosen))
    return Exit.OK


def _by_ids(session: Session, action: Action, ids: tuple[str, ...], consent: Consent) -> int:
    known = {job.id: job for job in session.run(session.driver.inspecting.get(Get(ids=ids)))}
    if missing := [job_id for job_id in ids if job_id not in known]:
        raise JobNotFound(
            missing[0],
            f"there is no job {', '.join(missing)}; it was never enqueued, or is already removed. "
            f"Look with: oxmill jobs list",
        )
    if not agreed(action.verb, len(ids), consent, asks=action.asks):
        return Exit.OK
    answer = carry_out(session, action, Filter(ids=ids))
    _tell(session, action, answer)
    untouched = [job_id for job_id in ids if job_id not in {*answer.ids, *answer.asked}]
    for job_id in untouched:
        say(f"job {job_id} is {known[job_id].state}: left as it is", tone="warn")
    return Exit.FAILED if untouched else Exit.OK


def carry_out(session: Session, action: Action, chosen: Filter) -> Steered:
    """Take bounded steps until all that matched is done."""
    answers = (
        _walked(session, action, chosen) if action.stays else _repeated(session, action, chosen)
    )
    ids: list[str] = []
    asked: list[str] = []
    for answer in answers:
        ids += answer.ids
        asked += answer.asked
    return Steered(ids=tuple(ids), asked=tuple(asked))


def _repeated(session: Session, action: Action, chosen: Filter) -> Iterator[Steered]:
    while True:
        answer = session.run(action.plan(chosen))
        yield answer
        if not answer.more or not (answer.ids or answer.asked):
            return


def _walked(session: Session, action: Action, chosen: Filter) -> Iterator[Steered]:
    after = None
    while True:
        look = Find(filter=chosen, limit=1_000, after=after)
        page = session.run(session.driver.inspecting.find(look))
        if page.jobs:
            yield session.run(action.plan(Filter(ids=tuple(job.id for job in page.jobs))))
        if (after := page.next) is None:
            return


def agreed(verb: str, number: int, consent: Consent, *, asks: bool) -> bool:
    """Whether to do it to so many jobs: says the number, and asks for a yes unless one was given."""
    what = f"{verb} {jobs(number)}"
    if number >= COUNT_LIMIT:
        what = f"{verb} at least {jobs(number)}"
    if consent.dry_run:
        say(f"would {what}; nothing was changed")
        return False
    if not number:
        say(f"no job matches; nothing to {verb}")
        return False
    if consent.yes or not asks:
        return True
    if not sys.stdin.isatty():
        raise click.UsageError(f"would {what}: add --yes to do it, or --dry-run to only count")
    click.confirm(f"{what[0].upper()}{what[1:]}?", abort=True, err=True)
    return True


def _tell(session: Session, action: Action, answer: Steered) -> None:
    def lines() -> str:
        text = f"{jobs(len(answer.ids))} {action.done}"
        if answer.asked:
            text += f"; {jobs(len(answer.asked))} running asked to stop"
        return text

    record = {action.done: list(answer.ids), "asked": list(answer.asked)}
    show_one(record, lines, session.output)


def jobs(number: int) -> str:
    """`1 job`, `1,234 jobs`."""
    return f"{number:,} job{'' if number == 1 else 's'}"
