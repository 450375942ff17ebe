"""What is unsafe about a server, as a pure function of what it says about itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal

from oxmill.model.info import Finding, Level

Mode = Literal["durable", "process", "volatile"]
"""What an acknowledged write survives: power loss, the end of every process, neither."""

OLDEST: Final = 120000
UNKNOWN: Final = "unknown"
_OLD_SNAPSHOT: Final = 600
"""Seconds."""
_MANY_DEAD: Final = 1_000_000


def findings_of(facts: Mapping[str, str], mode: Mode) -> Iterator[Finding]:
    """The facts are settings by name, and others of `facts.sql` under names of their own."""
    yield from _server(facts)
    if mode == "durable":
        yield from _durability(facts)
    yield from _standbys(facts, mode)
    yield from _sessions(facts)
    yield from _age(facts)


def _server(facts: Mapping[str, str]) -> Iterator[Finding]:
    version = facts.get("server_version_num", "")
    if version.isdecimal() and int(version) < OLDEST:
        yield Finding(
            level=Level.REFUSE,
            name="server_version",
            found=facts.get("server_version", UNKNOWN),
            wanted="12 or newer",
            risk="the schema cannot be installed",
            remedy="upgrade the server",
        )
    if facts.get("in_recovery") == "true":
        yield Finding(
            level=Level.REFUSE,
            name="in_recovery",
            found="a standby",
            wanted="the primary",
            risk="a standby takes no writes",
            remedy="name all servers in the URL; target_session_attrs=read-write finds the primary",
            passes=True,
        )
    if facts.get("server_encoding", "UTF8") != "UTF8":
        yield Finding(
            level=Level.REFUSE,
            name="server_encoding",
            found=facts["server_encoding"],
            wanted="UTF8",
            risk="names cannot be kept byte for byte",
            remedy="create the database with ENCODING 'UTF8' TEMPLATE template0",
        )


def _durability(facts: Mapping[str, str]) -> Iterator[Finding]:
    for name, risk in (
        ("fsync", "a crash of the host may lose or corrupt the whole database"),
        ("full_page_writes", "a crash of the host may leave torn pages, and the database corrupt"),
    ):
        found = facts.get(name, UNKNOWN)
        if found != "on":
            yield Finding(
                level=Level.WARN if found == UNKNOWN else Level.REFUSE,
                name=name,
                found=found,
                wanted="on",
                risk=risk,
                remedy=f"ALTER SYSTEM SET {name} = on, then SELECT pg_reload_conf(); or open the "
                f'store with mode="process"',
            )
    sync = facts.get("synchronous_commit", UNKNOWN)
    if sync in {"off", UNKNOWN}:
        yield Finding(
            level=Level.WARN if sync == UNKNOWN else Level.REFUSE,
            name="synchronous_commit",
            found=sync,
            wanted="on",
            risk="a crash of the server loses the jobs acknowledged just before",
            remedy="set it on where it was set off: in postgresql.conf, ALTER ROLE or ALTER "
            'DATABASE; or open the store with mode="process"',
        )
    if facts.get("unlogged", "0") not in {"0", ""}:
        yield Finding(
            level=Level.REFUSE,
            name="unlogged",
            found=f"{facts['unlogged']} of our tables",
            wanted="none",
            risk="a crash of the server empties them",
            remedy="ALTER TABLE … SET LOGGED",
        )


def _standbys(facts: Mapping[str, str], mode: Mode) -> Iterator[Finding]:
    there = facts.get("standbys", "0")
    if mode != "volatile" and there not in {"0", ""} and not facts.get("synchronous_standby_names"):
        yield Finding(
            level=Level.NOTE,
            name="synchronous_standby_names",
            found=f"{there} standbys, which are told after the answer",
            wanted="known to you",
            risk="a fail-over may lose the last jobs acknowledged",
            remedy="name a synchronous standby, if no acknowledged job may be lost by a fail-over",
        )


def _sessions(facts: Mapping[str, str]) -> Iterator[Finding]:
    isolation = facts.get("default_transaction_isolation", "read committed")
    if isolation != "read committed":
        yield Finding(
            level=Level.WARN,
            name="default_transaction_isolation",
            found=isolation,
            wanted="read committed",
            risk="calls get in each other's way and are made again; they stay correct, but are slow",
            remedy="ALTER ROLE … SET default_transaction_isolation = 'read committed' for this user",
        )


def _age(facts: Mapping[str, str]) -> Iterator[Finding]:
    oldest = facts.get("oldest_transaction", "")
    if oldest.isdecimal() and int(oldest) > _OLD_SNAPSHOT:
        yield Finding(
            level=Level.WARN,
            name="oldest_transaction",
            found=f"{int(oldest):,} s old",
            wanted=f"below {_OLD_SNAPSHOT} s",
            risk="while it lasts nothing is cleaned up, and every claim gets slower",
            remedy="SELECT * FROM pg_stat_activity ORDER BY xact_start; end the transaction, and set "
            "idle_in_transaction_session_timeout",
        )
    dead = facts.get("dead_rows", "")
    if dead.isdecimal() and int(dead) > _MANY_DEAD:
        yield Finding(
            level=Level.WARN,
            name="dead_rows",
            found=f"{int(dead):,} in the table of jobs",
            wanted=f"below {_MANY_DEAD:,}",
            risk="claims step over them, and the table grows",
            remedy="VACUUM the table of jobs; see that autovacuum is on and not held up by an old "
            "transaction, a replication slot or a standby",
        )
