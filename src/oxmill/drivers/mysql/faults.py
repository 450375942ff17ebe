"""What the server's and the client's errors mean to callers."""

from __future__ import annotations

from typing import Final

from pymysql import err

from oxmill.errors import (
    BadInput,
    OutcomeUnknown,
    SchemaMismatch,
    StoreError,
    StoreFull,
    StoreRefused,
    StoreUnavailable,
    TooBig,
)

FAULTS: Final = (err.MySQLError, OSError)
"""What a connection may raise."""

_TAKEN: Final = 1062
_CONFLICTS: Final = frozenset({1020, 1205, 1213, 1412, 3101})
"""Rows changed meanwhile, lock wait too long, deadlock, table changed, certification failed."""
_LOST: Final = frozenset({1053, 1077, 1079, 1080, 1152, 1158, 1159, 1160, 1161, 1184, 1317, 1927})
_LOST_CLIENT: Final = frozenset({2002, 2003, 2006, 2013, 2014, 2055, 3024, 4031})
_MOVED: Final = frozenset({1290, 1792, 1836, 3002})
"""Read-only: a fail-over has happened, and this is not the primary any more."""


class Taken(Exception):
    """A row with this primary or unique key is there already; the statement stored nothing."""


def code_of(error: BaseException) -> int:
    """The server's or client's error number, or 0."""
    first = error.args[0] if error.args else 0
    return first if isinstance(first, int) else 0


def is_taken(error: BaseException) -> bool:
    """Whether a key is there already."""
    return code_of(error) == _TAKEN


def is_conflict(error: BaseException) -> bool:
    """Whether the transaction only met another one: it can be tried again from its start."""
    return code_of(error) in _CONFLICTS


def is_lost(error: BaseException) -> bool:
    """Whether the connection is of no use any more."""
    code = code_of(error)
    if isinstance(error, err.InterfaceError):
        return True
    if isinstance(error, OSError) and not isinstance(error, err.MySQLError):
        return True
    return code in _LOST or code in _LOST_CLIENT or code in _MOVED


def is_refused(error: BaseException) -> bool:
    """Whether the server has answered that it takes no writes (any more)."""
    return code_of(error) in _MOVED


def unknown(shown: str, error: BaseException) -> OutcomeUnknown:
    """The connection went while the commit was on its way."""
    return OutcomeUnknown(
        f"{shown}: {_said(error)}. The connection was lost during the commit, so it may have "
        f"happened or not; repeating the call with the same ids is safe"
    )


def busy(shown: str, error: BaseException) -> StoreUnavailable:
    """Others kept being faster."""
    return StoreUnavailable(
        f"{shown}: {_said(error)}. Other transactions held the same rows for too long; nothing was "
        f"written, try again, and look for a program that keeps a transaction open"
    )


def translated(error: BaseException, shown: str) -> Exception:
    """The error that callers get, with what to do about it."""
    if isinstance(error, UnicodeEncodeError):
        return BadInput(
            f"{error.object[:40]!r} holds half a surrogate pair, which is not text; decode it "
            f"properly first. Nothing was written"
        )
    kind, remedy = _MEANINGS.get(code_of(error), _UNREACHABLE if is_lost(error) else _OTHERWISE)
    return kind(f"{shown}: {_said(error)}. {remedy}")


def _said(error: BaseException) -> str:
    text = str(error.args[1]) if len(error.args) > 1 else str(error)
    code = code_of(error)
    return f"{text} ({code})" if code else text or type(error).__name__


_RIGHTS: Final = (StoreRefused, "Give this user all rights on the database, or name another user")
_FULL: Final = (StoreFull, "Free some disk space on the server; nothing was written")
_NO_ROOM: Final = (
    StoreUnavailable,
    "The server takes no more connections; raise max_connections, or lower pool= in the URLs",
)
_UNREACHABLE: Final = (
    StoreUnavailable,
    "Check that the server runs and can be reached; nothing was written, try again",
)
_READ_ONLY: Final = (
    StoreUnavailable,
    "The server is read-only, perhaps after a fail-over; connect to the primary and try again",
)
_UNFIT: Final = (BadInput, "A value does not fit into its column; nothing was written")
_OTHERWISE: Final = (StoreError, "The statement failed; nothing was written")
_SCHEMA: Final = (SchemaMismatch, "Run `oxmill db migrate`, or check that the URL is right")
_MEANINGS: Final[dict[int, tuple[type[Exception], str]]] = {
    **dict.fromkeys((1044, 1045, 1142, 1143, 1227, 1370, 1410, 1698), _RIGHTS),
    **dict.fromkeys((1021, 1114, 1030, 1026, 3, 28), _FULL),
    **dict.fromkeys((1040, 1203, 1226), _NO_ROOM),
    **dict.fromkeys((1264, 1366, 1406, 1690, 3140), _UNFIT),
    **dict.fromkeys((1054, 1146, 1305), _SCHEMA),
    **dict.fromkeys(_MOVED, _READ_ONLY),
    1049: (StoreRefused, "Create it: CREATE DATABASE … CHARACTER SET utf8mb4"),
    1153: (TooBig, "Raise max_allowed_packet on the server, or send less at once"),
    1130: (StoreRefused, "Allow this host to connect"),
    1524: (StoreRefused, "Use another authentication plugin for this user"),
}
