"""What a URL says about where the servers are and how to reach them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from oxmill.errors import BadConfig

Address = tuple[str, int]
"""Host and port, or the path of a socket and 0."""

SCHEMES: Final = ("redis", "rediss", "valkey", "valkeys", "unix")
"""Each also with `+sentinel` or `+cluster`, but for sockets."""
_PORT: Final = 6379
_SENTINEL_PORT: Final = 26379
_CONNECT: Final = 3.0
_TIMEOUT: Final = 10.0
_SECONDS: Final = {"timeout": "socket_timeout", "connect_timeout": "socket_connect_timeout"}
_TEXTS: Final = frozenset(
    {"ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile", "ssl_keyfile_password"}
)


@dataclass(frozen=True, slots=True)
class Target:
    """The servers of one store."""

    kind: str
    """`single`, `sentinel` or `cluster`."""
    seeds: tuple[Address, ...]
    shown: str
    """The URL without secrets."""
    tls: bool = False
    master: str = ""
    """The name under which sentinels know the server."""
    options: dict[str, Any] = field(default_factory=dict, repr=False)
    """What every connection is made with."""
    sentinel: dict[str, Any] = field(default_factory=dict, repr=False)
    """User and password of the sentinels, which have their own."""
    extras: dict[str, str] = field(default_factory=dict)
    """Words of the query that are not about connections."""


def parse(url: str) -> Target:
    """The target that a URL names.

    `redis://user:secret@host:6379/0` · `rediss://…` for TLS · `unix:///run/redis.sock?db=0` ·
    `redis+sentinel://one:26379,two:26379/master/0` · `redis+cluster://one:6379,two:6379`.
    `valkey` may stand for `redis`. In the query: `timeout` and `connect_timeout` in seconds,
    `ssl_ca_certs`, `ssl_certfile`, `ssl_keyfile`, `ssl_cert_reqs`; `sentinel_username` and
    `sentinel_password` if sentinels want them.
    """
    parts = urlsplit(url)
    scheme, _, kind = parts.scheme.partition("+")
    kind = kind or "single"
    if scheme not in SCHEMES or kind not in {"single", "sentinel", "cluster"}:
        raise BadConfig(f"{parts.scheme}:// is not a scheme of Redis or Valkey")
    credentials, _, hosts = parts.netloc.rpartition("@")
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    options = _options(query)
    sentinel = _sentinel_login(query, kind)
    _log_in(options, credentials, kind)
    path = parts.path.strip("/").split("/") if parts.path.strip("/") else []
    master = ""
    if scheme == "unix":
        seeds: tuple[Address, ...] = ((unquote(parts.path), 0),)
        path = []
    elif kind == "sentinel":
        if not path:
            raise BadConfig("name the master: redis+sentinel://host:26379/mymaster/0")
        master, path = unquote(path[0]), path[1:]
        seeds = _seeds(hosts, _SENTINEL_PORT)
    else:
        seeds = _seeds(hosts, _PORT)
    options["db"] = _database(path, query.pop("db", ""), kind)
    return Target(
        kind=kind,
        seeds=seeds,
        shown=_shown(parts.scheme, hosts, parts.path, query),
        tls=scheme in {"rediss", "valkeys"},
        master=master,
        options=options,
        sentinel=sentinel,
        extras=query,
    )


def _options(query: dict[str, str]) -> dict[str, Any]:
    options: dict[str, Any] = {
        "socket_timeout": _TIMEOUT,
        "socket_connect_timeout": _CONNECT,
    }
    for word, name in _SECONDS.items():
        if word in query:
            try:
                options[name] = float(query.pop(word))
            except ValueError:
                raise BadConfig(f"{word} in the URL is not a number of seconds") from None
            if not options[name] > 0:
                raise BadConfig(f"{word} must be more than 0 seconds")
    for name in _TEXTS & query.keys():
        options[name] = query.pop(name)
    if "ssl_cert_reqs" in query:
        options["ssl_cert_reqs"] = query.pop("ssl_cert_reqs")
    if "ssl_check_hostname" in query:
        options["ssl_check_hostname"] = query.pop("ssl_check_hostname").lower() in {"1", "true"}
    return options


def _sentinel_login(query: dict[str, str], kind: str) -> dict[str, str]:
    given = {
        name: query.pop(f"sentinel_{name}")
        for name in ("username", "password")
        if f"sentinel_{name}" in query
    }
    if given and kind != "sentinel":
        raise BadConfig("sentinel_username and sentinel_password are for redis+sentinel:// only")
    return given


def _log_in(options: dict[str, Any], credentials: str, kind: str) -> None:
    if not credentials:
        return
    user, colon, secret = credentials.partition(":")
    if colon:
        options["password"] = unquote(secret)
    if user:
        options["username" if colon or kind else "password"] = unquote(user)


def _seeds(hosts: str, port: int) -> tuple[Address, ...]:
    found: list[Address] = []
    for each in (hosts or "localhost").split(","):
        parts = urlsplit(f"//{each}")
        try:
            found.append((parts.hostname or "localhost", parts.port or port))
        except ValueError:
            raise BadConfig(f"{each!r} is not a host and a port") from None
    return tuple(found)


def _database(path: list[str], given: str, kind: str) -> int:
    text = path[0] if path else given or "0"
    if len(path) > 1 or not text.isdecimal():
        raise BadConfig(f"{'/'.join(path) or given!r} is not the number of a database")
    if kind == "cluster" and int(text):
        raise BadConfig("a cluster has only database 0")
    return int(text)


def _shown(scheme: str, hosts: str, path: str, query: dict[str, str]) -> str:
    words = f"?{urlencode(query)}" if query else ""
    return f"{scheme}://{hosts}{path}{words}"
