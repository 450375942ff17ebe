"""`oxmill queues set | limit | purge`."""

from __future__ import annotations

from typing import Any

import click

from oxmill.cli import records
from oxmill.cli.framework import Command
from oxmill.cli.output import say, show_one
from oxmill.cli.queues_look import read_queues
from oxmill.cli.session import Session
from oxmill.cli.steer import Action, Consent, consenting, steer
from oxmill.cli.times import span
from oxmill.model.query import Filter, Purge
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.state import State
from oxmill.model.value import Micros
from oxmill.rules.duration import spell


@click.command(
    cls=Command,
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
    settings = _change(session, name, given)
    show_one(
        {"queue": name, "settings": records.settings(settings)},
        lambda: (
            f"{name} keeps succeeded jobs {spell(settings.keep_succeeded)}, "
            f"failed {spell(settings.keep_failed)}, cancelled {spell(settings.keep_cancelled)}"
        ),
        session.output,
    )


def _change(session: Session, name: str, given: dict[str, Any]) -> QueueSettings:
    """Put these settings of a queue and leave the others; what holds now."""
    put = PutSettings(
        queue=name, settings=QueueSettings(**given), only=tuple(given), author=session.author
    )
    return session.run(session.driver.steering.put_settings(put))


class OrNone(click.ParamType[Any]):
    """A value, or `none` to take a limit away."""

    name = "value"

    def __init__(self, inner: click.ParamType[Any], shown: str) -> None:
        self._inner = inner
        self.name = shown

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """`none` is kept as it is, to be told from an option that was not given."""
        return value if value == "none" else self._inner.convert(value, param, ctx)


_NUMBER = OrNone(click.IntRange(1), "N|none")
_RATE = OrNone(click.STRING, "RATE|none")


def _weights(
    ctx: click.Context, param: click.Parameter, values: tuple[str, ...]
) -> dict[str, int] | None:
    weights: dict[str, int] = {}
    for value in values:
        group, _, number = value.rpartition("=")
        if not group or not number.isdigit():
            raise click.BadParameter(f"{value!r} is not GROUP=N", ctx, param)
        weights[group] = int(number)
    return weights or None


def _ageing(ctx: click.Context, param: click.Parameter, value: str | None) -> Micros | str | None:
    return value if value == "none" else span(ctx, param, value)


@click.command(
    cls=Command,
    examples=(
        "oxmill queues limit mail --concurrency 10 --rate 100/s",
        "oxmill queues limit api --group-concurrency 2 --group-rate '5/min burst 2'",
        "oxmill queues limit mail --rate none",
    ),
)
@click.argument("name", metavar="QUEUE")
@click.option("--concurrency", type=_NUMBER, help="Jobs running at once, over all workers.")
@click.option("--rate", type=_RATE, help="Starts per time, like 100/s or '5/min burst 2'.")
@click.option("--group-concurrency", type=_NUMBER, help="Jobs of one group running at once.")
@click.option("--group-rate", type=_RATE, help="Starts per time of each group.")
@click.option(
    "--weight",
    "group_weights",
    multiple=True,
    callback=_weights,
    metavar="GROUP=N",
    help="Jobs that a group is given per turn (repeatable; replaces all weights).",
)
@click.option("--no-weights", is_flag=True, help="Every group is given one job per turn.")
@click.option("--ordered/--unordered", "ordered_groups", default=None, help="One at a time.")
@click.option(
    "--ageing",
    callback=_ageing,
    metavar="DURATION|none",
    help="Waiting this long improves the priority by one.",
)
@click.pass_obj
def limit_queue(session: Session, /, *, name: str, no_weights: bool, **limits: Any) -> None:
    """Set limits of a queue, at once and for all workers. What is not given stays as it is."""
    given = {
        key: None if value == "none" else value
        for key, value in limits.items()
        if value is not None
    }
    if no_weights:
        given["group_weights"] = {}
    if not given:
        raise click.UsageError("nothing to set: give --concurrency, --rate or another limit")
    settings = _change(session, name, given)
    show_one(
        {"queue": name, "settings": records.settings(settings)},
        lambda: f"{name}: {settings.summary or 'no limits'}",
        session.output,
    )


@click.command(
    cls=Command,
    examples=("oxmill queues purge mail --dry-run", "oxmill queues purge mail -s failed --yes"),
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
def purge_queue(session: Session, *, name: str, states: tuple[str, ...], consent: Consent) -> int:
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
