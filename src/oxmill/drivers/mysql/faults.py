"""What the server's and the client's errors mean to callers."""

from __future__ import annotations

from typing import Final

from pymysql import err

from oxmill.drivers.mysql.meanings import OTHERWISE, UNREACHABLE, Meaning, Then, meaning_of
from oxmill.errors import BadInput, OutcomeUnknown, StoreUnavailable

FAULTS: Final = (err.MySQLError, OSError)
"""What a connection may raise."""

_TAKEN: Final = 1062


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
    return _meaning(error).then is Then.AGAIN


def is_lost(error: BaseException) -> bool:
    """Whether the connection is of no use any more."""
    return _meaning(error).then in (Then.LEAVE, Then.MOVE)


def is_refused(error: BaseException) -> bool:
    """Whether the server has answered that it takes no writes (any more)."""
    return _meaning(error).then is Then.MOVE


def unknown(error: BaseException, shown: str) -> OutcomeUnknown:
    """The connection went while the commit was on its way, or the commit itself failed."""
    return OutcomeUnknown(
        f"{shown}: {_said(error)}. It came during the commit, which may have happened or not; "
        f"repeating the call with the same ids is safe"
    )


def busy(error: BaseException, shown: str) -> StoreUnavailable:
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
    meaning = _meaning(error)
    return meaning.kind(f"{shown}: {_said(error)}. {meaning.remedy}")


def _meaning(error: BaseException) -> Meaning:
    # The numbers of the operating system are others than the server's.
    known = None if isinstance(error, OSError) else meaning_of(code_of(error), _said(error))
    if known is not None:
        return known
    broken = isinstance(error, OSError | err.InterfaceError)
    return UNREACHABLE if broken else OTHERWISE


def _said(error: BaseException) -> str:
    text = str(error.args[1]) if len(error.args) > 1 else str(error)
    code = code_of(error)
    return f"{text} ({code})" if code else text or type(error).__name__
