"""What is unsafe about the server and its settings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, Literal

from oxmill.drivers.mysql.link import Link
from oxmill.model.bounds import Bounds
from oxmill.model.info import Finding, Level

Mode = Literal["durable", "process", "volatile"]

_ASKED: Final = (
    "version",
    "innodb_flush_log_at_trx_commit",
    "sync_binlog",
    "log_bin",
    "binlog_format",
    "innodb_doublewrite",
    "max_allowed_packet",
    "wsrep_on",
    "read_only",
    "sql_mode",
    "transaction_isolation",
    "tx_isolation",
    "time_zone",
    "character_set_connection",
    "max_connections",
)
_MARIADB: Final = (10, 6)
_MYSQL: Final = (8, 0, 11)
"""8.0.1 has SKIP LOCKED, 8.0.4 JSON_TABLE; 8.0.11 is the first that was released for use."""
_SLACK: Final = 64 * 1024
_SOME: Final = 100_000


def examine(link: Link, mode: Mode, bounds: Bounds, *, deep: bool) -> tuple[Finding, ...]:
    """All findings. `deep` also looks through our own tables, for a bounded time."""
    facts = _facts(link)
    found = [*_version(facts), *_durability(facts, mode), *_role(facts), *_binlog(facts)]
    found += [*_shape(facts, bounds), *_tables(link)]
    if deep:
        found += [*_content(link)]
    return tuple(found)


def _facts(link: Link) -> dict[str, str]:
    names = ", ".join(f"'{name}'" for name in _ASKED)
    rows = link.send([f"SHOW VARIABLES WHERE Variable_name IN ({names})".encode()])[0].rows
    facts = {name.lower(): str(value) for name, value in rows}
    if _takes_no_writes(facts):
        facts["exempt"] = str(link.send([_EXEMPT])[0].rows[0][0])
    return facts


_EXEMPT: Final = b"""SELECT COUNT(*) FROM information_schema.user_privileges
WHERE REPLACE(grantee, '''', '') = CURRENT_USER()
AND privilege_type IN ('SUPER', 'READ_ONLY ADMIN', 'READ ONLY ADMIN', 'CONNECTION_ADMIN')"""
"""Rights of users who write to a server that is read-only for others."""


def _takes_no_writes(facts: Mapping[str, str]) -> bool:
    return facts.get("read_only", "OFF").upper() not in {"OFF", "0"}


def _version(facts: Mapping[str, str]) -> Iterator[Finding]:
    text = facts.get("version", "")
    number = tuple(int(part) for part in re.findall(r"\d+", text)[:3])
    maria = "mariadb" in text.lower()
    least = _MARIADB if maria else _MYSQL
    if number < least:
        yield Finding(
            level=Level.REFUSE,
            name="version",
            found=text or "unknown",
            wanted="MariaDB 10.6 or MySQL 8.0.11, or newer",
            risk="claims need SKIP LOCKED and JSON_TABLE, which this server does not have",
            remedy="upgrade the server",
        )


def _durability(facts: Mapping[str, str], mode: Mode) -> Iterator[Finding]:
    flush = facts.get("innodb_flush_log_at_trx_commit", "unknown")
    if flush != "1" and mode != "volatile":
        loses = "a power cut" if flush == "2" else "a killed server"
        strict = mode == "durable" or flush != "2"
        yield Finding(
            level=Level.REFUSE if strict else Level.NOTE,
            name="innodb_flush_log_at_trx_commit",
            found=flush,
            wanted="1",
            risk=f"{loses} loses the jobs of the last second or more, though they were acknowledged",
            remedy="SET GLOBAL innodb_flush_log_at_trx_commit = 1, and in the configuration; or "
            'open the store with mode="process" (for 2) or mode="volatile"',
        )
    if facts.get("innodb_doublewrite", "ON").upper() in {"OFF", "0"} and mode == "durable":
        yield Finding(
            level=Level.WARN,
            name="innodb_doublewrite",
            found="OFF",
            wanted="ON",
            risk="a power cut in the middle of a page destroys it, unless the disk prevents that",
            remedy="set innodb_doublewrite = ON",
        )


def _role(facts: Mapping[str, str]) -> Iterator[Finding]:
    if facts.get("wsrep_on", "OFF").upper() == "ON":
        yield Finding(
            level=Level.REFUSE,
            name="wsrep_on",
            found="ON",
            wanted="OFF: a single primary",
            risk="a Galera cluster may lose acknowledged jobs, and give one job to two workers",
            remedy="use a server with asynchronous or semi-synchronous replicas",
        )
    if _takes_no_writes(facts):
        yield Finding(
            level=Level.REFUSE,
            name="read_only",
            found=facts["read_only"],
            wanted="OFF",
            risk="a replica takes no writes",
            remedy="connect to the primary",
            # Who may write nevertheless would write what the next primary does not have.
            passes=facts.get("exempt") == "0",
        )


def _binlog(facts: Mapping[str, str]) -> Iterator[Finding]:
    if facts.get("log_bin", "OFF").upper() not in {"ON", "1"}:
        return
    if facts.get("binlog_format", "ROW").upper() != "ROW":
        yield Finding(
            level=Level.WARN,
            name="binlog_format",
            found=facts["binlog_format"],
            wanted="ROW",
            risk="statements that skip locked rows have other effects on a replica",
            remedy="SET GLOBAL binlog_format = 'ROW', and in the configuration",
        )
    if facts.get("sync_binlog") == "0":
        yield Finding(
            level=Level.WARN,
            name="sync_binlog",
            found="0",
            wanted="1",
            risk="after a power cut replicas may lack jobs that the primary has",
            remedy="SET GLOBAL sync_binlog = 1, and in the configuration",
        )


def _shape(facts: Mapping[str, str], bounds: Bounds) -> Iterator[Finding]:
    wanted = max(bounds.payload_bytes, bounds.result_bytes) + _SLACK
    packet = int(facts.get("max_allowed_packet", wanted))
    if packet < wanted:
        yield Finding(
            level=Level.WARN,
            name="max_allowed_packet",
            found=str(packet),
            wanted=f"at least {wanted}",
            risk="large payloads and results are refused by the server",
            remedy="raise max_allowed_packet, or lower the bounds on payloads",
        )
    session = {
        "sql_mode": ("STRICT_ALL_TABLES", "values that do not fit would be cut silently"),
        "transaction_isolation": ("READ-COMMITTED", "claims and inserts would block each other"),
        "tx_isolation": ("READ-COMMITTED", "claims and inserts would block each other"),
        "time_zone": ("+00:00", "moments would move with summer time"),
        "character_set_connection": ("utf8mb4", "names would be stored in another encoding"),
    }
    for name, (needed, risk) in session.items():
        if name in facts and needed not in facts[name]:
            yield Finding(
                level=Level.REFUSE,
                name=name,
                found=facts[name],
                wanted=needed,
                risk=f"a proxy has changed what we set at the start of the session: {risk}",
                remedy="let the proxy keep session variables, or connect directly",
            )


_ENGINES: Final = b"""SELECT table_name, engine FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_name LIKE 'oxmill\\\\_%'
AND table_type = 'BASE TABLE' AND engine <> 'InnoDB'"""


def _tables(link: Link) -> Iterator[Finding]:
    for name, engine in link.send([_ENGINES])[0].rows:
        yield Finding(
            level=Level.REFUSE,
            name="engine",
            found=f"{name} is {engine}",
            wanted="InnoDB",
            risk="without transactions jobs are lost and doubled",
            remedy=f"ALTER TABLE {name} ENGINE = InnoDB",
        )


def _content(link: Link) -> Iterator[Finding]:
    """Whether counts agree with a recount, if the table is small enough to be counted."""
    size = b"SELECT COUNT(*) FROM (SELECT 1 FROM oxmill_jobs LIMIT %d) AS some" % (_SOME + 1)
    if not _installed(link) or link.send([size])[0].rows[0][0] > _SOME:
        return
    for queue, state, kept, counted in link.send(_RECOUNT)[-2].rows:
        yield Finding(
            level=Level.WARN,
            name="counts",
            found=f"{kept} {state} in {queue}",
            wanted=str(counted),
            risk="pages and alarms show a wrong number; jobs are not affected",
            remedy="someone has changed rows by hand; report it if nobody has",
        )


def _installed(link: Link) -> bool:
    asked = b"SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND "
    return bool(link.send([asked + b"table_name = 'oxmill_jobs'"])[0].rows)


_STATES: Final = ("held", "scheduled", "waiting", "running", "succeeded", "failed", "cancelled")
_KEPT: Final = " UNION ALL ".join(
    f"SELECT queue, '{state}' AS state, {state} AS kept, 0 AS counted FROM {table}"  # noqa: S608
    for state in _STATES
    for table in ("oxmill_counts", "oxmill_changes")
)
_RECOUNT: Final = [
    b"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    b"START TRANSACTION READ ONLY",
    f"""SELECT queue, state, SUM(kept), SUM(counted) FROM ({_KEPT} UNION ALL
    SELECT queue, state, 0, COUNT(*) FROM oxmill_jobs GROUP BY queue, state) AS c
    GROUP BY queue, state HAVING SUM(kept) <> SUM(counted) LIMIT 10""".encode(),  # noqa: S608
    b"COMMIT",
]
