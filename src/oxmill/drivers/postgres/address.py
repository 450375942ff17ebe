"""What a URL says about the server, the schema and how to use them."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class Address:
    """Where a store is and how to reach it."""

    shown: str
    """The URL without secrets."""
    conninfo: dict[str, Any]
    """What every connection is made with."""
    schema: str = USUAL
    timeout: float = _TIMEOUT
    """Seconds that one query may take before the connection is given up."""
    pool: int = _POOL
    """Connections that calls may use at once; the doorbell has one more."""
    migrate: bool = True
    """Whether the schema is brought up to date at first use."""
    listening: dict[str, Any] = field(default_factory=dict)
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
    plain = urlunsplit(
        ("postgresql", parts.netloc, parts.path, urlencode(query, quote_via=quote), "")
    )
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
        raise BadConfig(f"the PostgreSQL URL cannot be used: {error}") from None
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
    query = [(k, v) for k, v in parse_qsl(parts.query) if k not in {"password", "listen"}]
    return urlunsplit(
        (parts.scheme, user.partition(":")[0] + at + host, parts.path, urlencode(query), "")
    )
