"""`oxmill worker`."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any

import click

from oxmill.cli.framework import Command
from oxmill.cli.session import Session
from oxmill.cli.supervise import SUPERVISED, Supervisor, oxmill
from oxmill.observe.log import Style, set_up_logging

_NAMES = (
    "queues",
    "allow",
    "slots",
    "drain",
    "grace",
    "lease",
    "max_jobs",
    "max_rss",
    "name",
    "loop",
)
"""Options that a worker calls the same."""


@click.command(
    cls=Command,
    examples=(
        "oxmill worker",
        "oxmill worker shop.jobs:app -q mail -q reports -n 50 --processes 2",
        "oxmill worker app.py --drain",
    ),
)
@click.argument("place", required=False, metavar="[MODULE[:APP]]")
@click.option("-q", "--queue", "queues", multiple=True, help="Claim from this queue (repeatable).")
@click.option("-n", "--slots", type=click.IntRange(1), help="Jobs at once. Default: 20.")
@click.option("--processes", default=1, type=click.IntRange(1, 64), help="Worker processes.")
@click.option(
    "--drain",
    is_flag=True,
    help="Stop when nothing can start now: what still waits is due later, or behind a gate.",
)
@click.option("--grace", metavar="DURATION", help="Time to finish after a stop. Default: 25s.")
@click.option("--lease", metavar="DURATION", help="How long a job is held. Default: 60s.")
@click.option("--max-jobs", type=click.IntRange(1), help="Start afresh after so many jobs.")
@click.option("--max-rss", metavar="SIZE", help="Start afresh above this memory, such as 512MB.")
@click.option("--name", help="Shown to people instead of the host's name.")
@click.option("--loop", type=click.Choice(["auto", "asyncio", "uvloop"]), help="The event loop.")
@click.option("--no-scheduler", is_flag=True, help="Fire no schedules here.")
@click.option("--allow", multiple=True, metavar="FINDING", help="Start in spite of this finding.")
@click.option("--set", "others", multiple=True, metavar="OPTION=VALUE", help="Any other option.")
@click.option("--log", "style", type=click.Choice(["text", "json"]), default="text", help="Lines.")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    help="Lines of this level and above; warning leaves out one line per job.",
)
@click.pass_obj
def command(session: Session, /, *, place: str | None, processes: int, **given: Any) -> int:
    """Run a worker until it is stopped.

    The queues are those that the app's tasks use, unless named. SIGTERM and Ctrl-C let running jobs
    finish within the grace time and give the rest back; a second one stops at once. A store that
    does not answer is waited for; with --drain the worker gives up after 30 s and exits with 4.
    """
    if place is not None:
        session.name_app(place)
    recycled = given["max_jobs"] or given["max_rss"]
    if processes > 1 or (recycled and SUPERVISED not in os.environ):
        words = [*argv(given), *session.words()]
        return Supervisor(oxmill("worker", *words), processes, drains=given["drain"]).run()
    return run_worker(session, given)


def run_worker(session: Session, given: Mapping[str, Any]) -> int:
    """Run one worker in this process; its exit code."""
    style: Style = "json" if given["style"] == "json" else "text"
    set_up_logging(style, logging.getLevelNamesMapping()[given["log_level"].upper()])
    return session.app.worker(**worker_options(given)).run()


def worker_options(given: Mapping[str, Any]) -> Any:
    """Options of the command line as options of a worker; what was not given keeps its default."""
    options = {name: given[name] for name in _NAMES if given[name]}
    if given["no_scheduler"]:
        options["scheduler"] = False
    for text in given["others"]:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.BadOptionUsage("--set", f"--set takes OPTION=VALUE, not {text!r}")
        options[name.replace("-", "_")] = int(value) if value.isdigit() else value
    return options


def argv(given: Mapping[str, Any]) -> list[str]:
    """The same options as words, for a process of its own."""
    words = [word for queue in given["queues"] for word in ("-q", queue)]
    words += [word for name in given["allow"] for word in ("--allow", name)]
    words += [word for text in given["others"] for word in ("--set", text)]
    words += [f"--{flag.replace('_', '-')}" for flag in ("drain", "no_scheduler") if given[flag]]
    single = ("slots", "grace", "lease", "max_jobs", "max_rss", "name", "loop", "log_level")
    for name in single:
        if given[name]:
            words += [f"--{name.replace('_', '-')}", str(given[name])]
    return [*words, "--log", given["style"]]
