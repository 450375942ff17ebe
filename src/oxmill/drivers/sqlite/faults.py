"""What SQLite's errors mean to callers."""

from __future__ import annotations

import sqlite3
from typing import Final, TypeVar

from oxmill.errors import (
    BadInput,
    OutcomeUnknown,
    StoreError,
    StoreFull,
    StoreRefused,
    StoreUnavailable,
)

E = TypeVar("E", bound=BaseException)

_BUSY: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_INTERRUPT})
_BROKEN: Final = frozenset(
    {
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_CANTOPEN,
    }
)


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's primary result code, or -1 where the module raised by itself."""
    code: int = getattr(error, "sqlite_errorcode", -1)
    return code if code < 0 else code & 0xFF


def is_busy(error: sqlite3.Error) -> bool:
    """Whether someone else holds the lock that was needed."""
    return primary_code(error) in _BUSY


def is_broken(error: sqlite3.Error) -> bool:
    """Whether the connection had better be opened anew."""
    return primary_code(error) in _BROKEN


def unstorable(error: E) -> E | BadInput:
    """The error for a parameter that SQLite cannot hold; other errors as they are."""
    match error:
        case UnicodeEncodeError(object=text):
            return BadInput(
                f"{text[:40]!r} holds half a surrogate pair, which is not text; decode it properly "
                f"first. Nothing was written"
            )
        case OverflowError():
            return BadInput("a number does not fit into 64 bits; nothing was written")
        case _:
            return error


def translated(error: sqlite3.Error, path: str, *, committing: bool = False) -> StoreError:
    """The error that callers get, with what to do about it."""
    code = primary_code(error)
    if code == sqlite3.SQLITE_IOERR and committing:
        return OutcomeUnknown(
            f"{path}: {error}. The disk failed during the commit; check it, then repeat the call"
        )
    kind, remedy = _MEANINGS.get(code, _OTHERWISE)
    return kind(f"{path}: {error}. {remedy}")


_RIGHTS: Final = "Give this user the right to read and write the file and its folder"
_LOCKED: Final = (
    "Another process kept the database locked for too long; try again, and look for a program that "
    "holds a transaction open"
)
_DAMAGED: Final = (
    "The file is damaged: stop all processes, keep a copy of it with its -wal file, and restore a "
    "backup or use `sqlite3 old.db .recover | sqlite3 new.db`"
)
_OTHERWISE: Final = (StoreError, "The statement failed; nothing was written")
_MEANINGS: Final[dict[int, tuple[type[StoreError], str]]] = {
    **dict.fromkeys(_BUSY, (StoreUnavailable, _LOCKED)),
    sqlite3.SQLITE_FULL: (StoreFull, "Free some disk space; nothing was written"),
    sqlite3.SQLITE_IOERR: (StoreUnavailable, "The disk did not answer; check it and try again"),
    sqlite3.SQLITE_CORRUPT: (StoreError, _DAMAGED),
    sqlite3.SQLITE_NOTADB: (StoreRefused, "This is not a SQLite database; give another path"),
    sqlite3.SQLITE_CANTOPEN: (
        StoreRefused,
        "Create the folder, or give a path that can be written",
    ),
    sqlite3.SQLITE_READONLY: (StoreRefused, "It is read-only for this user; use another place"),
    sqlite3.SQLITE_PROTOCOL: (StoreRefused, "File locks do not work here; use a local disk"),
    sqlite3.SQLITE_PERM: (StoreRefused, _RIGHTS),
    sqlite3.SQLITE_AUTH: (StoreRefused, _RIGHTS),
}
