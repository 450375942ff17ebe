"""Columns that people add to the table of jobs, and that show fields."""

from __future__ import annotations

from collections.abc import Iterable

from oxmill.errors import BadName
from oxmill.store.roles.installing import ExtraColumn

PLACEHOLDER = "extra_column"
"""Stands for the name of a column in statements about one: names cannot be given as values."""


def missing(columns: Iterable[ExtraColumn], there: dict[str, bool]) -> list[ExtraColumn]:
    """Those that are not there yet. `there` tells of each column whether it shows a field; one of
    the table's own, or one that people fill themselves, is refused."""
    for column in columns:
        if not there.get(column.name, True):
            raise BadName(
                f"the table of jobs has a column {column.name!r} of its own; give the field and the "
                f"extra column another name"
            )
    return [column for column in columns if column.name not in there]
