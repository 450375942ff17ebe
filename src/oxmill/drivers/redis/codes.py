"""The code of a refusal, such as READONLY, wherever the server or the library has put it."""

from __future__ import annotations

import re
from typing import Final

from redis.exceptions import (
    AskError,
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    MasterDownError,
    MovedError,
    NoPermissionError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    TryAgainError,
)

_TYPES: Final[tuple[tuple[type[Exception], str], ...]] = (
    (MovedError, "MOVED"),  # before the other, of which it is a kind
    (AskError, "ASK"),
    (AuthenticationError, "NOAUTH"),
    (BusyLoadingError, "LOADING"),
    (MasterDownError, "MASTERDOWN"),  # as this one is of the next
    (ClusterDownError, "CLUSTERDOWN"),
    (NoPermissionError, "NOPERM"),
    (NoScriptError, "NOSCRIPT"),
    (OutOfMemoryError, "OOM"),
    (ReadOnlyError, "READONLY"),
    (TryAgainError, "TRYAGAIN"),
)
"""The library takes the code off these refusals and makes it the type instead."""
_PHRASES: Final = (
    ("ACL failure in script", "NOPERM"),  # Redis 7 and Valkey
    ("The user executing the script can't", "NOPERM"),  # Redis 6.2
    ("max number of clients reached", "MAXCLIENTS"),
)
"""Refusals that the server gives no code of their own."""
_AT_START: Final = re.compile(r"([A-Z]+) ")
_IN_SCRIPT: Final = re.compile(
    r"(?:ERR )?Error running script \(call to \w+\): (?:@\w+: ?\d+: )+-([A-Z]+) "
)
"""How Redis 6.2 tells a refusal of a command that a script has given."""


def code_of(refusal: Exception) -> str:
    """The server's code for it; `ERR` if there is none that tells more."""
    for kind, code in _TYPES:
        if isinstance(refusal, kind):
            return code
    text = str(refusal)
    for phrase, code in _PHRASES:
        if phrase in text:
            return code
    found = _IN_SCRIPT.match(text) or _AT_START.match(text)
    return found[1] if found else "ERR"
