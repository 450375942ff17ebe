"""How a command ends: its exit code, and what is said when it failed."""

from __future__ import annotations

import traceback
from enum import IntEnum

import click

from oxmill import errors
from oxmill.cli.output import say


class Exit(IntEnum):
    """The exit codes of every command."""

    OK = 0
    FAILED = 1
    """The work was done and its answer is bad: a job failed, a finding is serious."""
    USAGE = 2
    """It was refused before anything was done: the command line, a taken id, a right that is missing."""
    NOT_FOUND = 3
    STORE = 4
    """The store cannot be reached or used, or is not there yet."""
    TIMEOUT = 5
    INTERRUPT = 130


class NoStore(click.ClickException):
    """Nothing has been stored yet at the place that was named."""

    exit_code = Exit.STORE


class NotFound(click.ClickException):
    """What was named is not there: a schedule, a worker."""

    exit_code = Exit.NOT_FOUND


_CODES: tuple[tuple[type[BaseException], Exit], ...] = (
    (errors.JobNotFound, Exit.NOT_FOUND),
    (errors.FlowNotFound, Exit.NOT_FOUND),
    (errors.ScheduleNotFound, Exit.NOT_FOUND),
    (errors.TaskNotFound, Exit.NOT_FOUND),
    (errors.ResultTimeout, Exit.TIMEOUT),
    (errors.BadInput, Exit.USAGE),
    (errors.WrongContext, Exit.USAGE),
    (errors.IdConflict, Exit.USAGE),
    (errors.DuplicateJob, Exit.USAGE),
    (errors.NotAllowed, Exit.USAGE),
    (errors.NotSupported, Exit.FAILED),
    (errors.StoreError, Exit.STORE),
    (errors.OxmillError, Exit.FAILED),
)


def exit_code(error: BaseException) -> Exit:
    """The code that scripts can tell this error by."""
    if isinstance(error, click.ClickException):
        return Exit(error.exit_code)
    if isinstance(error, click.exceptions.Abort | KeyboardInterrupt):
        return Exit.INTERRUPT
    return next((code for kind, code in _CODES if isinstance(error, kind)), Exit.FAILED)


def report(error: BaseException, *, debug: bool) -> Exit:
    """Say what happened and what to do next, without a traceback unless asked; the exit code."""
    code = exit_code(error)
    if debug and not isinstance(error, click.exceptions.Abort):
        say("".join(traceback.format_exception(error)).rstrip())
    if isinstance(error, click.UsageError):
        _usage(error)
    elif isinstance(error, click.ClickException):
        say(f"error: {error.format_message()}", tone="bad")
    elif isinstance(error, errors.OxmillError):
        say(f"error: {error}", tone="bad")
    elif code is Exit.INTERRUPT:
        say("interrupted")
    else:
        say(f"error: {type(error).__name__}: {error}", tone="bad")
        if not debug:
            say("This is not an error that Oxmill knows. Run the command again with --debug.")
    return code


def _usage(error: click.UsageError) -> None:
    say(f"error: {error.format_message()}", tone="bad")
    if error.ctx is not None:
        say(f"See: {error.ctx.command_path} --help")
