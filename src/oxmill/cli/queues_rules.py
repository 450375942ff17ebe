"""`oxmill queues pause | resume | block | unblock | throttle | unthrottle`."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import click

from oxmill.cli.framework import Command
from oxmill.cli.output import say, show_one
from oxmill.cli.queues_look import in_a_word, read_queues, rules_on
from oxmill.cli.session import Session
from oxmill.cli.times import span
from oxmill.model.rule import PutRules, Rule, RuleKey, RuleKind, Scope
from oxmill.model.value import Micros
from oxmill.rules.rate import rate as read_rate

Targets = tuple[tuple[Scope, str], ...]

_SCOPES: Final = {
    "queues": Scope.QUEUE,
    "tasks": Scope.TASK,
    "groups": Scope.GROUP,
    "fields": Scope.FIELD,
}


def covering(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command queues, --task, --group and --field, as `targets`."""

    @wraps(command)
    def with_targets(*args: Any, **options: Any) -> Any:
        named = {scope: options.pop(name) for name, scope in _SCOPES.items()}
        targets = tuple((scope, target) for scope, names in named.items() for target in names)
        if not targets:
            raise click.UsageError("name a queue, or give --task, --group or --field")
        _check_one_kind(targets)
        return command(*args, targets=targets, **options)

    for mark in (
        click.option("--field", "fields", multiple=True, metavar="NAME=VALUE", help="Such jobs."),
        click.option("--group", "groups", multiple=True, help="This group, in every queue."),
        click.option("--task", "tasks", multiple=True, help="This task, in every queue."),
        click.argument("queues", nargs=-1, metavar="[QUEUE]..."),
    ):
        with_targets = mark(with_targets)
    return with_targets


def _check_one_kind(targets: Targets) -> None:
    """A queue and a group would be two rules; who names both may well mean the group in the queue."""
    told = {scope: _written(scope, target) for scope, target in targets}
    if len(told) > 1:
        one, other, *_ = told.values()
        raise click.UsageError(
            f"a rule is about queues, tasks, groups or fields: {one} and {other} together would "
            f"close all of both, not what they have in common. Give each in a command of its own"
        )


def _written(scope: Scope, target: str) -> str:
    return f"queue {target}" if scope is Scope.QUEUE else f"--{scope} {target}"


def for_operators(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --operator, without which the store refuses it."""
    return click.option("--operator", is_flag=True, help="Say that you are one; needed.")(command)


def explained(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --reason and --for."""
    command = click.option(
        "--for", "length", callback=span, metavar="DURATION", help="Ends by itself."
    )(command)
    return click.option("--reason", default="", help="Why; shown to everyone who looks.")(command)


@click.command(
    cls=Command,
    examples=(
        "oxmill queues pause mail --reason 'mail server is down'",
        "oxmill queues pause mail reports --for 30m",
        "oxmill queues pause --group acme --group umbrella",
    ),
)
@covering
@explained
@click.pass_obj
def pause(session: Session, *, targets: Targets, reason: str, length: Micros | None) -> None:
    """Close queues, tasks, groups or fields: no job of theirs starts after this.

    Running jobs go on.
    """
    _set(session, RuleKind.PAUSE, targets, length, reason=reason)


@click.command(
    cls=Command,
    examples=(
        "oxmill queues block mail --operator --reason 'incident 4711'",
        "oxmill queues block --operator --task app:send --for 2h",
    ),
)
@covering
@explained
@for_operators
@click.pass_obj
def block(
    session: Session, *, targets: Targets, reason: str, length: Micros | None, operator: bool
) -> None:
    """Close them as an operator: resuming them does not lift this."""
    _set(session, RuleKind.BLOCK, targets, length, operator=operator, reason=reason)


@click.command(
    cls=Command,
    examples=(
        "oxmill queues throttle mail --rate 10/s",
        "oxmill queues throttle --group acme --rate '5/min burst 2' --for 1h",
    ),
)
@covering
@click.option("--rate", required=True, help="Starts per time, like 10/s or '5/min burst 2'.")
@explained
@click.pass_obj
def throttle(
    session: Session, *, targets: Targets, rate: str, reason: str, length: Micros | None
) -> None:
    """Let no more jobs of theirs start than this rate allows, over all workers."""
    read_rate(rate)
    _set(session, RuleKind.THROTTLE, targets, length, reason=reason, rate=rate)


@click.command(
    cls=Command,
    examples=("oxmill queues resume mail", "oxmill queues resume --group acme"),
)
@covering
@click.pass_obj
def resume(session: Session, *, targets: Targets) -> None:
    """Lift pauses. A block stays."""
    _lift(session, RuleKind.PAUSE, targets)


@click.command(
    cls=Command,
    examples=(
        "oxmill queues unblock mail --operator",
        "oxmill queues unblock --operator --task app:send",
    ),
)
@covering
@for_operators
@click.pass_obj
def unblock(session: Session, *, targets: Targets, operator: bool) -> None:
    """Lift blocks, as an operator. A pause stays."""
    _lift(session, RuleKind.BLOCK, targets, operator=operator)


@click.command(
    cls=Command,
    examples=("oxmill queues unthrottle mail", "oxmill queues unthrottle --group acme"),
)
@covering
@click.pass_obj
def unthrottle(session: Session, *, targets: Targets) -> None:
    """Lift throttles."""
    _lift(session, RuleKind.THROTTLE, targets)


def _set(
    session: Session,
    kind: RuleKind,
    targets: Targets,
    length: Micros | None,
    *,
    operator: bool = False,
    **terms: Any,
) -> None:
    # The end is reckoned from the store's own time: this machine's clock does not matter.
    end = None if length is None else read_queues(session, ("default",)).now + length
    rules = tuple(
        Rule(
            kind=kind,
            scope=scope,
            target=target,
            author=session.author,
            expires_at=end,
            **terms,
        )
        for scope, target in targets
    )
    _put(session, PutRules(set=rules, author=session.author, operator=operator), targets)


def _lift(session: Session, kind: RuleKind, targets: Targets, *, operator: bool = False) -> None:
    keys = tuple(RuleKey(kind=kind, scope=scope, target=target) for scope, target in targets)
    request = PutRules(lift=keys, author=session.author, operator=operator)
    for rule in _put(session, request, targets):
        if rule.kind is not RuleKind.THROTTLE:
            closed = f"{rule.key.title} is still {in_a_word(rule)}: nothing of it starts."
            say(f"{closed} To lift that: oxmill queues {shlex.join(_way_out(rule))}", tone="warn")


def _way_out(rule: Rule) -> tuple[str, ...]:
    """The words of the command that lifts a rule."""
    verb = ("unblock", "--operator") if rule.kind is RuleKind.BLOCK else ("resume",)
    named = (rule.target,) if rule.scope is Scope.QUEUE else (f"--{rule.scope}", rule.target)
    return *verb, *named


def _put(session: Session, request: PutRules, targets: Targets) -> tuple[Rule, ...]:
    """Change rules and tell what is closed now, of what was named."""
    session.run(session.driver.steering.put_rules(request))
    rules = rules_on(session, targets)
    _tell(session, targets, rules)
    return rules


def _tell(session: Session, targets: Targets, rules: tuple[Rule, ...]) -> None:
    states: dict[str, list[str]] = {
        RuleKey(kind=RuleKind.PAUSE, scope=scope, target=target).title: [
            in_a_word(rule) for rule in rules if (rule.scope, rule.target) == (scope, target)
        ]
        for scope, target in targets
    }
    show_one(
        {"queues": states},
        lambda: "\n".join(
            f"{name}: {', '.join(words) or 'open'}" for name, words in states.items()
        ),
        session.output,
    )
