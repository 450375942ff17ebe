"""`oxmill enqueue`: a job from the command line."""

from __future__ import annotations

import sys
from typing import Any

import click
import msgspec

from oxmill.cli.framework import Command
from oxmill.cli.output import say, show_one
from oxmill.cli.selection import read_new_fields
from oxmill.cli.session import Session
from oxmill.cli.times import span
from oxmill.connect import kind_of
from oxmill.errors import BadArguments
from oxmill.model.job import NewJob
from oxmill.model.unique import OnConflict, UniqueKey
from oxmill.queue.enqueueing import Receipt, enqueue_jobs
from oxmill.queue.ids import IdSource
from oxmill.queue.options import DEFAULT_QUEUE
from oxmill.queue.talk import hold
from oxmill.rules.unique import Unique


@click.command(
    cls=Command,
    examples=(
        'oxmill enqueue app:send \'{"to": "a@x"}\'',
        "oxmill enqueue app:report '[2026]' --delay 5m --priority 10 --unique report:2026",
    ),
)
@click.argument("task")
@click.argument("arguments", default="{}", metavar="[JSON]")
@click.option("-q", "--queue", help="Another queue than the task's.")
@click.option("--delay", callback=span, metavar="DURATION", help="Due this long from now.")
@click.option(
    "--expires", callback=span, metavar="DURATION", help="Cancel it if not started by then."
)
@click.option("--priority", type=int, help="Smaller runs first.")
@click.option("--id", "job_id", help="The job's id; the same id again makes nothing new.")
@click.option("--unique", metavar="KEY", help="At most one live job of this key.")
@click.option(
    "--on-conflict",
    type=click.Choice([str(choice) for choice in OnConflict]),
    help="What to do when the key is taken. Default: skip.",
)
@click.option("--retry", type=click.IntRange(1), metavar="N", help="How often to try it in all.")
@click.option("--group", help="Its group, such as a tenant.")
@click.option("--tag", "tags", multiple=True, help="A tag (repeatable).")
@click.option(
    "-f",
    "--field",
    "fields",
    multiple=True,
    metavar="NAME=VALUE",
    help="A field to search by; several of one name make a list.",
)
@click.option(
    "--raw", is_flag=True, help="Do not ask the app: store the task name and JSON as given."
)
@click.pass_obj
def command(session: Session, /, *, task: str, arguments: str, raw: bool, **given: Any) -> None:
    """Put a job in line and print its id.

    JSON is an object of arguments by name, an array of arguments in order, or - to read it from
    standard input. The app checks it; without an app, or with --raw, it is stored as given.
    """
    text = sys.stdin.read() if arguments == "-" else arguments
    if given["on_conflict"] and not given["unique"]:
        raise click.UsageError("--on-conflict needs --unique")
    content = _parse(text)
    given["fields"] = read_new_fields(given["fields"])
    known = raw or session.place() is None
    job = _raw_job(task, content, given) if known else _app_job(session, task, content, given)
    receipt = hold(session.opened, enqueue_jobs(session.opened, (job,)))[0]
    _tell(session, receipt)
    if kind_of(session.store) == "memory":
        say("memory:// lives in this process alone: the job is gone with it now", tone="warn")


def _parse(text: str) -> dict[str, Any] | list[Any]:
    try:
        content = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise BadArguments(
            f'the arguments are not JSON ({error}); write them as \'{{"name": "value"}}\''
        ) from None
    if not isinstance(content, dict | list):
        raise BadArguments('the arguments must be an object such as \'{"to": "a@x"}\', or an array')
    return content


def _app_job(
    session: Session, name: str, content: dict[str, Any] | list[Any], given: dict[str, Any]
) -> NewJob:
    task = session.app.registry.get(name)
    options = {
        "queue": given["queue"],
        "delay": _seconds(given["delay"]),
        "expires": _seconds(given["expires"]),
        "priority": given["priority"],
        "id": given["job_id"],
        "retry": given["retry"],
        "group": given["group"],
        "tags": given["tags"] or None,
        "fields": given["fields"] or None,
        "unique": given["unique"]
        and Unique(given["unique"], on_conflict=given["on_conflict"] or "skip"),
    }
    called = task.using(**{key: value for key, value in options.items() if value is not None})
    args, kwargs = (content, {}) if isinstance(content, list) else ([], content)
    return called.new_job(tuple(args), kwargs, IdSource()())


def _raw_job(name: str, content: dict[str, Any] | list[Any], given: dict[str, Any]) -> NewJob:
    if isinstance(content, list):
        raise BadArguments(
            "without the app only arguments by name can be stored; write an object, or give --app"
        )
    unique = given["unique"] and UniqueKey(
        key=given["unique"], on_conflict=OnConflict(given["on_conflict"] or "skip")
    )
    return NewJob(
        id=given["job_id"] or IdSource()(),
        queue=given["queue"] or DEFAULT_QUEUE,
        task=name,
        payload=msgspec.json.encode(content),
        priority=given["priority"] or 0,
        delay=given["delay"] or 0,
        expires_in=given["expires"],
        group=given["group"],
        tags=given["tags"],
        fields=given["fields"],
        unique=unique or None,
        **({} if given["retry"] is None else {"max_attempts": given["retry"]}),
    )


def _seconds(length: int | None) -> float | None:
    return None if length is None else length / 1e6


def _tell(session: Session, receipt: Receipt) -> None:
    answer = receipt.answer
    record = {"id": answer.id, "verdict": answer.verdict, "state": answer.state}
    show_one(record, lambda: answer.id, session.output)
    if not receipt.created:
        say(f"nothing new was made ({answer.verdict}): job {answer.id} stands for it", tone="dim")
