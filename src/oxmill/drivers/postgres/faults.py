"""What PostgreSQL's errors mean to callers: try again, connect again, or give up."""

from __future__ import annotations

import struct
from typing import Final

import psycopg

from oxmill.errors import (
    BadInput,
    OutcomeUnknown,
    OxmillError,
    SchemaMismatch,
    StoreError,
    StoreFull,
    StoreRefused,
    StoreUnavailable,
)

TAKEN: Final = "23505"
"""An id or another unique value is taken."""
_CONTESTED: Final = frozenset({"40001", "40P01", "23505", "55006"})
"""Two transactions got into each other's way: nothing was written, and trying again helps."""

_LOG_IN: Final = "Give this user the right to log in, in pg_hba.conf or with another password"
_RIGHTS: Final = (
    "GRANT this user the rights on the schema, or let the owner run `oxmill db migrate`"
)
_MISSING: Final = "Run `oxmill db migrate` with a user that may create tables"
_MEANINGS: Final[dict[str, tuple[type[StoreError], str]]] = {
    # by SQLSTATE, or its first two characters
    "53100": (StoreFull, "Free some disk space on the server; nothing was written"),
    "53200": (StoreUnavailable, "The server is out of memory; try again with smaller batches"),
    "53300": (StoreUnavailable, "The server has no connection left; use fewer, or a pooler"),
    "53400": (StoreFull, "A limit of the server was reached; nothing was written"),
    "54": (StoreError, "The server cannot handle a request of this size; nothing was written"),
    "25006": (StoreUnavailable, "The server takes no writes; connect to the primary"),
    "55P03": (StoreUnavailable, "A lock was not had in time; look for a long transaction"),
    "57014": (StoreUnavailable, "The query took too long and was cancelled; try again"),
    "57P": (StoreUnavailable, "The server is stopping or starting; try again"),
    "08": (StoreUnavailable, "The connection broke; try again"),
    "28": (StoreRefused, _LOG_IN),
    "3D": (StoreRefused, "Create the database first, or name another one in the URL"),
    "3F": (SchemaMismatch, _MISSING),
    "42501": (StoreRefused, _RIGHTS),
    "42P01": (SchemaMismatch, _MISSING),
    "42883": (SchemaMismatch, _MISSING),
    "42703": (SchemaMismatch, _MISSING),
    "XX": (StoreError, "The server has a fault or its data is damaged; look at its log"),
}
_UNSTORABLE: Final = frozenset({None, "22003", "22021", "22P05"})
_ENDED: Final = frozenset({"57P", "080"})
_FULL: Final = ("remaining connection slots", "too many clients", "too many connections")


def is_contested(error: BaseException) -> bool:
    """Whether performing the plan again may help at once."""
    return isinstance(error, psycopg.Error) and error.sqlstate in _CONTESTED


def is_broken(error: BaseException) -> bool:
    """Whether the connection must not be used again."""
    if not isinstance(error, psycopg.Error):
        return True
    state = error.sqlstate
    return state is None or state[:2] == "08" or state[:3] == "57P" or state == "25006"


def translated(error: Exception, shown: str, *, writing: bool) -> OxmillError | Exception:
    """The error that callers get. `writing` if the server may have committed before it fell silent:
    a connection that ends without the server's word leaves that open."""
    if isinstance(error, UnicodeEncodeError | OverflowError | struct.error) or _unstorable(error):
        return BadInput(f"something given cannot be stored: {error}. Nothing was written")
    if not isinstance(error, psycopg.Error):
        return error
    said = f"{shown}: {str(error).strip().partition(chr(10))[0]}"
    # A session that is ended from outside may have committed just before.
    if error.sqlstate is None or (writing and error.sqlstate[:3] in _ENDED):
        return _cut_off(said, writing=writing)
    kind, remedy = _meaning(error.sqlstate)
    return kind(f"{said} ({error.sqlstate}). {remedy}")


def _cut_off(said: str, *, writing: bool) -> StoreError:
    """The server did not say what happened."""
    if any(words in said for words in _FULL):
        kind, remedy = _MEANINGS["53300"]
        return kind(f"{said}. {remedy}")
    if writing:
        return OutcomeUnknown(
            f"{said}. The connection broke before the answer came; repeating the call with the same "
            f"ids is safe"
        )
    return StoreUnavailable(f"{said}. Nothing was written; try again")


def _meaning(state: str) -> tuple[type[StoreError], str]:
    if state in _CONTESTED:
        return StoreUnavailable, "Others were faster each time; try again"
    for length in (5, 3, 2):
        if state[:length] in _MEANINGS:
            return _MEANINGS[state[:length]]
    return StoreError, "Nothing was written"


def _unstorable(error: Exception) -> bool:
    return isinstance(error, psycopg.DataError) and error.sqlstate in _UNSTORABLE
