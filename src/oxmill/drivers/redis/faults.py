"""What the server and the client's library say, in the words of Oxmill's errors."""

from __future__ import annotations

from typing import Final

from redis.exceptions import AuthenticationError, RedisError, ResponseError

from oxmill.drivers.redis.codes import code_of
from oxmill.errors import (
    BadInput,
    OutcomeUnknown,
    StoreError,
    StoreFull,
    StoreRefused,
    StoreUnavailable,
)

PASSING: Final = frozenset(
    {
        "ASK",
        "BUSY",
        "CLUSTERDOWN",
        "LOADING",
        "MASTERDOWN",
        "MAXCLIENTS",
        "MOVED",
        "NOREPLICAS",
        "READONLY",
        "TRYAGAIN",
        "UNKILLABLE",
    }
)
"""Codes of refusals that a later try need not meet."""
KEPT_OUT: Final = frozenset({"DENIED", "NOAUTH", "NOPERM", "WRONGPASS"})
"""Codes that tell of a user who may not do it, or not what a script does."""


def unreachable(shown: str, cause: BaseException) -> StoreError:
    """The server could not be asked at all."""
    if isinstance(cause, AuthenticationError):
        return StoreRefused(
            f"{shown} refused the user or the password ({cause}); check the URL and the ACL"
        )
    if isinstance(cause, ResponseError):
        return refused(shown, cause)
    return StoreUnavailable(
        f"{shown} cannot be reached ({_told(cause)}); nothing was written. Check that the server "
        f"runs and can be reached, then try again"
    )


def cut_off(shown: str, cause: BaseException, *, writes: bool) -> StoreError:
    """The question was sent, and no answer came."""
    if not writes:
        return StoreUnavailable(f"{shown} did not answer ({_told(cause)}); try again")
    return OutcomeUnknown(
        f"{shown} did not answer ({_told(cause)}): it may or may not have acted. Repeating the "
        f"call with the same ids is safe"
    )


def partly_done(shown: str, fault: StoreError, done: int, asked: int) -> StoreError:
    """Some calls of a step were done, another was not."""
    reason = str(fault).replace("; nothing was written", "").replace("nothing was written, ", "")
    return OutcomeUnknown(
        f"{shown} did {done} of {asked} parts of it, each whole; the rest was not done: {reason}. "
        f"Repeating the call with the same ids is safe and does the rest"
    )


def refused(shown: str, reply: Exception) -> StoreError:
    """The server answered with a refusal."""
    text, code = str(reply), code_of(reply)
    if code == "OOM":
        return StoreFull(
            f"{shown} is over its memory limit; nothing was written. Raise maxmemory, or let "
            f"workers catch up: running jobs can still be settled"
        )
    if code == "MISCONF":
        return StoreFull(
            f"{shown} cannot write to its disk and takes no more work: {text} Nothing was written; "
            f"see to the server's disk and its log, then try again"
        )
    if code in KEPT_OUT:
        return StoreRefused(f"{shown} does not allow it: {text}. Check the user's ACL")
    if code in PASSING:
        return StoreUnavailable(
            f"{shown} cannot do it now ({text}); nothing was written, try again"
        )
    return StoreError(f"{shown} refused: {text}")


def _told(cause: BaseException) -> str:
    return str(cause) or type(cause).__name__


def not_storable(odd: Exception) -> BadInput:
    """A question that cannot even be written down."""
    if isinstance(odd, UnicodeEncodeError):
        return BadInput(
            f"{odd.object[:40]!r} holds half a surrogate pair, which is not text; decode it "
            f"properly first"
        )
    return BadInput(f"a number is out of range ({odd}); use one of 64 bits")


ODD: Final = (UnicodeEncodeError, OverflowError)
"""What packing raises for text that is not text and for numbers without bounds."""
FAULTS: Final = (RedisError, OSError, EOFError)
"""What a broken connection may raise; time-outs are among them."""
