"""Columns that people add to the table of jobs, and that show fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from oxmill.errors import BadInput, BadName
from oxmill.store.roles.installing import ExtraColumn

PLACEHOLDER = "extra_column"
"""Stands for the name of a column in statements about one: names cannot be given as values."""


def missing(columns: Iterable[ExtraColumn], there: Mapping[str, str | None]) -> list[ExtraColumn]:
    """Those that are not there yet. `there` tells of each column the type in which it shows a field;
    one of the table's own, or one that people fill themselves, is refused, and so is one of another
    type."""
    for column in columns:
        shown = there.get(column.name, column.type)
        if shown is None:
            raise BadName(
                f"the table of jobs has a column {column.name!r} of its own; give the field and the "
                f"extra column another name"
            )
        if shown != column.type:
            raise BadInput(
                f"the table of jobs shows the field {column.name!r} as {shown} already; to have it "
                f"as {column.type}, drop that column first, or ask for {column.name}:{shown}"
            )
    return [column for column in columns if column.name not in there]
