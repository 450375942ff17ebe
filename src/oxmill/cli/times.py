"""Moments for people and for programs."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import click

from oxmill.errors import BadInput
from oxmill.model.value import Micros
from oxmill.rules.duration import micros, moment, spell

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def iso(at: Micros | None) -> str | None:
    """A moment for programs: ISO 8601 in UTC with microseconds."""
    if at is None:
        return None
    when = _EPOCH + timedelta(microseconds=at)
    return when.isoformat(timespec="microseconds").replace("+00:00", "Z")


def clock(at: Micros | None) -> str:
    """A moment for people: local date and time to the second."""
    if at is None:
        return ""
    return (_EPOCH + timedelta(microseconds=at)).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def ago(at: Micros | None, now: Micros) -> str:
    """How long ago, or how soon."""
    if at is None:
        return "-"
    return f"{spell(now - at)} ago" if at <= now else f"in {spell(at - now)}"


def here() -> Micros:
    """This machine's time; only for showing ages, never for deciding."""
    return time.time_ns() // 1_000


def span(ctx: click.Context, param: click.Parameter, value: str | None) -> Micros | None:
    """Callback of an option that takes a length of time: `90s`, `1h30m`, or seconds."""
    if value is None:
        return None
    try:
        return micros(float(value) if value.replace(".", "", 1).isdigit() else value)
    except BadInput as error:
        raise click.BadParameter(str(error), ctx, param) from None


def when(ctx: click.Context, param: click.Parameter, value: str | None) -> Micros | None:
    """Callback of an option that takes a moment: `2026-01-31T12:00`, or `2h` for two hours ago."""
    if value is None:
        return None
    try:
        named = datetime.fromisoformat(value)
    except ValueError:
        try:
            return here() - micros(value)
        except BadInput:
            raise click.BadParameter(
                f"{value!r} is neither a time (2026-01-31T12:00) nor an age (2h)", ctx, param
            ) from None
    return moment(named if named.tzinfo else named.astimezone())
