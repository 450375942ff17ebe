"""`oxmill tasks`."""

from __future__ import annotations

import inspect
from typing import Any

import click

from oxmill.cli.framework import Command
from oxmill.cli.output import Column, Listing, Record, show_all
from oxmill.cli.session import Session
from oxmill.queue.task import BaseTask

Declared = BaseTask[..., Any]


@click.command(cls=Command, examples=("oxmill tasks", "oxmill tasks --app shop.jobs:app -o json"))
@click.pass_obj
def command(session: Session) -> None:
    """List the tasks that the app declares."""
    tasks = sorted(session.app.registry, key=lambda task: task.name)
    show_all(tasks, _LISTING, session.output)


def _arguments(task: Declared) -> str:
    signature = inspect.signature(task.fn)
    kept = list(signature.parameters.values())[1 if task.takes_context else 0 :]
    return str(signature.replace(parameters=kept))


def _record(task: Declared) -> Record:
    options = task.options
    return {
        "name": task.name,
        "aliases": list(task.aliases),
        "arguments": _arguments(task),
        "async": task.is_async,
        "queue": options.queue,
        "priority": options.priority or 0,
        "max_attempts": options.max_attempts,
        "timeout_seconds": None if options.timeout is None else options.timeout / 1e6,
        "pool": options.pool,
    }


_LISTING: Listing[Declared] = Listing(
    columns=(
        Column("task", lambda task: task.name),
        Column("queue", lambda task: task.options.queue),
        Column("runs", lambda task: "loop" if task.is_async else task.options.pool),
        Column("tries", lambda task: str(task.options.max_attempts), right=True),
        Column("arguments", _arguments),
    ),
    record=_record,
    empty="the app declares no task. Declare one with @app.task",
)
