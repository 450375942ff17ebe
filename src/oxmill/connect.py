"""Picks a driver by URL: the one module that knows them all."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Literal
from urllib.parse import urlsplit

from oxmill.errors import BadConfig
from oxmill.model.value import Micros
from oxmill.store.driver import Driver

Clock = Callable[[], Micros]
Mode = Literal["durable", "process", "volatile"]

VARIABLE: Final = "OXMILL_URL"
DEFAULT_URL: Final = "sqlite:///oxmill.db"

_KINDS: Final = {
    "memory": "memory",
    "sqlite": "sqlite",
    **dict.fromkeys(("redis", "rediss", "valkey", "valkeys", "unix"), "redis"),
    **dict.fromkeys(("postgresql", "postgres"), "postgres"),
    **dict.fromkeys(("mysql", "mariadb"), "mysql"),
}
"""Scheme → the driver's name; that of Redis may be followed by `+cluster` or the like."""

_CLIENTS: Final = {
    "redis": ("Redis", ("redis", "hiredis")),
    "postgres": ("PostgreSQL", ("psycopg",)),
    "mysql": ("MySQL", ("pymysql",)),
}
"""Servers: what people call them, and the modules that their drivers need."""

_TO_COME: Final = {
    "http": "web",
    "https": "web",
    "grpc": "grpc",
    "grpcs": "grpc",
}


def wall_clock() -> Micros:
    """The host's clock."""
    return time.time_ns() // 1_000


def store_url(given: str | None = None) -> str:
    """The URL given, else the one in `OXMILL_URL`, else a SQLite file in the current folder."""
    return given or os.environ.get(VARIABLE) or DEFAULT_URL


def connect(
    url: str | None = None,
    *,
    clock: Clock = wall_clock,
    doorbell: bool = True,
    mode: Mode = "durable",
) -> Driver:
    """Open the store at a URL.

    `sqlite:///jobs.db` is a file in the current folder, `sqlite:////var/lib/jobs.db` one by its
    full path, `memory://` a store that lives and dies with this object. Redis and Valkey:
    `redis://host:6379/0`, `rediss://…` with TLS, `unix:///run/redis.sock`,
    `redis+sentinel://one,two/master`, `redis+cluster://one,two`. PostgreSQL:
    `postgresql://user@host:5432/database`. MySQL and MariaDB: `mysql://user@host:3306/database`.

    In mode `durable` an acknowledged write survives power loss; in `process`, the end of every
    process; in `volatile`, neither is promised.
    """
    place = store_url(url)
    kind = kind_of(place)
    if kind == "memory":
        from oxmill.drivers.memory.driver import open_memory  # noqa: PLC0415 - one of many

        return open_memory(clock=clock, doorbell=doorbell)
    if kind == "sqlite":
        path = sqlite_path(place)
        from oxmill.drivers.sqlite.driver import open_sqlite  # noqa: PLC0415 - one of many

        return open_sqlite(path, clock=clock, doorbell=doorbell, mode=mode)
    given = None if clock is wall_clock else clock
    return _open_server(kind, place, given, doorbell=doorbell, mode=mode)


def kind_of(url: str) -> str:
    """The name of the driver for a URL, which need not be installed: nothing is opened."""
    scheme, mark, _ = url.partition("://")
    scheme = scheme.lower() if mark else ""
    base, plus, _ = scheme.partition("+")
    kind = _KINDS.get(base)
    if kind is None or (plus and kind != "redis"):
        raise BadConfig(_unknown(url, scheme))
    if kind in _CLIENTS and scheme != "unix":
        _check_escapes(url, scheme)
    return kind


def _open_server(kind: str, url: str, clock: Clock | None, *, doorbell: bool, mode: Mode) -> Driver:
    """The server's own clock decides, unless a test gives another."""
    with _client_of(kind):
        if kind == "redis":
            from oxmill.drivers.redis.driver import open_redis  # noqa: PLC0415 - an extra

            try:
                return open_redis(url, clock=clock, doorbell=doorbell, mode=mode)
            except BadConfig as error:
                if "://" in str(error):  # it says how to write it
                    raise
                example = "redis://user:password@host:6379/0?timeout=10"
                raise BadConfig(f"{error}; write the URL as in {example}") from None
        if kind == "postgres":
            from oxmill.drivers.postgres.driver import open_postgres  # noqa: PLC0415 - an extra

            return open_postgres(url, clock=clock, doorbell=doorbell, mode=mode)
        from oxmill.drivers.mysql.driver import open_mysql  # noqa: PLC0415 - an extra

        return open_mysql(url, clock=clock, doorbell=doorbell, mode=mode)


@contextmanager
def _client_of(kind: str) -> Iterator[None]:
    """Say which extra is missing."""
    name, modules = _CLIENTS[kind]
    try:
        yield
    except ModuleNotFoundError as missing:
        if missing.name not in modules:
            raise
        raise BadConfig(f'{name} needs its client: pip install "oxmill[{kind}]"') from missing


def _check_escapes(url: str, scheme: str) -> None:
    """Refuse a password with a character that ends the place where passwords stand: the rest of it
    would be taken for a host or a path, and be shown."""
    try:
        parts = urlsplit(url)
        readable = "@" not in parts.path + parts.fragment
    except ValueError:
        readable = False
    if not readable:
        raise BadConfig(
            f"the {scheme}:// URL cannot be read; write special characters of the user and the "
            f"password as %XX: / is %2F, ? is %3F, # is %23, @ is %40, [ is %5B, ] is %5D"
        ) from None


def without_secrets(url: str) -> str:
    """A URL for people: no user, no password, no options."""
    return url.partition("?")[0].rpartition("@")[2]


def sqlite_path(url: str) -> str:
    """The file that a `sqlite:` URL names."""
    path = url.partition("://")[2]
    if not path.startswith("/") or len(path) < 2 or "?" in path:
        raise BadConfig(
            f"{url!r} does not name a SQLite file; write sqlite:///jobs.db for a file in the "
            f"current folder, or sqlite:////var/lib/jobs.db for one by its full path"
        )
    return path[1:]


def _unknown(url: str, scheme: str) -> str:
    extra = _TO_COME.get(scheme)
    if extra is not None:
        return (
            f"{scheme}:// is not supported in this version; it will come with the extra "
            f"oxmill[{extra}]. Use sqlite:///jobs.db until then"
        )
    shown = f"the scheme {scheme!r}" if scheme else f"{without_secrets(url)!r}, which has no scheme"
    return (
        f"there is no store for {shown}; use sqlite:///jobs.db, redis://host, "
        f"postgresql://host/database, mysql://host/database or memory://"
    )
