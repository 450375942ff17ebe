"""Extra columns in MariaDB or MySQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from oxmill.drivers.mysql.link import Link
from oxmill.drivers.mysql.statements import text_of
from oxmill.drivers.sql.columns import PLACEHOLDER, missing
from oxmill.store.roles.installing import ExtraColumn

_ADD: Final = {"text": "add_column_text", "integer": "add_column_integer"}
_LENGTHS: Final = {"text": "(191)", "integer": ""}


def add_columns(link: Link, columns: Sequence[ExtraColumn]) -> None:
    """Have these columns and their indexes. This server commits each by itself; what a broken call
    has left undone, the next one does."""
    rows = link.send([text_of("columns_of_jobs").filled({})])[0].rows
    there = {name: shown for name, shown, _ in rows}
    indexed = {name for name, _, has_index in rows if has_index}
    new = missing(columns, there)
    for column in columns:
        if column in new:
            _do(link, _ADD[column.type], column)
        if column.name not in indexed:
            _do(link, "index_column", column)


def _do(link: Link, name: str, column: ExtraColumn) -> None:
    text = text_of(name).filled({}).decode()
    text = text.replace("extra_length", _LENGTHS[column.type])
    link.send([text.replace(PLACEHOLDER, column.name).encode()])
