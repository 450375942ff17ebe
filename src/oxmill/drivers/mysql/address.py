"""What a URL says about where the server is and how to reach it."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from oxmill.errors import BadConfig

SCHEMES: Final = ("mysql", "mariadb")
_PORT: Final = 3306
_CONNECT: Final = 3.0
_TIMEOUT: Final = 20.0
_POOL: Final = 8
_FILES: Final = ("ssl_ca", "ssl_cert", "ssl_key")


@dataclass(frozen=True, slots=True)
class Place:
    """One database on one server."""

    shown: str
    """The URL without secrets."""
    database: str
    options: dict[str, Any] = field(default_factory=dict, repr=False)
    """What every connection is made with."""
    timeout: float = _TIMEOUT
    """Seconds that an answer may take."""
    pool: int = _POOL
    """Connections that one process opens at most."""


def parse(url: str) -> Place:
    """The place that a URL names.

    `mysql://user:secret@host:3306/database` · `mysql://user@/database?socket=/run/mysqld/s.sock`.
    `mariadb` may stand for `mysql`. In the query: `timeout` and `connect_timeout` in seconds,
    `pool` (connections per process), `tls=1`, `ssl_ca`, `ssl_cert`, `ssl_key`.
    """
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise BadConfig(f"{parts.scheme}:// is not a scheme of MySQL or MariaDB")
    database = unquote(parts.path.strip("/"))
    if not database or "/" in database:
        raise BadConfig(f"name one database: {parts.scheme}://user@host/database")
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    options: dict[str, Any] = {
        "user": unquote(parts.username or "root"),
        "password": unquote(parts.password or ""),
        "database": database,
        "connect_timeout": _seconds(query, "connect_timeout", _CONNECT),
    }
    timeout = _seconds(query, "timeout", _TIMEOUT)
    pool = round(_seconds(query, "pool", _POOL))
    _add_endpoint(options, url, query)
    _add_tls(options, query)
    if query:
        raise BadConfig(
            f"{', '.join(query)} is not an option of {parts.scheme}:// URLs; leave it out"
        )
    host = parts.netloc.rpartition("@")[2]
    return Place(
        shown=f"{parts.scheme}://{host}/{database}",
        database=database,
        options=options,
        timeout=timeout,
        pool=max(pool, 1),
    )


def _add_endpoint(options: dict[str, Any], url: str, query: dict[str, str]) -> None:
    parts = urlsplit(url)
    try:
        options |= {"host": parts.hostname or "127.0.0.1", "port": parts.port or _PORT}
    except ValueError:
        raise BadConfig(f"{parts.netloc.rpartition('@')[2]!r} is not a host and a port") from None
    if "socket" in query:
        options["unix_socket"] = query.pop("socket")


def _add_tls(options: dict[str, Any], query: dict[str, str]) -> None:
    """Encrypt if asked to. One context serves all connections: to make one takes 100 ms."""
    authority, certificate, key = (query.pop(word, None) for word in _FILES)
    wanted = query.pop("tls", "1" if authority or certificate else "0").lower()
    if wanted not in {"1", "true", "yes"}:
        options["ssl_disabled"] = True
        return
    try:
        context = ssl.create_default_context(cafile=authority)
        if certificate is not None:
            context.load_cert_chain(certificate, key)
    except OSError as error:  # of which ssl.SSLError is one
        raise BadConfig(
            f"the files of ssl_ca, ssl_cert and ssl_key in the URL cannot be used: "
            f"{error.strerror or error}; name readable PEM files"
        ) from None
    options["ssl"] = context


def _seconds(query: dict[str, str], word: str, otherwise: float) -> float:
    text = query.pop(word, None)
    if text is None:
        return otherwise
    try:
        number = float(text)
    except ValueError:
        raise BadConfig(f"{word}={text} is not a number") from None
    if not 0 < number < float("inf"):
        raise BadConfig(f"{word}={text} is not a number above 0")
    return number
