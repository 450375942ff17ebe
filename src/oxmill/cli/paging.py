"""Lists that are read page by page, and where to go on with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import click

from oxmill.cli.output import Listing, say, show_all
from oxmill.cli.session import Session

T = TypeVar("T")
_PAGE = 1_000


class Piece(NamedTuple):
    """A part of a list, and the cursor of the next part."""

    items: Sequence[Any]
    next: str | None


def paged(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --limit and --after."""
    after = click.option("--after", metavar="CURSOR", help="Go on where the last page ended.")
    most = click.option(
        "-n", "--limit", default=50, type=click.IntRange(1), help="At most so many."
    )
    return most(after(command))


def show_pages(
    session: Session,
    listing: Listing[T],
    look: Callable[[int, str | None], Piece],
    limit: int,
    after: str | None,
) -> None:
    """Show at most `limit` items as they come, and say where to go on if there are more."""
    rest: list[str] = []

    def found() -> Iterator[Any]:
        left, at = limit, after
        while left:
            piece = look(min(left, _PAGE), at)
            yield from piece.items
            left -= len(piece.items)
            if (at := piece.next) is None:
                return
        if at is not None:
            rest.append(at)

    show_all(found(), listing, session.output)
    if rest:
        say(f"more: add --after {rest[0]}", tone="dim")
