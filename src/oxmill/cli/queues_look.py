"""`oxmill queues list | show | rules`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click

from oxmill.cli import records
from oxmill.cli.exits import NotFound
from oxmill.cli.framework import Command, nearest
from oxmill.cli.output import Column, Listing, pairs, show_all, show_one
from oxmill.cli.session import Session
from oxmill.cli.times import ago, clock
from oxmill.model.info import GateInfo, ListQueues, QueueInfo, Queues
from oxmill.model.rule import Rule, RuleKind, Scope
from oxmill.model.settings import QueueSettings
from oxmill.model.state import State
from oxmill.model.value import Micros
from oxmill.rules.duration import spell

_WORDS = {RuleKind.PAUSE: "paused", RuleKind.BLOCK: "blocked", RuleKind.THROTTLE: "throttled"}
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
    return [in_a_word(rule) for rule in info.rules]


def in_a_word(rule: Rule) -> str:
    """What a rule does to what it covers."""
    rate = f" to {rule.rate}" if rule.rate else ""
    return _WORDS[rule.kind] + rate


def read_queues(session: Session, names: Iterable[str] = (), groups: Iterable[str] = ()) -> Queues:
    """These queues, or all, with the gates of these groups in them."""
    request = ListQueues(queues=tuple(names), groups=tuple(groups))
    return session.run(session.driver.inspecting.queues(request))


def read_rules(session: Session) -> tuple[tuple[Rule, ...], Micros]:
    """Every rule, those on queues first, and the store's time."""
    # Rules on other things are told where a group is asked about, whichever it is.
    found = read_queues(session, groups=("",))
    on_queues = (rule for info in found.items for rule in info.rules)
    return (*on_queues, *found.rules), found.now


def rules_on(session: Session, targets: tuple[tuple[Scope, str], ...]) -> tuple[Rule, ...]:
    """The rules on these, all of one scope, however many there are on others."""
    names = tuple(target for scope, target in targets if scope is Scope.QUEUE)
    request = ListQueues(queues=names or ("default",), groups=("",), targets=targets)
    found = session.run(session.driver.inspecting.queues(request))
    rules = (*(rule for info in found.items for rule in info.rules), *found.rules)
    return tuple(rule for rule in rules if (rule.scope, rule.target) in targets)


@click.command(cls=Command, examples=("oxmill queues list", "oxmill queues list mail -o json"))
@click.argument("names", nargs=-1, metavar="[QUEUE]...")
@click.pass_obj
def list_queues(session: Session, *, names: tuple[str, ...]) -> None:
    """List queues with their counts by state, the age of the oldest waiting job, and rules."""
    found = read_queues(session, names)
    show_all(found.items, queue_listing(found.now), session.output)


@click.command(
    cls=Command,
    examples=("oxmill queues show mail", "oxmill queues show mail --group acme -o json"),
)
@click.argument("name", metavar="QUEUE")
@click.option("-g", "--group", "groups", multiple=True, help="Also the gates of this group.")
@click.pass_obj
def show_queue(session: Session, *, name: str, groups: tuple[str, ...]) -> None:
    """Show a queue: counts, limits and what they leave now, rules, and settings."""
    found = read_queues(session, (name,), groups or ("",))
    info = next((each for each in found.items if each.name == name), None)
    if info is None or not _known(info):
        near = nearest(name, [each.name for each in read_queues(session).items])
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise NotFound(
            f"the store knows no job, rule or setting of queue {name!r}.{hint} See: oxmill queues list"
        )
    gates = [gate for gate in info.gates if gate.group != ""]
    record = {
        **records.queue(info),
        "gates": [records.gate(gate) for gate in gates],
        "other_rules": [records.rule(rule) for rule in found.rules],
    }
    show_one(record, lambda: _lines(info, gates, found), session.output)


def _known(info: QueueInfo) -> bool:
    return bool(info.counts or info.totals or info.rules) or info.settings != QueueSettings()


def _lines(info: QueueInfo, gates: list[GateInfo], found: Queues) -> str:
    settings = info.settings
    counts = (f"{info.counts[state]:,} {state}" for state in State if info.counts.get(state))
    text = pairs(
        (
            ("queue", info.name),
            ("jobs", ", ".join(counts) or "none"),
            ("oldest", _age(info, found.now)),
            ("limits", settings.summary or "none"),
            ("keeps", _keeps(settings)),
            *((_place(gate), _gate(gate, settings, found.now)) for gate in gates),
        )
    )
    rules = [*info.rules, *found.rules]
    return text + "".join(f"\n{line}" for line in _told(rules, found.now))


def _keeps(settings: QueueSettings) -> str:
    return (
        f"succeeded {spell(settings.keep_succeeded)}, failed {spell(settings.keep_failed)}, "
        f"cancelled {spell(settings.keep_cancelled)}"
    )


def _place(gate: GateInfo) -> str:
    return "now" if gate.group is None else f"group {gate.group}"


def _gate(gate: GateInfo, settings: QueueSettings, now: Micros) -> str:
    group = 1 if settings.ordered_groups else settings.group_concurrency
    most = settings.concurrency if gate.group is None else group
    parts = [f"{gate.running} running" if most is None else f"{gate.running} of {most} running"]
    if gate.waiting is not None:
        parts.append(f"{gate.waiting:,} waiting")
    if gate.room is not None:
        parts.append(f"{gate.room} may start now")
    if gate.opens_at is not None and gate.opens_at > now:
        parts.append(f"the next starts {ago(gate.opens_at, now)}")
    return ", ".join(parts)


def _told(rules: Iterable[Rule], now: Micros) -> Iterator[str]:
    for rule in rules:
        line = f"{rule.key.title}: {in_a_word(rule)}"
        line += f" by {rule.author}" if rule.author else ""
        line += f" {ago(rule.set_at, now)}"
        line += f" until {clock(rule.expires_at)}" if rule.expires_at is not None else ""
        yield line + (f": {rule.reason}" if rule.reason else "")


@click.command(cls=Command, examples=("oxmill queues rules", "oxmill queues rules -o json"))
@click.pass_obj
def list_rules(session: Session) -> None:
    """List every pause, block and throttle: on what, why, by whom, and until when."""
    rules, now = read_rules(session)
    listing = Listing(
        columns=(
            Column[Rule]("on", lambda rule: rule.key.title),
            Column[Rule]("rule", in_a_word),
            Column[Rule]("author", lambda rule: rule.author),
            Column[Rule]("set", lambda rule: ago(rule.set_at, now)),
            Column[Rule]("until", lambda rule: clock(rule.expires_at)),
            Column[Rule]("reason", lambda rule: rule.reason),
        ),
        record=records.rule,
        empty="nothing is paused, blocked or throttled.",
    )
    show_all(rules, listing, session.output)
