"""The one table of the error numbers of MySQL and MariaDB that a queue can meet, and what each means.

A number that only one of the two knows is in it, too; where both use one for different things, none of ours
can bring about the other's.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final, NamedTuple

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


class Then(Enum):
    """What is to be done after an error."""

    TELL = auto()
    """The connection is of use again after a rollback; the caller is told."""
    AGAIN = auto()
    """The transaction only met another one: it can be tried again from its start."""
    LEAVE = auto()
    """The connection is of no use any more."""
    MOVE = auto()
    """The server takes no writes (any more), and has surely done none: another one may be the primary."""


class Meaning(NamedTuple):
    """What callers are told, and what is done."""

    kind: type[Exception]
    remedy: str
    then: Then = Then.TELL


_RIGHTS: Final = Meaning(
    StoreRefused, "Give this user all rights on the database, or name another user"
)
_LOG_IN: Final = Meaning(
    StoreRefused, "Unlock the account, set its password anew, or name another user"
)
_FULL: Final = Meaning(StoreFull, "Free some disk space on the server; nothing was written")
_NO_ROOM: Final = Meaning(
    StoreUnavailable,
    "The server takes no more connections; raise max_connections, or lower pool= in the URLs",
)
_SHORT: Final = Meaning(
    StoreUnavailable,
    "The server is short of memory or of room for locks; nothing was written, try again with "
    "smaller batches, and raise innodb_buffer_pool_size if it happens often",
)
_BUSY: Final = Meaning(
    StoreUnavailable, "Other transactions were in the way; nothing was written", Then.AGAIN
)
UNREACHABLE: Final = Meaning(
    StoreUnavailable,
    "Check that the server runs and can be reached; nothing was written, try again",
    Then.LEAVE,
)
_INTERRUPTED: Final = Meaning(
    StoreUnavailable,
    "Somebody has ended the statement; nothing was written, try again",
    Then.LEAVE,
)
_TOO_LONG: Final = Meaning(
    StoreUnavailable,
    "The statement was ended by a time limit of the server; nothing was written. Try again, look for "
    "a lock that is held for long, or raise max_statement_time (MySQL: max_execution_time)",
)
_READ_ONLY: Final = Meaning(
    StoreUnavailable,
    "The server is read-only, perhaps after a fail-over; connect to the primary and try again",
    Then.MOVE,
)
_NOT_NOW: Final = Meaning(
    StoreUnavailable,
    "The server takes no statements at the moment, as one that is offline or has lost its cluster; "
    "nothing was written, try again",
    Then.LEAVE,
)
_UNFIT: Final = Meaning(BadInput, "A value does not fit into its column; nothing was written")
_SCHEMA: Final = Meaning(SchemaMismatch, "Run `oxmill db migrate`, or check that the URL is right")
_DAMAGED: Final = Meaning(
    StoreError,
    "The server's files are damaged or missing; look at its log, and restore them. Nothing was "
    "written",
)
_PLUGIN: Final = Meaning(StoreRefused, "Use another authentication plugin for this user")
_ROWS: Final = Meaning(
    StoreRefused, "Set binlog_format = ROW: claims cannot be written to a log of statements"
)
OTHERWISE: Final = Meaning(StoreError, "The statement failed; nothing was written")
_UNSURE: Final = Meaning(
    OutcomeUnknown,
    "The commit may have happened or not; repeating the call with the same ids is safe",
    Then.LEAVE,
)
_ENGINE: Final = Meaning(
    StoreError, "The server could not use its files; look at its log. Nothing was written"
)

_MEANINGS: Final[dict[int, Meaning]] = {
    # Rows changed since they were read, lock wait too long, deadlock, table changed, wait given up for a
    # stronger lock, rolled back by the group (as Galera's 1213), lock not had at once.
    **dict.fromkeys((1020, 1205, 1213, 1412, 1689, 3101, 3572), _BUSY),
    # Shutdown and killed sessions; packets that did not come or cannot be read; the client's own.
    **dict.fromkeys((1053, 1077, 1079, 1080, 1152, 1184, 1927, 3168, 3169, 4031), UNREACHABLE),
    **dict.fromkeys((1042, 1043, 1154, 1155, 1156, 1157, 1158, 1159, 1160, 1161), UNREACHABLE),
    **dict.fromkeys((2002, 2003, 2006, 2013, 2014, 2027, 2055), UNREACHABLE),
    1317: _INTERRUPTED,
    **dict.fromkeys((1969, 3024), _TOO_LONG),  # MariaDB's and MySQL's
    # --read-only, a table or a transaction or the engine for reading only, forced recovery.
    **dict.fromkeys((1036, 1290, 1792, 1836, 1874, 1881), _READ_ONLY),
    # WSREP is not ready (as an unknown command), offline mode, a hook of group replication, no binary log.
    **dict.fromkeys((1047, 3032, 3100, 1598), _NOT_NOW),
    1180: _UNSURE,
    **dict.fromkeys((1044, 1045, 1142, 1143, 1227, 1370, 1410, 1698), _RIGHTS),
    **dict.fromkeys((1820, 1862, 3118, 4150, 4151), _LOG_IN),
    **dict.fromkeys((20, 1021, 1114, 1878, 4139), _FULL),
    **dict.fromkeys((1040, 1203, 1226), _NO_ROOM),
    **dict.fromkeys((5, 23, 1037, 1038, 1041, 1135, 1206, 1637, 3015), _SHORT),
    **dict.fromkeys((1264, 1366, 1406, 1690, 3140), _UNFIT),
    **dict.fromkeys((1054, 1146, 1305), _SCHEMA),
    **dict.fromkeys((1034, 1035, 1194, 1195, 1712, 1812, 1817, 1877, 1932, 3000), _DAMAGED),
    **dict.fromkeys((1665, 1666), _ROWS),
    **dict.fromkeys((1251, 1524, 2059, 2061), _PLUGIN),
    1049: Meaning(StoreRefused, "Create it: CREATE DATABASE … CHARACTER SET utf8mb4"),
    1129: Meaning(
        StoreUnavailable,
        "Too many connections from here broke; find out why, then run `mariadb-admin flush-hosts` "
        "(MySQL: TRUNCATE performance_schema.host_cache)",
        Then.LEAVE,
    ),
    1130: Meaning(StoreRefused, "Allow this host to connect"),
    1153: Meaning(TooBig, "Raise max_allowed_packet on the server, or send less at once"),
    **dict.fromkeys(
        (1197, 1705),
        Meaning(TooBig, "Raise max_binlog_cache_size on the server, or send less at once"),
    ),
    3159: Meaning(StoreRefused, "The server wants encryption; add tls=1 or ssl_ca= to the URL"),
}
_OF_FILES: Final = frozenset({1, 2, 3, 1004, 1005, 1023, 1024, 1026, 1030})
"""Errors that tell another one in their text: the operating system's, or the storage engine's."""
_WITHIN: Final = re.compile(r"(?:error|errno:|errcode:) *(\d+)", re.IGNORECASE)
_NO_SPACE: Final = re.compile(r"no space|quota|disk full|no more room", re.IGNORECASE)
_FULL_WITHIN: Final = frozenset({28, 122, 135, 136})
"""ENOSPC, EDQUOT, and what engines say of a full file."""
_INTERNAL: Final = "internal (unspecified)"
"""What engines mean by 122, where it is not the operating system's."""
_MEMORY_WITHIN: Final = frozenset({12, 23, 24, 128})
"""No memory, or no file that can be opened; the engine's number for the same."""
_CRASHED_WITHIN: Final = frozenset({126, 127, 144, 145, 192})
_READ_ONLY_WITHIN: Final = frozenset({30, 165})
"""A file system, or a table, that is only read."""


def meaning_of(code: int, text: str) -> Meaning | None:
    """What an error of this number and text means, if that is known."""
    return _within(text) if code in _OF_FILES else _MEANINGS.get(code)


def _within(text: str) -> Meaning:
    found = _WITHIN.search(text)
    number = int(found[1]) if found else 0
    if _NO_SPACE.search(text) or (number in _FULL_WITHIN and _INTERNAL not in text.lower()):
        return _FULL
    if number in _MEMORY_WITHIN:
        return _SHORT
    if number in _CRASHED_WITHIN:
        return _DAMAGED
    return _READ_ONLY if number in _READ_ONLY_WITHIN else _ENGINE
