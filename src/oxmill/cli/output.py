"""What commands print: data to stdout, messages to stderr; tables for people, JSON for programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import click

T = TypeVar("T")
Record = Mapping[str, Any]
Format = Literal["table", "json", "ndjson"]
Tone = Literal["plain", "good", "bad", "warn", "dim"]

FORMATS: tuple[Format, ...] = ("table", "json", "ndjson")

_COLOURS: dict[Tone, str] = {"good": "green", "bad": "red", "warn": "yellow", "dim": "bright_black"}
_TONES: dict[str, Tone] = {
    "succeeded": "good",
    "failed": "bad",
    "running": "good",
    "cancelled": "dim",
    "held": "warn",
    "scheduled": "dim",
    "paused": "warn",
    "blocked": "bad",
    "refuse": "bad",
    "warn": "warn",
    "closed": "bad",
    "open": "good",
}


class Column(NamedTuple, Generic[T]):
    """One column of a table: its title and how a cell is made from an item."""

    title: str
    cell: Callable[[T], str]
    right: bool = False


class Listing(NamedTuple, Generic[T]):
    """How items are shown: as a table to people and as records to programs."""

    columns: tuple[Column[T], ...]
    record: Callable[[T], Record]
    empty: str
    """Said on stderr when there is nothing, with what to do next."""


def show_all(items: Iterable[T], listing: Listing[T], form: Format) -> None:
    """Print many items. JSON is one array; NDJSON is one object per line, as they come."""
    if form == "ndjson":
        for item in items:
            click.echo(encode(listing.record(item)))
        return
    found = list(items)
    if form == "json":
        click.echo(encode([listing.record(item) for item in found], indent=True))
    elif not found:
        say(listing.empty, tone="dim")
    else:
        _table(listing.columns, [[cell(item) for _, cell, _ in listing.columns] for item in found])


def show_one(record: Record, lines: Callable[[], str], form: Format) -> None:
    """Print one thing: `lines` for people, `record` for programs."""
    if form == "table":
        click.echo(lines().rstrip("\n"), color=_coloured(sys.stdout))
    else:
        click.echo(encode(record, indent=form == "json"))


def encode(record: Any, *, indent: bool = False) -> str:
    """JSON text of a record."""
    import msgspec  # noqa: PLC0415 (not needed for help)

    data = msgspec.json.encode(record)
    return (msgspec.json.format(data, indent=2) if indent else data).decode()


def say(message: str, *, tone: Tone = "plain") -> None:
    """A message to people, on stderr."""
    click.echo(paint(message, tone), err=True, color=_coloured(sys.stderr))


def paint(text: str, tone: Tone) -> str:
    """Text in the colour of its tone; the colour is dropped where it does not belong."""
    return text if tone == "plain" else click.style(text, fg=_COLOURS[tone])


def tint(word: str) -> str:
    """A state, level or gate in its own colour."""
    return paint(word, _TONES.get(word, "plain"))


def pairs(items: Iterable[tuple[str, str]]) -> str:
    """`name  value` lines with the values aligned."""
    known = [(name, value) for name, value in items if value]
    width = max((len(name) for name, _ in known), default=0)
    return "\n".join(f"{paint(name.ljust(width), 'dim')}  {value}" for name, value in known)


def _table(columns: Sequence[Column[Any]], rows: Sequence[Sequence[str]]) -> None:
    if sys.stdout.isatty() and find_spec("rich"):
        _rich_table(columns, rows)
        return
    widths = [
        max(len(column.title), *(len(row[at]) for row in rows)) for at, column in enumerate(columns)
    ]
    for row in ([column.title.upper() for column in columns], *rows):
        cells = [
            text.rjust(width) if column.right else text.ljust(width)
            for text, width, column in zip(row, widths, columns, strict=True)
        ]
        cells[-1] = cells[-1].rstrip()
        painted = (paint(cell, _TONES.get(cell.strip(), "plain")) for cell in cells)
        click.echo("  ".join(painted).rstrip(), color=_coloured(sys.stdout))


def _rich_table(columns: Sequence[Column[Any]], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console  # noqa: PLC0415 (slow to import; only on a terminal)
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        first = column is columns[0]
        table.add_column(
            column.title,
            justify="right" if column.right else "left",
            no_wrap=first,
            overflow="fold" if first else "ellipsis",
        )
    for row in rows:
        table.add_row(*(Text(text, style=_style(text)) for text in row))
    Console(highlight=False).print(table)


def _style(text: str) -> str:
    return _COLOURS.get(_TONES.get(text, "plain"), "")


def _coloured(stream: Any) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    return os.environ.get("CLICOLOR_FORCE", "0") not in ("", "0") or stream.isatty()
