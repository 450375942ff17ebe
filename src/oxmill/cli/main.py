"""The front door of the command line: the list of commands, by section."""

from __future__ import annotations

from typing import NoReturn

import click

from oxmill.cli.framework import Root

SECTIONS = {
    "Start": {
        "init": "Write a starter app file.",
        "dev": "Run worker and scheduler in one process, and again on every change.",
        "worker": "Run a worker until it is stopped.",
    },
    "Jobs": {
        "enqueue": "Put a job in line and print its id.",
        "jobs": "List, show, explain, retry, cancel, edit, wait for and remove jobs.",
        "flows": "List, show, draw, cancel and retry flows.",
        "tasks": "List the tasks that the app declares.",
    },
    "Queues and schedules": {
        "queues": "List, show, limit, pause, block, throttle, set and purge queues.",
        "cron": "List, foresee, run, change, pause, resume and remove schedules.",
    },
    "Health": {
        "status": "Show queues, workers and what is wrong, on one screen.",
        "workers": "List workers, quiet them and stop them.",
        "events": "Show who did what, and what went wrong.",
        "doctor": "Find what is unsafe or stuck, each with its remedy.",
    },
    "Store": {
        "db": "Migrate, check and print the schema of the store.",
        "bench": "Measure enqueueing, draining and latency on a store.",
        "version": "Show the versions in use.",
    },
}


@click.group(cls=Root, sections=SECTIONS, invoke_without_command=True)
@click.pass_context
def main(ctx: click.Context, /, *, app: str | None, url: str | None, **_: object) -> int | None:
    """Oxmill: a durable job queue on the store you already have.

    Every command finds your app by --app, OXMILL_APP, [tool.oxmill] in pyproject.toml, or app.py
    and tasks.py in this folder. Without a command it shows the status of the app it finds. The common
    options may stand before a command or after it.
    """
    if ctx.invoked_subcommand is not None:
        return None
    from oxmill.cli.locate import locate  # noqa: PLC0415 (not needed for help)

    if url is None and locate(app) is None:
        click.echo(ctx.get_help())
        return None
    status = main.get_command(ctx, "status")
    assert status is not None  # noqa: S101 (it is in the table above)
    with status.make_context("status", [], parent=ctx) as inner:
        answer = status.invoke(inner)
    return answer if isinstance(answer, int) else None


def run() -> NoReturn:
    """The entry point of the `oxmill` script."""
    main.main()
