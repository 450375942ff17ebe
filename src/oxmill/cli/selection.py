"""Choosing jobs on the command line: by id, or by options that make a filter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce, wraps
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from oxmill.cli.times import when
from oxmill.model.fields import Scalar, values_of
from oxmill.model.info import ListQueues
from oxmill.model.query import Filter, Find
from oxmill.model.state import State

if TYPE_CHECKING:
    from oxmill.cli.session import Session

COUNT_LIMIT = 100_000
"""How far a filter that needs a look at each job is counted before an order is given."""

_OPTIONS = (
    click.option("-q", "--queue", "queues", multiple=True, help="Jobs of this queue (repeatable)."),
    click.option("-t", "--task", "tasks", multiple=True, help="Jobs of this task (repeatable)."),
    click.option(
        "-s",
        "--state",
        "states",
        multiple=True,
        type=click.Choice([str(state) for state in State]),
        help="Jobs in this state (repeatable).",
    ),
    click.option("--group", help="Jobs of this group."),
    click.option("--tag", help="Jobs with this tag."),
    click.option(
        "-f", "--field", "fields", multiple=True, metavar="NAME=VALUE", help="Jobs with this field."
    ),
    click.option("--flow", metavar="ID", help="Jobs of this flow."),
    click.option(
        "--since", callback=when, metavar="WHEN", help="Enqueued since then (2h, a time)."
    ),
    click.option("--before", callback=when, metavar="WHEN", help="Enqueued before then."),
)


def selecting(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a filter, and the filter as `chosen`."""

    @wraps(command)
    def with_filter(*args: Any, **options: Any) -> Any:
        names = ("queues", "tasks", "states", "group", "tag", "fields", "flow", "since", "before")
        given = {name: options.pop(name) for name in names}
        given["states"] = tuple(State(state) for state in given["states"])
        given["fields"] = read_fields(given["fields"])
        return command(*args, chosen=Filter(**given), **options)

    return reduce(lambda inner, option: option(inner), reversed(_OPTIONS), with_filter)


def read_fields(texts: Iterable[str]) -> dict[str, Scalar]:
    """Fields to look for, given as NAME=VALUE."""
    found: dict[str, Scalar] = {}
    for name, value in map(_field, texts):
        if name in found:
            raise click.BadOptionUsage("--field", f"--field {name}=... was given twice")
        found[name] = value
    return found


def read_new_fields(texts: Iterable[str]) -> dict[str, Scalar | tuple[Scalar, ...]]:
    """Fields of a new job, given as NAME=VALUE; a name that comes again makes a list."""
    found: dict[str, Scalar | tuple[Scalar, ...]] = {}
    for name, value in map(_field, texts):
        found[name] = (*values_of(found[name]), value) if name in found else value
    return found


def _field(text: str) -> tuple[str, Scalar]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.BadOptionUsage("--field", f"--field takes NAME=VALUE, not {text!r}")
    # A number is a number, as it is in fields={"user_id": 62}; quote it to mean text.
    if value.lstrip("-").isdigit():
        return name, int(value)
    return name, value.removeprefix('"').removesuffix('"')


def count(session: Session, chosen: Filter) -> int:
    """How many jobs match, counted no further than `COUNT_LIMIT` where each has to be looked at."""
    if chosen == Filter(queues=chosen.queues, states=chosen.states):
        listed = session.run(session.driver.inspecting.queues(ListQueues(queues=chosen.queues)))
        wanted = chosen.states or tuple(State)
        return sum(info.counts.get(state, 0) for info in listed.items for state in wanted)
    total, after = 0, None
    while total < COUNT_LIMIT:
        find = Find(filter=chosen, limit=1_000, after=after)
        page = session.run(session.driver.inspecting.find(find))
        total += len(page.jobs)
        if (after := page.next) is None:
            break
    return total


def narrowed(chosen: Filter, states: tuple[State, ...]) -> Filter:
    """The filter kept to states that an order can work on."""
    kept = tuple(state for state in chosen.states if state in states)
    if chosen.states and not kept:
        raise click.UsageError(
            f"this works on {', '.join(states)} jobs only, not on {', '.join(chosen.states)} ones"
        )
    return replace(chosen, states=kept or states)
