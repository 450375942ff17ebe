"""What a URL says about the server, the schema and how to use them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from oxmill.drivers.postgres.statements import USUAL, check_schema
from oxmill.errors import BadConfig

_CONNECT: Final = 5
_TIMEOUT: Final = 30.0
_POOL: Final = 10
_PORTS: Final = 65_535
_WHOLE: Final = frozenset(
    {"port", "connect_timeout", "keepalives_idle", "keepalives_interval", "keepalives_count"}
)
"""Words of libpq that are numbers."""
_SECRET: Final = re.compile("password|secret|scram|listen").search
"""Finds words of the query that must not be shown: another URL is one of them."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a store is and how to reach it."""

    shown: str
    """The URL without secrets."""
    conninfo: dict[str, Any] = field(repr=False)
    """What every connection is made with."""
    schema: str = USUAL
    timeout: float = _TIMEOUT
    """Seconds that one query may take before the connection is given up."""
    pool: int = _POOL
    """Connections that calls may use at once; the doorbell has one more."""
    migrate: bool = True
    """Whether the schema is brought up to date at first use."""
    listening: dict[str, Any] = field(default_factory=dict, repr=False)
    """What the doorbell's connection is made with: a pooler would not pass on notifications."""


def parse(url: str) -> Address:
    """The address that a URL names.

    `postgresql://user:secret@host:5432/database`, as libpq takes it, several hosts included. In the
    query, besides libpq's own words: `schema`, `pool` (connections), `timeout` (seconds per query),
    `migrate=no`, and `listen`, another URL for the doorbell.
    """
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    schema = check_schema(query.pop("schema", USUAL))
    timeout = _number(query, "timeout", _TIMEOUT)
    pool = int(_number(query, "pool", _POOL))
    migrate = query.pop("migrate", "yes")
    if migrate not in {"yes", "no"}:
        raise BadConfig(f"migrate={migrate} in the URL: use yes or no")
    listen = query.pop("listen", "")
    # By hand: urlunsplit leaves out the `//` of a URL without a host, which libpq insists on.
    plain = f"postgresql://{parts.netloc}{parts.path}?{urlencode(query, quote_via=quote)}"
    return Address(
        shown=_shown(url),
        conninfo=_conninfo(plain),
        schema=schema,
        timeout=timeout,
        pool=pool,
        migrate=migrate == "yes",
        listening=_conninfo(listen or plain),
    )


def _conninfo(url: str) -> dict[str, Any]:
    try:
        said = conninfo_to_dict(url)
    except ProgrammingError as error:
        # What libpq quotes may be the password; the name of an option is not.
        text = str(error).strip()
        told = text if text.startswith("invalid URI query parameter") else text.partition('"')[0]
        raise BadConfig(
            f"the PostgreSQL URL cannot be used: {told.rstrip(' :')}. Write special characters of "
            f"the user and the password as %XX"
        ) from None
    for name in _WHOLE & said.keys():
        _check_whole(name, str(said[name]))
    usual = {
        "connect_timeout": _CONNECT,
        "application_name": "oxmill",
        # A fail-over may leave an old primary behind that takes no writes.
        "target_session_attrs": "read-write",
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        "client_encoding": "utf8",
    }
    return usual | said


def _check_whole(name: str, text: str) -> None:
    """Refuse what libpq would refuse at every connection. Several hosts may have a port each."""
    parts = text.split(",") if name == "port" else [text.strip().removeprefix("-")]
    for digits in filter(None, map(str.strip, parts)):
        sound = digits.isascii() and digits.isdigit() and len(digits) < 10
        if not sound or (name == "port" and int(digits) > _PORTS):
            # Not shown: of a password with an unescaped slash, a part would stand here.
            raise BadConfig(
                f"the {name} in the PostgreSQL URL is not a number that can be used. Write special "
                f"characters of the user and the password as %XX"
            )


def _number(query: dict[str, str], name: str, usual: float) -> float:
    text = query.pop(name, str(usual))
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number < float("inf"):
        raise BadConfig(f"{name}={text} in the URL is not a number above 0")
    return number


def _shown(url: str) -> str:
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    query = [(name, text) for name, text in parse_qsl(parts.query) if not _SECRET(name)]
    return urlunsplit(
        (parts.scheme, user.partition(":")[0] + at + host, parts.path, urlencode(query), "")
    )
