"""`oxmill queues`: look at queues, close and open them, set how long they keep jobs, empty them."""

from __future__ import annotations

from collections.abc import Iterable

import click
from msgspec.structs import replace

from oxmill.cli import records
from oxmill.cli.framework import ListGroup
from oxmill.cli.output import Column, Listing, say, show_all, show_one
from oxmill.cli.session import Session
from oxmill.cli.steer import Action, Consent, consenting, steer
from oxmill.cli.times import span
from oxmill.model.info import ListQueues, QueueInfo, Queues
from oxmill.model.query import Filter, Purge
from oxmill.model.rule import PutRules, Rule, RuleKey, RuleKind
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.state import State
from oxmill.model.value import Micros
from oxmill.rules.duration import spell

_SHOWN = (State.WAITING, State.RUNNING, State.SCHEDULED, State.HELD, State.FAILED, State.SUCCEEDED)


def queue_listing(now: Micros) -> Listing[QueueInfo]:
    """Queues as a table."""
    return Listing(
        columns=(
            Column("queue", lambda info: info.name),
            *(_counts(state) for state in _SHOWN),
            Column("oldest", lambda info: _age(info, now), right=True),
            Column("rules", lambda info: ", ".join(closed(info))),
        ),
        record=records.queue,
        empty="no queue has jobs, settings or rules yet. Enqueue with: oxmill enqueue TASK",
    )


def _counts(state: State) -> Column[QueueInfo]:
    return Column(str(state), lambda info: f"{info.counts.get(state, 0):,}", right=True)


def _age(info: QueueInfo, now: Micros) -> str:
    return "-" if info.oldest_waiting is None else spell(max(now - info.oldest_waiting, 0))


def closed(info: QueueInfo) -> list[str]:
    """The rules on a queue in a word each."""
    words = {RuleKind.PAUSE: "paused", RuleKind.BLOCK: "blocked", RuleKind.THROTTLE: "throttled"}
    return [words[rule.kind] for rule in info.rules]


def read_queues(session: Session, names: Iterable[str] = ()) -> Queues:
    """These queues, or all."""
    return session.run(session.driver.inspecting.queues(ListQueues(queues=tuple(names))))


command = ListGroup("queues", help="List, pause, resume, block, unblock, set and purge queues.")


@command.command("list", examples=("oxmill queues list", "oxmill queues list mail -o json"))
@click.argument("names", nargs=-1, metavar="[QUEUE]...")
@click.pass_obj
def list_queues(session: Session, *, names: tuple[str, ...]) -> None:
    """List queues with their counts by state, the age of the oldest waiting job, and rules."""
    found = read_queues(session, names)
    show_all(found.items, queue_listing(found.now), session.output)


@command.command(
    examples=(
        "oxmill queues pause mail --reason 'mail server is down'",
        "oxmill queues pause mail reports --for 30m",
    )
)
@click.argument("names", nargs=-1, required=True, metavar="QUEUE...")
@click.option("--reason", default="", help="Why; shown to everyone who looks.")
@click.option("--for", "length", callback=span, metavar="DURATION", help="Ends by itself.")
@click.pass_obj
def pause(session: Session, *, names: tuple[str, ...], reason: str, length: Micros | None) -> None:
    """Close queues: no job of theirs starts after this. Running jobs go on."""
    _close(session, RuleKind.PAUSE, names, reason, length)


@command.command(
    examples=(
        "oxmill queues block mail --reason 'incident 4711'",
        "oxmill queues block mail --for 2h",
    )
)
@click.argument("names", nargs=-1, required=True, metavar="QUEUE...")
@click.option("--reason", default="", help="Why; shown to everyone who looks.")
@click.option("--for", "length", callback=span, metavar="DURATION", help="Ends by itself.")
@click.pass_obj
def block(session: Session, *, names: tuple[str, ...], reason: str, length: Micros | None) -> None:
    """Close queues as an operator: resuming them does not lift this."""
    _close(session, RuleKind.BLOCK, names, reason, length)


@command.command(examples=("oxmill queues resume mail", "oxmill queues resume mail reports"))
@click.argument("names", nargs=-1, required=True, metavar="QUEUE...")
@click.pass_obj
def resume(session: Session, *, names: tuple[str, ...]) -> None:
    """Lift the pause of queues. A block stays."""
    _open(session, RuleKind.PAUSE, names)


@command.command(examples=("oxmill queues unblock mail", "oxmill queues unblock mail reports"))
@click.argument("names", nargs=-1, required=True, metavar="QUEUE...")
@click.pass_obj
def unblock(session: Session, *, names: tuple[str, ...]) -> None:
    """Lift the block of queues. A pause stays."""
    _open(session, RuleKind.BLOCK, names)


def _close(
    session: Session, kind: RuleKind, names: tuple[str, ...], reason: str, length: Micros | None
) -> None:
    # The end is reckoned from the store's own time: this machine's clock does not matter.
    end = None if length is None else read_queues(session, names).now + length
    rules = tuple(
        Rule(kind=kind, target=name, reason=reason, author=session.author, expires_at=end)
        for name in names
    )
    _put(session, PutRules(set=rules, author=session.author, operator=kind is RuleKind.BLOCK))
    _tell(session, names)


def _open(session: Session, kind: RuleKind, names: tuple[str, ...]) -> None:
    keys = tuple(RuleKey(kind=kind, target=name) for name in names)
    _put(session, PutRules(lift=keys, author=session.author, operator=kind is RuleKind.BLOCK))
    _tell(session, names)


def _put(session: Session, request: PutRules) -> None:
    session.run(session.driver.steering.put_rules(request))


def _tell(session: Session, names: tuple[str, ...]) -> None:
    known = {info.name: info for info in read_queues(session, names).items}
    states = {name: closed(known[name]) if name in known else [] for name in names}
    show_one(
        {"queues": states},
        lambda: "\n".join(
            f"{name}: {', '.join(words) or 'open'}" for name, words in states.items()
        ),
        session.output,
    )


@command.command(
    "set",
    examples=(
        "oxmill queues set mail --keep-succeeded 1h --keep-failed 90d",
        "oxmill queues set audit --keep-succeeded 0s",
    ),
)
@click.argument("name", metavar="QUEUE")
@click.option("--keep-succeeded", callback=span, metavar="DURATION", help="0s deletes at the end.")
@click.option("--keep-failed", callback=span, metavar="DURATION", help="How long failed jobs stay.")
@click.option("--keep-cancelled", callback=span, metavar="DURATION", help="The same for cancelled.")
@click.pass_obj
def set_queue(session: Session, /, *, name: str, **keeps: Micros | None) -> None:
    """Set how long a queue keeps ended jobs. Holds for jobs that end from now on."""
    given = {key: value for key, value in keeps.items() if value is not None}
    if not given:
        raise click.UsageError(
            "nothing to set: give --keep-succeeded, --keep-failed or --keep-cancelled"
        )
    found = next((info for info in read_queues(session, (name,)).items if info.name == name), None)
    settings = replace(found.settings if found is not None else QueueSettings(), **given)
    put = PutSettings(queue=name, settings=settings, author=session.author)
    session.run(session.driver.steering.put_settings(put))
    show_one(
        {"queue": name, "settings": records.settings(settings)},
        lambda: (
            f"{name} keeps succeeded jobs {spell(settings.keep_succeeded)}, "
            f"failed {spell(settings.keep_failed)}, cancelled {spell(settings.keep_cancelled)}"
        ),
        session.output,
    )


@command.command(
    examples=("oxmill queues purge mail --dry-run", "oxmill queues purge mail -s failed --yes")
)
@click.argument("name", metavar="QUEUE")
@click.option(
    "-s",
    "--state",
    "states",
    multiple=True,
    type=click.Choice([str(state) for state in State if state is not State.RUNNING]),
    help="Only jobs in this state (repeatable).",
)
@consenting
@click.pass_obj
def purge(session: Session, *, name: str, states: tuple[str, ...], consent: Consent) -> int:
    """Delete the jobs of a queue that are not running. There is no way back."""
    found = read_queues(session, (name,))
    chosen = tuple(State(state) for state in states) or tuple(
        state for state in State if state is not State.RUNNING
    )
    counts = {
        state: number
        for info in found.items
        for state in chosen
        if (number := info.counts.get(state, 0))
    }
    if counts:
        say(f"{name}: " + ", ".join(f"{number:,} {state}" for state, number in counts.items()))
    action = Action(
        "remove",
        "removed",
        lambda which: session.driver.steering.purge(Purge(filter=which, author=session.author)),
    )
    return steer(session, action, Filter(queues=(name,), states=chosen), (), consent)
