"""Versions of the schema: what is there, what is due, and how it is applied."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from oxmill.drivers.mysql.address import Place
from oxmill.drivers.mysql.link import Link
from oxmill.drivers.mysql.literals import literal
from oxmill.drivers.sql.versions import Migration, migrations_of, refuse_newer
from oxmill.errors import StoreUnavailable
from oxmill.model.info import Schema

_LEDGER: Final = b"""CREATE TABLE IF NOT EXISTS oxmill_migrations (
    version INT NOT NULL PRIMARY KEY,
    name VARCHAR(200) NOT NULL,
    applied_at BIGINT NOT NULL,
    checksum VARCHAR(64) NOT NULL
) ENGINE = InnoDB DEFAULT CHARACTER SET = utf8mb4 COLLATE = utf8mb4_bin"""
_THERE: Final = b"""SELECT 1 FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_name = 'oxmill_migrations'"""
_PATIENCE: Final = 60
"""Seconds to wait for another process that migrates."""
_COMMENT: Final = re.compile(r"^\s*--.*$", re.MULTILINE)


def migrations() -> tuple[Migration, ...]:
    """All migrations, oldest first."""
    return migrations_of("oxmill.drivers.mysql")


def schema_of(link: Link) -> Schema:
    """The version that is there; 0 for a database without our tables. Writes nothing."""
    newest = migrations()[-1].version
    if not link.send([_THERE])[0].rows:
        return Schema(current=0, newest=newest)
    ledger = link.send([b"SELECT version, name FROM oxmill_migrations ORDER BY version"])[0].rows
    current = ledger[-1][0] if ledger else 0
    return Schema(current=current, newest=newest, applied=tuple(name for _, name in ledger))


def migrate(link: Link, place: Place) -> Schema:
    """Apply what is due while no other process can. Refuse a newer schema."""
    schema = schema_of(link)
    refuse_newer(schema, place.shown)
    if not schema.pending:
        return schema
    lock = literal(f"oxmill:{place.database}"[:64])
    if link.send([b"SELECT GET_LOCK(%b, %d)" % (lock, _PATIENCE)])[0].rows[0][0] != 1:
        raise StoreUnavailable(
            f"{place.shown}: another process has been migrating for {_PATIENCE} s; wait for it and "
            f"try again"
        )
    try:
        link.send([_LEDGER])
        # Read again: another process may have done it while this one waited for its turn.
        current = schema_of(link).current
        for step in migrations():
            if step.version > current:
                _apply(link, step)
    finally:
        link.send([b"SELECT RELEASE_LOCK(%b)" % lock])
    return schema_of(link)


def _statements(text: str) -> Iterator[bytes]:
    """The statements one by one. They can be run again: this server commits each change of the schema
    by itself, so a step may have stopped halfway."""
    for part in _COMMENT.sub("", text).split(";\n"):
        if part.strip():
            yield part.strip().rstrip(";").encode()


def _apply(link: Link, step: Migration) -> None:
    for statement in _statements(step.text):
        link.send([statement])
    link.send(
        [
            b"INSERT INTO oxmill_migrations (version, name, applied_at, checksum) VALUES "
            b"(%d, %b, CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED), %b)"
            % (step.version, literal(step.name), literal(step.checksum))
        ]
    )
